/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits for completions of libaio. sleep.c finds tasks that sleep in
 * io_getevents(2); the detail of such a wait is the address by which the process
 * knows the context (aio_context_t).
 */
#ifndef FGIO_LAYERS_AIO_H
#define FGIO_LAYERS_AIO_H

#include "graph/layer.h"

extern const struct fgio_layer fgio_aio_layer;

#endif /* FGIO_LAYERS_AIO_H */
