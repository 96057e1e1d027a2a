// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Which reads show that a drive does not rotate, whatever it declares. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../rotation.h"
#include "check.h"

#define MILLISECOND 1000000ULL
#define INTERVAL_NS (16 * MILLISECOND)
#define SECTORS (1ULL << 30)
#define FAR_APART (1ULL << 24)
#define READ_BYTES 4096

static uint64_t chance;

/* 7,200 turns a minute: a seek, and a turn at most. */
static u64 disk_ns(void)
{
	return 2 * MILLISECOND + next_random(&chance) % (8 * MILLISECOND);
}

static u64 volume_ns(void)
{
	return MILLISECOND / 2 + next_random(&chance) % MILLISECOND;
}

/* Return: the verdict after @intervals intervals with @reads in each. */
static bool believed(struct fgio_rotation *rotation, u64 (*took_ns)(void),
		     unsigned int reads, unsigned int intervals)
{
	bool rotates = true;

	while (intervals--) {
		for (unsigned int i = 0; i < reads; i++)
			fgio_rotation_done(rotation, READ_BYTES, took_ns());
		rotates = fgio_rotation_judge(rotation, INTERVAL_NS);
	}
	return rotates;
}

/*
 * An eighth of these reads is as quick as a volume's, so that chance alone
 * makes a disk doubted: in one of six runs, for one to three of these
 * intervals.
 */
static void test_a_disk_is_hardly_ever_doubted(void **state)
{
	struct fgio_rotation rotation;
	int doubted = 0;

	(void)state;
	fgio_rotation_init(&rotation, true);
	for (int i = 0; i < 100000; i++)
		doubted += !believed(&rotation, disk_ns, 1 + i % 3, 1);
	print_message("    doubted in %d intervals of 100,000\n", doubted);
	assert_in_range(doubted, 0, 20);
}

static void test_a_volume_is_found_out(void **state)
{
	struct fgio_rotation rotation;

	(void)state;
	fgio_rotation_init(&rotation, true);
	assert_true(believed(&rotation, volume_ns, 1, 2));
	assert_false(believed(&rotation, volume_ns, 1, 10));
}

/* They wait for each other, but no arm reaches that number of places. */
static void test_many_at_once(void **state)
{
	struct fgio_rotation rotation;

	(void)state;
	fgio_rotation_init(&rotation, true);
	assert_false(believed(&rotation, disk_ns, 48, 2));
}

/* As with a dm device whose table was exchanged. */
static void test_a_disk_may_come_instead(void **state)
{
	struct fgio_rotation rotation;

	(void)state;
	fgio_rotation_init(&rotation, true);
	assert_false(believed(&rotation, volume_ns, 8, 100));
	assert_true(believed(&rotation, disk_ns, 1, 20));
}

static void test_flash_stays_flash(void **state)
{
	struct fgio_rotation rotation;

	(void)state;
	fgio_rotation_init(&rotation, false);
	assert_false(believed(&rotation, disk_ns, 1, 100));
}

static void test_nothing_far_tells_nothing(void **state)
{
	struct fgio_rotation rotation;

	(void)state;
	fgio_rotation_init(&rotation, true);
	assert_true(believed(&rotation, volume_ns, 0, 100));
}

/* Streams that take turns are read ahead each. */
static void test_what_is_far(void **state)
{
	struct fgio_rotation rotation;
	u64 at[FGIO_ROTATION_STREAMS];

	(void)state;
	fgio_rotation_init(&rotation, true);
	for (u64 i = 0; i < FGIO_ROTATION_STREAMS; i++) {
		at[i] = (i + 1) * FAR_APART;
		assert_true(fgio_rotation_moves(&rotation, at[i], 8));
	}
	for (int i = 0; i < 100; i++) {
		u64 *stream = &at[i % FGIO_ROTATION_STREAMS];

		*stream += 8;
		assert_false(fgio_rotation_moves(&rotation, *stream, 8));
	}
	assert_true(fgio_rotation_moves(&rotation, SECTORS, 8));
	assert_false(fgio_rotation_moves(&rotation, SECTORS - 1000, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_disk_is_hardly_ever_doubted),
		cmocka_unit_test(test_a_volume_is_found_out),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_a_disk_may_come_instead),
		cmocka_unit_test(test_flash_stays_flash),
		cmocka_unit_test(test_nothing_far_tells_nothing),
		cmocka_unit_test(test_what_is_far),
	};

	chance = fresh_seed("rotation");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
