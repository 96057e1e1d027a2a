// SPDX-License-Identifier: GPL-2.0
/*
 * Waits for completions of libaio (fs/aio.c): in the way is the direct I/O of
 * the context, whichever thread submitted it, and workers of the kernel that
 * sync files for it.
 *
 *	aio_fsync_work	a worker begins with an fsync. It counts while that is
 *			the work which it executes, and no longer
 *
 * The address by which a process knows its context is that of a ring in its
 * memory, whose first word is the context's number. The process may write to
 * it: only a context of the process itself counts, and only one that has this
 * address.
 *
 * Left out:
 *	I/O that is not submitted yet: its submitter is in io_submit(2), and
 *		waits for a lock, say. Which context it is for is on its stack.
 *	32-bit processes.
 */
#include <linux/ftrace.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "base/kworker.h"
#include "base/waker.h"
#include "compat/aio.h"
#include "compat/compat.h"
#include "graph/found.h"
#include "graph/sleeper.h"
#include "layers/aio.h"
#include "layers/io.h"
#include "who/presence.h"

/* Context: RCU, under which a table and its contexts stay, as in fs/aio.c. */
static u64 context_at(const struct mm_struct *mm, u32 number, u64 address)
{
	u64 table = fgio_peek_word((const void *)mm + fgio_kioctx_table);
	const u64 *entries = (const void *)(table + fgio_kioctx_table_entries);
	const u32 *place = (const void *)(table + fgio_kioctx_table_count);
	u64 context;
	u32 count;

	if (!table || get_kernel_nofault(count, place) || number >= count)
		return 0;
	context = fgio_peek_word(&entries[array_index_nospec(number, count)]);
	if (!context || fgio_peek_word((const void *)context +
				       fgio_kioctx_user_id) != address)
		return 0;
	return context;
}

/* Context: fgio_sleeper_look()'s. */
static void look_up_context(struct task_struct *waiter,
			    const struct fgio_wait *wait, void *data)
{
	u64 *context = data;
	u32 number;

	if (fgio_kioctx_table_entries &&
	    !copy_from_user_nofault(&number,
				    (const void __user *)wait->detail,
				    sizeof(number))) {
		rcu_read_lock();
		*context = context_at(current->mm, number, wait->detail);
		rcu_read_unlock();
	}
}

/* The context for which an fsync is executed, by its work_struct; or 0. */
static u64 context_of_fsync(u64 work)
{
	if (!work || !fgio_context_of_fsync)
		return 0;
	return fgio_peek_word((const void *)work + fgio_context_of_fsync);
}

/* Called for each fsync of libaio alone. */
static void on_fsync(unsigned long function, unsigned long caller,
		     struct ftrace_ops *operations, struct ftrace_regs *regs)
{
	u64 context;

	if (!fgio_waits_matter())
		return;
	context = context_of_fsync(fgio_ftrace_argument(regs, 0));
	if (context)
		fgio_waker_note(context, true);
}

static struct fgio_hook hooks[] = {
	FGIO_LOOK("aio_fsync_work", IO, on_fsync),
	{}
};

/* The context for whose fsyncs workers are sought; the walk's thread's own. */
static u64 sought;

static bool syncs_for_sought(u64 key)
{
	const struct task_struct *task;
	bool it_does;

	rcu_read_lock();
	task = fgio_task_at(key);
	it_does = task && context_of_fsync(fgio_work_of(task)) == sought;
	rcu_read_unlock();
	return it_does && fgio_io_holds_up(key);
}

static void blockers(const struct fgio_walk_step *step)
{
	u64 context = 0;

	fgio_sleeper_look(step, look_up_context, &context);
	if (!context)
		return;
	fgio_io_want_context(step, context);
	sought = context;
	fgio_found_by_history(step, context, syncs_for_sought);
}

const struct fgio_layer fgio_aio_layer = {
	.name = "aio",
	.mechanism = FGIO_MECHANISM_IO,
	.kinds = BIT_ULL(FGIO_WAIT_AIO),
	.hooks = hooks,
	.blockers = blockers,
};
