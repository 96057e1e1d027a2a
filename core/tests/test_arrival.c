// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which pauses predict the next critical I/O, and how near to it background I/O
 * may go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../arrival.h"
#include "check.h"

#define MILLISECOND 1000000ULL
#define QUIET_NS (MILLISECOND / 2)
#define SINCE_NS (1000 * MILLISECOND)
#define CRITICAL_IO 4096

static uint64_t chance;

static u64 pause_ns(u64 mean_ns, u64 jitter_ns)
{
	return mean_ns - jitter_ns / 2 + next_random(&chance) % (jitter_ns + 1);
}

static struct fgio_arrival after_pauses(u64 mean_ns, u64 jitter_ns)
{
	struct fgio_arrival arrival = { 0 };

	for (int i = 0; i < 4 * FGIO_ARRIVAL_PAUSES; i++) {
		fgio_arrival_came(&arrival, pause_ns(mean_ns, jitter_ns));
		fgio_arrival_judge(&arrival, 0, QUIET_NS);
	}
	return arrival;
}

static bool is_predicted(u64 mean_ns, u64 jitter_ns, u64 work_ns)
{
	struct fgio_arrival arrival = after_pauses(mean_ns, jitter_ns);
	u64 done_ns, late_ns;

	return fgio_arrival_next(&arrival, SINCE_NS, work_ns, &done_ns,
				 &late_ns);
}

static void test_arrivals_that_can_be_predicted(void **state)
{
	(void)state;
	assert_true(is_predicted(10 * MILLISECOND, MILLISECOND / 2, MILLISECOND));
	assert_false(is_predicted(10 * MILLISECOND, 8 * MILLISECOND, MILLISECOND));
	/* Waiting would cost more than a short pause is worth. */
	assert_false(is_predicted(10 * MILLISECOND, MILLISECOND / 2,
				  2 * MILLISECOND));
	assert_false(is_predicted(200 * MILLISECOND, MILLISECOND, MILLISECOND));
}

static bool comes_soon(u64 mean_ns, u64 jitter_ns, u64 work_ns)
{
	struct fgio_arrival arrival = after_pauses(mean_ns, jitter_ns);
	u64 late_ns;
	bool soon = fgio_arrival_soon(&arrival, SINCE_NS, work_ns, &late_ns);

	if (soon)
		assert_in_range(late_ns, SINCE_NS + mean_ns,
				SINCE_NS + mean_ns + jitter_ns + work_ns / 8);
	return soon;
}

static void test_what_comes_soon(void **state)
{
	(void)state;
	assert_true(comes_soon(MILLISECOND / 10, 0, 10 * MILLISECOND));
	assert_true(comes_soon(MILLISECOND / 2, MILLISECOND, 10 * MILLISECOND));
	assert_true(comes_soon(0, 0, 10 * MILLISECOND));
	/* To wait would cost too much of the drive. */
	assert_false(comes_soon(2 * MILLISECOND, 0, 10 * MILLISECOND));
	assert_false(comes_soon(MILLISECOND / 10, 0, 0));
}

static void test_nothing_is_known_at_first(void **state)
{
	struct fgio_arrival arrival = { 0 };
	u64 done_ns, late_ns;

	(void)state;
	for (int i = 0; i < FGIO_ARRIVAL_PAUSES; i++) {
		assert_false(fgio_arrival_next(&arrival, SINCE_NS, 1,
					       &done_ns, &late_ns));
		assert_false(fgio_arrival_soon(&arrival, SINCE_NS, SINCE_NS,
					       &late_ns));
		fgio_arrival_came(&arrival, 10 * MILLISECOND);
	}
	assert_true(fgio_arrival_next(&arrival, SINCE_NS, 1, &done_ns,
				      &late_ns));
}

/*
 * Of pauses that are alike except for chance, hardly one in a hundred ends
 * before.
 */
static void test_critical_io_comes_when_it_is_predicted(void **state)
{
	const u64 mean_ns = 10 * MILLISECOND, jitter_ns = MILLISECOND / 2;
	struct fgio_arrival arrival = after_pauses(mean_ns, jitter_ns);
	int early = 0, late = 0;

	(void)state;
	for (int i = 0; i < CRITICAL_IO; i++) {
		u64 came_ns = pause_ns(mean_ns, jitter_ns), done_ns, late_ns;
		u64 excess_ns;

		assert_true(fgio_arrival_next(&arrival, SINCE_NS, 1,
					      &done_ns, &late_ns));
		assert_true(done_ns > SINCE_NS && done_ns < late_ns);
		excess_ns = SINCE_NS + came_ns < done_ns ?
				    done_ns - SINCE_NS - came_ns : 0;
		early += excess_ns > 0;
		late += SINCE_NS + came_ns > late_ns;
		fgio_arrival_judge(&arrival, excess_ns, QUIET_NS);
		fgio_arrival_came(&arrival, came_ns);
	}
	print_message("    of %d, %d came too early, %d too late\n",
		      CRITICAL_IO, early, late);
	assert_true(early < CRITICAL_IO / 100);
	assert_true(late < CRITICAL_IO / 100);
}

static void test_the_margin_is_small_beside_the_pause(void **state)
{
	struct fgio_arrival arrival =
		after_pauses(10 * MILLISECOND, MILLISECOND / 8);
	u64 done_ns, late_ns;

	(void)state;
	for (int i = 0; i < CRITICAL_IO; i++)
		fgio_arrival_judge(&arrival, 100 * MILLISECOND, QUIET_NS);
	assert_true(fgio_arrival_next(&arrival, SINCE_NS, 1, &done_ns,
				      &late_ns));
	assert_true(done_ns > SINCE_NS + 9 * MILLISECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arrivals_that_can_be_predicted),
		cmocka_unit_test(test_what_comes_soon),
		cmocka_unit_test(test_nothing_is_known_at_first),
		cmocka_unit_test(test_critical_io_comes_when_it_is_predicted),
		cmocka_unit_test(test_the_margin_is_small_beside_the_pause),
	};

	chance = fresh_seed("arrival");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
