/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Wakers: tasks that acted on an object lately. For objects that have no owner,
 * or do not name it. The locks around core/history.c.
 */
#ifndef FGIO_WAKER_H
#define FGIO_WAKER_H

#include <linux/hash.h>
#include <linux/spinlock.h>

#include "base/scale.h"
#include "core/history.h"

struct task_struct;

/**
 * fgio_waker_watch() - remember acts on an object from now on
 * @object: the object, for which a task waits
 * @task: that task; its user's share of the table is charged. It exists
 *
 * Acts on other objects do not push a watched one out. Context: any but NMI.
 */
void fgio_waker_watch(u64 object, struct task_struct *task);

/* A set of objects. waker.c's but for the question below. */
struct fgio_waker_set {
	struct fgio_history_set set;
	raw_spinlock_t lock;
} ____cacheline_aligned;

extern struct fgio_waker_set *fgio_waker_sets;

static inline struct fgio_waker_set *fgio_waker_set_of(u64 object)
{
	return &fgio_waker_sets[hash_64(object, FGIO_WAKER_SET_BITS)];
}

/* Whether acts on an object are remembered: of few objects. Context: any. */
static inline bool fgio_waker_remembers(u64 object)
{
	return fgio_history_remembered(&fgio_waker_set_of(object)->set, object);
}

/*
 * The current task acts on an object. Unless @always, objects that are not in
 * the table are skipped, cheaply. Context: any but NMI.
 */
void fgio_waker_note(u64 object, bool always);

/*
 * The current task acts on an object in the name of @task. Context: @task
 * exists; as fgio_waker_note().
 */
void fgio_waker_note_for(struct task_struct *task, u64 object);

/**
 * fgio_waker_list() - the tasks that acted on an object within a time
 * @object: the object
 * @window_ns: the time, back from now
 * @identities: out: the most recent first; the tasks may have ended
 *
 * Return: the number of identities. Context: any but NMI.
 */
unsigned int fgio_waker_list(u64 object, u64 window_ns,
			     u64 identities[FGIO_WAKERS]);

/*
 * The same for those that may act next (fgio_history_expected()), with
 * helper_window_ms.
 */
unsigned int fgio_waker_expected(u64 object, u64 identities[FGIO_WAKERS]);

/*
 * The identity of the task that acted on an object last, at any time; 0 when
 * none is known. For locks that one task holds at a time. Context: any but NMI.
 */
u64 fgio_waker_last(u64 object);

/* helper_window_ms in nanoseconds. */
u64 fgio_waker_window_ns(void);

/* Watches that others pushed out of the table, in total. */
u32 fgio_waker_unwatched(void);

int fgio_waker_init(void);
void fgio_waker_exit(void);

#endif /* FGIO_WAKER_H */
