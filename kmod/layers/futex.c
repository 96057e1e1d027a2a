// SPDX-License-Identifier: GPL-2.0
/*
 * Locks and conditions in user space: finds the tasks that are to wake a
 * sleeper in futex(2) (kernel/futex). sleep.c finds the sleepers.
 *
 * The kernel does not know the type of lock behind a futex. The value that is
 * waited on, and the memory around it, show it:
 *
 *	pthread_mutex_t		2; the owner's thread id stands 8 bytes further
 *	 robust or PI		the owner's thread id itself, with FUTEX_WAITERS
 *	pthread_rwlock_t	3; a writer that holds it left its thread id; or
 *				2, while readers hold it, which are counted
 *	pthread_join()		the thread id that is waited for
 *
 * as glibc lays them out (nptl, struct_mutex.h and struct_rwlock.h, x86-64).
 * The memory counts only where all of it fits and the thread id is one of the
 * waiter's process or, for a shared futex, of a thread that the waiter may tag.
 * All other futexes, and these while their owner is not known, are conditions:
 * the tasks that woke one lately are expected to wake it again.
 *
 * Each walk reads the waiter's memory anew, since the owner may change while
 * others still sleep.
 */
#include <linux/bitfield.h>
#include <linux/ftrace.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/uaccess.h>
#include <uapi/linux/futex.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "base/waker.h"
#include "compat/compat.h"
#include "graph/found.h"
#include "graph/sleeper.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/futex.h"
#include "layers/question.h"
#include "who/foreground.h"
#include "who/presence.h"
#include "who/trust.h"

struct glibc_mutex {
	u32 lock;
	u32 count;
	s32 owner;
	u32 users;
	s32 kind;
};

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

#define GLIBC_RWLOCK_WRITE_PHASE 1
#define GLIBC_RWLOCK_WRITE_LOCKED 2
#define GLIBC_RWLOCK_READER_SHIFT 3
/* What the first writer waits on while there are readers. */
#define GLIBC_RWLOCK_READ_PHASE 2

/* Wakers of shared futexes are noted only once one is watched. */
static bool shared_watched;

static bool is_shared(u64 detail)
{
	return detail & FGIO_FUTEX_IS_SHARED;
}

static enum fgio_futex_shape shape_of(u64 detail)
{
	return FIELD_GET(FGIO_FUTEX_SHAPE, detail);
}

static const void __user *address_of(u64 detail, long offset)
{
	return (const void __user *)((detail & FGIO_FUTEX_ADDRESS) + offset);
}

/* Both futexes of a glibc condition variable, 8 bytes, are one object. */
u64 fgio_futex_object(const struct mm_struct *mm, u64 address)
{
	return hash_64((u64)mm, 64) ^ (address & ~7ULL);
}

/*
 * A shared futex is identified by its page, which is the same for all processes
 * as long as it is resident. Context: any but NMI; the memory is current's.
 */
static u64 object_of(u64 address, bool shared)
{
	struct page *page;
	u64 object;

	if (!shared || get_user_pages_fast_only(address & PAGE_MASK, 1, 0,
						&page) != 1)
		return fgio_futex_object(current->mm, address);
	object = hash_64((u64)page, 64) ^ (address & ~7ULL & ~PAGE_MASK);
	put_page(page);
	return object;
}

/* Instead of a thread id: another type of lock, or not resident. */
#define OWNER_UNKNOWN (-1)

static pid_t mutex_owner(u64 detail)
{
	struct glibc_mutex mutex;

	if (copy_from_user_nofault(&mutex, address_of(detail, 0),
				   sizeof(mutex)))
		return OWNER_UNKNOWN;
	/* Released: the waiter is being woken. */
	if (mutex.lock != FGIO_GLIBC_CONTENDED_MUTEX)
		return 0;
	if (!mutex.owner || !mutex.users || mutex.kind & ~GLIBC_MUTEX_KINDS ||
	    !(mutex.kind & GLIBC_MUTEX_SHARED) == is_shared(detail))
		return OWNER_UNKNOWN;
	return mutex.owner;
}

/*
 * The address tells the two futexes of a rwlock apart, hence its start. Return:
 * false when it is not resident.
 */
static bool read_rwlock(u64 detail, struct glibc_rwlock *rwlock)
{
	bool is_phase = !(detail & 4);
	long offset;

	offset = is_phase ? offsetof(struct glibc_rwlock, phase_futex) :
			    offsetof(struct glibc_rwlock, writers_futex);
	return !copy_from_user_nofault(rwlock, address_of(detail, -offset),
				       sizeof(*rwlock));
}

static pid_t rwlock_owner(u64 detail)
{
	struct glibc_rwlock rwlock;

	if (!read_rwlock(detail, &rwlock))
		return OWNER_UNKNOWN;
	if (!(rwlock.readers & GLIBC_RWLOCK_WRITE_LOCKED) || !rwlock.writer ||
	    !rwlock.shared == is_shared(detail))
		return OWNER_UNKNOWN;
	return rwlock.writer;
}

/*
 * Whether a futex is of a rwlock that readers hold. The first writer waits on
 * the value of a contended mutex, which is no mutex if this is true.
 */
static bool is_held_by_readers(u64 detail)
{
	struct glibc_rwlock rwlock;

	switch (shape_of(detail)) {
	case FGIO_SHAPE_MUTEX:
	case FGIO_SHAPE_RWLOCK:
		break;
	default:
		return false;
	}
	if (!read_rwlock(detail, &rwlock) || rwlock.pad[0] || rwlock.pad[1] ||
	    rwlock.writer || !rwlock.shared == is_shared(detail))
		return false;
	if (shape_of(detail) == FGIO_SHAPE_MUTEX &&
	    rwlock.phase_futex != GLIBC_RWLOCK_READ_PHASE)
		return false;
	return rwlock.readers >> GLIBC_RWLOCK_READER_SHIFT &&
	       !(rwlock.readers & GLIBC_RWLOCK_WRITE_PHASE);
}

/*
 * Return: the value at the place of the owner's thread id, which may be any; 0
 * when there is no owner; OWNER_UNKNOWN. Context: any; the waiter's memory is
 * current's; only resident pages are read.
 */
static pid_t read_owner(u64 detail)
{
	u32 word;

	switch (shape_of(detail)) {
	case FGIO_SHAPE_MUTEX:
		return mutex_owner(detail);
	case FGIO_SHAPE_RWLOCK:
		return rwlock_owner(detail);
	case FGIO_SHAPE_OWNER_WORD:
	case FGIO_SHAPE_JOIN:
		if (copy_from_user_nofault(&word, address_of(detail, 0),
					   sizeof(word)))
			return OWNER_UNKNOWN;
		if (shape_of(detail) == FGIO_SHAPE_JOIN)
			return word;
		return word & FUTEX_TID_MASK;
	default:
		return OWNER_UNKNOWN;
	}
}

/*
 * The task with an owner's thread id, in the waiter's pid namespace, or NULL.
 * Context: RCU; the waiter's memory is @mm.
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
	if (!is_shared(detail) || shape_of(detail) == FGIO_SHAPE_JOIN)
		return NULL;
	/* Any process can write any thread id into memory of its own. */
	return fgio_may_lend(waiter, owner) ? owner : NULL;
}

static void watch(const struct fgio_walk_step *step, u64 object, bool shared)
{
	if (shared)
		WRITE_ONCE(shared_watched, true);
	fgio_watch_for(step, object);
}

/*
 * A foreground task is not noted as a condition's waker: it needs no boost, its
 * own waits are followed anyway, and it would take the place of a task that
 * needs one.
 */
static void signal(u64 object)
{
	if (fgio_waker_remembers(object) && !fgio_current_is_foreground())
		fgio_waker_note(object, false);
}

/*
 * A task that wakes another is mostly no longer in its way. An exiting thread
 * wakes the one that joins it.
 */
static noinline void note(u64 address, bool shared)
{
	if (!fgio_waits_matter() || current->flags & PF_EXITING)
		return;
	if (!shared || READ_ONCE(shared_watched))
		signal(object_of(address, shared));
	fgio_boost_give_back(FGIO_WAIT_NONE);
}

/* Whether there is anything to note: nearly all wake-ups end here. */
static __always_inline bool is_of_interest(u64 address, bool shared)
{
	if (fgio_boost_may_exist())
		return true;
	return shared ? READ_ONCE(shared_watched) :
			fgio_waker_remembers(fgio_futex_object(current->mm,
							       address));
}

/* int futex_wake(u32 __user *uaddr, unsigned int flags, ...) */
static void on_wake(unsigned long function, unsigned long caller,
		    struct ftrace_ops *operations, struct ftrace_regs *regs)
{
	bool shared = fgio_ftrace_argument(regs, 1) & FGIO_FUTEX_SHARED;
	u64 address = fgio_ftrace_argument(regs, 0);

	if (unlikely(is_of_interest(address, shared)))
		note(address, shared);
}

/*
 * int futex_wake_op(u32 __user *uaddr1, unsigned int flags,
 *		     u32 __user *uaddr2, ...), and futex_requeue()
 */
static void on_wake_two(unsigned long function, unsigned long caller,
			struct ftrace_ops *operations,
			struct ftrace_regs *regs)
{
	bool shared = fgio_ftrace_argument(regs, 1) & FGIO_FUTEX_SHARED;

	note(fgio_ftrace_argument(regs, 0), shared);
	note(fgio_ftrace_argument(regs, 2), shared);
}

static struct fgio_hook hooks[] = {
	FGIO_LOOK("futex_wake", USER, on_wake, .alone = true),
	FGIO_LOOK("futex_wake_op", USER, on_wake_two),
	FGIO_LOOK("futex_requeue", USER, on_wake_two),
	{}
};

/**
 * struct finding - the result of reading a waiter's memory
 * @is_known: the owner is known: @owner, or none where that is 0
 * @owner: its key
 * @object: if not known: conditions that the waiter may wait for
 * @shared: whether other processes share them
 * @count: their number
 * @by_readers: it is a rwlock that readers hold
 */
struct finding {
	bool is_known;
	u64 owner;
	u64 object[FGIO_FUTEX_VECTOR_MAX];
	bool shared[FGIO_FUTEX_VECTOR_MAX];
	u32 count;
	bool by_readers;
};

static void add_condition(struct finding *finding, u64 address, bool shared)
{
	finding->object[finding->count] = object_of(address, shared);
	finding->shared[finding->count] = shared;
	finding->count++;
}

/* The array of futex_waitv(), unless its process has changed it since. */
static void add_vector(struct finding *finding, u64 detail)
{
	struct futex_waitv waits[FGIO_FUTEX_VECTOR_MAX];
	u32 count = FIELD_GET(FGIO_FUTEX_COUNT, detail);
	u32 i;

	if (copy_from_user_nofault(waits, address_of(detail, 0),
				   count * sizeof(*waits)))
		return;
	for (i = 0; i < count; i++)
		add_condition(finding, waits[i].uaddr,
			      !(waits[i].flags & FUTEX_PRIVATE_FLAG));
}

/* Context: fgio_sleeper_look()'s. */
static void look_around(struct task_struct *waiter,
			const struct fgio_wait *wait, void *data)
{
	struct finding *finding = data;
	struct task_struct *owner;
	u64 detail = wait->detail;
	pid_t tid = read_owner(detail);

	rcu_read_lock();
	owner = owner_of(waiter, current->mm, detail, tid);
	finding->owner = fgio_walk_name(owner);
	rcu_read_unlock();
	finding->is_known = finding->owner || !tid;
	if (finding->is_known)
		return;
	finding->by_readers = is_held_by_readers(detail);
	if (shape_of(detail) == FGIO_SHAPE_VECTOR)
		add_vector(finding, detail);
	else
		add_condition(finding, detail & FGIO_FUTEX_ADDRESS,
			      is_shared(detail));
}

/*
 * A rwlock counts its readers alone. Threads of the process that sleep for I/O
 * or a lock of the kernel may be among them.
 */
static void guess_readers(const struct fgio_walk_step *step)
{
	struct task_struct *waiter;

	rcu_read_lock();
	waiter = fgio_task_at(step->task);
	if (waiter)
		fgio_guessed_sleepers_of(step, waiter, FGIO_SLEEPERS);
	rcu_read_unlock();
}

static bool is_no_lock(u64 detail)
{
	return shape_of(detail) == FGIO_SHAPE_NONE ||
	       shape_of(detail) == FGIO_SHAPE_VECTOR;
}

static void blockers(const struct fgio_walk_step *step)
{
	struct finding finding = {};
	bool known;
	u32 i;

	if (!fgio_sleeper_look(step, look_around, &finding))
		return;
	if (finding.is_known) {
		fgio_walk_found(step->walk, finding.owner);
		return;
	}
	fgio_walk_is_condition(step);
	known = finding.by_readers;
	for (i = 0; i < finding.count; i++) {
		watch(step, finding.object[i], finding.shared[i]);
		known |= fgio_guessed_by_history(step, finding.object[i]);
	}
	if (finding.by_readers)
		guess_readers(step);
	/* A lock whose owner is not known was not asked for. */
	if (is_no_lock(step->wait->detail))
		fgio_question_find(step, known);
}

const struct fgio_layer fgio_futex_layer = {
	.name = "futex",
	.mechanism = FGIO_MECHANISM_USER,
	.kinds = FGIO_WAIT_RANGE(FGIO_WAIT_FUTEX, FGIO_WAIT_CONDITION),
	.hooks = hooks,
	.blockers = blockers,
};
