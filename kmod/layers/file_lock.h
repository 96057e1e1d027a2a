/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locks and leases of files. sleep.c finds tasks that sleep in flock(2) and
 * fcntl(2); the object of such a wait is the struct file.
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
};

extern const struct fgio_layer fgio_file_lock_layer;

#endif /* FGIO_FILE_LOCK_H */
