// SPDX-License-Identifier: GPL-2.0
/*
 * jbd2, the journal of ext4 and ocfs2: waits for it, and their blockers. Nearly
 * always the blocker is the journal's own thread, which in turn waits for the
 * tasks that have a handle open in the transaction that it commits.
 *
 *	jbd2_log_wait_commit		a transaction to be committed
 *	wait_transaction_locked		a transaction that is being committed,
 *					to take no more handles
 *	start_this_handle		a barrier to be lifted (a fast commit,
 *					a freeze); nothing is recorded without
 *	jbd2_journal_wait_updates	open handles to be closed
 *	__jbd2_log_wait_for_space	the log to have room
 *	jbd2_fc_begin_commit		a fast or a full commit under way
 *	start_this_handle		credits to be returned that others have
 *					reserved; recorded where they may be
 *					too many
 *	BH_Shadow			a buffer that is being journalled; seen
 *					by io.c, which hooks waits for bits
 *
 * Left out:
 *	jbd2_complete_transaction, jbd2_log_do_checkpoint: they wait in
 *		functions that are hooked here and in io.c.
 *	j_wait_reserved in jbd2_journal_lock_updates: for all of them.
 *	wait_transaction_switching: inlined, and over as soon as the journal's
 *		thread runs.
 *	ext4_fc_wait_committing_inode: has an inode, whose journal is in ext4's
 *		private types. A fast commit holds the barrier, where handles
 *		wait before they get there.
 *	the commit's own wait for a fast commit: inlined; the walk looks at the
 *		journal's flags instead.
 */
#include <linux/jbd2.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "base/waker.h"
#include "graph/found.h"
#include "graph/probe.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/handles.h"
#include "layers/io.h"
#include "layers/journal.h"
#include "who/presence.h"

/* In the detail of FGIO_WAIT_JOURNAL_LOCKED: it is the barrier. */
#define BARRIER 1

static const journal_t *journal_argument(struct pt_regs *regs)
{
	return (const journal_t *)regs_get_kernel_argument(regs, 0);
}

/* A wait that the journal's own thread ends. */
struct wait_for_thread {
	u32 seq; /* as fgio_hook_seq() */
	u64 thread;
};

static_assert(sizeof(struct wait_for_thread) <= FGIO_HOOK_DATA);

static int enter_for_thread(struct kretprobe_instance *instance, u8 kind,
			    const journal_t *journal, u64 detail)
{
	struct wait_for_thread *wait = (void *)instance->data;

	if (fgio_hook_enter(instance, kind, (u64)journal, detail))
		return 1;
	wait->thread = (u64)READ_ONCE(journal->j_task);
	fgio_wait_is_for(wait->seq, kind, wait->thread);
	return 0;
}

static int leave_for_thread(struct kretprobe_instance *instance,
			    struct pt_regs *regs)
{
	const struct wait_for_thread *wait = (void *)instance->data;

	fgio_wait_leave(wait->seq);
	fgio_wait_was_for(wait->seq, wait->thread);
	return 0;
}

static int on_wait_commit(struct kretprobe_instance *instance,
			  struct pt_regs *regs)
{
	const journal_t *journal = journal_argument(regs);
	tid_t tid = regs_get_kernel_argument(regs, 1);

	if (!fgio_waits_matter() ||
	    tid_geq(READ_ONCE(journal->j_commit_sequence), tid))
		return 1;
	return enter_for_thread(instance, FGIO_WAIT_JOURNAL_COMMIT, journal,
				tid);
}

/* Context: j_state_lock is held, as in the next two. */
static int on_wait_locked(struct kretprobe_instance *instance,
			  struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return enter_for_thread(instance, FGIO_WAIT_JOURNAL_LOCKED,
				journal_argument(regs), 0);
}

static int on_wait_updates(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_JOURNAL_UPDATES,
			       (u64)journal_argument(regs), 0);
}

static int on_wait_space(struct kretprobe_instance *instance,
			 struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_JOURNAL_SPACE,
			       (u64)journal_argument(regs), 0);
}

/*
 * Whether a handle may have to wait for reserved credits, which may be half of
 * a transaction (add_transaction_credits() in fs/jbd2/transaction.c). Later
 * kernels subtract the overhead of a transaction, less than a 32nd: a handle
 * that just fits counts as one that does not, and is recorded for as long as it
 * starts.
 */
static bool may_lack_credits(const journal_t *journal, const handle_t *handle)
{
	const handle_t *reserves = handle->h_rsv_handle;
	int reserved = atomic_read(&journal->j_reserved_credits);
	int most = READ_ONCE(journal->j_max_transaction_buffers);
	int more = reserves ? reserves->h_total_credits : 0;

	most -= most / 32;
	if (!reserved)
		return false;
	return reserved + handle->h_total_credits + more > most ||
	       (more && reserved + more > most / 2);
}

/*
 * Called for every handle; a reserved one passes the barrier, and has its
 * credits.
 */
static int on_start_handle(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	const journal_t *journal = journal_argument(regs);
	const handle_t *handle;

	if (!fgio_waits_matter())
		return 1;
	handle = (const handle_t *)regs_get_kernel_argument(regs, 1);
	if (handle->h_reserved)
		return 1;
	if (READ_ONCE(journal->j_barrier_count))
		return fgio_hook_enter(instance, FGIO_WAIT_JOURNAL_LOCKED,
				       (u64)journal, BARRIER);
	if (may_lack_credits(journal, handle))
		return fgio_hook_enter(instance, FGIO_WAIT_JOURNAL_RESERVED,
				       (u64)journal, 0);
	return 1;
}

/* The key of tasks that put up the barrier of a journal, or are about to. */
static u64 barrier_key(const journal_t *journal)
{
	return (u64)&journal->j_barrier;
}

/*
 * A fast commit puts up the barrier, too: jbd2_fc_begin_commit() calls the
 * hooked function once it has its turn. So this notes fast committers as well.
 */
static int on_lock_updates(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	if (fgio_waits_matter())
		fgio_waker_note(barrier_key(journal_argument(regs)), true);
	return 1;
}

static int on_begin_fast_commit(struct kretprobe_instance *instance,
				struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_JOURNAL_FAST,
			       (u64)journal_argument(regs), 0);
}

static struct fgio_hook hooks[] = {
	FGIO_HOOK("jbd2:jbd2_log_wait_commit", JOURNAL, on_wait_commit,
		  leave_for_thread),
	FGIO_HOOK("jbd2:wait_transaction_locked", JOURNAL, on_wait_locked,
		  leave_for_thread),
	FGIO_HOOK("jbd2:start_this_handle", JOURNAL, on_start_handle,
		  fgio_hook_leave),
	FGIO_HOOK("jbd2:jbd2_journal_wait_updates", JOURNAL, on_wait_updates,
		  fgio_hook_leave),
	FGIO_HOOK("jbd2:__jbd2_log_wait_for_space", JOURNAL, on_wait_space,
		  fgio_hook_leave),
	FGIO_HOOK("jbd2:jbd2_fc_begin_commit", JOURNAL, on_begin_fast_commit,
		  fgio_hook_leave),
	FGIO_HOOK("jbd2:jbd2_journal_lock_updates", JOURNAL, on_lock_updates,
		  NULL),
	{}
};

/*
 * jbd2 waits for BH_Shadow with a handle open (do_get_write_access() in
 * fs/jbd2/transaction.c). Other file systems keep types of their own in
 * journal_info, so it counts only where the transaction that it leads to is the
 * running one of the journal that the transaction names.
 */
u64 fgio_journal_of_shadow(int bit)
{
	const handle_t *handle = current->journal_info;
	transaction_t *transaction, *running;
	journal_t *journal;

	if (bit != BH_Shadow || !handle)
		return 0;
	if (get_kernel_nofault(transaction, &handle->h_transaction) ||
	    !transaction ||
	    get_kernel_nofault(journal, &transaction->t_journal) || !journal ||
	    get_kernel_nofault(running, &journal->j_running_transaction))
		return 0;
	return running == transaction ? (u64)journal : 0;
}

/* --- blockers ---------------------------------------------------------- */

/* The state of a journal, read while a task waits for it. */
struct view {
	u64 thread;
	u64 barrier_owner;
	u64 barrier;
	u64 running;
	u64 file_system;
	unsigned long flags;
	bool barred;
};

static void read_journal(const journal_t *journal, struct view *view)
{
	struct task_struct *thread;
	int barriers;

	*view = (struct view){ .barrier = barrier_key(journal) };
	if (get_kernel_nofault(thread, &journal->j_task) ||
	    get_kernel_nofault(barriers, &journal->j_barrier_count) ||
	    get_kernel_nofault(view->flags, &journal->j_flags))
		return;
	view->thread = fgio_walk_name(thread);
	view->running = fgio_peek_word(&journal->j_running_transaction);
	view->file_system = fgio_peek_word(&journal->j_fs_dev);
	view->barred = barriers;
	if (view->barred)
		view->barrier_owner = fgio_mutex_holder(&journal->j_barrier);
}

/*
 * A task that waits for a journal keeps its file system mounted, and with it
 * the journal and its thread.
 */
static bool look_at_journal(const struct fgio_walk_step *step,
			    struct view *view)
{
	const journal_t *journal = (const journal_t *)step->wait->object;
	unsigned long flags;

	if (!fgio_wait_hold(step->task, step->wait->seq, &flags))
		return false;
	read_journal(journal, view);
	fgio_wait_release(step->task, flags);
	return true;
}

/*
 * Once the barrier is complete its mutex has an owner. Before that, the task
 * that called for the barrier last waits for open handles.
 */
static void find_barrier(const struct fgio_walk_step *step,
			 const struct view *view)
{
	u64 task = view->barrier_owner;

	if (!view->barred)
		return;
	if (!task)
		task = fgio_name_identity(fgio_waker_last(view->barrier));
	fgio_walk_found(step->walk, task);
}

/* A full commit begins by waiting for a fast one under way. */
static void find_committer(const struct fgio_walk_step *step,
			   const struct view *view)
{
	fgio_walk_found(step->walk, view->thread);
	if (view->flags & JBD2_FAST_COMMIT_ONGOING)
		find_barrier(step, view);
}

static void find_fast_committer(const struct fgio_walk_step *step,
				const struct view *view)
{
	if (view->flags & JBD2_FULL_COMMIT_ONGOING)
		fgio_walk_found(step->walk, view->thread);
	if (view->flags & JBD2_FAST_COMMIT_ONGOING)
		find_barrier(step, view);
}

/*
 * Writeback to blocks that were not written before reserves credits, and a
 * worker returns them once the I/O is done. Any of these writes will do.
 */
static void find_reservations(const struct fgio_walk_step *step,
			      const struct view *view)
{
	if (!view->file_system || !fgio_mechanism_on(FGIO_MECHANISM_IO))
		return;
	fgio_wanted_add(step, FGIO_WANTED_ANY_DATA, view->file_system, 0, 0);
	fgio_found_by_history(step, view->file_system, fgio_io_holds_up);
}

/*
 * FGIO_WAIT_JOURNAL_SPACE has no blocker: the task that waits for room makes it
 * itself, behind a mutex, by writing buffers and waiting for commits; each of
 * these is a wait of its own.
 */
static void blockers(const struct fgio_walk_step *step)
{
	struct view view;

	if (!look_at_journal(step, &view))
		return;
	switch (step->wait->kind) {
	case FGIO_WAIT_JOURNAL_COMMIT:
		find_committer(step, &view);
		break;
	case FGIO_WAIT_JOURNAL_LOCKED:
		if (step->wait->detail == BARRIER)
			find_barrier(step, &view);
		else
			find_committer(step, &view);
		break;
	case FGIO_WAIT_JOURNAL_UPDATES:
		fgio_found_by_handle(step, view.running,
				     offsetof(handle_t, h_transaction));
		break;
	case FGIO_WAIT_JOURNAL_FAST:
		find_fast_committer(step, &view);
		break;
	case FGIO_WAIT_JOURNAL_SHADOW:
		fgio_walk_found(step->walk, view.thread);
		break;
	case FGIO_WAIT_JOURNAL_RESERVED:
		find_reservations(step, &view);
		break;
	}
}

const struct fgio_layer fgio_journal_layer = {
	.name = "journal",
	.mechanism = FGIO_MECHANISM_JOURNAL,
	.kinds = FGIO_WAIT_RANGE(FGIO_WAIT_JOURNAL_COMMIT,
				 FGIO_WAIT_JOURNAL_SHADOW) |
		 BIT_ULL(FGIO_WAIT_JOURNAL_RESERVED),
	.hooks = hooks,
	.blockers = blockers,
	/* For btrfs, too, whose waits the same switch follows. */
	.look_further = fgio_look_for_handles,
};
