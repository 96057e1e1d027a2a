// SPDX-License-Identifier: GPL-2.0
/*
 * Turns the fair shares of a queue on and off. With shares, all requests are in
 * one queue for the device, also where it has several hardware queues: which
 * group is next is one decision for the whole drive. Slots are divided among
 * groups as well, those of each tag set.
 */
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "block/admission.h"
#include "block/groups.h"
#include "block/queues.h"
#include "block/share.h"
#include "compat/compat.h"
#include "graph/probe.h"

/*
 * Time that requests in the drive have to complete, and until they are waited
 * for again: a task may leave a polled one there for as long as it likes.
 */
#define DRAIN_MS 1000
#define DRAIN_AGAIN_NS (60ULL * NSEC_PER_SEC)

/*
 * Memory for the groups of each tag set, which stay while the queue is under
 * the elevator. Without it, slots are not divided. The memory must be found
 * without I/O, which could be for this very disk.
 */
static void make_slot_groups(struct fgio_queue_data *fq)
{
	unsigned int noio = memalloc_noio_save();
	struct fgio_tag_set *tag_set;
	bool all = true;

	list_for_each_entry(tag_set, &fq->tag_sets, list) {
		if (!tag_set->groups)
			tag_set->groups = kvzalloc(sizeof(*tag_set->groups),
						   GFP_KERNEL);
		all &= !!tag_set->groups;
	}
	memalloc_noio_restore(noio);
	if (!all)
		pr_warn_ratelimited("no memory to divide slots among cgroups\n");
}

static void divide_slots(struct fgio_queue_data *fq, bool on)
{
	struct fgio_tag_set *tag_set;
	unsigned long flags;

	list_for_each_entry(tag_set, &fq->tag_sets, list) {
		spin_lock_irqsave(&tag_set->lock, flags);
		fgio_admission_stop_dividing(tag_set);
		if (on)
			fgio_admission_use_groups(&tag_set->admission,
						  tag_set->groups);
		spin_unlock_irqrestore(&tag_set->lock, flags);
	}
}

static void use_hardware_queues(struct fgio_queue_data *fq, bool use)
{
	struct fgio_tag_set *tag_set;

	if (!fq->all_hw)
		return;
	WRITE_ONCE(fq->hw, use ? fq->all_hw : NULL);
	list_for_each_entry(tag_set, &fq->tag_sets, list)
		tag_set->hw = use ? tag_set->own_hw : NULL;
	fgio_queue_set_hw(&fq->queue, use ? fq->hw_queues : NULL,
			  use ? fq->q->nr_hw_queues : 1);
	if (use)
		blk_queue_flag_clear(QUEUE_FLAG_SQ_SCHED, fq->q);
	else
		blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, fq->q);
}

/*
 * Context: the queue has no request, and dispatches none. Its timers do not
 * run: only dispatch starts them.
 */
static void change(struct fgio_queue_data *fq, bool on)
{
	hrtimer_cancel(&fq->retry_timer);
	hrtimer_cancel(&fq->turn_timer);
	mutex_lock(&fgio_queues_lock);
	use_hardware_queues(fq, !on);
	divide_slots(fq, on);
	if (!on)
		fgio_groups_stop_sharing(fq);
	else
		fgio_shares_init(&fq->shares, !blk_queue_nonrot(fq->q));
	spin_lock(&fq->lock);
	fgio_queue_set_shares(&fq->queue, on ? &fq->shares : NULL);
	spin_unlock(&fq->lock);
	WRITE_ONCE(fq->shared, on);
	mutex_unlock(&fgio_queues_lock);
}

void fgio_share_switch(struct fgio_queue_data *fq, bool on)
{
	struct request_queue *q = fq->q;

	if (on == fq->shared || ktime_get_ns() < fq->drain_after_ns)
		return;
	/* Held while the queue comes under an elevator or leaves it. */
	if (!mutex_trylock(&q->sysfs_lock))
		return;
	if (on)
		make_slot_groups(fq);
	blk_freeze_queue_start(q);
	if (blk_mq_freeze_queue_wait_timeout(q, msecs_to_jiffies(DRAIN_MS)) >
	    0) {
		blk_mq_quiesce_queue(q);
		change(fq, on);
		blk_mq_unquiesce_queue(q);
	} else {
		fq->drain_after_ns = ktime_get_ns() + DRAIN_AGAIN_NS;
	}
	blk_mq_unfreeze_queue(q);
	mutex_unlock(&q->sysfs_lock);
	if (on == fq->shared)
		fgio_probe_tenants(on);
}

void fgio_share_remove_queue(struct fgio_queue_data *fq)
{
	if (fq->shared)
		fgio_probe_tenants(false);
}
