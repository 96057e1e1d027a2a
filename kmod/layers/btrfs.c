// SPDX-License-Identifier: GPL-2.0
/*
 * btrfs: waits for its transactions, logs, extents and trees, and their
 * blockers. The task that asks for a commit first makes it, be it an fsync, the
 * file system's thread or any other; all others wait for that task.
 *
 *	wait_for_commit			a commit that another task makes
 *	wait_current_trans		the same, to take handles again
 *	btrfs_commit_transaction	open handles to be closed; recorded for
 *					as long as the commit takes
 *	wait_log_commit			a log (fsync) that another task writes
 *	btrfs_start_ordered_extent	written data to be accounted for, by a
 *					worker once the I/O is done
 *	read_extent_buffer_pages	a leaf or node of a tree to be read
 *
 * A commit is made with a handle open in its transaction, until it is done. The
 * two others who are waited for are seen at work:
 *
 *	btrfs_write_marked_extents	the task that writes a log
 *	btrfs_finish_ordered_io		the worker that accounts for an extent
 *
 * All are real functions in 6.1 and 6.12. Data, leaves and superblocks are pages
 * of files, of a file of the file system's own, and of the disk: waits for them
 * are seen by io.c, and locks of leaves and logs by lock.c.
 *
 * Left out, inlined into functions that wait for other things as well:
 *	log_writer_wait: for tasks that add to a log that is about to be written.
 *	pending_wait: for extents that fsyncs left to the transaction.
 *	wait_extent_bit: for a range of a file that is locked; pages, or the
 *		inode, are locked before.
 *	tickets for space (__reserve_bytes): any room that is found will do.
 * and for many at once, or for bits that others use as well:
 *	btrfs_wait_ordered_extents, start_delalloc_inodes: sync(2), snapshots.
 *	EXTENT_BUFFER_WRITEBACK: a leaf that is written, to be written again.
 */
#include <linux/fs.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "base/waker.h"
#include "compat/btrfs.h"
#include "graph/found.h"
#include "graph/probe.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/btrfs.h"
#include "layers/handles.h"
#include "layers/io.h"
#include "who/presence.h"

/* In the detail of FGIO_WAIT_BTRFS_COMMIT: the task that makes the commit. */
enum commit_wait {
	BY_ANOTHER,
	BY_ITSELF,
};

static u64 word_of(u64 object, size_t place)
{
	return object ? fgio_peek_word((const void *)(object + place)) : 0;
}

static u32 half_word_of(u64 object, size_t place)
{
	u32 value;

	if (!object ||
	    get_kernel_nofault(value, (const u32 *)(object + place)))
		return 0;
	return value;
}

static u64 argument(struct pt_regs *regs, unsigned int number)
{
	return regs_get_kernel_argument(regs, number);
}

static bool is_being_committed(u64 transaction)
{
	return half_word_of(transaction, FGIO_BTRFS_TRANSACTION_STATE) >=
	       FGIO_BTRFS_COMMITS;
}

static int on_wait_for_commit(struct kretprobe_instance *instance,
			      struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_BTRFS_COMMIT,
			       argument(regs, 0), BY_ANOTHER);
}

/* Called for most handles: few wait. The transaction may go meanwhile. */
static int on_wait_for_handle(struct kretprobe_instance *instance,
			      struct pt_regs *regs)
{
	u64 transaction;

	if (!fgio_waits_matter())
		return 1;
	transaction = word_of(argument(regs, 0), FGIO_BTRFS_FS_RUNNING);
	if (!is_being_committed(transaction))
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_BTRFS_COMMIT, transaction,
			       BY_ANOTHER);
}

static int on_commit(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_BTRFS_COMMIT,
			       word_of(argument(regs, 0),
				       FGIO_BTRFS_HANDLE_TRANSACTION),
			       BY_ITSELF);
}

static int on_wait_for_log(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_BTRFS_LOG,
			       argument(regs, 0), 0);
}

/* The second argument: the pages of a log, or of a transaction. */
static int on_write_pages(struct kretprobe_instance *instance,
			  struct pt_regs *regs)
{
	if (fgio_waits_matter())
		fgio_waker_note(argument(regs, 1), true);
	return 1;
}

static int on_wait_for_extent(struct kretprobe_instance *instance,
			      struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_BTRFS_EXTENT,
			       argument(regs, 0), 0);
}

/* An inode's pages; 0 where the address leads to none. */
static u64 mapping_of_inode(u64 inode)
{
	u64 mapping = fgio_kernel_word(inode +
				       offsetof(struct inode, i_mapping));
	u64 host = mapping ? fgio_kernel_word(mapping +
					      offsetof(struct address_space,
						       host)) :
			     0;

	return host == inode ? mapping : 0;
}

/* 6.1 names the inode, later kernels the struct btrfs_inode around it. */
static u64 mapping_of_extent(u64 extent)
{
	u64 owner = word_of(extent, FGIO_BTRFS_ORDERED_INODE);

	if (!owner)
		return 0;
	return mapping_of_inode(owner) ?:
	       mapping_of_inode(owner + FGIO_BTRFS_INODE_INODE);
}

/* By file: extents are many, and each is gone soon. */
static int on_finish_extent(struct kretprobe_instance *instance,
			    struct pt_regs *regs)
{
	u64 mapping;

	if (!fgio_waits_matter())
		return 1;
	mapping = mapping_of_extent(argument(regs, 0));
	if (mapping)
		fgio_waker_note(mapping, true);
	return 1;
}

/* The pages of all trees are those of one inode. */
static int on_read_leaf(struct kretprobe_instance *instance,
			struct pt_regs *regs)
{
	u64 leaf = argument(regs, 0), trees, begin;
	u32 bytes;

	if (!fgio_waits_matter() || !fgio_btrfs_read_waits(argument(regs, 1)))
		return 1;
	trees = word_of(word_of(leaf, FGIO_BTRFS_LEAF_FS), FGIO_BTRFS_FS_TREES);
	begin = word_of(leaf, FGIO_BTRFS_LEAF_BEGIN);
	bytes = half_word_of(leaf, FGIO_BTRFS_LEAF_BYTES);
	if (!trees || !bytes)
		return 1;
	return fgio_io_wait_for_pages(
		instance, word_of(trees, offsetof(struct inode, i_mapping)),
		begin >> PAGE_SHIFT, DIV_ROUND_UP(bytes, PAGE_SIZE));
}

static struct fgio_hook hooks[] = {
	FGIO_HOOK("btrfs:wait_for_commit", JOURNAL, on_wait_for_commit,
		  fgio_hook_leave),
	FGIO_HOOK("btrfs:wait_current_trans", JOURNAL, on_wait_for_handle,
		  fgio_hook_leave),
	FGIO_HOOK("btrfs:btrfs_commit_transaction", JOURNAL, on_commit,
		  fgio_hook_leave),
	FGIO_HOOK("btrfs:wait_log_commit", JOURNAL, on_wait_for_log,
		  fgio_hook_leave),
	FGIO_HOOK("btrfs:btrfs_write_marked_extents", JOURNAL, on_write_pages,
		  NULL),
	{}
};

static struct fgio_hook extent_hooks[] = {
	FGIO_HOOK("btrfs:btrfs_start_ordered_extent", IO, on_wait_for_extent,
		  fgio_hook_leave),
	FGIO_HOOK("btrfs:btrfs_finish_ordered_io", IO, on_finish_extent, NULL),
	FGIO_HOOK("btrfs:read_extent_buffer_pages", IO, on_read_leaf,
		  fgio_hook_leave),
	{}
};

/* --- blockers ---------------------------------------------------------- */

/* A value that a waiting task's object has, read while the task waits. */
static u64 word_of_object(const struct fgio_walk_step *step, size_t place)
{
	unsigned long flags;
	u64 value;

	if (!fgio_wait_hold(step->task, step->wait->seq, &flags))
		return 0;
	value = word_of(step->wait->object, place);
	fgio_wait_release(step->task, flags);
	return value;
}

/*
 * A task that commits or writes a log does so with a handle open. The one that
 * did so last may be doing something else by now.
 */
static bool has_handle(u64 key)
{
	struct task_struct *task;
	bool has;

	rcu_read_lock();
	task = fgio_task_at(key);
	has = task && READ_ONCE(task->journal_info);
	rcu_read_unlock();
	return has;
}

static void find_last(const struct fgio_walk_step *step, u64 object)
{
	u64 task = fgio_name_identity(fgio_waker_last(object));

	if (task && task != step->task && has_handle(task))
		fgio_walk_found(step->walk, task);
}

/* Of a subvolume's log, and of the log that all logs are entered into. */
static void find_log_writer(const struct fgio_walk_step *step)
{
	u64 log = word_of_object(step, FGIO_BTRFS_ROOT_LOG);

	if (log)
		find_last(step, log + FGIO_BTRFS_ROOT_LOG_PAGES);
	find_last(step, step->wait->object + FGIO_BTRFS_ROOT_LOG_PAGES);
}

/*
 * The transaction is the waiting task's until it is done with it. The task that
 * commits counts as a writer itself.
 */
static bool awaits_handles(const struct fgio_walk_step *step)
{
	u64 transaction = step->wait->object;
	unsigned long flags;
	bool awaits;

	if (!fgio_wait_hold(step->task, step->wait->seq, &flags))
		return false;
	awaits = is_being_committed(transaction) &&
		 half_word_of(transaction, FGIO_BTRFS_TRANSACTION_WRITERS) > 1;
	fgio_wait_release(step->task, flags);
	return awaits;
}

/* The task that commits has a handle, and so have those that it waits for. */
static void blockers(const struct fgio_walk_step *step)
{
	if (step->wait->kind == FGIO_WAIT_BTRFS_LOG)
		find_log_writer(step);
	else if (step->wait->detail == BY_ANOTHER || awaits_handles(step))
		fgio_found_by_handle(step, step->wait->object,
				     FGIO_BTRFS_HANDLE_TRANSACTION);
}

/* The data first, then the worker that accounts for it. */
static void extent_blockers(const struct fgio_walk_step *step)
{
	u64 extent = step->wait->object, mapping, begin, bytes;
	unsigned long flags;

	if (!fgio_wait_hold(step->task, step->wait->seq, &flags))
		return;
	mapping = mapping_of_extent(extent);
	begin = word_of(extent, FGIO_BTRFS_ORDERED_BEGIN);
	bytes = word_of(extent, FGIO_BTRFS_ORDERED_BYTES);
	fgio_wait_release(step->task, flags);
	if (!mapping || !bytes)
		return;
	fgio_wanted_add(step, FGIO_WANTED_PAGES, mapping, begin >> PAGE_SHIFT,
			(begin + bytes - 1) >> PAGE_SHIFT);
	fgio_found_by_history(step, mapping, fgio_io_holds_up);
}

const struct fgio_layer fgio_btrfs_layer = {
	.name = "btrfs",
	.mechanism = FGIO_MECHANISM_JOURNAL,
	.kinds = BIT_ULL(FGIO_WAIT_BTRFS_COMMIT) | BIT_ULL(FGIO_WAIT_BTRFS_LOG),
	.hooks = FGIO_BTRFS_KNOWN ? hooks : NULL,
	.blockers = blockers,
};

const struct fgio_layer fgio_btrfs_extent_layer = {
	.name = "btrfs extent",
	.mechanism = FGIO_MECHANISM_IO,
	.kinds = BIT_ULL(FGIO_WAIT_BTRFS_EXTENT),
	.hooks = FGIO_BTRFS_KNOWN ? extent_hooks : NULL,
	.blockers = extent_blockers,
};
