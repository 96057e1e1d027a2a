/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits for other tasks' messages and ends. sleep.c finds tasks that sleep in
 * system calls which wait for one; the object of such a wait is the struct file,
 * or the waiting task where it waits for several.
 */
#ifndef FGIO_REPLY_H
#define FGIO_REPLY_H

#include "graph/layer.h"

struct task_struct;

/*
 * The object of a wait for the file @fd of a task; 0 where no task of this
 * machine is known to wake it: a socket of the network. Context: as
 * fgio_file_at().
 */
u64 fgio_reply_object(const struct task_struct *task, u32 fd);

extern const struct fgio_layer fgio_reply_layer;

#endif /* FGIO_REPLY_H */
