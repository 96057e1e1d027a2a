/* SPDX-License-Identifier: GPL-2.0 */
/* Which work a worker of the kernel (a kworker) executes. */
#ifndef FGIO_KWORKER_H
#define FGIO_KWORKER_H

#include <linux/types.h>

struct task_struct;

/*
 * The work_struct that a task executes; 0: it is no worker, or executes none. The
 * work may be over by now. Context: the task lives.
 */
u64 fgio_work_of(const struct task_struct *task);

#endif /* FGIO_KWORKER_H */
