// SPDX-License-Identifier: GPL-2.0
/*
 * Locks and conditions in user space: who sleeps in futex(2), and who is to
 * wake it (kernel/futex).
 *
 * What a futex is the kernel does not know. It shows in the value that is
 * waited on, and in the memory around it:
 *
 *	pthread_mutex_t		2; the owner's thread id stands 8 bytes further
 *	 robust or PI		the owner's thread id itself, with FUTEX_WAITERS
 *	pthread_rwlock_t	3; a writer that holds it left its thread id
 *	pthread_join()		the thread id of who is waited for
 *
 * as glibc has them (nptl, struct_mutex.h and struct_rwlock.h, x86-64). The
 * memory is believed only where all of it fits and the thread id is one of the
 * waiter's process or, for a shared futex, of a thread that the waiter may tag.
 * Everything else, and all of these while their owner is not known, is a
 * condition: those who woke it lately are taken for those who will do so again.
 *
 * A hook reads only what it is given. The walk reads the waiter's memory, again
 * each time, since the owner changes while others sleep on; only for foreground
 * tasks is it read at once, too, so that blame says what was waited for.
 */
#include <linux/hash.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/uaccess.h>
#include <asm/syscall.h>
#include <asm/unistd.h>
#include <uapi/linux/futex.h>

#include "compat/compat.h"
#include "fgio.h"
#include "inherit.h"

/* What the memory at an address may be; found out in the order of danger. */
enum shape {
	SHAPE_NONE,
	SHAPE_MUTEX,
	SHAPE_RWLOCK,
	SHAPE_OWNER_WORD,
	SHAPE_JOIN,
};

/* A wait's detail: the address, what may be there, and whether it is shared. */
#define DETAIL_ADDRESS GENMASK_ULL(56, 0)
#define DETAIL_SHAPE_SHIFT 60
#define DETAIL_SHAPE GENMASK_ULL(62, DETAIL_SHAPE_SHIFT)
#define DETAIL_SHARED BIT_ULL(63)

struct glibc_mutex {
	u32 lock;
	u32 count;
	s32 owner;
	u32 users;
	s32 kind;
};

#define GLIBC_MUTEX_CONTENDED 2
/* Types, robust, PI, PP and elision; all other bits are unused. */
#define GLIBC_MUTEX_KINDS 0x3ff
#define GLIBC_MUTEX_SHARED 0x80

struct glibc_rwlock {
	u32 readers;
	u32 writers;
	u32 phase_futex;
	u32 writers_futex;
	u32 pad[2];
	s32 writer;
	s32 shared;
};

/* Taken, and somebody sleeps: the values of both futexes of an rwlock. */
#define GLIBC_RWLOCK_CONTENDED 3
#define GLIBC_RWLOCK_WRITE_LOCKED 2

/* Wakers of shared futexes are of no interest before somebody watches one. */
static bool shared_watched;

static bool is_shared(u64 detail)
{
	return detail & DETAIL_SHARED;
}

static enum shape shape_of(u64 detail)
{
	return (detail & DETAIL_SHAPE) >> DETAIL_SHAPE_SHIFT;
}

static const void __user *address_of(u64 detail, long offset)
{
	return (const void __user *)((detail & DETAIL_ADDRESS) + offset);
}

/*
 * What a futex is known by: for a shared one the page, which all processes
 * have in common, as long as it stays in memory. The two words that a glibc
 * condition variable is waited on at are one object, hence the 8.
 *
 * Context: any but NMI, preemption off.
 */
static u64 object_of(u64 address, bool shared)
{
	u64 space = (u64)current->mm;
	u64 place = address & ~7ULL;
	struct page *page;

	if (shared && get_user_pages_fast_only(address & PAGE_MASK, 1, 0,
					       &page) == 1) {
		space = (u64)page;
		place &= ~PAGE_MASK;
		put_page(page);
	}
	return hash_64(space, 64) ^ place;
}

/* Instead of a thread id: not what it looked like, or not resident. */
#define OWNER_UNKNOWN (-1)

static pid_t mutex_owner(u64 detail)
{
	struct glibc_mutex mutex;

	if (copy_from_user_nofault(&mutex, address_of(detail, 0),
				   sizeof(mutex)))
		return OWNER_UNKNOWN;
	/* Released: who waits is being woken, whatever kind of lock it is. */
	if (mutex.lock != GLIBC_MUTEX_CONTENDED)
		return 0;
	if (!mutex.owner || !mutex.users || mutex.kind & ~GLIBC_MUTEX_KINDS ||
	    !(mutex.kind & GLIBC_MUTEX_SHARED) == is_shared(detail))
		return OWNER_UNKNOWN;
	return mutex.owner;
}

/* Where the rwlock begins follows from which of its futexes this is. */
static pid_t rwlock_owner(u64 detail)
{
	bool is_phase = !(detail & 4);
	struct glibc_rwlock rwlock;
	long offset;

	offset = is_phase ? offsetof(struct glibc_rwlock, phase_futex) :
			    offsetof(struct glibc_rwlock, writers_futex);
	if (copy_from_user_nofault(&rwlock, address_of(detail, -offset),
				   sizeof(rwlock)))
		return OWNER_UNKNOWN;
	if (!(rwlock.readers & GLIBC_RWLOCK_WRITE_LOCKED) || !rwlock.writer ||
	    !rwlock.shared == is_shared(detail))
		return OWNER_UNKNOWN;
	return rwlock.writer;
}

/*
 * Return: what stands there as the owner's thread id, which may be anything; 0
 * when nobody is the owner; OWNER_UNKNOWN. Context: any; the waiter's memory is
 * current's; what is not resident is not read.
 */
static pid_t read_owner(u64 detail)
{
	u32 word;

	switch (shape_of(detail)) {
	case SHAPE_MUTEX:
		return mutex_owner(detail);
	case SHAPE_RWLOCK:
		return rwlock_owner(detail);
	case SHAPE_OWNER_WORD:
	case SHAPE_JOIN:
		if (copy_from_user_nofault(&word, address_of(detail, 0),
					   sizeof(word)))
			return OWNER_UNKNOWN;
		if (shape_of(detail) == SHAPE_JOIN)
			return word;
		return word & FUTEX_TID_MASK;
	default:
		return OWNER_UNKNOWN;
	}
}

/*
 * The task that an owner's thread id means to a waiter, or NULL. Context: RCU;
 * the waiter's memory is @mm.
 */
static struct task_struct *owner_of(struct task_struct *waiter,
				    const struct mm_struct *mm, u64 detail,
				    pid_t tid)
{
	struct pid_namespace *namespace = task_active_pid_ns(waiter);
	struct task_struct *owner;

	if (tid <= 0 || !namespace)
		return NULL;
	owner = pid_task(find_pid_ns(tid, namespace), PIDTYPE_PID);
	if (!owner || READ_ONCE(owner->mm) == mm)
		return owner;
	if (!is_shared(detail) || shape_of(detail) == SHAPE_JOIN)
		return NULL;
	/* Any process can write any thread id into memory of its own. */
	return fgio_may_lend(waiter, owner) ? owner : NULL;
}

static bool current_knows_owner(u64 detail)
{
	pid_t tid = read_owner(detail);
	bool known;

	rcu_read_lock();
	known = !tid || owner_of(current, current->mm, detail, tid);
	rcu_read_unlock();
	return known;
}

static void watch(u64 object, u64 detail)
{
	if (is_shared(detail))
		WRITE_ONCE(shared_watched, true);
	fgio_helper_watch(object);
}

static u32 begin_wait(u64 address, bool shared, enum shape shape)
{
	u64 object = object_of(address, shared);
	u64 detail = (address & DETAIL_ADDRESS) |
		     (u64)shape << DETAIL_SHAPE_SHIFT |
		     (shared ? DETAIL_SHARED : 0);
	u8 kind = shape == SHAPE_NONE ? FGIO_WAIT_CONDITION : FGIO_WAIT_FUTEX;

	if (fgio_current_is_foreground()) {
		if (kind == FGIO_WAIT_FUTEX && !current_knows_owner(detail))
			kind = FGIO_WAIT_CONDITION;
		if (kind == FGIO_WAIT_CONDITION)
			watch(object, detail);
	}
	return fgio_wait_enter(kind, object, detail);
}

/* glibc's layouts are those of 64-bit processes. */
static enum shape shape_of_value(u32 value, bool shared)
{
	if (value & FUTEX_WAITERS && value & FUTEX_TID_MASK)
		return SHAPE_OWNER_WORD;
	if (in_compat_syscall())
		return SHAPE_NONE;
	if (value == GLIBC_MUTEX_CONTENDED)
		return SHAPE_MUTEX;
	if (value == GLIBC_RWLOCK_CONTENDED)
		return SHAPE_RWLOCK;
	/* The kernel wakes who joins a thread, always by a shared futex. */
	return shared && value ? SHAPE_JOIN : SHAPE_NONE;
}

/*
 * int FGIO_FUTEX_WAIT(u32 __user *uaddr, unsigned int flags, u32 val, ...): so
 * begins futex_wait_requeue_pi(), too.
 */
static int enter_wait(struct kretprobe_instance *instance,
		      struct pt_regs *regs)
{
	u64 address = regs_get_kernel_argument(regs, 0);
	bool shared = regs_get_kernel_argument(regs, 1) & FGIO_FUTEX_SHARED;
	u32 value = regs_get_kernel_argument(regs, 2);

	if (!fgio_waits_matter())
		return 1;
	*fgio_hook_seq(instance) = begin_wait(address, shared,
					      shape_of_value(value, shared));
	return 0;
}

static int enter_wait_requeue_pi(struct kretprobe_instance *instance,
				 struct pt_regs *regs)
{
	u64 address = regs_get_kernel_argument(regs, 0);
	bool shared = regs_get_kernel_argument(regs, 1) & FGIO_FUTEX_SHARED;

	if (!fgio_waits_matter())
		return 1;
	*fgio_hook_seq(instance) = begin_wait(address, shared, SHAPE_NONE);
	return 0;
}

/* int futex_lock_pi(u32 __user *uaddr, unsigned int flags, time, int trylock) */
static int enter_lock_pi(struct kretprobe_instance *instance,
			 struct pt_regs *regs)
{
	u64 address = regs_get_kernel_argument(regs, 0);
	bool shared = regs_get_kernel_argument(regs, 1) & FGIO_FUTEX_SHARED;
	bool only_try = (u32)regs_get_kernel_argument(regs, 3);

	if (!fgio_waits_matter() || only_try)
		return 1;
	*fgio_hook_seq(instance) = begin_wait(address, shared,
					      SHAPE_OWNER_WORD);
	return 0;
}

/* Futexes of one futex_waitv() that are followed: waits do not nest deeper. */
#define WAITV_MAX 3U

/*
 * futex_wait_multiple(): its array is of a type that the kernel keeps private,
 * but it is a copy of what the system call was given.
 */
static int enter_wait_multiple(struct kretprobe_instance *instance,
			       struct pt_regs *regs)
{
	struct pt_regs *call = task_pt_regs(current);
	struct futex_waitv waits[WAITV_MAX];
	unsigned long arguments[6];
	u32 count, seq, i;

	if (!fgio_waits_matter() || in_compat_syscall() ||
	    syscall_get_nr(current, call) != __NR_futex_waitv)
		return 1;
	syscall_get_arguments(current, call, arguments);
	count = min_t(u32, arguments[1], WAITV_MAX);
	if (copy_from_user_nofault(waits, (const void __user *)arguments[0],
				   count * sizeof(*waits)))
		return 1;
	*fgio_hook_seq(instance) = 0;
	/* Without room for the first, nothing would end the others. */
	for (i = 0; i < count && (!i || *fgio_hook_seq(instance)); i++) {
		seq = begin_wait(waits[i].uaddr,
				 !(waits[i].flags & FUTEX_PRIVATE_FLAG),
				 SHAPE_NONE);
		/* The others nest in the first one, and end with it. */
		if (!i)
			*fgio_hook_seq(instance) = seq;
	}
	return 0;
}

/* Who wakes somebody is mostly done with what that one waited for. */
static void note(u64 address, bool shared)
{
	if (!shared || READ_ONCE(shared_watched))
		fgio_helper_signal(object_of(address, shared));
	fgio_boost_give_back(FGIO_WAIT_NONE);
}

/* int futex_wake(u32 __user *uaddr, unsigned int flags, ...) */
static int note_wake(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	bool shared = regs_get_kernel_argument(regs, 1) & FGIO_FUTEX_SHARED;

	/* A thread that ends wakes who joins it. */
	if (fgio_waits_matter() && !(current->flags & PF_EXITING))
		note(regs_get_kernel_argument(regs, 0), shared);
	return 1;
}

/*
 * int futex_wake_op(u32 __user *uaddr1, unsigned int flags,
 *		     u32 __user *uaddr2, ...), and futex_requeue()
 */
static int note_wake_two(struct kretprobe_instance *instance,
			 struct pt_regs *regs)
{
	bool shared = regs_get_kernel_argument(regs, 1) & FGIO_FUTEX_SHARED;

	if (!fgio_waits_matter())
		return 1;
	note(regs_get_kernel_argument(regs, 0), shared);
	note(regs_get_kernel_argument(regs, 2), shared);
	return 1;
}

struct fgio_hook fgio_futex_hooks[] = {
	/* Whole pools of threads sleep there. */
	FGIO_HOOK(FGIO_FUTEX_WAIT, USER, enter_wait, fgio_hook_leave,
		  .sleepers_max = 8192),
	FGIO_HOOK("futex_wait_multiple", USER, enter_wait_multiple,
		  fgio_hook_leave),
	FGIO_HOOK("futex_wait_requeue_pi", USER, enter_wait_requeue_pi,
		  fgio_hook_leave),
	FGIO_HOOK("futex_lock_pi", USER, enter_lock_pi, fgio_hook_leave),
	FGIO_HOOK("futex_wake", USER, note_wake, NULL),
	FGIO_HOOK("futex_wake_op", USER, note_wake_two, NULL),
	FGIO_HOOK("futex_requeue", USER, note_wake_two, NULL),
	{}
};

/* Return: the waiter with a reference, or NULL when the wait is over. */
static struct task_struct *get_waiter(const struct fgio_walk_step *step)
{
	struct task_struct *waiter;
	unsigned long flags;

	if (!fgio_wait_hold(step->task, step->wait->seq, &flags))
		return NULL;
	rcu_read_lock();
	waiter = fgio_task_at(step->task);
	if (waiter)
		get_task_struct(waiter);
	rcu_read_unlock();
	fgio_wait_release(step->task, flags);
	return waiter;
}

/*
 * The walk takes on the waiter's address space: so it reads what is resident,
 * without mmap_lock, which somebody may hold who waits for I/O, and without
 * I/O of its own.
 *
 * Return: whether it is known who is the owner; @found is 0 when nobody is.
 */
static bool find_owner(struct task_struct *waiter, u64 detail, u64 *found)
{
	struct mm_struct *mm = get_task_mm(waiter);
	struct task_struct *owner;
	pid_t tid;

	if (!mm)
		return false;
	kthread_use_mm(mm);
	tid = read_owner(detail);
	kthread_unuse_mm(mm);

	rcu_read_lock();
	owner = owner_of(waiter, mm, detail, tid);
	*found = fgio_walk_name(owner);
	rcu_read_unlock();
	/* The last one to put it frees it all, which takes its time. */
	mmput_async(mm);
	return *found || !tid;
}

static bool find_current_owner(const struct fgio_walk_step *step, u64 *found)
{
	struct task_struct *waiter;
	bool known;

	if (shape_of(step->wait->detail) == SHAPE_NONE)
		return false;
	waiter = get_waiter(step);
	if (!waiter)
		return false;
	known = find_owner(waiter, step->wait->detail, found);
	put_task_struct(waiter);
	return known;
}

void fgio_futex_blockers(const struct fgio_walk_step *step)
{
	u64 owner;

	if (find_current_owner(step, &owner)) {
		fgio_walk_found(step->walk, owner);
		return;
	}
	watch(step->wait->object, step->wait->detail);
	fgio_helper_found(step, step->wait->object, NULL);
}
