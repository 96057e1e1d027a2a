// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Whether reads beside another one tell one arm from several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../arms.h"
#include "check.h"

#define MILLISECOND 1000000ULL
#define KNOWN_NS (12 * MILLISECOND)
#define RUNS 2000

static uint64_t chance;

/* A seek and a turn at most. */
static u64 alone_ns(void)
{
	return 6 * MILLISECOND + next_random(&chance) % (12 * MILLISECOND);
}

/* Of @arms, one is at the other read, for a while yet. */
static u64 beside_ns(u32 arms)
{
	u64 wait_ns = next_random(&chance) % arms ? 0 : alone_ns();

	return alone_ns() + wait_ns;
}

static void note(struct fgio_arms *known, u32 arms, u32 reads)
{
	for (u32 i = 0; i < reads; i++) {
		fgio_arms_note(known, false, alone_ns(), KNOWN_NS);
		fgio_arms_note(known, true, beside_ns(arms), KNOWN_NS);
	}
}

/* Runs of 2,000 in which the verdict is several arms. */
static u32 runs_with_several(u32 arms, u32 reads)
{
	u32 found = 0;

	for (int i = 0; i < RUNS; i++) {
		struct fgio_arms known = { 0 };

		note(&known, arms, reads);
		found += known.several;
	}
	print_message("    %u arms, %u reads: several in %u runs of %u\n",
		      arms, reads, found, RUNS);
	return found;
}

static void test_one_arm_is_known(void **state)
{
	(void)state;
	assert_in_range(runs_with_several(1, 16), 0, RUNS / 100);
	assert_in_range(runs_with_several(1, 200), 0, RUNS / 100);
}

static void test_eight_arms_are_known(void **state)
{
	(void)state;
	assert_in_range(runs_with_several(8, 32), RUNS * 3 / 4, RUNS);
	assert_in_range(runs_with_several(8, 200), RUNS * 3 / 4, RUNS);
}

static void test_few_reads_are_no_verdict(void **state)
{
	struct fgio_arms known = { 0 };

	(void)state;
	note(&known, 1000, 15);
	assert_false(known.several);
	for (int i = 0; i < 100; i++)
		fgio_arms_note(&known, false, KNOWN_NS, KNOWN_NS);
	assert_false(known.several);
}

/* An array that lost its disks, or another one behind the same name. */
static void test_a_verdict_changes(void **state)
{
	struct fgio_arms known = { 0 };

	(void)state;
	note(&known, 1000, 200);
	assert_true(known.several);
	note(&known, 1, 200);
	assert_false(known.several);
	note(&known, 1000, 200);
	assert_true(known.several);
}

/* A read that hangs counts as four. */
static void test_one_read_is_no_verdict(void **state)
{
	struct fgio_arms known = { 0 };

	(void)state;
	note(&known, 1000, 200);
	fgio_arms_note(&known, true, 4000000000ULL, KNOWN_NS);
	assert_true(known.several);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_arm_is_known),
		cmocka_unit_test(test_eight_arms_are_known),
		cmocka_unit_test(test_few_reads_are_no_verdict),
		cmocka_unit_test(test_a_verdict_changes),
		cmocka_unit_test(test_one_read_is_no_verdict),
	};

	chance = fresh_seed("arms");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
