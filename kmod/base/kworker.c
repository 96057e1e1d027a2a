// SPDX-License-Identifier: GPL-2.0
/* Workers of the kernel (kernel/workqueue.c), whose struct is private. */
#include <linux/sched.h>

#include "base/foreign.h"
#include "base/kworker.h"
#include "compat/kworker.h"

u64 fgio_work_of(const struct task_struct *task)
{
	u64 thread, worker;

	if (!fgio_worker_work || !(READ_ONCE(task->flags) & PF_WQ_WORKER))
		return 0;
	thread = (u64)READ_ONCE(task->worker_private);
	worker = thread ? fgio_kernel_word(thread + fgio_kthread_data) : 0;
	return worker ? fgio_kernel_word(worker + fgio_worker_work) : 0;
}
