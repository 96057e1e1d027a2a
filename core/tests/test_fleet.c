// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The simulated fleet: what makes its figures comparable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "model_fleet.h"
#include "model_host.h"

#define SECOND 1000000000ULL

static struct simdisk_parameters drive;

/* Four shards at nine tenths of what they can. */
static struct fleet usual(uint64_t seed)
{
	drive = host_parsed("volume");
	return (struct fleet){
		.drive = &drive,
		.seed = seed,
		.policy = FLEET_ORDERED,
		.order = FGIO_BY_LIMITED,
		.drives = 4,
		.fanout = 4,
		.proxies = 1,
		.records = 100,
		.width = 1,
		.per_s = 0.9 * 4 * 3000 / fleet_mean_reads(4, 100, 0),
		.begin_ns = 2 * SECOND,
		.end_ns = 6 * SECOND,
	};
}

static struct fleet_figures figures_of(struct fleet fleet)
{
	struct fleet_figures figures;

	fleet_run(&fleet, &figures);
	return figures;
}

static void test_same_seed_same_figures(void **state)
{
	struct fleet fleet = usual(fresh_seed("fleet") % 1000000);
	struct fleet_figures one = figures_of(fleet), two = figures_of(fleet);

	(void)state;
	assert_memory_equal(&one, &two, sizeof(one));
	assert_true(one.n > 300);
}

/* Whatever the policy: the same requests, and all of their reads. */
static void test_policies_have_the_same_requests(void **state)
{
	struct fleet fleet = usual(fresh_seed("policies") % 1000000);
	struct fleet_figures first = figures_of(fleet);

	(void)state;
	for (u32 policy = FLEET_NONE; policy <= FLEET_ORACLE_ARRIVAL; policy++) {
		struct fleet_figures figures;

		fleet.policy = policy;
		figures = figures_of(fleet);
		assert_int_equal(figures.n, first.n);
		assert_int_equal(figures.ios, first.ios);
		assert_true(figures.p50_ms <= figures.p99_ms);
		assert_true(figures.gap_p99_ms <= figures.p999_ms * 1.000001);
	}
}

/* A fan-out of one has no gap. */
static void test_one_part_has_no_gap(void **state)
{
	struct fleet fleet = usual(fresh_seed("one part") % 1000000);
	struct fleet_figures figures;

	(void)state;
	fleet.fanout = 1;
	fleet.records = 25;
	fleet.per_s = 0.8 * 4 * 3000 / fleet_mean_reads(1, 25, 0);
	figures = figures_of(fleet);
	assert_true(figures.n > 300);
	assert_true(figures.gap_p99_ms == 0);
}

/* Where no shard gets ids, all is as without an order. */
static void test_without_ids_there_is_no_order(void **state)
{
	struct fleet fleet = usual(fresh_seed("without ids") % 1000000);
	struct fleet_figures ordered, unordered;

	(void)state;
	fleet.without_ids = fleet.drives;
	ordered = figures_of(fleet);
	/* No I/O with an id: nothing was learnt. */
	assert_int_equal(ordered.bound, 1U << FGIO_BOUND_FIRST);
	ordered.bound = 0;
	fleet.policy = FLEET_UNORDERED;
	unordered = figures_of(fleet);
	assert_memory_equal(&ordered, &unordered, sizeof(ordered));
}

/* Faults leave no request behind: the run ends when the last one does. */
static void test_faults_leave_no_request_behind(void **state)
{
	struct fleet fleet = usual(fresh_seed("faults") % 1000000);
	struct fleet_figures figures;

	(void)state;
	fleet.drives = 8;
	fleet.proxies = 3;
	fleet.skew_ms = 3000;
	fleet.exchange = true;
	fleet.slow = 1;
	fleet.slow_factor = 2;
	fleet.dead = 2;
	fleet.hedge_ms = 20;
	fleet.liars_ppm = 10000;
	fleet.background = true;
	fleet.width = 4;
	fleet.huge_ppm = 5000;
	fleet.end_ns = 6 * SECOND;
	fleet.per_s = 0.2 * 8 * 3000 / fleet_mean_reads(4, 100, 0.005);
	figures = figures_of(fleet);
	assert_true(figures.n > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_seed_same_figures),
		cmocka_unit_test(test_policies_have_the_same_requests),
		cmocka_unit_test(test_one_part_has_no_gap),
		cmocka_unit_test(test_without_ids_there_is_no_order),
		cmocka_unit_test(test_faults_leave_no_request_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
