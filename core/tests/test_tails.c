// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Tails that others cause are told from those that come by chance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../tails.h"
#include "check.h"

#define MEDIAN_NS 1000000
#define RUNS 200

/* How a drive is late: @share of its I/Os @times as long, @in_a_row in a row. */
struct drive {
	double share;
	u32 times;
	u32 in_a_row;
	u32 left; /* of those in a row */
};

static double fraction(u64 *random)
{
	return (double)(next_random(random) >> 11) * 0x1p-53;
}

static u64 took_ns(struct drive *drive, u64 *random)
{
	if (!drive->left && fraction(random) < drive->share / drive->in_a_row)
		drive->left = drive->in_a_row;
	if (!drive->left)
		return MEDIAN_NS / 2 + next_random(random) % MEDIAN_NS;
	drive->left--;
	return drive->times * (u64)MEDIAN_NS;
}

static void note(struct fgio_tails *tails, const struct fgio_tails *alone,
		 struct drive drive, u32 ios, u64 *random)
{
	for (u32 i = 0; i < ios; i++)
		fgio_tails_note(tails, took_ns(&drive, random),
				fgio_tails_usual_ns(alone, MEDIAN_NS),
				MEDIAN_NS);
}

/* How often, of RUNS, tails beside others count as harm. */
static u32 harmed(struct drive alone, struct drive beside, u32 ios, u64 *random)
{
	u32 found = 0;

	for (u32 i = 0; i < RUNS; i++) {
		struct fgio_tails of_alone = { 0 }, of_beside = { 0 };

		note(&of_alone, &of_alone, alone, 512, random);
		note(&of_beside, &of_alone, beside, ios, random);
		found += fgio_tails_harm(&of_alone, &of_beside) > 0;
	}
	return found;
}

static struct drive random_drive(u64 *random)
{
	return (struct drive){
		.share = 0.002 + 0.04 * fraction(random),
		.times = 5 + (u32)(next_random(random) % 40),
		.in_a_row = 1,
	};
}

/* Two standard errors are one in forty on either side; tails are skewed. */
static void test_chance_is_no_harm(void **state)
{
	u64 random = fresh_seed("chance of tails");

	(void)state;
	for (u32 i = 0; i < 20; i++) {
		struct drive drive = random_drive(&random);
		u32 wrong = harmed(drive, drive, 1024, &random);

		print_message("    %.3f take %u times as long: harm in %u of %u\n",
			      drive.share, drive.times, wrong, RUNS);
		assert_true(wrong <= RUNS / 8);
	}
}

/* The control: four times as many tails are harm. */
static void test_more_tails_are_harm(void **state)
{
	u64 random = fresh_seed("more tails");

	(void)state;
	for (u32 i = 0; i < 20; i++) {
		struct drive drive = random_drive(&random);
		struct drive worse = drive;

		drive.share = worse.share = 0.01 + drive.share;
		worse.share *= 4;
		assert_true(harmed(drive, worse, 4096, &random) >=
			    RUNS * 9 / 10);
	}
}

/* A drive that stalls makes all of its I/Os late: that is no tail. */
static void test_stalls_are_usual(void **state)
{
	u64 random = fresh_seed("stalls");

	(void)state;
	for (u32 in_a_row = 1; in_a_row <= 32; in_a_row *= 2) {
		struct drive drive = { 0.03, 30, in_a_row, 0 };
		struct fgio_tails tails = { 0 };
		u64 usual_ns;

		note(&tails, &tails, drive, 8192, &random);
		usual_ns = fgio_tails_usual_ns(&tails, MEDIAN_NS);
		if (in_a_row == 1)
			assert_true(usual_ns < 30ULL * MEDIAN_NS);
		else
			assert_true(usual_ns > 30ULL * MEDIAN_NS);
	}
}

static void test_nothing_known_is_no_harm(void **state)
{
	struct fgio_tails none = { 0 }, beside = { 0 };

	(void)state;
	assert_int_equal(fgio_tails_mean(&none), 0);
	assert_int_equal(fgio_tails_harm(&none, &none), 0);
	for (u32 i = 0; i < 64; i++)
		fgio_tails_note(&beside, 50ULL * MEDIAN_NS,
				fgio_tails_usual_ns(&none, MEDIAN_NS),
				MEDIAN_NS);
	assert_true(fgio_tails_mean(&beside) > 1000);
	assert_int_equal(fgio_tails_harm(&none, &beside), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chance_is_no_harm),
		cmocka_unit_test(test_more_tails_are_harm),
		cmocka_unit_test(test_stalls_are_usual),
		cmocka_unit_test(test_nothing_known_is_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
