// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The model keeps lines, the most recent first: one of the objects that are
 * watched, one of the others, and one of wakers for each. Use moves an object
 * to the front. A full line loses the last one of the payer that has most in
 * it, counted with the newcomer; the line of the watched loses it to the front
 * of the others.
 */
#include "model_history.h"

#include <string.h>

#include "../history.h"
#include "check.h"

#define OBJECTS 16
#define TASKS 12
#define PAYERS 4
#define WAKERS 4
#define PLACES 8
#define WATCHED_MAX 6

struct model_waker {
	uint64_t task;
	uint64_t at_ns;
};

struct model_object {
	uint64_t object;
	uint64_t used_ns;
	uint64_t watched_ns;
	bool late;
	uint64_t late_ns;
	uint32_t payer;
	unsigned int count;
	struct model_waker wakers[WAKERS];
};

struct line {
	unsigned int count;
	struct model_object objects[PLACES + 1];
};

struct play {
	struct fgio_history_set set;
	uint64_t now_ns;
	uint32_t demoted;
	struct line watched;
	struct line others;
};

static struct model_object *in_line(struct line *line, uint64_t object)
{
	for (unsigned int i = 0; i < line->count; i++)
		if (line->objects[i].object == object)
			return &line->objects[i];
	return NULL;
}

static struct model_object *model_find(struct play *play, uint64_t object)
{
	struct model_object *found = in_line(&play->watched, object);

	return found ? found : in_line(&play->others, object);
}

static struct model_object take_out(struct line *line,
				    struct model_object *at)
{
	struct model_object taken = *at;

	line->count--;
	memmove(at, at + 1,
		(size_t)(line->objects + line->count - at) * sizeof(*at));
	return taken;
}

/* Where its time puts it: @by_use or by when it was watched. */
static struct model_object *put_in(struct line *line,
				   struct model_object object, bool by_use)
{
	unsigned int at = line->count++;

	CHECK(line->count <= PLACES);
	while (at && (by_use ? line->objects[at - 1].used_ns < object.used_ns :
			       line->objects[at - 1].watched_ns <
				       object.watched_ns)) {
		line->objects[at] = line->objects[at - 1];
		at--;
	}
	line->objects[at] = object;
	return &line->objects[at];
}

static struct model_object *model_victim(struct line *line, uint32_t newcomer)
{
	unsigned int shares[PAYERS] = { 0 };
	unsigned int most = 0, at;

	shares[newcomer]++;
	for (at = 0; at < line->count; at++)
		shares[line->objects[at].payer]++;
	for (at = 0; at < line->count; at++)
		if (shares[line->objects[at].payer] > most)
			most = shares[line->objects[at].payer];
	for (at = line->count; at-- > 0;)
		if (shares[line->objects[at].payer] == most)
			return &line->objects[at];
	CHECK(!"a line with a victim");
	return NULL;
}

/* Watches that are too old end by themselves. */
static void model_age(struct play *play)
{
	struct line *watched = &play->watched;

	for (unsigned int at = watched->count; at-- > 0;)
		if (play->now_ns - watched->objects[at].watched_ns >
		    FGIO_WATCH_NS)
			put_in(&play->others,
			       take_out(watched, &watched->objects[at]), true);
}

static struct model_object model_new(struct play *play, uint64_t object,
				     uint32_t payer)
{
	if (play->watched.count + play->others.count == PLACES)
		take_out(&play->others, model_victim(&play->others, payer));
	return (struct model_object){ .object = object, .payer = payer };
}

static void model_demote(struct play *play, uint32_t payer)
{
	if (play->watched.count < WATCHED_MAX)
		return;
	put_in(&play->others,
	       take_out(&play->watched, model_victim(&play->watched, payer)),
	       true);
	play->demoted++;
}

static void model_watch(struct play *play, uint64_t object, uint32_t payer)
{
	struct model_object *found = in_line(&play->watched, object);
	struct model_object changed;

	if (found) {
		changed = take_out(&play->watched, found);
	} else {
		model_demote(play, payer);
		found = in_line(&play->others, object);
		changed = found ? take_out(&play->others, found) :
				  model_new(play, object, payer);
		changed.payer = payer;
	}
	changed.watched_ns = play->now_ns;
	changed.used_ns = play->now_ns;
	put_in(&play->watched, changed, false);
}

/* New if need be; NULL if it is not to be. */
static struct model_object *model_use(struct play *play, uint64_t object,
				      uint32_t payer, bool only_remembered)
{
	struct model_object *found = in_line(&play->watched, object);
	struct model_object changed;

	if (found) {
		found->used_ns = play->now_ns;
		return found;
	}
	found = in_line(&play->others, object);
	if (!found && only_remembered)
		return NULL;
	changed = found ? take_out(&play->others, found) :
			  model_new(play, object, payer);
	changed.used_ns = play->now_ns;
	return put_in(&play->others, changed, true);
}

static void model_act(struct model_object *object, uint64_t task,
		      uint64_t now_ns)
{
	unsigned int behind;

	for (behind = 0; behind < object->count; behind++)
		if (object->wakers[behind].task == task)
			break;
	if (behind == object->count && object->count < WAKERS)
		object->count++;
	else if (behind == object->count)
		behind = WAKERS - 1;
	memmove(object->wakers + 1, object->wakers,
		behind * sizeof(object->wakers[0]));
	object->wakers[0] = (struct model_waker){ task, now_ns };
	object->late = false;
}

static void model_forget(struct model_object *object, uint64_t task)
{
	for (unsigned int i = 0; i < object->count; i++) {
		if (object->wakers[i].task != task)
			continue;
		object->count--;
		memmove(object->wakers + i, object->wakers + i + 1,
			(object->count - i) * sizeof(object->wakers[0]));
		return;
	}
}

static void play_note(struct play *play, uint64_t object, uint64_t task,
		      uint32_t payer, bool only_remembered)
{
	struct model_object *model;

	fgio_history_note(&play->set, object, task, payer, play->now_ns,
			  only_remembered);
	model = model_use(play, object, payer, only_remembered);
	if (model)
		model_act(model, task, play->now_ns);
}

static void play_wakers(struct play *play, uint64_t object, uint64_t window_ns)
{
	uint64_t tasks[FGIO_WAKERS];
	unsigned int count = fgio_history_wakers(&play->set, object,
						 play->now_ns, window_ns,
						 tasks);
	struct model_object *model;
	unsigned int expected = 0;

	model = model_use(play, object, 0, true);
	if (!model) {
		CHECK(!count);
		return;
	}
	while (expected < model->count &&
	       play->now_ns - model->wakers[expected].at_ns <= window_ns)
		expected++;
	CHECK(count == expected);
	for (unsigned int i = 0; i < count; i++)
		CHECK(tasks[i] == model->wakers[i].task);
}

/* Return: how many of the wakers count. */
static unsigned int model_expected(struct model_object *model, uint64_t now_ns,
				   uint64_t window_ns)
{
	uint64_t last_ns = model->wakers[0].at_ns;
	uint64_t until_ns = now_ns;
	unsigned int count = 0;

	if (now_ns - last_ns > window_ns) {
		if (!model->late)
			model->late_ns = now_ns;
		model->late = true;
		if (now_ns - model->late_ns > window_ns)
			return 0;
		until_ns = last_ns;
	}
	while (count < model->count &&
	       until_ns - model->wakers[count].at_ns <= window_ns)
		count++;
	return count;
}

static void play_expected(struct play *play, uint64_t object,
			  uint64_t window_ns)
{
	uint64_t tasks[FGIO_WAKERS];
	unsigned int count = fgio_history_expected(&play->set, object,
						   play->now_ns, window_ns,
						   tasks);
	struct model_object *model = model_use(play, object, 0, true);

	if (!model || !model->count ||
	    play->now_ns - model->wakers[0].at_ns > FGIO_WATCH_NS) {
		CHECK(!count);
		return;
	}
	CHECK(count == model_expected(model, play->now_ns, window_ns));
	for (unsigned int i = 0; i < count; i++)
		CHECK(tasks[i] == model->wakers[i].task);
}

static void forget_in(struct line *line, uint64_t task)
{
	for (unsigned int i = 0; i < line->count; i++)
		model_forget(&line->objects[i], task);
}

static void play_forget(struct play *play, uint64_t task)
{
	fgio_history_forget(&play->set, task);
	forget_in(&play->watched, task);
	forget_in(&play->others, task);
}

/* Task 0 and object 0: no effect. */
static void play_nothing(struct play *play, uint64_t object, uint64_t task)
{
	fgio_history_watch(&play->set, 0, 1, play->now_ns);
	fgio_history_note(&play->set, 0, task, 1, play->now_ns, false);
	fgio_history_note(&play->set, object, 0, 1, play->now_ns, false);
	fgio_history_forget(&play->set, 0);
	play_wakers(play, 0, UINT64_MAX);
}

static void play_operation(struct play *play, uint8_t operation, uint8_t value)
{
	uint64_t object = 1 + operation / 16 % OBJECTS;
	uint64_t task = 1 + value % TASKS;
	uint32_t payer = value / TASKS % PAYERS;

	/* No two events at once: their order would be undefined. */
	play->now_ns++;
	model_age(play);
	switch (operation % 16) {
	case 0: case 1: case 2:
		fgio_history_watch(&play->set, object, payer, play->now_ns);
		model_watch(play, object, payer);
		break;
	case 3: case 4: case 5: case 6:
		play_note(play, object, task, payer, true);
		break;
	case 7: case 8: case 9:
		play_note(play, object, task, payer, false);
		break;
	case 10:
		play_wakers(play, object, value);
		break;
	case 11: case 12:
		/* One window, but for a few: it is a setting. */
		play_expected(play, object, value < 250 ? 40 : value % 10);
		break;
	case 13:
		play_forget(play, task);
		break;
	case 14:
		play_nothing(play, object, task);
		break;
	default:
		/* Some of them end watches. */
		play->now_ns += value % 8 ? value : FGIO_WATCH_NS / 4;
		model_age(play);
	}
}

static void check_always(struct play *play)
{
	CHECK(!fgio_history_remembered(&play->set, 0));
	for (uint64_t object = 1; object <= OBJECTS; object++)
		CHECK(fgio_history_remembered(&play->set, object) ==
		      (model_find(play, object) != NULL));
	CHECK(play->set.unwatched == play->demoted);
}

void model_history_play(const uint8_t *script, size_t length)
{
	struct play play = { .now_ns = 1 };

	for (size_t at = 0; at + 1 < length; at += 2) {
		play_operation(&play, script[at], script[at + 1]);
		check_always(&play);
	}
	for (uint64_t object = 1; object <= OBJECTS; object++)
		play_wakers(&play, object, UINT64_MAX);
}
