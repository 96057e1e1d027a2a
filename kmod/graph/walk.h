/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The thread that walks the wait graph, and the calls of layers to it.
 *
 * A layer's blockers() runs in that thread and may sleep while it holds no
 * wait.
 */
#ifndef FGIO_WALK_H
#define FGIO_WALK_H

#include "graph/layer.h"

/*
 * Names a task that was found, for blame. @task may be gone, or be no task at
 * all: it is read as fgio_task_at() does.
 *
 * Return: its key; 0 when no task lives there. Context: the walk's thread; any
 * lock may be held.
 */
u64 fgio_walk_name(const struct task_struct *task);

/* Records FGIO_BLAME_* of the wait that led to a link. */
void fgio_walk_note_action(u32 link, u32 action);

/*
 * Records FGIO_FACT_* about the task of a link, for the reason why nothing is
 * known beyond it.
 */
void fgio_walk_note_fact(u32 link, u32 fact);

/* The wait, recorded as one for a lock, is for a condition: without owner. */
void fgio_walk_is_condition(const struct fgio_walk_step *step);

/* Adds I/O to be looked for when the walk is done. Context: the walk's. */
void fgio_wanted_add(const struct fgio_walk_step *step,
		     enum fgio_wanted_kind kind, u64 object, u64 first,
		     u64 last);

/* Totals for FGIO_IOC_STATE. */
void fgio_walk_state(struct fgio_state *state);

/*
 * While hooks are detached, waits end unseen, and perhaps recorded tasks, too:
 * no walk looks at records from before that until they are forgotten. Context:
 * may sleep, not in a walk.
 */
void fgio_walk_pause(void);
void fgio_walk_resume(void);

/*
 * The same for good: when the module is unloaded, ends of threads are the first
 * events that are not seen any more.
 */
void fgio_walk_stop(void);

/**
 * fgio_promote_fn - promotes the I/O that the walk looks for
 * @wanted: I/O that is waited for; @found is set
 * @count: length of @wanted
 * @walk: tasks that were boosted
 *
 * Context: the walk's thread; sleeps.
 */
typedef void fgio_promote_fn(struct fgio_wanted *wanted, unsigned int count,
			     struct fgio_walk *walk);

int fgio_walk_init(fgio_promote_fn *promote);
void fgio_walk_exit(void);

#endif /* FGIO_WALK_H */
