// SPDX-License-Identifier: GPL-2.0
/*
 * Locks of files (fs/locks.c): the tasks that hold the locks which a request
 * conflicts with.
 *
 *	flock(2)	owned by the open file
 *	F_OFD_SETLKW	the same, for a range
 *	F_SETLKW	owned by the process (its table of files), for a range
 *	leases		owned by the open file; open(2) and its kin wait until
 *			the holder has given them up
 *
 * An owner is no task. In the way is the task that took the lock last for this
 * owner, which the tracepoints note. If it has ended or is idle (flock(1) locks
 * a file for the shell that started it), other threads of the owner may be:
 * those that sleep for I/O or locks in processes that have the file open, or,
 * for a lock of a process, in that process.
 *
 * sleep.c finds the sleepers in flock(2) and fcntl(2). The tracepoints come
 * after the locks of fs/locks.c were released:
 *
 *	flock_lock_inode, posix_lock_inode	a request was granted, or a lock
 *						released
 *	generic_add_lease			a lease is given
 *	break_lease_block, _unblock		around a sleep for a lease
 *
 * A task that does not want to sleep for a lock asks again after a while, as
 * SQLite does. The tracepoints tell of requests that were refused, too: the
 * task's first sleep after that, if it is for a timer, is a wait for the lock.
 *
 * Each walk reads the locks of the file anew, without the kernel's lock around
 * them: without faults, and as if each lock might be gone. What was read counts
 * if the wait goes on.
 *
 * Left out:
 *	32-bit programs' calls.
 *	locks of other machines (NFS), of FUSE and of cluster file systems.
 *	delegations, and layouts of pNFS.
 */
#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/threads.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "base/identity.h"
#include "base/scale.h"
#include "base/waker.h"
#include "compat/compat.h"
#include "core/looks.h"
#include "core/places.h"
#include "graph/found.h"
#include "graph/sleeper.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/file_lock.h"
#include "who/foreground.h"
#include "who/presence.h"

/* The locks of one owner on one file. */
static u64 object_of(const struct inode *inode, const void *owner)
{
	return hash_64((u64)inode, 64) ^ (u64)owner;
}

/**
 * struct lock_request - a lock that a task waits for
 * @inode: of the file; only its address may be used
 * @owner: of the lock that it is to be; NULL: of none, for a lease
 * @list: offset of the list of such locks in struct file_lock_context
 * @has_range: whether the lock is for a range
 * @shared: whether others may have such a lock at the same time
 * @first: of the range, in bytes
 * @last: the same
 */
struct lock_request {
	const struct inode *inode;
	const void *owner;
	size_t list;
	bool has_range;
	bool shared;
	loff_t first;
	loff_t last;
};

/* --- requests that were refused ----------------------------------------- */

/* SQLite waits for 100 ms at most before it asks again. */
#define REFUSAL_COUNTS_NS NSEC_PER_SEC

/**
 * struct refusal - the last request of a task, which was refused
 * @started: when the task began: its address may be another one's later
 * @switches: how often the task had gone to sleep by then
 * @noted_ns: when it was refused
 * @file: the file, which may be closed since; only its address may be used
 * @request: what the task asked for
 */
struct refusal {
	u64 started;
	unsigned long switches;
	u64 noted_ns;
	u64 file;
	struct lock_request request;
};

/**
 * struct refusals - those of some tasks
 * @tasks: their addresses, compared and never followed; 0: none, BUSY: the place
 *	is being written
 * @payers: the user of each
 * @of: their requests
 *
 * Without locks: at worst a wait is not followed, or for the time of one walk
 * that of another task is.
 */
struct refusals {
	u64 tasks[FGIO_PLACES];
	u32 payers[FGIO_PLACES];
	struct refusal of[FGIO_PLACES];
};

#define BUSY 1ULL

static struct refusals refusals[1 << FGIO_REFUSAL_BITS];

static struct refusals *refusals_with(u64 task)
{
	return &refusals[hash_64(task, FGIO_REFUSAL_BITS)];
}

static void write_refusal(struct refusal *refusal, const struct inode *inode,
			  const struct file_lock *lock)
{
	const struct fgio_file_lock_core *core = fgio_file_lock_core_of(lock);
	bool is_flock = core->fgio_lock_member(flags) & FL_FLOCK;

	*refusal = (struct refusal){
		.started = current->start_time,
		.switches = current->nvcsw,
		.noted_ns = ktime_get_mono_fast_ns(),
		.file = (u64)core->fgio_lock_member(file),
		.request = {
			.inode = inode,
			.owner = core->fgio_lock_member(owner),
			.list = is_flock ?
				offsetof(struct file_lock_context, flc_flock) :
				offsetof(struct file_lock_context, flc_posix),
			.has_range = !is_flock,
			.shared = core->fgio_lock_member(type) == F_RDLCK,
			.first = lock->fl_start,
			.last = lock->fl_end,
		},
	};
}

/*
 * Only of tasks that serve requests: others ask as often as they like, and
 * would take the places. Context: the caller of the lock.
 */
static void note_refusal(const struct inode *inode,
			 const struct file_lock *lock)
{
	u64 task = (u64)current;
	struct refusals *set = refusals_with(task);
	unsigned int place = fgio_place_of(set->tasks, task);
	u32 payer = fgio_payer_of(current);
	u64 former;

	if (place == FGIO_PLACES)
		place = fgio_place_for(set->tasks, set->payers, payer,
				       (u32)(task >> L1_CACHE_SHIFT));
	former = READ_ONCE(set->tasks[place]);
	/* Two at a time would leave the request of one to the other. */
	if (former == BUSY ||
	    cmpxchg(&set->tasks[place], former, BUSY) != former)
		return;
	WRITE_ONCE(set->payers[place], payer);
	write_refusal(&set->of[place], inode, lock);
	/* Pairs with read_refusal(), which reads the task first. */
	smp_store_release(&set->tasks[place], task);
}

/* The current task has got a lock: what was refused before is not missed. */
static void forget_refusal(void)
{
	u64 task = (u64)current;
	struct refusals *set = refusals_with(task);
	unsigned int place = fgio_place_of(set->tasks, task);

	if (place < FGIO_PLACES)
		cmpxchg(&set->tasks[place], task, 0);
}

/* Return: whether a task was refused a lock that it may still sleep for. */
static bool read_refusal(u64 task, struct refusal *copy)
{
	const struct refusals *set = refusals_with(task);
	unsigned int place = fgio_place_of(set->tasks, task);

	if (place == FGIO_PLACES)
		return false;
	/* Pairs with note_refusal(), which writes the task last. */
	if (smp_load_acquire(&set->tasks[place]) != task)
		return false;
	*copy = set->of[place];
	/* Pairs with the cmpxchg() of note_refusal(). */
	smp_rmb();
	return READ_ONCE(set->tasks[place]) == task &&
	       ktime_get_mono_fast_ns() - copy->noted_ns < REFUSAL_COUNTS_NS;
}

u64 fgio_file_lock_refused(const struct task_struct *task)
{
	struct refusal refusal;

	/* The sleep that begins, or goes on, is counted already. */
	if (!read_refusal((u64)task, &refusal) ||
	    refusal.started != task->start_time ||
	    refusal.switches + 1 != READ_ONCE(task->nvcsw))
		return 0;
	return refusal.file;
}

/* --- takers ------------------------------------------------------------ */

static void on_lock(void *data, struct inode *inode, struct file_lock *lock,
		    int error)
{
	const struct fgio_file_lock_core *core = fgio_file_lock_core_of(lock);

	if (!fgio_waits_matter())
		return;
	if (error == -EAGAIN && fgio_current_serves_requests())
		note_refusal(inode, lock);
	if (error)
		return;
	if (core->fgio_lock_member(type) == F_UNLCK) {
		fgio_boost_give_back(FGIO_WAIT_FILE_LOCK);
		return;
	}
	fgio_waker_note(object_of(inode, core->fgio_lock_member(owner)), true);
	forget_refusal();
}

static void on_add_lease(void *data, struct inode *inode,
			 struct fgio_file_lease *lease)
{
	const struct fgio_file_lock_core *core = fgio_file_lock_core_of(lease);

	if (fgio_waits_matter())
		fgio_waker_note(object_of(inode,
					  core->fgio_lock_member(owner)), true);
}

/* Context: the file's flc_lock is held. */
static void on_lease_begin(void *data, struct inode *inode,
			   struct fgio_file_lease *request)
{
	if (fgio_waits_matter() && !fgio_wait_has((u64)inode))
		fgio_wait_enter(FGIO_WAIT_LEASE, (u64)inode, 0);
}

/* Context: as above. Stays attached while waits for leases may be recorded. */
static void on_lease_end(void *data, struct inode *inode,
			 struct fgio_file_lease *request)
{
	if (fgio_wait_kind((u64)inode) == FGIO_WAIT_LEASE)
		fgio_wait_leave_object((u64)inode);
}

static struct fgio_hook hooks[] = {
	{
		.name = "flock_lock_inode",
		.mechanism = FGIO_MECHANISM_FILE_LOCKS,
		.tracepoint = on_lock,
	},
	{
		.name = "posix_lock_inode",
		.mechanism = FGIO_MECHANISM_FILE_LOCKS,
		.tracepoint = on_lock,
	},
	{
		.name = "generic_add_lease",
		.mechanism = FGIO_MECHANISM_FILE_LOCKS,
		.tracepoint = on_add_lease,
	},
	{
		.name = "break_lease_block",
		.mechanism = FGIO_MECHANISM_FILE_LOCKS,
		.tracepoint = on_lease_begin,
		.ended_by = "break_lease_unblock",
	},
	{
		.name = "break_lease_unblock",
		.mechanism = FGIO_MECHANISM_FILE_LOCKS,
		.tracepoint = on_lease_end,
	},
	{}
};

/* --- requests ---------------------------------------------------------- */

/* A range that is not counted from the file's begin is taken to be all. */
static void set_range(struct lock_request *request, const struct flock *range)
{
	request->first = 0;
	request->last = OFFSET_MAX;
	if (range->l_whence != SEEK_SET || range->l_start < 0)
		return;
	if (range->l_len < 0) {
		request->first = max_t(loff_t, 0, range->l_start +
						  range->l_len);
		request->last = range->l_start - 1;
		return;
	}
	request->first = range->l_start;
	if (range->l_len && range->l_len <= OFFSET_MAX - range->l_start)
		request->last = range->l_start + range->l_len - 1;
}

/* Context: fgio_sleeper_look()'s. */
static void look_at_range(struct task_struct *waiter,
			  const struct fgio_wait *wait, void *data)
{
	struct lock_request *request = data;
	const void __user *address;
	struct flock range;

	address = (const void __user *)FIELD_GET(FGIO_FILE_LOCK_ADDRESS,
						 wait->detail);
	if (copy_from_user_nofault(&range, address, sizeof(range)))
		range = (struct flock){ .l_type = F_WRLCK,
					.l_whence = SEEK_END };
	request->shared = range.l_type == F_RDLCK;
	set_range(request, &range);
	if (FIELD_GET(FGIO_FILE_LOCK_REQUEST, wait->detail) == FGIO_POSIX_LOCK)
		request->owner = READ_ONCE(waiter->files);
}

/* Return: whether the task still waits. */
static bool read_request(const struct fgio_walk_step *step,
			 struct lock_request *request)
{
	const struct file *file = (const struct file *)step->wait->object;
	struct refusal refusal;

	request->owner = file;
	request->inode = (const void *)fgio_kernel_word((u64)&file->f_inode);
	switch (FIELD_GET(FGIO_FILE_LOCK_REQUEST, step->wait->detail)) {
	case FGIO_FLOCK_SHARED:
		request->shared = true;
		fallthrough;
	case FGIO_FLOCK_EXCLUSIVE:
		request->list = offsetof(struct file_lock_context, flc_flock);
		return true;
	case FGIO_LOCK_REFUSED:
		/* Nothing keeps the file open: it may be another one by now. */
		if (!read_refusal(step->task, &refusal) ||
		    refusal.file != step->wait->object ||
		    refusal.request.inode != request->inode)
			return false;
		*request = refusal.request;
		return true;
	default:
		request->list = offsetof(struct file_lock_context, flc_posix);
		request->has_range = true;
		return fgio_sleeper_look(step, look_at_range, request);
	}
}

/* --- holders ----------------------------------------------------------- */

/*
 * The processes that a scan looks at, in about 2 microseconds each, their files
 * and their threads. Beyond these, the taker alone is known.
 */
#define PROCESSES_MAX 4096
#define FILES_MAX 256
#define THREADS_MAX 256
/* Older results are checked before they are used. */
#define OLD_NS (100 * NSEC_PER_MSEC)

/**
 * struct search - threads that may hold the locks of one owner, beside their taker
 * @count: length of @identities
 * @identities: the threads
 */
struct search {
	unsigned int count;
	u64 identities[FGIO_FILE_LOCK_SHARERS];
};

/* By key_of(). All for the walk's thread alone. */
static struct fgio_look look[FGIO_FILE_LOCK_SEARCHES];
static struct fgio_looks looks = { .look = look,
				   .count = FGIO_FILE_LOCK_SEARCHES };
static struct search searches[FGIO_FILE_LOCK_SEARCHES];

/*
 * The address of the open file that owns a lock, or the id of the process: its
 * table of files, the owner, does not lead to it.
 */
static u64 key_of(const struct fgio_file_lock_core *lock)
{
	const void *owner = lock->fgio_lock_member(owner);

	if (owner == lock->fgio_lock_member(file))
		return (u64)owner;
	return max_t(int, 0, lock->fgio_lock_member(pid));
}

static bool is_process(u64 key)
{
	return key <= PID_MAX_LIMIT;
}

/* Context: RCU. */
static void add_threads(struct search *search, struct task_struct *process)
{
	struct task_struct *thread;
	unsigned int looked_at = 0;

	for_each_thread(process, thread) {
		if (search->count == FGIO_FILE_LOCK_SHARERS ||
		    looked_at++ == THREADS_MAX)
			return;
		if (!fgio_sleeps_uninterruptibly(thread) &&
		    !fgio_task_is_boosted((u64)thread))
			continue;
		fgio_look_found((u64)thread);
		search->identities[search->count++] = fgio_identity_of(thread);
	}
}

/* Whether a process has this file open. */
static u64 has_open(const struct fdtable *table, u64 file)
{
	unsigned int count = min_t(unsigned int, table->max_fds, FILES_MAX);
	unsigned int fd;

	for_each_set_bit(fd, table->open_fds, count)
		if ((u64)rcu_access_pointer(table->fd[fd]) == file)
			return true;
	return false;
}

/* Context: RCU. */
static void look_at_processes(struct search *search, u64 file)
{
	struct task_struct *process;
	unsigned int looked_at = 0;

	for_each_process(process) {
		if (process->flags & PF_KTHREAD)
			continue;
		if (looked_at++ == PROCESSES_MAX)
			return;
		if (fgio_ask_files(process, has_open, file))
			add_threads(search, process);
	}
}

/* A look is made again while it is asked for; its key may be another owner's later. */
static bool is_old(u32 place)
{
	return ktime_get_ns() - look[place].made_ns > OLD_NS;
}

/*
 * Return: the thread's key if it lives and may still share the lock, or else 0. One
 * that exits has no table of files any more, and may still be at the lock.
 */
static u64 still_shares(u64 identity, u64 key)
{
	struct task_struct *task;
	u64 found = 0;

	rcu_read_lock();
	task = fgio_task_of(identity);
	if (task && (is_process(key) ? task->tgid == (pid_t)key :
				       task->flags & PF_EXITING ||
					       fgio_ask_files(task, has_open,
							      key)))
		found = fgio_walk_name(task);
	rcu_read_unlock();
	return found;
}

static void make(u32 place, u64 key)
{
	struct search *search = &searches[place];
	struct task_struct *process;

	search->count = 0;
	if (!is_process(key)) {
		look_at_processes(search, key);
		return;
	}
	process = fgio_thread_of((pid_t)key);
	if (process)
		add_threads(search, process);
}

/* To look at all processes takes too long for a walk. */
static bool look_for_sharers(void)
{
	return fgio_make_looks(&looks, make);
}

static void find_sharers(const struct fgio_walk_step *step,
			 const struct fgio_file_lock_core *lock, u64 taker)
{
	u64 key = key_of(lock);
	const struct search *search;
	unsigned int i;
	u32 place;
	u64 task;

	place = key ? fgio_found_by_looks(&looks, key) : FGIO_LOOKS_NONE;
	if (place == FGIO_LOOKS_NONE)
		return;
	search = &searches[place];
	for (i = 0; i < search->count; i++) {
		task = is_old(place) ? still_shares(search->identities[i], key) :
				       fgio_name_identity(search->identities[i]);
		/* The taker is found already, and is no guess. */
		if (!task || task == taker)
			continue;
		if (search->count == 1)
			fgio_walk_found(step->walk, task);
		else
			fgio_walk_guessed(step->walk, task);
	}
}

/* Or has ended. */
static bool is_idle(u64 identity)
{
	const struct task_struct *task;
	bool idle;

	rcu_read_lock();
	task = fgio_live_task_of(identity);
	idle = !task || READ_ONCE(task->__state) & TASK_INTERRUPTIBLE;
	rcu_read_unlock();
	return idle;
}

static void find_holders(const struct fgio_walk_step *step,
			 const struct lock_request *request,
			 const struct fgio_file_lock_core *lock)
{
	u64 object = object_of(request->inode, lock->fgio_lock_member(owner));
	u64 identity = fgio_waker_last(object);
	u64 taker = fgio_name_identity(identity);

	fgio_walk_found(step->walk, taker);
	if (is_idle(identity))
		find_sharers(step, lock, taker);
}

/* Return: false, too, when the lock is gone. */
static bool overlaps(const struct lock_request *request,
		     const struct file_lock *lock)
{
	loff_t first, last;

	return !get_kernel_nofault(first, &lock->fl_start) &&
	       !get_kernel_nofault(last, &lock->fl_end) &&
	       first <= request->last && last >= request->first;
}

/* As flock_locks_conflict() and its kin. @copy is of the lock at @place. */
static bool conflicts(const struct lock_request *request,
		      const struct fgio_file_lock_core *copy,
		      const struct fgio_file_lock_core *place)
{
	if (copy->fgio_lock_member(owner) == request->owner ||
	    (request->shared && copy->fgio_lock_member(type) == F_RDLCK))
		return false;
	return !request->has_range ||
	       overlaps(request, fgio_file_lock_of(place));
}

/* Whether a copy is of a lock of that file: its memory may be another's. */
static bool is_of(const struct fgio_file_lock_core *copy,
		  const struct inode *inode)
{
	const struct file *file = copy->fgio_lock_member(file);

	return fgio_is_memory(file) &&
	       fgio_peek_word(&file->f_inode) == (u64)inode;
}

static void find_locks(const struct fgio_walk_step *step,
		       const struct lock_request *request)
{
	const struct fgio_file_lock_core *place;
	const struct list_head *head, *entry;
	struct fgio_file_lock_core copy;
	unsigned int i;
	u64 context;

	context = request->inode ?
			  fgio_kernel_word((u64)&request->inode->i_flctx) : 0;
	if (!fgio_is_memory((void *)context))
		return;
	head = (const struct list_head *)(context + request->list);
	entry = (const struct list_head *)fgio_kernel_word((u64)&head->next);
	for (i = 0; entry && entry != head && i < FGIO_FILE_LOCKS; i++) {
		place = list_entry(entry, struct fgio_file_lock_core,
				   fgio_lock_member(list));
		if (!fgio_is_memory(place) ||
		    copy_from_kernel_nofault(&copy, place, sizeof(copy)) ||
		    !is_of(&copy, request->inode) ||
		    !fgio_wait_is_on(step->task, step->wait->seq))
			return;
		if (conflicts(request, &copy, place))
			find_holders(step, request, &copy);
		entry = copy.fgio_lock_member(list).next;
	}
}

static void blockers(const struct fgio_walk_step *step)
{
	struct lock_request request = {
		.inode = (const struct inode *)step->wait->object,
		.list = offsetof(struct file_lock_context, flc_lease),
	};

	if (step->wait->kind == FGIO_WAIT_LEASE ||
	    read_request(step, &request))
		find_locks(step, &request);
}

const struct fgio_layer fgio_file_lock_layer = {
	.name = "file_lock",
	.mechanism = FGIO_MECHANISM_FILE_LOCKS,
	.kinds = FGIO_WAIT_RANGE(FGIO_WAIT_FILE_LOCK, FGIO_WAIT_LEASE),
	.hooks = hooks,
	.blockers = blockers,
	.look_further = look_for_sharers,
};
