// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * What the lab asks core about a drive, on the host:
 *
 *   drive help           what --device accepts
 *   drive check SPEC     two lines: the kind, and the spec with a preset spelled
 *                        out; or a message on standard error and status 1
 *   drive rates SPEC     bytes and 4 KiB I/Os a second as blk-iocost's linear
 *                        model has them, of a disk of 4 GiB with 32 at a time
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/simdisk.h"
#include "core/tests/model_host.h"

#define CAPACITY (4ull << 21)
#define LARGE_SECTORS 2048u
#define SMALL_SECTORS 8u

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

/* I/Os a second once what a cache takes in no longer counts. */
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
	/* The driver would split what is longer. */
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
	if (count != 3) {
		fprintf(stderr, "usage: %s help | check SPEC | rates SPEC\n", arguments[0]);
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
	puts(simdisk_name(parameters.kind));
	print_spelled(arguments[2]);
	return 0;
}
