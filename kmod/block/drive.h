/* SPDX-License-Identifier: GPL-2.0 */
/* Hardware priority: the priority command of drives that have one. */
#ifndef FGIO_BLOCK_DRIVE_H
#define FGIO_BLOCK_DRIVE_H

#include "block/queue.h"

/* Whether fgio_drive_set_priority() has anything to do. */
static inline bool fgio_drive_takes_priority(const struct fgio_queue_data *fq,
					     const struct request *rq)
{
	return READ_ONCE(fq->drive_priority) ||
	       fgio_rq_ioprio(rq) & FGIO_IOPRIO_OTHER_HINTS;
}

/**
 * fgio_drive_set_priority() - a request goes to the drive
 * @fq: its queue
 * @slot: its slot
 * @class: its own class, also where the queue has one class for all
 * @now_ns: 0 when the clock was not read
 *
 * Context: the queue's lock is held; the request has just left the queue.
 */
void fgio_drive_set_priority(struct fgio_queue_data *fq, struct fgio_slot *slot,
			     enum fgio_class class, u64 now_ns);

/*
 * The driver gave the request back. Context: any; the request is the caller's.
 */
void fgio_drive_restore_priority(struct fgio_slot *slot);

#endif /* FGIO_BLOCK_DRIVE_H */
