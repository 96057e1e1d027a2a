/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locks and leases of files. sleep.c finds tasks that sleep in flock(2) and
 * fcntl(2), or between two attempts to get a lock; the object of such a wait is
 * the struct file.
 */
#ifndef FGIO_FILE_LOCK_H
#define FGIO_FILE_LOCK_H

#include <linux/bits.h>

#include "graph/layer.h"

/* The detail of such a wait: the kind of request, the caller's struct flock. */
#define FGIO_FILE_LOCK_ADDRESS GENMASK_ULL(60, 0)
#define FGIO_FILE_LOCK_REQUEST GENMASK_ULL(63, 61)

enum fgio_file_lock_request {
	FGIO_FLOCK_SHARED,
	FGIO_FLOCK_EXCLUSIVE,
	FGIO_POSIX_LOCK,
	FGIO_OFD_LOCK,
	FGIO_LOCK_REFUSED,
};

struct task_struct;

/*
 * A task sleeps for a timer. Return: the file of a lock that it was refused
 * just before; 0: it was not, or has slept since. Context: the task is current,
 * or lives under RCU; any lock may be held.
 */
u64 fgio_file_lock_refused(const struct task_struct *task);

extern const struct fgio_layer fgio_file_lock_layer;

#endif /* FGIO_FILE_LOCK_H */
