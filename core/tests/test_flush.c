// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What is known of flushes that somebody waits for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../flush.h"

#define MILLISECOND 1000000ULL

static void test_quiet_where_another_took_all_writes(void **state)
{
	struct fgio_flushes flushes = { 0 };
	struct fgio_flush first, second, third;

	(void)state;
	fgio_flush_wrote(&flushes);
	fgio_flush_begin(&flushes, &first, 1);
	assert_false(first.quiet);
	/* The first one is still at it. */
	fgio_flush_begin(&flushes, &second, 2);
	assert_false(second.quiet);
	fgio_flush_end(&flushes, &first, 3);
	fgio_flush_begin(&flushes, &third, 4);
	assert_true(third.quiet);
	/* What went meanwhile was not taken. */
	fgio_flush_wrote(&flushes);
	fgio_flush_end(&flushes, &third, 5);
	fgio_flush_begin(&flushes, &first, 6);
	assert_false(first.quiet);
}

static void test_an_early_one_that_ends_late_takes_nothing_back(void **state)
{
	struct fgio_flushes flushes = { .writes = UINT32_MAX,
					.flushed = UINT32_MAX };
	struct fgio_flush early, late, next;

	(void)state;
	fgio_flush_begin(&flushes, &early, 1);
	fgio_flush_wrote(&flushes);
	fgio_flush_begin(&flushes, &late, 2);
	fgio_flush_end(&flushes, &late, 3);
	fgio_flush_end(&flushes, &early, 4);
	fgio_flush_begin(&flushes, &next, 5);
	assert_true(next.quiet);
}

static void test_under_way_as_long_as_is_usual(void **state)
{
	struct fgio_flushes flushes = { 0 };
	struct fgio_flush flush;
	u64 now_ns = 1;

	(void)state;
	for (int i = 0; i < 100; i++) {
		fgio_flush_begin(&flushes, &flush, now_ns);
		now_ns += 8 * MILLISECOND;
		fgio_flush_end(&flushes, &flush, now_ns);
		assert_false(fgio_flush_under_way(&flushes, now_ns));
	}
	/* The end of this one is missed. */
	fgio_flush_begin(&flushes, &flush, now_ns);
	assert_true(fgio_flush_under_way(&flushes, now_ns + 6 * MILLISECOND));
	assert_false(fgio_flush_under_way(&flushes, now_ns + 9 * MILLISECOND));
}

static void test_no_flush_is_waited_for_long(void **state)
{
	struct fgio_flushes flushes = { 0 };
	struct fgio_flush flush;
	u64 now_ns = 1;

	(void)state;
	for (int i = 0; i < 100; i++) {
		fgio_flush_begin(&flushes, &flush, now_ns);
		now_ns += 5000 * MILLISECOND;
		fgio_flush_end(&flushes, &flush, now_ns);
	}
	fgio_flush_begin(&flushes, &flush, now_ns);
	assert_true(fgio_flush_under_way(&flushes, now_ns + 99 * MILLISECOND));
	assert_false(fgio_flush_under_way(&flushes, now_ns + 101 * MILLISECOND));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quiet_where_another_took_all_writes),
		cmocka_unit_test(test_an_early_one_that_ends_late_takes_nothing_back),
		cmocka_unit_test(test_under_way_as_long_as_is_usual),
		cmocka_unit_test(test_no_flush_is_waited_for_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
