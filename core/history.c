// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "history.h"

#define NO_PLACE FGIO_SET_OBJECTS

/* Where an object is; with 0 for it, where there is a free place. */
static unsigned int place_of(const struct fgio_history_set *set, u64 object)
{
	unsigned int place;

	for (place = 0; place < FGIO_SET_OBJECTS; place++)
		if (fgio_load(&set->objects[place]) == object)
			break;
	return place;
}

/* Another CPU may have noted a time just after @now_ns. */
static bool is_within(u64 at_ns, u64 now_ns, u64 window_ns)
{
	return at_ns >= now_ns || now_ns - at_ns <= window_ns;
}

static bool is_watched(const struct fgio_helped *helped, u64 now_ns)
{
	return helped->watched_ns &&
	       is_within(helped->watched_ns, now_ns, FGIO_WATCH_NS);
}

/* The places of objects that are watched, or of those that are not. */
static u32 places_of(const struct fgio_history_set *set, bool watched,
		     u64 now_ns)
{
	unsigned int place;
	u32 places = 0;

	for (place = 0; place < FGIO_SET_OBJECTS; place++)
		if (set->objects[place] &&
		    is_watched(&set->helped[place], now_ns) == watched)
			places |= 1U << place;
	return places;
}

static unsigned int count_of(u32 places)
{
	unsigned int count = 0;

	for (; places; places &= places - 1)
		count++;
	return count;
}

/* How many of these places a payer has, with the one that it asks for. */
static unsigned int share_of(const struct fgio_history_set *set, u32 places,
			     u32 payer, u32 newcomer)
{
	unsigned int share = payer == newcomer;
	unsigned int place;

	for (place = 0; place < FGIO_SET_OBJECTS; place++)
		share += (places >> place & 1) &&
			 set->helped[place].payer == payer;
	return share;
}

/*
 * Which of these places gives way to a newcomer: the oldest one of the payer
 * that has most of them. Return: NO_PLACE when there are none.
 */
static unsigned int victim_of(const struct fgio_history_set *set, u32 places,
			      u32 newcomer, bool watched)
{
	unsigned int victim = NO_PLACE;
	unsigned int most = 0;
	u64 oldest_ns = 0;
	unsigned int place;

	for (place = 0; place < FGIO_SET_OBJECTS; place++) {
		const struct fgio_helped *helped = &set->helped[place];
		u64 at_ns = watched ? helped->watched_ns : helped->used_ns;
		unsigned int share;

		if (!(places >> place & 1))
			continue;
		share = share_of(set, places, helped->payer, newcomer);
		if (share < most || (share == most && at_ns >= oldest_ns))
			continue;
		victim = place;
		most = share;
		oldest_ns = at_ns;
	}
	return victim;
}

/* There is always a place that is free or not watched, see make_watchable(). */
static unsigned int remember(struct fgio_history_set *set, u64 object,
			     u32 payer, u64 now_ns)
{
	unsigned int place = place_of(set, 0);

	if (place == NO_PLACE)
		place = victim_of(set, places_of(set, false, now_ns), payer,
				  false);
	if (place == NO_PLACE)
		return NO_PLACE;
	set->helped[place] = (struct fgio_helped){ .payer = payer };
	fgio_store(&set->objects[place], object);
	return place;
}

/* One more object may be watched afterwards. */
static void make_watchable(struct fgio_history_set *set, u32 payer, u64 now_ns)
{
	u32 watched = places_of(set, true, now_ns);

	if (count_of(watched) < FGIO_SET_WATCHED)
		return;
	set->helped[victim_of(set, watched, payer, true)].watched_ns = 0;
	set->unwatched++;
}

void fgio_history_watch(struct fgio_history_set *set, u64 object, u32 payer,
			u64 now_ns)
{
	struct fgio_helped *helped;
	unsigned int place;

	if (!object)
		return;
	place = place_of(set, object);
	if (place == NO_PLACE || !is_watched(&set->helped[place], now_ns)) {
		make_watchable(set, payer, now_ns);
		if (place == NO_PLACE)
			place = remember(set, object, payer, now_ns);
		if (place == NO_PLACE)
			return;
		set->helped[place].payer = payer;
	}
	helped = &set->helped[place];
	helped->watched_ns = now_ns;
	helped->used_ns = now_ns;
}

bool fgio_history_remembered(const struct fgio_history_set *set, u64 object)
{
	return object && place_of(set, object) != NO_PLACE;
}

/* The task's own entry, else a free one, else the oldest one. */
static struct fgio_helper *helper_for(struct fgio_helped *helped, u64 task)
{
	struct fgio_helper *best = &helped->helpers[0];
	unsigned int i;

	for (i = 0; i < FGIO_HELPERS; i++) {
		struct fgio_helper *helper = &helped->helpers[i];

		if (helper->task == task)
			return helper;
		if (best->task &&
		    (!helper->task || helper->at_ns < best->at_ns))
			best = helper;
	}
	return best;
}

void fgio_history_note(struct fgio_history_set *set, u64 object, u64 task,
		       u32 payer, u64 now_ns, bool only_remembered)
{
	struct fgio_helped *helped;
	unsigned int place;

	if (!object || !task)
		return;
	place = place_of(set, object);
	if (place == NO_PLACE && only_remembered)
		return;
	if (place == NO_PLACE)
		place = remember(set, object, payer, now_ns);
	if (place == NO_PLACE)
		return;
	helped = &set->helped[place];
	helped->used_ns = now_ns;
	*helper_for(helped, task) = (struct fgio_helper){
		.task = task,
		.at_ns = now_ns,
	};
}

/* Keeps @helpers ordered, the most recent first. */
static void insert_by_time(const struct fgio_helper *helpers[FGIO_HELPERS],
			   unsigned int count, const struct fgio_helper *helper)
{
	while (count && helpers[count - 1]->at_ns < helper->at_ns) {
		helpers[count] = helpers[count - 1];
		count--;
	}
	helpers[count] = helper;
}

unsigned int fgio_history_helpers(struct fgio_history_set *set, u64 object,
				  u64 now_ns, u64 window_ns,
				  u64 tasks[FGIO_HELPERS])
{
	const struct fgio_helper *recent[FGIO_HELPERS];
	unsigned int place = object ? place_of(set, object) : NO_PLACE;
	struct fgio_helped *helped;
	unsigned int count = 0;
	unsigned int i;

	if (place == NO_PLACE)
		return 0;
	helped = &set->helped[place];
	helped->used_ns = now_ns;
	for (i = 0; i < FGIO_HELPERS; i++) {
		const struct fgio_helper *helper = &helped->helpers[i];

		if (helper->task &&
		    is_within(helper->at_ns, now_ns, window_ns))
			insert_by_time(recent, count++, helper);
	}
	for (i = 0; i < count; i++)
		tasks[i] = recent[i]->task;
	return count;
}

void fgio_history_forget(struct fgio_history_set *set, u64 task)
{
	unsigned int i, j;

	if (!task)
		return;
	for (i = 0; i < FGIO_SET_OBJECTS; i++)
		for (j = 0; j < FGIO_HELPERS; j++)
			if (set->helped[i].helpers[j].task == task)
				set->helped[i].helpers[j].task = 0;
}
