// SPDX-License-Identifier: GPL-2.0
/*
 * A device with many hardware queues has its requests queued for each of them,
 * under a lock of its own. core/hw_queue.c decides; this file carries its
 * decisions out. What they share, the device's lock protects, which nests in a
 * hardware queue's.
 *
 * Contexts are those of elevator.c. Nothing is merged here: plugging did that.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>

#include "base/trace.h"
#include "block/drive.h"
#include "block/elevator.h"
#include "block/hw_queue.h"

static void insert(struct fgio_hw *hw, struct request *rq, bool at_head)
{
	struct fgio_queue_data *fq = hw->fq;
	struct fgio_request *request;

	if (unlikely(!fgio_elevator_decide_class(fq, rq))) {
		list_add_tail(&rq->queuelist, &hw->unscheduled);
		return;
	}
	fgio_elevator_describe(rq);
	request = &fgio_slot_of(rq)->request;
	if (request->class == FGIO_CRITICAL)
		fgio_queue_saw_critical_at(&fq->queue, request->queued_ns);
	fgio_hw_queue_insert(&hw->queue, request, at_head);
}

void fgio_hw_insert(struct fgio_hw *hw, struct list_head *list, bool at_head)
{
	struct request *rq, *next;

	spin_lock(&hw->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		insert(hw, rq, at_head);
	}
	spin_unlock(&hw->lock);
}

void fgio_hw_wait_for_inserts(struct fgio_queue_data *fq)
{
	unsigned int index;

	for (index = 0; index < fq->queue.hw_count; index++) {
		spin_lock(&fq->hw[index].lock);
		spin_unlock(&fq->hw[index].lock);
	}
}

/* Not worth waiting for: the next request may tell as well. */
static void tell_device(struct fgio_hw *hw, struct fgio_request *request,
			u64 now_ns)
{
	if (!fgio_hw_queue_tells(&hw->queue, request, now_ns))
		return;
	if (!spin_trylock(&hw->fq->lock)) {
		fgio_hw_queue_does_not_tell(&hw->queue, request, now_ns);
		return;
	}
	fgio_hw_queue_tell(&hw->queue, request, now_ns);
	spin_unlock(&hw->fq->lock);
}

/* @runs: out: requests of another hardware queue may go now */
static noinline struct fgio_request *ask_device(struct fgio_hw *hw, u64 now_ns,
						bool *runs)
{
	struct fgio_queue_data *fq = hw->fq;
	struct fgio_request *request;
	u64 retry_ns;

	spin_lock(&fq->lock);
	request = fgio_hw_queue_ask(&hw->queue, now_ns);
	retry_ns = fgio_queue_retry_ns(&fq->queue);
	*runs = retry_ns && retry_ns <= now_ns;
	if (!*runs)
		fgio_elevator_retry_later(fq, now_ns);
	spin_unlock(&fq->lock);
	return request;
}

static struct fgio_request *choose(struct fgio_hw *hw, bool *runs)
{
	u64 now_ns = fgio_hw_queue_needs_clock(&hw->queue) ? ktime_get_ns() : 0;
	struct fgio_request *request = fgio_hw_queue_next(&hw->queue, now_ns);

	if (request)
		tell_device(hw, request, now_ns);
	else if (fgio_hw_queue_must_ask(&hw->queue))
		request = ask_device(hw, now_ns ?: ktime_get_ns(), runs);
	return request;
}

/* The priority that the driver sees. */
static void set_priority(struct fgio_queue_data *fq,
			 struct fgio_request *request, struct request *rq)
{
	if (likely(!fgio_drive_takes_priority(fq, rq)))
		return;
	spin_lock(&fq->lock);
	fgio_drive_set_priority(fq, fgio_slot_of_request(request),
				fgio_elevator_class_of(rq), ktime_get_ns());
	spin_unlock(&fq->lock);
}

static struct request *take_scheduled(struct fgio_hw *hw, bool *runs)
{
	struct fgio_request *request = choose(hw, runs);
	struct request *rq;

	if (!request)
		return NULL;
	rq = fgio_slot_of_request(request)->rq;
	hw->dispatched_bytes[request->class] += blk_rq_bytes(rq);
	fgio_elevator_remember_target(rq);
	trace_fgio_dispatch(rq, request->class);
	set_priority(hw->fq, request, rq);
	return rq;
}

struct request *fgio_hw_dispatch(struct fgio_hw *hw)
{
	struct request *rq;
	bool runs = false;

	spin_lock(&hw->lock);
	rq = list_first_entry_or_null(&hw->unscheduled, struct request,
				      queuelist);
	if (unlikely(rq))
		list_del_init(&rq->queuelist);
	else
		rq = take_scheduled(hw, &runs);
	if (rq)
		rq->rq_flags |= RQF_STARTED;
	spin_unlock(&hw->lock);
	if (runs) {
		fgio_queue_retry(&hw->fq->queue);
		fgio_elevator_run(hw->fq, ktime_get_ns());
	}
	return rq;
}

bool fgio_hw_has_work(const struct fgio_hw *hw)
{
	return fgio_hw_queue_has_work(&hw->queue) ||
	       !list_empty_careful(&hw->unscheduled);
}
