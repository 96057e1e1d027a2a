// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A checkpoint's batch beside a foreground of a fixed rate is done nearly as
 * soon as the foreground's own I/O allows. docs/results/batch has the figures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "check.h"
#include "model_batch.h"
#include "model_host.h"

#define RUNS 12

/*
 * Without classes the foreground waits, and the batch hardly notices it: the
 * control.
 */
static void test_the_foreground_takes_what_delays_the_batch(void **state)
{
	static const char *const drives[] = { "volume", "gp3", "volume-sigma" };
	uint64_t random = fresh_seed("batches");
	double over_alone = 0, learnt = 0, one_class = 0, sum = 0, usual;
	double over_ideal[RUNS];

	(void)state;
	for (u32 i = 0; i < RUNS; i++) {
		struct simdisk_parameters drive =
			host_parsed(drives[i % ARRAY_SIZE(drives)]);
		struct batch batch = {
			.drive = &drive,
			.ios = 400 + next_random(&random) % 600,
			.bytes = 8192,
			.foreground_rate = 200 + next_random(&random) % 1200,
			.seed = next_random(&random) >> 1,
		};
		struct batch_figures figures = batch_run(&batch);

		over_ideal[i] = figures.learnt_ns / figures.ideal_ns;
		sum += over_ideal[i];
		over_alone += figures.one_class_ns / figures.alone_ns / RUNS;
		learnt += figures.learnt_times / RUNS;
		one_class += figures.one_class_times / RUNS;
	}
	usual = median_of(over_ideal, RUNS);
	print_message("    learnt: %.2f of the ideal time, mean %.2f, foreground %.2f times; one class: %.2f of that alone, %.1f times\n",
		      usual, sum / RUNS, learnt, over_alone, one_class);
	assert_true(usual <= 1.1);
	/* One batch in 300 takes 1.4 to 2.1 times the ideal, one of them 2.7. */
	assert_true(sum / RUNS <= 1.3);
	assert_true(learnt <= 1.2);
	assert_true(over_alone <= 1.1);
	assert_true(one_class >= 5);
}

/*
 * Nothing is known of the drive: it is learnt from the batch itself. With whole
 * intervals in the race, one step in each, this took 8 and 1.3 times the ideal.
 */
static void test_a_first_batch_is_not_held_back_for_long(void **state)
{
	static const char *const drives[] = { "gp3-16k", "volume" };
	static const double most[] = { 6.5, 1.27 };
	uint64_t random = fresh_seed("first batches");

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(drives); i++) {
		struct simdisk_parameters drive = host_parsed(drives[i]);
		double over_ideal = 0, learnt = 0;

		for (u32 run = 0; run < RUNS; run++) {
			struct batch batch = {
				.drive = &drive,
				.ios = 785,
				.bytes = 8192,
				.foreground_rate = 200 + next_random(&random) % 600,
				.first = true,
				.seed = next_random(&random) >> 1,
			};
			struct batch_figures figures = batch_run(&batch);

			over_ideal += figures.learnt_ns / figures.ideal_ns / RUNS;
			learnt += figures.learnt_times / RUNS;
		}
		print_message("    %s: %.2f of the ideal time, foreground %.2f times\n",
			      drives[i], over_ideal, learnt);
		assert_true(over_ideal <= most[i]);
		assert_true(learnt <= 1.25);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_foreground_takes_what_delays_the_batch),
		cmocka_unit_test(test_a_first_batch_is_not_held_back_for_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
