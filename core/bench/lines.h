/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Counts what the caches of several CPUs would exchange, exactly and for any
 * number of CPUs: the code under test is compiled with -fsanitize=thread, and
 * each of its loads and stores calls lines.c, which keeps for each line of 64
 * bytes which CPUs have a copy, and which one wrote it last. One thread makes
 * the steps of all CPUs, in an order drawn from the seed.
 *
 * A load of a line of which this CPU has no copy, since another one wrote it,
 * is a transfer. So is a store to a line of which another CPU has a copy. A
 * load followed by a store is two, as it is to caches. Caches hold everything:
 * what no CPU touched before is not counted, nor is the stack. No CPU finds a
 * lock taken, so what waiters do to its line is not counted either.
 */
#ifndef FGIO_BENCH_LINES_H
#define FGIO_BENCH_LINES_H

#include "lock.h"
#include "machine.h"

/* Called by bench_lock() and bench_unlock() of the code under test. */
void bench_lines_lock(enum bench_lock_kind kind);
void bench_lines_unlock(enum bench_lock_kind kind);

/* Where something happened: under the lock of a kind, the inner one, or none */
enum bench_place {
	BENCH_UNDER_DEVICE_LOCK = BENCH_DEVICE_LOCK,
	BENCH_UNDER_QUEUE_LOCK = BENCH_QUEUE_LOCK,
	BENCH_UNDER_NO_LOCK = BENCH_LOCKS,
	BENCH_PLACES,
};

/**
 * struct bench_lines - totals of one place
 * @written: lines written, each counted once in a call of the policy
 * @stores: transfers by stores: another CPU had a copy
 * @loads: transfers by loads: another CPU had written it since
 * @locks: times that the lock was taken
 */
struct bench_lines {
	u64 written;
	u64 stores;
	u64 loads;
	u64 locks;
};

/* Forgets all lines and totals. */
void bench_lines_reset(void);

/* Forgets the totals alone. */
void bench_lines_begin(void);

/* From now on @cpu acts; a new call begins. */
void bench_lines_step(u32 cpu);

/* The CPU that acts wrote @bytes at @pointer outside of the code under test. */
void bench_lines_wrote(const void *pointer, size_t bytes);

/* Totals since bench_lines_begin(). */
struct bench_lines bench_lines_of(enum bench_place place);

#endif /* FGIO_BENCH_LINES_H */
