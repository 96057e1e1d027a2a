// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Rows of late I/Os are told from chance, whatever their share. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../chance.h"
#include "check.h"

#define QUIET 1000
#define BESIDE 200000
#define MOST 66 /* one in a thousand */

static bool is_late(uint64_t *random, double share)
{
	return (double)(next_random(random) >> 11) * 0x1p-53 < share;
}

static struct fgio_chance learnt(uint64_t *random, double share)
{
	struct fgio_chance chance = { 0 };

	for (int i = 0; i < QUIET; i++)
		fgio_chance_learn(&chance, is_late(random, share));
	return chance;
}

/* The share of I/Os after which the row is said to be no chance. */
static double said(struct fgio_chance *chance, uint64_t *random, double share)
{
	u32 found = 0;

	for (int i = 0; i < BESIDE; i++) {
		fgio_chance_note(chance, is_late(random, share));
		found += chance->row &&
			 !fgio_chance_explains(chance,
					       fgio_chance_likely(chance),
					       MOST);
	}
	return (double)found / BESIDE;
}

/* A share learnt from some hundred I/Os may be off by half. */
static void test_chance_is_hardly_ever_taken_for_more(void **state)
{
	uint64_t random = fresh_seed("chance");

	(void)state;
	for (double share = 0.01; share < 0.2; share *= 1.5) {
		struct fgio_chance chance = learnt(&random, share);
		double wrong = said(&chance, &random, share);

		print_message("    %.3f late by chance, learnt %.3f: wrong at %.5f\n",
			      share, (double)chance.share / FGIO_CHANCE_ALL,
			      wrong);
		assert_true(wrong <= 0.01);
	}
}

/* At the limit of a drive, most I/Os are late: it is found within a few. */
static void test_what_waits_is_found(void **state)
{
	uint64_t random = fresh_seed("waits");

	(void)state;
	for (double share = 0; share < 0.1; share += 0.03) {
		struct fgio_chance chance = learnt(&random, share);

		assert_true(said(&chance, &random, 0.95) >= 0.7);
	}
}

static bool is_chance(const struct fgio_chance *chance)
{
	return fgio_chance_explains(chance, fgio_chance_likely(chance),
				    FGIO_CHANCE_ALL / 100);
}

/* Where few were seen, that none was late is no proof. */
static void test_one_tells_where_many_were_on_time(void **state)
{
	struct fgio_chance chance = { 0 };

	(void)state;
	assert_true(is_chance(&chance));
	fgio_chance_note(&chance, true);
	assert_true(is_chance(&chance));
	fgio_chance_note(&chance, true);
	assert_false(is_chance(&chance));
	for (int i = 0; i < QUIET; i++)
		fgio_chance_learn(&chance, false);
	fgio_chance_note(&chance, false);
	assert_true(is_chance(&chance));
	fgio_chance_note(&chance, true);
	assert_false(is_chance(&chance));
}

/* Hardly any is late beside others: tails are as rare, though few were alone. */
static void test_those_beside_others_tell_that_tails_are_rare(void **state)
{
	struct fgio_chance chance = { 0 };

	(void)state;
	for (int i = 0; i < 2 * QUIET; i++)
		fgio_chance_note(&chance, false);
	fgio_chance_note(&chance, true);
	assert_false(is_chance(&chance));
	/* Where most wait, that says nothing of tails: what is known stays. */
	for (int i = 0; i < 8 * QUIET; i++)
		fgio_chance_note(&chance, i % 2);
	fgio_chance_note(&chance, false);
	fgio_chance_note(&chance, true);
	assert_true(is_chance(&chance));
}

/*
 * Even if all are late alone, a long row is no chance: the drive may have
 * changed.
 */
static void test_many_in_a_row_are_no_chance(void **state)
{
	struct fgio_chance chance = { 0 };

	(void)state;
	for (int i = 0; i < QUIET; i++)
		fgio_chance_learn(&chance, true);
	for (int i = 0; i < 7; i++) {
		fgio_chance_note(&chance, true);
		assert_true(fgio_chance_explains(&chance, chance.share, MOST));
	}
	fgio_chance_note(&chance, true);
	assert_false(fgio_chance_explains(&chance, chance.share, MOST));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chance_is_hardly_ever_taken_for_more),
		cmocka_unit_test(test_what_waits_is_found),
		cmocka_unit_test(test_one_tells_where_many_were_on_time),
		cmocka_unit_test(test_those_beside_others_tell_that_tails_are_rare),
		cmocka_unit_test(test_many_in_a_row_are_no_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
