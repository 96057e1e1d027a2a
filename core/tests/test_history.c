// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The promises of the helpers' history, one by one, then random scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../history.h"
#include "check.h"
#include "model_history.h"

#define SECOND 1000000000ULL
#define SCRIPTS 20000
#define SCRIPT_BYTES 512

static void test_the_last_to_signal_comes_first(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_HELPERS];

	(void)state;
	fgio_history_watch(&set, 7, 1);
	fgio_history_note(&set, 7, 101, 2, true);
	fgio_history_note(&set, 7, 102, 3, true);
	fgio_history_note(&set, 7, 101, 4, true);
	assert_int_equal(fgio_history_helpers(&set, 7, 5, SECOND, tasks), 2);
	assert_int_equal(tasks[0], 101);
	assert_int_equal(tasks[1], 102);
}

static void test_nobody_is_noted_where_nobody_waits(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_HELPERS];

	(void)state;
	fgio_history_note(&set, 7, 101, 1, true);
	assert_false(fgio_history_watched(&set, 7));
	assert_int_equal(fgio_history_helpers(&set, 7, 2, SECOND, tasks), 0);
	fgio_history_note(&set, 7, 101, 3, false);
	assert_true(fgio_history_watched(&set, 7));
	assert_int_equal(fgio_history_helpers(&set, 7, 4, SECOND, tasks), 1);
}

static void test_the_window(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_HELPERS];

	(void)state;
	fgio_history_note(&set, 7, 101, SECOND, false);
	fgio_history_note(&set, 7, 102, 2 * SECOND, false);
	assert_int_equal(fgio_history_helpers(&set, 7, 2 * SECOND, SECOND,
					      tasks), 2);
	assert_int_equal(fgio_history_helpers(&set, 7, 2 * SECOND + 1, SECOND,
					      tasks), 1);
	assert_int_equal(tasks[0], 102);
	assert_int_equal(fgio_history_helpers(&set, 7, 9 * SECOND, SECOND,
					      tasks), 0);
	/* It is forgotten by nobody: a wider window finds it again. */
	assert_int_equal(fgio_history_helpers(&set, 7, 9 * SECOND, 8 * SECOND,
					      tasks), 2);
}

/* Clocks of different CPUs differ a little. */
static void test_a_note_from_the_future_is_recent(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_HELPERS];

	(void)state;
	fgio_history_note(&set, 7, 101, SECOND + 5, false);
	assert_int_equal(fgio_history_helpers(&set, 7, SECOND, 0, tasks), 1);
}

static void test_who_acted_longest_ago_gives_way(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_HELPERS];

	(void)state;
	for (u64 i = 0; i < FGIO_HELPERS; i++)
		fgio_history_note(&set, 7, 101 + i, 1 + i, false);
	fgio_history_note(&set, 7, 101, 10, false);
	fgio_history_note(&set, 7, 200, 11, false);
	assert_int_equal(fgio_history_helpers(&set, 7, 12, SECOND, tasks),
			 FGIO_HELPERS);
	assert_int_equal(tasks[0], 200);
	assert_int_equal(tasks[1], 101);
	for (u64 i = 0; i < FGIO_HELPERS; i++)
		assert_int_not_equal(tasks[i], 102);
}

static void test_an_unused_object_gives_way(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_HELPERS];

	(void)state;
	for (u64 i = 0; i < FGIO_SET_OBJECTS; i++)
		fgio_history_note(&set, 1 + i, 101, 1 + i, false);
	assert_int_equal(fgio_history_helpers(&set, 1, 10, SECOND, tasks), 1);
	fgio_history_watch(&set, 50, 11);
	assert_true(fgio_history_watched(&set, 1));
	assert_false(fgio_history_watched(&set, 2));
	assert_int_equal(fgio_history_helpers(&set, 50, 12, SECOND, tasks), 0);
}

static void test_a_task_that_is_gone(void **state)
{
	struct fgio_history_set set = { 0 };
	u64 tasks[FGIO_HELPERS];

	(void)state;
	fgio_history_note(&set, 7, 101, 1, false);
	fgio_history_note(&set, 7, 102, 2, false);
	fgio_history_note(&set, 8, 101, 3, false);
	fgio_history_forget(&set, 101);
	assert_int_equal(fgio_history_helpers(&set, 7, 4, SECOND, tasks), 1);
	assert_int_equal(tasks[0], 102);
	assert_int_equal(fgio_history_helpers(&set, 8, 5, SECOND, tasks), 0);
}

static void test_random_scripts_agree_with_the_model(void **state)
{
	uint8_t script[SCRIPT_BYTES];
	uint64_t random = 42;

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
		cmocka_unit_test(test_nobody_is_noted_where_nobody_waits),
		cmocka_unit_test(test_the_window),
		cmocka_unit_test(test_a_note_from_the_future_is_recent),
		cmocka_unit_test(test_who_acted_longest_ago_gives_way),
		cmocka_unit_test(test_an_unused_object_gives_way),
		cmocka_unit_test(test_a_task_that_is_gone),
		cmocka_unit_test(test_random_scripts_agree_with_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
