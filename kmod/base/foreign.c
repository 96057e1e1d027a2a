// SPDX-License-Identifier: GPL-2.0
/*
 * Reads of kernel objects that may be freed by now.
 *
 * A recorded wait keeps its lock, its journal and its task in existence, as long
 * as every hook is attached. The walk does not rely on that: it reads such
 * objects without faulting, and accepts a task only when the kernel's own table
 * of threads leads back to it. At worst, a missed event boosts a wrong task
 * until the next walk.
 */
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "base/identity.h"
#include "core/inherit.h"

/* A task in the table of threads is not freed before RCU readers are done. */
struct task_struct *fgio_task_at(u64 address)
{
	const struct task_struct *supposed = (const struct task_struct *)address;
	struct task_struct *task;
	pid_t tid;

	if (!address || get_kernel_nofault(tid, &supposed->pid))
		return NULL;
	task = fgio_thread_of(tid);
	return task == supposed ? task : NULL;
}

u64 fgio_peek_word(const void *address)
{
	unsigned long word;

	return get_kernel_nofault(word, (const unsigned long *)address) ?
		       0 : word;
}

u32 fgio_sleep_seq(const struct task_struct *task)
{
	unsigned long by_itself, by_others;
	unsigned int state;

	if (get_kernel_nofault(state, &task->__state) ||
	    !(state & TASK_INTERRUPTIBLE) ||
	    get_kernel_nofault(by_itself, &task->nvcsw) ||
	    get_kernel_nofault(by_others, &task->nivcsw))
		return 0;
	return FGIO_SEQ_OUTSIDE | (u32)(by_itself + by_others);
}

bool fgio_sleep_goes_on(u64 task, u32 seq)
{
	return fgio_sleep_seq((const struct task_struct *)task) == seq;
}
