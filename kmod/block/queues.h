/* SPDX-License-Identifier: GPL-2.0 */
/* The request queues under the elevator. */
#ifndef FGIO_QUEUES_H
#define FGIO_QUEUES_H

#include <linux/mutex.h>

#include "block/queue.h"

/* Protects the list of queues, and each queue's list of tag sets. */
extern struct mutex fgio_queues_lock;

/* Context: any. */
bool fgio_queues_exist(void);
unsigned int fgio_queue_count(void);

/* Return: NULL for a queue under another elevator. Context: under RCU. */
struct fgio_queue_data *fgio_queue_find(const struct request_queue *q);

/* Whether a queue is under the elevator, and not let through. Context: any. */
bool fgio_schedules(const struct request_queue *q);

typedef void fgio_queue_visit_t(struct fgio_queue_data *fq, void *data);

/*
 * Calls @visit for each queue; its tag sets stay, too. Exported for lab/.
 * Context: may sleep.
 */
void fgio_visit_queues(fgio_queue_visit_t *visit, void *data);

typedef void fgio_slot_visit_t(struct fgio_queue_data *fq,
			       struct fgio_slot *slot, unsigned int tag);

/**
 * fgio_visit_slots() - visit the requests of a queue, queued or in the device
 * @fq: the queue
 * @visit: called with fgio_slots_lock() held, for each slot once, used or not
 *
 * The lock is dropped in between, since thousands of requests may be queued:
 * they come and go meanwhile. Context: fgio_queues_lock is held, so that the
 * tag sets stay; may sleep.
 */
void fgio_visit_slots(struct fgio_queue_data *fq, fgio_slot_visit_t *visit);

/*
 * A switch or the watchdog changed whether a queue has two classes. Context:
 * fgio_queues_lock is held; may sleep.
 */
void fgio_queue_reconsider(struct fgio_queue_data *fq);

/* The same on all queues. Context: may sleep. */
void fgio_queues_reconsider(void);

/*
 * A queue comes under the elevator, or leaves it; after the second call no
 * reader under RCU has it. Context: may sleep; for the first call,
 * fgio_queues_lock is held.
 */
void fgio_queues_add(struct fgio_queue_data *fq);
void fgio_queues_remove(struct fgio_queue_data *fq);

/* @change: called by fgio_queue_reconsider(). */
void fgio_queues_init(void (*change)(struct fgio_queue_data *fq));

#endif /* FGIO_QUEUES_H */
