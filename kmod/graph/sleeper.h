/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of a task that sleeps. */
#ifndef FGIO_SLEEPER_H
#define FGIO_SLEEPER_H

#include "graph/layer.h"

struct task_struct;

/* The waiter's memory is current's; only resident pages can be read. */
typedef void (*fgio_look_fn)(struct task_struct *waiter,
			     const struct fgio_wait *wait, void *finding);

/**
 * fgio_sleeper_look() - read the memory of a task that sleeps
 * @step: the task, and its sleep
 * @look: called if it still sleeps, with its memory as current's
 * @finding: passed to @look
 *
 * @look reads resident pages alone, without I/O of its own, and without
 * mmap_lock, whose holder may wait for I/O.
 *
 * Return: whether @look was called. Context: the walk's thread.
 */
bool fgio_sleeper_look(const struct fgio_walk_step *step, fgio_look_fn look,
		       void *finding);

#endif /* FGIO_SLEEPER_H */
