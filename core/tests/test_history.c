// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The properties of the wakers' history, one by one, then random scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../history.h"
#include "check.h"
#include "model_history.h"

#define SECOND 1000000000ULL
#define ME 1
#define OTHER 2
#define FLOOD 100000
#define SCRIPTS 20000
#define SCRIPT_BYTES 512

static void test_the_last_to_signal_comes_first(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_WAKERS];

	(void)state;
	fgio_history_watch(&set, 7, ME, 1);
	fgio_history_note(&set, 7, 101, ME, 2, true);
	fgio_history_note(&set, 7, 102, ME, 3, true);
	fgio_history_note(&set, 7, 101, ME, 4, true);
	assert_int_equal(fgio_history_wakers(&set, 7, 5, SECOND, tasks), 2);
	assert_int_equal(tasks[0], 101);
	assert_int_equal(tasks[1], 102);
}

static void test_only_awaited_objects_get_wakers(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_WAKERS];

	(void)state;
	fgio_history_note(&set, 7, 101, ME, 1, true);
	assert_false(fgio_history_remembered(&set, 7));
	assert_int_equal(fgio_history_wakers(&set, 7, 2, SECOND, tasks), 0);
	fgio_history_note(&set, 7, 101, ME, 3, false);
	assert_true(fgio_history_remembered(&set, 7));
	assert_int_equal(fgio_history_wakers(&set, 7, 4, SECOND, tasks), 1);
}

static void test_the_window(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_WAKERS];

	(void)state;
	fgio_history_note(&set, 7, 101, ME, SECOND, false);
	fgio_history_note(&set, 7, 102, ME, 2 * SECOND, false);
	assert_int_equal(fgio_history_wakers(&set, 7, 2 * SECOND, SECOND,
					     tasks), 2);
	assert_int_equal(fgio_history_wakers(&set, 7, 2 * SECOND + 1, SECOND,
					     tasks), 1);
	assert_int_equal(tasks[0], 102);
	assert_int_equal(fgio_history_wakers(&set, 7, 9 * SECOND, SECOND,
					     tasks), 0);
	/* It is not forgotten: a wider window finds it again. */
	assert_int_equal(fgio_history_wakers(&set, 7, 9 * SECOND, 8 * SECOND,
					     tasks), 2);
}

static unsigned int expected(struct fgio_history_set *set, u64 now_ns)
{
	u64 tasks[FGIO_WAKERS];

	return fgio_history_expected(set, 7, now_ns, SECOND, tasks);
}

/* A client that asks a question each three seconds. */
static void test_who_acted_last_is_expected_again(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 now_ns;

	(void)state;
	for (u64 i = 1; i < 20; i++) {
		now_ns = 3 * i * SECOND;
		fgio_history_watch(&set, 7, ME, now_ns);
		assert_int_equal(expected(&set, now_ns), i > 1);
		assert_int_equal(expected(&set, now_ns + SECOND), i > 1);
		fgio_history_note(&set, 7, 101, ME, now_ns + SECOND, true);
	}
	assert_int_equal(expected(&set, now_ns + SECOND + FGIO_WATCH_NS), 1);
	assert_int_equal(expected(&set, now_ns + SECOND + FGIO_WATCH_NS + 1), 0);
}

/* The control: one that sleeps again and again is misled for a window. */
static void test_who_stopped_is_expected_for_a_window(void **state)
{
	struct fgio_history_set set = { 0 };

	(void)state;
	fgio_history_note(&set, 7, 101, ME, SECOND, false);
	fgio_history_note(&set, 7, 102, ME, 3 * SECOND, false);
	assert_int_equal(expected(&set, 5 * SECOND), 1);
	assert_int_equal(expected(&set, 6 * SECOND), 1);
	for (u64 ms = 1; ms < 50000; ms++)
		assert_int_equal(expected(&set, 6 * SECOND + ms * 1000000), 0);
}

/* Clocks of different CPUs differ a little. */
static void test_a_note_from_the_future_is_recent(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_WAKERS];

	(void)state;
	fgio_history_note(&set, 7, 101, ME, SECOND + 5, false);
	assert_int_equal(fgio_history_wakers(&set, 7, SECOND, 0, tasks), 1);
}

static void test_the_oldest_waker_gives_way(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_WAKERS];

	(void)state;
	for (u64 i = 0; i < FGIO_WAKERS; i++)
		fgio_history_note(&set, 7, 101 + i, ME, 1 + i, false);
	fgio_history_note(&set, 7, 101, ME, 10, false);
	fgio_history_note(&set, 7, 200, ME, 11, false);
	assert_int_equal(fgio_history_wakers(&set, 7, 12, SECOND, tasks),
			 FGIO_WAKERS);
	assert_int_equal(tasks[0], 200);
	assert_int_equal(tasks[1], 101);
	for (u64 i = 0; i < FGIO_WAKERS; i++)
		assert_int_not_equal(tasks[i], 102);
}

static void test_an_unused_object_gives_way(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_WAKERS];

	(void)state;
	for (u64 i = 0; i < FGIO_SET_OBJECTS; i++)
		fgio_history_note(&set, 1 + i, 101, ME, 1 + i, false);
	assert_int_equal(fgio_history_wakers(&set, 1, 10, SECOND, tasks), 1);
	fgio_history_watch(&set, 50, ME, 11);
	assert_true(fgio_history_remembered(&set, 1));
	assert_false(fgio_history_remembered(&set, 2));
	assert_int_equal(fgio_history_wakers(&set, 50, 12, SECOND, tasks), 0);
}

/* Objects that no other task names, at the rate of a flood. */
static void flood_notes(struct fgio_history_set *set, u32 payer, u64 now_ns)
{
	for (u64 i = 0; i < FLOOD; i++)
		fgio_history_note(set, 1000 + i, 9, payer, now_ns + i, false);
}

static void flood_watches(struct fgio_history_set *set, u32 payer, u64 now_ns)
{
	for (u64 i = 0; i < FLOOD; i++)
		fgio_history_watch(set, 1000 + i, payer, now_ns + i);
}

static unsigned int known(struct fgio_history_set *set, u64 object, u64 now_ns)
{
	u64 tasks[FGIO_WAKERS];

	return fgio_history_wakers(set, object, now_ns, UINT64_MAX, tasks);
}

static void test_traffic_does_not_push_out_what_is_watched(void **state)
{
	struct fgio_history_set set = { 0 };

	(void)state;
	for (u64 i = 1; i <= FGIO_SET_WATCHED; i++) {
		fgio_history_watch(&set, i, ME, i);
		fgio_history_note(&set, i, 101, ME, i, true);
	}
	flood_notes(&set, OTHER, 10);
	flood_notes(&set, ME, 10 + FLOOD);
	for (u64 i = 1; i <= FGIO_SET_WATCHED; i++)
		assert_int_equal(known(&set, i, SECOND), 1);
	assert_int_equal(set.unwatched, 0);
	/* The control: the same traffic, when the watch is too old. */
	flood_notes(&set, OTHER, 2 * FGIO_WATCH_NS);
	assert_int_equal(known(&set, 1, 2 * FGIO_WATCH_NS), 0);
}

static void test_a_payer_keeps_its_share_of_what_is_not_watched(void **state)
{
	struct fgio_history_set set = { 0 };

	(void)state;
	for (u64 i = 1; i <= FGIO_SET_OBJECTS / 2; i++)
		fgio_history_note(&set, i, 101, ME, i, false);
	flood_notes(&set, OTHER, 10);
	for (u64 i = 1; i <= FGIO_SET_OBJECTS / 2; i++)
		assert_int_equal(known(&set, i, 20 + FLOOD), 1);
	/* The control: its own traffic pushes out its own. */
	flood_notes(&set, ME, 30 + FLOOD);
	assert_int_equal(known(&set, 1, 40 + 2 * FLOOD), 0);
}

static void test_a_payer_keeps_its_share_of_what_is_watched(void **state)
{
	struct fgio_history_set set = { 0 };

	(void)state;
	for (u64 i = 1; i <= FGIO_SET_WATCHED / 2; i++) {
		fgio_history_watch(&set, i, ME, i);
		fgio_history_note(&set, i, 101, ME, i, true);
	}
	flood_watches(&set, OTHER, 10);
	assert_in_range(set.unwatched, 1, FLOOD);
	flood_notes(&set, OTHER, 20 + FLOOD);
	for (u64 i = 1; i <= FGIO_SET_WATCHED / 2; i++)
		assert_int_equal(known(&set, i, SECOND), 1);
	/* The control: its own watches push out its own. */
	flood_watches(&set, ME, SECOND);
	assert_int_equal(known(&set, 1, 2 * SECOND), 0);
}

/* A lock's holder is noted before any task waits, however much is watched. */
static void test_what_is_not_watched_has_room(void **state)
{
	struct fgio_history_set set = { 0 };

	(void)state;
	flood_watches(&set, OTHER, 1);
	fgio_history_note(&set, 7, 101, ME, 2 * FLOOD, false);
	flood_watches(&set, OTHER, 3 * FLOOD);
	flood_notes(&set, OTHER, 5 * FLOOD);
	assert_int_equal(known(&set, 7, SECOND), 1);
}

static void test_a_task_that_is_gone(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_WAKERS];

	(void)state;
	fgio_history_note(&set, 7, 101, ME, 1, false);
	fgio_history_note(&set, 7, 102, ME, 2, false);
	fgio_history_note(&set, 8, 101, ME, 3, false);
	fgio_history_forget(&set, 101);
	assert_int_equal(fgio_history_wakers(&set, 7, 4, SECOND, tasks), 1);
	assert_int_equal(tasks[0], 102);
	assert_int_equal(fgio_history_wakers(&set, 8, 5, SECOND, tasks), 0);
}

static void test_random_scripts_agree_with_the_model(void **state)
{
	uint8_t script[SCRIPT_BYTES];
	uint64_t random = fresh_seed("scripts of histories");

	(void)state;
	for (int round = 0; round < SCRIPTS; round++) {
		fill_random(&random, script, sizeof(script));
		model_history_play(script, sizeof(script));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_to_signal_comes_first),
		cmocka_unit_test(test_only_awaited_objects_get_wakers),
		cmocka_unit_test(test_the_window),
		cmocka_unit_test(test_who_acted_last_is_expected_again),
		cmocka_unit_test(test_who_stopped_is_expected_for_a_window),
		cmocka_unit_test(test_a_note_from_the_future_is_recent),
		cmocka_unit_test(test_the_oldest_waker_gives_way),
		cmocka_unit_test(test_an_unused_object_gives_way),
		cmocka_unit_test(test_traffic_does_not_push_out_what_is_watched),
		cmocka_unit_test(test_a_payer_keeps_its_share_of_what_is_not_watched),
		cmocka_unit_test(test_a_payer_keeps_its_share_of_what_is_watched),
		cmocka_unit_test(test_what_is_not_watched_has_room),
		cmocka_unit_test(test_a_task_that_is_gone),
		cmocka_unit_test(test_random_scripts_agree_with_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
