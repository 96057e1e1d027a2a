/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the programs queues-rate, -times, -held and -lines do. */
#ifndef FGIO_BENCH_RUN_H
#define FGIO_BENCH_RUN_H

#include "machine.h"

#define BENCH_POLICIES_MAX 8

/**
 * struct bench_options - the command line
 * @policies: what to compare; ends with NULL
 * @load: what the CPUs do
 * @slices: slices of each policy; they take turns
 * @slice_us: their length
 * @tries: times that a disturbed slice is repeated
 * @ios: I/Os that are counted
 */
struct bench_options {
	const struct bench_policy *policies[BENCH_POLICIES_MAX + 1];
	struct bench_load load;
	u32 slices;
	u32 slice_us;
	u32 tries;
	u64 ios;
};

/* Prints one line of JSON for each policy, and others. */
void bench_run(const struct bench_options *options);

#endif /* FGIO_BENCH_RUN_H */
