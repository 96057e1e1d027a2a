// SPDX-License-Identifier: GPL-2.0
/*
 * The elevator: merging, the order of requests, and dispatch to the device.
 * core/queue.c decides; this file carries its decisions out.
 *
 * One queue serves all hardware contexts (QUEUE_FLAG_SQ_SCHED), where the order
 * of requests is one for the whole device; hw_queue.c has the devices with many
 * hardware queues, to which operations are passed on. insert_requests also runs
 * inside schedule() and must not sleep; has_work and completed_request run in
 * interrupts and take no lock.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <trace/events/block.h>

#include "base/setting.h"
#include "base/trace.h"
#include "block/admission.h"
#include "block/drive.h"
#include "block/elevator.h"
#include "block/groups.h"
#include "block/hw_queue.h"
#include "block/io_target.h"
#include "block/queues.h"
#include "block/request_order.h"
#include "block/stamp.h"
#include "graph/wait.h"
#include "who/presence.h"

static int set_two_classes(const char *text, const struct kernel_param *param)
{
	int error = param_set_bool(text, param);

	if (!error)
		fgio_queues_reconsider();
	return error;
}

static const struct kernel_param_ops two_classes_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = set_two_classes,
	.get = param_get_bool,
};

static bool two_classes = FGIO_DEFAULT_queue;
module_param_cb(queue, &two_classes_ops, &two_classes, 0644);
__MODULE_PARM_TYPE(queue, "bool");

static struct fgio_queue_data *queue_data(struct request_queue *q)
{
	return q->elevator->elevator_data;
}

/* NULL: requests are in one queue for all. */
static struct fgio_hw *hw_of(struct blk_mq_hw_ctx *hctx)
{
	struct fgio_tag_set *tag_set = hctx->sched_data;

	return tag_set->hw;
}

static struct rb_root *sort_root(struct fgio_queue_data *fq,
				 struct request *rq, enum fgio_class class)
{
	return &fq->sort[class][rq_data_dir(rq)];
}

/* The block layer checks this itself: asking here saves the search. */
static bool may_grow(struct request *rq)
{
	return !(rq->cmd_flags & REQ_NOMERGE_FLAGS) &&
	       !(rq->rq_flags & RQF_NOMERGE_FLAGS);
}

/* Discards with several ranges may merge at any sectors. */
static bool has_ranges(struct request *rq)
{
	return req_op(rq) == REQ_OP_DISCARD &&
	       queue_max_discard_segments(rq->q) > 1;
}

/* Merging needs both: the hash is by end, the tree by start. */
static void make_mergeable(struct fgio_queue_data *fq, struct request *rq,
			   enum fgio_class class)
{
	elv_rb_add(sort_root(fq, rq, class), rq);
	if (!may_grow(rq))
		return;
	elv_rqhash_add(fq->q, rq);
	if (!fq->q->last_merge)
		fq->q->last_merge = rq;
}

static void make_unmergeable(struct fgio_queue_data *fq, struct request *rq,
			     enum fgio_class class)
{
	if (!RB_EMPTY_NODE(&rq->rb_node))
		elv_rb_del(sort_root(fq, rq, class), rq);
	elv_rqhash_del(fq->q, rq);
	if (fq->q->last_merge == rq)
		fq->q->last_merge = NULL;
}

static void note_extent(struct request *rq)
{
	struct fgio_slot *slot = fgio_slot_of(rq);

	if (!slot)
		return;
	fgio_queue_resize(&slot->request, blk_rq_pos(rq), blk_rq_sectors(rq));
	slot->target.known = false;
}

/* The class by which a request is queued. */
static enum fgio_class queue_class(struct fgio_queue_data *fq,
				   enum fgio_class class)
{
	return fq->queue.one_class ? FGIO_NONCRITICAL : class;
}

/* Follows core, which moved a request to the critical side. */
static void promote(struct fgio_queue_data *fq, struct request *rq)
{
	struct fgio_slot *slot = fgio_slot_of(rq);
	struct fgio_share_group *group;

	lockdep_assert_held(fgio_slots_lock(slot->tag_set));
	if (fq->hw) {
		fgio_queue_saw_critical_at(&fq->queue, ktime_get_ns());
	} else {
		elv_rb_del(sort_root(fq, rq, FGIO_NONCRITICAL), rq);
		elv_rb_add(sort_root(fq, rq, FGIO_CRITICAL), rq);
	}
	fgio_stamp_critical(rq);
	fgio_admission_settle(slot, FGIO_CRITICAL);
	/* The slot of a carrier was in no group's part. */
	group = slot->request.share.group;
	if (fq->queue.shares)
		fgio_admission_settle_group(
			slot, group == &fq->shares.rest ? NULL : group);
	trace_fgio_promote(rq, FGIO_CRITICAL);
}

static noinline bool try_merge(struct fgio_queue_data *fq, struct bio *bio,
			       unsigned int segments)
{
	struct request *free = NULL;
	bool merged;

	spin_lock(&fq->lock);
	merged = blk_mq_sched_try_merge(fq->q, bio, segments, &free);
	if (merged)
		fq->merged[fgio_class_of_opf(bio->bi_opf)]++;
	spin_unlock(&fq->lock);

	if (free)
		blk_mq_free_request(free);
	return merged;
}

static bool fgio_bio_merge(struct request_queue *q, struct bio *bio,
			   unsigned int segments)
{
	struct fgio_queue_data *fq = queue_data(q);

	return !fq->hw && fgio_queue_holds_requests(&fq->queue) &&
	       try_merge(fq, bio, segments);
}

/* Front merges; back merges are found by the block layer's own hash. */
static int fgio_request_merge(struct request_queue *q, struct request **found,
			      struct bio *bio)
{
	struct fgio_queue_data *fq = queue_data(q);
	enum fgio_class class =
		queue_class(fq, fgio_class_of_opf(bio->bi_opf));
	struct request *rq = elv_rb_find(&fq->sort[class][bio_data_dir(bio)],
					 bio_end_sector(bio));

	if (!rq || !elv_bio_merge_ok(rq, bio))
		return ELEVATOR_NO_MERGE;
	*found = rq;
	return has_ranges(rq) ? ELEVATOR_DISCARD_MERGE : ELEVATOR_FRONT_MERGE;
}

static void fgio_request_merged(struct request_queue *q, struct request *rq,
				enum elv_merge type)
{
	struct fgio_queue_data *fq = queue_data(q);
	struct fgio_slot *slot = fgio_slot_of(rq);

	if (type == ELEVATOR_FRONT_MERGE) {
		struct rb_root *root = sort_root(fq, rq, slot->request.class);

		elv_rb_del(root, rq);
		elv_rb_add(root, rq);
	}
	note_extent(rq);
}

static void fgio_requests_merged(struct request_queue *q, struct request *rq,
				 struct request *absorbed)
{
	struct fgio_queue_data *fq = queue_data(q);
	struct fgio_slot *slot = fgio_slot_of(rq);
	struct fgio_slot *absorbed_slot = fgio_slot_of(absorbed);
	bool was_critical = slot->request.class == FGIO_CRITICAL;

	list_del_init(&absorbed->queuelist);
	if (absorbed_slot) {
		make_unmergeable(fq, absorbed, absorbed_slot->request.class);
		fgio_queue_absorb(&slot->request,
				  &absorbed_slot->request);
		fq->merged[absorbed_slot->request.class]++;
	}
	if (!was_critical && slot->request.class == FGIO_CRITICAL)
		promote(fq, rq);
	note_extent(rq);
}

static void fgio_prepare_request(struct request *rq)
{
	struct fgio_tag_set *tag_set = rq->mq_hctx->sched_data;
	struct fgio_slot *slot;

	if (unlikely(rq->internal_tag >= tag_set->slot_count)) {
		fgio_admission_return_charge(tag_set->fq, rq);
		rq->elv.priv[0] = NULL;
		return;
	}
	slot = &tag_set->slots[rq->internal_tag];
	slot->rq = rq;
	slot->request.state = FGIO_REQUEST_IDLE;
	slot->passed = false;
	slot->ioprio_replaced = false;
	slot->submitter = (u64)current;
	slot->by_daemon = (current->flags & (PF_KTHREAD | PF_WQ_WORKER)) ==
			  PF_KTHREAD;
	slot->request.rank.id = 0;
	if (unlikely(fgio_request_order_on()))
		fgio_request_order_prepare(slot);
	fgio_admission_prepare(slot, rq);
	rq->elv.priv[0] = slot;
}

enum fgio_class fgio_elevator_class_of(struct request *rq)
{
	if (fgio_rq_ioprio(rq) & FGIO_IOPRIO_CRITICAL)
		return FGIO_CRITICAL;
	return fgio_class_of_opf(rq->cmd_flags);
}

/*
 * Any task, foreground tasks included, may be waiting for the memory that
 * swapping frees: such requests pass where they would be withheld. Those that
 * were queued before critical I/O came keep their place in the queue.
 */
static bool must_not_be_withheld(struct fgio_queue_data *fq,
				 const struct request *rq,
				 enum fgio_class class)
{
	return rq->cmd_flags & REQ_SWAP && class == FGIO_NONCRITICAL &&
	       !fq->queue.one_class &&
	       fgio_queue_critical_present(&fq->queue, ktime_get_ns());
}

bool fgio_elevator_decide_class(struct fgio_queue_data *fq, struct request *rq)
{
	struct fgio_slot *slot = fgio_slot_of(rq);
	enum fgio_class class;

	if (unlikely(!slot))
		return false;
	class = fgio_elevator_class_of(rq);
	fgio_admission_settle(slot, class);
	if (unlikely(must_not_be_withheld(fq, rq, class)))
		return false;
	/* Its submitter became critical after its bio got a class. */
	if (class == FGIO_CRITICAL && rq->bio &&
	    !(rq->bio->bi_opf & FGIO_REQ_CRITICAL))
		fgio_stamp_critical(rq);
	slot->request.class = queue_class(fq, class);
	slot->target.known = false;
	slot->wanted = false;
	return true;
}

void fgio_elevator_describe(struct request *rq)
{
	struct fgio_request *request = &fgio_slot_of(rq)->request;

	trace_block_rq_insert(rq);
	request->sector = blk_rq_pos(rq);
	request->sectors = blk_rq_sectors(rq);
	request->write = op_is_write(req_op(rq));
	request->queued_ns = rq->start_time_ns;
	trace_fgio_insert(rq, request->class);
}

/*
 * Critical I/O that its submitter does for another task, as a journal's thread
 * does, is charged to the group of that task.
 */
static struct fgio_share_group *payer_of(struct fgio_queue_data *fq,
					 struct request *rq)
{
	struct fgio_share_group *own = fgio_group_of(fq, rq);
	struct fgio_slot *slot = fgio_slot_of(rq);
	struct fgio_share_group *other;
	u64 waiter = 0;

	if (slot->request.class == FGIO_CRITICAL)
		waiter = fgio_task_boosted_for(slot->submitter);
	other = waiter ? fgio_group_of_waiter(fq, waiter) : NULL;
	if (!other || other == own)
		return own;
	fq->recharged++;
	return other;
}

static void insert_of_group(struct fgio_queue_data *fq, struct request *rq,
			    bool at_head)
{
	struct fgio_share_group *group = payer_of(fq, rq);
	struct fgio_slot *slot = fgio_slot_of(rq);

	fgio_admission_settle_group(slot, group);
	fgio_queue_insert_of(&fq->queue, &slot->request, group, at_head);
}

void fgio_elevator_recharge(struct fgio_queue_data *fq, struct fgio_slot *slot,
			    u64 waiter)
{
	struct fgio_share_group *group;

	if (!fq->queue.shares)
		return;
	group = fgio_group_of_waiter(fq, waiter);
	if (!group || group == slot->request.share.group)
		return;
	fgio_shares_recharge(&slot->request, group, ktime_get_ns());
	fgio_admission_settle_group(slot, group);
	fq->recharged++;
}

/**
 * struct insertion - requests that are queued in one go
 * @at_head: they go before others
 * @free: those that merged
 */
struct insertion {
	bool at_head;
	struct list_head free;
};

/* One with an id is queued at @now_ns. A clock that is set is noticed soon. */
static void tell_time(struct fgio_queue_data *fq, u64 now_ns)
{
	if (likely(now_ns - fq->told_time_ns < FGIO_TELL_TIME_NS))
		return;
	fq->told_time_ns = now_ns;
	fgio_request_order_tell_time(fq);
}

/*
 * Metadata that tasks of other cgroups may wait for goes at once, within bounds.
 * The foreground comes first. Walks do not find it, which nothing could help.
 */
static bool passes_others(struct fgio_queue_data *fq, struct request *rq)
{
	struct fgio_slot *slot = fgio_slot_of(rq);
	u64 now_ns;

	if (likely(!fq->queue.shares) || !(rq->cmd_flags & REQ_META) ||
	    slot->request.class == FGIO_CRITICAL ||
	    atomic_read(&fq->passing) >= FGIO_SHARES_PASSING_MOST)
		return false;
	now_ns = ktime_get_ns();
	if (fgio_queue_critical_present(&fq->queue, now_ns) ||
	    !fgio_shares_pass(fq->queue.shares, fgio_group_of(fq, rq),
			      op_is_write(req_op(rq)), blk_rq_sectors(rq),
			      now_ns))
		return false;
	slot->passed = true;
	atomic_inc(&fq->passing);
	fq->passed++;
	return true;
}

static void insert_request(struct fgio_queue_data *fq, struct request *rq,
			   struct insertion *insertion)
{
	struct fgio_request *request;

	if (unlikely(!fgio_elevator_decide_class(fq, rq) ||
		     passes_others(fq, rq))) {
		list_add_tail(&rq->queuelist, &fq->unscheduled);
		return;
	}
	if (fgio_queue_holds_requests(&fq->queue) &&
	    blk_mq_sched_try_insert_merge(fq->q, rq, &insertion->free))
		return;

	fgio_elevator_describe(rq);
	request = &fgio_slot_of(rq)->request;
	if (unlikely(request->rank.id) && request->class == FGIO_CRITICAL) {
		tell_time(fq, request->queued_ns);
		fq->with_id++;
	}
	if (fq->queue.shares)
		insert_of_group(fq, rq, insertion->at_head);
	else
		fgio_queue_insert(&fq->queue, request, insertion->at_head);
	make_mergeable(fq, rq, request->class);
}

static void fgio_insert_requests(struct blk_mq_hw_ctx *hctx,
				 struct list_head *list,
				 fgio_insert_flags_t flags)
{
	struct fgio_queue_data *fq = queue_data(hctx->queue);
	struct fgio_hw *hw = hw_of(hctx);
	struct insertion insertion = {
		.at_head = fgio_insert_at_head(flags),
		.free = LIST_HEAD_INIT(insertion.free),
	};
	struct request *rq, *next;

	if (hw) {
		fgio_hw_insert(hw, list, insertion.at_head);
		return;
	}
	spin_lock(&fq->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		insert_request(fq, rq, &insertion);
	}
	spin_unlock(&fq->lock);

	list_for_each_entry_safe(rq, next, &insertion.free, queuelist) {
		list_del_init(&rq->queuelist);
		blk_mq_free_request(rq);
	}
}

/* The first request at or beyond a sector, or NULL. */
static struct fgio_request *next_by_sector(struct rb_root *root,
					   sector_t sector)
{
	struct rb_node *node = root->rb_node;
	struct request *found = NULL;

	while (node) {
		struct request *rq = rb_entry(node, struct request, rb_node);

		if (blk_rq_pos(rq) >= sector) {
			found = rq;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found ? &fgio_slot_of(found)->request : NULL;
}

/* The next requests on an arm's way. Context: the queue's lock is held. */
static noinline const struct fgio_sweep *look_ahead(struct fgio_queue_data *fq)
{
	struct rb_root *roots = fq->sort[FGIO_NONCRITICAL];
	unsigned int direction;

	for (direction = 0; direction < FGIO_DIRECTIONS; direction++)
		fq->sweep.next[direction] =
			next_by_sector(&roots[direction],
				       fgio_queue_position(&fq->queue,
							   direction));
	return &fq->sweep;
}

void fgio_elevator_remember_target(struct request *rq)
{
	struct fgio_io_target *target = &fgio_slot_of(rq)->target;

	if (fgio_waits_matter() && !target->known)
		fgio_io_target_of_request(target, rq);
}

/* A timer that fires later than this may be left to fire in vain. */
#define RETRY_SOON_NS (100 * NSEC_PER_MSEC)

static enum hrtimer_restart retry(struct fgio_queue_data *fq)
{
	fgio_queue_retry(&fq->queue);
	fgio_elevator_run(fq, ktime_get_ns());
	return HRTIMER_NORESTART;
}

enum hrtimer_restart fgio_elevator_retry(struct hrtimer *timer)
{
	return retry(container_of(timer, struct fgio_queue_data, retry_timer));
}

enum hrtimer_restart fgio_elevator_pass_turn(struct hrtimer *timer)
{
	return retry(container_of(timer, struct fgio_queue_data, turn_timer));
}

/* Others wait for it: without it, for FGIO_TURN_NS. */
static void run_turn(struct fgio_queue_data *fq, struct fgio_hw *hw,
		     u64 now_ns)
{
	hrtimer_start(&fq->turn_timer, ns_to_ktime(now_ns + FGIO_TURN_NS),
		      HRTIMER_MODE_ABS);
	blk_mq_run_hw_queue(hw->hctx, true);
}

/* Of one queue: blk_mq_run_hw_queues() looks through a table of 64 places. */
static void run_any(struct request_queue *q)
{
	struct blk_mq_hw_ctx *only = NULL;

	if (q->nr_hw_queues == 1)
		only = xa_load(&q->hctx_table, 0);
	if (only)
		blk_mq_run_hw_queue(only, true);
	else
		blk_mq_run_hw_queues(q, true);
}

void fgio_elevator_run(struct fgio_queue_data *fq, u64 now_ns)
{
	struct fgio_hw_queue *turn = NULL;

	if (fq->hw)
		turn = fgio_queue_turn(&fq->queue, now_ns);
	if (turn)
		run_turn(fq, container_of(turn, struct fgio_hw, queue), now_ns);
	else
		run_any(fq->q);
}

/*
 * Whether the timer that is set does. With many hardware queues, the time of
 * one must not be put off by another. Context: the queue's lock is held.
 */
static bool timer_does(struct fgio_queue_data *fq, u64 retry_ns,
		       u64 now_ns)
{
	u64 soon_ns = fq->hw ? 1 : RETRY_SOON_NS;

	return hrtimer_is_queued(&fq->retry_timer) &&
	       fq->retry_at_ns <= retry_ns &&
	       fq->retry_at_ns >= now_ns + soon_ns;
}

/*
 * Runs the queue again at the time that core sets, even if no request
 * completes. A timer that fires before that time, but not soon, is left alone:
 * the time of last resort moves with each completion, and when the timer fires,
 * core sets the next one. Context: the queue's lock is held.
 */
noinline void fgio_elevator_retry_later(struct fgio_queue_data *fq, u64 now_ns)
{
	u64 retry_ns = fgio_queue_retry_ns(&fq->queue);

	if (!retry_ns || timer_does(fq, retry_ns, now_ns))
		return;
	fq->retry_at_ns = retry_ns;
	hrtimer_start(&fq->retry_timer, ns_to_ktime(retry_ns),
		      HRTIMER_MODE_ABS);
}

/*
 * The time, or 0 where fgio_queue_next() needs none. Requests of one group are
 * decided together for a tick at most: by then, what others have in the drive
 * may be late.
 */
static u64 time_of_decision(struct fgio_queue_data *fq)
{
	u64 tick = get_jiffies_64();

	if (fq->queue.shares && fq->decided_tick != tick)
		fq->decided_tick = tick;
	else if (!fgio_queue_needs_clock(&fq->queue))
		return 0;
	return ktime_get_ns();
}

static struct request *take_scheduled(struct fgio_queue_data *fq)
{
	struct fgio_queue *queue = &fq->queue;
	u64 now_ns = time_of_decision(fq);
	u64 releases = queue->own.counters.starvation_releases;
	const struct fgio_sweep *sweep = NULL;
	struct fgio_request *request;
	struct request *rq;

	if (fgio_queue_sweeps(queue))
		sweep = look_ahead(fq);
	request = fgio_queue_next(queue, now_ns, sweep);
	if (!request) {
		fgio_elevator_retry_later(fq, now_ns);
		return NULL;
	}
	rq = fgio_slot_of_request(request)->rq;
	fq->dispatched_bytes[request->class] += blk_rq_bytes(rq);
	make_unmergeable(fq, rq, request->class);
	fgio_elevator_remember_target(rq);
	trace_fgio_dispatch(rq, request->class);
	if (queue->own.counters.starvation_releases != releases)
		trace_fgio_starvation_release(rq, request->class);
	if (fgio_drive_takes_priority(fq, rq))
		fgio_drive_set_priority(fq, fgio_slot_of_request(request),
					fgio_elevator_class_of(rq), now_ns);
	return rq;
}

static struct request *fgio_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct fgio_queue_data *fq = queue_data(hctx->queue);
	struct fgio_hw *hw = hw_of(hctx);
	struct request *rq;

	if (hw)
		return fgio_hw_dispatch(hw);
	spin_lock(&fq->lock);
	rq = list_first_entry_or_null(&fq->unscheduled, struct request,
				      queuelist);
	if (unlikely(rq))
		list_del_init(&rq->queuelist);
	else
		rq = take_scheduled(fq);
	if (rq)
		rq->rq_flags |= RQF_STARTED;
	spin_unlock(&fq->lock);
	return rq;
}

static bool fgio_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct fgio_queue_data *fq = queue_data(hctx->queue);
	struct fgio_hw *hw = hw_of(hctx);

	if (hw)
		return fgio_hw_has_work(hw);
	return fgio_queue_has_work(&fq->queue) ||
	       !list_empty_careful(&fq->unscheduled);
}

static void leave_device(struct request *rq, u64 now_ns)
{
	struct fgio_queue_data *fq = queue_data(rq->q);
	struct fgio_slot *slot = fgio_slot_of(rq);

	if (!slot)
		return;
	if (unlikely(slot->passed)) {
		slot->passed = false;
		atomic_dec(&fq->passing);
	}
	if (slot->request.state != FGIO_REQUEST_IN_DEVICE)
		return;
	if (READ_ONCE(fq->drive_priority) &&
	    slot->request.class == FGIO_NONCRITICAL)
		fgio_drive_moved(&fq->drive, now_ns);
	if (fgio_queue_left_device(&fq->queue, &slot->request, now_ns))
		fgio_elevator_run(fq, now_ns);
}

static void fgio_completed_request(struct request *rq, u64 now_ns)
{
	leave_device(rq, now_ns);
}

static void fgio_requeue_request(struct request *rq)
{
	struct fgio_slot *slot = fgio_slot_of(rq);

	if (slot)
		fgio_drive_restore_priority(slot);
	leave_device(rq, ktime_get_ns());
}

static void fgio_finish_request(struct request *rq)
{
	struct fgio_slot *slot = fgio_slot_of(rq);

	if (!slot)
		return;
	if (unlikely(slot->request.state == FGIO_REQUEST_IN_DEVICE ||
		     slot->passed))
		leave_device(rq, ktime_get_ns());
	rq->elv.priv[0] = NULL;
	fgio_admission_finish(slot);
}

bool fgio_elevator_promote(struct fgio_queue_data *fq, struct fgio_slot *slot)
{
	/* It may be the first with an id: believed by the time that it is. */
	if (unlikely(slot->request.rank.id))
		fgio_request_order_tell_time(fq);
	if (!fgio_queue_promote(&slot->request))
		return false;
	promote(fq, slot->rq);
	return true;
}

/* Promotes a critical request that was queued while there was one class. */
static void promote_critical(struct fgio_queue_data *fq, struct fgio_slot *slot,
			     unsigned int tag)
{
	if (slot->request.state == FGIO_REQUEST_QUEUED &&
	    !fq->queue.one_class &&
	    fgio_elevator_class_of(slot->rq) == FGIO_CRITICAL)
		fgio_elevator_promote(fq, slot);
}

void fgio_elevator_choose_classes(struct fgio_queue_data *fq)
{
	bool one_class = !READ_ONCE(two_classes) || fgio_lets_through(fq);
	bool changes;

	spin_lock(&fq->lock);
	changes = one_class != fq->queue.one_class;
	if (changes)
		fgio_queue_set_one_class(&fq->queue, one_class);
	spin_unlock(&fq->lock);
	if (changes && fq->hw)
		fgio_hw_wait_for_inserts(fq);
	if (changes && !one_class)
		fgio_visit_slots(fq, promote_critical);
}

void fgio_elevator_reconsider(struct fgio_queue_data *fq)
{
	fgio_elevator_choose_classes(fq);
	fgio_admission_reconsider(fq);
	blk_mq_run_hw_queues(fq->q, true);
}

/* The search of fgio_promote_sector(), and its result. */
struct sector_search {
	dev_t disk;
	sector_t sector;
	u32 promoted;
	bool found;
};

static bool promote_one_at(struct fgio_queue_data *fq, unsigned int index,
			   sector_t sector)
{
	struct fgio_hw *hw = fq->hw ? &fq->hw[index] : NULL;
	spinlock_t *lock = hw ? &hw->lock : &fq->lock;
	struct fgio_request *request;

	spin_lock(lock);
	request = fgio_hw_queue_promote_sector(hw ? &hw->queue : &fq->queue.own,
					       sector);
	if (request)
		promote(fq, fgio_slot_of_request(request)->rq);
	spin_unlock(lock);
	return request;
}

static void promote_at(struct fgio_queue_data *fq, void *data)
{
	struct sector_search *search = data;
	unsigned int index;

	if (!fq->q->disk || disk_devt(fq->q->disk) != search->disk)
		return;
	search->found = true;
	for (index = 0; index < fq->queue.hw_count; index++) {
		while (promote_one_at(fq, index, search->sector)) {
			search->promoted++;
			cond_resched();
		}
	}
	if (search->promoted)
		blk_mq_run_hw_queues(fq->q, true);
}

int fgio_promote_sector(dev_t disk, sector_t sector, u32 *promoted)
{
	struct sector_search search = { .disk = disk, .sector = sector };

	fgio_visit_queues(promote_at, &search);
	*promoted = search.promoted;
	return search.found ? 0 : -ENODEV;
}

void fgio_elevator_add_operations(struct elevator_mq_ops *operations)
{
	operations->bio_merge = fgio_bio_merge;
	operations->request_merge = fgio_request_merge;
	operations->request_merged = fgio_request_merged;
	operations->requests_merged = fgio_requests_merged;
	operations->former_request = elv_rb_former_request;
	operations->next_request = elv_rb_latter_request;
	operations->limit_depth = fgio_limit_depth;
	operations->prepare_request = fgio_prepare_request;
	operations->finish_request = fgio_finish_request;
	operations->insert_requests = fgio_insert_requests;
	operations->dispatch_request = fgio_dispatch_request;
	operations->has_work = fgio_has_work;
	operations->completed_request = fgio_completed_request;
	operations->requeue_request = fgio_requeue_request;
}
