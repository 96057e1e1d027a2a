/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits for the end of another process: wait4(2), waitid(2), and poll(2) of a
 * pidfd; or until it executes a program: vfork(2). sleep.c finds the tasks that
 * sleep in one of these calls. The object of such a wait is the waiting task, the
 * detail one of these:
 *
 *	0			any child
 *	a thread id		a child, by its id in the waiter's pid namespace
 *	FGIO_CHILD_BY_FILE	and a thread id of the initial pid namespace: the
 *				task of a pidfd
 *	FGIO_CHILD_VFORKED	a child that has the waiter's memory meanwhile
 */
#ifndef FGIO_CHILD_H
#define FGIO_CHILD_H

#include <linux/bits.h>

#include "graph/layer.h"

struct task_struct;

#define FGIO_CHILD_BY_FILE BIT_ULL(32)
#define FGIO_CHILD_VFORKED BIT_ULL(33)

/*
 * The thread id of a pidfd in the initial pid namespace; 0 for other files.
 * Context: as fgio_file_at().
 */
pid_t fgio_child_of_file(struct task_struct *task, u32 fd);

/*
 * Finds the task of a pidfd: a child of the waiter, or one to which the waiter
 * may lend its precedence. Context: the walk's thread.
 */
void fgio_child_find(const struct fgio_walk_step *step, pid_t tid);

/*
 * Guesses those children of a waiter's process that sleep for I/O or a lock of the
 * kernel, if the waiter itself has forked. Context: the walk's thread.
 */
void fgio_child_guess(const struct fgio_walk_step *step);

extern const struct fgio_layer fgio_child_layer;

#endif /* FGIO_CHILD_H */
