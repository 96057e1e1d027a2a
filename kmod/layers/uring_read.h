/* SPDX-License-Identifier: GPL-2.0 */
/* Buffered reads of io_uring that wait for a locked page, and no task with them. */
#ifndef FGIO_URING_READ_H
#define FGIO_URING_READ_H

#include <linux/types.h>

#include "graph/layer.h"

struct ftrace_ops;
struct ftrace_regs;

/* A look at io_read(): the ring's request may come to wait. */
void fgio_on_uring_read(unsigned long function, unsigned long caller,
			struct ftrace_ops *operations,
			struct ftrace_regs *regs);

/*
 * Looks for the I/O of pages that reads of a ring wait for, whichever thread issued
 * them. @ring may be gone, or anything. Context: the walk's thread.
 */
void fgio_uring_want_pages(const struct fgio_walk_step *step, u64 ring);

/*
 * The same for the ring to which a task submitted last itself (not by a thread that
 * polls), where it sleeps for something else: it may be told so of completions.
 * Context: the same.
 */
void fgio_uring_want_own_pages(const struct fgio_walk_step *step);

#endif /* FGIO_URING_READ_H */
