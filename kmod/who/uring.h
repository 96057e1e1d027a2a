/* SPDX-License-Identifier: GPL-2.0 */
/*
 * io_uring's threads, and the threads that they act for. A worker (iou-wrk-*)
 * executes requests of one thread alone, that of its pool. The thread that
 * polls a submission queue (iou-sqp-*) submits for the thread that set it up.
 *
 * The types of the kernel are private: their members are read by the offsets of
 * its type information, and without faults, as of objects that may be gone.
 */
#ifndef FGIO_WHO_URING_H
#define FGIO_WHO_URING_H

#include <linux/types.h>

#include "core/class.h"

struct task_struct;

/*
 * The tag of the thread that a thread of io_uring acts for: a tag of its own
 * (tools tag threads by name) counts only while the switch `uring` is off, or
 * when that thread is not found. Context: any; @thread is current, or lives
 * under RCU.
 */
enum fgio_thread_tag fgio_uring_tag_of(struct task_struct *thread);

/*
 * The address of the thread that a thread of io_uring acts for, or its own where
 * that is not found or the switch `uring` is off; it may be gone. Context: as
 * fgio_uring_tag_of().
 */
u64 fgio_uring_owner_of(struct task_struct *thread);

/*
 * The request that a worker executes now, which may be gone: an address for
 * fgio_peek_word(), or 0. Context: any; @thread lives.
 */
u64 fgio_uring_request_of(const struct task_struct *thread);

/*
 * The address of the thread that polls a ring's submission queue, which may be
 * gone, as the ring; or 0. Context: any.
 */
u64 fgio_uring_poller_of(u64 ring);

/* Threads that submit to one ring, of which more are not looked at. */
#define FGIO_URING_SUBMITTERS 8

/*
 * The addresses of threads that have submitted to a ring, or set it up, the newest
 * first; they may be gone, as the ring. Return: their number. Context: any.
 */
unsigned int fgio_uring_submitters_of(u64 ring,
				      u64 threads[FGIO_URING_SUBMITTERS]);

/* The ring of a request, to be compared, or 0. Context: any. */
u64 fgio_uring_ring_of(u64 request);

/*
 * The file that the current task writes or syncs as a worker: the address of
 * its address_space, or 0. Context: any.
 */
u64 fgio_uring_file_of_current(void);

#endif /* FGIO_WHO_URING_H */
