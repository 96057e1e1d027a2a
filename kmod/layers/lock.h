/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel locks: mutexes, read-write semaphores and semaphores. */
#ifndef FGIO_LAYERS_LOCK_H
#define FGIO_LAYERS_LOCK_H

#include "graph/layer.h"

extern const struct fgio_layer fgio_lock_layer;

#endif /* FGIO_LAYERS_LOCK_H */
