// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Which I/O is critical: the table of docs/classes.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../class.h"

#define IOPRIO(class, level) ((u16)((class) << 13 | (level)))
#define REALTIME 1
#define BEST_EFFORT 2
#define IDLE 3

static void test_chosen_priorities(void **state)
{
	const enum fgio_thread_tag none = FGIO_THREAD_UNTAGGED;

	(void)state;
	for (unsigned int level = 0; level < 8; level++) {
		assert_int_equal(
			fgio_classify(none, IOPRIO(REALTIME, level), true),
			FGIO_CRITICAL);
		assert_int_equal(
			fgio_classify(none, IOPRIO(BEST_EFFORT, level), true),
			level == 0 ? FGIO_CRITICAL : FGIO_NONCRITICAL);
		assert_int_equal(fgio_classify(none, IOPRIO(IDLE, level), true),
				 FGIO_NONCRITICAL);
	}
	assert_int_equal(fgio_classify(none, 0, true), FGIO_NONCRITICAL);
}

static void test_derived_priorities_say_nothing(void **state)
{
	(void)state;
	assert_int_equal(fgio_classify(FGIO_THREAD_UNTAGGED,
				       IOPRIO(BEST_EFFORT, 0), false),
			 FGIO_NONCRITICAL);
	assert_int_equal(fgio_classify(FGIO_THREAD_UNTAGGED,
				       IOPRIO(REALTIME, 4), false),
			 FGIO_NONCRITICAL);
}

static void test_a_tag_overrules_a_priority(void **state)
{
	(void)state;
	assert_int_equal(fgio_classify(FGIO_THREAD_FOREGROUND, IOPRIO(IDLE, 7),
				       true),
			 FGIO_CRITICAL);
	assert_int_equal(fgio_classify(FGIO_THREAD_BACKGROUND,
				       IOPRIO(REALTIME, 0), true),
			 FGIO_NONCRITICAL);
}

/*
 * A device below judges by the stamp alone, whatever thread submits to it: even
 * if the priority was derived from a nice value and so said nothing.
 */
static void check_stamp(enum fgio_thread_tag tag, u16 ioprio, bool chosen)
{
	enum fgio_class class = fgio_classify(tag, ioprio, chosen);
	enum fgio_class by_ioprio =
		fgio_classify(FGIO_THREAD_UNTAGGED, ioprio, true);
	u16 stamped = fgio_stamp_ioprio(class, ioprio);

	assert_int_equal(fgio_classify(FGIO_THREAD_UNTAGGED, stamped, true),
			 class);
	if (class == FGIO_NONCRITICAL && by_ioprio == FGIO_NONCRITICAL)
		assert_int_equal(stamped, ioprio);
}

static void test_a_stamp_stands(void **state)
{
	const enum fgio_thread_tag tags[] = { FGIO_THREAD_UNTAGGED,
					      FGIO_THREAD_FOREGROUND,
					      FGIO_THREAD_BACKGROUND };

	(void)state;
	for (unsigned int tag = 0; tag < 3; tag++) {
		for (u32 ioprio = 0; ioprio < 0x10000; ioprio++) {
			if (ioprio != fgio_unmark_ioprio((u16)ioprio))
				continue;
			check_stamp(tags[tag], (u16)ioprio, true);
			check_stamp(tags[tag], (u16)ioprio, false);
		}
	}
}

/* Since 6.5 every user may set the bits of the marks. */
static void test_users_that_may_choose_a_priority(void **state)
{
	(void)state;
	for (u32 ioprio = 0; ioprio < 0x10000; ioprio++) {
		u16 unmarked = fgio_unmark_ioprio((u16)ioprio);

		assert_int_equal(unmarked, ioprio & ~0x1800U);
		assert_int_equal(fgio_drive_hints((u16)ioprio),
				 ioprio >> 3 & 0xff ? unmarked : ioprio);
		assert_int_equal(fgio_ioprio_is_privileged((u16)ioprio),
				 ioprio >> 13 == REALTIME);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chosen_priorities),
		cmocka_unit_test(test_derived_priorities_say_nothing),
		cmocka_unit_test(test_a_tag_overrules_a_priority),
		cmocka_unit_test(test_a_stamp_stands),
		cmocka_unit_test(test_users_that_may_choose_a_priority),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
