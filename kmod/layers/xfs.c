// SPDX-License-Identifier: GPL-2.0
/*
 * XFS: waits for its log or for a metadata buffer, and their blockers.
 *
 *	xlog_cil_force_seq		a checkpoint to be written to the log
 *					(fsync): by a worker
 *	xlog_force_lsn			log buffers to reach the disk, the
 *	xlog_wait_on_iclog		earlier ones first
 *	xlog_state_get_iclog_space	a free log buffer
 *	xlog_cil_order_write		earlier checkpoints, in a worker
 *	xlog_grant_head_wait		room in the log, which xfsaild makes by
 *					writing buffers back
 *	__xfs_buf_submit		a buffer under I/O
 *
 * All are real functions in 6.1 and 6.12. A worker writes a checkpoint: it is
 * known by history, as the task that ordered its writes to the log last. Its
 * function, xlog_cil_push_work(), does not show the log; so the first function
 * in which it may wait, other than for a lock, is hooked.
 *
 * Left out:
 *	xfs_log_force(_seq): they wait in functions that are hooked.
 *	xlog_cil_commit, where a transaction may wait for a checkpoint that has
 *		grown too large: the wait is inlined into the path of every
 *		transaction and cannot be told from it. It ends as a worker
 *		begins to write the checkpoint, at once unless four are written.
 *	xfs_buf_wait_unpin, __xfs_iunpin_wait: for a log that only XFS' private
 *		types name. Writeback of metadata waits there, and xfsaild
 *		forces the log before it does.
 *	busy extents: wait for discards and for the log, likewise.
 */
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "base/mechanism.h"
#include "base/waker.h"
#include "graph/found.h"
#include "graph/probe.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/io.h"
#include "layers/xfs.h"
#include "who/presence.h"

/*
 * How XFS' private types begin, the same in 6.1 and 6.12 (fs/xfs/xfs_log_priv.h
 * and xfs_trans_priv.h). They refer to each other, which is checked before they
 * are used: in a kernel where they differ no blockers are found, and no harm is
 * done.
 */
struct log_start {
	void *mount;
	struct ail_start *ail;
	struct cil_start *cil;
};

struct ail_start {
	struct log_start *log;
	struct task_struct *task;
};

struct cil_start {
	struct log_start *log;
};

struct log_buffer_start {
	wait_queue_head_t force_wait;
	wait_queue_head_t write_wait;
	struct log_buffer_start *next;
	struct log_buffer_start *previous;
	struct log_start *log;
};

/*
 * Offset of the lock in a buffer (fs/xfs/xfs_buf.h, the same in 6.1 and 6.12).
 * A buffer's address is only compared with bi_private of bios: with another
 * layout, and for semaphores that are in no buffer, no I/O is found.
 */
#define BUFFER_SEMAPHORE 32

/* In the detail of FGIO_WAIT_XFS_LOG: the event that ends the wait. */
enum log_wait {
	LOG_WRITES,
	LOG_WORKER,
	LOG_SPACE,
};

/* Whether a log and its list of committed items refer to each other. */
static bool is_log(const struct log_start *log)
{
	struct log_start *back;
	struct cil_start *cil;

	return !get_kernel_nofault(cil, &log->cil) &&
	       !get_kernel_nofault(back, &cil->log) && back == log;
}

static u64 log_of_cil(const struct cil_start *cil)
{
	struct cil_start *back;
	struct log_start *log;

	if (get_kernel_nofault(log, &cil->log) ||
	    get_kernel_nofault(back, &log->cil))
		return 0;
	return back == cil ? (u64)log : 0;
}

static u64 log_of_buffer(const struct log_buffer_start *buffer)
{
	struct log_buffer_start *next, *back;
	struct log_start *log;

	if (get_kernel_nofault(next, &buffer->next) ||
	    get_kernel_nofault(back, &next->previous) || back != buffer ||
	    get_kernel_nofault(log, &buffer->log))
		return 0;
	return is_log(log) ? (u64)log : 0;
}

static int on_force_checkpoint(struct kretprobe_instance *instance,
			       struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_XFS_LOG,
			       regs_get_kernel_argument(regs, 0), LOG_WORKER);
}

static int on_force_writes(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_XFS_LOG,
			       regs_get_kernel_argument(regs, 0), LOG_WRITES);
}

/* Context: l_icloglock is held. Often within a wait for the same log. */
static int on_wait_on_buffer(struct kretprobe_instance *instance,
			     struct pt_regs *regs)
{
	u64 log;

	if (!fgio_waits_matter())
		return 1;
	log = log_of_buffer((const struct log_buffer_start *)
				    regs_get_kernel_argument(regs, 0));
	if (!log || fgio_wait_has(log))
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_XFS_LOG, log, LOG_WRITES);
}

static int on_get_space_in_buffer(struct kretprobe_instance *instance,
				  struct pt_regs *regs)
{
	u64 log = regs_get_kernel_argument(regs, 0);

	if (!fgio_waits_matter())
		return 1;
	fgio_waker_note(log, true);
	return fgio_hook_enter(instance, FGIO_WAIT_XFS_LOG, log, LOG_WRITES);
}

static int on_order_checkpoints(struct kretprobe_instance *instance,
				struct pt_regs *regs)
{
	u64 log;

	if (!fgio_waits_matter())
		return 1;
	log = log_of_cil((const struct cil_start *)
				 regs_get_kernel_argument(regs, 0));
	if (!log)
		return 1;
	fgio_waker_note(log, true);
	return fgio_hook_enter(instance, FGIO_WAIT_XFS_LOG, log, LOG_WORKER);
}

/* Context: the grant head's lock is held. */
static int on_wait_for_space(struct kretprobe_instance *instance,
			     struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_XFS_LOG,
			       regs_get_kernel_argument(regs, 0), LOG_SPACE);
}

static int on_submit_buffer(struct kretprobe_instance *instance,
			    struct pt_regs *regs)
{
	bool waits = regs_get_kernel_argument(regs, 1) & 0xff;

	if (!fgio_waits_matter() || !waits)
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_XFS_BUFFER,
			       regs_get_kernel_argument(regs, 0), 0);
}

static struct fgio_hook hooks[] = {
	FGIO_HOOK("xfs:xlog_cil_force_seq", JOURNAL, on_force_checkpoint,
		  fgio_hook_leave),
	FGIO_HOOK("xfs:xlog_force_lsn", JOURNAL, on_force_writes,
		  fgio_hook_leave),
	FGIO_HOOK("xfs:xlog_wait_on_iclog", JOURNAL, on_wait_on_buffer,
		  fgio_hook_leave),
	FGIO_HOOK("xfs:xlog_state_get_iclog_space", JOURNAL,
		  on_get_space_in_buffer, fgio_hook_leave),
	FGIO_HOOK("xfs:xlog_cil_order_write", JOURNAL, on_order_checkpoints,
		  fgio_hook_leave),
	FGIO_HOOK("xfs:xlog_grant_head_wait", JOURNAL, on_wait_for_space,
		  fgio_hook_leave),
	FGIO_HOOK("xfs:__xfs_buf_submit", IO, on_submit_buffer,
		  fgio_hook_leave),
	{}
};

/*
 * The thread that pushes a log's tail lives as long as the file system is
 * mounted. A task that waits for the log keeps it mounted.
 */
static u64 pusher_of(const struct log_start *log)
{
	struct task_struct *task;
	struct log_start *back;
	struct ail_start *ail;

	if (!is_log(log) || get_kernel_nofault(ail, &log->ail) ||
	    get_kernel_nofault(back, &ail->log) || back != log ||
	    get_kernel_nofault(task, &ail->task))
		return 0;
	return fgio_walk_name(task);
}

static void find_pusher(const struct fgio_walk_step *step)
{
	unsigned long flags;
	u64 task;

	if (!fgio_wait_hold(step->task, step->wait->seq, &flags))
		return;
	task = pusher_of((const struct log_start *)step->wait->object);
	fgio_wait_release(step->task, flags);
	fgio_walk_found(step->walk, task);
}

static void log_blockers(const struct fgio_walk_step *step)
{
	u64 log = step->wait->object;

	if (step->wait->detail == LOG_SPACE) {
		find_pusher(step);
		return;
	}
	fgio_wanted_add(step, FGIO_WANTED_XFS_LOG, log, 0, 0);
	if (step->wait->detail == LOG_WORKER)
		fgio_found_by_history(step, log, NULL);
}

/*
 * bi_private of its bios points to it (fs/xfs/xfs_buf.c,
 * xfs_buf_ioapply_map()).
 */
static void add_buffer(const struct fgio_walk_step *step, u64 buffer)
{
	fgio_wanted_add(step, FGIO_WANTED_PRIVATE, buffer, 0, 0);
}

void fgio_xfs_buffer_io(const struct fgio_walk_step *step)
{
	if (fgio_mechanism_on(FGIO_MECHANISM_IO))
		add_buffer(step, step->wait->object - BUFFER_SEMAPHORE);
}

static void buffer_blockers(const struct fgio_walk_step *step)
{
	add_buffer(step, step->wait->object);
}

const struct fgio_layer fgio_xfs_log_layer = {
	.name = "xfs log",
	.mechanism = FGIO_MECHANISM_JOURNAL,
	.kinds = BIT_ULL(FGIO_WAIT_XFS_LOG),
	.hooks = hooks,
	.blockers = log_blockers,
	.not_found = fgio_io_not_found,
};

const struct fgio_layer fgio_xfs_buffer_layer = {
	.name = "xfs buffer",
	.mechanism = FGIO_MECHANISM_IO,
	.kinds = BIT_ULL(FGIO_WAIT_XFS_BUFFER),
	.blockers = buffer_blockers,
	.not_found = fgio_io_not_found,
};
