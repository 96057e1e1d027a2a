/* SPDX-License-Identifier: GPL-2.0 */
/* Promotes I/O in the block layer that is waited for. */
#ifndef FGIO_PROMOTE_H
#define FGIO_PROMOTE_H

#include "core/inherit.h"
#include "uapi/fgio.h"

struct fgio_wanted;

/**
 * fgio_promote_all() - promote the I/O that the walk looks for
 * @wanted: I/O that is waited for; @found is set
 * @count: length of @wanted
 * @walk: tasks that were boosted
 *
 * One pass over each queue: queued requests that carry wanted I/O, and queued
 * synchronous requests whose submitter is boosted, become critical; boosted
 * tasks that sleep in admission are admitted as critical.
 *
 * Context: the walk's thread; sleeps.
 */
void fgio_promote_all(struct fgio_wanted *wanted, unsigned int count,
		      struct fgio_walk *walk);

/* Totals for FGIO_IOC_STATE. */
void fgio_promote_state(struct fgio_state *state);

/* Return: 0 or -ENOMEM. */
int fgio_promote_init(void);
void fgio_promote_exit(void);

#endif /* FGIO_PROMOTE_H */
