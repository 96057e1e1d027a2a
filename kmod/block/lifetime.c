// SPDX-License-Identifier: GPL-2.0
/*
 * The elevator's type: queues are put under it and taken from it, and their tag
 * sets are made, resized and removed.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/sbitmap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "base/setting.h"
#include "block/admission.h"
#include "block/counters.h"
#include "block/elevator.h"
#include "block/groups.h"
#include "block/lifetime.h"
#include "block/queues.h"
#include "block/request_order.h"
#include "block/tunables.h"
#include "block/watchdog.h"
#include "compat/compat.h"

static unsigned int max_slots = UINT_MAX;
module_param(max_slots, uint, 0444);

static unsigned int tag_depth(struct blk_mq_hw_ctx *hctx)
{
	return max(hctx->sched_tags->bitmap_tags.sb.depth, 2U);
}

/* No request uses the slots now, but the walk may read them. */
static void replace_slots(struct fgio_tag_set *tag_set, struct fgio_slot *slots,
			  unsigned int count)
{
	struct fgio_slot *old = tag_set->slots;

	spin_lock(fgio_slots_lock(tag_set));
	tag_set->slots = slots;
	tag_set->slot_count = count;
	spin_unlock(fgio_slots_lock(tag_set));
	kvfree(old);
}

/*
 * The queue is frozen: no slot is in use. Without memory the old slots stay,
 * and requests with higher tags pass in order of arrival.
 */
static void size_tag_set(struct fgio_tag_set *tag_set,
			 struct blk_mq_hw_ctx *hctx)
{
	unsigned int wanted = min(hctx->sched_tags->nr_tags, max_slots);
	struct fgio_slot *slots;
	unsigned long flags;
	unsigned int i;

	/* critical_slots may be set meanwhile. */
	spin_lock_irqsave(&tag_set->lock, flags);
	fgio_admission_resize(&tag_set->admission, tag_depth(hctx));
	spin_unlock_irqrestore(&tag_set->lock, flags);
	sbitmap_queue_min_shallow_depth(&hctx->sched_tags->bitmap_tags, 1);
	if (wanted <= tag_set->slot_count)
		return;
	slots = kvcalloc(wanted, sizeof(*slots), GFP_KERNEL);
	if (!slots) {
		pr_warn_ratelimited("fgio: no memory to schedule %u requests, %u stay scheduled\n",
				    wanted, tag_set->slot_count);
		return;
	}
	for (i = 0; i < wanted; i++) {
		slots[i].tag_set = tag_set;
		fgio_list_init(&slots[i].request.link);
	}
	replace_slots(tag_set, slots, wanted);
}

static void fgio_depth_updated(struct blk_mq_hw_ctx *hctx)
{
	unsigned int noio = memalloc_noio_save();

	size_tag_set(hctx->sched_data, hctx);
	memalloc_noio_restore(noio);
}

static struct fgio_tag_set *shared_tag_set(struct fgio_queue_data *fq,
					   struct blk_mq_hw_ctx *hctx)
{
	if (!(hctx->flags & BLK_MQ_F_TAG_HCTX_SHARED))
		return NULL;
	return list_first_entry_or_null(&fq->tag_sets, struct fgio_tag_set,
					list);
}

/* Tag sets are made in order, and all removed before new ones are made. */
static req_flags_t next_charged_mark(struct fgio_queue_data *fq)
{
	size_t number = list_count_nodes(&fq->tag_sets) + 1;

	if (number > FGIO_CHARGED_MAX)
		return 0;
	return (__force req_flags_t)(number << FGIO_RQF_CHARGED_SHIFT);
}

static struct fgio_tag_set *new_tag_set(struct fgio_queue_data *fq,
					struct blk_mq_hw_ctx *hctx,
					unsigned int index)
{
	struct fgio_tag_set *tag_set;

	tag_set = kzalloc_node(sizeof(*tag_set), GFP_KERNEL, hctx->numa_node);
	if (!tag_set)
		return NULL;
	tag_set->fq = fq;
	if (fq->hw) {
		tag_set->hw = &fq->hw[index];
		tag_set->own_hw = tag_set->hw;
		tag_set->hw->hctx = hctx;
	}
	spin_lock_init(&tag_set->lock);
	fgio_admission_init(&tag_set->admission, tag_depth(hctx));
	fgio_admission_set_shares(&tag_set->admission, fq->critical_slots,
				  fq->noncritical_slots);
	size_tag_set(tag_set, hctx);
	tag_set->charged = next_charged_mark(fq);
	mutex_lock(&fgio_queues_lock);
	list_add_tail(&tag_set->list, &fq->tag_sets);
	mutex_unlock(&fgio_queues_lock);
	return tag_set;
}

/*
 * The queue is frozen in this call: memory must be allocated without I/O, which
 * could be for this very disk.
 */
static int fgio_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	struct fgio_queue_data *fq = hctx->queue->elevator->elevator_data;
	struct fgio_tag_set *tag_set = shared_tag_set(fq, hctx);
	unsigned int noio = memalloc_noio_save();

	if (!tag_set)
		tag_set = new_tag_set(fq, hctx, index);
	memalloc_noio_restore(noio);
	if (!tag_set)
		return -ENOMEM;
	tag_set->users++;
	hctx->sched_data = tag_set;
	return 0;
}

static void fgio_exit_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	struct fgio_tag_set *tag_set = hctx->sched_data;

	if (--tag_set->users)
		return;
	mutex_lock(&fgio_queues_lock);
	list_del(&tag_set->list);
	mutex_unlock(&fgio_queues_lock);
	WARN_ON_ONCE(fgio_admission_has_waiters(&tag_set->admission));
	WARN_ON_ONCE(tag_set->admission.admitted[FGIO_CRITICAL] ||
		     tag_set->admission.admitted[FGIO_NONCRITICAL]);
	spin_lock_irq(&tag_set->lock);
	fgio_admission_stop_dividing(tag_set);
	spin_unlock_irq(&tag_set->lock);
	kvfree(tag_set->groups);
	kvfree(tag_set->slots);
	kfree(tag_set);
}

static bool hardware_queues = FGIO_DEFAULT_hardware_queues;
module_param(hardware_queues, bool, 0644);

/*
 * The order of requests on a disk that rotates is one for the whole disk, and
 * so are tags that hardware queues share, and the order of users' requests.
 */
static bool has_many_queues(const struct request_queue *q)
{
	return READ_ONCE(hardware_queues) && !fgio_request_order_on() &&
	       q->nr_hw_queues > 1 &&
	       blk_queue_nonrot(q) &&
	       !(q->tag_set->flags & BLK_MQ_F_TAG_HCTX_SHARED);
}

static void init_hw(struct fgio_queue_data *fq, unsigned int index)
{
	struct fgio_hw *hw = &fq->hw[index];

	hw->fq = fq;
	spin_lock_init(&hw->lock);
	INIT_LIST_HEAD(&hw->unscheduled);
	fgio_hw_queue_init(&hw->queue, &fq->queue, index);
	fq->hw_queues[index] = &hw->queue;
}

/*
 * They stay as long as the queue is under the elevator: before their number
 * changes, the block layer takes the elevator away. Without memory, requests
 * are in one queue.
 */
static void make_hw(struct fgio_queue_data *fq)
{
	unsigned int count = fq->q->nr_hw_queues;
	unsigned int index;

	fq->hw = kvcalloc(count, sizeof(*fq->hw), GFP_KERNEL);
	fq->hw_queues = kvcalloc(count, sizeof(*fq->hw_queues), GFP_KERNEL);
	if (!fq->hw || !fq->hw_queues) {
		pr_warn_ratelimited("fgio: no memory for %u hardware queues: requests are in one queue\n",
				    count);
		kvfree(fq->hw);
		fq->hw = NULL;
		return;
	}
	for (index = 0; index < count; index++)
		init_hw(fq, index);
	fq->all_hw = fq->hw;
	fgio_queue_set_hw(&fq->queue, fq->hw_queues, count);
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
	INIT_LIST_HEAD(&fq->tag_sets);
	INIT_LIST_HEAD(&fq->unscheduled);
	for (class = 0; class < FGIO_CLASSES; class++)
		for (direction = 0; direction < FGIO_DIRECTIONS; direction++)
			fq->sort[class][direction] = RB_ROOT;
	fgio_queue_init(&fq->queue, !blk_queue_nonrot(q));
	if (has_many_queues(q))
		make_hw(fq);
	hrtimer_init(&fq->retry_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	fq->retry_timer.function = fgio_elevator_retry;
	hrtimer_init(&fq->turn_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	fq->turn_timer.function = fgio_elevator_pass_turn;
	return fq;
}

static void announce_queue(struct fgio_queue_data *fq)
{
	mutex_lock(&fgio_queues_lock);
	fgio_queues_add(fq);
	fgio_elevator_choose_classes(fq);
	fgio_request_order_choose(fq);
	mutex_unlock(&fgio_queues_lock);
	fgio_counters_add_queue(fq);
	fgio_watchdog_queue_came();
}

static void withdraw_queue(struct fgio_queue_data *fq)
{
	fgio_counters_remove_queue(fq);
	fgio_queues_remove(fq);
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
	/*
	 * Whether one queue serves all hardware contexts. The elevator before
	 * may have left its own answer.
	 */
	if (fq->hw)
		blk_queue_flag_clear(QUEUE_FLAG_SQ_SCHED, q);
	else
		blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	/* wbt delays writes by type, before fgio sees them. */
	fgio_mark_wbt_unwanted(eq, true);
	fgio_wbt_disable(q);
	q->elevator = eq;
	fgio_groups_init_queue(fq);
	announce_queue(fq);
	fgio_groups_add_queue(fq);
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

	fgio_groups_remove_queue(fq);
	withdraw_queue(fq);
	hrtimer_cancel(&fq->retry_timer);
	hrtimer_cancel(&fq->turn_timer);
	WARN_ON_ONCE(fgio_queue_queued(&fq->queue, FGIO_CRITICAL) ||
		     fgio_queue_queued(&fq->queue, FGIO_NONCRITICAL));
	WARN_ON_ONCE(fgio_queue_in_device(&fq->queue, FGIO_CRITICAL) ||
		     fgio_queue_in_device(&fq->queue, FGIO_NONCRITICAL));
	fgio_mark_wbt_unwanted(eq, false);
	fgio_wbt_enable(fq->q);
	fgio_request_order_remove(fq);
	kvfree(fq->hw_queues);
	kvfree(fq->all_hw);
	kfree(fq);
}

static struct elevator_type fgio_elevator = {
	.ops = {
		.init_sched = fgio_init_sched,
		.exit_sched = fgio_exit_sched,
		.init_hctx = fgio_init_hctx,
		.exit_hctx = fgio_exit_hctx,
		.depth_updated = fgio_depth_updated,
	},
	.elevator_attrs = fgio_tunables,
	.elevator_name = "fgio",
	.elevator_owner = THIS_MODULE,
};

int fgio_elevator_init(void)
{
	fgio_queues_init(fgio_elevator_reconsider);
	fgio_elevator_add_operations(&fgio_elevator.ops);
	return elv_register(&fgio_elevator);
}

void fgio_elevator_exit(void)
{
	elv_unregister(&fgio_elevator);
}
