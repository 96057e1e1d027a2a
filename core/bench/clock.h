/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The bench's clocks: the TSC, which stands while a machine is stopped, or a
 * counter where one thread drives all CPUs. Any thread.
 */
#ifndef FGIO_BENCH_CLOCK_H
#define FGIO_BENCH_CLOCK_H

#include "../types.h"

/* Ticks of the TSC per ns, measured once. Before the first thread begins. */
double bench_ticks_per_ns(void);

/* What ktime_get_ns() is in the kernel: never 0. */
u64 bench_now_ns(void);

/*
 * What jiffies are there: no clock is read, and the value may be some ms old.
 */
u64 bench_coarse_ns(void);

/* The calling thread's machine stood for @ns ns until now, all in all. */
void bench_clock_stood(u64 ns);

/* From now on, and in all threads, the clock is at @ns. */
void bench_clock_set(u64 ns);

/* bench_coarse_ns() becomes @ns. */
void bench_clock_set_coarse(u64 ns);

#endif /* FGIO_BENCH_CLOCK_H */
