// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What is known of flushes that foreground tasks wait for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../depth_constants.h"
#include "../flush.h"
#include "../queue.h"

#define SECOND 1000000000ULL

static void test_the_next_flush_finds_what_was_written_since(void **state)
{
	struct fgio_flushes flushes = { 0 };
	struct fgio_flush first, second, third;

	(void)state;
	fgio_flush_wrote(&flushes, 80);
	fgio_flush_begin(&flushes, &first, false, 1);
	assert_int_equal(first.left, 80);
	/* The first one is still under way. */
	fgio_flush_begin(&flushes, &second, false, 2);
	assert_int_equal(second.left, 80);
	fgio_flush_end(&flushes, &first, 0, 3);
	fgio_flush_begin(&flushes, &third, false, 4);
	assert_int_equal(third.left, 0);
	/* Writes dispatched meanwhile were not covered. */
	fgio_flush_wrote(&flushes, 72);
	fgio_flush_end(&flushes, &third, 0, 5);
	fgio_flush_begin(&flushes, &first, false, 6);
	assert_int_equal(first.left, 72);
}

static void test_an_early_one_that_ends_late_takes_nothing_back(void **state)
{
	struct fgio_flushes flushes = { .wrote = 1000, .flushed = 1000 };
	struct fgio_flush early, late, next;

	(void)state;
	fgio_flush_begin(&flushes, &early, false, 1);
	fgio_flush_wrote(&flushes, 80);
	fgio_flush_begin(&flushes, &late, false, 2);
	fgio_flush_end(&flushes, &late, 0, 3);
	fgio_flush_end(&flushes, &early, 0, 4);
	fgio_flush_begin(&flushes, &next, false, 5);
	assert_int_equal(next.left, 0);
}

static void test_another_may_come_for_a_while(void **state)
{
	struct fgio_flushes flushes = { 0 };
	struct fgio_flush flush;

	(void)state;
	assert_false(fgio_flush_may_come(&flushes, 1));
	fgio_flush_begin(&flushes, &flush, false, 1);
	fgio_flush_end(&flushes, &flush, 0, 2);
	assert_true(fgio_flush_may_come(&flushes, 1));
	assert_true(fgio_flush_may_come(&flushes, 1 + FLUSH_MEMORY_NS));
	assert_false(fgio_flush_may_come(&flushes, 2 + FLUSH_MEMORY_NS));
}

static void test_under_way_as_long_as_is_usual(void **state)
{
	struct fgio_flushes flushes = { 0 };
	struct fgio_flush flush;
	u64 now_ns = 1;

	(void)state;
	for (int i = 0; i < 100; i++) {
		fgio_flush_begin(&flushes, &flush, false, now_ns);
		now_ns += 8 * MILLISECOND;
		fgio_flush_end(&flushes, &flush, 0, now_ns);
		assert_false(fgio_flush_holds(&flushes, now_ns));
	}
	/* The end of this one is missed. */
	fgio_flush_begin(&flushes, &flush, false, now_ns);
	assert_true(fgio_flush_holds(&flushes, now_ns + 6 * MILLISECOND));
	assert_false(fgio_flush_holds(&flushes, now_ns + 9 * MILLISECOND));
}

/* Back to back, flushes that held writes back would do so for ever. */
static void test_after_one_writes_go_as_long_as_it_takes_alone(void **state)
{
	struct fgio_flushes flushes = { .usual_ns = 8 * MILLISECOND };
	struct fgio_flush flush;

	(void)state;
	fgio_flush_begin(&flushes, &flush, false, 1);
	assert_true(fgio_flush_holds(&flushes, 2));
	fgio_flush_end(&flushes, &flush, 2 * MILLISECOND, MILLISECOND);
	fgio_flush_begin(&flushes, &flush, false, MILLISECOND + 1);
	assert_false(fgio_flush_holds(&flushes, 3 * MILLISECOND - 1));
	assert_true(fgio_flush_holds(&flushes, 3 * MILLISECOND));
	assert_int_equal(flushes.ended, 1);
	assert_int_equal(flushes.took_ns, MILLISECOND - 1);
}

static void test_no_flush_is_waited_for_long(void **state)
{
	struct fgio_flushes flushes = { 0 };
	struct fgio_flush flush;
	u64 now_ns = 1;

	(void)state;
	for (int i = 0; i < 100; i++) {
		fgio_flush_begin(&flushes, &flush, false, now_ns);
		now_ns += 5000 * MILLISECOND;
		fgio_flush_end(&flushes, &flush, 0, now_ns);
	}
	fgio_flush_begin(&flushes, &flush, false, now_ns);
	assert_true(fgio_flush_holds(&flushes, now_ns + 99 * MILLISECOND));
	assert_false(fgio_flush_holds(&flushes, now_ns + 101 * MILLISECOND));
}

/*
 * While a flush is under way, critical I/O is about, whatever completes and
 * whichever other flush ends meanwhile; and no longer than that.
 */
static void test_a_completion_does_not_end_a_flush(void **state)
{
	struct fgio_request critical = { .class = FGIO_CRITICAL, .sectors = 8 };
	struct fgio_flush earlier, later;
	struct fgio_queue queue;
	u64 now_ns = 1 * SECOND;

	(void)state;
	fgio_queue_init(&queue, true);
	fgio_queue_flush_begins(&queue, &earlier, false, now_ns);
	fgio_queue_insert(&queue, &critical, false);
	assert_ptr_equal(fgio_queue_next(&queue, now_ns, NULL), &critical);
	fgio_queue_left_device(&queue, &critical, now_ns + MILLISECOND);
	assert_true(fgio_queue_critical_present(&queue, now_ns + SECOND / 2));
	fgio_queue_flush_begins(&queue, &later, false, now_ns + SECOND / 10);
	fgio_queue_flush_ends(&queue, &earlier, now_ns + SECOND / 5);
	assert_true(fgio_queue_critical_present(&queue, now_ns + SECOND / 2));
	fgio_queue_flush_ends(&queue, &later, now_ns + SECOND / 5);
	assert_true(fgio_queue_critical_present(&queue, now_ns + SECOND / 4));
	assert_false(fgio_queue_critical_present(&queue, now_ns + SECOND / 2));
}

/*
 * It begins after the caller saw that no clock is needed: that is no reason to
 * weigh at time 0, nor to forget it.
 */
static void test_a_flush_begins_beside_dispatch(void **state)
{
	struct fgio_request background[2] = { { .sectors = 8 }, { .sectors = 8 } };
	struct fgio_flush flush;
	struct fgio_queue queue;
	u64 now_ns = 1 * SECOND;

	(void)state;
	fgio_queue_init(&queue, false);
	fgio_queue_insert(&queue, &background[0], false);
	fgio_queue_insert(&queue, &background[1], false);
	assert_false(fgio_queue_needs_clock(&queue));
	fgio_queue_flush_begins(&queue, &flush, false, now_ns);
	assert_ptr_equal(fgio_queue_next(&queue, 0, NULL), &background[0]);
	assert_false(queue.measures);
	assert_int_equal(queue.next_release_ns, 0);
	assert_true(fgio_queue_needs_clock(&queue));
	assert_true(fgio_queue_critical_present(&queue, now_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_next_flush_finds_what_was_written_since),
		cmocka_unit_test(test_another_may_come_for_a_while),
		cmocka_unit_test(test_an_early_one_that_ends_late_takes_nothing_back),
		cmocka_unit_test(test_under_way_as_long_as_is_usual),
		cmocka_unit_test(test_after_one_writes_go_as_long_as_it_takes_alone),
		cmocka_unit_test(test_no_flush_is_waited_for_long),
		cmocka_unit_test(test_a_completion_does_not_end_a_flush),
		cmocka_unit_test(test_a_flush_begins_beside_dispatch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
