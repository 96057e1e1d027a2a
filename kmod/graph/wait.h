/* SPDX-License-Identifier: GPL-2.0 */
/* Between wait.c, walk.c and blame.c: layers need inherit.h alone. */
#ifndef FGIO_WAIT_H
#define FGIO_WAIT_H

#include "core/inherit.h"

struct task_struct;

/* wait.c */
int fgio_wait_init(void);
void fgio_wait_exit(void);
unsigned int fgio_wait_copy_of(u64 task,
			       struct fgio_wait waits[FGIO_WAITS_NESTED],
			       u64 (*name)(const struct task_struct *task));
bool fgio_lease_is_valid(const struct fgio_lease *lease);
bool fgio_wait_boost(u64 task, const struct fgio_lease *lease);
bool fgio_wait_visit_roots(unsigned int room, void (*visit)(u64 task));
void fgio_wait_settle_leases(u32 since,
			     void (*visit)(const struct fgio_lease *lease));
bool fgio_wait_roots_exist(void);
bool fgio_wait_leases_exist(void);
void fgio_wait_forget_current(void);
void fgio_wait_forget_all(void);
unsigned int fgio_wait_boosted(void);
unsigned int fgio_wait_foreground_waiting(void);
u64 fgio_wait_lost(void);

/* walk.c */
int fgio_walk_init(void);
void fgio_walk_exit(void);
void fgio_walk_wanted(void);
void fgio_walk_wanted_by_scheduler(void);
void fgio_walk_soon(void);
void fgio_walk_pause(void);
void fgio_walk_resume(void);
void fgio_walk_stop(void);

/**
 * struct fgio_chain - what the walk saw of a foreground task's wait
 * @task: who waits
 * @seq: its wait
 * @inner_kind: what the last task of the chain waited for
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

/* blame.c */
int fgio_blame_init(void);
void fgio_blame_exit(void);
void fgio_blame_chain(const struct fgio_chain *chain);
void fgio_blame_wait(const struct task_struct *task,
		     const struct fgio_wait *ended);

#endif /* FGIO_WAIT_H */
