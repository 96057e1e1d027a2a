// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The learnt depth settles within a second, follows a drive that became slower
 * or faster within a second, and is what it was when the foreground returns: on
 * drives of the family drawn at random. docs/results/follow has all of them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "long.h"
#include "model_follow.h"
#include "model_host.h"

#define DRIVES 6
#define SEEDS 7

/*
 * Drives that are something else a second later: their credits, caches or cold
 * blocks run out meanwhile, at another time than on the drive beside them.
 */
static const char *const running_out[] = {
	"gp2-spent", "st1-spent", "snapshot", "qlc", "qlc-spent",
	"nvme-consumer-spent",
};

/*
 * Drives of which it takes two seconds and more to learn that they became
 * faster (docs/results/follow says how long, and why as far as it is known).
 */
static const char *const slow_to_follow[] = {
	"volume-tail", "raid0-ssd", "ssd-tlc",
};

static bool is_among(const char *name, const char *const *names, u32 count)
{
	for (u32 i = 0; i < count; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/*
 * Where it does not hold, or cannot be said. Disks: their caches are full at
 * first and after the pause, and a hundred of their I/Os take a second. Caps
 * that are handed out ten times a second: a second is ten moments. An SSD of a
 * quarter of its speed: one critical write in two hundred waits for a program,
 * which is as much as the bound.
 */
static bool is_excepted(const char *name, const struct simdisk_parameters *drive,
			enum follow_event event)
{
	bool is_ssd = drive->kind == SIMDISK_SSD ||
		      drive->kind == SIMDISK_SSD_RAID;

	if (is_among(name, running_out, ARRAY_SIZE(running_out)))
		return true;
	if (event == FOLLOW_FASTER &&
	    is_among(name, slow_to_follow, ARRAY_SIZE(slow_to_follow)))
		return true;
	if (drive->kind == SIMDISK_HDD || drive->kind == SIMDISK_HDD_RAID ||
	    !strcmp(name, "quota"))
		return true;
	/* Some million I/Os go in the pause, which takes long to simulate. */
	if (event == FOLLOW_RETURN && drive->kind == SIMDISK_NVME)
		return true;
	return event == FOLLOW_SLOWER && is_ssd;
}

static u32 family(void)
{
	u32 count = 0;

	while (simdisk_preset(count))
		count++;
	return count;
}

/* Single drives are off the rule now and then: bounds are on all that were drawn. */
static void check_event(enum follow_event event)
{
	uint64_t random = fresh_seed(follow_event_name(event));
	double share = 0, mean[DRIVES];
	bool drawn[64] = { false };
	u32 drives = 0, tries = 0;

	while (drives < DRIVES) {
		u32 number = next_random(&random) % family() %
			     ARRAY_SIZE(drawn);
		const char *name = simdisk_preset(number)->name;
		struct simdisk_parameters drive = host_parsed(name);
		struct follow_figures figures;
		u32 at = drives;

		assert_true(tries++ < 1000);
		if (drawn[number] || is_excepted(name, &drive, event))
			continue;
		drawn[number] = true;
		figures = follow_median(&drive, event,
					next_random(&random) >> 1, SEEDS);
		print_message("    %s, %s: share %.2f (%.2f), mean %.2f (%.2f)%s\n",
			      name, follow_event_name(event), figures.share,
			      figures.always_share, figures.mean,
			      figures.always_mean,
			      follow_holds(&figures) ? "" : ", does not hold");
		share += fmin(figures.share / figures.always_share, 1) / DRIVES;
		for (; at && mean[at - 1] > figures.mean; at--)
			mean[at] = mean[at - 1];
		mean[at] = figures.mean;
		drives++;
	}
	assert_true(share >= 0.85);
	assert_true(mean[DRIVES / 2] <= 1.5);
}

static void test_settles_within_a_second(void **state)
{
	(void)state;
	skip_if_sanitized();
	check_event(FOLLOW_START);
}

static void test_follows_a_slower_drive(void **state)
{
	(void)state;
	skip_if_sanitized();
	check_event(FOLLOW_SLOWER);
}

static void test_follows_a_faster_drive(void **state)
{
	(void)state;
	skip_if_sanitized();
	check_event(FOLLOW_FASTER);
}

static void test_is_the_same_after_a_pause(void **state)
{
	(void)state;
	skip_if_sanitized();
	check_event(FOLLOW_RETURN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settles_within_a_second),
		cmocka_unit_test(test_follows_a_slower_drive),
		cmocka_unit_test(test_follows_a_faster_drive),
		cmocka_unit_test(test_is_the_same_after_a_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
