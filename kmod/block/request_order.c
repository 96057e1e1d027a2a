// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "base/setting.h"
#include "block/queues.h"
#include "block/request_order.h"
#include "core/request_id.h"
#include "graph/wait.h"
#include "who/tag.h"
#include "who/thread_flag.h"
#include "who/uring.h"

unsigned int fgio_request_policy = FGIO_DEFAULT_request_order;

static void choose(struct fgio_queue_data *fq, void *unused)
{
	fgio_request_order_choose(fq);
}

static int set_policy(const char *text, const struct kernel_param *param)
{
	int error = param_set_uint_minmax(text, param,
					  FGIO_LEAST_request_order,
					  FGIO_MOST_request_order);

	BUILD_BUG_ON(FGIO_MOST_request_order != FGIO_REQUEST_POLICIES - 1);
	if (!error)
		fgio_visit_queues(choose, NULL);
	return error;
}

static const struct kernel_param_ops policy_ops = {
	.set = set_policy,
	.get = param_get_uint,
};

module_param_cb(request_order, &policy_ops, &fgio_request_policy, 0644);

/* ---- ids ---- */

/* Whether @served is of an earlier request than @rank, or that has none. */
static bool goes_before(const struct fgio_served *served,
			const struct fgio_rank *rank)
{
	return !rank->id || fgio_request_id_before(served->id, rank->id);
}

static void take_id(struct fgio_rank *rank, u64 task)
{
	struct fgio_served served;

	if (!task || !fgio_tag_request_of(task, &served) ||
	    !goes_before(&served, rank))
		return;
	rank->id = served.id;
	rank->deadline_ms = served.deadline_ms;
	rank->parts = served.parts;
}

void fgio_request_order_prepare(struct fgio_slot *slot)
{
	struct fgio_rank *rank = &slot->request.rank;
	u64 task = (u64)current;

	if (!fgio_tag_count())
		return;
	take_id(rank, fgio_task_boosted_for(task));
	if (unlikely(current->flags & PF_IO_WORKER))
		task = fgio_uring_owner_of(current);
	take_id(rank, task);
}

/*
 * One that is critical has its place by its own id. One that was dispatched or
 * completed since it was found has none any more.
 */
void fgio_request_order_inherit(struct fgio_slot *slot, u64 waiter)
{
	struct fgio_request *request = &slot->request;

	lockdep_assert_held(fgio_slots_lock(slot->tag_set));
	if (fgio_request_order_on() &&
	    request->state == FGIO_REQUEST_QUEUED &&
	    request->class == FGIO_NONCRITICAL)
		take_id(&request->rank, waiter);
}

/* It may be set, or slewed, at any time. */
void fgio_request_order_tell_time(struct fgio_queue_data *fq)
{
	struct fgio_request_order *order = fq->queue.own.by_request;

	if (order)
		fgio_request_order_set_clock(order,
					     ktime_to_ns(ktime_mono_to_real(0)));
}

/* ---- queues ---- */

/*
 * Made when it is first needed, and stays as long as the queue is under the
 * elevator: requests may be queued by it. The memory must be found without I/O,
 * which could be for this very disk, and at once: others wait for the lock with
 * their disk frozen.
 */
static void make_order(struct fgio_queue_data *fq)
{
	unsigned int noio = memalloc_noio_save();
	struct fgio_request_order *order =
		kvzalloc(sizeof(*order), GFP_KERNEL | __GFP_NORETRY |
						 __GFP_NOWARN);

	memalloc_noio_restore(noio);
	if (!order) {
		pr_warn_ratelimited("no memory to order a disk's I/O by requests\n");
		return;
	}
	fgio_request_order_init(order, FGIO_BY_NONE);
	spin_lock(&fq->lock);
	fgio_hw_queue_set_request_order(&fq->queue.own, order);
	fgio_request_order_tell_time(fq);
	spin_unlock(&fq->lock);
}

void fgio_request_order_choose(struct fgio_queue_data *fq)
{
	struct fgio_hw_queue *own = &fq->queue.own;
	unsigned int policy = READ_ONCE(fgio_request_policy);

	lockdep_assert_held(&fgio_queues_lock);
	if (policy != FGIO_BY_NONE && !own->by_request)
		make_order(fq);
	if (!own->by_request)
		return;
	spin_lock(&fq->lock);
	fgio_request_order_set_policy(own->by_request, policy);
	spin_unlock(&fq->lock);
	/* Requests that the old policy withheld may go under the new one. */
	fgio_queue_retry(&fq->queue);
	blk_mq_run_hw_queues(fq->q, true);
}

void fgio_request_order_remove(struct fgio_queue_data *fq)
{
	kvfree(fq->queue.own.by_request);
}
