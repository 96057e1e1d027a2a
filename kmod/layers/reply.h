/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits for other tasks' messages. sleep.c finds tasks that sleep in
 * system calls which wait for one; the object of such a wait is the struct file,
 * or the waiting task where it waits for several.
 */
#ifndef FGIO_REPLY_H
#define FGIO_REPLY_H

#include <linux/bits.h>

#include "graph/layer.h"

struct task_struct;

/* In the detail of a wait in poll(2): the array, and how much of it is read. */
#define FGIO_POLLED_ADDRESS GENMASK_ULL(55, 0)
#define FGIO_POLLED_COUNT GENMASK_ULL(63, 56)
#define FGIO_POLLED_MAX 8

/*
 * The object of a wait for the file @fd of a task; 0 where no task that wakes it
 * is in its way: a socket that leads to another host, the device of FUSE.
 * Context: as fgio_file_at().
 */
u64 fgio_reply_object(struct task_struct *task, u32 fd);

/**
 * fgio_reply_find() - the tasks that woke a task from waits of this kind lately
 * @step: a wait for completions of a ring, some of which may be messages
 *
 * Context: the walk's thread.
 */
void fgio_reply_find(const struct fgio_walk_step *step);

extern const struct fgio_layer fgio_reply_layer;

#endif /* FGIO_REPLY_H */
