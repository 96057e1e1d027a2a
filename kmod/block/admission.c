// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for a slot. The block layer calls limit_depth in the submitter's
 * context just before it allocates a scheduler tag, with q_usage_counter held;
 * limit_depth may sleep. prepare_request follows in the same task once it has
 * the tag, and finish_request when the tag is freed (block/blk-mq.c).
 *
 * limit_depth charges a slot and tells prepare_request through bits of
 * rq_flags. A sleeper gets its slot from the task that frees one, so no sleeper
 * retries or is overtaken.
 *
 * On a drive that is shared, slots are divided among groups, under the tag
 * set's lock, once they are scarce. The group is that of the bio that the task
 * submitted last. If that turns out to be wrong, the charge moves when the
 * request is queued.
 */
#include <linux/backing-dev.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "base/setting.h"
#include "base/trace.h"
#include "block/admission.h"
#include "block/queues.h"
#include "graph/layer.h"
#include "graph/wait.h"
#include "who/presence.h"

static int set_admission(const char *text, const struct kernel_param *param)
{
	int error = param_set_bool(text, param);

	if (!error)
		fgio_queues_reconsider();
	return error;
}

static const struct kernel_param_ops admission_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = set_admission,
	.get = param_get_bool,
};

static bool admission = FGIO_DEFAULT_admission;
module_param_cb(admission, &admission_ops, &admission, 0644);
__MODULE_PARM_TYPE(admission, "bool");

static bool is_on(const struct fgio_queue_data *fq)
{
	return READ_ONCE(admission) && !fgio_lets_through(fq);
}

/* The last bio of a task, when it is not critical. */
struct noted_bio {
	u64 task;
	const struct bio *bio;
	u64 buffer;
	struct fgio_io_target target;
};

/*
 * limit_depth does not get the bio, so it is noted before. A task that moves to
 * another CPU in between loses its note.
 */
static DEFINE_PER_CPU(struct noted_bio, noted_bios);

struct sleeper {
	struct fgio_waiter waiter;
	struct task_struct *task;
	struct hlist_node by_task;
	struct hlist_node by_object;
	struct noted_bio bio;
};

/* The group of the last bio of a task. */
struct noted_group {
	u64 task;
	u64 key;
	u32 weight;
};

atomic_t fgio_scarce_count = ATOMIC_INIT(0);

/* As noted_bios; while slots are scarce somewhere. */
static DEFINE_PER_CPU(struct noted_group, noted_groups);

static u64 key_of(const struct fgio_share_group *group)
{
	return (u64)group;
}

/* Any weight serves for I/O without a group. */
static u32 weight_of(const struct fgio_share_group *group)
{
	return group ? READ_ONCE(group->weight) : 1;
}

void fgio_admission_note_group(const struct fgio_share_group *group)
{
	*get_cpu_ptr(&noted_groups) = (struct noted_group){
		.task = (u64)current,
		.key = key_of(group),
		.weight = weight_of(group),
	};
	put_cpu_ptr(&noted_groups);
}

static struct noted_group look_up_group(void)
{
	struct noted_group note = *get_cpu_ptr(&noted_groups);

	put_cpu_ptr(&noted_groups);
	if (note.task != (u64)current)
		return (struct noted_group){ .weight = 1 };
	return note;
}

/* The group itself may be gone: only its key is used. */
static u8 place_of(struct fgio_tag_set *tag_set,
		   const struct noted_group *group)
{
	lockdep_assert_held(&tag_set->lock);
	return fgio_admission_place_of(&tag_set->admission, group->key,
				       group->weight);
}

static u64 object_of(const struct noted_bio *bio)
{
	if (bio->buffer)
		return bio->buffer;
	return bio->target.mapping ? bio->target.mapping : bio->target.direct;
}

static struct hlist_head *head_of(struct hlist_head *heads, u64 key)
{
	return &heads[hash_64(key, FGIO_SLEEPER_BITS)];
}

void fgio_admission_note_bio(const struct bio *bio,
			     const struct fgio_io_target *target, u64 buffer)
{
	*get_cpu_ptr(&noted_bios) = (struct noted_bio){
		.task = (u64)current,
		.bio = bio,
		.buffer = buffer,
		.target = *target,
	};
	put_cpu_ptr(&noted_bios);
}

static void look_up_note(struct noted_bio *bio)
{
	const struct noted_bio *note = get_cpu_ptr(&noted_bios);

	if (note->task == (u64)current)
		*bio = *note;
	put_cpu_ptr(&noted_bios);
}

static bool critical_present(struct fgio_tag_set *tag_set)
{
	const struct fgio_queue *queue = &tag_set->fq->queue;
	u64 now_ns = fgio_queue_saw_critical(queue) ? ktime_get_ns() : 0;

	return fgio_queue_critical_present(queue, now_ns);
}

static void line_up(struct fgio_tag_set *tag_set, struct sleeper *sleeper,
		    enum fgio_line line, const struct noted_group *group)
{
	struct fgio_admission *admission = &tag_set->admission;

	lockdep_assert_held(&tag_set->lock);
	if (group)
		fgio_admission_wait_for(admission, &sleeper->waiter, line,
					place_of(tag_set, group));
	else
		fgio_admission_wait(admission, &sleeper->waiter, line);
	hlist_add_head(&sleeper->by_task,
		       head_of(tag_set->by_task, (u64)sleeper->task));
	hlist_add_head(&sleeper->by_object,
		       head_of(tag_set->by_object, object_of(&sleeper->bio)));
}

static void wake(struct fgio_waiter *waiter)
{
	struct sleeper *sleeper = container_of(waiter, struct sleeper, waiter);

	hlist_del(&sleeper->by_task);
	hlist_del(&sleeper->by_object);
	wake_up_process(sleeper->task);
}

/*
 * Wakes under the lock, under which sleepers check: so a sleeper's stack cannot
 * go away in between.
 */
static void wake_granted(struct fgio_tag_set *tag_set)
{
	struct fgio_waiter *waiter;
	bool present;

	lockdep_assert_held(&tag_set->lock);
	if (likely(!fgio_admission_has_waiters(&tag_set->admission)))
		return;
	present = critical_present(tag_set);
	while ((waiter = fgio_admission_grant(&tag_set->admission, present)))
		wake(waiter);
}

/* Sleepers that let_all_in() wakes in one hold of the lock. */
#define WAKES_AT_ONCE 32

/* Ignores the limits. Return: whether sleepers may be left. */
static bool let_some_in(struct fgio_tag_set *tag_set)
{
	struct fgio_waiter *waiter;
	unsigned int count;

	lockdep_assert_held(&tag_set->lock);
	for (count = 0; count < WAKES_AT_ONCE; count++) {
		waiter = fgio_admission_grant_anyway(&tag_set->admission);
		if (!waiter)
			return false;
		wake(waiter);
	}
	return true;
}

static void let_all_in(struct fgio_tag_set *tag_set)
{
	unsigned long flags;
	bool more;

	do {
		spin_lock_irqsave(&tag_set->lock, flags);
		more = let_some_in(tag_set);
		spin_unlock_irqrestore(&tag_set->lock, flags);
	} while (more);
}

static bool was_granted(struct fgio_tag_set *tag_set, struct sleeper *sleeper)
{
	bool granted;

	spin_lock_irq(&tag_set->lock);
	granted = sleeper->waiter.granted;
	spin_unlock_irq(&tag_set->lock);
	return granted;
}

/* io_schedule() submits the I/O that the task has plugged. */
static void sleep_until_granted(struct fgio_tag_set *tag_set,
				struct sleeper *sleeper)
{
	for (;;) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		if (was_granted(tag_set, sleeper))
			break;
		io_schedule();
	}
	__set_current_state(TASK_RUNNING);
}

static bool try(struct fgio_tag_set *tag_set, enum fgio_line line)
{
	bool present;

	if (likely(fgio_admission_is_sure(&tag_set->admission, line)))
		return fgio_admission_try_sure(&tag_set->admission, line);
	present = line == FGIO_LINE_NONCRITICAL && critical_present(tag_set);
	return fgio_admission_try(&tag_set->admission, line, present);
}

/*
 * Waits in line, behind the tasks that came first. Since the failed attempt,
 * all slots whose release would have woken the task may have been released:
 * hence another attempt under the lock.
 *
 * Return: the line to which the slot is charged: @line, or the critical one
 * when the sleeper was promoted. @group: the task's, if slots are divided among
 * groups, or NULL; @place: out: the place to which it is charged then.
 */
static noinline enum fgio_line
sleep_for_slot(struct fgio_tag_set *tag_set, enum fgio_line line,
	       const struct noted_group *group, u8 *place)
{
	enum fgio_class class = fgio_class_of_line(line);
	struct sleeper sleeper = { .task = current };
	u64 since_ns, waited_ns;
	u32 wait = 0;

	look_up_note(&sleeper.bio);
	spin_lock_irq(&tag_set->lock);
	line_up(tag_set, &sleeper, line, group);
	wake_granted(tag_set);
	spin_unlock_irq(&tag_set->lock);
	if (unlikely(!is_on(tag_set->fq)))
		let_all_in(tag_set);

	if (fgio_waits_matter())
		wait = fgio_wait_enter(FGIO_WAIT_ADMISSION, (u64)tag_set,
				       class);
	since_ns = ktime_get_ns();
	sleep_until_granted(tag_set, &sleeper);
	waited_ns = ktime_get_ns() - since_ns;
	fgio_wait_leave(wait);

	spin_lock_irq(&tag_set->lock);
	tag_set->waited_ns[class] += waited_ns;
	*place = sleeper.waiter.place;
	spin_unlock_irq(&tag_set->lock);
	trace_fgio_admission_wait(tag_set->fq->q, class, waited_ns);
	return sleeper.waiter.line;
}

/* The flusher runs as the work item of the disk's own writeback. */
static bool is_flusher(struct request_queue *q)
{
	struct work_struct *work = current_work();

	return work && q->disk &&
	       work->func == q->disk->bdi->wb.dwork.work.func;
}

/*
 * Kernel threads carry the I/O of others (dm, md, loop, a journal): critical
 * I/O may be queued behind the I/O that sleeps here. The flusher carries none.
 */
static noinline enum fgio_line line_of_kthread(struct request_queue *q)
{
	return is_flusher(q) ? FGIO_LINE_NONCRITICAL : FGIO_LINE_CARRIER;
}

static __always_inline enum fgio_line line_of(struct request_queue *q,
					      enum fgio_class class)
{
	if (class == FGIO_CRITICAL)
		return FGIO_LINE_CRITICAL;
	if (unlikely(current->flags & PF_KTHREAD))
		return line_of_kthread(q);
	return FGIO_LINE_NONCRITICAL;
}

/*
 * Memory reclaim and swapping must not sleep for a slot: any task may be
 * waiting for memory, the owners of the slots included.
 */
static bool may_not_wait(blk_opf_t opf)
{
	return opf & REQ_SWAP || current->flags & PF_MEMALLOC;
}

static bool is_full(struct fgio_tag_set *tag_set, enum fgio_line line)
{
	const struct fgio_admission *slots = &tag_set->admission;
	bool present = line == FGIO_LINE_NONCRITICAL &&
		       critical_present(tag_set);

	return READ_ONCE(slots->admitted[line]) >=
	       fgio_admission_limit(slots, line, present);
}

/* ---- slots that are divided among groups ---- */

/**
 * try_by_group() - look for a slot
 * @tag_set: the slots; its lock is held
 * @line: the line
 * @place: the place of the group
 * @opf: operation and flags of the bio
 * @data: the allocation
 *
 * Return: whether the task must sleep for it.
 */
static bool try_by_group(struct fgio_tag_set *tag_set, enum fgio_line line,
			 u8 place, blk_opf_t opf,
			 struct blk_mq_alloc_data *data)
{
	struct fgio_admission *slots = &tag_set->admission;
	bool nowait = data->flags & BLK_MQ_REQ_NOWAIT;

	lockdep_assert_held(&tag_set->lock);
	/* A batch is charged request by request, when each has its tag. */
	if (data->nr_tags > 1 && !nowait &&
	    fgio_admission_has_plenty_for(slots, line, place, data->nr_tags))
		return false;
	data->nr_tags = 1;
	if (nowait) {
		if (!fgio_admission_has_room_for(slots, line, place))
			data->shallow_depth = 1;
		return false;
	}
	if (may_not_wait(opf))
		return false;
	if (!fgio_admission_try_for(slots, line, place))
		return true;
	data->rq_flags |= tag_set->charged;
	return false;
}

/* Remembers until prepare_request() which place was charged. */
static void carry(struct fgio_tag_set *tag_set, enum fgio_line line, u8 place,
		  struct blk_mq_alloc_data *data)
{
	lockdep_assert_held(&tag_set->lock);
	if (!(data->rq_flags & FGIO_RQF_CHARGED) || line == FGIO_LINE_CARRIER ||
	    fgio_admission_carry(&tag_set->admission, (u64)current, line,
				 place))
		return;
	/* It is charged anew when it has its tag. */
	data->rq_flags &= ~FGIO_RQF_CHARGED;
	fgio_admission_release_for(&tag_set->admission, line, place);
	wake_granted(tag_set);
}

/* An interrupt may give the slot back meanwhile. */
static void count_slot(struct fgio_slot *slot,
		       const struct fgio_share_group *group)
{
	struct fgio_admission *slots = &slot->tag_set->admission;
	u32 uncounted = FGIO_ADMISSION_UNCOUNTED;
	u8 place;

	lockdep_assert_held(&slot->tag_set->lock);
	place = fgio_admission_place_of(slots, key_of(group), weight_of(group));
	if (fgio_replace(&slot->place, &uncounted, place))
		fgio_admission_count_for(slots, slot->charged_line, place);
}

/*
 * Those taken so far. The group of a request stays while the queue's lock is
 * held, and is not known before it is queued: then it is counted as it is.
 */
static void count_slots(struct fgio_tag_set *tag_set)
{
	struct fgio_queue_data *fq = tag_set->fq;
	struct fgio_share_group *group;
	struct fgio_slot *slot;
	unsigned int tag;

	for (tag = 0; tag < tag_set->slot_count; tag++) {
		slot = &tag_set->slots[tag];
		group = READ_ONCE(slot->request.share.group);
		if (fgio_load(&slot->place) != FGIO_ADMISSION_UNCOUNTED ||
		    slot->charged_line == FGIO_LINE_CARRIER || !group)
			continue;
		count_slot(slot, group == &fq->shares.rest ? NULL : group);
	}
}

static noinline void become_scarce(struct fgio_tag_set *tag_set)
{
	struct fgio_queue_data *fq = tag_set->fq;

	spin_lock(&fq->lock);
	spin_lock_irq(&tag_set->lock);
	if (fgio_admission_become_scarce(&tag_set->admission)) {
		atomic_inc(&fgio_scarce_count);
		/* A slot that is not seen here is taken by one who sees that. */
		smp_mb__after_atomic();
		count_slots(tag_set);
	}
	spin_unlock_irq(&tag_set->lock);
	spin_unlock(&fq->lock);
}

static noinline void limit_by_group(struct fgio_tag_set *tag_set,
				    enum fgio_line line, blk_opf_t opf,
				    struct blk_mq_alloc_data *data)
{
	struct noted_group group = look_up_group();
	bool present = critical_present(tag_set);
	bool sleeps;
	u8 place;

	if (!fgio_admission_is_scarce(&tag_set->admission))
		become_scarce(tag_set);
	spin_lock_irq(&tag_set->lock);
	fgio_admission_critical_is(&tag_set->admission, present);
	place = place_of(tag_set, &group);
	sleeps = try_by_group(tag_set, line, place, opf, data);
	if (!sleeps)
		carry(tag_set, line, place, data);
	spin_unlock_irq(&tag_set->lock);
	if (!sleeps)
		return;
	line = sleep_for_slot(tag_set, line, &group, &place);
	if (line == FGIO_LINE_CRITICAL)
		data->cmd_flags |= FGIO_REQ_CRITICAL;
	data->rq_flags |= tag_set->charged;
	spin_lock_irq(&tag_set->lock);
	carry(tag_set, line, place, data);
	spin_unlock_irq(&tag_set->lock);
}

/* Slots are counted by group from now on, or others took them meanwhile. */
static noinline void try_later_by_group(struct fgio_tag_set *tag_set,
					enum fgio_line line, blk_opf_t opf,
					struct blk_mq_alloc_data *data)
{
	fgio_admission_wake(tag_set);
	limit_by_group(tag_set, line, opf, data);
}

static void look_for_plenty(struct fgio_tag_set *tag_set)
{
	lockdep_assert_held(&tag_set->lock);
	if (fgio_admission_become_plenty(&tag_set->admission))
		atomic_dec(&fgio_scarce_count);
}

void fgio_admission_stop_dividing(struct fgio_tag_set *tag_set)
{
	const struct fgio_admission *slots = &tag_set->admission;

	lockdep_assert_held(&tag_set->lock);
	if (!slots->groups)
		return;
	if (fgio_admission_is_scarce(slots))
		atomic_dec(&fgio_scarce_count);
	/* None is counted for a group any more. */
	WARN_ON_ONCE(slots->groups->weights);
	WARN_ON_ONCE(slots->groups->carrying);
	fgio_admission_use_groups(&tag_set->admission, NULL);
}

/* Gives back what limit_by_group() charged. */
static void return_by_group(struct fgio_tag_set *tag_set, enum fgio_line line)
{
	u8 place = FGIO_ADMISSION_REST;
	unsigned long flags;

	spin_lock_irqsave(&tag_set->lock, flags);
	if (line != FGIO_LINE_CARRIER)
		place = fgio_admission_carried(&tag_set->admission,
					       (u64)current, line);
	if (place == FGIO_ADMISSION_NOWHERE)
		fgio_admission_release(&tag_set->admission, line);
	else
		fgio_admission_release_for(&tag_set->admission, line, place);
	wake_granted(tag_set);
	look_for_plenty(tag_set);
	spin_unlock_irqrestore(&tag_set->lock, flags);
}

/* Return: the place that was charged in limit_by_group(), if it was there. */
static u8 charged_place(struct fgio_slot *slot)
{
	u8 place;

	if (slot->charged_line == FGIO_LINE_CARRIER)
		return FGIO_ADMISSION_REST;
	place = fgio_admission_carried(&slot->tag_set->admission, (u64)current,
				       slot->charged_line);
	return place == FGIO_ADMISSION_NOWHERE ? FGIO_ADMISSION_UNCOUNTED :
						 place;
}

static noinline void prepare_by_group(struct fgio_slot *slot,
				      struct request *rq)
{
	struct fgio_tag_set *tag_set = slot->tag_set;
	struct noted_group group = look_up_group();
	bool charged = tag_set->charged &&
		       (rq->rq_flags & FGIO_RQF_CHARGED) == tag_set->charged;
	unsigned long flags;

	spin_lock_irqsave(&tag_set->lock, flags);
	if (charged) {
		slot->place = charged_place(slot);
	} else {
		slot->place = slot->charged_line == FGIO_LINE_CARRIER ?
				      FGIO_ADMISSION_REST :
				      place_of(tag_set, &group);
		fgio_admission_charge_for(&tag_set->admission,
					  slot->charged_line, slot->place);
	}
	spin_unlock_irqrestore(&tag_set->lock, flags);
	if (charged)
		rq->rq_flags &= ~FGIO_RQF_CHARGED;
	else
		fgio_admission_return_charge(tag_set->fq, rq);
}

/* Context: as for fgio_admission_settle(). */
static void move_to_place(struct fgio_slot *slot,
			  const struct fgio_share_group *group)
{
	struct fgio_tag_set *tag_set = slot->tag_set;
	u32 old = fgio_load(&slot->place);
	unsigned long flags;
	u8 place;

	spin_lock_irqsave(&tag_set->lock, flags);
	place = fgio_admission_place_of(&tag_set->admission, key_of(group),
					weight_of(group));
	if (old != FGIO_ADMISSION_NOWHERE &&
	    fgio_replace(&slot->place, &old, place))
		fgio_admission_move_to(&tag_set->admission, slot->charged_line,
				       (u8)old, slot->charged_line, place);
	wake_granted(tag_set);
	spin_unlock_irqrestore(&tag_set->lock, flags);
}

/* Slots became scarce after it was taken, and before it was queued. */
static void count_late(struct fgio_slot *slot,
		       const struct fgio_share_group *group)
{
	unsigned long flags;

	spin_lock_irqsave(&slot->tag_set->lock, flags);
	count_slot(slot, group);
	spin_unlock_irqrestore(&slot->tag_set->lock, flags);
}

static noinline void move_by_group(struct fgio_slot *slot,
				   enum fgio_class class)
{
	struct fgio_tag_set *tag_set = slot->tag_set;
	u32 place = fgio_load(&slot->place);
	unsigned long flags;

	spin_lock_irqsave(&tag_set->lock, flags);
	if (place == FGIO_ADMISSION_UNCOUNTED)
		fgio_admission_reclassify(&tag_set->admission,
					  slot->charged_line,
					  (enum fgio_line)class);
	else
		fgio_admission_move_to(&tag_set->admission, slot->charged_line,
				       (u8)place, (enum fgio_line)class,
				       (u8)place);
	slot->charged_line = class;
	wake_granted(tag_set);
	spin_unlock_irqrestore(&tag_set->lock, flags);
}

void fgio_admission_move_to_group(struct fgio_slot *slot,
				  const struct fgio_share_group *group)
{
	struct fgio_admission *slots = &slot->tag_set->admission;
	u32 place = fgio_load(&slot->place);

	if (slot->charged_line == FGIO_LINE_CARRIER)
		return;
	if (place == FGIO_ADMISSION_UNCOUNTED)
		count_late(slot, group);
	else if (place != FGIO_ADMISSION_NOWHERE &&
		 !fgio_admission_is_place_of(slots, (u8)place, key_of(group)))
		move_to_place(slot, group);
}

void fgio_admission_finish_by_group(struct fgio_slot *slot, u8 place)
{
	struct fgio_tag_set *tag_set = slot->tag_set;
	unsigned long flags;

	spin_lock_irqsave(&tag_set->lock, flags);
	fgio_admission_release_for(&tag_set->admission, slot->charged_line,
				   place);
	wake_granted(tag_set);
	look_for_plenty(tag_set);
	spin_unlock_irqrestore(&tag_set->lock, flags);
}

/* ---- the operations of the elevator ---- */

void fgio_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct fgio_tag_set *tag_set = data->hctx->sched_data;
	bool grouped;
	enum fgio_line line;
	u8 place;

	if (data->rq_flags & FGIO_RQF_CHARGED || !tag_set->charged ||
	    !is_on(tag_set->fq))
		return;
	line = line_of(data->q, fgio_class_of_opf(opf));
	grouped = READ_ONCE(tag_set->admission.groups);
	/* While slots are plenty, nothing is counted by group. */
	if (grouped && !fgio_admission_is_plenty(&tag_set->admission, line)) {
		limit_by_group(tag_set, line, opf, data);
		return;
	}
	/* A batch is charged request by request, when each has its tag. */
	if (data->nr_tags > 1 && !(data->flags & BLK_MQ_REQ_NOWAIT) &&
	    fgio_admission_has_plenty(&tag_set->admission, line,
				      data->nr_tags))
		return;
	/* The charge, or the look for room, is for one request: no batch. */
	data->nr_tags = 1;
	if (data->flags & BLK_MQ_REQ_NOWAIT) {
		/* The smallest depth: there is none that refuses. */
		if (!grouped && is_full(tag_set, line))
			data->shallow_depth = 1;
		return;
	}
	if (may_not_wait(opf))
		return;
	if (grouped && !fgio_admission_try_sure(&tag_set->admission, line)) {
		try_later_by_group(tag_set, line, opf, data);
		return;
	}
	if (!grouped && unlikely(!try(tag_set, line)))
		line = sleep_for_slot(tag_set, line, NULL, &place);
	/* The request gets its class from here; the bio has the old one. */
	if (line == FGIO_LINE_CRITICAL)
		data->cmd_flags |= FGIO_REQ_CRITICAL;
	data->rq_flags |= tag_set->charged;
}

static struct fgio_tag_set *charged_tag_set(struct fgio_queue_data *fq,
					    req_flags_t charged)
{
	struct fgio_tag_set *tag_set;

	list_for_each_entry(tag_set, &fq->tag_sets, list)
		if (tag_set->charged == charged)
			return tag_set;
	return NULL;
}

void fgio_admission_wake(struct fgio_tag_set *tag_set)
{
	unsigned long flags;

	spin_lock_irqsave(&tag_set->lock, flags);
	wake_granted(tag_set);
	spin_unlock_irqrestore(&tag_set->lock, flags);
}

void fgio_admission_return_charge(struct fgio_queue_data *fq,
				  struct request *rq)
{
	struct fgio_tag_set *tag_set;
	req_flags_t charged = rq->rq_flags & FGIO_RQF_CHARGED;
	enum fgio_line line;

	rq->rq_flags &= ~FGIO_RQF_CHARGED;
	if (!charged)
		return;
	tag_set = charged_tag_set(fq, charged);
	line = line_of(rq->q, fgio_class_of_opf(rq->cmd_flags));
	if (WARN_ON_ONCE(!tag_set))
		return;
	if (unlikely(READ_ONCE(tag_set->admission.groups)))
		return_by_group(tag_set, line);
	else
		fgio_admission_give_back(tag_set, line);
}

void fgio_admission_prepare(struct fgio_slot *slot, struct request *rq)
{
	struct fgio_tag_set *tag_set = slot->tag_set;

	slot->charged_line = line_of(rq->q, fgio_class_of_opf(rq->cmd_flags));
	if (unlikely(READ_ONCE(tag_set->admission.groups))) {
		if (fgio_admission_is_scarce(&tag_set->admission) ||
		    fgio_admission_carries(&tag_set->admission)) {
			prepare_by_group(slot, rq);
			return;
		}
		slot->place = FGIO_ADMISSION_UNCOUNTED;
	}
	if (likely(tag_set->charged &&
		   (rq->rq_flags & FGIO_RQF_CHARGED) == tag_set->charged)) {
		rq->rq_flags &= ~FGIO_RQF_CHARGED;
		return;
	}
	fgio_admission_charge(&tag_set->admission, slot->charged_line);
	fgio_admission_return_charge(tag_set->fq, rq);
}

void fgio_admission_move(struct fgio_slot *slot, enum fgio_class class)
{
	struct fgio_tag_set *tag_set = slot->tag_set;

	if (unlikely(READ_ONCE(tag_set->admission.groups))) {
		move_by_group(slot, class);
		return;
	}
	fgio_admission_reclassify(&tag_set->admission, slot->charged_line,
				  (enum fgio_line)class);
	slot->charged_line = class;
	if (fgio_admission_has_waiters(&tag_set->admission))
		fgio_admission_wake(tag_set);
}

void fgio_admission_configure(struct fgio_queue_data *fq)
{
	struct fgio_tag_set *tag_set;
	unsigned long flags;

	list_for_each_entry(tag_set, &fq->tag_sets, list) {
		spin_lock_irqsave(&tag_set->lock, flags);
		fgio_admission_set_shares(&tag_set->admission,
					  fq->critical_slots,
					  fq->noncritical_slots);
		wake_granted(tag_set);
		spin_unlock_irqrestore(&tag_set->lock, flags);
	}
}

void fgio_admission_reconsider(struct fgio_queue_data *fq)
{
	struct fgio_tag_set *tag_set;

	if (is_on(fq))
		return;
	list_for_each_entry(tag_set, &fq->tag_sets, list)
		let_all_in(tag_set);
}

static bool promote(struct fgio_tag_set *tag_set, struct sleeper *sleeper)
{
	if (!fgio_admission_promote(&tag_set->admission, &sleeper->waiter))
		return false;
	tag_set->promoted++;
	trace_fgio_admission_promote(tag_set->fq->q, sleeper->task->pid);
	return true;
}

bool fgio_admission_promote_task(struct fgio_tag_set *tag_set, u64 task)
{
	struct hlist_head *head = head_of(tag_set->by_task, task);
	struct sleeper *sleeper;
	bool promoted = false;
	unsigned long flags;

	if (hlist_empty(head))
		return false;
	spin_lock_irqsave(&tag_set->lock, flags);
	hlist_for_each_entry(sleeper, head, by_task)
		if ((u64)sleeper->task == task)
			promoted |= promote(tag_set, sleeper);
	if (promoted)
		wake_granted(tag_set);
	spin_unlock_irqrestore(&tag_set->lock, flags);
	return promoted;
}

static bool carries(const struct noted_bio *bio,
		    const struct fgio_wanted *wanted)
{
	if (wanted->kind == FGIO_WANTED_PRIVATE)
		return bio->buffer == wanted->object;
	if (wanted->kind == FGIO_WANTED_XFS_LOG)
		return bio->target.log_write;
	if (wanted->kind == FGIO_WANTED_UPKEEP)
		return bio->target.upkeep;
	if (wanted->kind == FGIO_WANTED_DIRECT)
		return bio->target.direct == wanted->object;
	return wanted->kind == FGIO_WANTED_PAGES &&
	       bio->target.mapping == wanted->object &&
	       bio->target.first <= wanted->last &&
	       bio->target.last >= wanted->first;
}

/* Return: the number of sleepers in a chain that carry @wanted. */
static unsigned int promote_chain(struct fgio_tag_set *tag_set,
				  struct hlist_head *head,
				  const struct fgio_wanted *wanted,
				  bool may_promote, unsigned int *promoted)
{
	struct sleeper *sleeper;
	unsigned int count = 0;

	hlist_for_each_entry(sleeper, head, by_object) {
		if (!carries(&sleeper->bio, wanted))
			continue;
		count++;
		if (may_promote)
			*promoted += promote(tag_set, sleeper);
	}
	return count;
}

unsigned int fgio_admission_promote_owners(struct fgio_tag_set *tag_set,
					   const struct fgio_wanted *wanted,
					   bool may_promote,
					   unsigned int *promoted)
{
	struct hlist_head *first = tag_set->by_object;
	struct hlist_head *end = first + ARRAY_SIZE(tag_set->by_object);
	unsigned int count = 0;
	unsigned long flags;

	*promoted = 0;
	/* These have no object of their own: they may be in any chain. */
	if (wanted->kind != FGIO_WANTED_XFS_LOG &&
	    wanted->kind != FGIO_WANTED_UPKEEP) {
		first = head_of(tag_set->by_object, wanted->object);
		end = first + 1;
	}
	for (; first < end; first++) {
		if (hlist_empty(first))
			continue;
		spin_lock_irqsave(&tag_set->lock, flags);
		count += promote_chain(tag_set, first, wanted, may_promote,
				       promoted);
		if (*promoted)
			wake_granted(tag_set);
		spin_unlock_irqrestore(&tag_set->lock, flags);
	}
	return count;
}

/* By task, since tasks are spread evenly, which bios of one file are not. */
unsigned int fgio_admission_promote_bios(struct fgio_tag_set *tag_set,
					 bool (*is_wanted)(const struct bio *),
					 void (*note)(const struct bio *))
{
	unsigned int i, promoted = 0;
	struct sleeper *sleeper;
	unsigned long flags;

	for (i = 0; i < ARRAY_SIZE(tag_set->by_task); i++) {
		if (hlist_empty(&tag_set->by_task[i]))
			continue;
		spin_lock_irqsave(&tag_set->lock, flags);
		hlist_for_each_entry(sleeper, &tag_set->by_task[i], by_task) {
			if (!sleeper->bio.bio || !is_wanted(sleeper->bio.bio) ||
			    !promote(tag_set, sleeper))
				continue;
			note(sleeper->bio.bio);
			promoted++;
		}
		if (promoted)
			wake_granted(tag_set);
		spin_unlock_irqrestore(&tag_set->lock, flags);
	}
	return promoted;
}
