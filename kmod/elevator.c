// SPDX-License-Identifier: GPL-2.0
/*
 * The elevator: merging, the order of requests, and what the device gets.
 * core/queue.c decides; here its decisions meet the block layer.
 *
 * One queue serves all hardware contexts (QUEUE_FLAG_SQ_SCHED), since the
 * order of requests is one for the whole device. insert_requests also runs
 * inside schedule() and must not sleep; has_work and completed_request run in
 * interrupts and take no lock.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/sbitmap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <trace/events/block.h>

#include "fgio.h"
#include "inherit.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static unsigned int max_slots = UINT_MAX;
module_param(max_slots, uint, 0444);
MODULE_PARM_DESC(max_slots,
		 "requests scheduled per set of tags, the rest pass in order of arrival (no limit)");

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

static bool two_classes = true;
module_param_cb(queue, &two_classes_ops, &two_classes, 0644);
__MODULE_PARM_TYPE(queue, "bool");
MODULE_PARM_DESC(queue, "critical requests go first, and few others beside them (Y)");

static bool fault_withhold;
module_param(fault_withhold, bool, 0644);
MODULE_PARM_DESC(fault_withhold, "for tests: keep non-critical requests queued for ever (N)");

/* Slots looked at in one hold of the queue's lock. */
#define SLOTS_AT_ONCE 32U

/*
 * Every queue under the elevator, for promotion; read under RCU, too. The lock
 * also keeps each queue's list of domains still for who reads the counters.
 */
static LIST_HEAD(queues);
DEFINE_MUTEX(fgio_queues_lock);
static unsigned int queue_count;

bool fgio_queues_exist(void)
{
	return READ_ONCE(queue_count);
}

unsigned int fgio_queue_count(void)
{
	return READ_ONCE(queue_count);
}

static struct fgio_queue_data *queue_data(struct request_queue *q)
{
	return q->elevator->elevator_data;
}

/* Return: NULL for a request that fgio does not schedule. */
static struct fgio_slot *slot_of(struct request *rq)
{
	return rq->rq_flags & FGIO_RQF_OURS ? rq->elv.priv[0] : NULL;
}

static struct fgio_slot *slot_of_request(struct fgio_request *request)
{
	return container_of(request, struct fgio_slot, request);
}

static struct rb_root *sort_root(struct fgio_queue_data *fq,
				 struct request *rq, enum fgio_class class)
{
	return &fq->sort[class][rq_data_dir(rq)];
}

/* The block layer itself refuses what must not be merged: this saves asking. */
static bool may_grow(struct request *rq)
{
	return !(rq->cmd_flags & REQ_NOMERGE_FLAGS) &&
	       !(rq->rq_flags & RQF_NOMERGE_FLAGS);
}

/* Discards with several ranges may join whatever their sectors are. */
static bool has_ranges(struct request *rq)
{
	return req_op(rq) == REQ_OP_DISCARD &&
	       queue_max_discard_segments(rq->q) > 1;
}

/* The hash is by end, the order by begin: merging needs both. */
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
	struct fgio_slot *slot = slot_of(rq);

	if (!slot)
		return;
	fgio_queue_resize(&slot->request, blk_rq_pos(rq), blk_rq_sectors(rq));
	slot->contents.known = false;
}

/* The class by which a request is queued. */
static enum fgio_class queue_class(struct fgio_queue_data *fq,
				   enum fgio_class class)
{
	return fq->queue.one_class ? FGIO_NONCRITICAL : class;
}

/* A request that core moved to the critical side. */
static void promote(struct fgio_queue_data *fq, struct request *rq)
{
	struct fgio_slot *slot = slot_of(rq);

	lockdep_assert_held(&fq->lock);
	elv_rb_del(sort_root(fq, rq, FGIO_NONCRITICAL), rq);
	elv_rb_add(sort_root(fq, rq, FGIO_CRITICAL), rq);
	fgio_stamp_critical(rq);
	fgio_admission_settle(slot, FGIO_CRITICAL);
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

	return fgio_queue_holds_requests(&fq->queue) &&
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
	struct fgio_slot *slot = slot_of(rq);

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
	struct fgio_slot *slot = slot_of(rq);
	struct fgio_slot *absorbed_slot = slot_of(absorbed);
	bool was_critical = slot->request.class == FGIO_CRITICAL;

	list_del_init(&absorbed->queuelist);
	if (absorbed_slot) {
		make_unmergeable(fq, absorbed, absorbed_slot->request.class);
		fgio_queue_absorb(&fq->queue, &slot->request,
				  &absorbed_slot->request);
		fq->merged[absorbed_slot->request.class]++;
	}
	if (!was_critical && slot->request.class == FGIO_CRITICAL)
		promote(fq, rq);
	note_extent(rq);
}

static void fgio_prepare_request(struct request *rq)
{
	struct fgio_domain *domain = rq->mq_hctx->sched_data;
	struct fgio_slot *slot;

	if (unlikely(rq->internal_tag >= domain->slot_count)) {
		fgio_admission_return_charge(domain->fq, rq);
		rq->elv.priv[0] = NULL;
		return;
	}
	slot = &domain->slots[rq->internal_tag];
	slot->rq = rq;
	slot->request.state = FGIO_REQUEST_IDLE;
	slot->told_drive = false;
	slot->submitter = (u64)current;
	slot->by_daemon = (current->flags & (PF_KTHREAD | PF_WQ_WORKER)) ==
			  PF_KTHREAD;
	fgio_admission_prepare(slot, rq);
	rq->elv.priv[0] = slot;
}

static enum fgio_class class_of_rq(struct request *rq)
{
	if (fgio_rq_ioprio(rq) & FGIO_IOPRIO_CRITICAL)
		return FGIO_CRITICAL;
	return fgio_class_of_opf(rq->cmd_flags);
}

/*
 * Anything may be waiting for the memory that swapping makes free, foreground
 * tasks first of all: it passes where it would be withheld. What was queued
 * before critical I/O came keeps its place there.
 */
static bool must_not_be_withheld(struct fgio_queue_data *fq,
				 const struct request *rq,
				 enum fgio_class class)
{
	return rq->cmd_flags & REQ_SWAP && class == FGIO_NONCRITICAL &&
	       !fq->queue.one_class &&
	       fgio_queue_critical_about(&fq->queue, ktime_get_ns());
}

static void insert_request(struct fgio_queue_data *fq, struct request *rq,
			   bool at_head, struct list_head *free)
{
	struct fgio_slot *slot = slot_of(rq);
	enum fgio_class class;

	if (unlikely(!slot)) {
		list_add_tail(&rq->queuelist, &fq->unscheduled);
		return;
	}
	class = class_of_rq(rq);
	fgio_admission_settle(slot, class);
	if (unlikely(must_not_be_withheld(fq, rq, class))) {
		list_add_tail(&rq->queuelist, &fq->unscheduled);
		return;
	}
	/* Its submitter became critical after its bio got a class. */
	if (class == FGIO_CRITICAL && rq->bio &&
	    !(rq->bio->bi_opf & FGIO_REQ_CRITICAL))
		fgio_stamp_critical(rq);
	class = queue_class(fq, class);
	slot->request.class = class;
	slot->contents.known = false;
	slot->wanted = false;
	if (fgio_queue_holds_requests(&fq->queue) &&
	    blk_mq_sched_try_insert_merge(fq->q, rq, free))
		return;

	trace_block_rq_insert(rq);
	slot->request.sector = blk_rq_pos(rq);
	slot->request.sectors = blk_rq_sectors(rq);
	slot->request.write = op_is_write(req_op(rq));
	slot->request.queued_ns = rq->start_time_ns;
	fgio_queue_insert(&fq->queue, &slot->request, at_head);
	make_mergeable(fq, rq, class);
	trace_fgio_insert(rq, class);
}

static void fgio_insert_requests(struct blk_mq_hw_ctx *hctx,
				 struct list_head *list,
				 fgio_insert_flags_t flags)
{
	struct fgio_queue_data *fq = queue_data(hctx->queue);
	struct request *rq, *next;
	LIST_HEAD(free);

	spin_lock(&fq->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		insert_request(fq, rq, fgio_insert_at_head(flags), &free);
	}
	spin_unlock(&fq->lock);

	list_for_each_entry_safe(rq, next, &free, queuelist) {
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
	return found ? &slot_of(found)->request : NULL;
}

/* What comes next on an arm's way. Context: the queue's lock is held. */
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

/* From here on its bios may complete at any time: keep what they carry. */
static void remember_contents(struct request *rq)
{
	struct fgio_contents *contents = &slot_of(rq)->contents;

	if (fgio_waits_matter() && !contents->known)
		fgio_contents_of_request(contents, rq);
}

/* As a bug of ours would: only the watchdog ends it. */
static bool withholds_by_fault(const struct fgio_queue_data *fq)
{
	return unlikely(READ_ONCE(fault_withhold)) && !fgio_lets_through(fq) &&
	       !READ_ONCE(fq->queue.queued[FGIO_CRITICAL]);
}

/* A timer that fires later than this may fire for nothing. */
#define RETRY_SOON_NS (100 * NSEC_PER_MSEC)

/* What the drive was not given yet may go now. Context: hard interrupt. */
static enum hrtimer_restart retry(struct hrtimer *timer)
{
	struct fgio_queue_data *fq =
		container_of(timer, struct fgio_queue_data, retry_timer);

	fgio_queue_retry(&fq->queue);
	blk_mq_run_hw_queues(fq->q, true);
	return HRTIMER_NORESTART;
}

/*
 * Runs the queue again at the time that core names, whatever the device does.
 * A timer that fires before that, but not soon, is left alone: a time that is
 * there in case that nothing completes moves with each completion, and when the
 * timer fires, core names the next one. Context: the queue's lock is held.
 */
static noinline void retry_later(struct fgio_queue_data *fq, u64 now_ns)
{
	u64 retry_ns = fgio_queue_retry_ns(&fq->queue);

	if (!retry_ns)
		return;
	if (hrtimer_is_queued(&fq->retry_timer) &&
	    fq->retry_at_ns <= retry_ns &&
	    fq->retry_at_ns >= now_ns + RETRY_SOON_NS)
		return;
	fq->retry_at_ns = retry_ns;
	hrtimer_start(&fq->retry_timer, ns_to_ktime(retry_ns),
		      HRTIMER_MODE_ABS);
}

static struct request *take_scheduled(struct fgio_queue_data *fq)
{
	struct fgio_queue *queue = &fq->queue;
	u64 now_ns = fgio_queue_needs_clock(queue) ? ktime_get_ns() : 0;
	u64 releases = queue->counters.starvation_releases;
	const struct fgio_sweep *sweep = NULL;
	struct fgio_request *request;
	struct request *rq;

	if (withholds_by_fault(fq))
		return NULL;
	if (fgio_queue_sweeps(queue))
		sweep = look_ahead(fq);
	request = fgio_queue_next(queue, now_ns, sweep);
	if (!request) {
		retry_later(fq, now_ns);
		return NULL;
	}
	rq = slot_of_request(request)->rq;
	fq->dispatched_bytes[request->class] += blk_rq_bytes(rq);
	make_unmergeable(fq, rq, request->class);
	remember_contents(rq);
	trace_fgio_dispatch(rq, request->class);
	if (queue->counters.starvation_releases != releases)
		trace_fgio_starvation_release(rq, request->class);
	if (fgio_drive_listens(fq, rq))
		fgio_drive_tell(fq, slot_of_request(request), class_of_rq(rq),
				now_ns);
	return rq;
}

static struct request *fgio_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct fgio_queue_data *fq = queue_data(hctx->queue);
	struct request *rq;

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

	return (fgio_queue_has_work(&fq->queue) &&
		!withholds_by_fault(fq)) ||
	       !list_empty_careful(&fq->unscheduled);
}

static void leave_device(struct request *rq, u64 now_ns)
{
	struct fgio_queue_data *fq = queue_data(rq->q);
	struct fgio_slot *slot = slot_of(rq);

	if (!slot || slot->request.state != FGIO_REQUEST_IN_DEVICE)
		return;
	if (READ_ONCE(fq->drive_priority) &&
	    slot->request.class == FGIO_NONCRITICAL)
		fgio_drive_moved(&fq->drive, now_ns);
	if (fgio_queue_left_device(&fq->queue, &slot->request, now_ns))
		blk_mq_run_hw_queues(rq->q, true);
}

static void fgio_completed_request(struct request *rq, u64 now_ns)
{
	leave_device(rq, now_ns);
}

static void fgio_requeue_request(struct request *rq)
{
	struct fgio_slot *slot = slot_of(rq);

	if (slot)
		fgio_drive_forget(slot);
	leave_device(rq, ktime_get_ns());
}

static void fgio_finish_request(struct request *rq)
{
	struct fgio_slot *slot = slot_of(rq);

	if (!slot)
		return;
	if (unlikely(slot->request.state == FGIO_REQUEST_IN_DEVICE))
		leave_device(rq, ktime_get_ns());
	rq->elv.priv[0] = NULL;
	fgio_admission_finish(slot);
}

/* Calls @visit for each queue; its domains stay, too. Context: may sleep. */
void fgio_visit_queues(void (*visit)(struct fgio_queue_data *fq))
{
	struct fgio_queue_data *fq;

	mutex_lock(&fgio_queues_lock);
	list_for_each_entry(fq, &queues, list)
		visit(fq);
	mutex_unlock(&fgio_queues_lock);
}

/* Critical requests of all queues, queued or in the device. Context: may sleep. */
u64 fgio_critical_outstanding(void)
{
	struct fgio_queue_data *fq;
	u64 count = 0;

	mutex_lock(&fgio_queues_lock);
	list_for_each_entry(fq, &queues, list)
		count += READ_ONCE(fq->queue.queued[FGIO_CRITICAL]) +
			 fgio_queue_in_device(&fq->queue, FGIO_CRITICAL);
	mutex_unlock(&fgio_queues_lock);
	return count;
}

/* Return: NULL for a queue under another elevator. Context: under RCU. */
static struct fgio_queue_data *find_queue(const struct request_queue *q)
{
	struct fgio_queue_data *fq;

	list_for_each_entry_rcu(fq, &queues, list)
		if (fq->q == q)
			return fq;
	return NULL;
}

/* Whether a queue is under the elevator, and not let through. Context: any. */
bool fgio_schedules(const struct request_queue *q)
{
	struct fgio_queue_data *fq;
	bool yes;

	rcu_read_lock();
	fq = find_queue(q);
	yes = fq && !fgio_lets_through(fq);
	rcu_read_unlock();
	return yes;
}

/* Return: whether anybody wants to know when it ends. Context: any. */
bool fgio_elevator_flush_begins(const struct request_queue *q,
				struct fgio_flush *flush, bool commits)
{
	struct fgio_queue_data *fq;

	rcu_read_lock();
	fq = find_queue(q);
	if (fq)
		fgio_queue_flush_begins(&fq->queue, flush, commits,
					ktime_get_ns());
	rcu_read_unlock();
	return fq;
}

/* The elevator may have changed meanwhile. Context: any. */
void fgio_elevator_flush_ends(const struct request_queue *q,
			      const struct fgio_flush *flush)
{
	struct fgio_queue_data *fq;

	rcu_read_lock();
	fq = find_queue(q);
	if (fq && fgio_queue_flush_ends(&fq->queue, flush, ktime_get_ns()))
		blk_mq_run_hw_queues(fq->q, true);
	rcu_read_unlock();
}

/* Return: whether it moved. Context: the queue's lock is held. */
bool fgio_elevator_promote(struct fgio_queue_data *fq, struct fgio_slot *slot)
{
	if (!fgio_queue_promote(&fq->queue, &slot->request))
		return false;
	promote(fq, slot->rq);
	return true;
}

/* Return: where to go on; 0 when all slots were visited. */
static unsigned int visit_some_slots(struct fgio_domain *domain,
				     unsigned int tag,
				     fgio_slot_visit_t *visit)
{
	struct fgio_queue_data *fq = domain->fq;
	unsigned int end;

	spin_lock(&fq->lock);
	/* The queue may have got another depth since. */
	end = min(tag + SLOTS_AT_ONCE, domain->slot_count);
	for (; tag < end; tag++)
		visit(fq, &domain->slots[tag], tag);
	if (tag >= domain->slot_count)
		tag = 0;
	spin_unlock(&fq->lock);
	return tag;
}

/**
 * fgio_visit_slots() - look at what a queue has, queued or in the device
 * @fq: the queue
 * @visit: called with the queue's lock held, for each slot once, used or not
 *
 * The lock is dropped in between, since thousands of requests may be queued:
 * they come and go meanwhile. Context: fgio_queues_lock is held, so that the
 * domains stay; may sleep.
 */
void fgio_visit_slots(struct fgio_queue_data *fq, fgio_slot_visit_t *visit)
{
	struct fgio_domain *domain;
	unsigned int tag;

	list_for_each_entry(domain, &fq->domains, list) {
		tag = 0;
		do {
			tag = visit_some_slots(domain, tag, visit);
			cond_resched();
		} while (tag);
	}
}

/* A critical request that was queued as the others were. */
static void promote_critical(struct fgio_queue_data *fq, struct fgio_slot *slot,
			     unsigned int tag)
{
	if (slot->request.state == FGIO_REQUEST_QUEUED &&
	    !fq->queue.one_class && class_of_rq(slot->rq) == FGIO_CRITICAL)
		fgio_elevator_promote(fq, slot);
}

static void choose_classes(struct fgio_queue_data *fq)
{
	bool one_class = !READ_ONCE(two_classes) || fgio_lets_through(fq);
	bool changes;

	spin_lock(&fq->lock);
	changes = one_class != fq->queue.one_class;
	if (changes)
		fgio_queue_set_one_class(&fq->queue, one_class);
	spin_unlock(&fq->lock);
	if (changes && !one_class)
		fgio_visit_slots(fq, promote_critical);
}

/*
 * What tells the two classes apart on a queue changed: a switch, or the
 * watchdog. Context: fgio_queues_lock is held.
 */
void fgio_queue_reconsider(struct fgio_queue_data *fq)
{
	choose_classes(fq);
	fgio_admission_reconsider(fq);
	blk_mq_run_hw_queues(fq->q, true);
}

/* Context: may sleep. */
void fgio_queues_reconsider(void)
{
	fgio_visit_queues(fgio_queue_reconsider);
}

static bool promote_one_at(struct fgio_queue_data *fq, sector_t sector)
{
	struct fgio_request *request;

	spin_lock(&fq->lock);
	request = fgio_queue_promote_sector(&fq->queue, sector);
	if (request)
		promote(fq, slot_of_request(request)->rq);
	spin_unlock(&fq->lock);
	return request;
}

int fgio_promote_sector(dev_t disk, sector_t sector, u32 *promoted)
{
	struct fgio_queue_data *fq;
	int error = -ENODEV;

	*promoted = 0;
	mutex_lock(&fgio_queues_lock);
	list_for_each_entry(fq, &queues, list) {
		if (!fq->q->disk || disk_devt(fq->q->disk) != disk)
			continue;
		error = 0;
		while (promote_one_at(fq, sector)) {
			(*promoted)++;
			cond_resched();
		}
		if (*promoted)
			blk_mq_run_hw_queues(fq->q, true);
	}
	mutex_unlock(&fgio_queues_lock);
	return error;
}

static unsigned int tag_depth(struct blk_mq_hw_ctx *hctx)
{
	return max(hctx->sched_tags->bitmap_tags.sb.depth, 2U);
}

/* Requests do not use them now, but somebody may look through them. */
static void replace_slots(struct fgio_domain *domain, struct fgio_slot *slots,
			  unsigned int count)
{
	struct fgio_slot *old = domain->slots;

	spin_lock(&domain->fq->lock);
	domain->slots = slots;
	domain->slot_count = count;
	spin_unlock(&domain->fq->lock);
	kvfree(old);
}

/*
 * The queue is frozen: no slot is in use. Without memory the old slots stay,
 * and requests with higher tags pass in order of arrival.
 */
static void size_domain(struct fgio_domain *domain, struct blk_mq_hw_ctx *hctx)
{
	unsigned int wanted = min(hctx->sched_tags->nr_tags, max_slots);
	struct fgio_slot *slots;
	unsigned int i;

	fgio_admission_resize(&domain->admission, tag_depth(hctx));
	sbitmap_queue_min_shallow_depth(&hctx->sched_tags->bitmap_tags, 1);
	if (wanted <= domain->slot_count)
		return;
	slots = kvcalloc(wanted, sizeof(*slots), GFP_KERNEL);
	if (!slots) {
		pr_warn_ratelimited("fgio: no memory to schedule %u requests, %u stay scheduled\n",
				    wanted, domain->slot_count);
		return;
	}
	for (i = 0; i < wanted; i++) {
		slots[i].domain = domain;
		fgio_list_init(&slots[i].request.link);
	}
	replace_slots(domain, slots, wanted);
}

static void fgio_depth_updated(struct blk_mq_hw_ctx *hctx)
{
	unsigned int noio = memalloc_noio_save();

	size_domain(hctx->sched_data, hctx);
	memalloc_noio_restore(noio);
}

static struct fgio_domain *shared_domain(struct fgio_queue_data *fq,
					 struct blk_mq_hw_ctx *hctx)
{
	if (!(hctx->flags & BLK_MQ_F_TAG_HCTX_SHARED))
		return NULL;
	return list_first_entry_or_null(&fq->domains, struct fgio_domain,
					list);
}

/* Domains are made once, in order, and all removed before new ones are made. */
static req_flags_t next_charged_mark(struct fgio_queue_data *fq)
{
	size_t number = list_count_nodes(&fq->domains) + 1;

	if (number > FGIO_CHARGED_MAX)
		return 0;
	return (__force req_flags_t)(number << FGIO_RQF_CHARGED_SHIFT);
}

static struct fgio_domain *new_domain(struct fgio_queue_data *fq,
				      struct blk_mq_hw_ctx *hctx)
{
	struct fgio_domain *domain;

	domain = kzalloc_node(sizeof(*domain), GFP_KERNEL, hctx->numa_node);
	if (!domain)
		return NULL;
	domain->fq = fq;
	spin_lock_init(&domain->lock);
	fgio_admission_init(&domain->admission, tag_depth(hctx));
	fgio_admission_set_shares(&domain->admission, fq->critical_slots,
				  fq->noncritical_slots);
	size_domain(domain, hctx);
	domain->charged = next_charged_mark(fq);
	mutex_lock(&fgio_queues_lock);
	list_add_tail(&domain->list, &fq->domains);
	mutex_unlock(&fgio_queues_lock);
	return domain;
}

/*
 * The queue is frozen in what follows: memory must be found without I/O, which
 * could be for this very disk.
 */
static int fgio_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	struct fgio_queue_data *fq = queue_data(hctx->queue);
	struct fgio_domain *domain = shared_domain(fq, hctx);
	unsigned int noio = memalloc_noio_save();

	if (!domain)
		domain = new_domain(fq, hctx);
	memalloc_noio_restore(noio);
	if (!domain)
		return -ENOMEM;
	domain->users++;
	hctx->sched_data = domain;
	return 0;
}

static void fgio_exit_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	struct fgio_domain *domain = hctx->sched_data;

	if (--domain->users)
		return;
	mutex_lock(&fgio_queues_lock);
	list_del(&domain->list);
	mutex_unlock(&fgio_queues_lock);
	WARN_ON_ONCE(fgio_admission_has_waiters(&domain->admission));
	WARN_ON_ONCE(domain->admission.admitted[FGIO_CRITICAL] ||
		     domain->admission.admitted[FGIO_NONCRITICAL]);
	kvfree(domain->slots);
	kfree(domain);
}

static struct fgio_queue_data *new_queue_data(struct request_queue *q)
{
	struct fgio_queue_data *fq;
	unsigned int class, direction;

	fq = kzalloc_node(sizeof(*fq), GFP_KERNEL, q->node);
	if (!fq)
		return NULL;
	fq->q = q;
	fq->critical_slots = FGIO_ADMISSION_SLOTS_DEFAULT;
	fq->noncritical_slots = FGIO_ADMISSION_SLOTS_DEFAULT;
	spin_lock_init(&fq->lock);
	INIT_LIST_HEAD(&fq->domains);
	INIT_LIST_HEAD(&fq->unscheduled);
	for (class = 0; class < FGIO_CLASSES; class++)
		for (direction = 0; direction < FGIO_DIRECTIONS; direction++)
			fq->sort[class][direction] = RB_ROOT;
	fgio_queue_init(&fq->queue, !blk_queue_nonrot(q));
	hrtimer_init(&fq->retry_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	fq->retry_timer.function = retry;
	return fq;
}

static void announce_queue(struct fgio_queue_data *fq)
{
	mutex_lock(&fgio_queues_lock);
	list_add_tail_rcu(&fq->list, &queues);
	WRITE_ONCE(queue_count, queue_count + 1);
	choose_classes(fq);
	mutex_unlock(&fgio_queues_lock);
	fgio_counters_add_queue(fq);
	fgio_watchdog_queue_came();
}

static void withdraw_queue(struct fgio_queue_data *fq)
{
	fgio_counters_remove_queue(fq);
	mutex_lock(&fgio_queues_lock);
	list_del_rcu(&fq->list);
	WRITE_ONCE(queue_count, queue_count - 1);
	mutex_unlock(&fgio_queues_lock);
	synchronize_rcu();
}

static int init_sched(struct request_queue *q, struct elevator_type *type)
{
	struct elevator_queue *eq = elevator_alloc(q, type);
	struct fgio_queue_data *fq;

	if (!eq)
		return -ENOMEM;
	fq = new_queue_data(q);
	if (!fq) {
		kobject_put(&eq->kobj);
		return -ENOMEM;
	}
	eq->elevator_data = fq;
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	/* wbt delays writes by type, before fgio could see who waits. */
	fgio_mark_wbt_unwanted(eq, true);
	fgio_wbt_disable(q);
	q->elevator = eq;
	announce_queue(fq);
	return 0;
}

static int fgio_init_sched(struct request_queue *q, struct elevator_type *type)
{
	unsigned int noio = memalloc_noio_save();
	int error = init_sched(q, type);

	memalloc_noio_restore(noio);
	return error;
}

static void fgio_exit_sched(struct elevator_queue *eq)
{
	struct fgio_queue_data *fq = eq->elevator_data;

	withdraw_queue(fq);
	hrtimer_cancel(&fq->retry_timer);
	WARN_ON_ONCE(fq->queue.queued[FGIO_CRITICAL] ||
		     fq->queue.queued[FGIO_NONCRITICAL]);
	WARN_ON_ONCE(fgio_queue_in_device(&fq->queue, FGIO_CRITICAL) ||
		     fgio_queue_in_device(&fq->queue, FGIO_NONCRITICAL));
	fgio_mark_wbt_unwanted(eq, false);
	fgio_wbt_enable(fq->q);
	kfree(fq);
}

static struct elevator_type fgio_elevator = {
	.ops = {
		.init_sched = fgio_init_sched,
		.exit_sched = fgio_exit_sched,
		.init_hctx = fgio_init_hctx,
		.exit_hctx = fgio_exit_hctx,
		.depth_updated = fgio_depth_updated,
		.bio_merge = fgio_bio_merge,
		.request_merge = fgio_request_merge,
		.request_merged = fgio_request_merged,
		.requests_merged = fgio_requests_merged,
		.former_request = elv_rb_former_request,
		.next_request = elv_rb_latter_request,
		.limit_depth = fgio_limit_depth,
		.prepare_request = fgio_prepare_request,
		.finish_request = fgio_finish_request,
		.insert_requests = fgio_insert_requests,
		.dispatch_request = fgio_dispatch_request,
		.has_work = fgio_has_work,
		.completed_request = fgio_completed_request,
		.requeue_request = fgio_requeue_request,
	},
	.elevator_attrs = fgio_tunables,
	.elevator_name = "fgio",
	.elevator_owner = THIS_MODULE,
};

int fgio_elevator_init(void)
{
	return elv_register(&fgio_elevator);
}

void fgio_elevator_exit(void)
{
	elv_unregister(&fgio_elevator);
}
