// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The properties of the two-class queue, one by one, then random scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../queue.h"
#include "check.h"
#include "model_queue.h"

#define MILLISECOND 1000000ULL
#define SCRIPTS 20000
#define SCRIPT_BYTES 512

/* With the fixed limit of one; test_depth.c is for the other. */
static void init(struct fgio_queue *queue)
{
	struct fgio_queue_config config = FGIO_QUEUE_CONFIG_DEFAULT;

	config.noncritical_in_device_max = 1;
	fgio_queue_init(queue, false);
	fgio_queue_configure(queue, &config);
}

static struct fgio_request new_request(enum fgio_class class, uint64_t sector)
{
	return (struct fgio_request){ .class = (uint8_t)class,
				      .sector = sector,
				      .sectors = 8 };
}

static void test_critical_goes_first(void **state)
{
	struct fgio_queue queue;
	struct fgio_request background = new_request(FGIO_NONCRITICAL, 0);
	struct fgio_request first = new_request(FGIO_CRITICAL, 8);
	struct fgio_request second = new_request(FGIO_CRITICAL, 16);

	(void)state;
	init(&queue);
	queue.next_release_ns = 10 * MILLISECOND;
	fgio_queue_insert(&queue, &background, false);
	fgio_queue_insert(&queue, &first, false);
	fgio_queue_insert(&queue, &second, false);
	assert_ptr_equal(fgio_queue_next(&queue, 1, NULL), &first);
	assert_ptr_equal(fgio_queue_next(&queue, 2, NULL), &second);
	assert_ptr_equal(fgio_queue_next(&queue, 3, NULL), &background);
	assert_null(fgio_queue_next(&queue, 4, NULL));
}

static void test_nothing_held_back_without_foreground(void **state)
{
	struct fgio_queue queue;
	struct fgio_request requests[64];

	(void)state;
	init(&queue);
	for (int i = 0; i < 64; i++) {
		requests[i] = new_request(FGIO_NONCRITICAL, (uint64_t)i * 8);
		fgio_queue_insert(&queue, &requests[i], false);
	}
	assert_false(fgio_queue_needs_clock(&queue));
	for (int i = 0; i < 64; i++)
		assert_ptr_equal(fgio_queue_next(&queue, 0, NULL), &requests[i]);
	assert_int_equal(fgio_queue_in_device(&queue, FGIO_NONCRITICAL), 64);
}

static void test_one_in_device_while_critical_is_present(void **state)
{
	struct fgio_queue queue;
	struct fgio_request critical = new_request(FGIO_CRITICAL, 0);
	struct fgio_request one = new_request(FGIO_NONCRITICAL, 8);
	struct fgio_request two = new_request(FGIO_NONCRITICAL, 16);

	(void)state;
	init(&queue);
	fgio_queue_insert(&queue, &critical, false);
	assert_ptr_equal(fgio_queue_next(&queue, 1, NULL), &critical);
	fgio_queue_insert(&queue, &one, false);
	fgio_queue_insert(&queue, &two, false);
	assert_ptr_equal(fgio_queue_next(&queue, 2, NULL), &one);
	assert_null(fgio_queue_next(&queue, 3, NULL));
	assert_false(fgio_queue_has_work(&queue));
	assert_true(fgio_queue_left_device(&queue, &one, 4));
	assert_ptr_equal(fgio_queue_next(&queue, 5, NULL), &two);
	fgio_queue_left_device(&queue, &critical, 6);
	/* The window keeps the limit for a while, then all requests go. */
	fgio_queue_insert(&queue, &one, false);
	assert_null(fgio_queue_next(&queue, 7, NULL));
	assert_ptr_equal(fgio_queue_next(&queue, 101 * MILLISECOND, NULL), &one);
}

/*
 * Saturating critical load, a device that serves each I/O in 0.7 ms: in ten
 * seconds at least a thousand non-critical requests must have gone, and beside
 * them the critical ones in order.
 */
static void test_background_never_starves(void **state)
{
	struct fgio_queue queue;
	struct fgio_request critical[4];
	struct fgio_request background = new_request(FGIO_NONCRITICAL, 0);
	uint64_t now_ns = 1;
	int served = 0;

	(void)state;
	init(&queue);
	for (int i = 0; i < 4; i++) {
		critical[i] = new_request(FGIO_CRITICAL, 8);
		fgio_queue_insert(&queue, &critical[i], false);
	}
	fgio_queue_insert(&queue, &background, false);
	while (now_ns < 10000 * MILLISECOND) {
		struct fgio_request *request = fgio_queue_next(&queue, now_ns, NULL);

		assert_non_null(request);
		now_ns += 700000;
		fgio_queue_left_device(&queue, request, now_ns);
		served += request == &background;
		fgio_queue_insert(&queue, request, false);
	}
	assert_in_range(served, 1000, 1002);
	assert_int_equal(queue.own.counters.starvation_releases, served);
}

/*
 * A deep device: 64 critical I/Os at a time, each served in order of arrival,
 * 3,000 a second, so that an I/O takes more than two release intervals. One
 * non-critical I/O in the device at a time would get 46 a second.
 */
static void test_background_never_starves_in_a_deep_device(void **state)
{
	struct fgio_request critical[64], background[32];
	struct fgio_request *in_device[128];
	unsigned int first = 0, last = 0;
	struct fgio_queue queue;
	uint64_t now_ns = 1;
	int served = 0, most = 0;

	(void)state;
	init(&queue);
	for (int i = 0; i < 64; i++) {
		critical[i] = new_request(FGIO_CRITICAL, 8);
		fgio_queue_insert(&queue, &critical[i], false);
	}
	for (int i = 0; i < 32; i++) {
		background[i] = new_request(FGIO_NONCRITICAL, 0);
		fgio_queue_insert(&queue, &background[i], false);
	}
	while (now_ns < 10000 * MILLISECOND) {
		struct fgio_request *request;

		while ((request = fgio_queue_next(&queue, now_ns, NULL)))
			in_device[last++ % 128] = request;
		if ((int)fgio_queue_in_device(&queue, FGIO_NONCRITICAL) > most)
			most = (int)fgio_queue_in_device(&queue, FGIO_NONCRITICAL);
		now_ns += 1000 * MILLISECOND / 3000;
		request = in_device[first++ % 128];
		served += request->class == FGIO_NONCRITICAL;
		fgio_queue_left_device(&queue, request, now_ns);
		fgio_queue_insert(&queue, request, false);
	}
	assert_in_range(served, 995, 1010);
	assert_in_range(most, 2, 64 / FGIO_RELEASE_SHARE);
}

static void test_promotion(void **state)
{
	struct fgio_queue queue;
	struct fgio_request critical = new_request(FGIO_CRITICAL, 0);
	struct fgio_request one = new_request(FGIO_NONCRITICAL, 100);
	struct fgio_request two = new_request(FGIO_NONCRITICAL, 200);

	(void)state;
	init(&queue);
	queue.next_release_ns = 10 * MILLISECOND;
	fgio_queue_insert(&queue, &one, false);
	fgio_queue_insert(&queue, &two, false);
	fgio_queue_insert(&queue, &critical, false);
	assert_null(fgio_hw_queue_promote_sector(&queue.own, 99));
	assert_null(fgio_hw_queue_promote_sector(&queue.own, 108));
	assert_ptr_equal(fgio_hw_queue_promote_sector(&queue.own, 207), &two);
	assert_false(fgio_queue_promote(&two));
	assert_ptr_equal(fgio_queue_next(&queue, 1, NULL), &critical);
	assert_ptr_equal(fgio_queue_next(&queue, 2, NULL), &two);
	assert_false(fgio_queue_promote(&two));
	assert_int_equal(queue.own.counters.promoted, 1);
}

/* A way over a disk with no end of requests must not hold up an old one. */
static void test_the_oldest_is_passed_over_a_bounded_time(void **state)
{
	struct fgio_queue queue;
	struct fgio_request old = new_request(FGIO_NONCRITICAL, 0);
	struct fgio_request near = new_request(FGIO_NONCRITICAL, 8);
	struct fgio_request critical = new_request(FGIO_CRITICAL, 16);
	struct fgio_sweep sweep = { { &near, NULL } };
	uint64_t begin_ns = 1000 * MILLISECOND, now_ns = begin_ns;

	(void)state;
	init(&queue);
	old.queued_ns = near.queued_ns = now_ns;
	fgio_queue_insert(&queue, &old, false);
	fgio_queue_insert(&queue, &near, false);
	while (fgio_queue_next(&queue, now_ns, &sweep) == &near) {
		fgio_queue_left_device(&queue, &near, now_ns);
		near.queued_ns = now_ns;
		fgio_queue_insert(&queue, &near, false);
		now_ns += MILLISECOND;
	}
	assert_in_range(now_ns - begin_ns, FGIO_ORDER_READ_NS,
			FGIO_ORDER_READ_NS + FGIO_ORDER_BATCH * MILLISECOND);
	/* Beside critical I/O, age alone counts. */
	queue.next_release_ns = now_ns;
	fgio_queue_left_device(&queue, &old, now_ns);
	fgio_queue_insert(&queue, &critical, false);
	assert_ptr_equal(fgio_queue_next(&queue, now_ns, &sweep), &near);
	fgio_queue_left_device(&queue, &near, now_ns);
	fgio_queue_insert(&queue, &old, false);
	fgio_queue_insert(&queue, &near, false);
	assert_ptr_equal(fgio_queue_next(&queue, now_ns, &sweep), &critical);
	assert_ptr_equal(fgio_queue_next(&queue, now_ns, &sweep), &old);
}

/*
 * A pile of one direction delays a request of the other by few, in either
 * class.
 */
static void test_no_direction_stands_behind_a_pile(void **state)
{
	struct fgio_request pile[64], one;
	struct fgio_queue queue;

	(void)state;
	for (int how = 0; how < 4; how++) {
		enum fgio_class class = how & 1 ? FGIO_CRITICAL :
						  FGIO_NONCRITICAL;
		int before = 0;

		init(&queue);
		for (int i = 0; i < 64; i++) {
			pile[i] = new_request(class, (uint64_t)i * 8);
			pile[i].write = how & 2;
			fgio_queue_insert(&queue, &pile[i], false);
		}
		fgio_queue_next(&queue, 1, NULL);
		one = new_request(class, 0);
		one.write = !(how & 2);
		fgio_queue_insert(&queue, &one, false);
		while (fgio_queue_next(&queue, 1, NULL) != &one)
			before++;
		assert_int_equal(before, how & 2 ? 0 :
					 class == FGIO_CRITICAL ?
						   FGIO_ORDER_STARVED :
						   FGIO_ORDER_SHARE_READS);
	}
}

static void test_waiting_time_is_counted(void **state)
{
	struct fgio_queue queue;
	struct fgio_request critical = new_request(FGIO_CRITICAL, 0);
	struct fgio_request background = new_request(FGIO_NONCRITICAL, 8);

	(void)state;
	init(&queue);
	queue.next_release_ns = 10 * MILLISECOND;
	critical.queued_ns = 1000;
	fgio_queue_insert(&queue, &critical, false);
	assert_false(fgio_queue_needs_clock(&queue));
	fgio_queue_insert(&queue, &background, false);
	assert_true(fgio_queue_needs_clock(&queue));
	fgio_queue_next(&queue, 3500, NULL);
	assert_int_equal(queue.own.counters.waited_ns[FGIO_CRITICAL], 2500);
}

static void test_one_class_withholds_nothing(void **state)
{
	struct fgio_queue queue;
	struct fgio_request critical = new_request(FGIO_CRITICAL, 0);
	struct fgio_request requests[8];

	(void)state;
	init(&queue);
	fgio_queue_insert(&queue, &critical, false);
	for (int i = 0; i < 8; i++) {
		requests[i] = new_request(FGIO_NONCRITICAL, (uint64_t)i * 8);
		fgio_queue_insert(&queue, &requests[i], false);
	}
	assert_ptr_equal(fgio_queue_next(&queue, 1, NULL), &requests[0]);
	assert_ptr_equal(fgio_queue_next(&queue, 2, NULL), &critical);
	assert_null(fgio_queue_next(&queue, 3, NULL));
	assert_false(fgio_queue_has_work(&queue));
	fgio_queue_set_one_class(&queue, true);
	assert_true(fgio_queue_has_work(&queue));
	assert_false(fgio_queue_needs_clock(&queue));
	for (int i = 1; i < 5; i++)
		assert_ptr_equal(fgio_queue_next(&queue, 0, NULL), &requests[i]);
	/* The critical one is still in the device: it is about again. */
	fgio_queue_set_one_class(&queue, false);
	assert_null(fgio_queue_next(&queue, 4, NULL));
}

static void test_requests_may_leave_while_they_are_visited(void **state)
{
	struct fgio_queue queue;
	struct fgio_request requests[8];
	struct fgio_request *request, *next;
	int i = 0;

	(void)state;
	init(&queue);
	assert_null(fgio_hw_queue_first(&queue.own, FGIO_NONCRITICAL));
	for (i = 0; i < 8; i++) {
		requests[i] = new_request(FGIO_NONCRITICAL, (uint64_t)i * 8);
		fgio_queue_insert(&queue, &requests[i], false);
	}
	i = 0;
	fgio_hw_queue_for_each(&queue.own, FGIO_NONCRITICAL, request, next) {
		assert_ptr_equal(request, &requests[i++]);
		if (i % 2)
			fgio_queue_promote(request);
	}
	assert_int_equal(i, 8);
	i = 0;
	fgio_hw_queue_for_each(&queue.own, FGIO_CRITICAL, request, next) {
		assert_ptr_equal(request, &requests[i]);
		i += 2;
	}
	assert_int_equal(i, 8);
}

/*
 * Two requests stay in the device, and more come after critical I/O. They go as
 * soon as the timer says, and the control, without a timer, never lets them.
 */
static int sent_beside_stuck(u32 limit, bool has_timer)
{
	struct fgio_request stuck[2], critical = new_request(FGIO_CRITICAL, 0);
	struct fgio_request requests[20];
	struct fgio_queue queue;
	uint64_t now_ns = 1000 * MILLISECOND, timer_ns = 0;
	int sent = 0;

	init(&queue);
	queue.config.noncritical_in_device_max = limit;
	for (int i = 0; i < 2; i++) {
		stuck[i] = new_request(FGIO_NONCRITICAL, 0);
		fgio_queue_insert(&queue, &stuck[i], false);
		assert_ptr_equal(fgio_queue_next(&queue, 0, NULL), &stuck[i]);
	}
	fgio_queue_insert(&queue, &critical, false);
	assert_ptr_equal(fgio_queue_next(&queue, now_ns, NULL), &critical);
	fgio_queue_left_device(&queue, &critical, now_ns);
	for (int i = 0; i < 20; i++) {
		requests[i] = new_request(FGIO_NONCRITICAL, 0);
		fgio_queue_insert(&queue, &requests[i], false);
	}
	/* Each completes after a millisecond, for a minute. */
	for (int ms = 0; ms < 60 * 1000; ms++, now_ns += MILLISECOND) {
		struct fgio_request *request = NULL;

		if (has_timer && timer_ns && timer_ns <= now_ns)
			fgio_queue_retry(&queue);
		if (!fgio_queue_has_work(&queue))
			continue;
		if (fgio_queue_needs_clock(&queue))
			request = fgio_queue_next(&queue, now_ns, NULL);
		else
			request = fgio_queue_next(&queue, 0, NULL);
		timer_ns = fgio_queue_retry_ns(&queue);
		if (!request)
			continue;
		fgio_queue_left_device(&queue, request, now_ns + MILLISECOND);
		if (++sent == 20)
			return ms;
	}
	return -sent;
}

static void test_what_stays_in_the_device_does_not_hold_others(void **state)
{
	(void)state;
	for (u32 limit = 0; limit <= 2; limit++) {
		assert_in_range(sent_beside_stuck(limit, true), 0, 2000);
		assert_int_equal(sent_beside_stuck(limit, false), 0);
	}
}

/* Where a member begins and ends, in lines of the cache. */
struct lines {
	size_t first;
	size_t last;
};

static struct lines lines_of(size_t offset, size_t bytes)
{
	return (struct lines){ offset / 64, (offset + bytes - 1) / 64 };
}

#define LINES(member)                                \
	lines_of(offsetof(struct fgio_queue, member), \
		 sizeof(((struct fgio_queue *)0)->member))

/*
 * Members written by each completion share no line with those of each insertion
 * or dispatch.
 */
static void test_completions_and_dispatch_share_no_line(void **state)
{
	const struct lines completion[] = {
		LINES(own.in_device), LINES(withheld), LINES(critical_seen_ns),
		LINES(flush_until_ns),
		LINES(depth.samples.noted), LINES(depth.quiet_since_ns),
		LINES(depth.cache_cost),
	};
	const struct lines dispatch[] = {
		LINES(own.order), LINES(own.queued), LINES(next_release_ns),
		LINES(retry_ns), LINES(still), LINES(own.counters),
		LINES(depth.work_ns), LINES(depth.cost), LINES(depth.interval),
		LINES(depth.retry_ns), LINES(depth.arrival),
		LINES(depth.flushes.wrote), LINES(depth.samples.taken),
	};
	/* Hardware queues read these for each request. */
	const struct lines read[] = {
		LINES(config), LINES(one_class), LINES(hw), LINES(measures),
	};

	(void)state;
	assert_int_equal(offsetof(struct fgio_queue, config) % 64, 0);
	for (size_t i = 0; i < ARRAY_SIZE(completion); i++)
		for (size_t j = 0; j < ARRAY_SIZE(dispatch); j++)
			assert_true(completion[i].last < dispatch[j].first ||
				    dispatch[j].last < completion[i].first);
	for (size_t i = 0; i < ARRAY_SIZE(read); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(dispatch); j++)
			assert_true(read[i].last < dispatch[j].first);
		for (size_t j = 0; j < ARRAY_SIZE(completion); j++)
			assert_true(read[i].last < completion[j].first);
	}
}

static void test_random_scripts_agree_with_the_model(void **state)
{
	uint8_t script[SCRIPT_BYTES];
	uint64_t random = fresh_seed("scripts of the queue");

	(void)state;
	for (int round = 0; round < SCRIPTS; round++) {
		fill_random(&random, script, sizeof(script));
		model_queue_play(script, sizeof(script));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_critical_goes_first),
		cmocka_unit_test(test_nothing_held_back_without_foreground),
		cmocka_unit_test(test_one_in_device_while_critical_is_present),
		cmocka_unit_test(test_background_never_starves),
		cmocka_unit_test(test_background_never_starves_in_a_deep_device),
		cmocka_unit_test(test_promotion),
		cmocka_unit_test(test_the_oldest_is_passed_over_a_bounded_time),
		cmocka_unit_test(test_no_direction_stands_behind_a_pile),
		cmocka_unit_test(test_waiting_time_is_counted),
		cmocka_unit_test(test_one_class_withholds_nothing),
		cmocka_unit_test(test_requests_may_leave_while_they_are_visited),
		cmocka_unit_test(test_what_stays_in_the_device_does_not_hold_others),
		cmocka_unit_test(test_completions_and_dispatch_share_no_line),
		cmocka_unit_test(test_random_scripts_agree_with_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
