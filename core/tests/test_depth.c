// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the learnt depth promises, on the simulated drives: the drive is spent,
 * the foreground does not notice, and a drive that changes is learnt again
 * within a second. Then random scripts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "check.h"
#include "model_depth.h"
#include "model_rivals.h"

#define SECOND 1000000000ULL
#define MILLISECOND 1000000ULL
#define SCRIPTS 5000
#define SCRIPT_BYTES 512

/* The FAST'17 paper's figure 11. */
static struct rivals paper(enum simdisk_kind kind, u64 seed)
{
	return (struct rivals){
		.kind = kind,
		.seed = seed,
		.foreground = { .write = true, .sequential = true, .bytes = 4096,
				.depth = 1, .think_ns = 5 * MILLISECOND },
		.background = { .write = true, .bytes = 4096, .depth = 32 },
		.begin_ns = 1 * SECOND,
		.end_ns = 4 * SECOND,
	};
}

static struct rivals_figures alone(struct rivals rivals)
{
	rivals.background.depth = 0;
	return rivals_run(&rivals);
}

static struct rivals_figures limited(struct rivals rivals, u32 limit)
{
	rivals.limit = limit;
	return rivals_run(&rivals);
}

static void check_both(enum simdisk_kind kind, u64 seed)
{
	struct rivals rivals = paper(kind, seed);
	struct rivals_figures least = alone(rivals);
	struct rivals_figures most = limited(rivals, RIVALS_UNRESTRICTED);
	struct rivals_figures learnt = rivals_run(&rivals);

	print_message("    %s: %.1f%% of the throughput, mean %.2f, p99 %.2f times\n",
		      simdisk_name(kind),
		      100 * learnt.bytes_per_s / most.bytes_per_s,
		      learnt.mean_ns / least.mean_ns,
		      learnt.p99_ns / least.p99_ns);
	assert_true(learnt.bytes_per_s >= 0.95 * most.bytes_per_s);
	assert_true(learnt.mean_ns <= 1.2 * least.mean_ns);
	assert_true(learnt.p99_ns <= 1.2 * least.p99_ns);
}

static void test_volume_is_spent_unnoticed(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 3; seed++)
		check_both(SIMDISK_VOLUME, seed);
}

static void test_ssd_is_spent_unnoticed(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 3; seed++)
		check_both(SIMDISK_SSD, seed);
}

static void test_nvme_is_spent_unnoticed(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 3; seed++)
		check_both(SIMDISK_NVME, seed);
}

/* No limit comes near on a disk whose arm has to move: better than the best. */
static void test_hdd_is_better_than_fixed(void **state)
{
	struct rivals rivals = paper(SIMDISK_HDD, 1);
	struct rivals_figures one = limited(rivals, 1);
	struct rivals_figures learnt = rivals_run(&rivals);

	(void)state;
	assert_true(learnt.bytes_per_s >= 0.95 * one.bytes_per_s);
	assert_true(learnt.mean_ns * 4 <= one.mean_ns);
}

/* The second after a change is for learning, what follows is as if always so. */
static void check_change(enum simdisk_kind kind, u32 slower, u32 faster)
{
	struct rivals rivals = paper(kind, 1);
	struct rivals_figures most, learnt;

	rivals.change_ns = 3 * SECOND;
	rivals.slower = slower;
	rivals.faster = faster;
	rivals.begin_ns = 4 * SECOND;
	rivals.end_ns = 5 * SECOND;
	most = limited(rivals, RIVALS_UNRESTRICTED);
	learnt = rivals_run(&rivals);
	print_message("    %s, %u times slower, %u faster: %.1f%% of it\n",
		      simdisk_name(kind), slower, faster,
		      100 * learnt.bytes_per_s / most.bytes_per_s);
	assert_true(learnt.bytes_per_s >= 0.9 * most.bytes_per_s);
	assert_true(learnt.mean_ns <= 1.5 * alone(rivals).mean_ns);
}

static void test_learns_again_within_a_second(void **state)
{
	(void)state;
	check_change(SIMDISK_VOLUME, 4, 1);
	check_change(SIMDISK_VOLUME, 1, 2);
	check_change(SIMDISK_SSD, 4, 1);
	check_change(SIMDISK_SSD, 1, 2);
}

static void test_background_never_stands_still(void **state)
{
	struct rivals rivals = paper(SIMDISK_VOLUME, 1);

	(void)state;
	rivals.foreground.think_ns = 0;
	rivals.foreground.depth = 64;
	rivals.begin_ns = 0;
	/* One goes each 10 ms, and has 64 critical ones before it in the drive. */
	assert_true(rivals_run(&rivals).longest_gap_ns < 60 * MILLISECOND);
}

static void test_random_scripts(void **state)
{
	uint64_t random = 1;
	uint8_t script[SCRIPT_BYTES];

	(void)state;
	for (int i = 0; i < SCRIPTS; i++) {
		for (int at = 0; at < SCRIPT_BYTES; at++)
			script[at] = (uint8_t)next_random(&random);
		model_depth_play(script, sizeof(script));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_volume_is_spent_unnoticed),
		cmocka_unit_test(test_ssd_is_spent_unnoticed),
		cmocka_unit_test(test_nvme_is_spent_unnoticed),
		cmocka_unit_test(test_hdd_is_better_than_fixed),
		cmocka_unit_test(test_learns_again_within_a_second),
		cmocka_unit_test(test_background_never_stands_still),
		cmocka_unit_test(test_random_scripts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
