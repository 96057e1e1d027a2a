// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The longest non-critical request: what splitting long ones gains and costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../queue.h"
#include "../split.h"
#include "check.h"
#include "model_host.h"
#include "model_rivals.h"

#define SECOND 1000000000ULL
#define MILLISECOND 1000000ULL
#define SEEDS 15

static uint64_t chance;

static const struct rival reads = {
	.bytes = 4096,
	.depth = 1,
	.think_ns = 4 * MILLISECOND,
	.irregular = true,
};
static const struct rival writer = {
	.write = true,
	.bytes = 16384,
	.depth = 1,
	.think_ns = 8 * MILLISECOND,
	.irregular = true,
	.ends = RIVAL_ENDS_COMMITTED,
};
static const struct rival writes = {
	.write = true,
	.bytes = 256 << 10,
	.depth = 16,
};

/* Medians over the seeds, of the same with I/O split to that whole. */
struct ratios {
	double p99;
	double mean;
	double background;
};

/* @from_ns and @seconds of a run: what comes before is not measured. */
static struct ratios split_to_whole(const char *spec, const struct rival *foreground,
				    u64 from_ns, u64 seconds)
{
	struct simdisk_parameters drive = host_parsed(spec);
	double p99[SEEDS], mean[SEEDS], background[SEEDS];
	struct rivals rivals = {
		.drive = &drive,
		.foreground = *foreground,
		.background = writes,
		.begin_ns = from_ns,
		.end_ns = from_ns + seconds * SECOND,
	};
	struct ratios ratios;

	for (int i = 0; i < SEEDS; i++) {
		struct rivals_figures whole, split;

		rivals.seed = next_random(&chance);
		rivals.splits = false;
		whole = rivals_run(&rivals);
		rivals.splits = true;
		split = rivals_run(&rivals);
		p99[i] = split.p99_ns / whole.p99_ns;
		mean[i] = split.mean_ns / whole.mean_ns;
		background[i] = split.background_bytes_per_s /
				whole.background_bytes_per_s;
	}
	ratios = (struct ratios){
		.p99 = median_of(p99, SEEDS),
		.mean = median_of(mean, SEEDS),
		.background = median_of(background, SEEDS),
	};
	print_message("    %s: p99 %.2f, mean %.2f, background %.2f of whole\n",
		      spec, ratios.p99, ratios.mean, ratios.background);
	return ratios;
}

/* For nothing: its limit is in bytes. */
static void test_a_volume_gains_at_no_cost(void **state)
{
	struct ratios reader = split_to_whole("volume", &reads, 5 * SECOND, 20);
	struct ratios commits = split_to_whole("volume", &writer, 5 * SECOND, 20);

	(void)state;
	assert_true(reader.p99 < 0.9 && reader.background > 0.97);
	assert_true(commits.p99 < 0.9 && commits.background > 0.97);
}

/*
 * What it costs where a drive's limit is in requests: half of what the others
 * do, as each takes as long.
 */
static void test_a_limit_in_requests_is_met_sooner(void **state)
{
	struct ratios ratios = split_to_whole("volume:iops=500,bytes_per_s=100Mi",
					      &reads, 5 * SECOND, 20);

	(void)state;
	assert_true(ratios.background > 0.4);
}

/* Sectors of a piece after 5 s beside writes. */
static u32 learnt(const char *spec)
{
	struct simdisk_parameters drive = host_parsed(spec);
	struct rivals rivals = {
		.drive = &drive,
		.seed = next_random(&chance),
		.foreground = reads,
		.background = writes,
		.splits = true,
		.end_ns = 5 * SECOND,
	};

	return rivals_run(&rivals).longest;
}

/* 1.25 ms of the drive, but 128 KiB at least. */
static void test_pieces_are_longer_on_fast_drives(void **state)
{
	(void)state;
	for (int run = 0; run < SEEDS; run++) {
		u32 fast = learnt("volume:iops=16000,bytes_per_s=1000Mi");

		assert_in_range(fast, 1024, 4096);
		assert_int_equal(learnt("volume"), 256);
		assert_int_equal(learnt("volume:iops=1000,bytes_per_s=40Mi"), 256);
	}
}

/*
 * Both limits are near: 128 KiB at a time are three quarters of what 256 KiB are,
 * which take 1.2 ms.
 */
static void test_a_drive_of_both_limits_keeps_its_rate(void **state)
{
	struct ratios ratios = split_to_whole("volume:iops=1500,bytes_per_s=250Mi",
					      &reads, 10 * SECOND, 20);

	(void)state;
	assert_true(ratios.background > 0.9);
}

/*
 * What a drive's credits take of a checkpoint at first says nothing of the rest
 * of it.
 */
static void test_bursts_are_split(void **state)
{
	static const char *const specs[] = {
		"volume",
		"volume:burst=100ms",
		"volume:iops=1000,bytes_per_s=40Mi",
		"volume:iops=16000,bytes_per_s=125Mi,sigma=0.5",
	};
	const u32 kinds = sizeof(specs) / sizeof(*specs);

	(void)state;
	for (u32 run = 0; run < SEEDS * kinds; run++) {
		const char *spec = specs[run % kinds];
		struct simdisk_parameters drive = host_parsed(spec);
		struct rivals rivals = {
			.drive = &drive,
			.seed = next_random(&chance),
			.foreground = run / kinds % 2 ? writer : reads,
			.background = writes,
			.splits = true,
			.end_ns = 20 * SECOND,
		};

		rivals.background.bursts = true;
		rivals.background.depth = 200;
		rivals.background.begin_ns = 2 * SECOND;
		rivals.background.think_ns = 4 * SECOND;
		assert_int_equal(rivals_run(&rivals).most_sectors, 256);
	}
}

/* It leaves the others a number of requests. */
static void test_long_saturation_splits_nothing(void **state)
{
	struct ratios ratios;
	struct rival many = reads;

	(void)state;
	many.depth = 16;
	many.think_ns = MILLISECOND;
	ratios = split_to_whole("volume", &many, 10 * SECOND, 10);
	assert_true(ratios.background > 0.9);
}

static void test_disks_and_idle_hosts_split_nothing(void **state)
{
	struct fgio_queue queue;
	u32 whole = 2048;

	(void)state;
	fgio_queue_init(&queue, false);
	assert_int_equal(fgio_queue_first_piece(&queue, 0, whole, SECOND), whole);
	fgio_queue_saw_critical_at(&queue, SECOND);
	assert_int_equal(fgio_queue_first_piece(&queue, 0, whole, 2 * SECOND),
			 queue.config.split_sectors);
	assert_int_equal(fgio_queue_first_piece(&queue, 0, whole,
						SECOND + 2 * FGIO_LATELY_NS),
			 whole);
	fgio_queue_saw_critical_at(&queue, 100 * SECOND);
	queue.config.split_sectors = 0;
	assert_int_equal(fgio_queue_first_piece(&queue, 0, whole, 100 * SECOND),
			 whole);
	queue.config.split_sectors = 512;
	assert_int_equal(fgio_queue_first_piece(&queue, 500, whole, 100 * SECOND),
			 12);
	fgio_queue_set_one_class(&queue, true);
	assert_int_equal(fgio_queue_first_piece(&queue, 0, whole, 100 * SECOND),
			 whole);

	fgio_queue_init(&queue, true);
	fgio_queue_saw_critical_at(&queue, SECOND);
	assert_int_equal(fgio_queue_first_piece(&queue, 0, whole, SECOND), whole);
}

/* Pieces cover an I/O, and all but the first and the last are whole ones. */
static void test_pieces_end_at_multiples(void **state)
{
	(void)state;
	for (int run = 0; run < 10000; run++) {
		u32 most = 64U << next_random(&chance) % 8;
		u64 sector = next_random(&chance) >> 20;
		u32 left = 1 + (u32)(next_random(&chance) % 20000);
		bool begins = true;

		while (left) {
			u32 first = fgio_split_first(most, sector, left);

			assert_in_range(first, 1, most);
			if (first < left)
				assert_int_equal((sector + first) % most, 0);
			if (!begins && first < left)
				assert_int_equal(first, most);
			begins = false;
			sector += first;
			left -= first;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_end_at_multiples),
		cmocka_unit_test(test_disks_and_idle_hosts_split_nothing),
		cmocka_unit_test(test_a_volume_gains_at_no_cost),
		cmocka_unit_test(test_pieces_are_longer_on_fast_drives),
		cmocka_unit_test(test_a_drive_of_both_limits_keeps_its_rate),
		cmocka_unit_test(test_bursts_are_split),
		cmocka_unit_test(test_long_saturation_splits_nothing),
		cmocka_unit_test(test_a_limit_in_requests_is_met_sooner),
	};

	chance = fresh_seed("split");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
