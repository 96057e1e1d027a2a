/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The thread that walks the wait graph, and what layers tell it.
 *
 * A layer's blockers() runs in that thread and may sleep where it holds no
 * wait.
 */
#ifndef FGIO_WALK_H
#define FGIO_WALK_H

#include "graph/layer.h"

/*
 * Names a task that was found, for blame. It may be gone, or may never have
 * been one: it is read as fgio_task_at() does.
 *
 * Return: its key; 0 when no task lives there. Context: the walk's thread; any
 * lock may be held.
 */
u64 fgio_walk_name(const struct task_struct *task);

/* What was done about the wait that led to a link: FGIO_BLAME_*. */
void fgio_walk_note_action(u32 link, u32 action);

/* A wait for a lock, as it seemed, is one for a condition: it has no owner. */
void fgio_walk_is_condition(const struct fgio_walk_step *step);

/* Remembers I/O to be looked for when the walk is done. Context: the walk's. */
void fgio_wanted_add(const struct fgio_walk_step *step,
		     enum fgio_wanted_kind kind, u64 object, u64 first,
		     u64 last);

/* Totals for FGIO_IOC_STATE. */
void fgio_walk_state(struct fgio_state *state);

/*
 * While hooks are detached, waits end unseen, and with them perhaps tasks that
 * the records still name: from before that until the records are gone, no walk
 * looks at any. Context: may sleep, not in a walk.
 */
void fgio_walk_pause(void);
void fgio_walk_resume(void);

/*
 * The same for good: when the module goes, the ends of threads are the first
 * thing that is not seen any more.
 */
void fgio_walk_stop(void);

/**
 * fgio_promote_fn - promotes what the walk found
 * @wanted: I/O that is waited for; @found is set
 * @count: how many
 * @walk: tasks that were boosted
 *
 * Context: the walk's thread; sleeps.
 */
typedef void fgio_promote_fn(struct fgio_wanted *wanted, unsigned int count,
			     struct fgio_walk *walk);

int fgio_walk_init(fgio_promote_fn *promote);
void fgio_walk_exit(void);

#endif /* FGIO_WALK_H */
