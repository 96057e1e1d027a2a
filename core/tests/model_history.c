// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The model keeps two kinds of lines, the most recent first: of objects, and of
 * helpers for each. Who acts or is asked about goes to the front, who is last in
 * a full line falls off. Time stamps only say who is within the window.
 */
#include "model_history.h"

#include <string.h>

#include "../history.h"
#include "check.h"

#define OBJECTS 8
#define TASKS 12
#define LINE 4

struct model_helper {
	uint64_t task;
	uint64_t at_ns;
};

struct model_object {
	uint64_t object;
	unsigned int count;
	struct model_helper helpers[LINE];
};

struct play {
	struct fgio_history_set set;
	uint64_t now_ns;
	unsigned int count;
	struct model_object objects[LINE];
};

static struct model_object *model_find(struct play *play, uint64_t object)
{
	for (unsigned int i = 0; i < play->count; i++)
		if (play->objects[i].object == object)
			return &play->objects[i];
	return NULL;
}

/* To the front of the line, new if need be. */
static struct model_object *model_use(struct play *play, uint64_t object)
{
	struct model_object *found = model_find(play, object);
	struct model_object first = { .object = object };
	unsigned int behind;

	if (found) {
		first = *found;
		behind = (unsigned int)(found - play->objects);
	} else {
		behind = play->count < LINE ? play->count++ : LINE - 1;
	}
	memmove(play->objects + 1, play->objects,
		behind * sizeof(play->objects[0]));
	play->objects[0] = first;
	return &play->objects[0];
}

static void model_act(struct model_object *object, uint64_t task,
		      uint64_t now_ns)
{
	unsigned int behind;

	for (behind = 0; behind < object->count; behind++)
		if (object->helpers[behind].task == task)
			break;
	if (behind == object->count && object->count < LINE)
		object->count++;
	else if (behind == object->count)
		behind = LINE - 1;
	memmove(object->helpers + 1, object->helpers,
		behind * sizeof(object->helpers[0]));
	object->helpers[0] = (struct model_helper){ task, now_ns };
}

static void model_forget(struct model_object *object, uint64_t task)
{
	for (unsigned int i = 0; i < object->count; i++) {
		if (object->helpers[i].task != task)
			continue;
		object->count--;
		memmove(object->helpers + i, object->helpers + i + 1,
			(object->count - i) * sizeof(object->helpers[0]));
		return;
	}
}

static void play_note(struct play *play, uint64_t object, uint64_t task,
		      bool only_watched)
{
	fgio_history_note(&play->set, object, task, play->now_ns, only_watched);
	if (model_find(play, object) || !only_watched)
		model_act(model_use(play, object), task, play->now_ns);
}

static void play_helpers(struct play *play, uint64_t object, uint64_t window_ns)
{
	uint64_t tasks[FGIO_HELPERS];
	unsigned int count = fgio_history_helpers(&play->set, object,
						  play->now_ns, window_ns,
						  tasks);
	struct model_object *model;
	unsigned int expected = 0;

	if (!model_find(play, object)) {
		CHECK(!count);
		return;
	}
	model = model_use(play, object);
	while (expected < model->count &&
	       play->now_ns - model->helpers[expected].at_ns <= window_ns)
		expected++;
	CHECK(count == expected);
	for (unsigned int i = 0; i < count; i++)
		CHECK(tasks[i] == model->helpers[i].task);
}

static void play_forget(struct play *play, uint64_t task)
{
	fgio_history_forget(&play->set, task);
	for (unsigned int i = 0; i < play->count; i++)
		model_forget(&play->objects[i], task);
}

static void play_operation(struct play *play, uint8_t operation, uint8_t value)
{
	uint64_t object = 1 + operation / 16 % OBJECTS;
	uint64_t task = 1 + value % TASKS;

	/* No two things happen at once: who is first would be open. */
	play->now_ns++;
	switch (operation % 16) {
	case 0: case 1:
		fgio_history_watch(&play->set, object, play->now_ns);
		model_use(play, object);
		break;
	case 2: case 3: case 4: case 5: case 6: case 7:
		play_note(play, object, task, true);
		break;
	case 8: case 9:
		play_note(play, object, task, false);
		break;
	case 10: case 11: case 12:
		play_helpers(play, object, value);
		break;
	case 13:
		play_forget(play, task);
		break;
	case 14:
		/* Nobody and nothing: no effect. */
		fgio_history_watch(&play->set, 0, play->now_ns);
		fgio_history_note(&play->set, 0, task, play->now_ns, false);
		fgio_history_note(&play->set, object, 0, play->now_ns, false);
		fgio_history_forget(&play->set, 0);
		play_helpers(play, 0, UINT64_MAX);
		break;
	default:
		play->now_ns += value;
	}
}

static void check_always(struct play *play)
{
	CHECK(!fgio_history_watched(&play->set, 0));
	for (uint64_t object = 1; object <= OBJECTS; object++)
		CHECK(fgio_history_watched(&play->set, object) ==
		      (model_find(play, object) != NULL));
}

void model_history_play(const uint8_t *script, size_t length)
{
	struct play play = { .now_ns = 1 };

	for (size_t at = 0; at + 1 < length; at += 2) {
		play_operation(&play, script[at], script[at + 1]);
		check_always(&play);
	}
	for (uint64_t object = 1; object <= OBJECTS; object++)
		play_helpers(&play, object, UINT64_MAX);
}
