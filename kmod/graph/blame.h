/* SPDX-License-Identifier: GPL-2.0 */
/* Waits of foreground tasks, their duration and cause: the ring of blame. */
#ifndef FGIO_GRAPH_BLAME_H
#define FGIO_GRAPH_BLAME_H

#include "core/inherit.h"
#include "core/reason.h"
#include "uapi/fgio.h"

struct task_struct;

/**
 * struct fgio_chain - the chain of a foreground task's wait, as the walk saw it
 * @task: the foreground task
 * @seq: its wait
 * @inner_kind: kind of the wait of the last task in the chain
 * @actions: FGIO_BLAME_*
 * @steps: length of @step
 * @step: from the first blocker on
 */
struct fgio_chain {
	u64 task;
	u32 seq;
	u32 inner_kind;
	u32 actions;
	u32 steps;
	struct fgio_blame_step step[FGIO_BLAME_STEPS];
};

/**
 * struct fgio_look - a walk's look at a wait
 * @walk: number of the walk
 * @since: the first walk of those in which all waits that last were seen
 * @since_ns: when the wait began
 * @reason: why nothing is known beyond the end of its chain
 */
struct fgio_look {
	u32 walk;
	u32 since;
	u64 since_ns;
	enum fgio_reason reason;
};

/**
 * fgio_blame_chain() - the walk saw a wait's chain
 * @chain: the chain. The longest one is kept: walks also see chains that still
 *	build up, or dissolve
 * @look: when, and with what reason. The one that holds longest is kept
 *
 * Context: the walk's thread.
 */
void fgio_blame_chain(const struct fgio_chain *chain,
		      const struct fgio_look *look);

/**
 * fgio_blame_wait() - a wait of a foreground task ended
 * @task: the current task, or the one that the scheduler is about to run
 * @ended: the wait
 *
 * Context: any but NMI.
 */
void fgio_blame_wait(const struct task_struct *task,
		     const struct fgio_wait *ended);

/**
 * fgio_blame_read() - FGIO_IOC_BLAME
 * @request: cursor, entries and capacity set; the rest is set here
 *
 * Return: 0, -EINVAL, -EFAULT or -ENOMEM. Context: may sleep.
 */
int fgio_blame_read(struct fgio_blame *request);

/* FGIO_IOC_REASONS. Context: any but NMI. */
void fgio_blame_reasons(struct fgio_reasons *reasons);

/* Entries that were overwritten, in total. */
u64 fgio_blame_lost(void);

int fgio_blame_init(void);
void fgio_blame_exit(void);

#endif /* FGIO_GRAPH_BLAME_H */
