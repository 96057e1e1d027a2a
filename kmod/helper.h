/* SPDX-License-Identifier: GPL-2.0 */
/*
 * More of helper.c than most layers need; the rest is in inherit.h.
 *
 * An *identity* names a task for good: its thread id and when it was born. Other
 * than its address it may be kept when the task has ended.
 */
#ifndef FGIO_HELPER_H
#define FGIO_HELPER_H

#include "core/history.h"

struct task_struct;

/* Context: any; the caller knows that the task exists. Never 0 for a thread. */
u64 fgio_identity_of(const struct task_struct *task);

/*
 * The thread with an id of the initial pid namespace; NULL when it has ended.
 * Context: RCU.
 */
struct task_struct *fgio_thread_of(pid_t tid);

/*
 * The task with an identity, named for blame. Return: the task's key, or 0 when
 * it has ended. Context: the walk's thread.
 */
u64 fgio_walk_name_identity(u64 identity);

/*
 * The task whose wait the walk asks about, a key; 0 where the current task is
 * not the walk's thread. Context: any.
 */
u64 fgio_walk_waiter(void);

/**
 * fgio_helper_list() - who acted on an object within a time
 * @object: which
 * @window_ns: how long ago at most
 * @identities: out: the most recent first; they may have ended
 *
 * Return: how many. Context: any but NMI.
 */
unsigned int fgio_helper_list(u64 object, u64 window_ns,
			      u64 identities[FGIO_WAKERS]);

/*
 * The identity of who acted on an object last, however long ago; 0 when nobody
 * is known. For locks that one task holds at a time. Context: any but NMI.
 */
u64 fgio_helper_last(u64 object);

/* helper_window_ms in nanoseconds. */
u64 fgio_helper_window_ns(void);

#endif /* FGIO_HELPER_H */
