/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits for completions of io_uring. sleep.c finds tasks that sleep in
 * io_uring_enter(2); the object of such a wait is the ring's io_ring_ctx.
 */
#ifndef FGIO_LAYERS_URING_H
#define FGIO_LAYERS_URING_H

#include <linux/types.h>

#include "graph/layer.h"

struct task_struct;

/*
 * The ring of io_uring_enter(2), by its arguments @fd and @flags; 0 when it is
 * not found. @task is current, or lives under RCU and may have left the call.
 * Context: as fgio_file_at().
 */
u64 fgio_uring_of_call(struct task_struct *task, u32 fd, u32 flags);

extern const struct fgio_layer fgio_uring_layer;

#endif /* FGIO_LAYERS_URING_H */
