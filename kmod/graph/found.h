/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ways to find blockers that several layers share: by history, the tasks that
 * acted on an object lately; and by a lock's owner. Context of all: the walk's
 * thread.
 */
#ifndef FGIO_FOUND_H
#define FGIO_FOUND_H

#include "graph/layer.h"

struct mutex;

/*
 * Finds the task with an identity and names it for blame. Return: its key, or 0
 * when it has ended.
 */
u64 fgio_name_identity(u64 identity);

/*
 * Finds the holder of a mutex and names it for blame. The mutex may be gone;
 * any lock may be held. Return: its key, or 0 when the mutex has no holder.
 */
u64 fgio_mutex_holder(const struct mutex *mutex);

/* Remembers acts on an object from now on, charged to the waiting task. */
void fgio_watch_for(const struct fgio_walk_step *step, u64 object);

/*
 * Calls fgio_walk_found() for the tasks that acted on an object within
 * helper_window_ms; with @counts, only where that is true of the task.
 */
void fgio_found_by_history(const struct fgio_walk_step *step, u64 object,
			   bool (*counts)(u64 task));

/*
 * The same for a condition, as a guess: a task that signalled it may not do so
 * again.
 */
void fgio_guessed_by_history(const struct fgio_walk_step *step, u64 object);

#endif /* FGIO_FOUND_H */
