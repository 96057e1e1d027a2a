/* SPDX-License-Identifier: GPL-2.0 */
/* I/O that is on its way already, made critical because it is waited for. */
#ifndef FGIO_PROMOTE_H
#define FGIO_PROMOTE_H

#include "core/inherit.h"
#include "uapi/fgio.h"

struct fgio_wanted;

/**
 * fgio_promote_all() - promote what the walk found
 * @wanted: I/O that is waited for; @found is set
 * @count: how many
 * @walk: tasks that were boosted
 *
 * One pass over each queue: queued requests that carry a target, and queued
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
