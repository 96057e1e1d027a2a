// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The properties of admission by group, one by one, then random scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../admission_groups.h"
#include "../shares.h"
#include "check.h"
#include "model_admission_groups.h"

#define SCRIPTS 1000
#define SCRIPT_BYTES 1024

#define SLOTS 256
#define WAITERS 1024

static struct fgio_admission admission;
static struct fgio_admission_groups groups;
static struct fgio_waiter waiters[WAITERS];

static void begin(void)
{
	fgio_admission_init(&admission, SLOTS);
	fgio_admission_use_groups(&admission, &groups);
}

static u8 place(u64 key, u32 weight)
{
	return fgio_admission_place_of(&admission, key,
				       fgio_shares_weight(weight));
}

static u32 fill(enum fgio_line line, u8 at)
{
	u32 taken = 0;

	while (fgio_admission_try_for(&admission, line, at))
		taken++;
	return taken;
}

static struct fgio_waiter *grant(void)
{
	return fgio_admission_grant(&admission, false);
}

/* As the module: one more I/O of a line. Return: whether slots became scarce. */
static bool take_one(enum fgio_line line, u8 at)
{
	bool became_scarce = false;

	if (fgio_admission_is_plenty(&admission, line) &&
	    fgio_admission_try_sure(&admission, line))
		return false;
	if (!fgio_admission_is_scarce(&admission))
		became_scarce = fgio_admission_become_scarce(&admission);
	if (line == FGIO_LINE_CARRIER)
		fgio_admission_charge(&admission, line);
	else if (!fgio_admission_try_for(&admission, line, at))
		fgio_admission_charge(&admission, line);
	return became_scarce;
}

/*
 * As many I/Os at a time, whatever their number, make slots scarce once, and not
 * once an I/O: to count all that are taken is dear.
 */
static void test_a_steady_load_makes_slots_scarce_once(void **state)
{
	static const u32 totals[] = { 2, 16, 31, 64, 256, 1023, 2048 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(totals); i++)
		for (u32 line = 0; line < FGIO_LINES; line++)
			for (u32 depth = 1; depth <= totals[i] / 2; depth += 1 + depth / 8) {
				u32 changes = 0;

				fgio_admission_init(&admission, totals[i]);
				fgio_admission_use_groups(&admission, &groups);
				for (u32 io = 0; io < depth + 200; io++) {
					changes += take_one(line, FGIO_ADMISSION_REST);
					if (io < depth)
						continue;
					fgio_admission_release(&admission, line);
					fgio_admission_become_plenty(&admission);
				}
				assert_true(changes <= 1);
			}
}

/* Each waiter that gets in lines up again, as a task with more I/O. */
static void serve(u32 rounds, const u8 *places, u32 count)
{
	u32 held[8] = { 0 }, at = 0;
	struct fgio_waiter *waiter;

	for (u32 i = 0; i < count; i++)
		held[i] = groups.groups[places[i]].held[FGIO_NONCRITICAL];
	while (rounds--) {
		do
			at = (at + 1) % count;
		while (!held[at]);
		fgio_admission_release_for(&admission, FGIO_LINE_NONCRITICAL,
					   places[at]);
		held[at]--;
		while ((waiter = grant())) {
			for (u32 i = 0; i < count; i++)
				held[i] += places[i] == waiter->place;
			fgio_admission_wait_for(&admission, waiter,
						FGIO_LINE_NONCRITICAL,
						waiter->place);
		}
	}
}

static void line_up(struct fgio_waiter *first, u32 count, u8 at)
{
	for (u32 i = 0; i < count; i++)
		fgio_admission_wait_for(&admission, &first[i],
					FGIO_LINE_NONCRITICAL, at);
}

static void test_slots_are_divided_by_weight(void **state)
{
	u8 places[2];

	(void)state;
	begin();
	places[0] = place(1, 100);
	assert_int_equal(fill(FGIO_LINE_NONCRITICAL, places[0]), 240);
	line_up(waiters, 8, places[0]);
	assert_null(grant());
	places[1] = place(2, 300);
	/* A sixteenth is free for one that begins to ask... */
	assert_int_equal(fill(FGIO_LINE_NONCRITICAL, places[1]), 16);
	line_up(waiters + 8, 8, places[1]);
	/* ...and what is freed is its own, until it has its part. */
	serve(1000, places, 2);
	assert_in_range(groups.groups[places[0]].held[FGIO_NONCRITICAL], 59, 61);
	assert_in_range(groups.groups[places[1]].held[FGIO_NONCRITICAL], 179,
			181);
	/* A new weight is seen with the group's next I/O. */
	place(2, 100);
	serve(1000, places, 2);
	assert_in_range(groups.groups[places[0]].held[FGIO_NONCRITICAL], 119,
			121);
}

/* The first freed slots are those of a group far below its part. */
static void test_a_small_group_beside_four_floods_waits_for_none(void **state)
{
	u8 places[5];

	(void)state;
	begin();
	for (u64 i = 0; i < 4; i++) {
		places[i] = place(i + 1, 100);
		line_up(waiters + 100 * i, 8, places[i]);
		while (grant())
			;
		fill(FGIO_LINE_NONCRITICAL, places[i]);
		line_up(waiters + 100 * i, 8, places[i]);
	}
	serve(2000, places, 4);
	places[4] = place(5, 100);
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 8; i++)
			assert_true(fgio_admission_try_for(
				&admission, FGIO_LINE_CRITICAL, places[4]));
		for (int i = 0; i < 8; i++)
			fgio_admission_release_for(&admission,
						   FGIO_LINE_CRITICAL,
						   places[4]);
		serve(37, places, 4);
	}
}

static void test_classes_divide_the_part_of_their_group(void **state)
{
	struct fgio_waiter critical, other;
	u8 one, two;

	(void)state;
	begin();
	one = place(1, 100);
	two = place(2, 100);
	fill(FGIO_LINE_NONCRITICAL, two);
	line_up(&other, 1, two);
	for (int i = 0; i < 120; i++)
		fgio_admission_release_for(&admission, FGIO_LINE_NONCRITICAL,
					   two);
	/* Half of its part of 240, since it has both classes. */
	fgio_admission_wait_for(&admission, &critical, FGIO_LINE_CRITICAL, one);
	assert_ptr_equal(grant(), &critical);
	assert_int_equal(fill(FGIO_LINE_NONCRITICAL, one), 60);
	/* No more beside critical I/O, even if slots are free. */
	assert_false(fgio_admission_try_for(&admission, FGIO_LINE_NONCRITICAL,
					    one));
	assert_true(fgio_admission_has_room_for(&admission, FGIO_LINE_CRITICAL,
						one));
}

/* Then there is none for the class of critical I/O alone. */
static void test_one_slot_serves_both_classes(void **state)
{
	struct fgio_waiter critical, other;
	u8 at;

	(void)state;
	fgio_admission_init(&admission, 1);
	fgio_admission_use_groups(&admission, &groups);
	at = place(1, 100);
	fgio_admission_wait_for(&admission, &other, FGIO_LINE_NONCRITICAL, at);
	fgio_admission_wait_for(&admission, &critical, FGIO_LINE_CRITICAL, at);
	assert_ptr_equal(grant(), &critical);
	assert_null(grant());
	fgio_admission_release_for(&admission, FGIO_LINE_CRITICAL, at);
	assert_ptr_equal(grant(), &other);
}

static void test_critical_waiters_of_a_group_go_first(void **state)
{
	struct fgio_waiter first, second;
	u8 at, flood;

	(void)state;
	begin();
	at = place(1, 100);
	flood = place(2, 100);
	fill(FGIO_LINE_NONCRITICAL, flood);
	while (fgio_admission_try_for(&admission, FGIO_LINE_NONCRITICAL, at))
		;
	fgio_admission_wait_for(&admission, &first, FGIO_LINE_NONCRITICAL, at);
	fgio_admission_wait_for(&admission, &second, FGIO_LINE_NONCRITICAL, at);
	assert_null(grant());
	assert_true(fgio_admission_promote(&admission, &second));
	fgio_admission_release_for(&admission, FGIO_LINE_NONCRITICAL, flood);
	assert_ptr_equal(grant(), &second);
	assert_false(fgio_admission_promote(&admission, &second));
}

/* A promoted waiter may be charged to the group of the task that waits for it. */
static void test_a_promoted_waiter_may_change_its_group(void **state)
{
	struct fgio_waiter waiter;
	u8 flood, waits;

	(void)state;
	begin();
	flood = place(1, 100);
	waits = place(2, 100);
	fill(FGIO_LINE_NONCRITICAL, flood);
	fgio_admission_wait_for(&admission, &waiter, FGIO_LINE_NONCRITICAL,
				flood);
	assert_null(grant());
	assert_true(fgio_admission_promote_to(&admission, &waiter, waits));
	assert_ptr_equal(grant(), &waiter);
	assert_int_equal(groups.groups[waits].held[FGIO_CRITICAL], 1);
}

/*
 * More groups than places share the rest; those that end give their place to
 * others, also while a freed group's slots are still held.
 */
static void test_places_run_out(void **state)
{
	u8 at;

	(void)state;
	begin();
	for (u64 key = 1; key < FGIO_ADMISSION_GROUPS; key++) {
		at = place(key, 100);
		assert_int_not_equal(at, FGIO_ADMISSION_REST);
		fgio_admission_charge_for(&admission, FGIO_LINE_NONCRITICAL,
					  at);
	}
	at = place(1000, 300);
	assert_int_equal(at, FGIO_ADMISSION_REST);
	assert_int_equal(groups.groups[at].weight, fgio_shares_weight(300));
	assert_true(fgio_admission_try_for(&admission, FGIO_LINE_CRITICAL, at));
	assert_int_equal(place(1001, 100), FGIO_ADMISSION_REST);
	assert_int_equal(groups.groups[at].weight, fgio_shares_weight(300));
	/* One ends: the next new group has its place. */
	fgio_admission_release_for(&admission, FGIO_LINE_NONCRITICAL,
				   place(77, 100));
	at = place(1001, 100);
	assert_int_not_equal(at, FGIO_ADMISSION_REST);
	assert_true(fgio_admission_is_place_of(&admission, at, 1001));
	/* The slot held in the rest moves with its request. */
	fgio_admission_move_to(&admission, FGIO_LINE_CRITICAL,
			       FGIO_ADMISSION_REST, FGIO_LINE_CRITICAL, at);
	assert_int_equal(groups.groups[at].held[FGIO_CRITICAL], 1);
}

static u8 carried(u64 task, enum fgio_line line)
{
	return fgio_admission_carried(&admission, task, line);
}

static void test_carried_tasks_run_out(void **state)
{
	u32 count = 0;

	(void)state;
	begin();
	for (u64 task = 1; task <= 1000; task++)
		count += fgio_admission_carry(&admission, task,
					      FGIO_LINE_CRITICAL, task % 100);
	assert_in_range(count, 8, FGIO_ADMISSION_CARRIED);
	for (u64 task = 1; task <= 1000; task++) {
		u8 at = carried(task, FGIO_LINE_CRITICAL);

		assert_true(at == task % 100 || at == FGIO_ADMISSION_NOWHERE);
		count -= at != FGIO_ADMISSION_NOWHERE;
		assert_int_equal(carried(task, FGIO_LINE_CRITICAL),
				 FGIO_ADMISSION_NOWHERE);
	}
	assert_int_equal(count, 0);
	/* A task has two, of different lines. */
	fgio_admission_carry(&admission, 1, FGIO_LINE_NONCRITICAL, 2);
	fgio_admission_carry(&admission, 1, FGIO_LINE_CRITICAL, 3);
	assert_int_equal(carried(1, FGIO_LINE_CRITICAL), 3);
	assert_int_equal(carried(1, FGIO_LINE_NONCRITICAL), 2);
}

static void test_batches_stay_far_from_the_part(void **state)
{
	u8 one;
	u32 taken = 0;

	(void)state;
	begin();
	one = place(1, 100);
	fgio_admission_charge_for(&admission, FGIO_LINE_NONCRITICAL,
				  place(2, 100));
	while (fgio_admission_has_plenty_for(&admission, FGIO_LINE_NONCRITICAL,
					     one, 8)) {
		for (int i = 0; i < 8; i++)
			fgio_admission_charge_for(&admission,
						  FGIO_LINE_NONCRITICAL, one);
		taken += 8;
	}
	assert_in_range(taken, 48, 60);
}

/* A flood takes slots, which are counted as they become scarce. */
static void test_slots_are_counted_once_they_are_scarce(void **state)
{
	u32 plenty = 0;
	u8 one, other;

	(void)state;
	begin();
	one = place(1, 100);
	other = place(2, 100);
	while (fgio_admission_is_plenty(&admission, FGIO_LINE_NONCRITICAL)) {
		assert_true(fgio_admission_try_sure(&admission,
						    FGIO_LINE_NONCRITICAL));
		plenty++;
	}
	assert_int_equal(plenty, admission.sure[FGIO_LINE_NONCRITICAL] / 2);
	assert_false(fgio_admission_is_scarce(&admission));
	assert_true(fgio_admission_become_scarce(&admission));
	assert_false(fgio_admission_become_scarce(&admission));
	for (u32 i = 0; i < plenty; i++)
		fgio_admission_count_for(&admission, FGIO_LINE_NONCRITICAL,
					 one);
	/* Both have their parts, as if each slot had been counted at once. */
	assert_int_equal(plenty + fill(FGIO_LINE_NONCRITICAL, one),
			 SLOTS - admission.reserve);
	assert_int_equal(fill(FGIO_LINE_NONCRITICAL, other), admission.reserve);
}

static void test_slots_are_plenty_again_when_few_are_taken(void **state)
{
	u32 taken;
	u8 one;

	(void)state;
	begin();
	one = place(1, 100);
	fgio_admission_become_scarce(&admission);
	taken = fill(FGIO_LINE_NONCRITICAL, one);
	fgio_admission_wait_for(&admission, &waiters[0], FGIO_LINE_NONCRITICAL,
				one);
	for (; taken > admission.sure[FGIO_LINE_NONCRITICAL] /
			       FGIO_ADMISSION_PLENTY_PART; taken--)
		fgio_admission_release_for(&admission, FGIO_LINE_NONCRITICAL,
					   one);
	/* A task waits: it comes first. */
	assert_false(fgio_admission_become_plenty(&admission));
	assert_ptr_equal(grant(), &waiters[0]);
	assert_false(fgio_admission_become_plenty(&admission));
	fgio_admission_release_for(&admission, FGIO_LINE_NONCRITICAL, one);
	assert_true(fgio_admission_become_plenty(&admission));
	assert_false(fgio_admission_become_plenty(&admission));
	assert_false(fgio_admission_is_scarce(&admission));
	/* Those that are left stay counted. */
	for (; taken; taken--)
		fgio_admission_release_for(&admission, FGIO_LINE_NONCRITICAL,
					   one);
	assert_int_equal(groups.weights, 0);
}

static void test_random_scripts_agree_with_the_model(void **state)
{
	uint8_t script[SCRIPT_BYTES];
	uint64_t random = fresh_seed("scripts of admission by group");

	(void)state;
	for (int round = 0; round < SCRIPTS; round++) {
		fill_random(&random, script, sizeof(script));
		/* In half of them, many groups hold slots at once. */
		for (size_t i = 1; round % 2 && i < sizeof(script); i += 3)
			script[i] |= 128;
		model_admission_groups_play(script, sizeof(script));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_steady_load_makes_slots_scarce_once),
		cmocka_unit_test(test_slots_are_divided_by_weight),
		cmocka_unit_test(
			test_a_small_group_beside_four_floods_waits_for_none),
		cmocka_unit_test(test_classes_divide_the_part_of_their_group),
		cmocka_unit_test(test_one_slot_serves_both_classes),
		cmocka_unit_test(test_critical_waiters_of_a_group_go_first),
		cmocka_unit_test(test_a_promoted_waiter_may_change_its_group),
		cmocka_unit_test(test_places_run_out),
		cmocka_unit_test(test_carried_tasks_run_out),
		cmocka_unit_test(test_batches_stay_far_from_the_part),
		cmocka_unit_test(test_slots_are_counted_once_they_are_scarce),
		cmocka_unit_test(
			test_slots_are_plenty_again_when_few_are_taken),
		cmocka_unit_test(test_random_scripts_agree_with_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
