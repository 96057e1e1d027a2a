// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The properties of the watchdog, one by one, then random histories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../watchdog.h"
#include "check.h"

#define SECOND 1000000000ULL
#define LIMIT (30 * SECOND)
#define HISTORIES 3000
#define LOOKS 400

/* How many looks, a second apart, until the watchdog bites; 0 for never. */
static unsigned int looks_until_bite(struct fgio_watchdog *watchdog,
				     struct fgio_watchdog_sample *sample,
				     void (*step)(struct fgio_watchdog_sample *),
				     struct fgio_watchdog_finding *finding)
{
	for (unsigned int i = 1; i <= LOOKS; i++) {
		if (fgio_watchdog_look(watchdog, sample,
				       watchdog->last_ns + SECOND, LIMIT,
				       finding))
			return i;
		if (step)
			step(sample);
	}
	return 0;
}

static void test_bites_when_nothing_moves(void **state)
{
	struct fgio_watchdog_finding finding;

	(void)state;
	for (int place = 0; place < FGIO_PLACES; place++) {
		for (int class = 0; class < FGIO_CLASSES; class++) {
			struct fgio_watchdog watchdog = { 0 };
			struct fgio_watchdog_sample sample = { 0 };

			sample.held[place][class] = 3;
			sample.moved[place][class] = 77;
			assert_int_equal(looks_until_bite(&watchdog, &sample,
							  NULL, &finding),
					 31);
			assert_int_equal(finding.place, place);
			assert_int_equal(finding.class, class);
			assert_int_equal(finding.held, 3);
			assert_int_equal(finding.still_ns, LIMIT);
		}
	}
}

/* The other class goes on, as with a device that serves it. */
static void critical_moves(struct fgio_watchdog_sample *sample)
{
	sample->moved[FGIO_PLACE_QUEUE][FGIO_CRITICAL] += 100;
	sample->moved[FGIO_PLACE_ADMISSION][FGIO_CRITICAL] += 100;
	sample->completed += 100;
}

static void test_one_class_alone_stands_still(void **state)
{
	struct fgio_watchdog watchdog = { 0 };
	struct fgio_watchdog_sample sample = { .in_device = 32 };
	struct fgio_watchdog_finding finding;

	(void)state;
	for (int place = 0; place < FGIO_PLACES; place++) {
		sample.held[place][FGIO_CRITICAL] = 5;
		sample.moved[place][FGIO_CRITICAL] = 5;
	}
	sample.held[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL] = 1;
	assert_int_equal(looks_until_bite(&watchdog, &sample, critical_moves,
					  &finding),
			 31);
	assert_int_equal(finding.place, FGIO_PLACE_QUEUE);
	assert_int_equal(finding.class, FGIO_NONCRITICAL);
}

static void test_a_device_that_hangs_is_not_ours(void **state)
{
	struct fgio_watchdog watchdog = { 0 };
	struct fgio_watchdog_sample sample = { .in_device = 1 };
	struct fgio_watchdog_finding finding;

	(void)state;
	sample.held[FGIO_PLACE_QUEUE][FGIO_CRITICAL] = 9;
	sample.held[FGIO_PLACE_ADMISSION][FGIO_NONCRITICAL] = 9;
	assert_int_equal(looks_until_bite(&watchdog, &sample, NULL, &finding),
			 0);
	/* It is back, and fgio still holds the same I/O. */
	sample.in_device = 0;
	sample.completed = 1;
	assert_int_equal(looks_until_bite(&watchdog, &sample, NULL, &finding),
			 30);
}

/*
 * A driver that takes nothing holds all up: time neither counts nor is
 * forgotten.
 */
static void test_a_stopped_queue_is_not_ours(void **state)
{
	struct fgio_watchdog watchdog = { 0 };
	struct fgio_watchdog_sample sample = { .stopped = true };
	struct fgio_watchdog_finding finding;

	(void)state;
	sample.held[FGIO_PLACE_QUEUE][FGIO_CRITICAL] = 9;
	sample.held[FGIO_PLACE_CARRIERS][FGIO_NONCRITICAL] = 9;
	assert_int_equal(looks_until_bite(&watchdog, &sample, NULL, &finding),
			 0);
	sample.stopped = false;
	for (int i = 0; i < 20; i++)
		assert_false(fgio_watchdog_look(&watchdog, &sample,
						watchdog.last_ns + SECOND,
						LIMIT, &finding));
	sample.stopped = true;
	assert_int_equal(looks_until_bite(&watchdog, &sample, NULL, &finding),
			 0);
	/* The first look since then ends a second in which it was stopped. */
	sample.stopped = false;
	assert_int_equal(looks_until_bite(&watchdog, &sample, NULL, &finding),
			 12);
}

static void one_moves(struct fgio_watchdog_sample *sample)
{
	static unsigned int looks;

	if (++looks % 29 == 0)
		sample->moved[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL]++;
}

static void test_slow_is_not_still(void **state)
{
	struct fgio_watchdog watchdog = { 0 };
	struct fgio_watchdog_sample sample = { 0 };
	struct fgio_watchdog_finding finding;

	(void)state;
	sample.held[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL] = 1000;
	assert_int_equal(looks_until_bite(&watchdog, &sample, one_moves,
					  &finding),
			 0);
}

/* A virtual machine that stood still for a day has not held up anything. */
static void test_a_jump_of_the_clock_is_not_enough(void **state)
{
	struct fgio_watchdog watchdog = { 0 };
	struct fgio_watchdog_sample sample = { 0 };
	struct fgio_watchdog_finding finding;

	(void)state;
	sample.held[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL] = 1;
	assert_false(fgio_watchdog_look(&watchdog, &sample, SECOND, LIMIT,
					&finding));
	assert_false(fgio_watchdog_look(&watchdog, &sample, 86400 * SECOND,
					LIMIT, &finding));
	sample.moved[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL]++;
	assert_false(fgio_watchdog_look(&watchdog, &sample, 86401 * SECOND,
					LIMIT, &finding));
}

/*
 * A random history of one place of one class against the plain rule: still is
 * the sum of the intervals at whose ends there was I/O, in which nothing moved
 * and the device did not hang, since the last one that broke that.
 */
static void check_history(uint64_t *random)
{
	unsigned int place = next_random(random) % FGIO_PLACES;
	unsigned int class = next_random(random) % FGIO_CLASSES;
	unsigned int liveliness = 1 + next_random(random) % 200;
	struct fgio_watchdog_sample sample = { 0 }, last = { 0 };
	struct fgio_watchdog watchdog = { 0 };
	struct fgio_watchdog_finding finding;
	u64 now_ns = 1, still_ns = 0;

	for (int i = 0; i < LOOKS; i++) {
		u64 elapsed_ns = next_random(random) % (2 * SECOND);
		bool bites;

		if (next_random(random) % liveliness == 0)
			sample.held[place][class] = next_random(random) % 3;
		if (next_random(random) % liveliness == 0)
			sample.moved[place][class]++;
		if (next_random(random) % liveliness == 0)
			sample.in_device = next_random(random) % 2;
		if (next_random(random) % 2)
			sample.completed += next_random(random) % 3;
		now_ns += elapsed_ns;
		bites = fgio_watchdog_look(&watchdog, &sample, now_ns, LIMIT,
					   &finding);
		if (!sample.held[place][class] || !last.held[place][class] ||
		    sample.moved[place][class] != last.moved[place][class])
			still_ns = 0;
		else if (!sample.in_device || !last.in_device ||
			 sample.completed != last.completed)
			still_ns += elapsed_ns;
		last = sample;
		assert_int_equal(bites, still_ns >= LIMIT);
		if (bites) {
			assert_int_equal(finding.place, place);
			assert_int_equal(finding.class, class);
			assert_int_equal(finding.still_ns, still_ns);
		}
	}
}

static void test_random_histories(void **state)
{
	uint64_t random = fresh_seed("watchdog");

	(void)state;
	for (int i = 0; i < HISTORIES; i++)
		check_history(&random);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bites_when_nothing_moves),
		cmocka_unit_test(test_one_class_alone_stands_still),
		cmocka_unit_test(test_a_device_that_hangs_is_not_ours),
		cmocka_unit_test(test_a_stopped_queue_is_not_ours),
		cmocka_unit_test(test_slow_is_not_still),
		cmocka_unit_test(test_a_jump_of_the_clock_is_not_enough),
		cmocka_unit_test(test_random_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
