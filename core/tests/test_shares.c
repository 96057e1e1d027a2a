// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Fair shares: properties one by one, then random scripts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../queue.h"
#include "check.h"
#include "long.h"
#include "model_host.h"
#include "model_shares.h"
#include "model_tenants.h"

#define MILLISECOND 1000000ULL
#define SECOND (1000 * MILLISECOND)

#define SCRIPTS 800
#define SCRIPT_BYTES 1024

/*
 * Background I/O of one group alone, mostly, which is dispatched in runs: by the
 * model's numbers of operations (play_operation()).
 */
static void leave_one_group(uint8_t *script, uint64_t *seed)
{
	for (int at = 1; at + 1 < SCRIPT_BYTES; at += 2) {
		if (script[at] % 16 == 12)
			script[at] = 5;
		if (script[at] % 16 <= 4)
			script[at + 1] = next_random(seed) % 64 ?
						 script[at + 1] % 18 * 7 :
						 script[at + 1] % 128;
	}
}

static void test_random_scripts_follow_the_model(void **state)
{
	uint64_t seed = fresh_seed("shares");
	static uint8_t script[SCRIPT_BYTES];
	struct model_shares_seen seen = { 0 };

	(void)state;
	for (int i = 0; i < SCRIPTS; i++) {
		fill_random(&seed, script, sizeof(script));
		if (i % 2)
			leave_one_group(script, &seed);
		model_shares_play(script, sizeof(script), &seen);
		model_shares_heap_play(script, sizeof(script));
	}
	/* What the model checks of runs and of turns of reads, it checked. */
	printf("    dispatched in runs: %u, while writes waited: %u\n",
	       seen.untimed, seen.beside_waiting);
	assert_true(seen.untimed >= 100);
	assert_true(seen.beside_waiting >= 100);
}

/* ---- service costs and the in-flight limit, by themselves ---- */

/* An interval of a full drive with @small and @large random reads. */
static void full_interval(struct fgio_share_cost *cost, u32 small, u32 large,
			  u64 *now_ns)
{
	while (small--) {
		fgio_share_cost_sent(cost, 0, 8);
		*now_ns += 25000;
	}
	while (large--) {
		fgio_share_cost_sent(cost, 0, 512);
		*now_ns += 500000;
	}
	assert_true(fgio_share_cost_is_due(cost, *now_ns));
	fgio_share_cost_learn(cost, *now_ns);
	fgio_share_cost_begin(cost, *now_ns);
}

static void test_costs_are_told_apart_where_mixes_vary(void **state)
{
	uint64_t seed = fresh_seed("costs");
	struct fgio_share_cost cost;
	u64 now_ns = SECOND;

	(void)state;
	fgio_share_cost_init(&cost);
	fgio_share_cost_begin(&cost, now_ns);
	for (int i = 0; i < 400; i++)
		full_interval(&cost, 128 + (u32)(next_random(&seed) % 1000),
			      20 + (u32)(next_random(&seed) % 50), &now_ns);
	assert_in_range(fgio_share_cost_of(&cost, 0, 8), 21250, 28750);
	assert_in_range(fgio_share_cost_of(&cost, 0, 512), 425000, 575000);
}

/* In one proportion alone they cannot be, but their sum is right. */
static void test_costs_of_one_mix_add_up(void **state)
{
	struct fgio_share_cost cost;
	u64 now_ns = SECOND, sum_ns;

	(void)state;
	fgio_share_cost_init(&cost);
	fgio_share_cost_begin(&cost, now_ns);
	for (int i = 0; i < 100; i++)
		full_interval(&cost, 100, 50, &now_ns);
	sum_ns = 100 * fgio_share_cost_of(&cost, 0, 8) +
		 50 * fgio_share_cost_of(&cost, 0, 512);
	assert_in_range(sum_ns, 27000000, 28000000);
}

static double ratio_of(const struct fgio_share_cost *cost)
{
	return (double)fgio_share_cost_of(cost, 0, 512) /
	       (double)fgio_share_cost_of(cost, 0, 8);
}

/*
 * A drive of another speed says nothing of the ratio of costs: 4 and 256 KiB
 * in one proportion, at any speed, keep that of the first guess.
 */
static void test_speed_changes_no_ratio(void **state)
{
	uint64_t seed = fresh_seed("speed");
	struct fgio_share_cost cost;

	(void)state;
	for (int i = 0; i < 100; i++) {
		/* 1,000 times as slow as guessed to 100 times as fast. */
		double speed = pow(10, 5.0 * (double)(next_random(&seed) % 1000) /
					       1000 - 3);
		u32 small = 128 + (u32)(next_random(&seed) % 1000);
		u32 large = 1 + (u32)(next_random(&seed) % 50);
		u64 now_ns = SECOND, takes_ns;
		double first;

		fgio_share_cost_init(&cost);
		fgio_share_cost_begin(&cost, now_ns);
		first = ratio_of(&cost);
		takes_ns = (u64)((small * 100000.0 + large * 800000.0) / speed);
		for (int j = 0; j < 8; j++) {
			for (u32 k = 0; k < small; k++)
				fgio_share_cost_sent(&cost, 0, 8);
			for (u32 k = 0; k < large; k++)
				fgio_share_cost_sent(&cost, 0, 512);
			now_ns += takes_ns;
			fgio_share_cost_learn(&cost, now_ns);
			fgio_share_cost_begin(&cost, now_ns);
		}
		assert_true(fabs(ratio_of(&cost) / first - 1) < 0.05);
	}
}

/* What a probe shows of one kind is the speed for those that are not known. */
static void test_probe_of_one_kind_is_the_speed_of_others(void **state)
{
	uint64_t seed = fresh_seed("probe");
	struct fgio_share_cost cost;

	(void)state;
	for (int i = 0; i < 100; i++) {
		u64 read_ns = 1000 + next_random(&seed) % 10000000;
		u64 write_ns = 1000 + next_random(&seed) % 10000000;

		fgio_share_cost_init(&cost);
		assert_true(fgio_share_cost_shown(&cost, 0, 8, read_ns, true));
		for (u8 kind = 0; kind < FGIO_SHARE_KINDS; kind++)
			assert_true(fabs((double)fgio_share_cost_of(&cost, kind, 8) /
						 (double)read_ns - 1) < 0.01);
		assert_true(fgio_share_cost_shown(&cost, 2, 8, write_ns, true));
		assert_true(fabs((double)fgio_share_cost_of(&cost, 0, 8) /
					 (double)read_ns - 1) < 0.01);
		assert_true(fabs((double)fgio_share_cost_of(&cost, 2, 8) /
					 (double)write_ns - 1) < 0.01);
	}
}

/*
 * Probes and intervals that do not agree, again and again, move what is not
 * known no further than what is.
 */
static void test_unknown_costs_do_not_drift(void **state)
{
	uint64_t seed = fresh_seed("drift");
	struct fgio_share_cost cost;
	u64 now_ns = SECOND;

	(void)state;
	fgio_share_cost_init(&cost);
	fgio_share_cost_begin(&cost, now_ns);
	for (int i = 0; i < 500; i++) {
		u64 low_ns = 70000 + next_random(&seed) % 30000;

		fgio_share_cost_shown(&cost, 0, 8, low_ns, true);
		fgio_share_cost_shown(&cost, 1, 8, low_ns, true);
		for (int j = 0; j < 200; j++) {
			fgio_share_cost_sent(&cost, j % 2, 8);
			now_ns += 100000;
		}
		fgio_share_cost_learn(&cost, now_ns);
		fgio_share_cost_begin(&cost, now_ns);
		assert_in_range(fgio_share_cost_of(&cost, 2, 8), 50000, 150000);
	}
}

/*
 * A probe shows what reads cost, and reads and writes are only ever mixed in one
 * proportion: what intervals take beyond the reads is what the writes cost,
 * whatever the first guess. Alone, reads that became dearer are learnt.
 */
static void test_writes_cost_what_probed_reads_leave(void **state)
{
	u64 random = fresh_seed("shares, reads that were probed");
	struct fgio_share_cost cost;
	u64 now_ns = 1;

	(void)state;
	for (u32 i = 0; i < 100; i++) {
		u64 read_ns = 10000 + next_random(&random) % 100000;
		u64 write_ns = read_ns * (2 + next_random(&random) % 8);
		u64 read_is_ns, write_is_ns;

		fgio_share_cost_init(&cost);
		fgio_share_cost_begin(&cost, now_ns);
		for (u32 j = 0; j < 400; j++) {
			if (j % 100 == 10)
				fgio_share_cost_shown(&cost, 0, 8, read_ns,
						      true);
			for (u32 k = 0; k < 256; k++)
				fgio_share_cost_sent(&cost, k % 2 ? 2 : 0, 8);
			now_ns += 128 * (read_ns + write_ns);
			fgio_share_cost_learn(&cost, now_ns);
			fgio_share_cost_begin(&cost, now_ns);
		}
		read_is_ns = fgio_share_cost_of(&cost, 0, 8);
		write_is_ns = fgio_share_cost_of(&cost, 2, 8);
		assert_in_range(read_is_ns, read_ns * 9 / 10,
				read_ns * 11 / 10);
		assert_in_range(write_is_ns, write_ns * 9 / 10,
				write_ns * 11 / 10);
		for (u32 j = 0; j < 200; j++) {
			for (u32 k = 0; k < 256; k++)
				fgio_share_cost_sent(&cost, 0, 8);
			now_ns += 256 * 2 * read_ns;
			fgio_share_cost_learn(&cost, now_ns);
			fgio_share_cost_begin(&cost, now_ns);
		}
		assert_in_range(fgio_share_cost_of(&cost, 0, 8),
				2 * read_ns * 9 / 10, 2 * read_ns * 11 / 10);
	}
}

/* A drive that does @knee requests at a time, and one interval on it. */
static void limited_interval(struct fgio_share_limit *limit, u32 knee)
{
	u32 busy = limit->limit < knee ? limit->limit : knee;

	fgio_share_limit_reached(limit);
	fgio_share_limit_learn(limit, 10 * MILLISECOND * busy / knee,
			       10 * MILLISECOND, true);
}

static void test_limit_is_at_the_knee(void **state)
{
	static const u32 knees[] = { 2, 7, 20, 64, 300 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(knees); i++) {
		struct fgio_share_limit limit;

		fgio_share_limit_init(&limit, false);
		for (int j = 0; j < 2000; j++)
			limited_interval(&limit, knees[i]);
		/* Within a trial's step of it, and never below. */
		assert_in_range(limit.before, knees[i], 2 * knees[i] + 1);
	}
}

/* A device with fewer tags than the limit never holds as many. */
static void test_limit_beyond_the_tags_is_not_believed(void **state)
{
	struct fgio_share_limit limit;

	(void)state;
	fgio_share_limit_init(&limit, false);
	for (int i = 0; i < 100; i++)
		fgio_share_limit_learn(&limit, MILLISECOND * (u64)(10 + i),
				       10 * MILLISECOND, true);
	assert_in_range(limit.limit, 1, 2 * FGIO_SHARE_LIMIT_FIRST);
}

/* An interval on a device with @tags, which does as many at a time. */
static void tagged_interval(struct fgio_share_limit *limit, u32 tags)
{
	if (limit->limit <= tags)
		fgio_share_limit_reached(limit);
	fgio_share_limit_learn(limit,
			       10 * MILLISECOND *
				       (limit->limit < tags ? limit->limit :
							      tags),
			       10 * MILLISECOND, true);
}

/* Those of a device with few tags all go, from the first search on. */
static void test_limit_leaves_few_tags_full(void **state)
{
	static const u32 tags[] = { 4, 8, 12 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		struct fgio_share_limit limit;

		fgio_share_limit_init(&limit, false);
		while (!fgio_share_limit_is_found(&limit))
			tagged_interval(&limit, tags[i]);
		assert_in_range(limit.limit, tags[i],
				FGIO_SHARE_LIMIT_FIRST);
	}
}

/* A time for each I/O that 16 of would take too long; later, it changes nothing. */
static void test_first_limit_is_bounded_by_time(void **state)
{
	struct fgio_share_limit limit;

	(void)state;
	fgio_share_limit_init(&limit, false);
	fgio_share_limit_bound_first(&limit, FGIO_SHARE_LIMIT_FIRST_NS / 16);
	assert_int_equal(limit.limit, FGIO_SHARE_LIMIT_FIRST);
	fgio_share_limit_bound_first(&limit, FGIO_SHARE_LIMIT_FIRST_NS / 5);
	assert_int_equal(limit.limit, 5);
	fgio_share_limit_bound_first(&limit, 2 * FGIO_SHARE_LIMIT_FIRST_NS);
	assert_int_equal(limit.limit, FGIO_SHARE_LIMIT_LEAST);
	fgio_share_limit_bound_first(&limit, 1);
	assert_int_equal(limit.limit, FGIO_SHARE_LIMIT_LEAST);
	fgio_share_limit_init(&limit, false);
	fgio_share_limit_learn(&limit, 1, 1, true);
	fgio_share_limit_bound_first(&limit, FGIO_SHARE_LIMIT_FIRST_NS);
	assert_int_equal(limit.limit, FGIO_SHARE_LIMIT_FIRST);
	fgio_share_limit_init(&limit, true);
	fgio_share_limit_bound_first(&limit, FGIO_SHARE_LIMIT_FIRST_NS);
	assert_int_equal(limit.limit, FGIO_SHARE_LIMIT_DISK);
}

/* A lower limit is not compared with a rate from before the load grew. */
static void test_limit_forgets_a_slower_load(void **state)
{
	struct fgio_share_limit limit;

	(void)state;
	fgio_share_limit_init(&limit, false);
	while (limit.limit == FGIO_SHARE_LIMIT_FIRST) {
		fgio_share_limit_reached(&limit);
		fgio_share_limit_learn(&limit, MILLISECOND, 10 * MILLISECOND,
				       true);
	}
	while (!fgio_share_limit_is_found(&limit))
		tagged_interval(&limit, FGIO_SHARE_LIMIT_FIRST);
	assert_int_equal(limit.limit, FGIO_SHARE_LIMIT_FIRST);
}

/* A queue that waits in the drive is others' latency. */
static void test_limit_falls_to_the_knee_at_once(void **state)
{
	struct fgio_share_limit limit;

	(void)state;
	fgio_share_limit_init(&limit, false);
	for (u32 i = 0; i < 6 * FGIO_SHARE_LIMIT_TRIAL; i++)
		limited_interval(&limit, 3);
	assert_in_range(limit.before, 3, 4);
}

/* A trial during which the drive becomes faster shows nothing. */
static void test_limit_takes_no_credit_for_a_faster_drive(void **state)
{
	struct fgio_share_limit limit;
	u32 before;

	(void)state;
	fgio_share_limit_init(&limit, false);
	while (limit.phase != FGIO_SHARE_LIMIT_MORE)
		limited_interval(&limit, 16);
	before = limit.before;
	while (limit.phase != FGIO_SHARE_LIMIT_HOLDS) {
		fgio_share_limit_reached(&limit);
		fgio_share_limit_learn(&limit, 20 * MILLISECOND,
				       10 * MILLISECOND, true);
	}
	assert_int_equal(limit.limit, before);
}

/* Full intervals until it is as many at least. Return: their number. */
static u32 intervals_until(struct fgio_share_limit *limit, u32 least, u32 knee)
{
	u32 count = 0;

	for (; limit->limit < least && count < 10000; count++)
		limited_interval(limit, knee);
	return count;
}

/* Measured: 152; with a pause after each step, it was 852. */
static void test_limit_goes_on_while_more_delivers_more(void **state)
{
	struct fgio_share_limit limit;

	(void)state;
	fgio_share_limit_init(&limit, false);
	while (!fgio_share_limit_is_found(&limit))
		limited_interval(&limit, 8);
	assert_true(intervals_until(&limit, 512, 512) < 250);
}

/* Intervals until a trial begins. */
static u32 intervals_until_more(struct fgio_share_limit *limit)
{
	u32 count = 0;

	for (; limit->phase != FGIO_SHARE_LIMIT_MORE; count++)
		limited_interval(limit, 8);
	return count;
}

/* Writes that a cache takes need no more than 16 in the drive; reads may. */
static void test_limit_is_tried_soon_for_another_kind(void **state)
{
	struct fgio_share_limit limit;

	(void)state;
	fgio_share_limit_init(&limit, false);
	fgio_share_limit_meet(&limit, 1);
	while (!fgio_share_limit_is_found(&limit))
		limited_interval(&limit, 8);
	fgio_share_limit_meet(&limit, 1);
	assert_true(intervals_until_more(&limit) >= FGIO_SHARE_LIMIT_INTERVALS);
	while (!fgio_share_limit_holds(&limit))
		limited_interval(&limit, 8);
	fgio_share_limit_meet(&limit, 3);
	assert_int_equal(intervals_until_more(&limit), FGIO_SHARE_LIMIT_TRIAL);
}

/* An interval in which others are held back for a group with @own I/Os there. */
static void held_interval(struct fgio_share_limit *limit, u32 own)
{
	fgio_share_limit_held_for(limit, own);
	fgio_share_limit_learn(limit, MILLISECOND, 10 * MILLISECOND, false);
}

/* It was never found that a limit was too high for any interval to be full. */
static void test_limit_leaves_large_groups_in_order(void **state)
{
	struct fgio_share_limit limit;
	u32 before;

	(void)state;
	fgio_share_limit_init(&limit, false);
	while (!fgio_share_limit_is_found(&limit))
		limited_interval(&limit, 512);
	before = limit.limit;
	for (u32 i = 0; i < 100; i++)
		held_interval(&limit, before / 5);
	assert_int_equal(limit.limit, before);
	for (u32 i = 0; i < 100; i++)
		held_interval(&limit, before / 4);
	/* Each time, the group has a larger part of it. */
	assert_in_range(limit.limit, FGIO_SHARE_LIMIT_LEAST, before / 8);
	before = limit.limit;
	for (u32 i = 0; i < 100; i++)
		held_interval(&limit, FGIO_SHARE_LIMIT_CROWD_LEAST);
	assert_int_equal(limit.limit, before);
}

/* ---- groups ---- */

static void test_recharge_moves_what_was_paid(void **state)
{
	struct fgio_share_group one, other;
	struct fgio_request request = { .sectors = 8, .queued_ns = SECOND };
	struct fgio_request rest = { .sectors = 8, .queued_ns = SECOND };
	struct fgio_shares shares;
	struct fgio_queue queue;
	u64 paid_ns;

	(void)state;
	fgio_queue_init(&queue, false);
	fgio_shares_init(&shares, false);
	fgio_queue_set_shares(&queue, &shares);
	fgio_share_group_init(&one, fgio_shares_weight(100));
	fgio_share_group_init(&other, fgio_shares_weight(100));
	fgio_list_init(&request.link);
	fgio_list_init(&rest.link);
	fgio_queue_insert_of(&queue, &rest, &other, false);
	fgio_queue_insert_of(&queue, &request, &one, false);
	/* Queued, it leaves one group for the other. */
	fgio_shares_recharge(&request, &other, SECOND);
	assert_false(fgio_share_group_is_busy(&one));
	assert_int_equal(other.queued[FGIO_NONCRITICAL], 2);
	fgio_shares_recharge(&request, &one, SECOND);
	assert_non_null(fgio_queue_next(&queue, SECOND, NULL));
	assert_non_null(fgio_queue_next(&queue, SECOND, NULL));
	paid_ns = one.counters.charged_ns;
	assert_true(paid_ns > 0);
	/* In the drive, the other group pays, once. */
	fgio_shares_recharge(&request, &other, SECOND);
	fgio_shares_recharge(&request, &other, SECOND);
	assert_int_equal(one.counters.charged_ns, 0);
	assert_int_equal(other.counters.charged_ns, 2 * paid_ns);
	assert_true(fgio_share_group_is_busy(&one));
	fgio_queue_left_device(&queue, &request, SECOND + MILLISECOND);
	assert_false(fgio_share_group_is_busy(&one));
	fgio_share_group_remove(&one);
	fgio_queue_left_device(&queue, &rest, SECOND + MILLISECOND);
	fgio_share_group_remove(&other);
}

/* One of 4 KiB. */
static void insert_small(struct fgio_queue *queue, struct fgio_request *request,
			 struct fgio_share_group *group, u64 now_ns)
{
	*request = (struct fgio_request){ .sectors = 8, .queued_ns = now_ns };
	fgio_list_init(&request->link);
	fgio_queue_insert_of(queue, request, group, false);
}

/*
 * A group whose only I/O is in the drive lags sooner or later. Two of those that
 * ask are looked at with each decision, so it has its place, and the others leave
 * it room, within a round.
 */
static void test_lag_in_the_drive_is_seen_within_a_round(void **state)
{
	static struct fgio_share_group groups[40];
	static struct fgio_request requests[ARRAY_SIZE(groups)];
	struct fgio_request *sent[ARRAY_SIZE(groups)];
	uint64_t seed = fresh_seed("lag");
	u32 count = 2 + (u32)(next_random(&seed) % (ARRAY_SIZE(groups) - 2));
	u32 decisions = 0, others = 0;
	struct fgio_shares shares;
	struct fgio_queue queue;
	u64 now_ns = SECOND;

	(void)state;
	print_message("    %u groups\n", count);
	fgio_queue_init(&queue, false);
	fgio_shares_init(&shares, false);
	fgio_queue_set_shares(&queue, &shares);
	for (u32 i = 0; i < count; i++)
		fgio_share_group_init(&groups[i], fgio_shares_weight(100));
	insert_small(&queue, &requests[0], &groups[0], now_ns);
	assert_ptr_equal(fgio_queue_next(&queue, now_ns, NULL), &requests[0]);
	for (u32 i = 1; i < count; i++)
		insert_small(&queue, &requests[i], &groups[i], now_ns);
	while (!groups[0].owed.in_heap) {
		struct fgio_request *request;

		now_ns += 1000 + next_random(&seed) % 20000;
		request = fgio_queue_next(&queue, now_ns, NULL);
		decisions += fgio_before(groups[0].paid, shares.clock);
		assert_true(decisions <= count / 2 + 1);
		if (request)
			sent[others++] = request;
		if (!others)
			continue;
		request = sent[--others];
		fgio_queue_left_device(&queue, request, now_ns);
		insert_small(&queue, request, &groups[request - requests],
			     now_ns);
	}
	assert_true(fgio_before(groups[0].paid, shares.clock));
	while (others)
		fgio_queue_left_device(&queue, sent[--others], now_ns);
	while (fgio_queue_has_work(&queue)) {
		struct fgio_request *request;

		now_ns += MILLISECOND;
		request = fgio_queue_next(&queue, now_ns, NULL);
		if (request)
			fgio_queue_left_device(&queue, request, now_ns);
	}
	fgio_queue_left_device(&queue, &requests[0], now_ns);
	for (u32 i = 0; i < count; i++)
		fgio_share_group_remove(&groups[i]);
}

/*
 * The watchdog tripped, or queue=0: nothing is withheld, even from a drive that
 * completes nothing.
 */
static void test_one_class_withholds_nothing(void **state)
{
	static struct fgio_request requests[200];
	struct fgio_share_group groups[2];
	struct fgio_shares shares;
	struct fgio_queue queue;

	(void)state;
	for (int rotates = 0; rotates < 2; rotates++) {
		u64 now_ns = SECOND;
		u32 sent = 0;

		fgio_queue_init(&queue, rotates);
		fgio_shares_init(&shares, rotates);
		fgio_queue_set_shares(&queue, &shares);
		fgio_share_group_init(&groups[0], fgio_shares_weight(100));
		fgio_share_group_init(&groups[1], fgio_shares_weight(300));
		for (u32 i = 0; i < ARRAY_SIZE(requests); i++) {
			requests[i] = (struct fgio_request){
				.sector = i * 8,
				.sectors = 8,
				.queued_ns = now_ns,
			};
			fgio_list_init(&requests[i].link);
			fgio_queue_insert_of(&queue, &requests[i],
					     &groups[i % 2], false);
		}
		while (fgio_queue_next(&queue, ++now_ns, NULL))
			sent++;
		assert_in_range(sent, 1, ARRAY_SIZE(requests) - 1);
		assert_false(fgio_queue_has_work(&queue));
		fgio_queue_set_one_class(&queue, true);
		for (; sent < ARRAY_SIZE(requests); sent++) {
			assert_true(fgio_queue_has_work(&queue));
			assert_non_null(fgio_queue_next(&queue, ++now_ns,
							NULL));
			/* By weight, as long as both have some. */
			if (groups[1].queued[FGIO_NONCRITICAL] == 0)
				continue;
			assert_true(groups[1].queued[FGIO_NONCRITICAL] <
				    groups[0].queued[FGIO_NONCRITICAL] + 8);
		}
		for (u32 i = 0; i < ARRAY_SIZE(requests); i++)
			fgio_queue_left_device(&queue, &requests[i], now_ns);
		fgio_share_group_remove(&groups[0]);
		fgio_share_group_remove(&groups[1]);
	}
}

/* Requests of two groups. */
struct two_groups {
	struct fgio_share_group groups[2];
	struct fgio_shares shares;
	struct fgio_queue queue;
	struct fgio_request requests[400];
	struct fgio_request *sent[400];
	u32 sent_count;
	u64 now_ns;
};

static void two_groups_init(struct two_groups *two, bool rotates)
{
	*two = (struct two_groups){ .now_ns = SECOND };
	fgio_queue_init(&two->queue, rotates);
	fgio_shares_init(&two->shares, rotates);
	fgio_queue_set_shares(&two->queue, &two->shares);
	fgio_share_group_init(&two->groups[0], fgio_shares_weight(900));
	fgio_share_group_init(&two->groups[1], fgio_shares_weight(100));
}

static void two_groups_add_of(struct two_groups *two, u32 i, u32 group,
			      enum fgio_class class)
{
	struct fgio_request *request = &two->requests[i];

	*request = (struct fgio_request){
		.sector = i * 1000,
		.sectors = 8,
		.class = class,
		.queued_ns = two->now_ns,
	};
	fgio_list_init(&request->link);
	fgio_queue_insert_of(&two->queue, request, &two->groups[group], false);
}

static void two_groups_add(struct two_groups *two, u32 i, u32 group)
{
	two_groups_add_of(two, i, group, FGIO_CRITICAL);
}

/* The drive takes what it may, and completes one. */
static void two_groups_step(struct two_groups *two, uint64_t *seed)
{
	struct fgio_request *request;
	u32 i;

	while ((request = fgio_queue_next(&two->queue, two->now_ns, NULL)))
		two->sent[two->sent_count++] = request;
	two->now_ns += 100000 + next_random(seed) % 100000;
	if (!two->sent_count)
		return;
	i = (u32)(next_random(seed) % two->sent_count);
	fgio_queue_left_device(&two->queue, two->sent[i], two->now_ns);
	two->sent[i] = two->sent[--two->sent_count];
}

static bool awaits(const struct two_groups *two, u32 i)
{
	return fgio_queue_awaits_turn(&two->queue, &two->requests[i]);
}

static bool is_queued(const struct two_groups *two, u32 i)
{
	return two->requests[i].state == FGIO_REQUEST_QUEUED;
}

static void two_groups_end(struct two_groups *two)
{
	for (u32 i = 0; i < two->sent_count; i++)
		fgio_queue_left_device(&two->queue, two->sent[i], two->now_ns);
	for (u32 i = 0; i < 2; i++)
		fgio_share_group_remove(&two->groups[i]);
}

/*
 * Of two groups that always have requests, the last requests queued: that of
 * the group that gets a tenth waits for the other group, and the other one, which
 * mostly waits for its own, for the drive.
 */
static void test_the_turn_of_others_is_told_from_the_drive(void **state)
{
	static struct two_groups two;
	uint64_t seed = fresh_seed("turns");
	u32 last[2] = { 398, 399 };

	(void)state;
	two_groups_init(&two, false);
	for (u32 i = 0; i < ARRAY_SIZE(two.requests); i++)
		two_groups_add(&two, i, i % 2);
	for (u32 i = 0; i < 2; i++)
		assert_false(awaits(&two, last[i]));
	for (u32 i = 0; i < 150; i++)
		two_groups_step(&two, &seed);
	assert_true(is_queued(&two, last[0]) && is_queued(&two, last[1]));
	assert_false(awaits(&two, last[0]));
	assert_true(awaits(&two, last[1]));
	/* What is charged to the other group waits anew. */
	fgio_shares_recharge(&two.requests[last[1]], &two.groups[0],
			     two.now_ns);
	assert_false(awaits(&two, last[1]));
	while (is_queued(&two, last[0]) || is_queued(&two, last[1])) {
		assert_false(awaits(&two, last[0]));
		two_groups_step(&two, &seed);
	}
	/* In the drive, it waits for no turn. */
	assert_false(awaits(&two, last[1]));
	two_groups_end(&two);
}

/* Where no other group has requests, it is always the drive. */
static void test_a_group_without_others_waits_for_the_drive(void **state)
{
	static struct two_groups two;
	uint64_t seed = fresh_seed("alone");

	(void)state;
	for (int rotates = 0; rotates < 2; rotates++) {
		two_groups_init(&two, rotates);
		for (u32 i = 0; i < ARRAY_SIZE(two.requests); i++)
			two_groups_add(&two, i, (u32)rotates);
		while (is_queued(&two, ARRAY_SIZE(two.requests) - 1)) {
			for (u32 i = 0; i < ARRAY_SIZE(two.requests); i++)
				assert_false(awaits(&two, i));
			two_groups_step(&two, &seed);
		}
		two_groups_end(&two);
	}
}

/* One read of each group in turn, which takes 80 us. */
static void read_for_a_while(struct two_groups *two, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		struct fgio_request *request;

		two_groups_add_of(two, i % 2, i % 2, FGIO_NONCRITICAL);
		/* The other one may be waited for, or probed. */
		while (!(request = fgio_queue_next(&two->queue, two->now_ns,
						   NULL)))
			two->now_ns += 20000;
		two->now_ns += 80000;
		fgio_queue_left_device(&two->queue, request, two->now_ns);
	}
}

/*
 * A drive that does little is not slow: pauses between bursts, and between
 * requests that pass, are no work. Of fewer I/Os than before, an interval may be
 * mostly pauses.
 */
static void test_pauses_are_no_work(void **state)
{
	static struct two_groups two;

	(void)state;
	two_groups_init(&two, false);
	for (u32 burst = 0; burst < 12; burst++) {
		two.now_ns += 2 * SECOND;
		if (burst % 3 == 2)
			for (u32 i = 0; i < 40; i++, two.now_ns += 30000000)
				assert_true(fgio_shares_pass(
					&two.shares, &two.groups[i % 2],
					i & 4, 8, two.now_ns));
		read_for_a_while(&two, burst % 2 ? 20 : 1);
	}
	assert_int_equal(two.shares.limit.limit, FGIO_SHARE_LIMIT_FIRST);
	assert_in_range(fgio_share_cost_of(&two.shares.cost, 0, 8),
			FGIO_SHARE_FIRST_NS / 2, FGIO_SHARE_FIRST_NS);
	two_groups_end(&two);
}

/* How many times I/O of 100 us passes for a group. */
static u32 passes_of(struct two_groups *two, u32 group)
{
	u32 passed = 0;

	while (fgio_shares_pass(&two->shares, &two->groups[group], false, 8,
				two->now_ns))
		passed++;
	return passed;
}

/*
 * Metadata of a group goes at once, and is paid for, until the group is ahead by
 * what it is due in a second, or the longest lead.
 */
static void test_metadata_passes_within_bounds(void **state)
{
	static struct two_groups two;
	const struct fgio_share_group *light = &two.groups[1];

	(void)state;
	two_groups_init(&two, false);
	fgio_share_group_set_weight(&two.groups[0], fgio_shares_weight(9900));
	two_groups_add_of(&two, 0, 0, FGIO_NONCRITICAL);
	two_groups_add_of(&two, 1, 1, FGIO_NONCRITICAL);
	assert_in_range(passes_of(&two, 1), 98, 102);
	assert_true(light->start - two.shares.virtual >
		    98 * 100000ULL * light->per_weight);
	assert_in_range(passes_of(&two, 0), 598, 602);
	/* The light one has a hundredth of the time. */
	two.groups[0].start = two.shares.virtual;
	two.shares.virtual += 10 * 100000ULL * light->per_weight;
	assert_in_range(passes_of(&two, 1), 9, 11);
	fgio_shares_init(&two.shares, true);
	assert_false(fgio_shares_pass(&two.shares, NULL, false, 8, SECOND));
}

/* ---- on a drive ---- */

static struct tenant tenant(u32 weight, u32 bytes, bool sequential, u32 depth)
{
	return (struct tenant){
		.name = "reader",
		.weight = weight,
		.bytes = bytes,
		.sequential = sequential,
		.depth = depth,
		.think_ns = 3000,
	};
}

static void run_on(const char *drive, struct tenants tenants,
		   struct tenants_figures *figures)
{
	struct simdisk_parameters parameters = host_parsed(drive);

	tenants.drive = &parameters;
	tenants_run(&tenants, figures);
}

/* @copy_ns: as in struct tenants */
static void run_copying(struct tenants_figures *figures, const char *drive,
			enum tenants_policy policy, u64 seed,
			const struct tenant *of, u32 count, double copy_ns)
{
	struct tenants tenants = {
		.seed = seed,
		.policy = policy,
		.copy_ns = copy_ns,
		.count = count,
		.tenant = of,
		.begin_ns = 3 * SECOND,
		.end_ns = 5 * SECOND,
	};

	run_on(drive, tenants, figures);
}

static void run(struct tenants_figures *figures, const char *drive,
		enum tenants_policy policy, u64 seed,
		const struct tenant *of, u32 count)
{
	run_copying(figures, drive, policy, seed, of, count, 0);
}

static void test_weights_divide_a_drive(void **state)
{
	uint64_t seed = fresh_seed("weights");
	static struct tenants_figures figures;
	struct tenant of[8];
	double unit;

	(void)state;
	for (u32 i = 0; i < 8; i++)
		of[i] = tenant(i + 1, 4096, false, 256);
	run(&figures, "ssd-m5s", TENANTS_FGIO, seed, of, 8);
	assert_true(figures.bytes_per_s > 152e6);
	unit = figures.bytes_per_s / 36;
	for (u32 i = 0; i < 8; i++)
		assert_true(fabs(figures.group[i].bytes_per_s -
				 unit * (i + 1)) < 0.04 * unit * (i + 1));
}

/*
 * The article's first case, which the low limit meets with a tenth of the
 * drive, and bfq with 90 % of what time slices would give.
 */
static void test_guarantee_of_the_article(void **state)
{
	uint64_t seed = fresh_seed("article");
	static struct tenants_figures figures;
	struct tenant of[5] = {
		tenant(300, 4096, false, 1),
		tenant(100, 131072, true, 2),
	};
	double slow, quick;

	(void)state;
	of[2] = of[3] = of[4] = of[1];
	run(&figures, "ssd-m5s", TENANTS_NONE, seed, &of[0], 1);
	slow = figures.bytes_per_s;
	run(&figures, "ssd-m5s", TENANTS_NONE, seed, &of[1], 1);
	quick = figures.bytes_per_s;
	/* Without shares the random reader has a quarter of its guarantee. */
	run(&figures, "ssd-m5s", TENANTS_OFF, seed, of, 5);
	assert_true(figures.group[0].bytes_per_s < 0.5 * slow * 3 / 7);
	run(&figures, "ssd-m5s", TENANTS_FGIO, seed, of, 5);
	assert_true(figures.group[0].bytes_per_s > 0.95 * slow * 3 / 7);
	for (u32 i = 1; i < 5; i++)
		assert_true(figures.group[i].bytes_per_s > 0.95 * quick / 7);
	/* And the drive is fuller than with time slices. */
	assert_true(figures.bytes_per_s > 1.3 * (slow * 3 + quick * 4) / 7);
}

/* A random reader of weight 300 beside four writers of 100, in order. */
static void run_beside_writers(struct tenants_figures *figures,
			       const char *drive, uint64_t seed, bool no_turns)
{
	struct tenant of[5] = {
		tenant(300, 4096, false, 1),
		tenant(100, 524288, true, 16),
	};
	struct tenants tenants = {
		.seed = seed,
		.policy = TENANTS_FGIO,
		.no_turns = no_turns,
		.tenant = of,
		.count = 5,
		.begin_ns = 6 * SECOND,
		.end_ns = 9 * SECOND,
	};

	of[1].write = true;
	of[2] = of[3] = of[4] = of[1];
	run_on(drive, tenants, figures);
}

/*
 * A drive with a cache does more of the writes, and the reader is no slower.
 * One without loses nothing by the trial.
 */
static void test_reads_have_turns_where_that_helps(void **state)
{
	uint64_t seed = fresh_seed("turns of reads");
	static struct tenants_figures with, without;

	(void)state;
	run_beside_writers(&with, "nvme", seed, false);
	run_beside_writers(&without, "nvme", seed, true);
	printf("    nvme: reader %.1f and %.1f MB/s, writers %.0f and %.0f\n",
	       with.group[0].bytes_per_s / 1e6,
	       without.group[0].bytes_per_s / 1e6,
	       with.group[1].bytes_per_s / 1e6,
	       without.group[1].bytes_per_s / 1e6);
	assert_true(with.has_turns && !without.has_turns);
	assert_true(with.group[0].bytes_per_s >
		    0.9 * without.group[0].bytes_per_s);
	for (u32 i = 1; i < 5; i++)
		assert_true(with.group[i].bytes_per_s >
			    1.2 * without.group[i].bytes_per_s);
	run_beside_writers(&with, "volume", seed, false);
	run_beside_writers(&without, "volume", seed, true);
	assert_false(with.has_turns);
	assert_true(with.bytes_per_s > 0.95 * without.bytes_per_s);
}

static void run_from(struct tenants_figures *figures, const char *drive,
		     enum tenants_policy policy, u64 begin_s, u64 seconds,
		     u64 seed, const struct tenant *of, u32 count)
{
	struct tenants tenants = {
		.seed = seed,
		.policy = policy,
		.tenant = of,
		.count = count,
		.begin_ns = begin_s * SECOND,
		.end_ns = (begin_s + seconds) * SECOND,
	};

	run_on(drive, tenants, figures);
}

/* What the first tenant had in the least of @seconds, in bytes. */
static double least_of_first(const struct tenants_figures *figures, u32 seconds)
{
	double least = INFINITY;

	for (u32 second = 0; second < seconds; second++)
		least = fmin(least, figures->group[0].second[second]);
	return least;
}

/* The least that the first of @count tenants has in a second of four, in bytes. */
static double least_second(const char *drive, enum tenants_policy policy,
			   u64 begin_s, u64 seed, const struct tenant *of,
			   u32 count)
{
	static struct tenants_figures figures;

	run_from(&figures, drive, policy, begin_s, 4, seed, of, count);
	return least_of_first(&figures, 4);
}

#define FEW_DRAWS 5

/* Two I/Os of 128 KiB at a time each, the first of three times the weight. */
static void five_readers(struct tenant of[5])
{
	for (u32 i = 0; i < 5; i++)
		of[i] = tenant(i ? 100 : 300, 131072, true, 2);
}

/*
 * Five readers with two I/Os of 128 KiB at a time, one of three times the weight:
 * order alone would serve them alike. Each has its part in each second, however
 * long they run. With a clock that passed all of them and probes that lasted as
 * long as their I/Os, the first had 83 to 93 %.
 */
static void test_few_requests_have_their_part_in_each_second(void **state)
{
	static const char *const drives[] = { "volume", "ssd-m5s", "ssd" };
	uint64_t random = fresh_seed("few requests");
	struct tenant of[5];

	(void)state;
	five_readers(of);
	for (u32 i = 0; i < ARRAY_SIZE(drives); i++) {
		double alone = least_second(drives[i], TENANTS_NONE, 3,
					    next_random(&random), of, 1);
		double parts[FEW_DRAWS];

		for (u32 j = 0; j < FEW_DRAWS; j++)
			parts[j] = least_second(drives[i], TENANTS_FGIO,
						3 + next_random(&random) % 12,
						next_random(&random), of, 5) /
				   (alone * 3 / 7);
		/* Measured, of 32 runs: 0.93 to 1.00, and 0.97 to 0.99 on SSDs. */
		assert_true(median_of(parts, FEW_DRAWS) > 0.93);
	}
}

/*
 * A drive of 10 to 60 MB/s takes 2 to 13 ms for each of those reads. Costs were
 * learnt from 128 I/Os at a time then, by half of the error and no more than
 * half of the cost; a probe had to end within 10 ms; and 16 I/Os in the drive
 * were not ordered. At 12 MB/s, the first reader had as much as without shares,
 * and one with single reads of 4 KiB in its place had 2 % of its part.
 */
static void test_a_slow_drive_is_divided_as_well(void **state)
{
	static const char *const drives[] = {
		"volume:bytes_per_s=%uM",
		"ssd-m5s:link_bytes_per_s=%uM",
	};
	uint64_t random = fresh_seed("slow drives");
	struct tenant of[5];

	(void)state;
	five_readers(of);
	for (u32 i = 0; i < 2 * ARRAY_SIZE(drives); i++) {
		double parts[FEW_DRAWS], none[FEW_DRAWS];

		if (i == ARRAY_SIZE(drives))
			of[0] = tenant(300, 4096, false, 1);
		for (u32 j = 0; j < FEW_DRAWS; j++) {
			char drive[64];
			u64 seed = next_random(&random);
			u32 begin_s = 8 + next_random(&random) % 12;
			double due;

			snprintf(drive, sizeof(drive),
				 drives[i % ARRAY_SIZE(drives)],
				 10 + (u32)(next_random(&random) % 51));
			due = least_second(drive, TENANTS_NONE, 8, seed, of, 1) *
			      3 / 7;
			parts[j] = least_second(drive, TENANTS_FGIO, begin_s,
						seed, of, 5) / due;
			none[j] = least_second(drive, TENANTS_NONE, begin_s,
					       seed, of, 5) / due;
		}
		/* Measured, of 120 runs: 0.93 to 1.09, and 0.47 at most. */
		assert_true(median_of(parts, FEW_DRAWS) > 0.92);
		assert_true(median_of(none, FEW_DRAWS) < 0.6);
	}
}

/*
 * Two readers and two writers with 256 I/Os at a time. Writes cost 2.7 times what
 * reads do, were guessed to cost as much, and learnt to cost 200 times as much where a
 * limit found for writes in the cache was too low for reads: writers had 3 to 8 % of
 * their guarantee then, with three seeds of twelve.
 */
static void test_writes_beside_reads_have_their_part(void **state)
{
	static struct tenants_figures figures;
	uint64_t random = fresh_seed("writes beside reads");
	struct tenant of[4];
	struct tenants tenants = {
		.policy = TENANTS_FGIO,
		.tenant = of,
		.count = 4,
		.begin_ns = 6 * SECOND,
		.end_ns = 8 * SECOND,
	};

	(void)state;
	skip_if_sanitized();
	for (u32 i = 0; i < 4; i++) {
		of[i] = tenant(100, 4096, false, 256);
		of[i].write = i >= 2;
	}
	for (u32 draw = 0; draw < 3; draw++) {
		double least = INFINITY;

		tenants.seed = next_random(&random);
		run_on("nvme", tenants, &figures);
		for (u32 i = 0; i < 4; i++)
			for (u32 second = 0; second < 2; second++)
				least = fmin(least,
					     figures.group[i].second[second] /
						     (i < 2 ? 568e6 : 218e6));
		print_message("    worst second: %.2f of the guarantee\n",
			      least);
		/* Measured, of 21 runs of four seconds each: 0.81 to 0.94. */
		assert_true(least > 0.6);
	}
}

/*
 * Those readers beside a tenant with critical I/O, seldom or often. Since the depth
 * then weighs all requests, costs were learnt as if it withheld some: downwards
 * alone. The first had 47 % of its part, and critical I/O a p99 of up to 126 ms.
 */
static void test_costs_are_learnt_beside_critical_io(void **state)
{
	static struct tenants_figures figures;
	uint64_t random = fresh_seed("beside critical");
	struct tenant of[6] = {
		tenant(300, 131072, true, 2),
		tenant(100, 131072, true, 2),
	};

	(void)state;
	of[2] = of[3] = of[4] = of[1];
	of[5] = tenant(100, 4096, false, 1);
	of[5].critical = true;
	of[5].uneven = true;
	for (u32 per_s = 2; per_s <= 2000; per_s *= 10) {
		double readers = 0;

		of[5].bytes_per_s = per_s * 4096;
		run(&figures, "volume", TENANTS_FGIO, next_random(&random), of,
		    6);
		for (u32 i = 0; i < 5; i++)
			readers += figures.group[i].bytes_per_s;
		print_message("    %u/s: %.2f of its part\n", per_s,
			      figures.group[0].bytes_per_s / (readers * 3 / 7));
		/* Measured: 0.95 to 1.00. */
		assert_true(figures.group[0].bytes_per_s >
			    0.9 * readers * 3 / 7);
	}
}

/*
 * Two tenants with critical I/O beside two readers: the drive stays full. With large
 * steps upwards and small ones downwards, costs rose until others were held for the
 * heavier one, and the drive did 64 % of what it does without shares.
 */
static void test_critical_io_leaves_the_drive_full(void **state)
{
	static struct tenants_figures figures;
	uint64_t random = fresh_seed("full beside critical");
	struct tenant of[4] = {
		tenant(300, 4096, false, 1),
		tenant(100, 131072, true, 2),
	};
	double off;

	(void)state;
	of[2] = of[3] = of[1];
	of[0].critical = of[1].critical = true;
	run(&figures, "nvme", TENANTS_OFF, next_random(&random), of, 4);
	off = figures.bytes_per_s;
	for (u32 i = 0; i < 3; i++) {
		run(&figures, "nvme", TENANTS_FGIO, next_random(&random), of,
		    4);
		/* Measured: 1.0 to 1.1. */
		assert_true(figures.bytes_per_s > 0.95 * off);
	}
}

/*
 * A database beside a backup: single random reads beside one to four of 1 MiB.
 * With a clock that waited for the group furthest ahead, the database had 64 to
 * 86 % of its guarantee, since what the backup is charged is an estimate.
 */
static void test_a_small_reader_has_its_part_beside_a_large_one(void **state)
{
	static const char *const drives[] = { "volume", "ssd-m5s" };
	uint64_t random = fresh_seed("small beside large");
	struct tenant of[2] = { tenant(100, 4096, false, 1) };

	(void)state;
	for (u32 i = 0; i < 2 * ARRAY_SIZE(drives); i++) {
		u64 begin_s = 6 + next_random(&random) % 8;
		u64 seed = next_random(&random);
		const char *drive = drives[i / 2];
		double alone = least_second(drive, TENANTS_NONE, begin_s, seed,
					    of, 1);

		of[1] = tenant(100, 1 << 20, true, 2 + 2 * (i % 2));
		/* Measured: 0.98 to 1.07 times. */
		assert_true(least_second(drive, TENANTS_FGIO, begin_s, seed, of,
					 2) > 0.95 * alone / 2);
	}
}

/*
 * All tasks have one processor: the random reader's may wait for a copy of
 * 128 KiB, longer than it usually pauses, or, beside writers, longer than its I/O
 * takes. All keep their guarantees. Before, the reader had 76 and 23 %.
 */
static void check_tenants_of_one_processor(bool writes, uint64_t seed)
{
	const double copy_ns = 600;
	static struct tenants_figures figures;
	struct tenant of[5] = {
		tenant(300, 4096, false, 1),
		tenant(100, writes ? 524288 : 131072, true, writes ? 16 : 2),
	};
	double alone[2];

	of[1].write = writes;
	of[2] = of[3] = of[4] = of[1];
	for (u32 i = 0; i < 2; i++) {
		run_copying(&figures, "ssd-m5s", TENANTS_NONE, seed, &of[i], 1,
			    copy_ns);
		alone[i] = figures.bytes_per_s;
	}
	run_copying(&figures, "ssd-m5s", TENANTS_FGIO, seed, of, 5, copy_ns);
	/* Measured beside writers: 0.94 or more, of 16 seeds. */
	assert_true(figures.group[0].bytes_per_s > 0.85 * alone[0] * 3 / 7);
	for (u32 i = 1; i < 5; i++)
		assert_true(figures.group[i].bytes_per_s > 0.85 * alone[1] / 7);
}

static void test_waiting_for_a_processor_loses_no_share(void **state)
{
	uint64_t seed = fresh_seed("processor");

	(void)state;
	check_tenants_of_one_processor(false, seed);
	check_tenants_of_one_processor(true, seed);
}

/*
 * A reader that uses a part of its drive time, since it computes after each
 * second I/O: others need not wait for it all that time, although half of its
 * pauses are short. They are due half of the drive; with patience for each long
 * one, they had nothing.
 */
static void test_a_reader_that_computes_does_not_stop_others(void **state)
{
	uint64_t seed = fresh_seed("computes");
	static struct tenants_figures figures;
	struct tenant of[2] = {
		tenant(100, 4096, false, 32),
		tenant(100, 4096, false, 1),
	};

	(void)state;
	for (u64 rest_us = 100; rest_us <= 2000; rest_us += 60 + rest_us / 4) {
		double alone;

		of[1].rest_ns = rest_us * 1000;
		run(&figures, "ssd-m5s", TENANTS_NONE, seed, of, 1);
		alone = figures.bytes_per_s;
		run(&figures, "ssd-m5s", TENANTS_FGIO, seed, of, 2);
		printf("    rest of %llu us: others have %.2f of what they have alone\n",
		       (unsigned long long)rest_us,
		       figures.group[0].bytes_per_s / alone);
		/* Measured: 0.41 at 180 to 340 us, and more else. */
		assert_true(figures.group[0].bytes_per_s > 0.38 * alone);
	}
}

/* A satisfied group does not keep the drive idle. */
static void test_room_is_lent(void **state)
{
	uint64_t seed = fresh_seed("lent");
	static struct tenants_figures figures;
	struct tenant of[2] = {
		tenant(100, 4096, false, 1),
		tenant(100, 4096, false, 64),
	};
	double alone;

	(void)state;
	of[0].bytes_per_s = 1e6;
	run(&figures, "ssd-m5s", TENANTS_NONE, seed, &of[1], 1);
	alone = figures.bytes_per_s;
	run(&figures, "ssd-m5s", TENANTS_FGIO, seed, of, 2);
	assert_true(figures.group[0].bytes_per_s > 0.95e6);
	/* 0.89 was measured, and 0.65 where the first is waited for. */
	assert_true(figures.bytes_per_s > 0.85 * alone);
}

/* Weights come before classes. */
static void test_foreground_of_one_group_does_not_starve_others(void **state)
{
	uint64_t seed = fresh_seed("starve");
	static struct tenants_figures figures;
	struct tenant of[2] = {
		tenant(100, 4096, false, 64),
		tenant(100, 4096, false, 64),
	};
	double alone;

	(void)state;
	run(&figures, "ssd-m5s", TENANTS_NONE, seed, &of[1], 1);
	alone = figures.bytes_per_s;
	of[0].critical = true;
	run(&figures, "ssd-m5s", TENANTS_OFF, seed, of, 2);
	assert_true(figures.group[1].bytes_per_s < 0.2 * alone);
	run(&figures, "ssd-m5s", TENANTS_FGIO, seed, of, 2);
	assert_true(fabs(figures.group[1].bytes_per_s -
			 figures.group[0].bytes_per_s) < 0.05 * alone);
	/* Measured: 0.9; the depth leaves that much of the drive unused. */
	assert_true(figures.group[1].bytes_per_s > 0.85 * alone / 2);
}

/* One that has gone two seconds before the measurement, or stays until its end. */
static struct tenant any_foreground(uint64_t *random, bool stays)
{
	u32 bytes = 4096U << next_random(random) % 7;
	bool sequential = next_random(random) % 2;
	struct tenant one = tenant(100, bytes, sequential,
				   1 + next_random(random) % 8);

	one.critical = true;
	one.write = next_random(random) % 4;
	one.think_ns = MILLISECOND;
	one.rest_ns = next_random(random) % 30 * MILLISECOND;
	if (stays)
		one.begin_ns = 5 * SECOND / 2;
	else
		one.end_ns = (200 + next_random(random) % 700) * MILLISECOND;
	return one;
}

/* What a group reads in parts of what its equal does, which had no foreground. */
static double past_ratio(uint64_t *random, bool beside_foreground)
{
	static struct tenants_figures figures;
	struct tenant past = any_foreground(random, false);
	struct tenant third = any_foreground(random, true);
	struct tenant of[4] = {
		tenant(200, 4096, false, 16), past,
		tenant(200, 4096, false, 16), third,
	};

	of[1].joins = true;
	of[2].begin_ns = next_random(random) % (100 * MILLISECOND);
	run(&figures, "volume", TENANTS_FGIO, next_random(random), of,
	    beside_foreground ? 4 : 3);
	return figures.group[0].bytes_per_s / figures.group[2].bytes_per_s;
}

#define PASTS 9

/*
 * Two groups read alike. One had larger I/Os before, fewer at a time, for a
 * foreground that has gone: it gets as much as the other all the same, also where
 * a third one has a foreground, beside which costs are not learnt.
 */
static void test_past_foreground_costs_a_group_nothing(void **state)
{
	uint64_t random = fresh_seed("past");
	double ratios[PASTS];

	(void)state;
	skip_if_sanitized();
	for (u32 beside = 0; beside < 2; beside++) {
		for (size_t i = 0; i < PASTS; i++)
			ratios[i] = past_ratio(&random, beside);
		/* Measured: 1; 0.4 if what one at a time takes is charged. */
		assert_true(median_of(ratios, PASTS) > 0.9);
	}
}

/*
 * Foreground that takes less than its group's part waits for no others, although
 * they lag: all do at a limit of the drive that is not learnt yet.
 */
static void test_foreground_within_its_part_waits_for_no_lag(void **state)
{
	uint64_t random = fresh_seed("within");
	static struct tenants_figures figures;

	(void)state;
	skip_if_sanitized();
	for (size_t i = 0; i < 24; i++) {
		uint64_t seed = next_random(&random);
		u32 depth = 8U << next_random(&random) % 4;
		struct tenant of[3] = {
			any_foreground(&random, false),
			tenant(200, 4096, false, depth),
			tenant(200, 4096, false, depth),
		};
		double alone_ns;

		of[0].write = true;
		of[0].bytes = (u32)smaller(of[0].bytes, 64 * 1024);
		of[0].weight = 200;
		of[0].rest_ns = 20 * MILLISECOND;
		of[0].end_ns = 0;
		run(&figures, "nvme", TENANTS_NONE, seed, of, 1);
		alone_ns = figures.group[0].p99_ns;
		run(&figures, "nvme", TENANTS_FGIO, seed, of, 3);
		/* Measured: 2.6 at most; where lag goes first, 11 to 88. */
		assert_true(figures.group[0].p99_ns < 5 * alone_ns);
	}
}

/*
 * A critical tenant enters beside four with 256 I/Os each, which get what they
 * are due. Return: its p99 over @share_p99_ns.
 */
static double burst_ratio(const char *drive, double share_p99_ns,
			  double least_total, uint64_t seed)
{
	static struct tenants_figures figures;
	struct tenant of[5] = {
		tenant(100, 4096, false, 1),
		tenant(100, 4096, false, 256),
	};
	double full;

	of[0].critical = true;
	of[2] = of[3] = of[4] = of[1];
	run(&figures, drive, TENANTS_NONE, seed, &of[1], 1);
	full = figures.bytes_per_s;
	of[0].begin_ns = 3 * SECOND - 50 * MILLISECOND;
	run(&figures, drive, TENANTS_FGIO, seed, of, 5);
	assert_true(figures.bytes_per_s > least_total * full);
	for (u32 j = 1; j < 5; j++)
		assert_true(figures.group[j].bytes_per_s > 0.95 * full / 5);
	return figures.group[0].p99_ns / share_p99_ns;
}

static double p99_alone_ns(const char *drive, uint64_t seed)
{
	static struct tenants_figures figures;
	struct tenant alone = tenant(100, 4096, false, 1);

	alone.critical = true;
	run(&figures, drive, TENANTS_NONE, seed, &alone, 1);
	return figures.group[0].p99_ns;
}

/* One run in ten on the volume has 1.25 to 1.8 (of 400): so the median. */
#define BURSTS 11

static void test_burst_has_the_latency_of_its_share(void **state)
{
	/* Drives that can have both: see docs/results/shares. */
	static const char *const drives[][2] = {
		{ "volume", "volume:turn=1us,turn_speed=0.2" },
		{ "ssd-m5s", "ssd-m5s:turn=1us,turn_speed=0.2" },
	};
	uint64_t random = fresh_seed("burst");
	double ratios[BURSTS];

	(void)state;
	skip_if_sanitized();
	for (size_t i = 0; i < ARRAY_SIZE(drives); i++) {
		for (size_t j = 0; j < BURSTS; j++) {
			uint64_t seed = next_random(&random);
			double share_ns = p99_alone_ns(drives[i][1], seed);

			ratios[j] = burst_ratio(drives[i][0], share_ns, 0.97,
						seed);
		}
		assert_true(median_of(ratios, BURSTS) < 1.25);
	}
}

/*
 * Where dies are met at random, others get what they are due and no margin, so
 * that a tenant that enters has the latency of its share: five times that of the
 * drive alone.
 */
static void test_late_foreground_takes_the_margin_of_others(void **state)
{
	uint64_t random = fresh_seed("margin");
	double ratios[BURSTS];

	(void)state;
	skip_if_sanitized();
	for (size_t j = 0; j < BURSTS; j++) {
		uint64_t seed = next_random(&random);
		double share_ns = 5 * p99_alone_ns("ssd", seed);

		ratios[j] = burst_ratio("ssd", share_ns, 0, seed);
	}
	/* Measured: 1.16 to 1.23; with the margin, 1.3. */
	assert_true(median_of(ratios, BURSTS) < 1.25);
}

/*
 * A group's background goes by the depth beside foreground of its own, although
 * the group lags, unless the foreground of others that waits is beyond its
 * guarantee: that has what it lacks.
 */
static void test_own_foreground_goes_before_own_guarantee(void **state)
{
	static struct two_groups two;
	struct fgio_share_group *group = &two.groups[0];
	uint64_t seed = fresh_seed("own");
	u64 before_ns;
	u32 i = 3, other = 1;

	(void)state;
	two_groups_init(&two, false);
	before_ns = two.now_ns - 1;
	two_groups_add(&two, 0, 0);
	two_groups_step(&two, &seed);
	two_groups_add_of(&two, 1, 0, FGIO_NONCRITICAL);
	two.now_ns += 10 * MILLISECOND;
	fgio_shares_turn(&two.shares, false, two.now_ns);
	assert_true(fgio_shares_lag_ns(group));
	assert_false(fgio_shares_insists(group, before_ns));
	assert_false(fgio_shares_lends(group, before_ns));
	/* The control: its foreground is over. */
	assert_true(fgio_shares_insists(group, two.now_ns));
	two_groups_add(&two, 2, 1);
	assert_false(fgio_shares_insists(group, before_ns));
	/* Much more than a tenth of the drive's time, without a pause. */
	while (!fgio_shares_insists(group, before_ns)) {
		assert_true(i + 3 <= ARRAY_SIZE(two.requests));
		two_groups_add(&two, i++, 1);
		if (!is_queued(&two, other)) {
			other = i;
			two_groups_add_of(&two, i++, 0, FGIO_NONCRITICAL);
		}
		two_groups_step(&two, &seed);
		two_groups_add(&two, i++, 1);
	}
	assert_true(i > 40);
	while (is_queued(&two, other) || two.shares.ready[true].count)
		two_groups_step(&two, &seed);
	two_groups_end(&two);
}

/* ---- databases: commits, reads, and the checkpoint of one ---- */

#define DATABASES_MAX 5
#define CHECKPOINTS 9

/* Two: of weight 300 with a checkpoint of @depth at a time, and of 100. */
static u32 fill_databases(struct tenant *of, double heavy_per_s,
			  double light_per_s, u32 depth)
{
	const double per_s[2] = { heavy_per_s, light_per_s };
	const u32 weight[2] = { 300, 100 };
	u32 count = 0;

	for (u32 i = 0; i < 2; i++) {
		struct tenant *commits = &of[count++], *reads = &of[count++];

		*commits = tenant(weight[i], 8192, true, 8);
		commits->critical = true;
		commits->bytes_per_s = per_s[i] * 8192;
		commits->uneven = true;
		*reads = *commits;
		reads->joins = true;
		reads->sequential = false;
		commits->write = true;
		if (!depth || i)
			continue;
		of[count] = tenant(weight[i], 65536, false, depth);
		of[count].joins = true;
		of[count].write = true;
		of[count++].begin_ns = 3 * SECOND;
	}
	return count;
}

/*
 * The p99 of the lighter one's commits beside the other's checkpoint, over that
 * without it. @checkpoint: what that writes in a second.
 */
static double checkpoint_ratio(uint64_t seed, double *checkpoint)
{
	static struct tenants_figures figures;
	struct tenant of[DATABASES_MAX];
	u32 count = fill_databases(of, 1000, 1000, 0);
	double quiet_ns;

	run(&figures, "ssd-m5s", TENANTS_FGIO, seed, of, count);
	quiet_ns = figures.group[2].p99_ns;
	count = fill_databases(of, 1000, 1000, 128);
	run(&figures, "ssd-m5s", TENANTS_FGIO, seed, of, count);
	*checkpoint = figures.group[2].bytes_per_s;
	return figures.group[3].p99_ns / quiet_ns;
}

/*
 * The background of a tenant that has foreground of its own does no more harm
 * to the foreground of another than without shares, while that is within its
 * guarantee.
 */
static void test_checkpoint_spares_the_foreground_of_others(void **state)
{
	uint64_t random = fresh_seed("checkpoint");
	double ratios[CHECKPOINTS], checkpoints[CHECKPOINTS];

	(void)state;
	/*
	 * Measured: 2.1 to 2.7, and up to 4.4 in one of ten, as without shares;
	 * 3.7 to 8.4 if it insists.
	 */
	for (size_t i = 0; i < CHECKPOINTS; i++)
		ratios[i] = checkpoint_ratio(next_random(&random),
					     &checkpoints[i]);
	assert_true(median_of(ratios, CHECKPOINTS) < 3.3);
	/* It goes on: a few of a hundred draws have 70 to 80 MB/s. */
	assert_true(median_of(checkpoints, CHECKPOINTS) > 80e6);
}

/* Requests a second, all of one size. */
static double ios_of(const struct tenants_figures *figures, u32 first,
		     u32 count)
{
	double bytes = 0;

	while (count--)
		bytes += figures->group[first + count].bytes_per_s;
	return bytes / 8192;
}

/*
 * Two tenants that are all foreground divide the drive by weight, also where one
 * has a checkpoint besides, with many requests queued: that is of its own part.
 */
static void test_foreground_is_divided_beside_a_checkpoint(void **state)
{
	uint64_t seed = fresh_seed("flood");
	static struct tenants_figures figures;
	struct tenant of[DATABASES_MAX];
	u32 count = fill_databases(of, 1e5, 1e5, 0);

	(void)state;
	run(&figures, "volume", TENANTS_FGIO, seed, of, count);
	assert_true(ios_of(&figures, 0, 2) > 2.7 * ios_of(&figures, 2, 2));
	count = fill_databases(of, 1e5, 1e5, 128);
	/* The control: without shares, each has half. */
	run(&figures, "volume", TENANTS_OFF, seed, of, count);
	assert_true(ios_of(&figures, 0, 2) < 1.2 * ios_of(&figures, 3, 2));
	run(&figures, "volume", TENANTS_FGIO, seed, of, count);
	/* Measured: 3.3 to 3.4. */
	assert_true(ios_of(&figures, 0, 3) > 2.5 * ios_of(&figures, 3, 2));
	assert_true(ios_of(&figures, 0, 3) < 4 * ios_of(&figures, 3, 2));
	/* Measured: 2.3 to 2.4; 0.25 where deep groups are taken to lag less. */
	assert_true(ios_of(&figures, 0, 2) > 2 * ios_of(&figures, 3, 2));
}

/* ---- slices of a disk ---- */

#define STREAMS 4
#define DISKS 5

/*
 * Streams of readahead of equal weight. @foreground: the group of the last has a
 * foreground reader besides, some 20 times a second. Return: their number.
 */
static u32 fill_disk(struct tenant of[STREAMS + 1], bool foreground)
{
	for (u32 i = 0; i < STREAMS; i++) {
		of[i] = tenant(100, 131072, false, 2);
		of[i].sequential = true;
	}
	of[STREAMS] = tenant(100, 4096, false, 1);
	of[STREAMS].joins = true;
	of[STREAMS].critical = true;
	of[STREAMS].bytes_per_s = 20 * 4096;
	of[STREAMS].uneven = true;
	return STREAMS + foreground;
}

/* The least that a stream had in a second, over the mean of all. */
static double worst_second(const struct tenants_figures *figures)
{
	double least = INFINITY;

	for (u32 i = 0; i < STREAMS; i++)
		for (u32 second = 0; second < 2; second++)
			least = fmin(least, figures->group[i].second[second]);
	return least * STREAMS / figures->bytes_per_s;
}

/* Each stream has its slice in every second, whenever that begins. */
static void test_each_second_of_a_disk_has_all_slices(void **state)
{
	uint64_t random = fresh_seed("slices");
	static struct tenants_figures figures;
	struct tenant of[STREAMS + 1];
	u32 count = fill_disk(of, false);
	double worst[DISKS], total[DISKS];

	(void)state;
	for (size_t i = 0; i < DISKS; i++) {
		run(&figures, "hdd", TENANTS_FGIO, next_random(&random), of,
		    count);
		worst[i] = worst_second(&figures);
		total[i] = figures.bytes_per_s;
		print_message("    worst %.2f, %.0f MB/s\n", worst[i],
			      total[i] / 1e6);
	}
	/* Measured: 0.96; 0.91 with slices of half a second by tags alone. */
	assert_true(median_of(worst, DISKS) > 0.94);
	/* Of 200 MB/s for one stream alone. */
	assert_true(median_of(total, DISKS) > 192e6);
}

/* Foreground waits for no slice, not even when its own group has had one. */
static void test_foreground_of_a_disk_waits_for_no_slice(void **state)
{
	uint64_t random = fresh_seed("arm");
	static struct tenants_figures figures;
	struct tenant of[STREAMS + 1];
	u32 count = fill_disk(of, true);
	double p99_ns[DISKS];

	(void)state;
	for (size_t i = 0; i < DISKS; i++) {
		run(&figures, "hdd", TENANTS_FGIO, next_random(&random), of,
		    count);
		p99_ns[i] = figures.group[STREAMS].p99_ns;
		print_message("    p99 %.0f ms, %.0f MB/s\n", p99_ns[i] / 1e6,
			      figures.bytes_per_s / 1e6);
	}
	/* A slice is 250 ms; p99 was 160 to 290 ms while streams insisted. */
	assert_true(median_of(p99_ns, DISKS) < 150 * MILLISECOND);
}

/* Beyond its guarantee it does. */
static void test_foreground_flood_leaves_a_disk_to_others(void **state)
{
	uint64_t random = fresh_seed("drown");
	static struct tenants_figures figures;
	struct tenant of[STREAMS + 1];
	double flood[DISKS], others[DISKS];
	u32 count = fill_disk(of, true);

	(void)state;
	of[STREAMS].joins = false;
	of[STREAMS].bytes_per_s = 0;
	of[STREAMS].depth = 64;
	for (size_t i = 0; i < DISKS; i++) {
		run(&figures, "hdd", TENANTS_FGIO, next_random(&random), of,
		    count);
		flood[i] = figures.group[STREAMS].bytes_per_s / 4096;
		others[i] = figures.bytes_per_s / 1e6;
		print_message("    %.0f reads a second, others %.0f MB/s\n",
			      flood[i], others[i]);
	}
	/*
	 * Measured: 22 to 25, 35 to 40 MB/s; 140 reads and 5 MB/s if it may be
	 * ahead by as much as foreground within its guarantee.
	 */
	assert_true(median_of(flood, DISKS) < 40);
	assert_true(median_of(others, DISKS) > 28);
}

/* ---- writes of a disk ---- */

static struct tenant writer_in_order(void)
{
	struct tenant writer = tenant(100, 524288, true, 16);

	writer.write = true;
	return writer;
}

static double alone_bytes_per_s(const char *drive, const struct tenant *of,
				uint64_t *random)
{
	static struct tenants_figures figures;

	run(&figures, drive, TENANTS_NONE, next_random(random), of, 1);
	return figures.bytes_per_s;
}

/*
 * What a random reader of three times the weight has of its part beside writers in
 * order, in its least second; and what those have of theirs.
 */
static void parts_beside_writers(const char *drive, uint64_t *random,
				 double *reader, double *writers)
{
	static struct tenants_figures figures;
	struct tenant of[5] = { tenant(300, 4096, false, 1) };
	double part;

	for (u32 i = 1; i < 5; i++)
		of[i] = writer_in_order();
	run_from(&figures, drive, TENANTS_FGIO, 6, 4, next_random(random), of,
		 5);
	part = alone_bytes_per_s(drive, &of[0], random) * 3 / 7;
	*reader = least_of_first(&figures, 4) / part;
	part = alone_bytes_per_s(drive, &of[1], random) * 4 / 7;
	*writers = (figures.bytes_per_s - figures.group[0].bytes_per_s) / part;
}

/* What a writer in order has beside a reader and three that write at random. */
static double part_of_writer(const char *drive, uint64_t *random)
{
	struct tenant of[5] = { writer_in_order(),
				tenant(300, 131072, true, 2) };
	static struct tenants_figures figures;

	for (u32 i = 2; i < 5; i++) {
		of[i] = tenant(100, 131072, false, 32);
		of[i].write = true;
	}
	run(&figures, drive, TENANTS_FGIO, next_random(random), of, 5);
	return figures.group[0].bytes_per_s /
	       (alone_bytes_per_s(drive, of, random) / 7);
}

/*
 * A disk's cache takes writes at once, and the disk writes them between reads of
 * others, who do not pay for that. Nor do writes in order for those elsewhere.
 */
static void test_a_disk_charges_writes_to_those_who_wrote(void **state)
{
	static const char *const drives[] = { "hdd", "hdd5400" };
	uint64_t random = fresh_seed("writes of a disk");
	double reader[DISKS], beside[DISKS], writer[DISKS];

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(drives); i++) {
		for (u32 j = 0; j < DISKS; j++) {
			parts_beside_writers(drives[i], &random, &reader[j],
					     &beside[j]);
			writer[j] = part_of_writer(drives[i], &random);
			print_message("    %s: reader %.2f beside writers %.2f, writer in order %.2f\n",
				      drives[i], reader[j], beside[j],
				      writer[j]);
		}
		/* Measured: 0.62 to 1.10; 0.18 to 0.38 if reads pay for all. */
		assert_true(median_of(reader, DISKS) > 0.55);
		/* 0.84 to 1.04; 0.44 to 0.52 without slices of writers. */
		assert_true(median_of(beside, DISKS) > 0.7);
		/* Medians of 0.65 to 1.03; 0.16 to 0.31 if each pays as it completes. */
		assert_true(median_of(writer, DISKS) > 0.5);
	}
}

/* I/Os of a random reader beside three streams in order, and some that write. */
static double ios_beside_streams(const char *drive, uint64_t seed, bool writes)
{
	static struct tenants_figures figures;
	struct tenant of[5] = {
		tenant(100, 4096, false, 1), tenant(100, 4096, true, 1),
		tenant(100, 4096, true, 1),  tenant(100, 4096, true, 1),
		tenant(100, 4096, false, 1),
	};

	of[2].joins = of[3].joins = true;
	of[4].write = true;
	of[4].bytes_per_s = 4096 / 2;
	run_from(&figures, drive, TENANTS_FGIO, 5, 10, seed, of, 4 + writes);
	return figures.group[0].bytes_per_s / 4096;
}

/*
 * Reads of several streams in order are seeks, and pay for them also beside a few
 * writes.
 */
static void test_few_writes_make_no_read_cheap(void **state)
{
	static const char *const drives[] = { "hdd", "hdd5400", "raid0-hdd" };
	uint64_t random = fresh_seed("few writes");
	double with[DISKS], without[DISKS];

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(drives); i++) {
		for (u32 j = 0; j < DISKS; j++) {
			uint64_t seed = next_random(&random);

			with[j] = ios_beside_streams(drives[i], seed, true);
			without[j] = ios_beside_streams(drives[i], seed, false);
			print_message("    %s: %.1f I/Os a second, %.1f beside writes\n",
				      drives[i], without[j], with[j]);
		}
		/* 0.2 to 0.5 times if those in order are taken for cheap. */
		assert_true(median_of(with, DISKS) >
			    0.85 * median_of(without, DISKS));
	}
}

#define LATER_GROUPS 2
/* The most that a read of 4 KiB pays, and so all that this disk takes for one. */
#define LATER_READ_NS (16 * MILLISECOND)
#define LATER_WRITE_NS (10 * MILLISECOND)

/* A disk that does what its cache took before the next read. */
struct later {
	struct fgio_share_group groups[LATER_GROUPS];
	struct fgio_request requests[LATER_GROUPS];
	struct fgio_shares shares;
	struct fgio_queue queue;
	uint64_t random;
	u64 cached_ns;
	u64 now_ns;
	u32 served[LATER_GROUPS];
};

static void later_insert(struct later *later, bool write)
{
	struct fgio_request *request = &later->requests[write];

	*request = (struct fgio_request){
		.sector = next_random(&later->random) % (1 << 30) * 8,
		.sectors = 8,
		.write = write,
		.queued_ns = later->now_ns,
	};
	fgio_list_init(&request->link);
	fgio_queue_insert_of(&later->queue, request, &later->groups[write],
			     false);
}

static void later_run(struct later *later, u64 for_ns)
{
	u64 end_ns = later->now_ns + for_ns;

	memset(later->served, 0, sizeof(later->served));
	while (later->now_ns < end_ns) {
		struct fgio_request *request =
			fgio_queue_next(&later->queue, later->now_ns, NULL);
		bool write;

		later->now_ns += MILLISECOND / 10;
		if (!request)
			continue;
		write = request->write;
		later->cached_ns += write ? LATER_WRITE_NS : 0;
		if (!write) {
			later->now_ns += LATER_READ_NS + later->cached_ns;
			later->cached_ns = 0;
		}
		later->served[write]++;
		fgio_queue_left_device(&later->queue, request, later->now_ns);
		later_insert(later, write);
	}
}

/* A reader and a writer of the same weight: each has half of the disk's time. */
static void test_writes_pay_for_what_a_disk_does_later(void **state)
{
	static struct later later;
	u64 before_ns[LATER_GROUPS], charged_ns[LATER_GROUPS];

	(void)state;
	later = (struct later){ .random = fresh_seed("later") };
	fgio_queue_init(&later.queue, true);
	fgio_shares_init(&later.shares, true);
	fgio_queue_set_shares(&later.queue, &later.shares);
	for (u32 i = 0; i < LATER_GROUPS; i++) {
		fgio_share_group_init(&later.groups[i],
				      fgio_shares_weight(100));
		later_insert(&later, i);
	}
	later_run(&later, 20 * SECOND);
	for (u32 i = 0; i < LATER_GROUPS; i++)
		before_ns[i] = later.groups[i].counters.charged_ns;
	later_run(&later, 20 * SECOND);
	for (u32 i = 0; i < LATER_GROUPS; i++)
		charged_ns[i] = later.groups[i].counters.charged_ns -
				before_ns[i];
	/* All time is charged, half of it to each. */
	for (u32 i = 0; i < LATER_GROUPS; i++)
		assert_true(fabs((double)charged_ns[i] - 10e9) < 0.8e9);
	/* Of 1,250 in all of the time; one if reads pay for what it does later. */
	assert_true(later.served[0] > 560 && later.served[0] < 690);
}

/* ---- rounds, step by step ---- */

#define ARM_GROUPS 3

/* A disk without a queue of its own, whose groups read in order. */
struct arm {
	struct fgio_share_group groups[ARM_GROUPS];
	struct fgio_request requests[ARM_GROUPS][2];
	u64 sector[ARM_GROUPS];
	u32 served[ARM_GROUPS];
	u32 last;
	struct fgio_shares shares;
	struct fgio_queue queue;
	u64 now_ns;
};

static void arm_insert(struct arm *arm, u32 group, u32 place)
{
	struct fgio_request *request = &arm->requests[group][place];

	*request = (struct fgio_request){
		.sector = group * 1000000000ULL + arm->sector[group],
		.sectors = 256,
		.queued_ns = arm->now_ns,
	};
	arm->sector[group] += 256;
	fgio_list_init(&request->link);
	fgio_queue_insert_of(&arm->queue, request, &arm->groups[group], false);
}

static void arm_begin(struct arm *arm, u32 group)
{
	arm_insert(arm, group, 0);
	arm_insert(arm, group, 1);
}

/* 1 ms an I/O, and 8 to come to another group. Counts from 0. */
static void arm_run(struct arm *arm, u64 for_ns)
{
	u64 end_ns = arm->now_ns + for_ns;

	memset(arm->served, 0, sizeof(arm->served));
	while (arm->now_ns < end_ns) {
		struct fgio_request *request =
			fgio_queue_next(&arm->queue, arm->now_ns, NULL);
		u32 at, group;

		arm->now_ns += MILLISECOND;
		if (!request)
			continue;
		at = (u32)(request - &arm->requests[0][0]);
		group = at / 2;
		arm->now_ns += group == arm->last ? 0 : 8 * MILLISECOND;
		arm->last = group;
		arm->served[group]++;
		fgio_queue_left_device(&arm->queue, request, arm->now_ns);
		arm_insert(arm, group, at % 2);
	}
}

/* What a group had over its part by weight. @count: groups that read. */
static double arm_part(const struct arm *arm, u32 group, u32 count)
{
	double weights = 0, served = 0;

	for (u32 i = 0; i < count; i++) {
		weights += arm->groups[i].weight;
		served += arm->served[i];
	}
	return arm->served[group] * weights /
	       (served * arm->groups[group].weight);
}

static void check_parts(struct arm *arm, u32 count)
{
	/* Two seconds, for rounds begun with other weights. */
	arm_run(arm, 2 * SECOND);
	arm_run(arm, 6 * SECOND);
	for (u32 i = 0; i < count; i++) {
		if (arm_part(arm, i, count) > 0.7 && arm_part(arm, i, count) < 1.3)
			continue;
		print_message("    group %u of weight %u: %.2f of its part\n", i,
			      arm->groups[i].weight, arm_part(arm, i, count));
		fail();
	}
}

/*
 * Groups have their parts from two seconds after one came, or has another weight,
 * and when virtual time has gone half around since the last round.
 */
static void test_rounds_follow_groups_weights_and_time(void **state)
{
	static struct arm arm;
	uint64_t seed = fresh_seed("rounds");

	(void)state;
	for (u32 run = 0; run < 40; run++) {
		u32 weight = 10 + (u32)(next_random(&seed) % 990);
		u64 jump;

		arm = (struct arm){ .now_ns = SECOND };
		fgio_queue_init(&arm.queue, true);
		fgio_shares_init(&arm.shares, true);
		fgio_queue_set_shares(&arm.queue, &arm.shares);
		for (u32 i = 0; i < ARM_GROUPS; i++)
			fgio_share_group_init(&arm.groups[i],
					      fgio_shares_weight(100));
		arm_begin(&arm, 0);
		arm_run(&arm, SECOND);
		/* It had the disk alone for years. */
		jump = next_random(&seed);
		arm.shares.virtual += jump;
		arm.groups[0].start += jump;
		arm.groups[0].ready.key += jump;
		arm_begin(&arm, 1);
		check_parts(&arm, 2);
		arm_run(&arm, next_random(&seed) % SECOND);
		fgio_share_group_set_weight(&arm.groups[next_random(&seed) % 2],
					    fgio_shares_weight(weight));
		check_parts(&arm, 2);
		arm_run(&arm, next_random(&seed) % SECOND);
		fgio_share_group_set_weight(&arm.groups[2],
					    fgio_shares_weight(weight));
		arm_begin(&arm, 2);
		check_parts(&arm, 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_costs_are_told_apart_where_mixes_vary),
		cmocka_unit_test(test_costs_of_one_mix_add_up),
		cmocka_unit_test(test_speed_changes_no_ratio),
		cmocka_unit_test(test_probe_of_one_kind_is_the_speed_of_others),
		cmocka_unit_test(test_unknown_costs_do_not_drift),
		cmocka_unit_test(test_writes_cost_what_probed_reads_leave),
		cmocka_unit_test(test_limit_is_at_the_knee),
		cmocka_unit_test(test_limit_beyond_the_tags_is_not_believed),
		cmocka_unit_test(test_limit_leaves_few_tags_full),
		cmocka_unit_test(test_first_limit_is_bounded_by_time),
		cmocka_unit_test(test_limit_forgets_a_slower_load),
		cmocka_unit_test(test_limit_falls_to_the_knee_at_once),
		cmocka_unit_test(test_limit_takes_no_credit_for_a_faster_drive),
		cmocka_unit_test(test_limit_goes_on_while_more_delivers_more),
		cmocka_unit_test(test_limit_is_tried_soon_for_another_kind),
		cmocka_unit_test(test_limit_leaves_large_groups_in_order),
		cmocka_unit_test(test_each_second_of_a_disk_has_all_slices),
		cmocka_unit_test(test_foreground_of_a_disk_waits_for_no_slice),
		cmocka_unit_test(test_a_disk_charges_writes_to_those_who_wrote),
		cmocka_unit_test(test_few_writes_make_no_read_cheap),
		cmocka_unit_test(test_writes_pay_for_what_a_disk_does_later),
		cmocka_unit_test(test_foreground_flood_leaves_a_disk_to_others),
		cmocka_unit_test(test_rounds_follow_groups_weights_and_time),
		cmocka_unit_test(test_recharge_moves_what_was_paid),
		cmocka_unit_test(test_lag_in_the_drive_is_seen_within_a_round),
		cmocka_unit_test(test_one_class_withholds_nothing),
		cmocka_unit_test(
			test_the_turn_of_others_is_told_from_the_drive),
		cmocka_unit_test(
			test_a_group_without_others_waits_for_the_drive),
		cmocka_unit_test(test_weights_divide_a_drive),
		cmocka_unit_test(test_guarantee_of_the_article),
		cmocka_unit_test(test_reads_have_turns_where_that_helps),
		cmocka_unit_test(
			test_few_requests_have_their_part_in_each_second),
		cmocka_unit_test(test_pauses_are_no_work),
		cmocka_unit_test(test_metadata_passes_within_bounds),
		cmocka_unit_test(test_a_slow_drive_is_divided_as_well),
		cmocka_unit_test(test_writes_beside_reads_have_their_part),
		cmocka_unit_test(test_costs_are_learnt_beside_critical_io),
		cmocka_unit_test(test_critical_io_leaves_the_drive_full),
		cmocka_unit_test(
			test_a_small_reader_has_its_part_beside_a_large_one),
		cmocka_unit_test(
			test_waiting_for_a_processor_loses_no_share),
		cmocka_unit_test(
			test_a_reader_that_computes_does_not_stop_others),
		cmocka_unit_test(test_room_is_lent),
		cmocka_unit_test(
			test_foreground_of_one_group_does_not_starve_others),
		cmocka_unit_test(test_past_foreground_costs_a_group_nothing),
		cmocka_unit_test(test_foreground_within_its_part_waits_for_no_lag),
		cmocka_unit_test(test_burst_has_the_latency_of_its_share),
		cmocka_unit_test(
			test_late_foreground_takes_the_margin_of_others),
		cmocka_unit_test(test_own_foreground_goes_before_own_guarantee),
		cmocka_unit_test(
			test_checkpoint_spares_the_foreground_of_others),
		cmocka_unit_test(
			test_foreground_is_divided_beside_a_checkpoint),
		cmocka_unit_test(test_random_scripts_follow_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
