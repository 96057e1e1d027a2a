/* SPDX-License-Identifier: GPL-2.0 */
/* Turns the fair shares of a queue on and off. */
#ifndef FGIO_SHARE_H
#define FGIO_SHARE_H

#include <linux/atomic.h>

#include "block/queue.h"

extern atomic_t fgio_share_count;

/* Whether any drive is shared. Context: any. */
static inline bool fgio_share_any(void)
{
	return atomic_read(&fgio_share_count);
}

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

/* The queue leaves the elevator. Context: as for exit_sched. */
void fgio_share_remove_queue(struct fgio_queue_data *fq);

#endif /* FGIO_SHARE_H */
