// SPDX-License-Identifier: GPL-2.0
/*
 * The least that an elevator can do: a list under a lock of its own for each
 * hardware queue, first in, first out. It has no classes, merges nothing,
 * counts nothing. What it costs beside none is the block layer's own price of
 * having any elevator: a second set of tags, and a run of the hardware queue
 * for what a plug would have given to the driver. For scripts/queues-guest.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "fgio_private.h"

struct least_queue {
	spinlock_t lock;
	struct list_head requests;
};

/* Context: tasks, also inside schedule(). */
static void least_insert(struct blk_mq_hw_ctx *hctx, struct list_head *list,
			 fgio_insert_flags_t flags)
{
	struct least_queue *queue = hctx->sched_data;

	spin_lock(&queue->lock);
	if (fgio_insert_at_head(flags))
		list_splice_init(list, &queue->requests);
	else
		list_splice_tail_init(list, &queue->requests);
	spin_unlock(&queue->lock);
}

static struct request *least_dispatch(struct blk_mq_hw_ctx *hctx)
{
	struct least_queue *queue = hctx->sched_data;
	struct request *rq;

	spin_lock(&queue->lock);
	rq = list_first_entry_or_null(&queue->requests, struct request,
				      queuelist);
	if (rq)
		list_del_init(&rq->queuelist);
	spin_unlock(&queue->lock);
	return rq;
}

static bool least_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct least_queue *queue = hctx->sched_data;

	return !list_empty_careful(&queue->requests);
}

/* elv_register() wants one. */
static void least_finish(struct request *rq)
{
}

static int least_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	struct least_queue *queue;

	queue = kzalloc_node(sizeof(*queue), GFP_NOIO, hctx->numa_node);
	if (!queue)
		return -ENOMEM;
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->requests);
	hctx->sched_data = queue;
	return 0;
}

static void least_exit_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	kfree(hctx->sched_data);
	hctx->sched_data = NULL;
}

static int least_init(struct request_queue *q, struct elevator_type *type)
{
	struct elevator_queue *eq = elevator_alloc(q, type);

	if (!eq)
		return -ENOMEM;
	blk_queue_flag_clear(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	return 0;
}

static struct elevator_type least = {
	.ops = {
		.init_sched = least_init,
		.init_hctx = least_init_hctx,
		.exit_hctx = least_exit_hctx,
		.insert_requests = least_insert,
		.dispatch_request = least_dispatch,
		.has_work = least_has_work,
		.finish_request = least_finish,
	},
	.elevator_name = "fgio-least",
	.elevator_owner = THIS_MODULE,
};

static int __init least_load(void)
{
	return elv_register(&least);
}
module_init(least_load);

static void __exit least_unload(void)
{
	elv_unregister(&least);
}
module_exit(least_unload);

MODULE_DESCRIPTION("The least that an elevator can do, to compare with");
MODULE_LICENSE("GPL");
