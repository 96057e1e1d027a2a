/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Wakers by history: a task that signalled a condition lately will signal it
 * again (FAST'17 paper, section 4.2.1, after Cheng et al.'s helper tasks).
 *
 * A fixed table from objects (a condition, a semaphore, a file's pages) to the
 * tasks that acted on them last. Objects and tasks are opaque numbers, never
 * dereferenced; zero is neither.
 *
 * An object is *watched* for FGIO_WATCH_NS after a foreground task waited for
 * it. Most others are there because a holder has to be noted before any task
 * waits, and come at the rate of the host's traffic. So:
 *
 *	an unwatched object never takes the place of a watched one;
 *	at least FGIO_SET_UNWATCHED places are left to unwatched ones;
 *	the *payer* (a user) with the most places of that kind gives way first,
 *	with its oldest: no payer's traffic takes another one's share.
 *
 * Locking: the caller serialises the calls for one set. Nothing here sleeps or
 * allocates.
 */
#ifndef FGIO_CORE_HISTORY_H
#define FGIO_CORE_HISTORY_H

#include "atomic.h"
#include "types.h"

#define FGIO_WAKERS 4
#define FGIO_SET_OBJECTS 8
#define FGIO_SET_UNWATCHED 2
#define FGIO_SET_WATCHED (FGIO_SET_OBJECTS - FGIO_SET_UNWATCHED)

/* The longest helper_window_ms: older entries are of no use. */
#define FGIO_WATCH_NS 60000000000ULL

/**
 * struct fgio_waker - a task that acted on an object
 * @task: the task; 0 if the entry is free
 * @at_ns: when it last did
 */
struct fgio_waker {
	u64 task;
	u64 at_ns;
};

/**
 * struct fgio_history_entry - one object
 * @used_ns: when it was last watched, noted or asked for
 * @watched_ns: when it was last watched; 0 for never
 * @late_ns: when it was first asked which tasks may act next, after none had
 *	for a window; 0: not since the last act
 * @payer: the user that it counts for: the one that watched it, else the first
 *	one that acted on it
 * @wakers: tasks that acted on it
 */
struct fgio_history_entry {
	u64 used_ns;
	u64 watched_ns;
	u64 late_ns;
	u32 payer;
	struct fgio_waker wakers[FGIO_WAKERS];
};

/**
 * struct fgio_history_set - the objects that hash to one place
 * @objects: the objects; 0 for a free place. Apart from the rest, so that an
 *	object is looked up in one cache line
 * @entry: one for each object
 * @unwatched: total watched objects whose place others took
 */
struct fgio_history_set {
	u64 objects[FGIO_SET_OBJECTS];
	struct fgio_history_entry entry[FGIO_SET_OBJECTS];
	u32 unwatched;
};

/**
 * fgio_history_watch() - remember an object that a foreground task waits for
 * @set: of the object
 * @object: the object
 * @payer: the user that the task belongs to
 * @now_ns: the time
 *
 * If FGIO_SET_WATCHED objects are watched, one of them no longer is. It stays
 * while there is room among the others.
 */
void fgio_history_watch(struct fgio_history_set *set, u64 object, u32 payer,
			u64 now_ns);

/*
 * Whether an object is remembered. Without serialisation the answer is
 * advisory. Here, and without a loop, since all tasks that wake others ask.
 */
static inline bool fgio_history_remembered(const struct fgio_history_set *set,
					   u64 object)
{
	unsigned int place;

#pragma GCC unroll 8
	for (place = 0; place < FGIO_SET_OBJECTS; place++)
		if (fgio_load(&set->objects[place]) == object)
			return object;
	return false;
}

/**
 * fgio_history_note() - a task acts on an object
 * @set: of the object
 * @object: the object
 * @task: the task; takes the place of the waker that acted longest ago
 * @payer: the user that the task belongs to
 * @now_ns: the time
 * @only_remembered: do nothing when the object is not remembered
 */
void fgio_history_note(struct fgio_history_set *set, u64 object, u64 task,
		       u32 payer, u64 now_ns, bool only_remembered);

/**
 * fgio_history_wakers() - the tasks that acted on an object within a window
 * @set: of the object
 * @object: the object
 * @now_ns: the time
 * @window_ns: longest time ago
 * @tasks: out: the most recent first
 *
 * Return: their number.
 */
unsigned int fgio_history_wakers(struct fgio_history_set *set, u64 object,
				 u64 now_ns, u64 window_ns,
				 u64 tasks[FGIO_WAKERS]);

/**
 * fgio_history_expected() - the tasks that may act on an object next
 * @set: of the object
 * @object: the object
 * @now_ns: the time
 * @window_ns: the window
 * @tasks: out: the most recent first
 *
 * Those that acted within the window. If none did, those that acted last count
 * for one more window, from the moment on at which this is asked first: a client
 * that asks a question now and then waits for the same server as before, and one
 * that sleeps for a server that stopped is not misled for long. None counts after
 * FGIO_WATCH_NS.
 *
 * Return: their number.
 */
unsigned int fgio_history_expected(struct fgio_history_set *set, u64 object,
				   u64 now_ns, u64 window_ns,
				   u64 tasks[FGIO_WAKERS]);

/* A task has exited. */
void fgio_history_forget(struct fgio_history_set *set, u64 task);

#endif /* FGIO_CORE_HISTORY_H */
