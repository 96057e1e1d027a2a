/* SPDX-License-Identifier: GPL-2.0 */
/* Waits for pages, buffers and ranges of files. */
#ifndef FGIO_IO_H
#define FGIO_IO_H

#include "graph/layer.h"

struct kretprobe_instance;

/**
 * fgio_io_not_found() - I/O is neither queued nor in the device
 * @walk: the walk
 * @wanted: the I/O that was looked for
 *
 * A task prepared it and is held up before submitting it: pages are locked or
 * marked before. Or a worker is held up in accounting for it. Tasks that did
 * either for the same file or buffer lately count as its blockers.
 *
 * Context: the walk's thread.
 */
void fgio_io_not_found(struct fgio_walk *walk,
		       const struct fgio_wanted *wanted);

/*
 * The entry of a hook: the current task begins to wait for @pages pages of a
 * file from @first on, at least 1, which are read; as fgio_hook_enter(). A
 * @mapping of 0 is no wait.
 */
int fgio_io_wait_for_pages(struct kretprobe_instance *instance, u64 mapping,
			   u64 first, u64 pages);

/*
 * Looks for direct I/O that completes to a context, whichever thread submitted
 * it: a ring of io_uring, or a context of libaio (block/direct.h); 0 is ignored.
 * Context: the walk's thread.
 */
void fgio_io_want_context(const struct fgio_walk_step *step, u64 context);

/*
 * Whether a task that may have to submit or account for I/O is held up: it
 * waits, or is boosted already. Context: the walk's thread.
 */
bool fgio_io_holds_up(u64 task);

extern const struct fgio_layer fgio_io_layer;

#endif /* FGIO_IO_H */
