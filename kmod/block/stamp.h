/* SPDX-License-Identifier: GPL-2.0 */
/* The class of each I/O, from the submitter's context on. */
#ifndef FGIO_STAMP_H
#define FGIO_STAMP_H

#include <linux/types.h>

struct bio;
struct request;

/*
 * A queued request became critical: so do its bios, for merging and drivers.
 * Context: the queue's lock is held.
 */
void fgio_stamp_critical(struct request *rq);

/*
 * A bio comes back in pieces: tasks may wait for it by now, and the next piece
 * may have to wait for a slot. Return: whether it is critical. Context:
 * preemption is off.
 */
bool fgio_stamp_again(struct bio *bio);

/* Whether classes reach the block layer. */
bool fgio_stamp_is_attached(void);

/* Return: as fgio_stamp_is_attached(). */
bool fgio_stamp_init(void);
void fgio_stamp_exit(void);

#endif /* FGIO_STAMP_H */
