// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The properties of the watchdog, one by one, then random histories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../hw_queue.h"
#include "../watchdog.h"
#include "check.h"

#define SECOND 1000000000ULL
#define LIMIT (30 * SECOND)
#define HISTORIES 3000
#define LOOKS 400

/* A device with one hardware queue. */
struct watched {
	struct fgio_watchdog_device device;
	struct fgio_watchdog watchdog;
};

static bool look_at(struct watched *watched,
		    const struct fgio_watchdog_sample *sample, u64 now_ns,
		    struct fgio_watchdog_finding *finding)
{
	fgio_watchdog_begin(&watched->device, sample->in_device,
			    sample->completed, now_ns, LIMIT);
	return fgio_watchdog_look(&watched->watchdog, &watched->device, sample,
				  LIMIT, finding);
}

/* How many looks, a second apart, until the watchdog bites; 0 for never. */
static unsigned int looks_until_bite(struct watched *watched,
				     struct fgio_watchdog_sample *sample,
				     void (*step)(struct fgio_watchdog_sample *),
				     struct fgio_watchdog_finding *finding)
{
	for (unsigned int i = 1; i <= LOOKS; i++) {
		if (look_at(watched, sample, watched->device.last_ns + SECOND,
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
			struct watched watched = { 0 };
			struct fgio_watchdog_sample sample = { 0 };

			sample.held[place][class] = 3;
			sample.moved[place][class] = 77;
			assert_int_equal(looks_until_bite(&watched, &sample,
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
	struct watched watched = { 0 };
	struct fgio_watchdog_sample sample = { .in_device = 32 };
	struct fgio_watchdog_finding finding;

	(void)state;
	for (int place = 0; place < FGIO_PLACES; place++) {
		sample.held[place][FGIO_CRITICAL] = 5;
		sample.moved[place][FGIO_CRITICAL] = 5;
	}
	sample.held[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL] = 1;
	assert_int_equal(looks_until_bite(&watched, &sample, critical_moves,
					  &finding),
			 31);
	assert_int_equal(finding.place, FGIO_PLACE_QUEUE);
	assert_int_equal(finding.class, FGIO_NONCRITICAL);
}

static void test_a_device_that_hangs_is_not_ours(void **state)
{
	struct watched watched = { 0 };
	struct fgio_watchdog_sample sample = { .in_device = 1 };
	struct fgio_watchdog_finding finding;

	(void)state;
	sample.held[FGIO_PLACE_QUEUE][FGIO_CRITICAL] = 9;
	sample.held[FGIO_PLACE_ADMISSION][FGIO_NONCRITICAL] = 9;
	assert_int_equal(looks_until_bite(&watched, &sample, NULL, &finding),
			 0);
	/* It is back, and fgio still holds the same I/O. */
	sample.in_device = 0;
	sample.completed = 1;
	assert_int_equal(looks_until_bite(&watched, &sample, NULL, &finding),
			 30);
}

/*
 * A driver that takes nothing holds all up: time neither counts nor is
 * forgotten.
 */
static void test_a_stopped_queue_is_not_ours(void **state)
{
	struct watched watched = { 0 };
	struct fgio_watchdog_sample sample = { .stopped = true };
	struct fgio_watchdog_finding finding;

	(void)state;
	sample.held[FGIO_PLACE_QUEUE][FGIO_CRITICAL] = 9;
	sample.held[FGIO_PLACE_CARRIERS][FGIO_NONCRITICAL] = 9;
	assert_int_equal(looks_until_bite(&watched, &sample, NULL, &finding),
			 0);
	sample.stopped = false;
	for (int i = 0; i < 20; i++)
		assert_false(look_at(&watched, &sample,
				     watched.device.last_ns + SECOND,
				     &finding));
	sample.stopped = true;
	assert_int_equal(looks_until_bite(&watched, &sample, NULL, &finding),
			 0);
	/* The first look since then ends a second in which it was stopped. */
	sample.stopped = false;
	assert_int_equal(looks_until_bite(&watched, &sample, NULL, &finding),
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
	struct watched watched = { 0 };
	struct fgio_watchdog_sample sample = { 0 };
	struct fgio_watchdog_finding finding;

	(void)state;
	sample.held[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL] = 1000;
	assert_int_equal(looks_until_bite(&watched, &sample, one_moves,
					  &finding),
			 0);
}

/* A virtual machine that stood still for a day has not held up anything. */
static void test_a_jump_of_the_clock_is_not_enough(void **state)
{
	struct watched watched = { 0 };
	struct fgio_watchdog_sample sample = { 0 };
	struct fgio_watchdog_finding finding;

	(void)state;
	sample.held[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL] = 1;
	assert_false(look_at(&watched, &sample, SECOND, &finding));
	assert_false(look_at(&watched, &sample, 86400 * SECOND, &finding));
	sample.moved[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL]++;
	assert_false(look_at(&watched, &sample, 86401 * SECOND, &finding));
}

/* ---- many hardware queues ---- */

#define QUEUES 16
#define NONE (-1)

static struct fgio_watchdog_device device;
static struct fgio_watchdog watchdogs[QUEUES];
static struct fgio_watchdog_sample samples[QUEUES];

/* All have I/O of both classes everywhere, and in the device. */
static void fill_queues(void)
{
	memset(&device, 0, sizeof(device));
	memset(watchdogs, 0, sizeof(watchdogs));
	memset(samples, 0, sizeof(samples));
	for (int i = 0; i < QUEUES; i++) {
		samples[i].in_device = 2;
		for (int place = 0; place < FGIO_PLACES; place++)
			for (int class = 0; class < FGIO_CLASSES; class++)
				samples[i].held[place][class] = 4;
	}
}

static void move(struct fgio_watchdog_sample *sample)
{
	for (int place = 0; place < FGIO_PLACES; place++)
		for (int class = 0; class < FGIO_CLASSES; class++)
			sample->moved[place][class]++;
	sample->completed += 3;
}

/* Looks for two minutes. Return: the first one found, at *@look, or NONE. */
static int find(int stands, unsigned int *at,
		struct fgio_watchdog_finding *finding)
{
	for (*at = 1; *at <= 120; ++*at) {
		u64 completed = 0;
		u32 in_device = 0;

		for (int i = 0; i < QUEUES; i++) {
			in_device += samples[i].in_device;
			completed += samples[i].completed;
		}
		fgio_watchdog_begin(&device, in_device, completed,
				    device.last_ns + SECOND, LIMIT);
		for (int i = 0; i < QUEUES; i++)
			if (fgio_watchdog_look(&watchdogs[i], &device,
					       &samples[i], LIMIT, finding))
				return i;
		for (int i = 0; i < QUEUES; i++)
			if (i != stands)
				move(&samples[i]);
	}
	return NONE;
}

static void test_one_queue_stands_beside_others_that_move(void **state)
{
	struct fgio_watchdog_finding finding;
	unsigned int at;

	(void)state;
	for (int stands = 0; stands < QUEUES; stands++) {
		fill_queues();
		memset(samples[stands].held, 0, sizeof(samples[stands].held));
		samples[stands].held[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL] = 5;
		samples[stands].in_device = 0;
		assert_int_equal(find(stands, &at, &finding), stands);
		assert_int_equal(at, 31);
		assert_int_equal(finding.place, FGIO_PLACE_QUEUE);
		assert_int_equal(finding.class, FGIO_NONCRITICAL);
		assert_int_equal(finding.held, 5);
	}
	/* The control: all move. */
	fill_queues();
	assert_int_equal(find(NONE, &at, &finding), NONE);
}

/* Neither is fgio's: one whose driver stopped it, and one that hangs. */
static void test_a_queue_that_the_driver_holds_is_not_found(void **state)
{
	struct fgio_watchdog_finding finding;
	unsigned int at;

	(void)state;
	for (int stands = 0; stands < QUEUES; stands++) {
		fill_queues();
		samples[stands].in_device = 0;
		samples[stands].stopped = true;
		assert_int_equal(find(stands, &at, &finding), NONE);
		samples[stands].stopped = false;
		assert_int_equal(find(stands, &at, &finding), stands);
		fill_queues();
		assert_int_equal(find(stands, &at, &finding), NONE);
		samples[stands].in_device = 0;
		assert_int_equal(find(stands, &at, &finding), stands);
	}
}

/* A shared limit of the driver: all is in other queues, and none completes. */
static void test_a_device_that_hangs_holds_all_queues(void **state)
{
	struct fgio_watchdog_finding finding;
	unsigned int at;

	(void)state;
	fill_queues();
	for (int i = 1; i < QUEUES; i++)
		memset(samples[i].held, 0, sizeof(samples[i].held));
	samples[0].in_device = 0;
	for (int look = 0; look < 120; look++) {
		fgio_watchdog_begin(&device, 30, 7, device.last_ns + SECOND,
				    LIMIT);
		for (int i = 0; i < QUEUES; i++)
			assert_false(fgio_watchdog_look(&watchdogs[i], &device,
							&samples[i], LIMIT,
							&finding));
	}
	/* The control: the others complete theirs. */
	assert_int_equal(find(0, &at, &finding), 0);
}

/* Requests that were granted, and never go, stand in the queue. */
static void test_grants_that_do_not_go_are_found(void **state)
{
	static struct fgio_request requests[4];
	struct fgio_watchdog_finding finding;
	struct fgio_watchdog_sample sample;
	struct watched watched = { 0 };
	struct fgio_hw_queue hw, *list = &hw;
	struct fgio_queue queue;
	u64 granted;

	(void)state;
	fgio_queue_init(&queue, false);
	queue.config.noncritical_in_device_max = 4;
	fgio_hw_queue_init(&hw, &queue, 0);
	fgio_queue_set_hw(&queue, &list, 1);
	memset(requests, 0, sizeof(requests));
	for (int i = 0; i < 4; i++) {
		requests[i].queued_ns = SECOND;
		fgio_list_init(&requests[i].link);
		fgio_hw_queue_insert(&hw, &requests[i], false);
	}
	fgio_queue_saw_critical_at(&queue, SECOND);
	assert_ptr_equal(fgio_hw_queue_ask(&hw, SECOND), &requests[0]);
	fgio_queue_left_device(&queue, &requests[0], SECOND);
	granted = hw.granted_count;
	assert_in_range(granted, 1, 3);
	memset(&sample, 0, sizeof(sample));
	fgio_watchdog_sample_queue(&sample, &hw);
	assert_int_equal(sample.held[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL], 3);
	assert_int_equal(sample.moved[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL], 1);
	assert_int_equal(sample.in_device, 0);
	assert_int_equal(sample.completed, 1);
	assert_int_equal(looks_until_bite(&watched, &sample, NULL, &finding),
			 31);
	/* The control: one goes, and the device keeps it. */
	assert_non_null(fgio_hw_queue_next(&hw, SECOND));
	memset(&sample, 0, sizeof(sample));
	fgio_watchdog_sample_queue(&sample, &hw);
	assert_int_equal(sample.held[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL], 2);
	assert_int_equal(sample.moved[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL], 2);
	assert_int_equal(sample.in_device, 1);
	assert_int_equal(sample.completed, 1);
}

static void test_many_queues_wait_for_one_another(void **state)
{
	struct fgio_queue queue;

	(void)state;
	fgio_queue_init(&queue, false);
	assert_int_equal(fgio_watchdog_limit_ns(&queue, SECOND), SECOND);
	queue.hw_count = 128;
	assert_in_range(fgio_watchdog_limit_ns(&queue, SECOND),
			2 * 128 * queue.config.release_interval_ns,
			8 * 128 * queue.config.release_interval_ns);
	assert_int_equal(fgio_watchdog_limit_ns(&queue, LIMIT), LIMIT);
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
	struct watched watched = { 0 };
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
		bites = look_at(&watched, &sample, now_ns, &finding);
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
		cmocka_unit_test(test_one_queue_stands_beside_others_that_move),
		cmocka_unit_test(
			test_a_queue_that_the_driver_holds_is_not_found),
		cmocka_unit_test(test_a_device_that_hangs_holds_all_queues),
		cmocka_unit_test(test_grants_that_do_not_go_are_found),
		cmocka_unit_test(test_many_queues_wait_for_one_another),
		cmocka_unit_test(test_random_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
