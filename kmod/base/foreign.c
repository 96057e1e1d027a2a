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
#include <linux/fdtable.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "base/identity.h"
#include "core/inherit.h"

/*
 * A task in the table of threads is not freed before RCU readers are done. What
 * leads to none may lead anywhere: all of them are in the kernel's own memory.
 */
struct task_struct *fgio_task_at(u64 address)
{
	const struct task_struct *supposed = (const struct task_struct *)address;
	struct task_struct *task;
	pid_t tid;

	if (!virt_addr_valid(supposed) ||
	    get_kernel_nofault(tid, &supposed->pid))
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

u64 fgio_kernel_word(u64 address)
{
	const void *place = (const void *)address;

	return IS_ALIGNED(address, sizeof(u64)) && virt_addr_valid(place) ?
		       fgio_peek_word(place) : 0;
}

u64 fgio_file_at(const struct task_struct *task, u32 fd)
{
	const struct files_struct *files;
	const struct fdtable *table;
	const u64 *entries;
	unsigned int count;

	files = (const void *)fgio_peek_word(&task->files);
	if (!files)
		return 0;
	table = (const void *)fgio_peek_word(&files->fdt);
	if (!table || get_kernel_nofault(count, &table->max_fds) || fd >= count)
		return 0;
	entries = (const void *)fgio_peek_word(&table->fd);
	return entries ? fgio_peek_word(entries + fd) : 0;
}

bool fgio_sleeps_uninterruptibly(const struct task_struct *task)
{
	unsigned int state = READ_ONCE(task->__state);

	return state & TASK_UNINTERRUPTIBLE && !(state & TASK_NOLOAD);
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
