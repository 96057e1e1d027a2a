// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "history.h"

#define NO_PLACE FGIO_SET_OBJECTS

/* Index of an object; with 0 for the object, of a free place. */
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

static bool is_watched(const struct fgio_history_entry *entry, u64 now_ns)
{
	return entry->watched_ns &&
	       is_within(entry->watched_ns, now_ns, FGIO_WATCH_NS);
}

/* Bits of the places of objects that are watched, or of those that are not. */
static u32 places_of(const struct fgio_history_set *set, bool watched,
		     u64 now_ns)
{
	unsigned int place;
	u32 places = 0;

	for (place = 0; place < FGIO_SET_OBJECTS; place++)
		if (set->objects[place] &&
		    is_watched(&set->entry[place], now_ns) == watched)
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

/* How many of these places a payer has, plus the one that it asks for. */
static unsigned int share_of(const struct fgio_history_set *set, u32 places,
			     u32 payer, u32 newcomer)
{
	unsigned int share = payer == newcomer;
	unsigned int place;

	for (place = 0; place < FGIO_SET_OBJECTS; place++)
		share += (places >> place & 1) &&
			 set->entry[place].payer == payer;
	return share;
}

/*
 * The place that gives way to a newcomer: the oldest one of the payer that has
 * most of them. Return: NO_PLACE if there are none.
 */
static unsigned int victim_of(const struct fgio_history_set *set, u32 places,
			      u32 newcomer, bool watched)
{
	unsigned int victim = NO_PLACE;
	unsigned int most = 0;
	u64 oldest_ns = 0;
	unsigned int place;

	for (place = 0; place < FGIO_SET_OBJECTS; place++) {
		const struct fgio_history_entry *entry = &set->entry[place];
		u64 at_ns = watched ? entry->watched_ns : entry->used_ns;
		unsigned int share;

		if (!(places >> place & 1))
			continue;
		share = share_of(set, places, entry->payer, newcomer);
		if (share < most || (share == most && at_ns >= oldest_ns))
			continue;
		victim = place;
		most = share;
		oldest_ns = at_ns;
	}
	return victim;
}

/* A place is always free or not watched, see make_watchable(). */
static unsigned int remember(struct fgio_history_set *set, u64 object,
			     u32 payer, u64 now_ns)
{
	unsigned int place = place_of(set, 0);

	if (place == NO_PLACE)
		place = victim_of(set, places_of(set, false, now_ns), payer,
				  false);
	if (place == NO_PLACE)
		return NO_PLACE;
	set->entry[place] = (struct fgio_history_entry){ .payer = payer };
	fgio_store(&set->objects[place], object);
	return place;
}

/* Makes sure that one more object may be watched. */
static void make_watchable(struct fgio_history_set *set, u32 payer, u64 now_ns)
{
	u32 watched = places_of(set, true, now_ns);

	if (count_of(watched) < FGIO_SET_WATCHED)
		return;
	set->entry[victim_of(set, watched, payer, true)].watched_ns = 0;
	set->unwatched++;
}

void fgio_history_watch(struct fgio_history_set *set, u64 object, u32 payer,
			u64 now_ns)
{
	struct fgio_history_entry *entry;
	unsigned int place;

	if (!object)
		return;
	place = place_of(set, object);
	if (place == NO_PLACE || !is_watched(&set->entry[place], now_ns)) {
		make_watchable(set, payer, now_ns);
		if (place == NO_PLACE)
			place = remember(set, object, payer, now_ns);
		if (place == NO_PLACE)
			return;
		set->entry[place].payer = payer;
	}
	entry = &set->entry[place];
	entry->watched_ns = now_ns;
	entry->used_ns = now_ns;
}

/* The task's own entry, else a free one, else the oldest one. */
static struct fgio_waker *waker_for(struct fgio_history_entry *entry, u64 task)
{
	struct fgio_waker *best = &entry->wakers[0];
	unsigned int i;

	for (i = 0; i < FGIO_WAKERS; i++) {
		struct fgio_waker *waker = &entry->wakers[i];

		if (waker->task == task)
			return waker;
		if (best->task &&
		    (!waker->task || waker->at_ns < best->at_ns))
			best = waker;
	}
	return best;
}

void fgio_history_note(struct fgio_history_set *set, u64 object, u64 task,
		       u32 payer, u64 now_ns, bool only_remembered)
{
	struct fgio_history_entry *entry;
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
	entry = &set->entry[place];
	entry->used_ns = now_ns;
	entry->late_ns = 0;
	*waker_for(entry, task) = (struct fgio_waker){
		.task = task,
		.at_ns = now_ns,
	};
}

/* Keeps @wakers ordered, the most recent first. */
static void insert_by_time(const struct fgio_waker *wakers[FGIO_WAKERS],
			   unsigned int count, const struct fgio_waker *waker)
{
	while (count && wakers[count - 1]->at_ns < waker->at_ns) {
		wakers[count] = wakers[count - 1];
		count--;
	}
	wakers[count] = waker;
}

/* Return: the object's entry, which is used now; NULL if there is none. */
static struct fgio_history_entry *use(struct fgio_history_set *set, u64 object,
				      u64 now_ns)
{
	unsigned int place = object ? place_of(set, object) : NO_PLACE;

	if (place == NO_PLACE)
		return NULL;
	set->entry[place].used_ns = now_ns;
	return &set->entry[place];
}

static unsigned int list_wakers(const struct fgio_history_entry *entry,
				u64 now_ns, u64 window_ns,
				u64 tasks[FGIO_WAKERS])
{
	const struct fgio_waker *recent[FGIO_WAKERS];
	unsigned int count = 0;
	unsigned int i;

	for (i = 0; i < FGIO_WAKERS; i++) {
		const struct fgio_waker *waker = &entry->wakers[i];

		if (waker->task &&
		    is_within(waker->at_ns, now_ns, window_ns))
			insert_by_time(recent, count++, waker);
	}
	for (i = 0; i < count; i++)
		tasks[i] = recent[i]->task;
	return count;
}

unsigned int fgio_history_wakers(struct fgio_history_set *set, u64 object,
				 u64 now_ns, u64 window_ns,
				 u64 tasks[FGIO_WAKERS])
{
	struct fgio_history_entry *entry = use(set, object, now_ns);

	return entry ? list_wakers(entry, now_ns, window_ns, tasks) : 0;
}

/* Return: when a task acted last; 0 if none that is known did. */
static u64 last_act_ns(const struct fgio_history_entry *entry)
{
	u64 last_ns = 0;
	unsigned int i;

	for (i = 0; i < FGIO_WAKERS; i++)
		if (entry->wakers[i].task && entry->wakers[i].at_ns > last_ns)
			last_ns = entry->wakers[i].at_ns;
	return last_ns;
}

unsigned int fgio_history_expected(struct fgio_history_set *set, u64 object,
				   u64 now_ns, u64 window_ns,
				   u64 tasks[FGIO_WAKERS])
{
	struct fgio_history_entry *entry = use(set, object, now_ns);
	u64 last_ns = entry ? last_act_ns(entry) : 0;

	if (!last_ns || !is_within(last_ns, now_ns, FGIO_WATCH_NS))
		return 0;
	if (is_within(last_ns, now_ns, window_ns))
		return list_wakers(entry, now_ns, window_ns, tasks);
	if (!entry->late_ns)
		entry->late_ns = now_ns;
	if (!is_within(entry->late_ns, now_ns, window_ns))
		return 0;
	return list_wakers(entry, last_ns, window_ns, tasks);
}

void fgio_history_forget(struct fgio_history_set *set, u64 task)
{
	unsigned int i, j;

	if (!task)
		return;
	for (i = 0; i < FGIO_SET_OBJECTS; i++)
		for (j = 0; j < FGIO_WAKERS; j++)
			if (set->entry[i].wakers[j].task == task)
				set->entry[i].wakers[j].task = 0;
}
