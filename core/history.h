/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Helpers by history: who signalled a condition lately will do so again
 * (FAST'17 paper, section 4.2.1, after Cheng et al.'s helper tasks).
 *
 * A fixed table from objects (a condition, a semaphore, a file's pages) to the
 * tasks that acted on them last. Objects that nobody asks about or acts on give
 * way. Objects and tasks are opaque numbers, never dereferenced; zero is neither.
 *
 * Locking: the caller serialises the calls for one set. Nothing here sleeps or
 * allocates.
 */
#ifndef FGIO_CORE_HISTORY_H
#define FGIO_CORE_HISTORY_H

#include "types.h"

#define FGIO_HELPERS 4
#define FGIO_SET_OBJECTS 4

/**
 * struct fgio_helper - a task that acted on an object
 * @task: who; 0 when the entry is free
 * @at_ns: when it did so last
 */
struct fgio_helper {
	u64 task;
	u64 at_ns;
};

/**
 * struct fgio_helped - an object
 * @object: which; 0 when the entry is free
 * @used_ns: when somebody noted or asked last
 * @helpers: who acted on it
 */
struct fgio_helped {
	u64 object;
	u64 used_ns;
	struct fgio_helper helpers[FGIO_HELPERS];
};

/* The objects that hash to one place. */
struct fgio_history_set {
	struct fgio_helped objects[FGIO_SET_OBJECTS];
};

/**
 * fgio_history_watch() - somebody waits for an object: remember it
 * @set: of the object
 * @object: which
 * @now_ns: the time
 *
 * Takes the place of the object that was used longest ago.
 */
void fgio_history_watch(struct fgio_history_set *set, u64 object, u64 now_ns);

/* Whether an object is remembered. Safe without serialisation, as a hint. */
bool fgio_history_watched(const struct fgio_history_set *set, u64 object);

/**
 * fgio_history_note() - a task acts on an object
 * @set: of the object
 * @object: which
 * @task: who; takes the place of the helper that acted longest ago
 * @now_ns: the time
 * @only_watched: do nothing when the object is not remembered
 */
void fgio_history_note(struct fgio_history_set *set, u64 object, u64 task,
		       u64 now_ns, bool only_watched);

/**
 * fgio_history_helpers() - who acted on an object within a window
 * @set: of the object
 * @object: which
 * @now_ns: the time
 * @window_ns: how long ago at most
 * @tasks: out: the most recent first
 *
 * Return: how many.
 */
unsigned int fgio_history_helpers(struct fgio_history_set *set, u64 object,
				  u64 now_ns, u64 window_ns,
				  u64 tasks[FGIO_HELPERS]);

/* A task is gone. */
void fgio_history_forget(struct fgio_history_set *set, u64 task);

#endif /* FGIO_CORE_HISTORY_H */
