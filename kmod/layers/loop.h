/* SPDX-License-Identifier: GPL-2.0 */
/* Waits for the workers of loop devices. */
#ifndef FGIO_LAYERS_LOOP_H
#define FGIO_LAYERS_LOOP_H

#include "graph/layer.h"

/**
 * fgio_loop_find_workers() - the workers that I/O on a loop device waits for
 * @step: the wait
 * @device: its block device; it may be gone, or be none of a loop device
 *
 * Calls fgio_walk_found() for those that execute requests of the device now.
 *
 * Context: the walk's thread.
 */
void fgio_loop_find_workers(const struct fgio_walk_step *step, u64 device);

extern const struct fgio_layer fgio_loop_layer;

#endif /* FGIO_LAYERS_LOOP_H */
