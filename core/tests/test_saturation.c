// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Non-critical I/O beside a foreground that saturates the drive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../saturation.h"
#include "check.h"
#include "model_rivals.h"

#define SECOND 1000000000ULL
#define MILLISECOND 1000000ULL
#define MICROSECOND 1000ULL
#define ALONE_NS MILLISECOND
#define SLOTS 64
#define PROBE_LONGEST_NS (1500 * MILLISECOND)
#define RETRY_MOST_NS (2 * SECOND)
#define STEP_MOST_NS (1ULL << 28)

/*
 * A drive in which each I/O takes longer by a part for each non-critical one in
 * it, and by up to half more or less at random.
 */
struct drive {
	struct fgio_saturation saturation;
	double slope;
	u64 random;
	u64 now_ns;
	u64 end_ns[SLOTS];
	u64 begin_ns[SLOTS];
	u32 critical;
	u32 others;
	u32 others_most;
	u64 took_ns;
	u64 count;
	double others_ns;
};

static double at_random(u64 *state)
{
	return (double)(next_random(state) >> 11) / (double)(1ULL << 53);
}

static void dispatch(struct drive *drive, u32 slot)
{
	double times = (1 + drive->slope * drive->others) *
		       (0.5 + at_random(&drive->random));

	drive->begin_ns[slot] = drive->now_ns;
	drive->end_ns[slot] = drive->now_ns + (u64)(ALONE_NS * times);
}

/*
 * Non-critical I/O fills the slots after the critical ones, as far as it may.
 */
static void fill(struct drive *drive, u64 *retry_ns)
{
	*retry_ns = 0;
	for (u32 slot = drive->critical;
	     slot < drive->critical + drive->others_most; slot++) {
		u32 waiting = drive->others_most - drive->others;

		if (drive->end_ns[slot])
			continue;
		if (fgio_saturation_is_on(&drive->saturation) &&
		    !fgio_saturation_allows(&drive->saturation, drive->others,
					    waiting, drive->now_ns, retry_ns))
			return;
		fgio_saturation_spend(&drive->saturation, drive->now_ns);
		drive->others++;
		dispatch(drive, slot);
	}
}

static void complete(struct drive *drive, u32 slot)
{
	u64 took_ns = drive->now_ns - drive->begin_ns[slot];

	drive->end_ns[slot] = 0;
	if (slot >= drive->critical) {
		drive->others--;
		fgio_saturation_note_other(&drive->saturation, took_ns);
		return;
	}
	fgio_saturation_note(&drive->saturation, 0, took_ns, drive->now_ns);
	drive->took_ns += took_ns;
	drive->count++;
	dispatch(drive, slot);
}

static u32 next_slot(const struct drive *drive)
{
	u32 next = 0;

	for (u32 slot = 0; slot < SLOTS; slot++)
		if (drive->end_ns[slot] &&
		    drive->end_ns[slot] < drive->end_ns[next])
			next = slot;
	return next;
}

static void step(struct drive *drive)
{
	u64 retry_ns, before_ns = drive->now_ns;
	u32 slot;

	fgio_saturation_turn(&drive->saturation, 0, drive->now_ns);
	fill(drive, &retry_ns);
	slot = next_slot(drive);
	if (retry_ns > drive->now_ns && retry_ns < drive->end_ns[slot]) {
		drive->now_ns = retry_ns;
		slot = SLOTS;
	} else {
		drive->now_ns = drive->end_ns[slot];
	}
	drive->others_ns += (double)drive->others *
			    (double)(drive->now_ns - before_ns);
	if (slot < SLOTS)
		complete(drive, slot);
}

static void run(struct drive *drive, u64 until_ns)
{
	drive->took_ns = 0;
	drive->count = 0;
	drive->others_ns = 0;
	while (drive->now_ns < until_ns)
		step(drive);
}

static void start(struct drive *drive, u32 critical, u32 others, double slope,
		  u64 seed)
{
	*drive = (struct drive){
		.slope = slope,
		.random = seed,
		.now_ns = SECOND,
		.critical = critical,
		.others_most = others,
	};
	fgio_saturation_begin(&drive->saturation, drive->now_ns);
	for (u32 slot = 0; slot < critical; slot++)
		dispatch(drive, slot);
}

static double mean_times(const struct drive *drive)
{
	return (double)drive->took_ns / (double)drive->count / ALONE_NS;
}

/*
 * The part of critical I/O beside one other that is late: 1.5 times what any
 * takes alone.
 */
static double beside_one_late(double slope)
{
	double late = 1.5 - 2.25 / (1 + slope);

	return late > 0 ? late : 0;
}

/*
 * I/Os in the drive at which critical I/O takes a quarter longer, or at which 3
 * % of it take half as long again as any does alone, which is 1.5 times the
 * mean there.
 */
static double borne_at(double slope, u32 most)
{
	double late = beside_one_late(slope);
	double borne = slope * most > 0.25 ? 0.25 / slope : most;

	return late > 0 && 0.03 / late < borne ? 0.03 / late : borne;
}

/* All may cost half, a part a quarter; chance adds a little. */
static double mean_most(double slope, u32 most)
{
	return slope * most <= 0.5 ? 1.5 : 1.27;
}

/*
 * From a drive that no other I/O disturbs to one that tolerates a thirtieth of
 * one.
 */
static void test_the_limit_is_what_is_borne(void **state)
{
	static const double slopes[] = { 0, 0.01, 0.03, 0.1, 0.25, 0.8, 2.5 };
	u64 seed = fresh_seed("limits");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(slopes); i++) {
		struct drive drive;
		double others, borne;

		start(&drive, 8, 48, slopes[i], seed + i);
		run(&drive, 11 * SECOND);
		run(&drive, 31 * SECOND);
		others = drive.others_ns / (20.0 * SECOND);
		borne = borne_at(slopes[i], 48);
		print_message("    %.2f for each: %.2f of %.2f in the drive, mean %.3f times\n",
			      slopes[i], others, borne, mean_times(&drive));
		assert_true(mean_times(&drive) <= mean_most(slopes[i], 48));
		assert_true(others >= 0.4 * borne);
	}
}

/*
 * Half as long again at most: nothing is held back. A little more: a part goes,
 * and trials of the whole are seldom.
 */
static void test_all_goes_where_all_is_borne(void **state)
{
	static const double wholes[] = { 0.1, 0.25, 0.4, 0.7, 1.5 };
	u64 seed = fresh_seed("wholes");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wholes); i++) {
		struct drive drive;
		double others;

		start(&drive, 8, 16, wholes[i] / 16, seed + i);
		run(&drive, 11 * SECOND);
		run(&drive, 31 * SECOND);
		others = drive.others_ns / (20.0 * SECOND);
		print_message("    %.2f for all of 16: %.2f in the drive, mean %.3f times\n",
			      wholes[i], others, mean_times(&drive));
		assert_true(mean_times(&drive) <=
			    mean_most(wholes[i] / 16, 16));
		assert_true(wholes[i] > 0.5 || others >= 0.85 * 16);
	}
}

/* The background doubles: what was all of it is a part, and is judged anew. */
static void test_a_larger_background_is_another_whole(void **state)
{
	u64 seed = fresh_seed("larger");
	struct drive drive;

	(void)state;
	start(&drive, 8, 16, 0.4 / 16, seed);
	run(&drive, 11 * SECOND);
	assert_true(drive.saturation.whole);
	drive.others_most = 40;
	run(&drive, 21 * SECOND);
	run(&drive, 41 * SECOND);
	print_message("    with 40 instead of 16: mean %.3f times\n",
		      mean_times(&drive));
	assert_false(drive.saturation.whole);
	assert_true(mean_times(&drive) <= mean_most(0.4 / 16, 40));
}

/*
 * One I/O at a time leaves the drive quiet moments: the service cost is in
 * force.
 */
static void test_it_is_for_a_drive_without_pauses(void **state)
{
	u64 seed = fresh_seed("pauses");
	struct drive drive;

	(void)state;
	start(&drive, 1, 8, 0.1, seed);
	run(&drive, 3 * SECOND);
	assert_false(fgio_saturation_is_on(&drive.saturation));
	start(&drive, 8, 8, 0.1, seed);
	run(&drive, 2 * SECOND);
	assert_true(fgio_saturation_is_on(&drive.saturation));
	/* Seven of them leave: their I/Os in the drive complete unseen. */
	for (u32 slot = 1; slot < SLOTS; slot++)
		drive.end_ns[slot] = 0;
	drive.critical = 1;
	drive.others = 0;
	run(&drive, 3 * SECOND);
	assert_false(fgio_saturation_is_on(&drive.saturation));
}

/* No critical I/O for a time; then the same as before. */
static void pause_for(struct drive *drive, u64 off_ns)
{
	for (u32 slot = 0; slot < SLOTS; slot++) {
		drive->begin_ns[slot] += off_ns;
		if (drive->end_ns[slot])
			drive->end_ns[slot] += off_ns;
	}
	for (u64 since_ns = drive->now_ns; drive->now_ns < since_ns + off_ns;) {
		drive->now_ns += MILLISECOND;
		fgio_saturation_turn(&drive->saturation, since_ns, drive->now_ns);
	}
	fgio_saturation_pause(&drive->saturation, drive->now_ns - off_ns,
			      drive->now_ns);
}

/*
 * The part of the time in which a foreground that comes and goes has the drive
 * alone.
 */
static double probed_part(struct drive *drive, u64 on_ns, u64 off_ns, u64 until_ns)
{
	u64 begin_ns = drive->now_ns, probed_ns = 0;

	while (drive->now_ns < until_ns) {
		u64 off_at_ns = drive->now_ns + on_ns;

		while (drive->now_ns < off_at_ns) {
			u64 before_ns = drive->now_ns;

			step(drive);
			if (fgio_saturation_probes(&drive->saturation))
				probed_ns += drive->now_ns - before_ns;
		}
		pause_for(drive, off_ns);
	}
	return (double)probed_ns / (double)(drive->now_ns - begin_ns);
}

/*
 * A first probe for each time that it comes would hold the others back for a
 * quarter.
 */
static void test_probes_take_a_small_part_of_the_time(void **state)
{
	u64 random = fresh_seed("comes and goes");

	(void)state;
	for (int i = 0; i < 10; i++) {
		u64 on_ns = (150 + next_random(&random) % 1000) * MILLISECOND;
		u64 off_ns = (100 + next_random(&random) % 500) * MILLISECOND;
		struct drive drive;
		double part;

		start(&drive, 8, 48, 0.1, next_random(&random));
		part = probed_part(&drive, on_ns, off_ns, 61 * SECOND);
		print_message("    %llu ms, then none for %llu: %.3f of the time\n",
			      (unsigned long long)(on_ns / MILLISECOND),
			      (unsigned long long)(off_ns / MILLISECOND), part);
		assert_true(part <= 0.06);
	}
}

/* In all cases, waiting I/O is asked for again, and a probe ends. */
static void test_no_wait_without_an_end(void **state)
{
	u64 random = fresh_seed("waits");
	struct fgio_saturation saturation = { 0 };
	u64 now_ns = SECOND, probes_ns = 0, retry_ns;

	(void)state;
	fgio_saturation_begin(&saturation, now_ns);
	for (int i = 0; i < 1000000; i++) {
		u32 others = next_random(&random) % 3;
		u32 waiting = 1 + next_random(&random) % 100;
		u64 took_ns = next_random(&random) >> (next_random(&random) % 64);
		u64 step_ns = next_random(&random) >> (36 + next_random(&random) % 28);

		fgio_saturation_turn(&saturation, next_random(&random) % 2 ? now_ns / 2 : 0,
				     now_ns);
		if (!fgio_saturation_probes(&saturation))
			probes_ns = now_ns;
		assert_true(now_ns - probes_ns <= PROBE_LONGEST_NS + 2 * STEP_MOST_NS);
		if (fgio_saturation_is_on(&saturation) &&
		    !fgio_saturation_allows(&saturation, others, waiting,
					    now_ns, &retry_ns))
			assert_true(others || (retry_ns > now_ns &&
					       retry_ns <= now_ns + RETRY_MOST_NS));
		else
			fgio_saturation_spend(&saturation, now_ns);
		if (next_random(&random) % 4)
			fgio_saturation_note(&saturation, next_random(&random) %
							      FGIO_KINDS,
					     took_ns, now_ns);
		else
			fgio_saturation_note_other(&saturation, took_ns);
		now_ns += step_ns;
	}
}

/*
 * Eight or thirty-two reads at a time, for as long as it runs, beside writes.
 */
static struct rivals saturating(u32 depth, u32 bytes, u64 seed)
{
	return (struct rivals){
		.kind = SIMDISK_VOLUME,
		.seed = seed,
		.foreground = { .bytes = 8192, .depth = depth,
				.begin_ns = 200 * MILLISECOND },
		.background = { .write = true, .bytes = bytes, .depth = 32 },
		.begin_ns = 3 * SECOND,
		.end_ns = 9 * SECOND,
	};
}

/* Without a limit, critical I/O takes twice as long and more: the control. */
static void test_a_saturating_foreground_leaves_a_part(void **state)
{
	static const u32 sizes[] = { 8192, 65536 };
	static const u32 depths[] = { 8, 32 };
	u64 seed = fresh_seed("parts");

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct rivals rivals =
			saturating(depths[i / 2], sizes[i % 2], seed + i);
		struct rivals_figures learnt = rivals_run(&rivals), all, alone;

		rivals.limit = RIVALS_UNRESTRICTED;
		all = rivals_run(&rivals);
		rivals.background.depth = 0;
		alone = rivals_run(&rivals);
		print_message("    %u at a time beside %u KiB: %.0f%% of unrestricted, mean %.2f times (%.2f)\n",
			      depths[i / 2], sizes[i % 2] / 1024,
			      100 * learnt.background_bytes_per_s /
				      all.background_bytes_per_s,
			      learnt.mean_ns / alone.mean_ns,
			      all.mean_ns / alone.mean_ns);
		assert_true(learnt.mean_ns <= 1.3 * alone.mean_ns);
		assert_true(all.mean_ns >= 1.5 * alone.mean_ns);
		assert_true(learnt.background_bytes_per_s >=
			    0.15 * all.background_bytes_per_s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_limit_is_what_is_borne),
		cmocka_unit_test(test_all_goes_where_all_is_borne),
		cmocka_unit_test(test_a_larger_background_is_another_whole),
		cmocka_unit_test(test_it_is_for_a_drive_without_pauses),
		cmocka_unit_test(test_probes_take_a_small_part_of_the_time),
		cmocka_unit_test(test_no_wait_without_an_end),
		cmocka_unit_test(test_a_saturating_foreground_leaves_a_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
