// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A foreground that comes every second, as a server's log that is synced each
 * second: it does not find the drive full, and the background has hardly less.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../queue.h"
#include "check.h"
#include "long.h"
#include "model_rivals.h"

#define SECOND 1000000000ULL
#define MILLISECOND 1000000ULL

static u64 seed;

/* Four commits, each of three writes. */
static struct rivals commits(enum simdisk_kind kind, u32 bytes, bool write)
{
	return (struct rivals){
		.kind = kind,
		.seed = seed,
		.foreground = { .write = true, .sequential = true, .bytes = 4096,
				.depth = 4, .chain = 3, .think_ns = 1 * SECOND },
		.background = { .write = write, .sequential = bytes > 4096,
				.bytes = bytes, .depth = 64 },
		.begin_ns = 3 * SECOND,
		.end_ns = 13 * SECOND,
	};
}

/* Flash loses in the tenth of a second that each commit begins. */
static double share_of(enum simdisk_kind kind)
{
	return kind == SIMDISK_VOLUME ? 0.98 : 0.85;
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
	check(commits(SIMDISK_VOLUME, 131072, true), 6 * MILLISECOND);
	check(commits(SIMDISK_VOLUME, 131072, false), 6 * MILLISECOND);
	check(commits(SIMDISK_VOLUME, 4096, true), 6 * MILLISECOND);
	check(commits(SIMDISK_VOLUME, 4096, false), 6 * MILLISECOND);
}

static void test_flash_is_nearly_free(void **state)
{
	(void)state;
	skip_if_sanitized();
	check(commits(SIMDISK_SSD, 131072, true), 2 * MILLISECOND);
	check(commits(SIMDISK_SSD, 131072, false), 2 * MILLISECOND);
	check(commits(SIMDISK_SSD, 4096, false), 2 * MILLISECOND);
	check(commits(SIMDISK_NVME, 131072, true), 2 * MILLISECOND);
	check(commits(SIMDISK_NVME, 131072, false), 2 * MILLISECOND);
	check(commits(SIMDISK_NVME, 4096, false), 2 * MILLISECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_volume_is_nearly_free),
		cmocka_unit_test(test_flash_is_nearly_free),
	};

	seed = fresh_seed("critical I/O that comes back");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
