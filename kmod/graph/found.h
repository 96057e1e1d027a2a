/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Blockers that several layers find in the same way: by what acted on an object
 * lately, and by a lock's owner. Context of all: the walk's thread.
 */
#ifndef FGIO_FOUND_H
#define FGIO_FOUND_H

#include "graph/layer.h"

struct mutex;

/*
 * The task with an identity, named for blame. Return: its key, or 0 when it has
 * ended.
 */
u64 fgio_name_identity(u64 identity);

/*
 * The holder of a mutex, named for blame. The mutex may be gone; any lock may
 * be held. Return: 0 when it has no holder.
 */
u64 fgio_mutex_holder(const struct mutex *mutex);

/* Acts on an object are remembered from now on, for the task that waits. */
void fgio_watch_for(const struct fgio_walk_step *step, u64 object);

/*
 * Calls fgio_walk_found() for the tasks that acted on an object within
 * helper_window_ms; with @counts only for those of which it is true.
 */
void fgio_found_by_history(const struct fgio_walk_step *step, u64 object,
			   bool (*counts)(u64 task));

/*
 * The same for a condition: tasks that woke it are only likely to do so again.
 */
void fgio_guessed_by_history(const struct fgio_walk_step *step, u64 object);

#endif /* FGIO_FOUND_H */
