/* SPDX-License-Identifier: GPL-2.0 */
/* Waits for the daemon of a FUSE file system. */
#ifndef FGIO_FUSE_H
#define FGIO_FUSE_H

#include "graph/layer.h"

/**
 * fgio_fuse_find_servers() - the threads of a daemon that pages wait for
 * @step: the wait
 * @mapping: the file's; it may be gone, or be no file's of FUSE
 *
 * Calls fgio_walk_found() for those that work on a request about the file; if
 * the request has yet to be taken, for those that work on older ones.
 *
 * Return: whether the file is one of FUSE. Context: the walk's thread.
 */
bool fgio_fuse_find_servers(const struct fgio_walk_step *step, u64 mapping);

extern const struct fgio_layer fgio_fuse_layer;

#endif /* FGIO_FUSE_H */
