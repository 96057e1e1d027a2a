// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Places of notes: what one user notes costs another one nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../atomic.h"
#include "../places.h"
#include "check.h"

#define NOTES 20000

struct set {
	u64 objects[FGIO_PLACES];
	u32 payers[FGIO_PLACES];
};

static unsigned int count_of(const struct set *set, u32 payer)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < FGIO_PLACES; i++)
		count += set->objects[i] && set->payers[i] == payer;
	return count;
}

static unsigned int note(struct set *set, u64 object, u32 payer, uint64_t first)
{
	unsigned int place = fgio_place_for(set->objects, set->payers, payer,
					    (unsigned int)first);

	set->objects[place] = object;
	set->payers[place] = payer;
	return place;
}

/* A payer loses a place only to one that has no more of them afterwards. */
static void test_places_are_shared_by_payer(void **state)
{
	uint64_t random = fresh_seed("places");
	struct set set = {};

	(void)state;
	for (u64 object = 1; object < NOTES; object++) {
		struct set before = set;
		u32 payer = (u32)(next_random(&random) % 6);
		unsigned int place = note(&set, object, payer,
					  next_random(&random));
		u32 lost = before.payers[place];

		if (!before.objects[place] || lost == payer)
			continue;
		for (unsigned int i = 0; i < FGIO_PLACES; i++)
			assert_true(before.objects[i]);
		assert_true(count_of(&before, lost) > count_of(&before, payer));
	}
}

/* A note stays where its payer has no other, whatever another payer notes. */
static void test_flood_of_another_payer_leaves_a_note(void **state)
{
	uint64_t random = fresh_seed("flood");
	struct set set = {};
	unsigned int place;

	(void)state;
	for (u64 object = 1; object < 100; object++)
		note(&set, object, 2, next_random(&random));
	place = note(&set, 1000, 1, next_random(&random));
	for (u64 object = 2000; object < 2000 + NOTES; object++)
		note(&set, object, 2, next_random(&random));
	assert_int_equal(set.objects[place], 1000);
	assert_int_equal(count_of(&set, 2), FGIO_PLACES - 1);
}

/* The control: of one payer the newest notes are as many as there are places. */
static void test_one_payer_uses_all_places(void **state)
{
	struct set set = {};

	(void)state;
	for (u64 object = 1; object < 100; object++)
		note(&set, object, 7, object);
	assert_int_equal(count_of(&set, 7), FGIO_PLACES);
	for (unsigned int i = 0; i < FGIO_PLACES; i++)
		assert_true(set.objects[i] >= 100 - FGIO_PLACES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_are_shared_by_payer),
		cmocka_unit_test(test_flood_of_another_payer_leaves_a_note),
		cmocka_unit_test(test_one_payer_uses_all_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
