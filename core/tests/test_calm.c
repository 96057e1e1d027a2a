// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A foreground that comes every second, as a server's log that is synced each
 * second: it does not find the drive full of what went meanwhile, and that is
 * hardly less.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../queue.h"
#include "model_rivals.h"

#define SECOND 1000000000ULL
#define MILLISECOND 1000000ULL

/* Four commits, each of three writes. */
static struct rivals commits(enum simdisk_kind kind, u32 bytes, bool write)
{
	return (struct rivals){
		.kind = kind,
		.seed = 1,
		.foreground = { .write = true, .sequential = true, .bytes = 4096,
				.depth = 4, .chain = 3, .think_ns = 1 * SECOND },
		.background = { .write = write, .sequential = bytes > 4096,
				.bytes = bytes, .depth = 64 },
		.begin_ns = 3 * SECOND,
		.end_ns = 13 * SECOND,
	};
}

/* What is lost on flash is lost in the tenth of a second that each commit begins. */
static double share_of(enum simdisk_kind kind)
{
	return kind == SIMDISK_VOLUME ? 0.98 : 0.9;
}

static void check(struct rivals rivals, u64 late_ns)
{
	struct rivals_figures learnt = rivals_run(&rivals);
	struct rivals_figures least, most;

	rivals.limit = RIVALS_UNRESTRICTED;
	most = rivals_run(&rivals);
	rivals.background.depth = 0;
	least = rivals_run(&rivals);
	print_message("    %s: %.1f%% of the throughput, %.2f ms; %.2f alone, %.2f with no limit\n",
		      simdisk_name(rivals.kind),
		      100 * learnt.background_bytes_per_s /
			      most.background_bytes_per_s,
		      learnt.p99_ns / MILLISECOND, least.p99_ns / MILLISECOND,
		      most.p99_ns / MILLISECOND);
	assert_true(learnt.background_bytes_per_s >=
		    share_of(rivals.kind) * most.background_bytes_per_s);
	assert_true(learnt.p99_ns <= least.p99_ns + late_ns);
}

static void test_volume_is_nearly_free(void **state)
{
	(void)state;
	check(commits(SIMDISK_VOLUME, 131072, true), 4 * MILLISECOND);
	check(commits(SIMDISK_VOLUME, 131072, false), 4 * MILLISECOND);
	check(commits(SIMDISK_VOLUME, 4096, true), 4 * MILLISECOND);
	check(commits(SIMDISK_VOLUME, 4096, false), 4 * MILLISECOND);
}

static void test_flash_is_nearly_free(void **state)
{
	(void)state;
	check(commits(SIMDISK_SSD, 131072, true), 2 * MILLISECOND);
	check(commits(SIMDISK_SSD, 131072, false), 2 * MILLISECOND);
	check(commits(SIMDISK_SSD, 4096, false), 2 * MILLISECOND);
	check(commits(SIMDISK_NVME, 131072, true), 2 * MILLISECOND);
	check(commits(SIMDISK_NVME, 131072, false), 2 * MILLISECOND);
	check(commits(SIMDISK_NVME, 4096, false), 2 * MILLISECOND);
}

/* A completion may carry a time before that of the call that sent it. */
static void test_a_clock_that_is_behind_is_no_time(void **state)
{
	struct fgio_queue queue;
	struct fgio_request critical = { .class = FGIO_CRITICAL, .sectors = 8 };
	struct fgio_request background = { .sectors = 8 };
	u64 now_ns = 1 * SECOND;

	(void)state;
	fgio_queue_init(&queue, false);
	fgio_queue_insert(&queue, &critical, false);
	assert_ptr_equal(fgio_queue_next(&queue, now_ns, NULL), &critical);
	fgio_queue_left_device(&queue, &critical, now_ns);
	now_ns += 300 * MILLISECOND;
	for (int i = 0; i < 50; i++) {
		u32 room;

		fgio_queue_insert(&queue, &background, false);
		now_ns += MILLISECOND;
		assert_ptr_equal(fgio_queue_next(&queue, now_ns, NULL),
				 &background);
		room = queue.calm.room;
		fgio_queue_left_device(&queue, &background,
				       now_ns - (i % 2 ? 1000 : 0));
		/* Less room would be what an age without end leaves. */
		assert_true(queue.calm.room >= room);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_volume_is_nearly_free),
		cmocka_unit_test(test_flash_is_nearly_free),
		cmocka_unit_test(test_a_clock_that_is_behind_is_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
