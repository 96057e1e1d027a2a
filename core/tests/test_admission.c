// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The properties of admission, one by one, then random scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../admission.h"
#include "check.h"
#include "model_admission.h"

#define SCRIPTS 20000
#define SCRIPT_BYTES 512

static uint32_t fill(struct fgio_admission *admission, enum fgio_line line,
		     bool other_present)
{
	uint32_t taken = 0;

	while (fgio_admission_try(admission, line, other_present))
		taken++;
	return taken;
}

static uint32_t fill_line(struct fgio_admission *admission,
			  enum fgio_line line)
{
	uint32_t taken = 0;

	while (fgio_admission_try(admission, line, true))
		taken++;
	return taken;
}

static void test_flood_leaves_the_foreground_its_share(void **state)
{
	struct fgio_admission admission;

	(void)state;
	fgio_admission_init(&admission, 256);
	assert_int_equal(fill(&admission, FGIO_LINE_NONCRITICAL, true), 128);
	assert_int_equal(fill(&admission, FGIO_LINE_CRITICAL, false), 128);
}

static void test_a_class_alone_leaves_only_the_reserve(void **state)
{
	struct fgio_admission admission;

	(void)state;
	fgio_admission_init(&admission, 256);
	assert_int_equal(fill(&admission, FGIO_LINE_NONCRITICAL, false), 240);
	/* The first critical I/O finds a slot at once ... */
	assert_true(fgio_admission_try(&admission, FGIO_LINE_CRITICAL, false));
	/* ... and from then on the flood has to shrink to its share. */
	for (int i = 0; i < 112; i++)
		fgio_admission_release(&admission, FGIO_LINE_NONCRITICAL);
	assert_false(fgio_admission_try(&admission, FGIO_LINE_NONCRITICAL, false));
	fgio_admission_release(&admission, FGIO_LINE_NONCRITICAL);
	assert_true(fgio_admission_try(&admission, FGIO_LINE_NONCRITICAL, false));
}

/* A carrier takes all that is free except the reserve. */
static void test_carriers_wait_at_the_reserve_alone(void **state)
{
	struct fgio_admission admission;
	struct fgio_waiter carrier;

	(void)state;
	fgio_admission_init(&admission, 16);
	assert_int_equal(fill_line(&admission, FGIO_LINE_CARRIER), 15);
	/* Critical I/O finds the reserve, and its share as they end. */
	assert_true(fgio_admission_try(&admission, FGIO_LINE_CRITICAL, true));
	fgio_admission_wait(&admission, &carrier, FGIO_LINE_CARRIER);
	fgio_admission_release(&admission, FGIO_LINE_CARRIER);
	assert_null(fgio_admission_grant(&admission, true));
	assert_int_equal(fill_line(&admission, FGIO_LINE_CRITICAL), 7);
	for (int i = 0; i < 7; i++)
		fgio_admission_release(&admission, FGIO_LINE_CARRIER);
	assert_null(fgio_admission_grant(&admission, true));
	fgio_admission_release(&admission, FGIO_LINE_CARRIER);
	assert_ptr_equal(fgio_admission_grant(&admission, true), &carrier);
	assert_int_equal(admission.admitted[FGIO_LINE_CARRIER], 7);
}

/*
 * Even when all is taken, they have a reserve of their own, and so do the
 * others.
 */
static void test_no_line_starves_beside_carriers(void **state)
{
	struct fgio_admission admission;

	(void)state;
	fgio_admission_init(&admission, 256);
	assert_int_equal(fill(&admission, FGIO_LINE_NONCRITICAL, true), 128);
	assert_int_equal(fill_line(&admission, FGIO_LINE_CRITICAL), 128);
	assert_int_equal(fill_line(&admission, FGIO_LINE_CARRIER), 16);
	/* Non-critical I/O makes room for that. */
	for (int i = 0; i < 16; i++)
		fgio_admission_release(&admission, FGIO_LINE_NONCRITICAL);
	assert_false(fgio_admission_try(&admission, FGIO_LINE_NONCRITICAL, true));
	fgio_admission_release(&admission, FGIO_LINE_NONCRITICAL);
	assert_true(fgio_admission_try(&admission, FGIO_LINE_NONCRITICAL, true));
}

static void test_shares_follow_the_real_depth(void **state)
{
	struct fgio_admission admission;

	(void)state;
	fgio_admission_init(&admission, 64);
	assert_int_equal(admission.share[FGIO_CRITICAL], 32);
	assert_int_equal(admission.share[FGIO_NONCRITICAL], 32);
	fgio_admission_resize(&admission, 2);
	assert_int_equal(admission.share[FGIO_CRITICAL], 1);
	assert_int_equal(admission.share[FGIO_NONCRITICAL], 1);
	fgio_admission_resize(&admission, 1024);
	assert_int_equal(admission.share[FGIO_CRITICAL], 128);
	assert_int_equal(admission.share[FGIO_NONCRITICAL], 128);
	fgio_admission_set_shares(&admission, UINT32_MAX, 1);
	assert_int_equal(admission.share[FGIO_CRITICAL], 1023);
	assert_int_equal(admission.share[FGIO_NONCRITICAL], 1);
	/* Even if none is asked for: a flush may wait for non-critical I/O. */
	fgio_admission_set_shares(&admission, UINT32_MAX, 0);
	assert_int_equal(admission.share[FGIO_CRITICAL], 1023);
	assert_int_equal(admission.share[FGIO_NONCRITICAL], 1);
}

static void test_a_promoted_waiter_uses_the_critical_share(void **state)
{
	struct fgio_admission admission;
	struct fgio_waiter first, second;

	(void)state;
	fgio_admission_init(&admission, 256);
	fill(&admission, FGIO_LINE_NONCRITICAL, true);
	fgio_admission_wait(&admission, &first, FGIO_LINE_NONCRITICAL);
	fgio_admission_wait(&admission, &second, FGIO_LINE_NONCRITICAL);
	assert_null(fgio_admission_grant(&admission, true));
	assert_true(fgio_admission_promote(&admission, &second));
	assert_ptr_equal(fgio_admission_grant(&admission, true), &second);
	assert_null(fgio_admission_grant(&admission, true));
	assert_false(fgio_admission_promote(&admission, &second));
	assert_int_equal(admission.admitted[FGIO_LINE_CRITICAL], 1);
}

static void test_all_get_in_when_limits_do_not_count(void **state)
{
	struct fgio_admission admission;
	struct fgio_waiter waiters[3];

	(void)state;
	fgio_admission_init(&admission, 256);
	fill(&admission, FGIO_LINE_NONCRITICAL, true);
	fill(&admission, FGIO_LINE_CRITICAL, true);
	fgio_admission_wait(&admission, &waiters[0], FGIO_LINE_NONCRITICAL);
	fgio_admission_wait(&admission, &waiters[1], FGIO_LINE_CRITICAL);
	fgio_admission_wait(&admission, &waiters[2], FGIO_LINE_NONCRITICAL);
	assert_null(fgio_admission_grant(&admission, true));
	assert_ptr_equal(fgio_admission_grant_anyway(&admission), &waiters[1]);
	assert_ptr_equal(fgio_admission_grant_anyway(&admission), &waiters[0]);
	assert_ptr_equal(fgio_admission_grant_anyway(&admission), &waiters[2]);
	assert_null(fgio_admission_grant_anyway(&admission));
	assert_int_equal(admission.admitted[FGIO_LINE_NONCRITICAL], 130);
	assert_int_equal(admission.admitted[FGIO_LINE_CRITICAL], 129);
}

/* Four CPUs that each see room for a batch, and then take it. */
static void test_batches_stay_far_from_the_limits(void **state)
{
	struct fgio_admission admission;
	struct fgio_waiter waiter;
	uint32_t batch, taken;

	(void)state;
	for (batch = 1; batch <= 16; batch++) {
		fgio_admission_init(&admission, 256);
		taken = 0;
		while (fgio_admission_has_plenty(
			&admission, FGIO_LINE_NONCRITICAL, batch))
			for (uint32_t i = 0; i < 4 * batch; i++, taken++)
				fgio_admission_charge(&admission,
						      FGIO_LINE_NONCRITICAL);
		assert_true(taken >= batch);
		assert_true(taken <= admission.sure[FGIO_LINE_NONCRITICAL]);
	}
	/* A task that waits comes first. */
	fgio_admission_init(&admission, 256);
	assert_true(fgio_admission_has_plenty(&admission,
					      FGIO_LINE_NONCRITICAL, 2));
	fgio_admission_wait(&admission, &waiter, FGIO_LINE_NONCRITICAL);
	assert_false(fgio_admission_has_plenty(&admission,
					       FGIO_LINE_NONCRITICAL, 2));
}

static void test_no_task_overtakes_within_a_class(void **state)
{
	struct fgio_admission admission;
	struct fgio_waiter waiter;

	(void)state;
	fgio_admission_init(&admission, 256);
	fill(&admission, FGIO_LINE_NONCRITICAL, true);
	fgio_admission_wait(&admission, &waiter, FGIO_LINE_NONCRITICAL);
	fgio_admission_release(&admission, FGIO_LINE_NONCRITICAL);
	assert_false(fgio_admission_try(&admission, FGIO_LINE_NONCRITICAL, true));
	assert_ptr_equal(fgio_admission_grant(&admission, true), &waiter);
}

static void test_random_scripts_agree_with_the_model(void **state)
{
	uint8_t script[SCRIPT_BYTES];
	uint64_t random = fresh_seed("scripts of admission");

	(void)state;
	for (int round = 0; round < SCRIPTS; round++) {
		fill_random(&random, script, sizeof(script));
		model_admission_play(script, sizeof(script));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flood_leaves_the_foreground_its_share),
		cmocka_unit_test(test_a_class_alone_leaves_only_the_reserve),
		cmocka_unit_test(test_carriers_wait_at_the_reserve_alone),
		cmocka_unit_test(test_no_line_starves_beside_carriers),
		cmocka_unit_test(test_shares_follow_the_real_depth),
		cmocka_unit_test(test_a_promoted_waiter_uses_the_critical_share),
		cmocka_unit_test(test_all_get_in_when_limits_do_not_count),
		cmocka_unit_test(test_batches_stay_far_from_the_limits),
		cmocka_unit_test(test_no_task_overtakes_within_a_class),
		cmocka_unit_test(test_random_scripts_agree_with_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
