// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hits that count towards a part of the drive: properties for random groups, and
 * what groups get in a simulated host (model_cache.h) whose memory and drive
 * both go by weight.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "../cache_hits.h"
#include "../number.h"
#include "../shares.h"
#include "check.h"
#include "model_cache.h"

#define DRAWS 20000
#define GROUPS_MOST 40
#define SECOND 1000ULL
#define MIB (1ULL << 20)

/* Pages of a tick. With the slow one, a stream reads no page of its file twice. */
#define DRIVE 16
#define DRIVE_SLOW 4

static void random_facts(u64 *random, struct fgio_cache_hits *group)
{
	/* Of any magnitude, beyond what counts among them. */
	group->weight = next_random(random) % 12000;
	group->hungry = next_random(random) % 3 == 0;
	group->moved = next_random(random) >> (next_random(random) % 64);
	group->missed = next_random(random) % 2 ?
				next_random(random) >> (next_random(random) % 64) :
				group->moved / (1 + next_random(random) % 8);
}

static void check_scales(const struct fgio_cache_hits *groups, u64 count)
{
	double before = 0, after = 0;
	u64 counted = 0;

	for (u64 i = 0; i < count; i++) {
		const struct fgio_cache_hits *group = &groups[i];
		u64 weight = smaller(larger(group->weight, 1),
				     FGIO_SHARES_WEIGHT_MOST);

		assert_in_range(group->scale,
				FGIO_SHARES_SCALE_ONE / FGIO_CACHE_HITS_MISSES,
				FGIO_SHARES_SCALE_ONE * FGIO_CACHE_HITS_MISSES);
		if (!group->hungry_ms) {
			assert_int_equal(group->scale, FGIO_SHARES_SCALE_ONE);
			continue;
		}
		counted++;
		before += (double)weight;
		after += (double)weight * (double)group->scale /
			 FGIO_SHARES_SCALE_ONE;
	}
	/* Each scale is rounded down, by a part in 512 at most. */
	assert_true(after <= before && after >= before * (1 - 1.0 / 512));
	for (u64 i = 0; i < count; i++)
		if (counted == 1 && groups[i].hungry_ms)
			assert_int_equal(groups[i].scale, FGIO_SHARES_SCALE_ONE);
}

static void test_the_parts_of_hungry_groups_add_up_as_before(void **state)
{
	u64 random = fresh_seed("hits");
	u64 changed = 0;

	(void)state;
	for (int draw = 0; draw < DRAWS; draw++) {
		struct fgio_cache_hits groups[GROUPS_MOST] = { 0 };
		struct fgio_cache_family family = {
			.withheld = next_random(&random) % 1500,
		};
		u64 count = 1 + next_random(&random) % GROUPS_MOST;

		for (int step = 0; step < 4; step++) {
			for (u64 i = 0; i < count; i++)
				random_facts(&random, &groups[i]);
			family.interval_ms = next_random(&random) % 70000;
			fgio_cache_count_hits(&family, groups, count);
			assert_true(family.withheld <= FGIO_CACHE_HITS_APPLIED);
			check_scales(groups, count);
		}
		for (u64 i = 0; i < count; i++)
			changed += groups[i].scale != FGIO_SHARES_SCALE_ONE;
	}
	/* The checks were about something. */
	assert_true(changed > DRAWS);
	fgio_cache_count_hits(&(struct fgio_cache_family){ 0 }, NULL, 0);
}

static void test_half_of_a_weight_stays_for_misses(void **state)
{
	struct fgio_cache_hits groups[3] = {
		{ .weight = 300, .hungry = 1, .moved = 1000 * MIB, .missed = MIB },
		{ .weight = 300, .hungry = 1, .moved = 100 * MIB, .missed = 100 * MIB },
		{ .weight = 100, .moved = 1000 * MIB },
	};
	struct fgio_cache_family family = { .interval_ms = 1000 };

	(void)state;
	fgio_cache_count_hits(&family, groups, 3);
	/* 1 : 2 of the 600 that both have. */
	assert_int_equal(groups[0].scale, 1024 * 2 / 3);
	assert_int_equal(groups[1].scale, 1024 * 4 / 3);
	assert_int_equal(groups[2].scale, 1024);
	/* A pause of a second changes nothing; a longer one ends it. */
	for (int i = 0; i < 3; i++)
		groups[i].hungry = groups[i].moved = groups[i].missed = 0;
	fgio_cache_count_hits(&family, groups, 3);
	assert_int_equal(groups[0].scale, 1024 * 2 / 3);
	family.interval_ms = FGIO_CACHE_HITS_HUNGRY_MS;
	fgio_cache_count_hits(&family, groups, 3);
	assert_int_equal(groups[0].scale, 1024);
	assert_int_equal(groups[1].scale, 1024);
}

/*
 * One that hits, and does not ask for its part of all: its hits take nothing from
 * the other, until it has more than its part.
 */
static void test_hits_count_only_for_those_that_get_more(void **state)
{
	struct fgio_cache_hits groups[2] = {
		{ .weight = 300, .hungry = 1, .moved = 100 * MIB, .missed = 50 * MIB },
		{ .weight = 100, .hungry = 1, .moved = 100 * MIB, .missed = 100 * MIB },
	};
	struct fgio_cache_family family = { .interval_ms = 1000 };
	u64 looks = 0;

	(void)state;
	do {
		fgio_cache_count_hits(&family, groups, 2);
	} while (groups[0].scale < FGIO_SHARES_SCALE_ONE && ++looks < 20);
	/* It has a half, and is due three quarters. */
	assert_in_range(looks, 2, 6);
	assert_int_equal(groups[1].scale, FGIO_SHARES_SCALE_ONE);
	groups[0].moved = 900 * MIB;
	groups[0].missed = 450 * MIB;
	looks = 0;
	do {
		fgio_cache_count_hits(&family, groups, 2);
	} while (family.withheld && ++looks < 60);
	assert_in_range(looks, 5, 30);
	/* 150 and 100, of the 400 that both have. */
	assert_int_equal(groups[0].scale, 1024 * 200 / 250);
	assert_int_equal(groups[1].scale, 1024 * 400 / 250);
}

/* Small records are read with what is around them; maps show no reads at all. */
static void test_maps_are_told_from_small_records(void **state)
{
	struct fgio_cache_hits groups[3] = {
		{ .weight = 100, .hungry = 1, .moved = MIB, .missed = 7 * MIB },
		{ .weight = 100, .hungry = 1, .moved = 20 * MIB, .missed = 5 * MIB },
		{ .weight = 100, .hungry = 1, .moved = MIB, .missed = 20 * MIB },
	};
	struct fgio_cache_family family = { .interval_ms = 1000 };

	(void)state;
	fgio_cache_count_hits(&family, groups, 3);
	assert_int_equal(groups[0].scale, 1024 * 4 / 3);
	assert_int_equal(groups[1].scale, 1024 * 2 / 3);
	assert_int_equal(groups[2].scale, 1024);
}

/* What each group used in the time measured. */
static void run_host(bool hits, const enum model_cache_load *loads,
		     const u64 *weights, u64 count, u64 size, double drive,
		     u64 seed, double *reads)
{
	struct model_cache cache;
	u64 before[MODEL_CACHE_GROUPS];

	model_cache_init(&cache, true, seed);
	cache.drive_by_weight = true;
	cache.generations = true;
	cache.hits = hits;
	cache.drive = drive;
	for (u64 i = 0; i < count; i++)
		model_cache_add(&cache, loads[i], weights[i], size);
	model_cache_run(&cache, 40 * SECOND);
	for (u64 i = 0; i < count; i++)
		before[i] = cache.group[i].reads;
	model_cache_run(&cache, 20 * SECOND);
	for (u64 i = 0; i < count; i++)
		reads[i] = (double)(cache.group[i].reads - before[i]);
	model_cache_end(&cache);
}

static void compare_parts(const char *what, enum model_cache_load load,
			  const u64 *weights, u64 count, u64 size,
			  double most_pv, double control_pv)
{
	u64 seed = fresh_seed(what);
	enum model_cache_load loads[MODEL_CACHE_GROUPS];
	double on[MODEL_CACHE_GROUPS], off[MODEL_CACHE_GROUPS];
	double pv_on, pv_off;

	for (u64 i = 0; i < count; i++)
		loads[i] = load;
	run_host(true, loads, weights, count, size, DRIVE, seed, on);
	run_host(false, loads, weights, count, size, DRIVE, seed, off);
	pv_on = model_cache_pv(on, weights, count);
	pv_off = model_cache_pv(off, weights, count);
	printf("    %s: PV of what groups get %.2f, %.2f without\n", what, pv_on,
	       pv_off);
	assert_true(pv_on <= most_pv);
	assert_true(pv_off >= control_pv);
}

static void test_what_groups_get_goes_by_weight(void **state)
{
	static const u64 four[] = { 100, 200, 400, 800 };
	static const u64 aged[] = { 100,  1000, 1000, 1000,
				    1000, 1000, 1000, 1000 };

	(void)state;
	compare_parts("re-read, files of 1.5 times memory", MODEL_CACHE_REREAD,
		      four, 4, MODEL_CACHE_MEMORY * 3 / 2, 0.1, 0.6);
	compare_parts("re-read, files of 3 times memory", MODEL_CACHE_REREAD,
		      four, 4, MODEL_CACHE_MEMORY * 3, 0.1, 0.3);
	compare_parts("ageing", MODEL_CACHE_REREAD, aged, 8,
		      MODEL_CACHE_MEMORY, 0.2, 0.5);
}

/* A backup has no hits: it has what it had, beside a group that re-reads. */
static void test_a_backup_gains_nothing(void **state)
{
	static const enum model_cache_load loads[] = {
		MODEL_CACHE_REREAD, MODEL_CACHE_REREAD, MODEL_CACHE_STREAM,
	};
	static const u64 weights[] = { 300, 300, 100 };
	u64 seed = fresh_seed("beside a backup");
	double on[3], off[3];

	(void)state;
	run_host(true, loads, weights, 3, MODEL_CACHE_FILES, DRIVE_SLOW, seed,
		 on);
	run_host(false, loads, weights, 3, MODEL_CACHE_FILES, DRIVE_SLOW, seed,
		 off);
	printf("    the backup reads %.0f, %.0f without\n", on[2], off[2]);
	assert_true(fabs(on[2] / off[2] - 1) <= 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_parts_of_hungry_groups_add_up_as_before),
		cmocka_unit_test(test_half_of_a_weight_stays_for_misses),
		cmocka_unit_test(test_hits_count_only_for_those_that_get_more),
		cmocka_unit_test(test_maps_are_told_from_small_records),
		cmocka_unit_test(test_what_groups_get_goes_by_weight),
		cmocka_unit_test(test_a_backup_gains_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
