// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A small table of cells: the learnt depth is good in more cells than a fixed
 * limit, or none; and the verdicts, one by one. cells.c has the whole table.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "model_cells.h"
#include "model_host.h"

#define SECOND 1000000000ULL

static const char *const drives[] = { "volume", "volume-sigma", "gp3", "ssd-gc" };
static const char *const foregrounds[] = { "poisson", "write", "commit" };
static const char *const backgrounds[] = { "checkpoint", "random", "backup" };

static u32 number_of(const char *name(u32), const char *wanted)
{
	u32 i = 0;

	while (name(i) && strcmp(name(i), wanted))
		i++;
	assert_non_null(name(i));
	return i;
}

static void count_good(struct cell *cell, const struct cell_policies *policies,
		       u32 good[CELL_POLICIES_MAX])
{
	struct cell_alone alone = cell_run_alone(cell);

	for (u32 i = 0; i < ARRAY_SIZE(backgrounds); i++) {
		struct cell_figures figures;

		cell->background = number_of(cell_background, backgrounds[i]);
		figures = cell_run(cell, policies, &alone);
		for (u32 j = 0; j < policies->count; j++)
			good[j] += cell_is_good(
				cell_judge(&figures, policies, j));
	}
}

static void count_drive(const char *spec, u64 *random,
			const struct cell_policies *policies,
			u32 good[CELL_POLICIES_MAX])
{
	struct simdisk_parameters drive = host_parsed(spec);

	for (u32 i = 0; i < ARRAY_SIZE(foregrounds); i++)
		count_good(&(struct cell){
				   .drive = &drive,
				   .foreground = number_of(cell_foreground,
							   foregrounds[i]),
				   .seed = next_random(random) >> 1,
				   .warm_ns = 3 * SECOND / 2,
				   .measured_ns = 2 * SECOND,
			   },
			   policies, good);
}

/*
 * The wrong policies are the control: a check that rejects none of them proves
 * nothing.
 */
static void test_learnt_is_good_where_limits_are_not(void **state)
{
	static const u32 cells = ARRAY_SIZE(drives) * ARRAY_SIZE(foregrounds) *
				 ARRAY_SIZE(backgrounds);
	u32 good[CELL_POLICIES_MAX] = { 0 };
	u64 random = fresh_seed("cells");
	struct cell_policies policies;

	(void)state;
	assert_true(cell_read_limits(&policies, "1,2,8"));
	for (u32 i = 0; i < ARRAY_SIZE(drives); i++)
		count_drive(drives[i], &random, &policies, good);
	for (u32 i = 0; i < policies.count; i++)
		print_message("    limit %u: good in %u of %u cells\n",
			      policies.limit[i], good[i], cells);
	assert_true(good[0] >= cells * 3 / 4);
	for (u32 i = 1; i < policies.count; i++)
		assert_true(good[i] + cells / 8 <= good[0]);
}

/* ---- drives that were not chosen ---- */

#define ANY_DRIVES 6

static const char *const any_foregrounds[] = { "poisson", "qd8", "qd32", "write" };

static double between(double least, double most, u64 *random)
{
	double part = (double)(next_random(random) >> 11) * 0x1p-53;

	return least * pow(most / least, part);
}

/* A volume with tails and an uneven latency; its caps, latency and burst are any. */
static const char *any_volume(u64 *random)
{
	static char spec[256];
	double iops = between(1000, 20000, random);

	snprintf(spec, sizeof(spec),
		 "volume:iops=%.0f,bytes_per_s=%.0f,latency=%.0fus,jitter_mean=%.0fus,burst=%.0fms,sigma=%.2f,tail_share=%.2f%%,tail_factor=%.0f",
		 iops, iops * between(10000, 100000, random),
		 between(100, 3000, random), between(20, 600, random),
		 between(1, 100, random), between(0.1, 0.7, random),
		 between(0.2, 4, random), between(3, 25, random));
	return spec;
}

/*
 * What a policy gives away: the logarithm of what another one has, at latencies
 * as long or within what is asked, over what it has itself.
 */
static double loss(const struct cell_figures *figures,
		   const struct cell_policies *policies, u32 policy)
{
	double mean = fmax(1.25, 1.05 * figures->mean[policy]);
	double p99 = fmax(1.5, 1.05 * figures->p99[policy]);
	double all = figures->background_bytes_per_s[policies->count - 1];
	double own = figures->background_bytes_per_s[policy], best = own;

	for (u32 i = 0; i < policies->count; i++)
		if (figures->mean[i] <= mean && figures->p99[i] <= p99)
			best = fmax(best, figures->background_bytes_per_s[i]);
	return log((best + all / 100) / (own + all / 100));
}

/* Sums of logarithms, over cells. */
struct sums {
	double loss[CELL_POLICIES_MAX];
	double mean[CELL_POLICIES_MAX]; /* of the foreground, in times alone */
};

static void add_cells(struct cell *cell, const struct cell_policies *policies,
		      struct sums *sums)
{
	struct cell_alone alone = cell_run_alone(cell);

	for (u32 i = 0; i < ARRAY_SIZE(backgrounds); i++) {
		struct cell_figures figures;

		cell->background = number_of(cell_background, backgrounds[i]);
		figures = cell_run(cell, policies, &alone);
		for (u32 j = 0; j < policies->count; j++) {
			sums->loss[j] += loss(&figures, policies, j);
			sums->mean[j] += log(figures.mean[j]);
		}
	}
}

/* A limit of one gives more away, and no limit protects less: the controls. */
static void test_little_is_lost_on_any_volume(void **state)
{
	static const u32 cells = ANY_DRIVES * ARRAY_SIZE(any_foregrounds) *
				 ARRAY_SIZE(backgrounds);
	struct sums sums = { 0 };
	u64 random = fresh_seed("any volume");
	struct cell_policies policies;

	(void)state;
	assert_true(cell_read_limits(&policies, "1,2,4,8,16"));
	for (u32 i = 0; i < ANY_DRIVES; i++) {
		const char *spec = any_volume(&random);
		struct simdisk_parameters drive = host_parsed(spec);

		print_message("    %s\n", spec);
		for (u32 j = 0; j < ARRAY_SIZE(any_foregrounds); j++)
			add_cells(&(struct cell){
					   .drive = &drive,
					   .foreground = number_of(
						   cell_foreground,
						   any_foregrounds[j]),
					   .seed = next_random(&random) >> 1,
					   .warm_ns = 3 * SECOND / 2,
					   .measured_ns = 2 * SECOND,
				   },
				  &policies, &sums);
	}
	for (u32 i = 0; i < policies.count; i++) {
		sums.loss[i] = exp(-sums.loss[i] / cells);
		sums.mean[i] = exp(sums.mean[i] / cells);
		print_message("    limit %u: %.2f of what another policy gives, foreground %.2f times alone\n",
			      policies.limit[i], sums.loss[i], sums.mean[i]);
	}
	assert_true(sums.loss[0] >= 0.85);
	assert_true(sums.loss[1] <= sums.loss[0] - 0.1);
	assert_true(sums.mean[0] <= 1.25 * sums.mean[1]);
	assert_true(sums.mean[policies.count - 1] >= 1.2 * sums.mean[0]);
}

/* ---- verdicts ---- */

/* The learnt depth, a limit of one, and none. */
static struct cell_verdict judge(const struct cell_figures *figures)
{
	struct cell_policies policies;

	assert_true(cell_read_limits(&policies, "1"));
	return cell_judge(figures, &policies, 0);
}

static void test_free_needs_most_of_the_throughput(void **state)
{
	struct cell_figures figures = {
		.background_bytes_per_s = { 86, 10, 100 },
		.mean = { 1, 1, 1.4 }, .p99 = { 1, 1, 1.4 },
	};

	(void)state;
	assert_int_equal(judge(&figures).kind, CELL_FREE);
	assert_true(judge(&figures).kept);
	figures.background_bytes_per_s[0] = 84;
	assert_false(judge(&figures).kept);
	figures.background_bytes_per_s[0] = 100;
	figures.p99[0] = 1.6;
	assert_false(judge(&figures).kept);
}

static void test_kept_needs_what_another_policy_shows(void **state)
{
	struct cell_figures figures = {
		.background_bytes_per_s = { 36, 50, 100 },
		.mean = { 1.2, 1.2, 9 }, .p99 = { 1.4, 1.4, 9 },
	};

	(void)state;
	assert_int_equal(judge(&figures).kind, CELL_KEPT);
	assert_true(judge(&figures).kept);
	figures.background_bytes_per_s[0] = 34;
	assert_false(judge(&figures).kept);
	figures.background_bytes_per_s[0] = 50;
	figures.mean[0] = 1.3;
	assert_false(judge(&figures).kept);
	/* The limit of one no longer dominates it, nor does any other. */
	figures.mean[1] = 1.3;
	assert_int_equal(judge(&figures).kind, CELL_BEYOND);
	assert_true(judge(&figures).kept);
}

static void test_more_at_no_more_latency_dominates(void **state)
{
	struct cell_figures figures = {
		.background_bytes_per_s = { 50, 53, 100 },
		.mean = { 2, 2, 9 }, .p99 = { 2, 2, 9 },
	};

	(void)state;
	assert_int_equal(judge(&figures).dominated_by, 1);
	assert_false(cell_is_good(judge(&figures)));
	figures.p99[1] = 2.2;
	assert_int_equal(judge(&figures).dominated_by, 0);
	figures.p99[1] = 2;
	figures.background_bytes_per_s[1] = 52;
	assert_int_equal(judge(&figures).dominated_by, 0);
}

static void test_lists_of_limits(void **state)
{
	static const char *const wrong[] = { "0", "x", "1,", ",1", "1;2", "65535" };
	struct cell_policies policies;

	(void)state;
	assert_true(cell_read_limits(&policies, ""));
	assert_int_equal(policies.count, 2);
	assert_int_equal(policies.limit[0], 0);
	assert_int_equal(policies.limit[1], RIVALS_UNRESTRICTED);
	for (u32 i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(cell_read_limits(&policies, wrong[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learnt_is_good_where_limits_are_not),
		cmocka_unit_test(test_little_is_lost_on_any_volume),
		cmocka_unit_test(test_free_needs_most_of_the_throughput),
		cmocka_unit_test(test_kept_needs_what_another_policy_shows),
		cmocka_unit_test(test_more_at_no_more_latency_dominates),
		cmocka_unit_test(test_lists_of_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
