/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Which waits of foreground tasks have a place in the table of waits as walks
 * saw them. A task has a place in the set of its hash from the first walk that
 * sees its wait; the place is free again when the wait ends, or walks do not see
 * it any more.
 *
 * A wait that is seen never gives way to another one, or in a full set each
 * would end the notes of the next, and none would have any. One that finds no
 * place is refused, and the set says so of waits as old.
 *
 * Locking: the caller serialises. Nothing here sleeps, allocates or loops beyond
 * one set.
 */
#ifndef FGIO_CORE_SEEN_H
#define FGIO_CORE_SEEN_H

#include "types.h"

#define FGIO_SEEN_PLACES 8U

/**
 * struct fgio_seen_set - the places of one hash; zeroes are an empty one
 * @tasks: the task of each; 0: free
 * @walks: number of the last walk that saw its wait
 * @refused_ns: when a wait was refused last; 0: never
 */
struct fgio_seen_set {
	u64 tasks[FGIO_SEEN_PLACES];
	u32 walks[FGIO_SEEN_PLACES];
	u64 refused_ns;
};

/* Return: the place of @task (not 0); FGIO_SEEN_PLACES if it has none. */
static inline u32 fgio_seen_find(const struct fgio_seen_set *set, u64 task)
{
	u32 place;

	for (place = 0; place < FGIO_SEEN_PLACES; place++)
		if (set->tasks[place] == task)
			break;
	return place;
}

/* Whether no walk saw it since the one numbered @since, so that it is over. */
static inline bool fgio_seen_is_over(const struct fgio_seen_set *set, u32 place,
				     u32 since)
{
	return !set->tasks[place] || (s32)(set->walks[place] - since) < 0;
}

/**
 * fgio_seen_look() - a walk sees a wait
 * @set: of the task's hash
 * @task: the task, not 0
 * @walk: number of the walk; numbers wrap
 * @since: the first walk of those in which all waits that last were seen
 * @now_ns: the time
 *
 * Return: the task's place, which it may have had before; FGIO_SEEN_PLACES if
 * others have them all.
 */
static inline u32 fgio_seen_look(struct fgio_seen_set *set, u64 task, u32 walk,
				 u32 since, u64 now_ns)
{
	u32 place = fgio_seen_find(set, task);

	if (place == FGIO_SEEN_PLACES)
		for (place = 0; place < FGIO_SEEN_PLACES; place++)
			if (fgio_seen_is_over(set, place, since))
				break;
	if (place == FGIO_SEEN_PLACES) {
		set->refused_ns = now_ns;
		return place;
	}
	set->tasks[place] = task;
	set->walks[place] = walk;
	return place;
}

/* The wait at this place has ended. */
static inline void fgio_seen_end(struct fgio_seen_set *set, u32 place)
{
	set->tasks[place] = 0;
}

/* Whether a wait without a place, begun at @since_ns, may have been refused. */
static inline bool fgio_seen_refused(const struct fgio_seen_set *set,
				     u64 since_ns)
{
	return set->refused_ns > since_ns;
}

#endif /* FGIO_CORE_SEEN_H */
