/* SPDX-License-Identifier: GPL-2.0 */
/* Sleeps in system calls, for which no function is hooked. */
#ifndef FGIO_SLEEP_H
#define FGIO_SLEEP_H

#include <linux/types.h>

#include "graph/layer.h"

struct task_struct;

/*
 * A number for the call and the file or memory that a task sleeps for, by its
 * registers. @for_condition: out: it sleeps in futex(2) or its kin, for what is no
 * lock. Return: 0 where the registers cannot be read. What was read counts if the
 * task has slept all the time: as long as the locks of its wake-up are held, mostly.
 * Context: any; the task lives.
 */
u64 fgio_sleep_place(struct task_struct *task, bool *for_condition);

/*
 * The sleep of a task that is in no recorded wait: the seq of @wait has
 * FGIO_SEQ_OUTSIDE. Return: whether it sleeps in such a call. Context: the walk's
 * thread; the task may be gone.
 */
bool fgio_sleep_of(u64 task, struct fgio_wait *wait);

/* Finds the sleeps; the layers of their kinds are in other files. */
extern const struct fgio_layer fgio_sleep_layer;

#endif /* FGIO_SLEEP_H */
