// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Fair shares: properties one by one, then random scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../queue.h"
#include "check.h"
#include "model_shares.h"

#define SCRIPTS 800
#define SCRIPT_BYTES 1024

static void test_random_scripts_follow_the_model(void **state)
{
	uint64_t seed = fresh_seed("shares");
	static uint8_t script[SCRIPT_BYTES];

	(void)state;
	for (int i = 0; i < SCRIPTS; i++) {
		fill_random(&seed, script, sizeof(script));
		model_shares_play(script, sizeof(script));
		model_shares_heap_play(script, sizeof(script));
	}
}

static void test_weights_flatten(void **state)
{
	u32 root = fgio_shares_weight(100);

	(void)state;
	assert_int_equal(root, 6400);
	assert_int_equal(fgio_shares_flatten(root, 100, 400), 1600);
	assert_int_equal(fgio_shares_flatten(root, 300, 400), 4800);
	assert_int_equal(fgio_shares_flatten(4800, 1, 10000), 1);
	assert_int_equal(fgio_shares_flatten(
				 fgio_shares_weight(FGIO_SHARES_WEIGHT_MOST),
				 FGIO_SHARES_WEIGHT_MOST,
				 FGIO_SHARES_WEIGHT_MOST),
			 640000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weights_flatten),
		cmocka_unit_test(test_random_scripts_follow_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
