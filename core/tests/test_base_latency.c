// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The base latency of a quiet drive, from the latency of single I/Os. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../base_latency.h"
#include "../depth_constants.h"
#include "check.h"

#define USUAL_NS 600000ULL
#define SLOW_NS (50 * USUAL_NS)

static uint64_t chance;

/*
 * A tenth more or less; one in @slow_one_in is slow for another reason, if that
 * is not 0. Return: the mean slack meanwhile.
 */
static u64 learn(struct fgio_base_latency *base, u64 usual_ns, unsigned int slow_one_in)
{
	u64 slack_ns = 0;

	for (int i = 0; i < 1000; i++) {
		u64 jitter_ns = next_random(&chance) % (usual_ns / 5);
		bool slow = slow_one_in &&
			    next_random(&chance) % slow_one_in == 0;

		fgio_base_latency_learn(base, slow ? SLOW_NS :
						      usual_ns * 9 / 10 + jitter_ns);
		slack_ns += fgio_base_latency_slack_ns(base) / 1000;
	}
	return slack_ns;
}

static void test_few_slow_ones_do_not_move_it(void **state)
{
	struct fgio_base_latency base = { 0 };
	u64 slack_ns;

	(void)state;
	learn(&base, USUAL_NS, 30);
	slack_ns = learn(&base, USUAL_NS, 30);
	/* Four slow ones in a row move it by an eighth. */
	assert_in_range(base.known_ns, USUAL_NS * 9 / 10, USUAL_NS * 12 / 10);
	/* After a slow one it is up to two medians for a while. */
	assert_in_range(slack_ns, USUAL_NS / 10, USUAL_NS);
	assert_true(fgio_base_latency_slack_ns(&base) <= 2 * base.known_ns);
}

static void test_it_follows_another_drive(void **state)
{
	struct fgio_base_latency base = { 0 };

	(void)state;
	learn(&base, USUAL_NS, 0);
	learn(&base, 10 * USUAL_NS, 0);
	assert_in_range(base.known_ns, 9 * USUAL_NS, 11 * USUAL_NS);
	learn(&base, USUAL_NS, 0);
	assert_in_range(base.known_ns, USUAL_NS * 9 / 10, USUAL_NS * 11 / 10);
}

/* Of the first eight, three may be slow, wherever they come. */
static void test_slow_ones_at_the_beginning_do_not_count(void **state)
{
	(void)state;
	for (u32 slow = 0; slow < 1u << BASE_CERTAIN; slow++) {
		struct fgio_base_latency base = { 0 };

		if (__builtin_popcount(slow) > 3)
			continue;
		for (u32 i = 0; i < BASE_CERTAIN; i++)
			fgio_base_latency_learn(&base, slow >> i & 1 ? SLOW_NS :
								       USUAL_NS);
		assert_int_equal(base.known_ns, USUAL_NS);
		assert_true(fgio_base_latency_slack_ns(&base) <= 2 * USUAL_NS);
	}
}

/* One that takes longer than 32 bits hold is long, not short; none takes nothing. */
static void test_times_beyond_its_range(void **state)
{
	struct fgio_base_latency base = { 0 };

	(void)state;
	fgio_base_latency_learn(&base, 5000000000ULL);
	assert_true(base.known_ns > 4000000000ULL);
	base = (struct fgio_base_latency){ 0 };
	fgio_base_latency_learn(&base, 0);
	assert_true(base.known_ns);
}

static void test_kinds(void **state)
{
	const u32 longest = ~0U;

	(void)state;
	assert_int_equal(fgio_kind_of(0, false), 0);
	assert_int_equal(fgio_kind_of(8, false), 0);
	assert_int_equal(fgio_kind_of(15, false), 0);
	assert_int_equal(fgio_kind_of(16, false), 1);
	assert_int_equal(fgio_kind_of(512, true), FGIO_KIND_SIZES + 6);
	assert_int_equal(fgio_kind_of(longest, false), FGIO_KIND_SIZES - 1);
	assert_int_equal(fgio_kind_of(longest, true), FGIO_KIND_FLUSH - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_slow_ones_do_not_move_it),
		cmocka_unit_test(test_it_follows_another_drive),
		cmocka_unit_test(test_slow_ones_at_the_beginning_do_not_count),
		cmocka_unit_test(test_times_beyond_its_range),
		cmocka_unit_test(test_kinds),
	};

	chance = fresh_seed("base latency");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
