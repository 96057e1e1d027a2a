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
#include <linux/fs.h>
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

	if (!fgio_is_memory(supposed) ||
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

	return IS_ALIGNED(address, sizeof(u64)) && fgio_is_memory(place) ?
		       fgio_peek_word(place) : 0;
}

bool fgio_copy_kernel(void *to, u64 address, size_t bytes)
{
	const void *from = (const void *)address;

	return IS_ALIGNED(address, sizeof(u64)) && fgio_is_memory(from) &&
	       fgio_is_memory(from + bytes - 1) &&
	       !copy_from_kernel_nofault(to, from, bytes);
}

static u64 ask_table(struct task_struct *task, fgio_files_fn *ask, u64 argument)
{
	struct files_struct *files = task->files;
	u64 answer;

	if (!files)
		return 0;
	/* Files that are shared may get a larger table at any time. */
	rcu_read_lock();
	answer = ask(rcu_dereference(files->fdt), argument);
	rcu_read_unlock();
	return answer;
}

u64 fgio_ask_files(struct task_struct *task, fgio_files_fn *ask, u64 argument)
{
	u64 answer;

	if (task == current)
		return ask_table(task, ask, argument);
	/* A task that exits gives its files up under this lock. */
	if (!spin_trylock(&task->alloc_lock))
		return 0;
	answer = ask_table(task, ask, argument);
	spin_unlock(&task->alloc_lock);
	return answer;
}

static u64 file_in(const struct fdtable *table, u64 fd)
{
	return fd < table->max_fds ? (u64)rcu_access_pointer(table->fd[fd]) : 0;
}

u64 fgio_file_at(struct task_struct *task, u32 fd)
{
	return fgio_ask_files(task, file_in, fd);
}

bool fgio_file_mode(const struct file *file, umode_t *mode)
{
	u64 inode = fgio_word_of((u64)file, offsetof(struct file, f_inode));

	static_assert(!(offsetof(struct inode, i_mode) % sizeof(u64)));
	return inode &&
	       fgio_copy_kernel(mode, inode + offsetof(struct inode, i_mode),
				sizeof(*mode));
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
