// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The division of the page cache: against a plain model for random groups, and
 * in a simulated host (model_cache.h) with the loads of references/004.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../cache_shares.h"
#include "../number.h"
#include "check.h"
#include "model_cache.h"

#define DRAWS 20000
#define GROUPS_MOST 40
#define SECOND 1000ULL

/* Of any magnitude, 0 among them. */
static u64 random_pages(u64 *random, unsigned int bits)
{
	return next_random(random) >> (64 - bits + next_random(random) % bits);
}

static void random_group(u64 *random, struct fgio_cache_group *group)
{
	bool is_wild = next_random(random) % 16 == 0;
	unsigned int bits = is_wild ? 62 : 40;

	group->weight = 1 + next_random(random) % 10000;
	group->file = random_pages(random, bits);
	group->busy = next_random(random) % 2 ? random_pages(random, bits) : 0;
	group->other = random_pages(random, bits);
	group->refaults = next_random(random) % 2 ? random_pages(random, bits) : 0;
	group->low = next_random(random) % 4 ? 0 : random_pages(random, bits);
	group->min = next_random(random) % 4 ? 0 : random_pages(random, bits);
	group->max = next_random(random) % 4 ? ~0ULL : random_pages(random, bits);
	group->stalled = next_random(random) % 4 ? 0 : next_random(random) % 2000;
}

static u64 least(u64 one, u64 other)
{
	return smaller(smaller(one, FGIO_CACHE_PAGES_MOST), other);
}

static void check_grants(const struct fgio_cache_level *level,
			 const struct fgio_cache_group *groups, u64 count)
{
	u64 needs[GROUPS_MOST], weights[GROUPS_MOST], sum = 0;
	u64 capacity = least(level->capacity, FGIO_CACHE_PAGES_MOST);
	double expected[GROUPS_MOST];

	for (u64 i = 0; i < count; i++) {
		needs[i] = groups[i].need;
		weights[i] = groups[i].weight;
		sum += groups[i].granted;
	}
	assert_true(sum <= capacity);
	model_cache_max_min(needs, weights, count, capacity, expected);
	for (u64 i = 0; i < count; i++) {
		const struct fgio_cache_group *group = &groups[i];
		double off = (double)group->granted - expected[i];

		/* Each round rounds down; bisection ends near the last bit. */
		assert_true(off < 2 + expected[i] * 1e-9);
		assert_true(off > -(double)(count + 2) * 10000 - expected[i] * 1e-9);
		assert_true(group->granted <= group->need);
		assert_true(group->granted >=
			    smaller(group->need, group->entitled));
		assert_true(group->protect >= group->low);
	}
}

static void check_reclaim(const struct fgio_cache_level *level,
			  const struct fgio_cache_group *groups, u64 count)
{
	u64 sum = 0, held = 0;
	bool is_asked_for = level->deficit > 0;

	for (u64 i = 0; i < count; i++) {
		const struct fgio_cache_group *group = &groups[i];
		u64 file = least(group->file, FGIO_CACHE_PAGES_MOST);
		u64 other = least(group->other, FGIO_CACHE_PAGES_MOST);

		held = least(held + file, FGIO_CACHE_PAGES_MOST);
		sum += group->reclaim;
		is_asked_for |= group->refaults && group->granted > file;
		assert_true(group->reclaim <= beyond(file, group->granted));
		assert_true(group->reclaim <= beyond(file, group->busy));
		/* Not what the administrator protected, nor from a group that stalls. */
		if (group->reclaim) {
			assert_true(other + file - group->reclaim >= group->low);
			assert_true(other + file - group->reclaim >= group->min);
			assert_true(level->deficit ||
				    group->stalled < FGIO_CACHE_STALLED);
			assert_true(group->reclaim >= FGIO_CACHE_RECLAIM_LEAST);
		}
	}
	assert_true(sum <= larger(level->deficit,
				  held * level->interval_ms / 1000 /
					  FGIO_CACHE_RATE));
	if (!is_asked_for)
		assert_int_equal(sum, 0);
}

static void test_divides_like_the_plain_model(void **state)
{
	u64 random = fresh_seed("divisions");
	u64 reclaiming = 0;

	(void)state;
	for (int draw = 0; draw < DRAWS; draw++) {
		struct fgio_cache_group groups[GROUPS_MOST] = { 0 };
		u64 count = 1 + next_random(&random) % GROUPS_MOST;

		for (int step = 0; step < 3; step++) {
			struct fgio_cache_level level = {
				.capacity = random_pages(&random, 44),
				.deficit = next_random(&random) % 2 ?
						   random_pages(&random, 40) : 0,
				.interval_ms = 1 + next_random(&random) % 60000,
			};

			for (u64 i = 0; i < count; i++)
				random_group(&random, &groups[i]);
			fgio_cache_decide(&level, groups, count);
			check_grants(&level, groups, count);
			check_reclaim(&level, groups, count);
			for (u64 i = 0; i < count; i++)
				reclaiming += groups[i].reclaim > 0;
		}
	}
	/* The checks of reclaim were about something. */
	assert_true(reclaiming > DRAWS);
	fgio_cache_decide(&(struct fgio_cache_level){ .interval_ms = 0 }, NULL, 0);
}

static void test_dirty_pages_are_not_reclaimed(void **state)
{
	struct fgio_cache_level level = {
		.capacity = 100000,
		.deficit = 50000,
		.interval_ms = 500,
	};
	struct fgio_cache_group groups[2] = {
		{ .weight = 100, .file = 6000, .max = ~0ULL },
		{ .weight = 900, .file = 99000, .refaults = 50000, .max = ~0ULL },
	};

	(void)state;
	/* The control: what it holds beyond its grant is clean. */
	fgio_cache_decide(&level, groups, 2);
	assert_int_equal(groups[0].reclaim, 0);
	assert_true(groups[1].reclaim > 4000);
	/* What is clean goes, up to what is beyond the grant. */
	for (u64 clean = 2000; clean; clean -= 500) {
		groups[1].busy = 99000 - clean - FGIO_CACHE_ROOM;
		fgio_cache_decide(&level, groups, 2);
		assert_int_equal(groups[1].reclaim, clean);
	}
	groups[1].busy = 99000;
	fgio_cache_decide(&level, groups, 2);
	assert_int_equal(groups[1].reclaim, 0);
	/* More than there is says the same. */
	groups[1].busy = 1ULL << 50;
	fgio_cache_decide(&level, groups, 2);
	assert_int_equal(groups[1].reclaim, 0);
}

static void test_a_quiet_group_lends(void **state)
{
	struct fgio_cache_level level = { .capacity = 100000, .interval_ms = 500 };
	struct fgio_cache_group groups[2] = {
		{ .weight = 100, .file = 50000, .max = ~0ULL },
		{ .weight = 100, .file = 50000, .max = ~0ULL },
	};

	(void)state;
	/* None asks: nothing moves, and each is protected nearly whole. */
	fgio_cache_decide(&level, groups, 2);
	assert_int_equal(groups[0].entitled, 50000);
	assert_int_equal(groups[0].granted, 50000);
	assert_int_equal(groups[0].protect, 48438);
	assert_int_equal(groups[0].reclaim, 0);
	/* One asks for ever: in the decay's time the other keeps about 1/e. */
	for (int i = 0; i < 256; i++) {
		groups[1].refaults = 10000;
		groups[0].file = smaller(groups[0].file, groups[0].granted);
		groups[1].file = 100000 - groups[0].file;
		fgio_cache_decide(&level, groups, 2);
	}
	assert_in_range(groups[0].granted, 50000 / 4, 50000 / 2);
	assert_in_range(groups[1].granted, 50000, 50000 * 2);
	/* It reads what it lost: it gets its part at once. */
	groups[0].refaults = 20000;
	fgio_cache_decide(&level, groups, 2);
	assert_in_range(groups[0].granted, 49990, 50000);
	assert_true(groups[1].reclaim > 0);
}

/* Means over the time measured of pages held, and pages used in all of it. */
struct measured {
	double held[MODEL_CACHE_GROUPS];
	double reads[MODEL_CACHE_GROUPS];
	double total;
	double swing; /* largest change of a group's pages from one second on */
	double taken; /* by the kernel's own reclaim */
	double decisions;
};

static struct measured measure(struct model_cache *cache, u64 seconds)
{
	struct measured got = { 0 };
	u64 before[MODEL_CACHE_GROUPS], last[MODEL_CACHE_GROUPS];

	for (u64 i = 0; i < cache->count; i++) {
		before[i] = cache->group[i].reads;
		last[i] = cache->group[i].held;
	}
	for (u64 second = 0; second < seconds; second++) {
		model_cache_run(cache, SECOND);
		for (u64 i = 0; i < cache->count; i++) {
			double moved = (double)cache->group[i].held -
				       (double)last[i];

			moved = moved < 0 ? -moved : moved;
			got.swing = moved > got.swing ? moved : got.swing;
			last[i] = cache->group[i].held;
			got.held[i] += (double)last[i] / (double)seconds;
		}
	}
	for (u64 i = 0; i < cache->count; i++) {
		got.reads[i] = (double)(cache->group[i].reads - before[i]);
		got.total += got.reads[i];
	}
	return got;
}

enum how {
	PLAIN = 0,
	CONTROLLED = 1,
	DRIVE_BY_WEIGHT = 2,
	GENERATIONS = 4, /* in the kernel's reclaim */
	FIXED = 8, /* spare memory */
};

/* The loads of references/004. */
static struct measured simulate(enum model_cache_load load, const u64 *weights,
				u64 count, unsigned int how, u64 seed)
{
	struct model_cache cache;
	struct measured got;

	model_cache_init(&cache, how & CONTROLLED, seed);
	cache.drive_by_weight = how & DRIVE_BY_WEIGHT;
	cache.generations = how & GENERATIONS;
	cache.fixed = how & FIXED;
	for (u64 i = 0; i < count; i++)
		model_cache_add(&cache, load, weights[i], MODEL_CACHE_MEMORY);
	model_cache_run(&cache, 15 * SECOND);
	cache.taken = 0;
	cache.decisions = 0;
	got = measure(&cache, 10);
	got.taken = (double)cache.taken;
	got.decisions = (double)cache.decisions;
	model_cache_end(&cache);
	return got;
}

static void print_case(const char *what, const struct measured *got,
		       const u64 *weights, u64 count)
{
	printf("    %s: PV of pages held %.2f, of pages used %.2f, used %.0f, taken by the kernel %.0f, held",
	       what, model_cache_pv(got->held, weights, count),
	       model_cache_pv(got->reads, weights, count), got->total,
	       got->taken);
	for (u64 i = 0; i < count; i++)
		printf(" %.0f", got->held[i]);
	printf("\n");
}

/* Each within a tenth of its part, the lightest at 90 % of it or more. */
static void check_parts(const struct measured *got, const u64 *weights,
			u64 count)
{
	double sum = 0, weighed = 0;

	for (u64 i = 0; i < count; i++) {
		sum += got->held[i];
		weighed += (double)weights[i];
	}
	for (u64 i = 0; i < count; i++) {
		double due = sum * (double)weights[i] / weighed;

		assert_true(got->held[i] >= 0.9 * due);
		assert_true(got->held[i] <= 1.1 * due + FGIO_CACHE_ROOM);
	}
	assert_true(got->swing <= 0.05 * MODEL_CACHE_MEMORY);
}

static void compare(const char *what, enum model_cache_load load,
		    const u64 *weights, u64 count, double control_pv)
{
	static const char *const kinds[] = { "overage", "generations" };
	u64 seed = fresh_seed(what);

	for (unsigned int kind = 0; kind < 2; kind++) {
		unsigned int how = kind ? GENERATIONS : 0;
		struct measured off = simulate(load, weights, count, how, seed);
		struct measured on = simulate(load, weights, count,
					      how | CONTROLLED, seed);
		struct measured drive =
			simulate(load, weights, count,
				 how | CONTROLLED | DRIVE_BY_WEIGHT, seed);

		printf("  %s\n", kinds[kind]);
		print_case("conventional", &off, weights, count);
		print_case("by weight", &on, weights, count);
		print_case("by weight, and so does the drive", &drive, weights,
			   count);
		check_parts(&on, weights, count);
		assert_true(model_cache_pv(off.held, weights, count) >=
			    control_pv);
		assert_true(on.total >= 0.95 * off.total);
	}
}

static void test_reread(void **state)
{
	static const u64 weights[] = { 100, 200, 400, 800 };

	(void)state;
	compare("re-read", MODEL_CACHE_REREAD, weights, 4, 2.5);
}

static void test_fileserver(void **state)
{
	static const u64 weights[] = { 100, 200, 300, 400, 500, 600, 700, 800 };

	(void)state;
	compare("fileserver", MODEL_CACHE_FILESERVER, weights, 8, 3);
}

static void test_ageing(void **state)
{
	static const u64 weights[] = { 100,  1000, 1000, 1000,
				       1000, 1000, 1000, 1000 };

	(void)state;
	compare("ageing", MODEL_CACHE_REREAD, weights, 8, 7);
}

/* A working set that is in memory, and a backup that reads all of its own. */
static double kept_beside_a_backup(bool controlled, u64 seed)
{
	struct model_cache cache;
	double kept;

	model_cache_init(&cache, controlled, seed);
	model_cache_add(&cache, MODEL_CACHE_REREAD, 100, 6000);
	model_cache_add(&cache, MODEL_CACHE_STREAM, 100, MODEL_CACHE_FILES);
	cache.group[1].load = MODEL_CACHE_IDLE;
	model_cache_run(&cache, 5 * SECOND);
	/* The database pauses, as at night. */
	cache.group[0].load = MODEL_CACHE_IDLE;
	cache.group[1].load = MODEL_CACHE_STREAM;
	model_cache_run(&cache, 4 * SECOND);
	kept = (double)cache.group[0].held / 6000;
	model_cache_end(&cache);
	return kept;
}

static void test_a_backup_does_not_evict(void **state)
{
	u64 seed = fresh_seed("backup");
	double off = kept_beside_a_backup(false, seed);
	double on = kept_beside_a_backup(true, seed);

	(void)state;
	printf("    kept of the working set: conventional %.2f, by weight %.2f\n",
	       off, on);
	assert_true(on >= 0.9);
	assert_true(off <= 0.7);
}

static void test_new_weights_count_within_two_seconds(void **state)
{
	struct model_cache cache;

	(void)state;
	model_cache_init(&cache, true, fresh_seed("new weights"));
	model_cache_add(&cache, MODEL_CACHE_REREAD, 100, MODEL_CACHE_MEMORY);
	model_cache_add(&cache, MODEL_CACHE_REREAD, 300, MODEL_CACHE_MEMORY);
	model_cache_run(&cache, 10 * SECOND);
	assert_in_range(cache.group[0].held, 3500, 4500);
	cache.group[0].weight = 300;
	cache.group[1].weight = 100;
	model_cache_run(&cache, 2 * SECOND);
	printf("    2 s after: %llu and %llu pages\n",
	       (unsigned long long)cache.group[0].held,
	       (unsigned long long)cache.group[1].held);
	assert_in_range(cache.group[0].held, 10500, 12800);
	model_cache_end(&cache);
}

static void check_spare(const struct fgio_cache_memory *memory,
			const struct fgio_cache_level *level, u64 taken)
{
	u64 file = least(memory->file, FGIO_CACHE_PAGES_MOST);
	u64 free = least(memory->free, FGIO_CACHE_PAGES_MOST);
	u64 high = least(memory->high, FGIO_CACHE_PAGES_MOST);
	u64 most = high + larger(high, file / FGIO_CACHE_SPARE);
	u64 soonest = larger(memory->rest_ms / FGIO_CACHE_HASTE, 1);

	assert_in_range(memory->spare, 2 * high, most);
	/* Twice what was taken, less what rounding loses of a rate. */
	assert_true(memory->spare == most ||
		    memory->spare + 2 * level->interval_ms / SECOND + 2 >=
			    high + 2 * taken);
	assert_in_range(memory->pause_ms, soonest, memory->rest_ms);
	assert_int_equal(level->deficit, beyond(memory->spare, free));
	assert_int_equal(level->capacity, beyond(file + free, memory->spare));
}

static void test_spare_memory_follows_the_inflow(void **state)
{
	u64 random = fresh_seed("spare memory");
	struct fgio_cache_memory memory = { .rest_ms = 500 };
	struct fgio_cache_level level = { .interval_ms = 500 };
	u64 following = 0;

	(void)state;
	for (int draw = 0; draw < DRAWS; draw++) {
		u64 before = memory.known ? memory.was_free : 0, taken;
		bool known = memory.known;

		memory.free = random_pages(&random, 44);
		memory.high = random_pages(&random, 30);
		memory.file = random_pages(&random, 44);
		memory.freed = random_pages(&random, 44);
		memory.rest_ms = 1 + next_random(&random) % 60000;
		level.interval_ms = 1 + next_random(&random) % 60000;
		taken = known ? beyond(least(before, FGIO_CACHE_PAGES_MOST) +
					       least(memory.freed,
						     FGIO_CACHE_PAGES_MOST),
				       least(memory.free,
					     FGIO_CACHE_PAGES_MOST)) : 0;
		fgio_cache_keep_free(&memory, &level);
		check_spare(&memory, &level,
			    smaller(taken, FGIO_CACHE_PAGES_MOST *
						   level.interval_ms / SECOND));
		following += memory.spare > 2 * memory.high;
	}
	/* The checks were about something. */
	assert_true(following > DRAWS / 10);
}

static void test_an_inflow_is_forgotten_slowly(void **state)
{
	struct fgio_cache_level level = { .interval_ms = 500 };
	struct fgio_cache_memory memory = {
		.free = 2000,
		.high = 1000,
		.file = 100000,
		.rest_ms = 500,
	};

	(void)state;
	fgio_cache_keep_free(&memory, &level);
	assert_int_equal(memory.spare, 2000);
	assert_int_equal(memory.pause_ms, 500);
	memory.freed = 3000;
	fgio_cache_keep_free(&memory, &level);
	assert_int_equal(memory.spare, 1000 + 2 * 3000);
	/* Half of 1,000 pages at 6,000 a second. */
	assert_int_equal(memory.pause_ms, 83);
	/* Quiet again. */
	memory.freed = 0;
	for (int i = 0; i < 2 * FGIO_CACHE_INFLOW_MS / 500; i++)
		fgio_cache_keep_free(&memory, &level);
	assert_int_equal(memory.spare, 2000);
	assert_int_equal(memory.pause_ms, 500);
}

/* Pages that the kernel takes in 10 s from all, beside bursts of a light group. */
static struct measured beside_bursts(unsigned int how, u64 seed)
{
	struct model_cache cache;
	struct measured got;

	model_cache_init(&cache, true, seed);
	cache.generations = true;
	cache.fixed = how & FIXED;
	cache.drive = 8;
	model_cache_add(&cache, MODEL_CACHE_REREAD, 800, 12000);
	model_cache_add(&cache, MODEL_CACHE_BURSTS, 100, MODEL_CACHE_FILES);
	model_cache_run(&cache, 15 * SECOND);
	cache.taken = 0;
	got = measure(&cache, 12);
	got.taken = (double)cache.taken;
	model_cache_end(&cache);
	return got;
}

/* The ablation: a fixed spare memory leaves the reclaim to the kernel. */
static void test_the_kernel_takes_from_all_only_with_fixed_spare_memory(void **state)
{
	static const u64 weights[] = { 100, 200, 400, 800 };
	u64 seed = fresh_seed("spare memory in a host");
	struct measured fixed = simulate(MODEL_CACHE_REREAD, weights, 4,
					 GENERATIONS | CONTROLLED | FIXED, seed);
	struct measured follows = simulate(MODEL_CACHE_REREAD, weights, 4,
					   GENERATIONS | CONTROLLED, seed);
	struct measured burst_fixed = beside_bursts(FIXED, seed);
	struct measured burst = beside_bursts(0, seed);

	(void)state;
	print_case("fixed", &fixed, weights, 4);
	print_case("follows", &follows, weights, 4);
	printf("    %.0f decisions in 10 s\n    bursts: the kernel takes %.0f, %.0f with fixed spare memory\n",
	       follows.decisions, burst.taken, burst_fixed.taken);
	assert_true(follows.taken <= fixed.taken / 20);
	assert_true(burst.taken <= burst_fixed.taken / 4);
	assert_true(follows.decisions <=
		    10 * SECOND * FGIO_CACHE_HASTE / MODEL_CACHE_INTERVAL + 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_divides_like_the_plain_model),
		cmocka_unit_test(test_dirty_pages_are_not_reclaimed),
		cmocka_unit_test(test_a_quiet_group_lends),
		cmocka_unit_test(test_spare_memory_follows_the_inflow),
		cmocka_unit_test(test_an_inflow_is_forgotten_slowly),
		cmocka_unit_test(test_the_kernel_takes_from_all_only_with_fixed_spare_memory),
		cmocka_unit_test(test_reread),
		cmocka_unit_test(test_fileserver),
		cmocka_unit_test(test_ageing),
		cmocka_unit_test(test_a_backup_does_not_evict),
		cmocka_unit_test(test_new_weights_count_within_two_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
