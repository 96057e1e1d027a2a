// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Looks that take too long for a walk: their turns, and how much time they take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../looks.h"
#include "check.h"

#define PLACES 4U
#define KEYS 16U
#define WALK_NS 2000000ULL

/**
 * struct host - walks that ask for keys in their order, and looks after them
 * @look: the places...
 * @looks: ...of these
 * @made_for: whose results are in each place
 * @now_ns: the time
 * @spent_ns: in looks
 * @used: how often the results of each key were there for a walk
 * @last_ns: when they were last
 */
struct host {
	struct fgio_look look[PLACES];
	struct fgio_looks looks;
	u64 made_for[PLACES];
	u64 now_ns;
	u64 spent_ns;
	u32 used[KEYS];
	u64 last_ns[KEYS];
};

static void host_init(struct host *host)
{
	memset(host, 0, sizeof(*host));
	host->looks.look = host->look;
	host->looks.count = PLACES;
	host->now_ns = 1;
}

/* A walk, in which the keys of @asking ask, and the looks that are made after it. */
static void walk(struct host *host, u32 asking, u64 look_ns)
{
	u32 place;

	for (u32 key = 0; key < KEYS; key++) {
		if (!(asking & 1U << key))
			continue;
		place = fgio_looks_ask(&host->looks, key + 1, host->now_ns);
		if (place == FGIO_LOOKS_NONE)
			continue;
		assert_true(place < PLACES);
		assert_int_equal(host->look[place].key, key + 1);
		assert_true(host->look[place].made_ns);
		assert_int_equal(host->made_for[place], key + 1);
		host->used[key]++;
		host->last_ns[key] = host->now_ns;
	}
	place = fgio_looks_begin(&host->looks, host->now_ns);
	while (place != FGIO_LOOKS_NONE) {
		assert_true(place < PLACES);
		/* None is made that the walk did not ask for. */
		assert_true(asking & 1U << (host->look[place].key - 1));
		host->made_for[place] = host->look[place].key;
		host->now_ns += look_ns;
		host->spent_ns += look_ns;
		place = fgio_looks_made(&host->looks, place, host->now_ns);
	}
}

/*
 * Of any number of keys that ask in one order, each has its turns, also where there
 * is time for one look after a walk. If they fit, a walk nearly always has results.
 */
static void test_all_keys_have_their_turn(void **state)
{
	uint64_t random = fresh_seed("turns");

	(void)state;
	for (u32 keys = 1; keys <= KEYS; keys++) {
		u64 look_ns = next_random(&random) % 5000000;
		u64 most_ns = look_ns * (FGIO_LOOKS_SHARE + 1) + WALK_NS;
		u32 walks = (u32)(60 * keys * most_ns / WALK_NS);
		struct host host;

		host_init(&host);
		for (u32 i = 0; i < walks; i++) {
			walk(&host, (1U << keys) - 1, look_ns);
			host.now_ns += WALK_NS;
		}
		for (u32 key = 0; key < keys; key++) {
			u32 least = keys <= PLACES ? walks - walks / 8 : 5;

			if (host.used[key] < least)
				print_message("    %u keys, %llu ns: %u of %u\n",
					      keys, (unsigned long long)look_ns,
					      host.used[key], walks);
			assert_true(host.used[key] >= least);
		}
	}
}

/*
 * One key more than there are places, and long looks: results stay until another
 * key's look is due, and not until it asks.
 */
static void test_results_last_until_the_next_look(void **state)
{
	const u32 walks = 4000;
	struct host host;
	u32 used = 0;

	(void)state;
	host_init(&host);
	for (u32 i = 0; i < walks; i++) {
		walk(&host, (1U << (PLACES + 1)) - 1, 5000000);
		host.now_ns += WALK_NS;
	}
	for (u32 key = 0; key <= PLACES; key++)
		used += host.used[key];
	/* PLACES of them in each walk would be all. */
	assert_true(used > walks * PLACES * 3 / 4);
}

/* However many keys ask, and how long looks take. */
static void test_looks_take_their_part_of_the_time(void **state)
{
	uint64_t random = fresh_seed("time");

	(void)state;
	for (u32 run = 0; run < 200; run++) {
		u64 look_ns = 1 + next_random(&random) % 20000000;
		u64 most_ns = 0;
		struct host host;

		host_init(&host);
		for (u32 i = 0; i < 400; i++) {
			u64 before_ns = host.spent_ns;

			walk(&host, (u32)next_random(&random) % (1U << KEYS),
			     look_ns);
			host.now_ns += next_random(&random) % WALK_NS;
			most_ns = host.spent_ns - before_ns > most_ns ?
					  host.spent_ns - before_ns :
					  most_ns;
		}
		/* One more may be just over. */
		assert_true(host.spent_ns <= host.now_ns / 11 + most_ns);
		assert_true(most_ns < FGIO_LOOKS_SLICE_NS + look_ns);
		assert_true(host.spent_ns > 0);
	}
}

/* Keys come and go, more than there are places: those that stay are served. */
static void test_keys_that_stay_are_served_beside_those_that_go(void **state)
{
	uint64_t random = fresh_seed("come and go");
	const u32 stay = 3;

	(void)state;
	for (u32 run = 0; run < 100; run++) {
		struct host host;
		u32 others = 0;

		host_init(&host);
		for (u32 i = 0; i < 2000; i++) {
			if (next_random(&random) % 4 == 0)
				others = (u32)next_random(&random) %
					 (1U << KEYS);
			walk(&host, others | ((1U << stay) - 1), 50000);
			host.now_ns += WALK_NS;
			for (u32 key = 0; i > 200 && key < stay; key++)
				assert_true(host.now_ns - host.last_ns[key] <
					    200 * WALK_NS);
		}
	}
}

/* A key that no walk asks for any longer blocks no place. */
static void test_keys_that_are_gone_leave_their_places(void **state)
{
	struct host host;

	(void)state;
	host_init(&host);
	/* Its look is never made: it is not time yet. */
	host.looks.next_ns = ~0ULL;
	walk(&host, 0xf, 0);
	walk(&host, 0, 0);
	host.looks.next_ns = 0;
	walk(&host, 0xf0, 0);
	walk(&host, 0xf0, 0);
	for (u32 key = 4; key < 8; key++)
		assert_int_equal(host.used[key], 1);
	/* Made, and not asked for. */
	walk(&host, 0, 0);
	walk(&host, 0xf00, 0);
	walk(&host, 0xf00, 0);
	for (u32 key = 8; key < 12; key++)
		assert_int_equal(host.used[key], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_keys_have_their_turn),
		cmocka_unit_test(test_results_last_until_the_next_look),
		cmocka_unit_test(test_looks_take_their_part_of_the_time),
		cmocka_unit_test(
			test_keys_that_stay_are_served_beside_those_that_go),
		cmocka_unit_test(test_keys_that_are_gone_leave_their_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
