/* SPDX-License-Identifier: GPL-2.0 */
/* The elevator's work on requests: merging, order and dispatch. */
#ifndef FGIO_ELEVATOR_H
#define FGIO_ELEVATOR_H

#include "block/queue.h"

struct elevator_mq_ops;

/* Sets the operations on requests, and admission's. */
void fgio_elevator_add_operations(struct elevator_mq_ops *operations);

/*
 * A queued request becomes critical. Return: whether it moved. Context: the
 * queue's lock is held.
 */
bool fgio_elevator_promote(struct fgio_queue_data *fq, struct fgio_slot *slot);

/*
 * On a shared drive, a queued request is charged to the group of a task that
 * waits for it. @waiter: the task's key. Context: the queue's lock is held.
 */
void fgio_elevator_recharge(struct fgio_queue_data *fq, struct fgio_slot *slot,
			    u64 waiter);

/*
 * FGIO_IOC_PROMOTE: queued requests of a disk at a sector become critical.
 * @promoted: out: their number. Return: 0, or -ENODEV when the disk is not
 * under the elevator. Context: may sleep.
 */
int fgio_promote_sector(dev_t disk, sector_t sector, u32 *promoted);

/*
 * Whether a queue tells the two classes apart, by the switch and the watchdog.
 * Context: fgio_queues_lock is held; may sleep.
 */
void fgio_elevator_choose_classes(struct fgio_queue_data *fq);

/* The callback of fgio_queue_reconsider(). */
void fgio_elevator_reconsider(struct fgio_queue_data *fq);

/* Return: NULL for a request that fgio does not schedule. */
static inline struct fgio_slot *fgio_slot_of(struct request *rq)
{
	return rq->rq_flags & FGIO_RQF_OURS ? rq->elv.priv[0] : NULL;
}

static inline struct fgio_slot *
fgio_slot_of_request(struct fgio_request *request)
{
	return container_of(request, struct fgio_slot, request);
}

/*
 * Decides the class of a request that is to be queued. Return: false if it is
 * to pass unscheduled. Context: the lock under which it is to be queued is
 * held.
 */
bool fgio_elevator_decide_class(struct fgio_queue_data *fq, struct request *rq);

/* The class of a request, whatever it was queued as. */
enum fgio_class fgio_elevator_class_of(struct request *rq);

/* Sets core's view of a request of which the class is decided. */
void fgio_elevator_describe(struct request *rq);

/*
 * Notes what a request carries: once it is dispatched, its bios may complete at
 * any time. Context: the lock under which it was queued is held.
 */
void fgio_elevator_remember_target(struct request *rq);

/* Runs the queue in which withheld requests may go. Context: any. */
void fgio_elevator_run(struct fgio_queue_data *fq, u64 now_ns);

/*
 * Runs the queue again at the time that core sets, even if no request
 * completes. Context: the queue's lock is held.
 */
void fgio_elevator_retry_later(struct fgio_queue_data *fq, u64 now_ns);

/*
 * The queue's retry_timer: requests withheld from the device may go now.
 * Context: hard interrupt.
 */
enum hrtimer_restart fgio_elevator_retry(struct hrtimer *timer);

/*
 * The queue's turn_timer: the hardware queue that has the turn is late. Context:
 * hard interrupt.
 */
enum hrtimer_restart fgio_elevator_pass_turn(struct hrtimer *timer);

#endif /* FGIO_ELEVATOR_H */
