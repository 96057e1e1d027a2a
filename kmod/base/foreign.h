/* SPDX-License-Identifier: GPL-2.0 */
/* Reads of objects that are not fgio's, and that may be gone. */
#ifndef FGIO_FOREIGN_H
#define FGIO_FOREIGN_H

#include <linux/types.h>

struct task_struct;

/*
 * The task whose task_struct is at an address; NULL when no living thread has
 * its there, whatever the memory holds. Context: RCU, which keeps the task; any
 * lock may be held.
 */
struct task_struct *fgio_task_at(u64 address);

/*
 * A word of memory that may be anything, or be no memory at all. Return: 0 when
 * it cannot be read. Context: any.
 */
u64 fgio_peek_word(const void *address);

/*
 * Names an interruptible sleep among those of its task: by how often the task
 * left a processor, with FGIO_SEQ_OUTSIDE. Return: 0 when it does not sleep
 * interruptibly, or is gone. Context: any but NMI; the task need not exist.
 */
u32 fgio_sleep_seq(const struct task_struct *task);

/*
 * Whether a task is still in the sleep of that name. A task that took the place
 * of one that ended has the same name by accident alone; it is then taken for
 * the sleeper until the next walk. Context: as fgio_sleep_seq().
 */
bool fgio_sleep_goes_on(u64 task, u32 seq);

#endif /* FGIO_FOREIGN_H */
