// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Places of waits as walks saw them: a wait that is seen keeps its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../seen.h"
#include "check.h"

#define STEPS 20000
#define TASKS 24

struct model {
	struct fgio_seen_set set;
	bool waits[TASKS];
	/* Its place since the first walk that saw this wait. */
	u32 places[TASKS];
	u64 since_ns[TASKS];
};

static void end_wait(struct model *model, u32 task)
{
	u32 place = fgio_seen_find(&model->set, task + 1);

	assert_int_equal(place, model->places[task]);
	if (place < FGIO_SEEN_PLACES)
		fgio_seen_end(&model->set, place);
	else
		assert_true(fgio_seen_refused(&model->set,
					      model->since_ns[task]));
	model->waits[task] = false;
	model->places[task] = FGIO_SEEN_PLACES;
}

static u32 count_places(const struct model *model)
{
	u32 count = 0;

	for (u32 task = 0; task < TASKS; task++)
		count += model->waits[task] &&
			 model->places[task] < FGIO_SEEN_PLACES;
	return count;
}

static void look(struct model *model, u32 task, u32 walk, u32 since, u64 now_ns)
{
	u32 place = fgio_seen_look(&model->set, task + 1, walk, since, now_ns);

	if (model->places[task] < FGIO_SEEN_PLACES)
		assert_int_equal(place, model->places[task]);
	for (u32 other = 0; other < TASKS; other++)
		assert_true(other == task || !model->waits[other] ||
			    place == FGIO_SEEN_PLACES ||
			    model->places[other] != place);
	model->places[task] = place;
}

static void look_at_all(struct model *model, u32 walk, u64 now_ns)
{
	for (u32 task = 0; task < TASKS; task++)
		if (model->waits[task])
			look(model, task, walk, walk - 1, now_ns);
}

/*
 * Waits begin and end at any time, thrice as many as there are places at most;
 * the numbers of walks wrap. Of some, the end is not told. A turn takes two walks.
 */
static void test_a_wait_keeps_its_place(void **state)
{
	uint64_t random = fresh_seed("keeps");
	u32 walk = UINT32_MAX - STEPS / 2;
	struct model model = {};

	(void)state;
	for (u32 task = 0; task < TASKS; task++)
		model.places[task] = FGIO_SEEN_PLACES;
	for (u64 now_ns = 1; now_ns < STEPS; now_ns += 2) {
		u32 task = (u32)(next_random(&random) % TASKS);

		if (model.waits[task] && next_random(&random) % 2) {
			model.waits[task] = false;
			model.places[task] = FGIO_SEEN_PLACES;
		} else if (model.waits[task]) {
			end_wait(&model, task);
		} else {
			model.waits[task] = true;
			model.since_ns[task] = now_ns - 1;
		}
		/* One whose end was not told is in the way for a turn. */
		for (u32 last = walk + 3; walk != last; walk++)
			look_at_all(&model, walk, now_ns);
		for (u32 i = 0; i < TASKS; i++)
			assert_true(!model.waits[i] ||
				    model.places[i] < FGIO_SEEN_PLACES ||
				    count_places(&model) == FGIO_SEEN_PLACES);
	}
}

/* The control: a place of a wait that no walk saw for a turn is another one's. */
static void test_a_wait_that_is_over_gives_way(void **state)
{
	struct fgio_seen_set set = {};
	u64 task;

	(void)state;
	for (task = 1; task <= FGIO_SEEN_PLACES; task++)
		assert_true(fgio_seen_look(&set, task, 10, 9, 1) <
			    FGIO_SEEN_PLACES);
	assert_int_equal(fgio_seen_look(&set, task, 10, 9, 5),
			 FGIO_SEEN_PLACES);
	assert_true(fgio_seen_refused(&set, 4));
	assert_false(fgio_seen_refused(&set, 5));
	for (task = 2; task <= FGIO_SEEN_PLACES; task++)
		fgio_seen_look(&set, task, 12, 11, 6);
	assert_int_equal(fgio_seen_look(&set, 100, 12, 11, 6), 0);
	assert_int_equal(fgio_seen_find(&set, 1), FGIO_SEEN_PLACES);
	assert_int_equal(fgio_seen_look(&set, 101, 12, 11, 7),
			 FGIO_SEEN_PLACES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_wait_keeps_its_place),
		cmocka_unit_test(test_a_wait_that_is_over_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
