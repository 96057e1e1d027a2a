// SPDX-License-Identifier: GPL-2.0 OR MIT
/* How much of a CPU walks take, and how long they pause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../walk_pause.h"
#include "check.h"

#define SECOND 1000000000ULL
#define INTERVAL_NS 2000000ULL
#define RUNS 200

static uint64_t chance;

static u64 drawn(u64 least, u64 most)
{
	return least + next_random(&chance) % (most - least + 1);
}

/* Of a second, in thousandths, where a walk is wanted all the time. */
static u64 share_of_walks(struct fgio_walk_pause *pause, u64 *now_ns,
			  u64 most_ns, bool helped)
{
	u64 end_ns = *now_ns + SECOND, took_ns, taken_ns = 0;

	while (*now_ns < end_ns) {
		took_ns = drawn(5000, most_ns);
		taken_ns += took_ns;
		*now_ns += took_ns;
		*now_ns += fgio_walk_pause_after(pause, took_ns, helped,
						 INTERVAL_NS, *now_ns);
	}
	return taken_ns * 1000 / SECOND;
}

/* Up to 50 us, 40 times the walk is less than the interval. */
static void test_walks_in_vain_take_a_fortieth(void **state)
{
	(void)state;
	for (int run = 0; run < RUNS; run++) {
		struct fgio_walk_pause pause = { 0 };
		u64 now_ns = drawn(1, 1000 * SECOND);
		u64 most_ns = drawn(6000, 50000);

		/* The control. */
		assert_in_range(share_of_walks(&pause, &now_ns, most_ns, true),
				88, 93);
		/* The bound has to be used up first. */
		share_of_walks(&pause, &now_ns, most_ns, false);
		assert_in_range(share_of_walks(&pause, &now_ns, most_ns, false),
				22, 27);
		assert_in_range(share_of_walks(&pause, &now_ns, most_ns, true),
				88, 93);
	}
}

/* The pause of a large graph is long anyway, of no other longer than that. */
static void test_a_pause_has_bounds(void **state)
{
	struct fgio_walk_pause pause = { 0 };
	u64 now_ns = drawn(1, 1000 * SECOND);

	(void)state;
	for (int walk = 0; walk < 100000; walk++) {
		u64 took_ns = drawn(1, drawn(0, 3) ? 100000 : 10000000);
		u64 pause_ns = fgio_walk_pause_after(&pause, took_ns,
						     !drawn(0, 9), INTERVAL_NS,
						     now_ns);

		assert_true(pause_ns >= took_ns * FGIO_PAUSE_SHARE);
		assert_true(pause_ns <= larger(took_ns * FGIO_PAUSE_SHARE,
					       INTERVAL_NS));
		now_ns += took_ns + drawn(0, 2 * pause_ns);
	}
}

/* However long such walks went on, a quiet 160 ms later there is no trace. */
static void test_rare_walks_pause_no_longer(void **state)
{
	(void)state;
	for (int run = 0; run < RUNS; run++) {
		struct fgio_walk_pause pause = { 0 };
		u64 now_ns = drawn(1, 1000 * SECOND);

		share_of_walks(&pause, &now_ns, 50000, false);
		now_ns += 160000000;
		for (int walk = 0; walk < 1000; walk++) {
			u64 took_ns = drawn(5000, 50000);

			assert_int_equal(fgio_walk_pause_after(&pause, took_ns,
							       false,
							       INTERVAL_NS,
							       now_ns),
					 took_ns * FGIO_PAUSE_SHARE);
			now_ns += took_ns + drawn(4000000, 40000000);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walks_in_vain_take_a_fortieth),
		cmocka_unit_test(test_a_pause_has_bounds),
		cmocka_unit_test(test_rare_walks_pause_no_longer),
	};

	chance = fresh_seed("walk_pause");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
