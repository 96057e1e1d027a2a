/* SPDX-License-Identifier: GPL-2.0 */
/* Turns the fair shares of a queue on and off. */
#ifndef FGIO_SHARE_H
#define FGIO_SHARE_H

#include "block/queue.h"

/**
 * fgio_share_switch() - share a drive among groups, or stop
 * @fq: the queue; stays under the elevator
 * @on: whether
 *
 * The queue is empty for a moment: I/O waits until those in the drive have
 * completed. If they do not soon, nothing changes; call again. Context: may
 * sleep; one call at a time for a queue.
 */
void fgio_share_switch(struct fgio_queue_data *fq, bool on);

/* A queue leaves the elevator, and is looked at no more. Context: any. */
void fgio_share_remove_queue(struct fgio_queue_data *fq);

#endif /* FGIO_SHARE_H */
