/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ways to find blockers that several layers share: by history, the tasks that
 * acted on an object lately; by a lock's owner; by looking at many tasks. Context
 * of all: the walk's thread.
 */
#ifndef FGIO_FOUND_H
#define FGIO_FOUND_H

#include "core/looks.h"
#include "graph/layer.h"

struct mutex;
struct task_struct;

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
 * again. If no task did within the window, those that did last
 * (fgio_history_expected()). Return: whether any of them lives.
 */
bool fgio_guessed_by_history(const struct fgio_walk_step *step, u64 object);

/* Threads that are guessed of the one process that is in the way. */
#define FGIO_SLEEPERS 8

/*
 * Guesses the threads of a process that sleep for I/O or a lock of the kernel:
 * @most of the first 256. @thread: any of them. Context: RCU.
 */
void fgio_guessed_sleepers_of(const struct fgio_walk_step *step,
			      struct task_struct *thread, unsigned int most);

/*
 * The results of looks that are made after a walk (core/looks.h). Return: the place
 * that has those of @key; FGIO_LOOKS_NONE: there are none yet.
 */
u32 fgio_found_by_looks(struct fgio_looks *looks, u64 key);

/*
 * Makes the look for a key, whose results have a place, and tells of each by
 * fgio_look_found(). Context: RCU.
 */
typedef void fgio_make_look_fn(u32 place, u64 key);

/*
 * A layer's look_further(): makes each look that is due. Return: whether one found
 * others than before. Context: no lock is held.
 */
bool fgio_make_looks(struct fgio_looks *looks, fgio_make_look_fn *make);

/* The look that is being made found a task, or a task at some work: @what. */
void fgio_look_found(u64 what);

#endif /* FGIO_FOUND_H */
