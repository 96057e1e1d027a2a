/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Why the cause of a foreground task's wait is not known, or is no matter of
 * the drive alone (uapi/fgio_reason.h).
 *
 * A walk notes facts about each task that it reaches. Those about the last task
 * of a chain make a reason. Walks differ, since chains build up and dissolve
 * while a wait lasts: the reason of the wait is the one that held longest.
 *
 * Locking: the caller's. Nothing here sleeps or allocates.
 */
#ifndef FGIO_CORE_REASON_H
#define FGIO_CORE_REASON_H

#include "types.h"
#include "../uapi/fgio_reason.h"

/**
 * enum fgio_fact - facts about a task, as bits
 * @FGIO_FACT_IO: the I/O that it waits for was found, or it waits for fgio
 * @FGIO_FACT_OWN_IO: it has I/O of its own, queued or in the device, of a kind
 *	that tasks wait for
 * @FGIO_FACT_IO_SLEEP: it sleeps for I/O
 * @FGIO_FACT_WAITS: it is in a wait that is recorded
 * @FGIO_FACT_OFF: the switch of that wait's kind is off
 * @FGIO_FACT_NO_HOOK: a hook for that kind is missing
 * @FGIO_FACT_IO_LOST: the I/O that it waits for was not found
 * @FGIO_FACT_RUNS: it runs, is ready to, or has ended
 * @FGIO_FACT_INTERRUPTIBLE: it sleeps interruptibly
 * @FGIO_FACT_FULL: a table had no room for its I/O or its blocker
 * @FGIO_FACT_CUT: it was not asked for what it waits
 * @FGIO_FACT_IO_TURN: with FGIO_FACT_IO: some of it is queued while other
 *	groups have their turn (fgio_queue_awaits_turn())
 * @FGIO_FACT_OWN_IO_TURN: the same with FGIO_FACT_OWN_IO
 */
enum fgio_fact {
	FGIO_FACT_IO = 1 << 0,
	FGIO_FACT_OWN_IO = 1 << 1,
	FGIO_FACT_IO_SLEEP = 1 << 2,
	FGIO_FACT_WAITS = 1 << 3,
	FGIO_FACT_OFF = 1 << 4,
	FGIO_FACT_NO_HOOK = 1 << 5,
	FGIO_FACT_IO_LOST = 1 << 6,
	FGIO_FACT_RUNS = 1 << 7,
	FGIO_FACT_INTERRUPTIBLE = 1 << 8,
	FGIO_FACT_FULL = 1 << 9,
	FGIO_FACT_CUT = 1 << 10,
	FGIO_FACT_IO_TURN = 1 << 11,
	FGIO_FACT_OWN_IO_TURN = 1 << 12,
};

/* The facts of one wait: nested waits come one after the other, the last counts. */
#define FGIO_FACTS_OF_WAIT \
	(FGIO_FACT_OFF | FGIO_FACT_NO_HOOK | FGIO_FACT_IO_LOST)

/* The reason why nothing is known beyond a task with these facts. */
enum fgio_reason fgio_reason_of(u32 facts);

/**
 * struct fgio_reason_times - the reasons of one wait
 * @since_ns: time from which @last holds
 * @held_ns: how long each reason held, before that
 * @last: reason that holds now
 */
struct fgio_reason_times {
	u64 since_ns;
	u64 held_ns[FGIO_REASONS];
	u8 last;
};

/**
 * fgio_reason_begin() - the first look at a wait
 * @times: any contents
 * @since_ns: when the wait began: the reason is taken to have held since
 * @reason: the reason that was seen
 */
void fgio_reason_begin(struct fgio_reason_times *times, u64 since_ns,
		       enum fgio_reason reason);

/* A further look: the reason before it held until now. */
void fgio_reason_saw(struct fgio_reason_times *times, u64 now_ns,
		     enum fgio_reason reason);

/*
 * The reason that held longest of a wait that ends now; of equals the one with
 * the lowest value, so FGIO_REASON_NONE before all others.
 */
enum fgio_reason fgio_reason_longest(const struct fgio_reason_times *times,
				     u64 now_ns);

#endif /* FGIO_CORE_REASON_H */
