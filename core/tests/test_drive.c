// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The priority that a drive gets, and how long other requests may stand still
 * for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../drive.h"

#define REALTIME 1
#define MS 1000000ULL
#define PATIENCE (FGIO_DRIVE_PATIENCE_NS / MS)

/*
 * The real-time class is seen if the drive is to hurry, and only then; all else
 * is kept.
 */
static void test_what_a_drive_is_told(void **state)
{
	(void)state;
	for (u32 ioprio = 0; ioprio < 0x10000; ioprio++) {
		u16 urgent = fgio_drive_ioprio(true, (u16)ioprio);
		u16 other = fgio_drive_ioprio(false, (u16)ioprio);

		assert_int_equal(urgent >> 13, REALTIME);
		assert_int_not_equal(other >> 13, REALTIME);
		assert_int_equal(urgent & 0x1fff, ioprio & 0x1fff);
		assert_int_equal(other & 0x1fff, ioprio & 0x1fff);
		if (ioprio >> 13 != REALTIME)
			assert_int_equal(other, ioprio);
	}
}

static void test_patience_ends_and_begins_anew(void **state)
{
	struct fgio_drive drive = { 0 };

	(void)state;
	fgio_drive_moved(&drive, 1000 * MS);
	assert_true(fgio_drive_may_hurry(&drive, true, (999 + PATIENCE) * MS));
	assert_false(fgio_drive_may_hurry(&drive, true, (1000 + PATIENCE) * MS));
	assert_false(fgio_drive_may_hurry(&drive, true, 90000 * MS));
	fgio_drive_moved(&drive, 90001 * MS);
	assert_true(fgio_drive_may_hurry(&drive, true, 90002 * MS));
	/* The other CPU's clock is ahead. */
	assert_true(fgio_drive_may_hurry(&drive, true, 90000 * MS));
}

static void test_requests_in_the_drive_do_not_stand_still(void **state)
{
	struct fgio_drive drive = { 0 };

	(void)state;
	fgio_drive_moved(&drive, 1 * MS);
	assert_true(fgio_drive_may_hurry(&drive, false, 90000 * MS));
}

/*
 * A request dispatched without reading the clock counts from the next reading.
 */
static void test_an_unknown_time_is_now(void **state)
{
	struct fgio_drive drive = { 0 };

	(void)state;
	fgio_drive_moved(&drive, 1 * MS);
	assert_true(fgio_drive_may_hurry(&drive, true, 0));
	fgio_drive_moved(&drive, 0);
	assert_true(fgio_drive_may_hurry(&drive, true, 5000 * MS));
	assert_true(fgio_drive_may_hurry(&drive, true, (4999 + PATIENCE) * MS));
	assert_false(fgio_drive_may_hurry(&drive, true, (5000 + PATIENCE) * MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_drive_is_told),
		cmocka_unit_test(test_patience_ends_and_begins_anew),
		cmocka_unit_test(test_requests_in_the_drive_do_not_stand_still),
		cmocka_unit_test(test_an_unknown_time_is_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
