/* SPDX-License-Identifier: GPL-2.0 */
/* Flushes of a drive's volatile cache that foreground tasks wait for. */
#ifndef FGIO_BLOCK_FLUSH_H
#define FGIO_BLOCK_FLUSH_H

#include <linux/types.h>

#include "graph/layer.h"

struct bio;

/**
 * fgio_flush_submitted() - a critical bio with REQ_PREFLUSH is on its way
 * @bio: to a drive with a volatile cache: for others, the block layer cleared
 *	the flag
 *
 * Context: any.
 */
void fgio_flush_submitted(struct bio *bio);

/*
 * Whether a critical flush that a task submitted to such a drive goes on, as far
 * as is known. Context: any.
 */
bool fgio_flush_is_pending(u64 task);

/* Hooks alone: sees flushes end, and records no wait. */
extern const struct fgio_layer fgio_flush_layer;

#endif /* FGIO_BLOCK_FLUSH_H */
