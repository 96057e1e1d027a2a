// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Time under each lock where no line has to come from another CPU: one thread
 * makes the steps of all of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "empty_section.h"
#include "interleave.h"
#include "lock.h"
#include "run.h"

/* The median over these is not disturbed by other programs. */
#define PARTS 25

static const char *const names[BENCH_LOCKS] = {
	[BENCH_DEVICE_LOCK] = "device",
	[BENCH_QUEUE_LOCK] = "queue",
};

static int compare(const void *left, const void *right)
{
	double difference = *(const double *)left - *(const double *)right;

	return (difference > 0) - (difference < 0);
}

static double median(double *values, u32 count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

/* Runs one part. @held_ns: for each kind of lock, for each I/O. */
static void run_part(struct bench_interleave *order, u64 ios, double empty,
		     double held_ns[BENCH_LOCKS])
{
	double ticks = bench_ticks_per_ns();

	memset(bench_lock_times, 0, sizeof(bench_lock_times));
	bench_interleave_run(order, ios);
	for (u32 kind = 0; kind < BENCH_LOCKS; kind++) {
		const struct bench_lock_times *lock = &bench_lock_times[kind];

		held_ns[kind] = ((double)lock->held -
				 (double)lock->taken * empty) /
				ticks / (double)ios;
	}
}

static void run_policy(const struct bench_options *options,
		       const struct bench_policy *policy, double empty)
{
	struct bench_interleave order = {
		.machine = bench_machine_make(policy, &options->load),
		.random = options->load.seed,
		.now_ps = BENCH_BEGIN_PS,
	};
	double parts[BENCH_LOCKS][PARTS];

	bench_interleave_warm_up(&order, options->ios / 2);
	for (u32 part = 0; part < PARTS; part++) {
		double held_ns[BENCH_LOCKS];

		run_part(&order, options->ios / PARTS, empty, held_ns);
		for (u32 kind = 0; kind < BENCH_LOCKS; kind++)
			parts[kind][part] = held_ns[kind];
	}
	printf("{\"policy\": \"%s\"", policy->name);
	for (u32 kind = 0; kind < BENCH_LOCKS; kind++)
		printf(", \"%s\": {\"held_ns\": %.2f}", names[kind],
		       median(parts[kind], PARTS));
	puts("}");
	bench_machine_destroy(order.machine);
}

void bench_run(const struct bench_options *options)
{
	double empty = bench_empty_section();

	for (u32 i = 0; options->policies[i]; i++)
		run_policy(options, options->policies[i], empty);
}
