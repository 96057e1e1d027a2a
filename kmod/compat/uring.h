/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where io_uring's private structs (io_uring/io-wq.c) keep what fgio reads: the
 * build finds the offsets in the kernel's BTF, and leaves out those that it has
 * not.
 */
#ifndef FGIO_COMPAT_URING_H
#define FGIO_COMPAT_URING_H

#include <linux/io_uring_types.h>
#include <linux/stddef.h>

#include "compat/compat.h"

/**
 * struct fgio_uring_path - pointers to follow from one object to another
 * @steps: their number; 0: this kernel has no such way
 * @offset: of each pointer in its object
 */
struct fgio_uring_path {
	unsigned int steps;
	size_t offset[3];
};

/* From a worker to the thread of its pool; before 6.3 through one per node. */
static const struct fgio_uring_path fgio_uring_owner_of_worker = {
#if defined(FGIO_IO_WQ_TASK) && defined(FGIO_IO_WORKER_WQ)
	.steps = 2,
	.offset = { FGIO_IO_WORKER_WQ, FGIO_IO_WQ_TASK },
#elif defined(FGIO_IO_WQ_TASK) && defined(FGIO_IO_WORKER_WQE) && \
	defined(FGIO_IO_WQE_WQ)
	.steps = 3,
	.offset = { FGIO_IO_WORKER_WQE, FGIO_IO_WQE_WQ, FGIO_IO_WQ_TASK },
#endif
};

/* From a worker to the work that it executes. */
static const struct fgio_uring_path fgio_uring_work_of_worker = {
#ifdef FGIO_IO_WORKER_WORK
	.steps = 1,
	.offset = { FGIO_IO_WORKER_WORK },
#endif
};

/* From a ring to the thread that polls its submission queue. */
static const struct fgio_uring_path fgio_uring_poller_of_ring = {
#ifdef FGIO_IO_SQ_DATA_THREAD
	.steps = 2,
	.offset = { offsetof(struct io_ring_ctx, sq_data),
		    FGIO_IO_SQ_DATA_THREAD },
#endif
};

/*
 * A ring has a list of nodes, one for each thread that submits to it: where a node
 * is in the list, and names its thread.
 */
#if defined(FGIO_IO_TCTX_NODE_RING) && defined(FGIO_IO_TCTX_NODE_TASK)
#define FGIO_URING_TASK_IN_NODE \
	((long)FGIO_IO_TCTX_NODE_TASK - (long)FGIO_IO_TCTX_NODE_RING)
#else
#define FGIO_URING_TASK_IN_NODE 0
#endif

#endif /* FGIO_COMPAT_URING_H */
