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
#define SEEDS 7

static uint64_t chance;

static const struct rival reads = {
	.bytes = 4096,
	.depth = 1,
	.think_ns = 4 * MILLISECOND,
	.irregular = true,
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

/* While little is known, and later, for nothing: its limit is in bytes. */
static void test_a_volume_gains_at_no_cost(void **state)
{
	struct ratios early = split_to_whole("volume", &reads, 1, 3);
	struct ratios late = split_to_whole("volume", &reads, 10 * SECOND, 20);

	(void)state;
	assert_true(early.p99 < 0.9);
	assert_true(early.background > 0.95);
	assert_true(late.p99 < 0.9);
	assert_true(late.background > 0.97);
}

/* A trial shows that its limit is in requests. */
static void test_a_limit_in_requests_is_found(void **state)
{
	const char *spec = "volume:iops=500,bytes_per_s=100Mi";
	struct ratios early = split_to_whole(spec, &reads, 1, 6);
	struct ratios late = split_to_whole(spec, &reads, 20 * SECOND, 100);

	(void)state;
	assert_true(early.background < 0.85);
	assert_true(late.background > 0.9);
}

/* It leaves the others a number of requests. */
static void test_nothing_is_split_beside_a_foreground_that_saturates(void **state)
{
	struct rival many = reads;
	struct ratios ratios;

	(void)state;
	many.depth = 16;
	many.think_ns = MILLISECOND;
	ratios = split_to_whole("volume", &many, 5 * SECOND, 10);
	assert_true(ratios.background > 0.95);
}

static void test_disks_and_idle_hosts_split_nothing(void **state)
{
	struct fgio_queue queue;
	u32 whole = 8 * FGIO_SPLIT_LEAST;

	(void)state;
	fgio_queue_init(&queue, false);
	assert_int_equal(fgio_queue_first_piece(&queue, 0, whole, SECOND), whole);
	fgio_queue_saw_critical_at(&queue, SECOND);
	assert_int_equal(fgio_queue_first_piece(&queue, 0, whole, 2 * SECOND),
			 FGIO_SPLIT_LEAST);
	assert_int_equal(fgio_queue_first_piece(&queue, 0, whole,
						SECOND + 2 * FGIO_LATELY_NS),
			 whole);
	fgio_queue_saw_critical_at(&queue, 100 * SECOND);
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
		u32 most = FGIO_SPLIT_LEAST << next_random(&chance) % 6;
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

/*
 * A drive with a limit in bytes and one in requests a second, either of them off
 * by a tenth at any time.
 */
struct limits {
	double sectors_per_s;
	double requests_per_s;
	double alone_ns;
};

static double noise(void)
{
	return 0.9 + 0.2 * (double)(next_random(&chance) >> 11) * 0x1p-53;
}

static double rate_of(const struct limits *limits, u32 most)
{
	double by_requests = limits->requests_per_s * most;

	return by_requests < limits->sectors_per_s ? by_requests :
						     limits->sectors_per_s;
}

/* Return: what it did of what it can, after a minute of demand, for ten more. */
static double share_of_rate(const struct limits *limits)
{
	struct fgio_split split;
	double did = 0, could = 0;

	fgio_split_init(&split);
	for (u64 now_ns = 0; now_ns < 660 * SECOND; now_ns += 25 * MILLISECOND) {
		double rate = rate_of(limits, split.most) * noise();
		double takes_ns = split.most / rate * 1e9;
		struct fgio_split_seen seen = {
			.length_ns = 25 * MILLISECOND,
			.sectors = (u64)(rate * 0.025),
			.wanted = true,
			.split = split.most < FGIO_SPLIT_MOST,
			.settled = true,
			.takes_ns = (u64)takes_ns,
			.twice_ns = (u64)(2 * takes_ns),
			.alone_ns = (u64)limits->alone_ns,
		};

		fgio_split_learn(&split, &seen);
		assert_in_range(split.most, FGIO_SPLIT_LEAST, FGIO_SPLIT_MOST);
		assert_int_equal(split.most & (split.most - 1), 0);
		if (now_ns < 60 * SECOND)
			continue;
		did += rate;
		could += rate_of(limits, FGIO_SPLIT_MOST) * noise();
	}
	return did / could;
}

/* Any drive does nearly all that it can with requests of any length. */
static void test_no_drive_is_left_slow(void **state)
{
	double least = 1;

	(void)state;
	for (int run = 0; run < 200; run++) {
		struct limits limits = {
			/* 20 MB/s to 5 GB/s, 20 to 200,000 requests. */
			.sectors_per_s = 40000 * (double)(1 << next_random(&chance) % 9),
			.requests_per_s = 20 * (double)(1 << next_random(&chance) % 14),
			.alone_ns = 50000 * (double)(1 << next_random(&chance) % 7),
		};
		double share = share_of_rate(&limits);

		if (share < least)
			least = share;
		if (share < 0.9)
			fail_msg("%.0f sectors and %.0f requests a second, %.0f ns: %.2f",
				 limits.sectors_per_s, limits.requests_per_s,
				 limits.alone_ns, share);
	}
	print_message("    the least share of 200 drives: %.2f\n", least);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_end_at_multiples),
		cmocka_unit_test(test_disks_and_idle_hosts_split_nothing),
		cmocka_unit_test(test_no_drive_is_left_slow),
		cmocka_unit_test(test_a_volume_gains_at_no_cost),
		cmocka_unit_test(test_a_limit_in_requests_is_found),
		cmocka_unit_test(test_nothing_is_split_beside_a_foreground_that_saturates),
	};

	chance = fresh_seed("split");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
