/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Critical I/O in the order of the users' requests that it serves
 * (core/request_order.h): whose id an I/O has, and which queues go by ids.
 *
 * The id is that in the submitter's thread flag (struct fgio_word) when its
 * request is allocated. A task that is boosted has the id of the foreground task
 * for which it is, where that is earlier than its own, and so has a queued request
 * that is promoted for one.
 */
#ifndef FGIO_BLOCK_REQUEST_ORDER_H
#define FGIO_BLOCK_REQUEST_ORDER_H

#include <linux/compiler.h>

#include "block/queue.h"

extern unsigned int fgio_request_policy;

/* Whether ids count. Context: any. */
static inline bool fgio_request_order_on(void)
{
	return READ_ONCE(fgio_request_policy) != FGIO_BY_NONE;
}

/*
 * Gives a slot's request, which has no id yet, that of the current task, which
 * allocates it. Context: prepare_request.
 */
void fgio_request_order_prepare(struct fgio_slot *slot);

/*
 * A request that is to be promoted for a waiting task gets its id. @waiter: the
 * task's key. Context: the queue's lock is held.
 */
void fgio_request_order_inherit(struct fgio_slot *slot, u64 waiter);

/* While I/O with ids is queued, the time is told this often. */
#define FGIO_TELL_TIME_NS (10 * NSEC_PER_MSEC)

/* A request with an id is to be queued. Context: the queue's lock is held. */
void fgio_request_order_tell_time(struct fgio_queue_data *fq);

/*
 * A queue follows the setting. Context: fgio_queues_lock is held, the queue may be
 * frozen; may sleep.
 */
void fgio_request_order_choose(struct fgio_queue_data *fq);

/* The queue leaves the elevator: no request is queued. */
void fgio_request_order_remove(struct fgio_queue_data *fq);

/* The policy that orders a queue's requests now. */
static inline u32 fgio_request_order_of(const struct fgio_queue_data *fq)
{
	const struct fgio_request_order *order = fq->queue.own.by_request;

	return order && !fq->hw ? READ_ONCE(order->policy) : FGIO_BY_NONE;
}

#endif /* FGIO_BLOCK_REQUEST_ORDER_H */
