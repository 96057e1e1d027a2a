// SPDX-License-Identifier: GPL-2.0 OR MIT
/* How many critical I/Os are in the drive while ids are about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../request_bound.h"
#include "check.h"
#include "model_fleet.h"
#include "model_host.h"

#define SECOND 1000000000ULL
#define MICROSECOND 1000ULL
#define PLACES 4096

/*
 * A drive that serves @places I/Os at a time, each for a random time around
 * @mean_ns, and takes as many as it is given.
 */
struct drive {
	u32 places;
	u64 mean_ns;
	u64 done_ns[PLACES]; /* by place: when it is free */
	u64 ends_ns[PLACES]; /* of those in the drive */
	u32 count;
	u64 now_ns;
	uint64_t random;
};

/* The drive takes one. */
static void give(struct drive *drive)
{
	u32 first = 0;
	u64 *free_ns, took_ns;

	for (u32 i = 1; i < drive->places; i++)
		if (drive->done_ns[i] < drive->done_ns[first])
			first = i;
	free_ns = &drive->done_ns[first];
	took_ns = drive->mean_ns / 2 +
		  next_random(&drive->random) % drive->mean_ns;
	*free_ns = (*free_ns > drive->now_ns ? *free_ns : drive->now_ns) +
		   took_ns;
	CHECK(drive->count < PLACES);
	drive->ends_ns[drive->count++] = *free_ns;
}

/* The next one completes. */
static void complete(struct drive *drive)
{
	u32 first = 0;

	for (u32 i = 1; i < drive->count; i++)
		if (drive->ends_ns[i] < drive->ends_ns[first])
			first = i;
	if (drive->ends_ns[first] > drive->now_ns)
		drive->now_ns = drive->ends_ns[first];
	drive->ends_ns[first] = drive->ends_ns[--drive->count];
}

/* @ios go, with others waiting all the time. Return: ns that they took. */
static u64 press(struct drive *drive, struct fgio_request_bound *bound, u32 ios)
{
	u64 begin_ns = drive->now_ns;

	for (u32 i = 0; i < ios; i++) {
		while (drive->count >= fgio_request_bound_now(bound))
			complete(drive);
		give(drive);
		fgio_request_bound_went(bound, 1, drive->now_ns);
	}
	return drive->now_ns - begin_ns;
}

static struct drive of_places(u32 places, const char *name)
{
	return (struct drive){
		.places = places,
		.mean_ns = 100 * MICROSECOND,
		.now_ns = SECOND,
		.random = fresh_seed(name),
	};
}

/*
 * The bound is at least what keeps all places busy, and at most eight times that:
 * times are random, and more in the drive seem worth it now and then. One drive
 * in some hundred is beyond that for a while, so the median of some is judged.
 */
#define DRIVES 5

static void expect_bound(const struct fgio_request_bound bounds[DRIVES],
			 u32 places)
{
	u32 below = 0, above = 0;

	for (u32 i = 0; i < DRIVES; i++) {
		below += 1U << bounds[i].level < places;
		above += 1U << bounds[i].level > 8 * places;
	}
	if (below > DRIVES / 2 || above > DRIVES / 2)
		fail_msg("%u places: %u of %u bounds are below, %u above eight times that",
			 places, below, (u32)DRIVES, above);
}

static void test_the_bound_is_what_the_drive_serves_at_once(void **state)
{
	(void)state;
	for (u32 places = 1; places <= 200; places = places * 3 / 2 + 1) {
		struct fgio_request_bound bounds[DRIVES];

		for (u32 i = 0; i < DRIVES; i++) {
			struct drive drive = of_places(places, "places");

			fgio_request_bound_init(&bounds[i]);
			press(&drive, &bounds[i], 100000);
		}
		expect_bound(bounds, places);
	}
}

/* A drive's firmware or its host may change what it does. */
static void test_the_bound_follows_the_drive(void **state)
{
	static const struct {
		u32 places, ios;
	} phases[] = { { 4, 200000 }, { 32, 200000 }, { 4, 400000 } };
	struct fgio_request_bound bounds[DRIVES];
	struct drive drives[DRIVES];

	(void)state;
	for (u32 i = 0; i < DRIVES; i++) {
		drives[i] = of_places(phases[0].places, "follows");
		fgio_request_bound_init(&bounds[i]);
	}
	for (u32 phase = 0; phase < ARRAY_SIZE(phases); phase++) {
		for (u32 i = 0; i < DRIVES; i++) {
			drives[i].places = phases[phase].places;
			press(&drives[i], &bounds[i], phases[phase].ios);
		}
		expect_bound(bounds, phases[phase].places);
	}
}

/* Trials cost little, after those of the first moments. */
static void test_trials_keep_the_rate(void **state)
{
	(void)state;
	for (u32 places = 2; places <= 64; places *= 2) {
		struct drive drive = of_places(places, "trials");
		struct fgio_request_bound bound, none = { .fixed = 2 * places };
		u64 learnt_ns, free_ns;

		fgio_request_bound_init(&bound);
		press(&drive, &bound, 50000);
		learnt_ns = press(&drive, &bound, 100000);
		free_ns = press(&drive, &none, 100000);
		if (97 * learnt_ns > 100 * free_ns)
			fail_msg("%u places: %llu ns instead of %llu", places,
				 (unsigned long long)learnt_ns,
				 (unsigned long long)free_ns);
	}
}

/* Between trials, half as many again as were learnt: never those alone. */
static void test_there_is_a_margin_between_trials(void **state)
{
	struct drive drive = of_places(16, "margin");
	struct fgio_request_bound bound;
	u32 between = 0;

	(void)state;
	fgio_request_bound_init(&bound);
	for (u32 i = 0; i < 20000; i++) {
		press(&drive, &bound, 1);
		if (bound.trying)
			continue;
		between++;
		assert_true(2 * fgio_request_bound_now(&bound) ==
			    3U << bound.level);
	}
	assert_true(between > 1000);
}

/* Where none waits, nothing is learnt. */
static void test_idle_time_does_not_count(void **state)
{
	struct fgio_request_bound bound;

	(void)state;
	fgio_request_bound_init(&bound);
	for (u32 i = 0; i < 10000; i++)
		fgio_request_bound_went(&bound, i % 2,
					SECOND + i * 1000 * MICROSECOND);
	assert_int_equal(bound.count[FGIO_BOUND_LOW], 0);
	assert_int_equal(bound.level, FGIO_BOUND_FIRST);
}

static void test_a_stuck_drive_is_found_out(void **state)
{
	struct fgio_request_bound bound;

	(void)state;
	fgio_request_bound_init(&bound);
	assert_false(fgio_request_bound_holds(&bound, SECOND));
	assert_int_equal(fgio_request_bound_retry_ns(&bound),
			 SECOND + FGIO_BOUND_STILL_NS);
	assert_false(fgio_request_bound_holds(
		&bound, SECOND + FGIO_BOUND_STILL_NS - 1));
	assert_true(fgio_request_bound_holds(&bound,
					     SECOND + FGIO_BOUND_STILL_NS));
	/* One that goes begins anew. */
	fgio_request_bound_went(&bound, 1, 2 * SECOND);
	assert_false(fgio_request_bound_holds(
		&bound, 2 * SECOND + FGIO_BOUND_STILL_NS - 1));
}

/* One drive with more to do than it can, or with a share of it. */
static struct fleet_figures on_drive(const char *name, uint64_t seed,
				     double load, u32 window, u64 length_ns)
{
	struct simdisk_parameters drive = host_parsed(name);
	struct fleet_figures figures;
	struct fleet fleet = {
		.drive = &drive,
		.seed = seed,
		.policy = FLEET_ORDERED,
		.order = FGIO_BY_LIMITED,
		.window = window,
		.drives = 1,
		.fanout = 1,
		.proxies = 1,
		.records = 20,
		.width = 1,
		.per_s = load * fleet_reads_per_s(&drive, seed) /
			 fleet_mean_reads(1, 20, 0),
		.begin_ns = SECOND,
		.end_ns = SECOND + length_ns,
	};

	fleet_run(&fleet, &figures);
	return figures;
}

struct known_drive {
	const char *name;
	u64 length_ns;
	u32 least, most;
};

/*
 * The simulated drives, pressed from the first moment on: 97 % of what they do
 * with all in them. The bounds are around those from which the rate rises by
 * less than one part in 64: 2, 16 and 64. A disk has none.
 */
static void test_drives_keep_their_rates(void **state)
{
	static const struct known_drive drives[] = {
		{ "volume", 4 * SECOND, 2, 4 },
		{ "ssd", SECOND, 16, 32 },
		{ "nvme", SECOND / 4, 64, 128 },
		{ "hdd", 8 * SECOND, 1, 1024 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(drives); i++) {
		const struct known_drive *drive = &drives[i];
		uint64_t seed = fresh_seed(drive->name) % 1000000;
		struct fleet_figures bound = on_drive(drive->name, seed, 1.3, 0,
						      drive->length_ns);
		struct fleet_figures all = on_drive(drive->name, seed, 1.3,
						    65535, drive->length_ns);

		printf("    %s: %.1f of %.1f requests per s, bound %u\n",
		       drive->name, bound.per_s, all.per_s, bound.bound);
		assert_int_equal(bound.n, all.n);
		assert_true(bound.per_s >= 0.97 * all.per_s);
		assert_in_range(bound.bound, drive->least, drive->most);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_bound_is_what_the_drive_serves_at_once),
		cmocka_unit_test(test_the_bound_follows_the_drive),
		cmocka_unit_test(test_trials_keep_the_rate),
		cmocka_unit_test(test_there_is_a_margin_between_trials),
		cmocka_unit_test(test_idle_time_does_not_count),
		cmocka_unit_test(test_a_stuck_drive_is_found_out),
		cmocka_unit_test(test_drives_keep_their_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
