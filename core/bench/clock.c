// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <time.h>
#include <x86intrin.h>

#include "clock.h"

#define MEASURE_NS 20000000ULL

static double ns_per_tick;
static u64 first_tick;
static u64 virtual_ns;
static u64 coarse_ns = 1;
static _Thread_local u64 stood_ns;

static u64 monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000ULL + (u64)now.tv_nsec;
}

double bench_ticks_per_ns(void)
{
	u64 begin_ns, begin, ns;

	if (ns_per_tick > 0)
		return 1 / ns_per_tick;
	begin_ns = monotonic_ns();
	begin = __rdtsc();
	do
		ns = monotonic_ns() - begin_ns;
	while (ns < MEASURE_NS);
	ns_per_tick = (double)ns / (double)(__rdtsc() - begin);
	first_tick = begin;
	return 1 / ns_per_tick;
}

u64 bench_now_ns(void)
{
	if (virtual_ns)
		return virtual_ns;
	return (u64)((double)(__rdtsc() - first_tick) * ns_per_tick) -
	       stood_ns;
}

u64 bench_coarse_ns(void)
{
	return __atomic_load_n(&coarse_ns, __ATOMIC_RELAXED);
}

void bench_clock_stood(u64 ns)
{
	stood_ns = ns;
}

void bench_clock_set(u64 ns)
{
	virtual_ns = ns;
}

void bench_clock_set_coarse(u64 ns)
{
	__atomic_store_n(&coarse_ns, ns, __ATOMIC_RELAXED);
}
