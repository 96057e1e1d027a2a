/* SPDX-License-Identifier: GPL-2.0 */
/* The readers of an rw_semaphore, of which the kernel records the last one. */
#ifndef FGIO_LOCK_READERS_H
#define FGIO_LOCK_READERS_H

#include "graph/layer.h"

/*
 * Calls fgio_walk_guessed() for tasks that slept with a lock, or the object
 * around it, on their stacks when fgio_lock_look_for_readers() looked last, and
 * asks for that to look again. Not for @known, which is no guess. Context: the
 * walk's thread.
 */
void fgio_lock_guess_readers(const struct fgio_walk_step *step, u64 known);

/*
 * Looks for readers of the locks that walks asked for. Return: whether there are
 * any. Context: the walk's thread, between two walks.
 */
bool fgio_lock_look_for_readers(void);

#endif /* FGIO_LOCK_READERS_H */
