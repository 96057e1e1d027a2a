// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "empty_section.h"
#include "lock.h"

#if defined(BENCH_TIMES)
#define WINDOWS 100
#define SECTIONS 1000

_Thread_local struct bench_lock_times bench_lock_times[BENCH_LOCKS];

double bench_empty_section(void)
{
	struct bench_lock_times *times = &bench_lock_times[BENCH_QUEUE_LOCK];
	struct bench_lock lock;
	u64 least = UINT64_MAX;

	bench_lock_init(&lock, BENCH_QUEUE_LOCK);
	for (u32 window = 0; window < WINDOWS; window++) {
		u64 held = times->held;

		for (u32 i = 0; i < SECTIONS; i++) {
			bench_lock(&lock);
			bench_unlock(&lock);
		}
		if (times->held - held < least)
			least = times->held - held;
	}
	return (double)least / SECTIONS;
}
#else
double bench_empty_section(void)
{
	return 0;
}
#endif
