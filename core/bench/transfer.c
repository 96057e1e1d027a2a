// SPDX-License-Identifier: GPL-2.0 OR MIT
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include <x86intrin.h>

#include "../atomic.h"
#include "../tests/check.h"
#include "clock.h"
#include "transfer.h"

#define WINDOWS 200
#define TURNS 20
#define MESSAGES_A_TURN 2
#define TRANSFERS_A_MESSAGE 2

/* The first one is odd where it is the other's turn; a line of its own. */
static u64 word[16] __attribute__((aligned(128)));

static void pin(int core)
{
	cpu_set_t chosen;

	CPU_ZERO(&chosen);
	CPU_SET(core, &chosen);
	CHECK(!pthread_setaffinity_np(pthread_self(), sizeof(chosen),
				      &chosen));
}

static void unpin(void)
{
	cpu_set_t all;

	CPU_ZERO(&all);
	for (int i = 0; i < CPU_SETSIZE; i++)
		CPU_SET(i, &all);
	CHECK(!pthread_setaffinity_np(pthread_self(), sizeof(all), &all));
}

static void wait_for(u64 count)
{
	while (fgio_load(word) != count)
		;
}

static void *answer(void *unused)
{
	(void)unused;
	pin(1);
	for (u64 i = 0; i < (u64)WINDOWS * TURNS; i++) {
		wait_for(2 * i + 1);
		fgio_store(word, 2 * i + 2);
	}
	return NULL;
}

static int compare(const void *left, const void *right)
{
	double difference = *(const double *)left - *(const double *)right;

	return (difference > 0) - (difference < 0);
}

double bench_transfer_ns(void)
{
	static double windows[WINDOWS];
	double ticks_per_ns = bench_ticks_per_ns();
	pthread_t other;
	u64 count = 0;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return 0;
	fgio_store(word, 0);
	pin(0);
	CHECK(!pthread_create(&other, NULL, answer, NULL));
	for (u32 i = 0; i < WINDOWS; i++) {
		u64 begin = __rdtsc();

		for (u32 turn = 0; turn < TURNS; turn++) {
			fgio_store(word, count + 1);
			count += 2;
			wait_for(count);
		}
		windows[i] = (double)(__rdtsc() - begin) / ticks_per_ns;
	}
	pthread_join(other, NULL);
	unpin();
	qsort(windows, WINDOWS, sizeof(*windows), compare);
	return windows[WINDOWS / 2] / TURNS / MESSAGES_A_TURN /
	       TRANSFERS_A_MESSAGE;
}
