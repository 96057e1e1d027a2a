/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How many critical I/Os are in the drive at most while they go in the order of
 * users' requests.
 *
 * A drive that has all of them orders them itself. What is learnt is the least
 * power of two with which the drive does as much as with twice as many in it, to
 * about one part in 64. Where a drive is nearly full, such a part is much of the
 * time that users wait, so half as many again are the bound. It is learnt by
 * trials: while critical I/O waits in the queue, some I/Os go under one
 * bound, then as many under another, in turn, and the mean times from one to the
 * next are compared. What else changes meanwhile meets both alike.
 *
 * Trials of a lower bound cost throughput, and those of a higher one order. So
 * they end early where the answer is clear, and become rare as it stays the
 * same.
 *
 * Locking: the caller serialises. Nothing here sleeps, allocates or loops.
 */
#ifndef FGIO_CORE_REQUEST_BOUND_H
#define FGIO_CORE_REQUEST_BOUND_H

#include "types.h"

/*
 * As powers of two: what is taken for learnt at first, and the most. One that is
 * too low is found out at once, since I/O waits. With one that is too high little
 * waits, and little is learnt.
 */
#define FGIO_BOUND_FIRST 2
#define FGIO_BOUND_MOST 10

/* Held for this time while nothing moves, the drive's I/O counts no more. */
#define FGIO_BOUND_STILL_NS 100000000ULL

enum { FGIO_BOUND_LOW, FGIO_BOUND_HIGH, FGIO_BOUND_ARMS };

/**
 * struct fgio_request_bound - the bound of one drive
 * @fixed: the bound, in I/Os; 0: learnt
 * @level: what was learnt, as a power of two
 * @low: of a trial, the lower of the two bounds, as a power of two; the other is
 *	twice that
 * @high: the higher one is in force
 * @trying: a trial is under way
 * @upwards: it is of a bound above @level
 * @settles: trials that left the level as it is
 * @rounds: turns of both bounds that are over in this trial
 * @skip: I/Os that go before the time of one counts
 * @left: I/Os until the other bound's turn, or until the next trial
 * @last_ns: when the last one went, with others waiting; 0: none waited
 * @took_ns: of this trial, by bound: time...
 * @count: ...in which this number of I/Os went
 * @held_ns: since when I/O is held back and none goes; 0: it is not
 */
struct fgio_request_bound {
	u32 fixed;
	u8 level;
	u8 low;
	bool high;
	bool trying;
	bool upwards;
	u8 settles;
	u32 rounds;
	u32 skip;
	u32 left;
	u64 last_ns;
	u64 took_ns[FGIO_BOUND_ARMS];
	u32 count[FGIO_BOUND_ARMS];
	u64 held_ns;
};

void fgio_request_bound_init(struct fgio_request_bound *bound);

/* The bound in force, in I/Os. */
static inline u32 fgio_request_bound_now(const struct fgio_request_bound *bound)
{
	if (bound->fixed)
		return bound->fixed;
	if (bound->trying)
		return 1U << (bound->low + bound->high);
	return (3U << bound->level) / 2;
}

/*
 * A critical I/O goes to the drive at @now_ns, and @waiting are left in the
 * queue. Ids are about.
 */
void fgio_request_bound_went(struct fgio_request_bound *bound, u32 waiting,
			     u64 now_ns);

/* No id is about: the time until the next I/O does not count. */
static inline void fgio_request_bound_pauses(struct fgio_request_bound *bound)
{
	bound->last_ns = 0;
	bound->held_ns = 0;
}

/*
 * Critical I/O is held back at @now_ns. Return: whether the drive seems to keep
 * what it has: no bound counts that any more.
 */
static inline bool fgio_request_bound_holds(struct fgio_request_bound *bound,
					    u64 now_ns)
{
	if (!bound->held_ns)
		bound->held_ns = now_ns;
	if (now_ns < bound->held_ns + FGIO_BOUND_STILL_NS)
		return false;
	bound->held_ns = now_ns;
	return true;
}

/* Only while I/O is held back: when that is to be asked again. */
static inline u64
fgio_request_bound_retry_ns(const struct fgio_request_bound *bound)
{
	return bound->held_ns + FGIO_BOUND_STILL_NS;
}

#endif /* FGIO_CORE_REQUEST_BOUND_H */
