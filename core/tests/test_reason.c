// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What is said of a wait whose cause is not the drive: of one look, and of many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../reason.h"
#include "check.h"

#define MS 1000000ULL

static uint64_t seed;

static void test_each_reason_has_facts_that_lead_to_it(void **state)
{
	static const struct {
		u32 facts;
		enum fgio_reason reason;
	} cases[] = {
		{ FGIO_FACT_WAITS | FGIO_FACT_IO, FGIO_REASON_NONE },
		{ FGIO_FACT_OWN_IO | FGIO_FACT_IO_SLEEP, FGIO_REASON_NONE },
		{ FGIO_FACT_RUNS, FGIO_REASON_RUNNING },
		{ FGIO_FACT_RUNS | FGIO_FACT_WAITS, FGIO_REASON_RUNNING },
		{ FGIO_FACT_INTERRUPTIBLE, FGIO_REASON_ASLEEP },
		{ 0, FGIO_REASON_UNSEEN },
		{ FGIO_FACT_WAITS | FGIO_FACT_OFF, FGIO_REASON_OFF },
		{ FGIO_FACT_WAITS | FGIO_FACT_NO_HOOK, FGIO_REASON_HOOK },
		{ FGIO_FACT_WAITS, FGIO_REASON_OWNER },
		{ FGIO_FACT_WAITS | FGIO_FACT_IO_LOST, FGIO_REASON_IO },
		{ FGIO_FACT_IO_SLEEP, FGIO_REASON_IO },
		{ FGIO_FACT_WAITS | FGIO_FACT_FULL, FGIO_REASON_FULL },
		{ FGIO_FACT_CUT, FGIO_REASON_DEPTH },
		{ FGIO_FACT_WAITS | FGIO_FACT_IO | FGIO_FACT_IO_TURN,
		  FGIO_REASON_SHARE },
		{ FGIO_FACT_OWN_IO | FGIO_FACT_OWN_IO_TURN | FGIO_FACT_IO_SLEEP,
		  FGIO_REASON_SHARE },
	};
	bool seen[FGIO_REASONS] = { false };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(fgio_reason_of(cases[i].facts),
				 cases[i].reason);
		seen[cases[i].reason] = true;
	}
	/* No walk saw such a wait: no facts lead there. */
	seen[FGIO_REASON_SHORT] = true;
	for (i = 0; i < FGIO_REASONS; i++)
		assert_true(seen[i]);
}

/* I/O that a task has in flight says nothing of the lock that it waits for. */
static void test_own_io_is_no_reason_for_a_lock(void **state)
{
	(void)state;
	assert_int_equal(fgio_reason_of(FGIO_FACT_OWN_IO | FGIO_FACT_WAITS),
			 FGIO_REASON_OWNER);
	assert_int_equal(fgio_reason_of(FGIO_FACT_OWN_IO), FGIO_REASON_NONE);
	/* Nor of the I/O of others that it waits for. */
	assert_int_equal(fgio_reason_of(FGIO_FACT_IO | FGIO_FACT_OWN_IO |
					FGIO_FACT_OWN_IO_TURN),
			 FGIO_REASON_NONE);
}

/* Whatever else is known: found is found, and a reason is always one. */
static void test_more_facts_never_hide_what_was_found(void **state)
{
	u32 facts;

	(void)state;
	for (facts = 0; facts < 2 * FGIO_FACT_OWN_IO_TURN; facts++) {
		enum fgio_reason reason = fgio_reason_of(facts);

		assert_true(reason < FGIO_REASONS);
		assert_true(reason != FGIO_REASON_SHORT);
		if (facts & FGIO_FACT_IO)
			assert_int_equal(reason,
					 facts & FGIO_FACT_IO_TURN ?
						 FGIO_REASON_SHARE :
						 FGIO_REASON_NONE);
		if (reason == FGIO_REASON_SHARE)
			assert_true(facts & (FGIO_FACT_IO | FGIO_FACT_OWN_IO));
		if (reason == FGIO_REASON_OFF || reason == FGIO_REASON_HOOK ||
		    reason == FGIO_REASON_OWNER)
			assert_true(facts & FGIO_FACT_WAITS);
	}
}

static void test_the_reason_that_held_longest_counts(void **state)
{
	struct fgio_reason_times times;

	(void)state;
	fgio_reason_begin(&times, 10 * MS, FGIO_REASON_RUNNING);
	assert_int_equal(fgio_reason_longest(&times, 11 * MS),
			 FGIO_REASON_RUNNING);
	fgio_reason_saw(&times, 12 * MS, FGIO_REASON_NONE);
	fgio_reason_saw(&times, 15 * MS, FGIO_REASON_OWNER);
	assert_int_equal(fgio_reason_longest(&times, 15 * MS),
			 FGIO_REASON_NONE);
	/* As long as the I/O: found wins. */
	assert_int_equal(fgio_reason_longest(&times, 18 * MS),
			 FGIO_REASON_NONE);
	assert_int_equal(fgio_reason_longest(&times, 18 * MS + 1),
			 FGIO_REASON_OWNER);
}

/* Against a sum over all looks, with clocks that step back by a little. */
static void test_random_looks(void **state)
{
	uint64_t random = seed;

	(void)state;
	for (int run = 0; run < 2000; run++) {
		u64 held[FGIO_REASONS] = { 0 };
		struct fgio_reason_times times;
		u64 began = 1000 * MS, last = began, now = began;
		u32 reason = next_random(&random) % FGIO_REASONS;
		u32 looks = next_random(&random) % 20, longest = 0, i;

		fgio_reason_begin(&times, began, (enum fgio_reason)reason);
		for (i = 0; i <= looks; i++) {
			now = last + next_random(&random) % (4 * MS);
			if (next_random(&random) % 8 == 0)
				now = last - next_random(&random) % 1000;
			held[reason] += now > last ? now - last : 0;
			if (i == looks)
				break;
			reason = next_random(&random) % FGIO_REASONS;
			fgio_reason_saw(&times, now, (enum fgio_reason)reason);
			last = now;
		}
		for (i = 1; i < FGIO_REASONS; i++)
			if (held[i] > held[longest])
				longest = i;
		assert_int_equal(fgio_reason_longest(&times, now), longest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_reason_has_facts_that_lead_to_it),
		cmocka_unit_test(test_own_io_is_no_reason_for_a_lock),
		cmocka_unit_test(test_more_facts_never_hide_what_was_found),
		cmocka_unit_test(test_the_reason_that_held_longest_counts),
		cmocka_unit_test(test_random_looks),
	};

	seed = fresh_seed("reason");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
