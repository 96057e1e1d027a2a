// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What non-critical I/O has of a drive that critical I/O wants all of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../share.h"
#include "check.h"
#include "model_rivals.h"

#define SECOND 1000000000ULL
#define MILLISECOND 1000000ULL
#define ALONE_NS MILLISECOND
#define INTERVALS 400

/* Intervals in which critical I/O takes @times as long as alone at the share it bears. */
static void run_intervals(struct fgio_share *share, double times_at_all)
{
	for (int i = 0; i < INTERVALS; i++) {
		double part = (double)share->share / FGIO_SHARE_ALL;

		fgio_share_note(share, 0,
				(u64)(ALONE_NS * (1 + part * (times_at_all - 1))),
				false);
		fgio_share_turn(share, true, true);
	}
}

static void test_a_share_is_what_is_borne(void **state)
{
	static const double times_at_all[] = { 1.0, 1.5, 2, 5, 20 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times_at_all); i++) {
		struct fgio_share share = { 0 };
		double part, times;

		fgio_share_note(&share, 0, ALONE_NS, true);
		run_intervals(&share, times_at_all[i]);
		part = (double)share.share / FGIO_SHARE_ALL;
		times = 1 + part * (times_at_all[i] - 1);
		assert_true(times <= 1.25);
		assert_true(times >= 1.1 || share.share == FGIO_SHARE_ALL / 2);
	}
}

static void test_none_where_the_drive_is_not_wanted(void **state)
{
	struct fgio_share share = { 0 };

	(void)state;
	fgio_share_note(&share, 0, ALONE_NS, true);
	run_intervals(&share, 1);
	assert_true(fgio_share_allows(&share, 1));
	fgio_share_turn(&share, false, true);
	assert_false(fgio_share_allows(&share, SECOND));
	assert_int_equal(fgio_share_retry_ns(&share, 7), 7);
}

/* Nothing is known of how long it takes alone: no share is given on a guess. */
static void test_none_where_nothing_is_known(void **state)
{
	struct fgio_share share = { 0 };

	(void)state;
	run_intervals(&share, 1);
	assert_int_equal(share.share, 0);
}

static void test_who_spent_its_share_waits(void **state)
{
	struct fgio_share share = { .share = FGIO_SHARE_ALL / 4 };

	(void)state;
	assert_true(fgio_share_allows(&share, SECOND));
	fgio_share_spend(&share, MILLISECOND, SECOND + MILLISECOND, SECOND);
	assert_false(fgio_share_allows(&share, SECOND + 4 * MILLISECOND - 1));
	assert_true(fgio_share_allows(&share, SECOND + 4 * MILLISECOND));
	assert_false(fgio_share_is_alone(&share, 0, SECOND));
	assert_true(fgio_share_is_alone(&share, 0, SECOND + MILLISECOND));
	assert_false(fgio_share_is_alone(&share, 1, SECOND + MILLISECOND));
}

/* Eight reads at a time, for as long as it runs, beside small and middle writes. */
static struct rivals saturating(u32 bytes, u64 seed)
{
	return (struct rivals){
		.kind = SIMDISK_VOLUME,
		.seed = seed,
		.foreground = { .bytes = 8192, .depth = 8,
				.begin_ns = 200 * MILLISECOND },
		.background = { .write = true, .bytes = bytes, .depth = 32 },
		.begin_ns = 2 * SECOND,
		.end_ns = 6 * SECOND,
	};
}

/* A limit of two there is a fifth of what is in the drive, and costs a quarter. */
static void test_a_saturating_foreground_leaves_a_share(void **state)
{
	static const u32 sizes[] = { 8192, 65536 };
	u64 seed = fresh_seed("shares");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct rivals rivals = saturating(sizes[i], seed + i);
		struct rivals_figures learnt = rivals_run(&rivals), two, least;

		rivals.limit = 2;
		two = rivals_run(&rivals);
		rivals.background.depth = 0;
		least = rivals_run(&rivals);
		print_message("    %u KiB: %.0f%% of a limit of two, mean %.2f times (%.2f)\n",
			      sizes[i] / 1024,
			      100 * learnt.background_bytes_per_s /
				      two.background_bytes_per_s,
			      learnt.mean_ns / least.mean_ns,
			      two.mean_ns / least.mean_ns);
		assert_true(learnt.mean_ns <= 1.25 * least.mean_ns);
		assert_true(learnt.background_bytes_per_s >=
			    0.6 * two.background_bytes_per_s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_share_is_what_is_borne),
		cmocka_unit_test(test_none_where_the_drive_is_not_wanted),
		cmocka_unit_test(test_none_where_nothing_is_known),
		cmocka_unit_test(test_who_spent_its_share_waits),
		cmocka_unit_test(test_a_saturating_foreground_leaves_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
