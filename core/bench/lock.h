/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A spinlock as small as the kernel's, so that it may share a cache line with
 * what it protects. Test-and-set, spinning on reads: among few CPUs that is
 * what a queued spinlock costs. With more threads than cores, the holder may
 * not be running: a waiter yields then.
 *
 * One source, three builds of each policy. A plain one, for rates. With
 * BENCH_TIMES, each thread adds up what it does with locks. With BENCH_LINES,
 * the line counter knows which locks are held.
 */
#ifndef FGIO_BENCH_LOCK_H
#define FGIO_BENCH_LOCK_H

#include <sched.h>
#include <x86intrin.h>

#include "../types.h"

enum bench_lock_kind {
	BENCH_DEVICE_LOCK, /* one for the device */
	BENCH_QUEUE_LOCK,  /* one for each hardware queue */
	BENCH_LOCKS,
};

/**
 * struct bench_lock_times - what one thread did with the locks of a kind
 * @taken: times that it took one
 * @contended: times that it found it taken
 * @waited: time until it had it, in ticks of the TSC
 * @held: time between having it and giving it back, in ticks
 * @since: when it took the one that it has
 */
struct bench_lock_times {
	u64 taken;
	u64 contended;
	u64 waited;
	u64 held;
	u64 since;
};

struct bench_lock {
	u32 taken;
	u32 kind;
};

#define BENCH_SPINS_BEFORE_YIELD 2000

#if defined(BENCH_TIMES)
extern _Thread_local struct bench_lock_times bench_lock_times[BENCH_LOCKS];
#elif defined(BENCH_LINES)
void bench_lines_lock(enum bench_lock_kind kind);
void bench_lines_unlock(enum bench_lock_kind kind);
#endif

static inline void bench_lock_init(struct bench_lock *lock,
				   enum bench_lock_kind kind)
{
	lock->taken = 0;
	lock->kind = kind;
}

static inline bool bench_try(struct bench_lock *lock)
{
	return !__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE);
}

static inline void bench_wait(struct bench_lock *lock)
{
	u32 spins = 0;

	do {
		while (__atomic_load_n(&lock->taken, __ATOMIC_RELAXED)) {
			_mm_pause();
			if (++spins % BENCH_SPINS_BEFORE_YIELD == 0)
				sched_yield();
		}
	} while (!bench_try(lock));
}

#if defined(BENCH_TIMES)
/* When all before has been done, and nothing after has begun. */
static inline u64 bench_ticks(void)
{
	u64 ticks;

	_mm_lfence();
	ticks = __rdtsc();
	_mm_lfence();
	return ticks;
}

static inline void bench_lock(struct bench_lock *lock)
{
	struct bench_lock_times *times = &bench_lock_times[lock->kind];
	u64 begin = bench_ticks();

	times->taken++;
	if (!bench_try(lock)) {
		times->contended++;
		bench_wait(lock);
	}
	times->since = bench_ticks();
	times->waited += times->since - begin;
}

static inline bool bench_trylock(struct bench_lock *lock)
{
	struct bench_lock_times *times = &bench_lock_times[lock->kind];

	if (!bench_try(lock))
		return false;
	times->taken++;
	times->since = bench_ticks();
	return true;
}

static inline void bench_unlock(struct bench_lock *lock)
{
	struct bench_lock_times *times = &bench_lock_times[lock->kind];

	times->held += bench_ticks() - times->since;
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}
#elif defined(BENCH_LINES)
/* One real thread drives all CPUs there, and none of them waits. */
static inline void bench_lock(struct bench_lock *lock)
{
	bench_lines_lock(lock->kind);
	if (!bench_try(lock))
		__builtin_trap();
}

static inline bool bench_trylock(struct bench_lock *lock)
{
	bench_lock(lock);
	return true;
}

static inline void bench_unlock(struct bench_lock *lock)
{
	u32 kind = lock->kind;

	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
	bench_lines_unlock(kind);
}
#else
static inline void bench_lock(struct bench_lock *lock)
{
	if (!bench_try(lock))
		bench_wait(lock);
}

static inline bool bench_trylock(struct bench_lock *lock)
{
	return bench_try(lock);
}

static inline void bench_unlock(struct bench_lock *lock)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}
#endif

#endif /* FGIO_BENCH_LOCK_H */
