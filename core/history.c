// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "history.h"

/* With 0 for the object: a free entry. NULL when there is none. */
static struct fgio_helped *find(struct fgio_history_set *set, u64 object)
{
	unsigned int i;

	for (i = 0; i < FGIO_SET_OBJECTS; i++)
		if (set->objects[i].object == object)
			return &set->objects[i];
	return NULL;
}

static struct fgio_helped *used_longest_ago(struct fgio_history_set *set)
{
	struct fgio_helped *oldest = &set->objects[0];
	unsigned int i;

	for (i = 1; i < FGIO_SET_OBJECTS; i++)
		if (set->objects[i].used_ns < oldest->used_ns)
			oldest = &set->objects[i];
	return oldest;
}

static struct fgio_helped *remember(struct fgio_history_set *set, u64 object)
{
	struct fgio_helped *helped = find(set, 0);
	unsigned int i;

	if (!helped)
		helped = used_longest_ago(set);
	for (i = 0; i < FGIO_HELPERS; i++)
		helped->helpers[i] = (struct fgio_helper){ 0 };
	fgio_store(&helped->object, object);
	return helped;
}

void fgio_history_watch(struct fgio_history_set *set, u64 object, u64 now_ns)
{
	struct fgio_helped *helped;

	if (!object)
		return;
	helped = find(set, object);
	if (!helped)
		helped = remember(set, object);
	helped->used_ns = now_ns;
}

bool fgio_history_watched(const struct fgio_history_set *set, u64 object)
{
	unsigned int i;

	if (!object)
		return false;
	for (i = 0; i < FGIO_SET_OBJECTS; i++)
		if (fgio_load(&set->objects[i].object) == object)
			return true;
	return false;
}

/* The task's own entry, else a free one, else that of who acted longest ago. */
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
		       u64 now_ns, bool only_watched)
{
	struct fgio_helped *helped;

	if (!object || !task)
		return;
	helped = find(set, object);
	if (!helped && only_watched)
		return;
	if (!helped)
		helped = remember(set, object);
	helped->used_ns = now_ns;
	*helper_for(helped, task) = (struct fgio_helper){
		.task = task,
		.at_ns = now_ns,
	};
}

static bool is_within(const struct fgio_helper *helper, u64 now_ns,
		      u64 window_ns)
{
	/* Another CPU may have noted a time just after now_ns. */
	return helper->at_ns >= now_ns || now_ns - helper->at_ns <= window_ns;
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
	struct fgio_helped *helped;
	unsigned int count = 0;
	unsigned int i;

	helped = object ? find(set, object) : NULL;
	if (!helped)
		return 0;
	helped->used_ns = now_ns;
	for (i = 0; i < FGIO_HELPERS; i++) {
		const struct fgio_helper *helper = &helped->helpers[i];

		if (helper->task && is_within(helper, now_ns, window_ns))
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
			if (set->objects[i].helpers[j].task == task)
				set->objects[i].helpers[j].task = 0;
}
