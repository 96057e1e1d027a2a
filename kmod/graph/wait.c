// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting and boosted tasks: the locks around core/inherit.c.
 *
 * Every task that blocks at a hook is recorded, foreground or not, since any
 * may be a link of a chain. Sleeps in futex(2), where whole pools of threads
 * idle, are recorded for foreground tasks alone: layers/sleep.c finds those of
 * others when the walk reaches them. The key of a task is the address of its
 * task_struct, which only fgio_task_at() follows.
 *
 * The locks are leaves: nothing else is taken under them. They are raw and
 * interrupt-safe because hooks run under all kinds of locks of the kernel.
 */
#include <linux/bitmap.h>
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "base/foreign.h"
#include "base/mechanism.h"
#include "base/scale.h"
#include "base/setting.h"
#include "base/trace.h"
#include "graph/alarm.h"
#include "graph/blame.h"
#include "graph/wait.h"
#include "who/foreground.h"
#include "who/presence.h"

static unsigned int waits_max = FGIO_DEFAULT_waits_max;
module_param(waits_max, uint, 0444);

/* Written by the walk alone. */
static unsigned long ends_missed;
module_param(ends_missed, ulong, 0444);
MODULE_PARM_DESC(ends_missed, "for tests: tasks that ended while they were recorded as waiting, a bug in fgio (0)");

struct locked_bucket {
	raw_spinlock_t lock;
	struct fgio_bucket bucket;
} ____cacheline_aligned_in_smp;

static struct locked_bucket *buckets;
static atomic_long_t waits_lost;
unsigned int fgio_wait_bits __read_mostly;
unsigned long *fgio_wait_rooted __read_mostly;
unsigned long *fgio_wait_leased __read_mostly;
static atomic_t leased_tasks;
static atomic_long_t boosts;
/* Of the walk that began last. */
static u32 walk_number;

static unsigned int bucket_count(void)
{
	return 1U << fgio_wait_bits;
}

/*
 * sparse cannot follow a lock through a pointer from one function to another,
 * nor a lock that is kept conditionally: __release() balances the lock here,
 * and __acquire() the unlock.
 */
static struct locked_bucket *lock_bucket(u64 task, unsigned long *flags)
{
	struct locked_bucket *locked = &buckets[fgio_wait_index(task)];

	raw_spin_lock_irqsave(&locked->lock, *flags);
	__release(&locked->lock);
	return locked;
}

static void unlock_bucket(struct locked_bucket *locked, unsigned long flags)
{
	__acquire(&locked->lock);
	raw_spin_unlock_irqrestore(&locked->lock, flags);
}

/*
 * A bit for each bucket with waiting foreground tasks spares the walk the other
 * buckets. Context: the bucket is locked; @before is the count when it was
 * locked.
 */
static void note_roots(struct locked_bucket *locked, u32 before)
{
	u32 now = locked->bucket.foreground_waiting;

	if (!before && now)
		set_bit(locked - buckets, fgio_wait_rooted);
	else if (before && !now)
		clear_bit(locked - buckets, fgio_wait_rooted);
}

static void note_leases(struct locked_bucket *locked, u32 before)
{
	u32 now = locked->bucket.leased;

	if (now == before)
		return;
	atomic_add((int)now - (int)before, &leased_tasks);
	if (!before)
		set_bit(locked - buckets, fgio_wait_leased);
	else if (!now)
		clear_bit(locked - buckets, fgio_wait_leased);
}

bool fgio_current_is_critical(void)
{
	return fgio_current_is_foreground() ||
	       fgio_task_is_boosted((u64)current);
}

static u32 begin(u8 kind, u64 object, u64 detail, bool foreground)
{
	struct fgio_wait wait = {
		.object = object,
		.detail = detail,
		.since_ns = ktime_get_mono_fast_ns(),
		.kind = kind,
		.declared = kind == FGIO_WAIT_THREAD,
	};
	u64 task = (u64)current;
	struct locked_bucket *locked;
	unsigned long flags;
	u32 roots, leases, seq;

	locked = lock_bucket(task, &flags);
	roots = locked->bucket.foreground_waiting;
	leases = locked->bucket.leased;
	seq = fgio_wait_begin(&locked->bucket, task, foreground, &wait);
	note_roots(locked, roots);
	note_leases(locked, leases);
	unlock_bucket(locked, flags);

	if (!seq)
		atomic_long_inc(&waits_lost);
	return seq;
}

u32 fgio_wait_enter(u8 kind, u64 object, u64 detail)
{
	bool foreground = fgio_current_is_foreground();
	u32 seq = begin(kind, object, detail, foreground);

	if (!seq)
		return 0;
	if (foreground)
		fgio_alarm_wanted();
	else if (fgio_task_is_boosted((u64)current))
		fgio_alarm_soon();
	return seq;
}

void fgio_sleep_enter(u8 kind, u64 object, u64 detail)
{
	if (begin(kind, object, detail, true))
		fgio_alarm_wanted_by_scheduler();
}

/*
 * Of nested waits only the outermost is blamed. A declared wait has no limit in
 * time: waits of a foreground task within it are blamed by themselves.
 */
static bool was_outermost(const struct fgio_bucket *bucket, u64 task)
{
	struct fgio_wait around[FGIO_WAITS_NESTED];
	unsigned int count = fgio_wait_copy(bucket, task, around);

	return !count || (count == 1 && around[0].kind == FGIO_WAIT_THREAD);
}

static void end(const struct task_struct *task, u32 seq)
{
	u64 key = (u64)task;
	struct locked_bucket *locked;
	bool foreground, is_blamed;
	struct fgio_wait ended;
	unsigned long flags;
	u32 roots;

	locked = lock_bucket(key, &flags);
	roots = locked->bucket.foreground_waiting;
	foreground = fgio_wait_foreground(&locked->bucket, key);
	is_blamed = fgio_wait_end(&locked->bucket, key, seq, &ended) &&
		    foreground && was_outermost(&locked->bucket, key);
	note_roots(locked, roots);
	unlock_bucket(locked, flags);
	if (is_blamed)
		fgio_blame_wait(task, &ended);
}

void fgio_wait_leave(u32 seq)
{
	if (seq)
		end(current, seq);
}

static bool is_sleep(const struct fgio_wait *wait)
{
	return wait->kind == FGIO_WAIT_FUTEX ||
	       wait->kind == FGIO_WAIT_CONDITION ||
	       wait->kind == FGIO_WAIT_SYSV_SEMAPHORE ||
	       wait->kind == FGIO_WAIT_URING ||
	       wait->kind == FGIO_WAIT_AIO ||
	       wait->kind == FGIO_WAIT_FILE_LOCK ||
	       wait->kind == FGIO_WAIT_REPLY ||
	       wait->kind == FGIO_WAIT_CHILD;
}

static void end_sleep(const struct task_struct *task)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	unsigned int count;

	count = fgio_wait_copy_of((u64)task, waits, NULL);
	if (count && is_sleep(&waits[count - 1]))
		end(task, waits[count - 1].seq);
}

static const struct fgio_bucket *bucket_of(const struct task_struct *task)
{
	return &buckets[fgio_wait_index((u64)task)].bucket;
}

void fgio_sleep_leave(const struct task_struct *task)
{
	if (fgio_waits_matter() && fgio_wait_any(bucket_of(task), (u64)task))
		end_sleep(task);
}

/* Some requests of a ring wait for one. */
static bool may_be_for_message(const struct fgio_wait *wait)
{
	return wait->kind == FGIO_WAIT_REPLY || wait->kind == FGIO_WAIT_URING;
}

u64 fgio_sleep_reply(const struct task_struct *task)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	unsigned int count;

	if (!fgio_wait_may_be_root(task) ||
	    !fgio_wait_any(bucket_of(task), (u64)task))
		return 0;
	count = fgio_wait_copy_of((u64)task, waits, NULL);
	return count && may_be_for_message(&waits[count - 1]) ?
		       waits[count - 1].object : 0;
}

void fgio_wait_drop(u64 task, u32 seq)
{
	struct locked_bucket *locked;
	unsigned long flags;
	u32 roots;

	locked = lock_bucket(task, &flags);
	roots = locked->bucket.foreground_waiting;
	fgio_wait_end(&locked->bucket, task, seq, NULL);
	note_roots(locked, roots);
	unlock_bucket(locked, flags);
}

/* Only a task itself begins its waits, so it can read them unlocked. */
static struct fgio_bucket *own_bucket(void)
{
	return &buckets[fgio_wait_index((u64)current)].bucket;
}

bool fgio_wait_has(u64 object)
{
	return fgio_wait_seq(own_bucket(), (u64)current, object);
}

bool fgio_wait_has_any(void)
{
	return fgio_wait_any(own_bucket(), (u64)current);
}

u8 fgio_wait_kind(u64 object)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	unsigned int count;

	if (!fgio_wait_has(object))
		return FGIO_WAIT_NONE;
	count = fgio_wait_copy_of((u64)current, waits, NULL);
	while (count--)
		if (waits[count].object == object)
			return waits[count].kind;
	return FGIO_WAIT_NONE;
}

void fgio_wait_leave_object(u64 object)
{
	fgio_wait_leave(fgio_wait_seq(own_bucket(), (u64)current, object));
	/* The lock has a new owner, for which other tasks may wait now. */
	if (atomic_read(&leased_tasks))
		fgio_alarm_soon();
}

void fgio_wait_leave_kind(u8 kind)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	unsigned int count, i;

	count = fgio_wait_copy_of((u64)current, waits, NULL);
	for (i = 0; i < count; i++) {
		if (waits[i].kind != kind)
			continue;
		fgio_wait_leave(waits[i].seq);
		return;
	}
}

/* Context: the bucket is locked. */
static void forget_task(struct locked_bucket *locked, u64 task)
{
	u32 roots = locked->bucket.foreground_waiting;
	u32 leases = locked->bucket.leased;

	fgio_wait_forget(&locked->bucket, task);
	note_roots(locked, roots);
	note_leases(locked, leases);
}

unsigned int fgio_wait_copy_of(u64 task,
			       struct fgio_wait waits[FGIO_WAITS_NESTED],
			       u64 (*name)(const struct task_struct *task))
{
	struct locked_bucket *locked;
	unsigned long flags;
	unsigned int count;

	locked = lock_bucket(task, &flags);
	count = fgio_wait_copy(&locked->bucket, task, waits);
	if (count && name && !name((const struct task_struct *)task)) {
		forget_task(locked, task);
		ends_missed++;
		count = 0;
	}
	unlock_bucket(locked, flags);
	return count;
}

bool fgio_wait_hold(u64 task, u32 seq, unsigned long *flags)
{
	struct locked_bucket *locked = lock_bucket(task, flags);

	if (fgio_wait_goes_on(&locked->bucket, task, seq))
		return true;
	unlock_bucket(locked, *flags);
	return false;
}

void fgio_wait_release(u64 task, unsigned long flags)
{
	unlock_bucket(&buckets[fgio_wait_index(task)], flags);
}

bool fgio_wait_is_on(u64 task, u32 seq)
{
	unsigned long flags;

	if (seq & FGIO_SEQ_OUTSIDE)
		return fgio_sleep_goes_on(task, seq);
	if (!fgio_wait_hold(task, seq, &flags))
		return false;
	fgio_wait_release(task, flags);
	return true;
}

void fgio_wait_is_of_kind(u64 task, u32 seq, u8 kind)
{
	struct locked_bucket *locked;
	unsigned long flags;

	locked = lock_bucket(task, &flags);
	fgio_wait_set_kind(&locked->bucket, task, seq, kind);
	unlock_bucket(locked, flags);
}

bool fgio_lease_is_valid(const struct fgio_lease *lease)
{
	return fgio_wait_is_on(lease->root, lease->root_seq) &&
	       (lease->waiter == lease->root ||
		fgio_wait_is_on(lease->waiter, lease->waiter_seq));
}

/*
 * Whether a boost makes all I/O of its task critical. A boost by guess does
 * not: each walk promotes the I/O that such a task waits for, which helps if
 * the guess is right, and costs little if the task is a checkpointer that once
 * woke a waiter. Nor does a boost for an open handle once the task has closed
 * it, which only the task itself can see.
 */
static bool has_reason(u64 task, const struct fgio_lease *lease)
{
	if (lease->guess)
		return false;
	return !fgio_wait_is_for_handle(lease->kind) ||
	       task != (u64)current || current->journal_info;
}

u64 fgio_task_boosted_for(u64 task)
{
	struct fgio_lease leases[FGIO_LEASES];
	struct locked_bucket *locked;
	unsigned int count, i;
	unsigned long flags;

	if (likely(!atomic_read(&leased_tasks)) || !fgio_may_boost())
		return 0;
	if (!READ_ONCE(buckets[fgio_wait_index(task)].bucket.leased))
		return 0;
	locked = lock_bucket(task, &flags);
	count = fgio_lease_copy(&locked->bucket, task, leases);
	unlock_bucket(locked, flags);
	for (i = 0; i < count; i++)
		if (has_reason(task, &leases[i]) &&
		    fgio_lease_is_valid(&leases[i]))
			return leases[i].root;
	return 0;
}

bool fgio_wait_boost(u64 task, const struct fgio_lease *lease)
{
	struct locked_bucket *locked;
	bool granted, renewed = false;
	unsigned long flags;
	u32 leases;

	locked = lock_bucket(task, &flags);
	leases = locked->bucket.leased;
	granted = fgio_lease_grant(&locked->bucket, task, lease, &renewed);
	note_leases(locked, leases);
	unlock_bucket(locked, flags);
	if (!granted)
		atomic_long_inc(&waits_lost);
	else if (!renewed)
		atomic_long_inc(&boosts);
	return granted && !renewed;
}

void fgio_wait_walk_begins(u32 number)
{
	WRITE_ONCE(walk_number, number);
	/* Pairs with fgio_wait_is_for(). */
	smp_mb();
}

static void trace_known(u64 key, u8 kind)
{
	const struct task_struct *task;

	rcu_read_lock();
	task = fgio_task_at(key);
	if (task)
		trace_fgio_boost(task->pid, task->comm, kind, (u64)current, 1);
	rcu_read_unlock();
}

static bool current_is_root(void)
{
	struct locked_bucket *locked;
	unsigned long flags;
	bool is_root;

	locked = lock_bucket((u64)current, &flags);
	is_root = fgio_wait_foreground(&locked->bucket, (u64)current);
	unlock_bucket(locked, flags);
	return is_root;
}

void fgio_wait_is_for(u32 seq, u8 kind, u64 task)
{
	struct fgio_lease lease = {
		.root = (u64)current,
		.root_seq = seq,
		.waiter = (u64)current,
		.waiter_seq = seq,
		.kind = kind,
	};

	if (!task || !fgio_may_boost() || !current_is_root())
		return;
	/*
	 * A walk that begins later sees the wait, and one under way ends no
	 * boost of its own number.
	 */
	smp_mb();
	lease.walk = READ_ONCE(walk_number);
	if (fgio_wait_boost(task, &lease) && trace_fgio_boost_enabled())
		trace_known(task, kind);
}

void fgio_wait_was_for(u32 seq, u64 task)
{
	struct locked_bucket *locked;
	unsigned long flags;
	u32 leases;

	if (!task || !READ_ONCE(buckets[fgio_wait_index(task)].bucket.leased))
		return;
	locked = lock_bucket(task, &flags);
	leases = locked->bucket.leased;
	fgio_lease_end(&locked->bucket, task, (u64)current, seq);
	note_leases(locked, leases);
	unlock_bucket(locked, flags);
}

void fgio_boost_drop(u8 kind)
{
	struct locked_bucket *locked;
	u64 task = (u64)current;
	unsigned long flags;
	bool has_dropped;
	u32 leases;

	locked = lock_bucket(task, &flags);
	leases = locked->bucket.leased;
	fgio_lease_drop(&locked->bucket, task, kind);
	note_leases(locked, leases);
	has_dropped = locked->bucket.leased < leases;
	unlock_bucket(locked, flags);
	if (has_dropped)
		fgio_alarm_soon();
}

struct task_list {
	u64 tasks[FGIO_BUCKET_NODES];
	unsigned int count;
};

static void collect_task(void *context, u64 task)
{
	struct task_list *list = context;

	list->tasks[list->count++] = task;
}

/* Return: the number of tasks visited. */
static unsigned int visit_bucket_roots(unsigned int index,
				       void (*visit)(u64 task))
{
	struct task_list list = { .count = 0 };
	unsigned long flags;
	unsigned int i;

	raw_spin_lock_irqsave(&buckets[index].lock, flags);
	fgio_bucket_roots(&buckets[index].bucket, collect_task, &list);
	raw_spin_unlock_irqrestore(&buckets[index].lock, flags);
	for (i = 0; i < list.count; i++)
		visit(list.tasks[i]);
	return list.count;
}

/*
 * The bucket from which the next walk starts, and the number of buckets left
 * until each had its turn. For the walk's thread alone.
 */
static struct {
	unsigned int at;
	unsigned int left;
} turn;

bool fgio_wait_visit_roots(unsigned int room, void (*visit)(u64 task))
{
	unsigned int count = bucket_count();
	unsigned int index, passed;

	if (!turn.left)
		turn.left = count;
	for_each_set_bit_wrap(index, fgio_wait_rooted, count, turn.at) {
		passed = (index + count - turn.at) % count;
		if (passed >= turn.left)
			break;
		if (room < FGIO_BUCKET_NODES) {
			turn.left -= passed;
			turn.at = index;
			return false;
		}
		room -= visit_bucket_roots(index, visit);
	}
	turn.at = (turn.at + turn.left) % count;
	turn.left = 0;
	return true;
}

void fgio_wait_settle_leases(u32 since,
			     void (*visit)(const struct fgio_lease *lease))
{
	struct fgio_lease leases[FGIO_BUCKET_LEASES];
	struct fgio_bucket *bucket;
	unsigned int index, count, i;
	unsigned long flags;
	u32 before;

	for_each_set_bit(index, fgio_wait_leased, bucket_count()) {
		bucket = &buckets[index].bucket;
		raw_spin_lock_irqsave(&buckets[index].lock, flags);
		count = fgio_bucket_leases(bucket, leases);
		raw_spin_unlock_irqrestore(&buckets[index].lock, flags);
		for (i = 0; i < count; i++)
			visit(&leases[i]);
		raw_spin_lock_irqsave(&buckets[index].lock, flags);
		before = bucket->leased;
		fgio_lease_expire(bucket, since);
		note_leases(&buckets[index], before);
		raw_spin_unlock_irqrestore(&buckets[index].lock, flags);
	}
}

bool fgio_wait_roots_exist(void)
{
	return !bitmap_empty(fgio_wait_rooted, bucket_count());
}

bool fgio_wait_leases_exist(void)
{
	return atomic_read(&leased_tasks);
}

unsigned int fgio_wait_boosted(void)
{
	return max(atomic_read(&leased_tasks), 0);
}

u64 fgio_wait_boosts(void)
{
	return atomic_long_read(&boosts);
}

u64 fgio_wait_lost(void)
{
	u64 lost = atomic_long_read(&waits_lost);
	unsigned int index;

	for (index = 0; index < bucket_count(); index++)
		lost += READ_ONCE(buckets[index].bucket.given_way);
	return lost;
}

unsigned int fgio_wait_foreground_waiting(void)
{
	unsigned int index, sum = 0;

	for_each_set_bit(index, fgio_wait_rooted, bucket_count())
		sum += READ_ONCE(buckets[index].bucket.foreground_waiting);
	return sum;
}

void fgio_wait_forget_current(void)
{
	struct locked_bucket *locked;
	unsigned long flags;

	if (!fgio_waits_matter())
		return;
	locked = lock_bucket((u64)current, &flags);
	forget_task(locked, (u64)current);
	unlock_bucket(locked, flags);
}

void fgio_wait_forget_all(void)
{
	struct locked_bucket *locked;
	unsigned int index;
	unsigned long flags;
	u32 roots, leases;

	for (index = 0; index < bucket_count(); index++) {
		locked = &buckets[index];
		raw_spin_lock_irqsave(&locked->lock, flags);
		roots = locked->bucket.foreground_waiting;
		leases = locked->bucket.leased;
		fgio_bucket_clear(&locked->bucket);
		note_roots(locked, roots);
		note_leases(locked, leases);
		raw_spin_unlock_irqrestore(&locked->lock, flags);
		cond_resched();
	}
}

int fgio_wait_init(void)
{
	unsigned int index;

	waits_max = waits_max ?: fgio_scale_of_machine();
	fgio_wait_bits =
		clamp(order_base_2(waits_max / FGIO_BUCKET_NODES), 6, 17);
	buckets = vzalloc(array_size(bucket_count(), sizeof(*buckets)));
	fgio_wait_rooted = bitmap_zalloc(bucket_count(), GFP_KERNEL);
	fgio_wait_leased = bitmap_zalloc(bucket_count(), GFP_KERNEL);
	if (!buckets || !fgio_wait_rooted || !fgio_wait_leased) {
		fgio_wait_exit();
		return -ENOMEM;
	}
	for (index = 0; index < bucket_count(); index++)
		raw_spin_lock_init(&buckets[index].lock);
	return 0;
}

void fgio_wait_exit(void)
{
	vfree(buckets);
	bitmap_free(fgio_wait_rooted);
	bitmap_free(fgio_wait_leased);
}
