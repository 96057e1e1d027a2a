// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Costs of reads and writes that are always queued, on a drive whose cache takes
 * writes at once and has them done later, beside reads.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../shares_cost.h"
#include "check.h"

#define MILLISECOND 1000000ULL
#define SECOND 1000000000ULL
#define DRAWS 100
#define RANDOM_READ 0
#define RANDOM_WRITE 2
#define STREAM_WRITE 3

/* One kind of I/O of a group that always has some queued. */
struct kind {
	u8 kind;
	u32 sectors;
	double cost_ns;
	double paid_ns;
};

/* A drive, and two groups of equal weight. */
struct drive {
	struct kind kinds[2];
	/* Work of writes that the cache takes, and has taken. */
	double cache_ns;
	double cached_ns;
	/* Beside a read, it does writes for this part of the read's time. */
	double beside;
	/* Of an interval's length, as a part of it. */
	double noise;
	uint64_t random;
};

/* What the drive takes before it can be sent the next one. */
static double taken_by(struct drive *drive, const struct kind *kind)
{
	double done_ns;

	if (fgio_share_kind_writes(kind->kind)) {
		drive->cached_ns += kind->cost_ns;
		done_ns = fmax(drive->cached_ns - drive->cache_ns, 0);
		drive->cached_ns -= done_ns;
		return done_ns;
	}
	done_ns = fmin(drive->cached_ns, drive->beside * kind->cost_ns);
	drive->cached_ns -= done_ns;
	return kind->cost_ns + done_ns;
}

/* The group that paid less sends one. Return: what it takes. */
static double send_next(struct fgio_share_cost *cost, struct drive *drive)
{
	struct kind *kinds = drive->kinds;
	struct kind *next = &kinds[kinds[1].paid_ns < kinds[0].paid_ns];

	next->paid_ns += (double)fgio_share_cost_sent(cost, next->kind,
						      next->sectors);
	return taken_by(drive, next);
}

static double noise_of(struct drive *drive)
{
	return exp(drive->noise * next_deviation(&drive->random));
}

static void one_interval(struct fgio_share_cost *cost, struct drive *drive,
			 u64 *now_ns)
{
	double factor = noise_of(drive), time_ns = 0;

	while (!fgio_share_cost_is_due(cost, *now_ns + (u64)time_ns))
		time_ns += factor * send_next(cost, drive);
	*now_ns += (u64)time_ns;
	fgio_share_cost_learn(cost, *now_ns);
	fgio_share_cost_begin_dithered(cost, *now_ns);
}

/* Writes until these take 5 to 50 ms, and then reads for as long. */
static void one_cycle(struct fgio_share_cost *cost, struct drive *drive,
		      u32 *scale, u64 *now_ns)
{
	double until_ns = 5e6 * pow(10, next_fraction(&drive->random));
	double factor = noise_of(drive), time_ns = 0;

	while (time_ns < until_ns)
		time_ns += factor * send_next(cost, drive);
	*now_ns += 2 * (u64)time_ns;
	fgio_share_cost_learn_writes(cost, (u64)time_ns, *now_ns, scale);
	fgio_share_cost_begin_cycle(cost, true, *now_ns);
}

/* By how much the ratio of the two costs is wrong, as a factor. */
static double wrong_by(const struct fgio_share_cost *cost,
		       const struct drive *drive)
{
	double ratio = 1;

	for (u32 i = 0; i < 2; i++) {
		const struct kind *kind = &drive->kinds[i];
		double by = (double)fgio_share_cost_of(cost, kind->kind,
						       kind->sectors) /
			    kind->cost_ns;

		ratio = i ? ratio / by : by;
	}
	return fmax(ratio, 1 / ratio);
}

static double run(struct drive *drive, bool cycles, u64 for_ns)
{
	u32 scale = FGIO_SHARE_SCALE_ONE;
	struct fgio_share_cost cost;
	u64 now_ns = SECOND;

	fgio_share_cost_init(&cost);
	fgio_share_cost_begin_cycle(&cost, cycles, now_ns);
	while (now_ns < SECOND + for_ns) {
		if (cycles)
			one_cycle(&cost, drive, &scale, &now_ns);
		else
			one_interval(&cost, drive, &now_ns);
	}
	return wrong_by(&cost, drive);
}

/* The second kind costs up to eight times what it is guessed, or an eighth. */
static struct drive draw(uint64_t *random, struct kind one, struct kind other)
{
	struct drive drive = {
		.kinds = { one, other },
		.cache_ns = 1e6 * pow(40, next_fraction(random)),
		.beside = next_fraction(random),
		.noise = 0.01 + 0.09 * next_fraction(random),
		.random = next_random(random),
	};
	struct fgio_share_cost cost;

	fgio_share_cost_init(&cost);
	for (u32 i = 0; i < 2; i++)
		drive.kinds[i].cost_ns = (double)fgio_share_cost_of(
			&cost, drive.kinds[i].kind, drive.kinds[i].sectors);
	drive.kinds[1].cost_ns *= pow(8, 2 * next_fraction(random) - 1);
	for (u32 i = 0; i < 2; i++)
		drive.kinds[i].cost_ns /= 10;
	return drive;
}

/* Median of how wrong the ratio is after @for_ns. */
static double median_wrong(uint64_t *random, struct kind one,
			   struct kind other, u64 for_ns)
{
	bool cycles = fgio_share_kind_writes(one.kind);
	double wrong[DRAWS], median;

	for (u32 i = 0; i < DRAWS; i++) {
		struct drive drive = draw(random, one, other);

		if (cycles)
			drive.cache_ns = 0;
		wrong[i] = run(&drive, cycles, for_ns);
	}
	median = median_of(wrong, DRAWS);
	printf("    after %4.1f s wrong by %.2f (9 of 10: %.2f)\n",
	       (double)for_ns / 1e9, median, wrong[DRAWS * 9 / 10]);
	return median;
}

/* With a cache of 1 to 40 ms of writes. */
static void test_writes_are_told_from_reads(void **state)
{
	uint64_t random = fresh_seed("writes");
	struct kind reads = { .kind = RANDOM_READ, .sectors = 8 };
	struct kind writes = { .kind = RANDOM_WRITE, .sectors = 8 };

	(void)state;
	assert_true(median_wrong(&random, reads, writes, 1) > 1.8);
	assert_true(median_wrong(&random, reads, writes, 10 * SECOND) < 1.25);
}

/* Of each cycle that has turns of reads, nothing but what all writes took is known. */
static void test_writes_of_cycles_are_told_apart(void **state)
{
	uint64_t random = fresh_seed("cycles");
	struct kind small = { .kind = RANDOM_WRITE, .sectors = 8 };
	struct kind large = { .kind = STREAM_WRITE, .sectors = 1024 };

	(void)state;
	assert_true(median_wrong(&random, small, large, 1) > 1.8);
	assert_true(median_wrong(&random, small, large, 10 * SECOND) < 1.25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writes_are_told_from_reads),
		cmocka_unit_test(test_writes_of_cycles_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
