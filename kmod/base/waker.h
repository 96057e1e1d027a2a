/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers: which tasks acted on what lately, for objects that have no owner, or
 * do not tell which task it is. The locks around core/history.c.
 */
#ifndef FGIO_WAKER_H
#define FGIO_WAKER_H

#include "core/history.h"

struct task_struct;

/**
 * fgio_waker_watch() - remember acts on an object from now on
 * @object: a task waits for it
 * @task: that task, whose share of the table is used; it exists
 *
 * Traffic on other objects does not take its place. Context: any but NMI.
 */
void fgio_waker_watch(u64 object, struct task_struct *task);

/* Whether acts on an object are remembered. Context: any. */
bool fgio_waker_remembers(u64 object);

/*
 * The current task acts on an object. Does nothing, cheaply, when the object is
 * not in the table, unless @always. Context: any but NMI.
 */
void fgio_waker_note(u64 object, bool always);

/*
 * Another task acts on an object, by what the current task does. Context: it
 * exists; as fgio_waker_note().
 */
void fgio_waker_note_for(struct task_struct *task, u64 object);

/**
 * fgio_waker_list() - which tasks acted on an object within a time
 * @object: which
 * @window_ns: how long ago at most
 * @identities: out: the most recent first; they may have ended
 *
 * Return: how many. Context: any but NMI.
 */
unsigned int fgio_waker_list(u64 object, u64 window_ns,
			     u64 identities[FGIO_WAKERS]);

/*
 * The identity of the task that acted on an object last, however long ago; 0
 * when none is known. For locks that one task holds at a time. Context: any but
 * NMI.
 */
u64 fgio_waker_last(u64 object);

/* helper_window_ms in nanoseconds. */
u64 fgio_waker_window_ns(void);

/* Watches that gave way to others, in total. */
u32 fgio_waker_unwatched(void);

int fgio_waker_init(void);
void fgio_waker_exit(void);

#endif /* FGIO_WAKER_H */
