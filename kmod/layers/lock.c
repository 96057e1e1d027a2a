// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel locks: sleeps for one (contention_begin and _end, which all sleeping
 * locks emit when they are contended), and its holder.
 *
 *	mutex			the owner, exactly
 *	rw_semaphore		its writer exactly; of its readers the last one that
 *				came, which the kernel records, advisory, and
 *				those that sleep (lock_readers.c); for the lock
 *				of an inode, direct I/O on its file
 *	semaphore		the last taker, by probes: exact where one task
 *				can hold it at a time
 *	percpu_rw_semaphore	the last writer, by a probe; readers are counted
 *				per CPU and not recorded
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu-rwsem.h>
#include <linux/rwsem.h>
#include <linux/semaphore.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <trace/events/lock.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "base/waker.h"
#include "compat/compat.h"
#include "graph/found.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/io.h"
#include "layers/lock.h"
#include "layers/lock_readers.h"
#include "layers/xfs.h"
#include "who/presence.h"

/* Flags in the low bits of owner words: kernel/locking/rwsem.c. */
#define OWNER_FLAGS 0x7UL
#define RWSEM_OWNED_BY_READER 0x1UL
#define RWSEM_LOCKED_BY_WRITER 0x1L

static u8 kind_of(unsigned int flags)
{
	if (flags & (LCB_F_SPIN | LCB_F_RT))
		return FGIO_WAIT_NONE;
	if (flags & LCB_F_MUTEX)
		return FGIO_WAIT_MUTEX;
	if (flags & LCB_F_PERCPU)
		return FGIO_WAIT_PERCPU_RWSEM;
	if (flags & LCB_F_READ)
		return FGIO_WAIT_RWSEM_READ;
	if (flags & LCB_F_WRITE)
		return FGIO_WAIT_RWSEM_WRITE;
	return FGIO_WAIT_SEMAPHORE;
}

/*
 * A mutex that is not handed over emits it again each time. Spinning locks emit
 * it, too, fgio's own among them.
 */
static void on_contention_begin(void *data, void *lock, unsigned int flags)
{
	u8 kind = kind_of(flags);

	if (kind == FGIO_WAIT_NONE || !fgio_waits_matter())
		return;
	if (!fgio_wait_has((u64)lock))
		fgio_wait_enter(kind, (u64)lock, 0);
}

/*
 * Stays attached while waits that it has to end may be recorded. A semaphore
 * that was waited for has a new holder.
 */
static void on_contention_end(void *data, void *lock, int error)
{
	u8 kind = fgio_wait_kind((u64)lock);

	if (kind == FGIO_WAIT_NONE)
		return;
	if (kind == FGIO_WAIT_SEMAPHORE && !error)
		fgio_waker_note((u64)lock, true);
	fgio_wait_leave_object((u64)lock);
}

/*
 * down() and its kin. Callers that have to wait are noted once they have the
 * semaphore. All takers of the lock of an XFS buffer come here.
 */
static void on_down(unsigned long function, unsigned long caller,
		    struct ftrace_ops *operations, struct ftrace_regs *regs)
{
	const struct semaphore *semaphore;

	semaphore = (void *)fgio_ftrace_argument(regs, 0);
	if (fgio_waits_matter() && READ_ONCE(semaphore->count))
		fgio_waker_note((u64)semaphore, true);
}

static void on_down_write(unsigned long function, unsigned long caller,
			  struct ftrace_ops *operations,
			  struct ftrace_regs *regs)
{
	if (fgio_waits_matter())
		fgio_waker_note(fgio_ftrace_argument(regs, 0), true);
}

/* Called when a mutex with waiters is released. */
static int on_mutex_unlock(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	fgio_boost_give_back(FGIO_WAIT_MUTEX);
	return 1;
}

static struct fgio_hook hooks[] = {
	{
		.name = "contention_begin",
		.mechanism = FGIO_MECHANISM_LOCKS,
		.tracepoint = on_contention_begin,
		.ended_by = "contention_end",
	},
	{
		.name = "contention_end",
		.mechanism = FGIO_MECHANISM_LOCKS,
		.tracepoint = on_contention_end,
	},
	FGIO_LOOK("down", LOCKS, on_down),
	FGIO_LOOK("down_interruptible", LOCKS, on_down),
	FGIO_LOOK("down_killable", LOCKS, on_down),
	FGIO_LOOK("down_timeout", LOCKS, on_down),
	FGIO_LOOK("percpu_down_write", LOCKS, on_down_write),
	/* Without it a boost ends with the next walk, not with the unlock. */
	FGIO_HOOK("__mutex_unlock_slowpath", LOCKS, on_mutex_unlock, NULL,
		  .may_be_clone = true),
	{}
};

/**
 * struct view - what a lock says of its holders
 * @task: its owner; of readers the last one, which may have left long ago
 * @by_readers: it is held by readers
 * @file: it is the lock of an inode: the mapping of its file; else 0
 */
struct view {
	u64 task;
	bool by_readers;
	u64 file;
};

/*
 * The mapping of an inode leads back to it. What lies around another lock may be
 * anything: the address of a device's registers must not even be read from.
 */
static u64 file_of(const struct rw_semaphore *lock)
{
	const struct address_space *mapping;
	const struct inode *inode;

	inode = container_of(lock, struct inode, i_rwsem);
	mapping = (const void *)fgio_peek_word(&inode->i_mapping);
	if (!fgio_is_memory(mapping) ||
	    fgio_peek_word(&mapping->host) != (u64)inode)
		return 0;
	return (u64)mapping;
}

static void look_at_rwsem(const struct rw_semaphore *lock, struct view *view)
{
	unsigned long owner = fgio_peek_word(&lock->owner);
	bool by_writer = fgio_peek_word(&lock->count) & RWSEM_LOCKED_BY_WRITER;

	view->by_readers = owner & RWSEM_OWNED_BY_READER && !by_writer;
	if (view->by_readers || by_writer)
		view->task = fgio_walk_name((void *)(owner & ~OWNER_FLAGS));
	if (view->by_readers)
		view->file = file_of(lock);
}

/* Reads the lock while the wait goes on, which keeps it. */
static bool look_at_lock(const struct fgio_walk_step *step, struct view *view)
{
	u64 object = step->wait->object;
	unsigned long flags;

	if (!fgio_wait_hold(step->task, step->wait->seq, &flags))
		return false;
	if (step->wait->kind == FGIO_WAIT_MUTEX)
		view->task = fgio_mutex_holder((const struct mutex *)object);
	else
		look_at_rwsem((const struct rw_semaphore *)object, view);
	fgio_wait_release(step->task, flags);
	return true;
}

static void find_holders(const struct fgio_walk_step *step)
{
	struct view view = {};

	if (!look_at_lock(step, &view))
		return;
	fgio_walk_found(step->walk, view.task);
	if (view.by_readers)
		fgio_lock_guess_readers(step, view.task);
	if (view.file)
		fgio_wanted_add(step, FGIO_WANTED_DIRECT, view.file, 0, 0);
}

static void blockers(const struct fgio_walk_step *step)
{
	u64 identity;

	switch (step->wait->kind) {
	case FGIO_WAIT_MUTEX:
	case FGIO_WAIT_RWSEM_READ:
	case FGIO_WAIT_RWSEM_WRITE:
		find_holders(step);
		break;
	case FGIO_WAIT_SEMAPHORE:
		fgio_xfs_buffer_io(step);
		fallthrough;
	default:
		identity = fgio_waker_last(step->wait->object);
		fgio_walk_found(step->walk, fgio_name_identity(identity));
	}
}

/* Readers of a file's lock need not have direct I/O. */
static void not_found(struct fgio_walk *walk, const struct fgio_wanted *wanted)
{
	if (wanted->kind != FGIO_WANTED_DIRECT)
		fgio_io_not_found(walk, wanted);
}

const struct fgio_layer fgio_lock_layer = {
	.name = "lock",
	.mechanism = FGIO_MECHANISM_LOCKS,
	.kinds = FGIO_WAIT_RANGE(FGIO_WAIT_MUTEX, FGIO_WAIT_PERCPU_RWSEM),
	.hooks = hooks,
	.blockers = blockers,
	.not_found = not_found,
	.look_further = fgio_lock_look_for_readers,
};
