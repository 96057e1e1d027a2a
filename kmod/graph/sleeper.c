// SPDX-License-Identifier: GPL-2.0
/* The memory of a task that sleeps. */
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>

#include "base/foreign.h"
#include "graph/sleeper.h"
#include "graph/wait.h"

/* Return: the task, if it still sleeps, with a reference; else NULL. */
static struct task_struct *sleeper_get(u64 task, u32 seq)
{
	struct task_struct *sleeper;

	rcu_read_lock();
	sleeper = fgio_task_at(task);
	if (sleeper && fgio_wait_is_on(task, seq))
		get_task_struct(sleeper);
	else
		sleeper = NULL;
	rcu_read_unlock();
	return sleeper;
}

bool fgio_sleeper_look(const struct fgio_walk_step *step, fgio_look_fn look,
		       void *finding)
{
	struct task_struct *sleeper = sleeper_get(step->task, step->wait->seq);
	struct mm_struct *mm;

	if (!sleeper)
		return false;
	mm = get_task_mm(sleeper);
	if (mm) {
		kthread_use_mm(mm);
		look(sleeper, step->wait, finding);
		kthread_unuse_mm(mm);
		/* The last reference frees all memory, which takes time. */
		mmput_async(mm);
	}
	put_task_struct(sleeper);
	return mm;
}
