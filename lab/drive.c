// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Questions of the lab to core about a drive, on the host:
 *
 *   drive help           the values of --device
 *   drive check SPEC     two lines: the kind, and the spec with a preset spelled
 *                        out; or a message on standard error and status 1
 *   drive rates SPEC     bytes and 4 KiB I/Os a second as blk-iocost's linear
 *                        model has them, of a disk of 4 GiB with 32 at a time
 *   drive load SPEC read|write KIB DEPTH
 *                        I/Os a second and quantiles of their latency in us, of I/O
 *                        anywhere with DEPTH at a time
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/simdisk.h"
#include "core/tests/model_host.h"

#define CAPACITY (4ull << 21)
#define LARGE_SECTORS 2048u
#define SMALL_SECTORS 8u
#define LOAD_COUNT 40000u

static enum simdisk_operation operation;
static u32 sectors;
static bool ordered;
static u64 position;

static struct simdisk_request next(struct host *host, u64 number)
{
	u64 place = ordered ? position++ : host_random(host, CAPACITY);

	(void)number;
	return (struct simdisk_request) {
		.operation = operation,
		.sector = place % (CAPACITY / sectors) * sectors,
		.sectors = sectors,
		.hw_queue = (u16)(host->submissions % host->parameters.hw_queues),
	};
}

/* I/Os a second in the long run, without the first that a cache takes in. */
static double run(const struct simdisk_parameters *parameters, u32 length, bool in_order,
		  u64 count)
{
	u32 depth = parameters->queue_depth < 32 ? parameters->queue_depth : 32;
	struct host host;
	double iops;

	sectors = length;
	ordered = in_order;
	position = 0;
	host_start(&host, parameters, CAPACITY, 1);
	host_run(&host, next, depth, count / 4);
	host_run(&host, next, depth, count);
	iops = host_iops(&host);
	host_stop(&host);
	return iops;
}

static void print_rates(struct simdisk_parameters *parameters)
{
	/* The driver would split longer ones. */
	u32 length = parameters->max_sectors < LARGE_SECTORS ? parameters->max_sectors :
							       LARGE_SECTORS;

	for (operation = SIMDISK_READ; operation <= SIMDISK_WRITE; operation++) {
		char letter = operation == SIMDISK_READ ? 'r' : 'w';

		printf("%cbps=%.0f ", letter,
		       run(parameters, length, true, 4000) * length * SIMDISK_SECTOR_BYTES);
		printf("%cseqiops=%.0f ", letter, run(parameters, SMALL_SECTORS, true, 40000));
		printf("%crandiops=%.0f%c", letter, run(parameters, SMALL_SECTORS, false, 10000),
		       letter == 'r' ? ' ' : '\n');
	}
}

static void print_load(const struct simdisk_parameters *parameters, u32 depth)
{
	static const struct {
		const char *name;
		double share;
	} quantiles[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 } };
	struct host host;

	host_start(&host, parameters, CAPACITY, 1);
	/* The first I/Os, which caches and buckets take in, are not counted. */
	host_run(&host, next, depth, LOAD_COUNT / 4);
	host_run(&host, next, depth, LOAD_COUNT);
	printf("iops=%.1f", host_iops(&host));
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		printf(" %s=%.1f", quantiles[i].name,
		       (double)host_percentile_ns(&host, quantiles[i].share) / 1e3);
	puts("");
	host_stop(&host);
}

/* Refuses, with a message, loads that the drive cannot do. */
static bool read_load(const struct simdisk_parameters *parameters, char **arguments, u32 *depth)
{
	unsigned long most = parameters->hw_queues * parameters->queue_depth;
	unsigned long kib = strtoul(arguments[1], NULL, 10);

	*depth = (u32)strtoul(arguments[2], NULL, 10);
	sectors = (u32)kib * 2;
	ordered = false;
	operation = strcmp(arguments[0], "write") ? SIMDISK_READ : SIMDISK_WRITE;
	if (operation == SIMDISK_READ && strcmp(arguments[0], "read"))
		fprintf(stderr, "%s is not read or write\n", arguments[0]);
	else if (!kib || kib > parameters->max_sectors / 2)
		fprintf(stderr, "%s is not 1 to %u KiB\n", arguments[1],
			parameters->max_sectors / 2);
	else if (!*depth || *depth > most)
		fprintf(stderr, "%s is not 1 to %lu at a time\n", arguments[2], most);
	else
		return true;
	return false;
}

static void print_help(void)
{
	char line[SIMDISK_TEXT_BYTES];

	for (u32 i = 0; simdisk_help(i, line, sizeof(line)); i++)
		puts(line);
}

static void print_spelled(const char *spec)
{
	size_t length = strcspn(spec, ":");
	const struct simdisk_preset *preset;

	for (u32 i = 0; (preset = simdisk_preset(i)); i++) {
		if (strlen(preset->name) != length || strncmp(spec, preset->name, length))
			continue;
		printf("%s", preset->spec);
		if (spec[length])
			printf("%c%s", strchr(preset->spec, ':') ? ',' : ':', spec + length + 1);
		puts("");
		return;
	}
	puts(spec);
}

int main(int count, char **arguments)
{
	struct simdisk_parameters parameters;
	char error[4096];

	if (count == 2 && !strcmp(arguments[1], "help")) {
		print_help();
		return 0;
	}
	if (count != (count > 1 && !strcmp(arguments[1], "load") ? 6 : 3)) {
		fprintf(stderr,
			"usage: %s help | check SPEC | rates SPEC | load SPEC read|write KIB DEPTH\n",
			arguments[0]);
		return 2;
	}
	if (!simdisk_parse(&parameters, arguments[2], error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	if (!strcmp(arguments[1], "rates")) {
		print_rates(&parameters);
		return 0;
	}
	if (!strcmp(arguments[1], "load")) {
		u32 depth;

		if (!read_load(&parameters, arguments + 3, &depth))
			return 1;
		print_load(&parameters, depth);
		return 0;
	}
	puts(simdisk_name(parameters.kind));
	print_spelled(arguments[2]);
	return 0;
}
