/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits and boosts. Kinds of waits are FGIO_WAIT_* of uapi/fgio.h, since blame
 * reports them.
 */
#ifndef FGIO_WAIT_H
#define FGIO_WAIT_H

#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/sched.h>

#include "core/inherit.h"

struct task_struct;

/* --- for hooks that all tasks come through, without a call -------------- */

/*
 * A bit for each bucket of tasks: whether foreground tasks of it wait, and
 * whether tasks of it have boosts. wait.c's.
 */
extern unsigned long *fgio_wait_rooted;
extern unsigned long *fgio_wait_leased;
extern unsigned int fgio_wait_bits;

static inline unsigned int fgio_wait_index(u64 task)
{
	return hash_64(task, fgio_wait_bits);
}

/* False: the task is no foreground task that waits. Context: any. */
static inline bool fgio_wait_may_be_root(const struct task_struct *task)
{
	return test_bit(fgio_wait_index((u64)task), fgio_wait_rooted);
}

/* False: the current task has no boost. Context: any. */
static inline bool fgio_boost_may_exist(void)
{
	return test_bit(fgio_wait_index((u64)current), fgio_wait_leased);
}

/* --- for layers ------------------------------------------------------- */

/**
 * fgio_wait_enter() - the current task begins to wait
 * @kind: FGIO_WAIT_*
 * @object: the object that it waits for, usually its address
 * @detail: for blockers() of its layer
 *
 * Return: seq, for fgio_wait_leave(); 0 when the wait was not recorded.
 * Context: any but NMI.
 */
u32 fgio_wait_enter(u8 kind, u64 object, u64 detail);

/* The wait is over. Zero is ignored. Context: any but NMI. */
void fgio_wait_leave(u32 seq);

/* The current task's innermost wait for an object is over, if it has one. */
void fgio_wait_leave_object(u64 object);

/*
 * The current task's outermost wait of a kind is over, if it has one. Context:
 * as fgio_wait_leave().
 */
void fgio_wait_leave_kind(u8 kind);

/* Whether the current task waits for an object; for any object. */
bool fgio_wait_has(u64 object);
bool fgio_wait_has_any(void);

/* The kind of the current task's wait for an object; 0 when it has none. */
u8 fgio_wait_kind(u64 object);

/* Whether I/O of the current task is critical: foreground, or boosted. */
bool fgio_current_is_critical(void);

/*
 * The foreground task for which a task is boosted; 0: it has no valid boost.
 * Context: any but NMI.
 */
u64 fgio_task_boosted_for(u64 task);

/* Whether a task has a valid boost. Context: any but NMI. */
static inline bool fgio_task_is_boosted(u64 task)
{
	return fgio_task_boosted_for(task);
}

/**
 * fgio_wait_is_for() - what blocks the current task's wait is known as it begins
 * @seq: the wait, not 0
 * @kind: its kind
 * @task: key of the task in the way; 0 is ignored
 *
 * Boosts it at once, for a foreground task: what it submits before the first walk
 * comes would be non-critical. Walks renew the boost as if it were theirs, and
 * fgio_wait_was_for() ends it after the wait.
 * Context: as fgio_wait_enter().
 */
void fgio_wait_is_for(u32 seq, u8 kind, u64 task);
void fgio_wait_was_for(u32 seq, u64 task);

/* The slow path of fgio_boost_give_back(). */
void fgio_boost_drop(u8 kind);

/**
 * fgio_boost_give_back() - the current task may no longer be in the way
 * @kind: of waits for the lock that it released; FGIO_WAIT_NONE: of all waits
 *
 * It woke another task, or released a lock: its boosts end, and a walk comes
 * soon to see whether a foreground task still waits for it. Returns at once
 * when it has no boost. Context: any but NMI.
 */
static inline void fgio_boost_give_back(u8 kind)
{
	if (unlikely(fgio_boost_may_exist()))
		fgio_boost_drop(kind);
}

/**
 * fgio_wait_hold() - keep a wait from ending
 * @task: the waiting task
 * @seq: the wait
 * @flags: for fgio_wait_release()
 *
 * While the wait is held, its object (a lock, a journal) and its task exist:
 * both outlive the wait.
 *
 * Return: false, with nothing held, when the wait is over.
 * Context: interrupts are off until fgio_wait_release(); no spinlock_t may be
 * taken in between.
 */
bool fgio_wait_hold(u64 task, u32 seq, unsigned long *flags);
void fgio_wait_release(u64 task, unsigned long flags);

/*
 * Whether a wait goes on; also one that a layer found unrecorded. Context: any
 * but NMI.
 */
bool fgio_wait_is_on(u64 task, u32 seq);

/* Changes the kind of a recorded wait. */
void fgio_wait_is_of_kind(u64 task, u32 seq, u8 kind);

/*
 * The current task, a foreground task, begins to sleep in one of the system
 * calls of layers/sleep.c; the sleep ends when the scheduler runs it again. Only
 * a task of which fgio_wait_may_be_root() is true can be in such a sleep.
 * Context: the scheduler's, with the run queue locked.
 */
void fgio_sleep_enter(u8 kind, u64 object, u64 detail);
void fgio_sleep_leave(const struct task_struct *task);

/*
 * The object of a foreground task's sleep for a reply, or for completions of a
 * ring, one of which may be a reply; 0 when it is in none.
 * Context: as above, or a wake-up's, with its locks held.
 */
u64 fgio_sleep_reply(const struct task_struct *task);

/*
 * Forgets a wait that goes on, and those nested in it: it has no blocker, and is
 * not blamed. Context: any but NMI.
 */
void fgio_wait_drop(u64 task, u32 seq);

/* --- for the walk ----------------------------------------------------- */

/**
 * fgio_wait_copy_of() - the waits of a task
 * @task: its key
 * @waits: out: outermost first
 * @name: called under the lock when it waits; returns 0 when the task is gone
 *	and its end was missed: then it is forgotten. May be NULL
 *
 * Return: the number of waits.
 */
unsigned int fgio_wait_copy_of(u64 task,
			       struct fgio_wait waits[FGIO_WAITS_NESTED],
			       u64 (*name)(const struct task_struct *task));

bool fgio_lease_is_valid(const struct fgio_lease *lease);

/* Boosts that are granted from now on last until the end of the next walk. */
void fgio_wait_walk_begins(u32 number);

/* Return: whether the task did not have this boost before. */
bool fgio_wait_boost(u64 task, const struct fgio_lease *lease);

/**
 * fgio_wait_visit_roots() - the foreground tasks that wait
 * @room: the most tasks to visit, at least FGIO_BUCKET_NODES
 * @visit: called for each, with nothing locked
 *
 * Continues where the last call ran out of room, so that each task has its
 * turn.
 *
 * Return: whether each has had its turn, in this call and those before it.
 */
bool fgio_wait_visit_roots(unsigned int room, void (*visit)(u64 task));

/*
 * Calls @visit for each lease, with nothing locked, then drops those that no
 * walk renewed from @since on.
 */
void fgio_wait_settle_leases(u32 since,
			     void (*visit)(const struct fgio_lease *lease));
bool fgio_wait_roots_exist(void);
bool fgio_wait_leases_exist(void);

/* Totals for FGIO_IOC_STATE. */
unsigned int fgio_wait_boosted(void);
u64 fgio_wait_boosts(void);
unsigned int fgio_wait_foreground_waiting(void);
u64 fgio_wait_lost(void);

/*
 * Whether the tasks that waits of a kind are for have a handle open until the
 * wait ends: those of btrfs commit, and write logs, with one.
 */
static inline bool fgio_wait_is_for_handle(u8 kind)
{
	return kind == FGIO_WAIT_JOURNAL_UPDATES ||
	       kind == FGIO_WAIT_BTRFS_COMMIT || kind == FGIO_WAIT_BTRFS_LOG;
}

/* --- when ends of waits were missed ------------------------------------ */

/* A thread ends. Context: its own, in sched_process_exit. */
void fgio_wait_forget_current(void);

/*
 * Hooks were detached, so ends of waits are not seen: forgets all waits. Tasks
 * that still wait are recorded at their next wait. Context: may sleep.
 */
void fgio_wait_forget_all(void);

int fgio_wait_init(void);
void fgio_wait_exit(void);

#endif /* FGIO_WAIT_H */
