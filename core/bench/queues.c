// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What a scheduler's queue costs on a drive with many hardware queues: I/Os a
 * second (queues-rate), time in its locks (queues-times, and queues-held where
 * no other CPU disturbs), or cache lines that CPUs exchange (queues-lines).
 * scripts/queues runs all four.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/check.h"
#include "run.h"

static void print_usage(FILE *out)
{
	fputs("usage: queues-rate|-times|-held|-lines [OPTION...]\n"
	      "\n"
	      "CPUs submit I/Os to a drive of many hardware queues and complete them, under one\n"
	      "policy after the other. Prints a line of JSON for each policy.\n"
	      "\n"
	      "  --policies A:B:...   default: all\n"
	      "  --cpus N             default: 2\n"
	      "  --queues N           CPU c has hardware queue c % N; default: 4\n"
	      "  --depth N            I/Os of one CPU under way, at most; default: 1\n"
	      "  --plug N             submitted at once; default: half of the depth, up to 16\n"
	      "  --foreground N       CPUs whose I/Os are critical, the first ones; default: 0\n"
	      "  --writes PERCENT     default: 0\n"
	      "  --look-up            look for I/Os to merge with before plugging\n"
	      "  --work NS            rest of the I/O path, on each CPU; default: 0\n"
	      "  --drive NS           time of an I/O in the drive; default: 0\n"
	      "  --seed N             also SEED=N; default: a fresh one, printed\n"
	      "  --help\n"
	      "\n"
	      "queues-rate, queues-times (CPUs are threads, pinned to cores):\n"
	      "  --slices N           of each policy, in turns; default: 15\n"
	      "  --slice-us N         default: 2000\n"
	      "  --tries N            of a slice in which a thread is preempted; default: 20\n"
	      "\n"
	      "queues-held, queues-lines (all CPUs in one thread):\n"
	      "  --ios N              counted, after half as many; default: 20000\n",
	      out);
}

enum {
	POLICIES = 1,
	CPUS,
	QUEUES,
	DEPTH,
	PLUG,
	FOREGROUND,
	WRITES,
	LOOK_UP,
	WORK,
	DRIVE,
	SEED,
	SLICES,
	SLICE_US,
	TRIES,
	IOS,
	HELP,
};

static const struct option long_options[] = {
	{ "policies", required_argument, NULL, POLICIES },
	{ "cpus", required_argument, NULL, CPUS },
	{ "queues", required_argument, NULL, QUEUES },
	{ "depth", required_argument, NULL, DEPTH },
	{ "plug", required_argument, NULL, PLUG },
	{ "foreground", required_argument, NULL, FOREGROUND },
	{ "writes", required_argument, NULL, WRITES },
	{ "look-up", no_argument, NULL, LOOK_UP },
	{ "work", required_argument, NULL, WORK },
	{ "drive", required_argument, NULL, DRIVE },
	{ "seed", required_argument, NULL, SEED },
	{ "slices", required_argument, NULL, SLICES },
	{ "slice-us", required_argument, NULL, SLICE_US },
	{ "tries", required_argument, NULL, TRIES },
	{ "ios", required_argument, NULL, IOS },
	{ "help", no_argument, NULL, HELP },
	{ 0 },
};

static void fail(const char *what, const char *value)
{
	fprintf(stderr, "queues: %s: %s; see --help\n", value, what);
	exit(2);
}

static u64 number(const char *text)
{
	char *end;
	u64 value = strtoull(text, &end, 0);

	if (!*text || *end || *text == '-')
		fail("no integer from 0 up", text);
	return value;
}

static u32 number_between(const char *text, u64 least, u64 most)
{
	u64 value = number(text);

	if (value < least || value > most)
		fail("out of range", text);
	return (u32)value;
}

static void choose_policies(struct bench_options *options, char *names)
{
	u32 count = 0;

	for (char *name = strtok(names, ":"); name; name = strtok(NULL, ":")) {
		if (count == BENCH_POLICIES_MAX || !bench_policy_by_name(name))
			fail("no such policy, or too many", name);
		options->policies[count++] = bench_policy_by_name(name);
	}
	options->policies[count] = NULL;
}

static void set_load(struct bench_load *load, int option, const char *value)
{
	switch (option) {
	case CPUS:
		load->cpus = number_between(value, 1, BENCH_CPUS_MAX);
		break;
	case QUEUES:
		load->queues = number_between(value, 1, BENCH_CPUS_MAX);
		break;
	case DEPTH:
		load->depth = number_between(value, 1, 1024);
		break;
	case PLUG:
		load->plug = number_between(value, 1, BENCH_PLUG_MAX);
		break;
	case FOREGROUND:
		load->foreground = number_between(value, 0, BENCH_CPUS_MAX);
		break;
	case WRITES:
		load->write_percent = number_between(value, 0, 100);
		break;
	case LOOK_UP:
		load->look_up = true;
		break;
	case WORK:
		load->work_ns = number(value);
		break;
	case DRIVE:
		load->drive_ns = number(value);
		break;
	case SEED:
		load->seed = number(value);
		break;
	}
}

static void set(struct bench_options *options, int option, char *value)
{
	switch (option) {
	case POLICIES:
		choose_policies(options, value);
		break;
	case SLICES:
		options->slices = number_between(value, 1, 1000);
		break;
	case SLICE_US:
		options->slice_us = number_between(value, 10, 1000000);
		break;
	case TRIES:
		options->tries = number_between(value, 1, 1000);
		break;
	case IOS:
		options->ios = number(value);
		break;
	case HELP:
		print_usage(stdout);
		exit(0);
	case '?':
		exit(2);
	default:
		set_load(&options->load, option, value);
	}
}

static void complete_load(struct bench_load *load)
{
	if (!load->plug)
		load->plug = load->depth < 2   ? 1 :
			     load->depth >= 32 ? 16 :
						 load->depth / 2;
	if (load->plug > load->depth)
		fail("more plugged than under way", "--plug");
	if (!load->seed)
		load->seed = fresh_seed("queues");
}

int main(int count, char **arguments)
{
	struct bench_options options = {
		.load = { .cpus = 2, .queues = 4, .depth = 1 },
		.slices = 15,
		.slice_us = 2000,
		.tries = 20,
		.ios = 20000,
	};
	int option;

	for (u32 i = 0; bench_policies[i]; i++)
		options.policies[i] = bench_policies[i];
	while ((option = getopt_long(count, arguments, "", long_options,
				     NULL)) != -1)
		set(&options, option, optarg);
	if (optind < count)
		fail("not an option", arguments[optind]);
	complete_load(&options.load);
	bench_run(&options);
	return 0;
}
