/* SPDX-License-Identifier: GPL-2.0 */
/* XFS: its log, and its metadata buffers. */
#ifndef FGIO_XFS_H
#define FGIO_XFS_H

#include "graph/layer.h"

/**
 * fgio_xfs_buffer_io() - the I/O that is in the way of a wait for a semaphore
 * @step: the wait
 *
 * A buffer's lock is a semaphore, which the buffer's I/O holds until it is
 * done. The function that takes it is called for each use of a buffer, and is
 * not hooked: lock.c sees the wait and the task that took the lock last.
 *
 * Context: the walk's thread.
 */
void fgio_xfs_buffer_io(const struct fgio_walk_step *step);

extern const struct fgio_layer fgio_xfs_log_layer;
extern const struct fgio_layer fgio_xfs_buffer_layer;

#endif /* FGIO_XFS_H */
