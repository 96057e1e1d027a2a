// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The order of users' requests: properties one by one, then random scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../hw_queue.h"
#include "../queue.h"
#include "../request_id.h"
#include "check.h"
#include "model_request_order.h"

#define MILLISECOND 1000000ULL
#define SCRIPTS 2000
#define SCRIPT_BYTES 512
#define MOST 10000
#define NO_BOUND (1U << 19)

/* A Tuesday. */
#define REAL_NS (1700000000000ULL * MILLISECOND)

static struct fgio_queue queue;
static struct fgio_request_order by_request;
static struct fgio_request requests[MOST];
static u32 used;
static u64 now_ns;

static void begin(enum fgio_request_policy policy)
{
	const struct fgio_queue_config config = {
		.noncritical_in_device_max = 1,
		.release_interval_ns = MILLISECOND,
		.critical_window_ns = MILLISECOND,
	};

	now_ns = 5000 * MILLISECOND;
	used = 0;
	fgio_queue_init(&queue, false);
	fgio_queue_configure(&queue, &config);
	fgio_request_order_init(&by_request, policy);
	/* These tests are of the order: none completes. */
	by_request.bound.fixed = NO_BOUND;
	fgio_request_order_set_clock(&by_request, REAL_NS);
	fgio_hw_queue_set_request_order(&queue.own, &by_request);
}

/* The id of a request that arrived @ago_ms before now. */
static u64 arrived(s64 ago_ms)
{
	return fgio_request_id_at(REAL_NS + now_ns) -
	       fgio_request_id_ms((u64)ago_ms);
}

static struct fgio_request *add_with(struct fgio_rank rank)
{
	struct fgio_request *request = &requests[used++];

	CHECK(used <= MOST);
	*request = (struct fgio_request){
		.class = FGIO_CRITICAL,
		.sectors = 8,
		.queued_ns = now_ns,
		.rank = rank,
	};
	fgio_list_init(&request->link);
	fgio_queue_insert(&queue, request, false);
	return request;
}

static struct fgio_request *add(u64 id)
{
	return add_with((struct fgio_rank){ .id = id });
}

static struct fgio_request *next(void)
{
	return fgio_queue_next(&queue,
			       fgio_queue_needs_clock(&queue) ? now_ns : 0,
			       NULL);
}

static void expect(struct fgio_request *request)
{
	assert_ptr_equal(next(), request);
}

static void test_random_scripts_follow_the_model(void **state)
{
	uint64_t seed = fresh_seed("request order");
	static uint8_t script[SCRIPT_BYTES];

	(void)state;
	for (int i = 0; i < SCRIPTS; i++) {
		fill_random(&seed, script, sizeof(script));
		model_request_order_play(script, sizeof(script));
	}
}

static void test_ids_are_believed_within_bounds(void **state)
{
	u64 now = fgio_request_id_at(REAL_NS);
	u64 wraps = fgio_request_id_ms(1ULL << 39);

	(void)state;
	assert_int_equal(now, 1700000000000ULL << 24);
	assert_int_equal(fgio_request_id_at(REAL_NS + 999999) >> 24,
			 1700000000000ULL & ((1ULL << 40) - 1));
	assert_int_equal(fgio_request_id_believed(0, now), 0);
	for (u64 at = now; at != 0; at = at == now ? 5 : 0) {
		for (u64 ms = 0; ms <= 1000; ms += 50) {
			u64 off = fgio_request_id_ms(ms);

			assert_int_equal(fgio_request_id_believed(at - off, at),
					 at - off);
			assert_int_equal(fgio_request_id_believed(at + off, at),
					 at + off);
		}
		assert_int_equal(
			fgio_request_id_believed(
				at - fgio_request_id_ms(1001), at),
			at - fgio_request_id_ms(1000));
		assert_int_equal(
			fgio_request_id_believed(
				at + fgio_request_id_ms(600000), at),
			at + fgio_request_id_ms(1000));
		assert_int_equal(fgio_request_id_believed(
					 at + fgio_request_id_ms(600001), at),
				 0);
		assert_int_equal(fgio_request_id_believed(
					 at - fgio_request_id_ms(600001), at),
				 0);
		assert_int_equal(fgio_request_id_believed(at + wraps, at), 0);
	}
}

static void test_servers_agree_whatever_arrives_first(void **state)
{
	struct fgio_request *one, *two, *three;

	(void)state;
	begin(FGIO_BY_ARRIVAL);
	one = add(arrived(3));
	two = add(arrived(2));
	three = add(arrived(1));
	expect(one);
	expect(two);
	expect(three);
	three = add(arrived(1));
	two = add(arrived(2));
	one = add(arrived(3));
	expect(one);
	expect(two);
	expect(three);
	expect(NULL);
}

static void test_no_id_is_an_arrival_now(void **state)
{
	struct fgio_request *before, *none, *later, *early;

	(void)state;
	begin(FGIO_BY_ARRIVAL);
	/* Queued before any had an id: in order of arrival, and first. */
	before = add(0);
	none = add(4711);
	early = add(arrived(5));
	later = add(arrived(-5));
	expect(before);
	expect(none);
	none = add(0);
	expect(early);
	expect(none);
	expect(later);
	assert_false(fgio_queue_needs_clock(&queue));
}

/* The same I/O with the order on and off. */
static void test_without_ids_nothing_changes(void **state)
{
	uint64_t seed = fresh_seed("without ids");
	static struct fgio_queue plain;
	static struct fgio_request others[256];
	static u32 left[256];

	(void)state;
	begin(FGIO_BY_BATCH);
	fgio_queue_init(&plain, false);
	plain.config = queue.config;
	for (int i = 0; i < 20000; i++) {
		u32 at = next_random(&seed) % 256;

		if (!left[at] && next_random(&seed) % 2) {
			requests[at] = (struct fgio_request){
				.class = next_random(&seed) % 4 > 0,
				.write = next_random(&seed) % 3 == 0,
				.sectors = 8,
				.queued_ns = now_ns,
			};
			others[at] = requests[at];
			fgio_list_init(&requests[at].link);
			fgio_list_init(&others[at].link);
			fgio_queue_insert(&queue, &requests[at], false);
			fgio_queue_insert(&plain, &others[at], false);
			left[at] = 1;
		} else {
			struct fgio_request *one = fgio_queue_next(
				&queue, now_ns, NULL);
			struct fgio_request *other = fgio_queue_next(
				&plain, now_ns, NULL);

			assert_int_equal(!one, !other);
			if (one) {
				assert_int_equal(one - requests, other - others);
				fgio_queue_left_device(&queue, one, now_ns);
				fgio_queue_left_device(&plain, other, now_ns);
				left[one - requests] = 0;
			}
		}
		now_ns += next_random(&seed) % 100000;
	}
	assert_int_equal(by_request.ranked, 0);
}

static void test_a_lie_gains_no_more_than_the_bound(void **state)
{
	struct fgio_request *honest, *liar, *later;

	(void)state;
	begin(FGIO_BY_ARRIVAL);
	honest = add(arrived(0));
	now_ns += 999 * MILLISECOND;
	liar = add(arrived(500000));
	later = add(arrived(0));
	/* Within the bound the lie holds. */
	expect(liar);
	/* Old enough, the honest one is ahead of any lie. */
	now_ns += 2 * MILLISECOND;
	liar = add(arrived(500000));
	expect(honest);
	expect(liar);
	expect(later);
}

static void test_a_batch_ends_before_another_begins(void **state)
{
	struct fgio_request *io[4], *other, *new, *none;
	u64 mine, early;

	(void)state;
	begin(FGIO_BY_BATCH);
	mine = arrived(10);
	early = arrived(20);
	for (int i = 0; i < 3; i++)
		io[i] = add(mine);
	new = add(arrived(5));
	none = add(0);
	expect(io[0]);
	/* It has begun: an earlier one waits for its queued I/O... */
	other = add(early);
	expect(io[1]);
	/* ...and for what it adds. */
	io[3] = add(mine);
	expect(io[2]);
	expect(io[3]);
	expect(other);
	expect(new);
	expect(none);
	/* Of those that have begun, the earlier one first. */
	io[0] = add(mine);
	other = add(early);
	expect(other);
	expect(io[0]);
}

static void test_a_heavy_request_goes_in_turn_with_light_ones(void **state)
{
	u32 bound = FGIO_REQUEST_HEAVY_TIMES * FGIO_REQUEST_HEAVY_LEAST;
	struct fgio_request *heavy[2], *scan, *light[8];
	u64 some, more;

	(void)state;
	begin(FGIO_BY_LIMITED);
	some = arrived(40);
	more = arrived(50);
	for (u32 i = 0; i < 2 * bound; i++)
		expect(add(more));
	for (u32 i = 0; i < bound; i++)
		expect(add(some));
	scan = add(more);
	for (int i = 0; i < 2; i++)
		heavy[i] = add(some);
	for (int i = 0; i < 8; i++)
		light[i] = add(arrived(30 - i));
	for (int i = 0, turn = 0; i < 8; i++) {
		expect(light[i]);
		if (i % FGIO_REQUEST_LIGHT_RUN == FGIO_REQUEST_LIGHT_RUN - 1)
			expect(heavy[turn++]);
	}
	/* The scan had twice as much. */
	expect(scan);
	expect(NULL);
}

static void test_the_earliest_deadline_goes_first(void **state)
{
	struct fgio_request *usual, *hasty, *patient;

	(void)state;
	begin(FGIO_BY_SLACK);
	usual = add(arrived(10));
	patient = add_with((struct fgio_rank){ .id = arrived(10),
					       .deadline_ms = 60000 });
	hasty = add_with((struct fgio_rank){ .id = arrived(0),
					     .deadline_ms = 50 });
	expect(hasty);
	expect(usual);
	expect(patient);
}

static void test_the_least_work_goes_first(void **state)
{
	struct fgio_request *large, *small;
	u64 scan;

	(void)state;
	begin(FGIO_BY_BOTTLENECK);
	scan = arrived(50);
	for (int i = 0; i < 5; i++)
		expect(add(scan));
	large = add(scan);
	small = add(arrived(1));
	expect(small);
	expect(large);
}

/* What requests with as many parts had is expected of the next ones. */
static void test_work_is_learnt_by_parts(void **state)
{
	struct fgio_request *wide, *narrow;
	int round = 0;

	(void)state;
	begin(FGIO_BY_BOTTLENECK);
	/* Enough of them for memos to be needed again. */
	for (; round < 8000; round++) {
		struct fgio_rank rank = { .id = arrived(1), .parts = 64 };
		int ios = round % 2 ? 1 : 16;

		used = 0;
		rank.parts = round % 2 ? 1 : 64;
		for (int i = 0; i < ios; i++)
			add_with(rank);
		while (next())
			;
		now_ns += MILLISECOND / 10;
	}
	used = 0;
	wide = add_with((struct fgio_rank){ .id = arrived(20) + 1, .parts = 100 });
	narrow = add_with((struct fgio_rank){ .id = arrived(10) + 1, .parts = 1 });
	expect(narrow);
	expect(wide);
	/* Four of five requests have no more: half have 16 here. */
	assert_in_range(by_request.heavy_x16, 16 * 12, 16 * 20);
	assert_int_equal(by_request.forgotten, 0);
}

/* A flood of early requests: a late one still goes. */
static void test_no_request_waits_for_ever(void **state)
{
	struct fgio_request *late, *went;
	u32 waited = 0;

	(void)state;
	for (u32 policy = 0; policy < FGIO_REQUEST_POLICIES; policy++) {
		begin(policy);
		add(arrived(900));
		late = add(arrived(-1000));
		for (waited = 0;; waited++) {
			assert_true(waited < 600);
			add(arrived(900));
			now_ns += MILLISECOND;
			went = next();
			assert_non_null(went);
			if (went == late)
				break;
		}
		assert_true(now_ns <= late->queued_ns + FGIO_REQUEST_AGE_NS +
					      8 * MILLISECOND);
	}
}

/* Ten thousand at once: all in order, though most are forgotten. */
static void test_ten_thousand_requests_outstanding(void **state)
{
	uint64_t seed = fresh_seed("ten thousand");
	u64 last = 0;

	(void)state;
	begin(FGIO_BY_ARRIVAL);
	for (int i = 0; i < MOST; i++)
		add(arrived(0) - (next_random(&seed) % 900) * fgio_request_id_ms(1) -
		    (u64)i);
	assert_true(by_request.forgotten > MOST / 2);
	assert_in_range(by_request.requests, 1, FGIO_REQUEST_MEMOS);
	for (int i = 0; i < MOST; i++) {
		struct fgio_request *request = next();

		assert_non_null(request);
		assert_true(!last || fgio_request_id_before(last, request->rank.id));
		last = request->rank.id;
	}
	assert_null(next());
	assert_int_equal(by_request.ranked, 0);
	assert_int_equal(by_request.requests, 0);
}

static void expect_claims(u64 clamped, u64 foreign)
{
	assert_int_equal(by_request.clamped, clamped);
	assert_int_equal(by_request.foreign, foreign);
}

/* Nothing to be in order with: it costs no clock, and no place in a heap. */
static void test_the_only_one_is_ranked_when_another_comes(void **state)
{
	struct fgio_request *alone, *earlier;

	(void)state;
	begin(FGIO_BY_ARRIVAL);
	alone = add(arrived(1));
	assert_int_equal(by_request.ranked, 0);
	assert_false(fgio_queue_needs_clock(&queue));
	expect(alone);
	alone = add(arrived(1));
	earlier = add(arrived(2));
	assert_int_equal(by_request.ranked, 2);
	assert_true(fgio_queue_needs_clock(&queue));
	expect(earlier);
	expect(alone);
	/* Lateness and a full drive are seen by the clock alone. */
	add_with((struct fgio_rank){ .id = arrived(1), .deadline_ms = 5 });
	assert_int_equal(by_request.ranked, 1);
	assert_non_null(next());
	by_request.bound.fixed = 4;
	alone = add(arrived(1));
	assert_true(fgio_queue_needs_clock(&queue));
	expect(NULL);
	for (u32 i = 0; i < 2; i++)
		fgio_queue_left_device(&queue, &requests[i], now_ns);
	expect(alone);
	assert_false(fgio_queue_needs_clock(&queue));
}

/* Nothing to be in order with, either: only the bound counts. */
static void test_a_request_alone_is_not_ranked(void **state)
{
	struct fgio_request *io[FGIO_REQUEST_ALONE_MOST + 1], *earlier;

	(void)state;
	for (u32 policy = FGIO_BY_ARRIVAL; policy < FGIO_REQUEST_POLICIES;
	     policy++) {
		begin(policy);
		by_request.bound.fixed = 2;
		for (u32 i = 0; i < FGIO_REQUEST_ALONE_MOST; i++)
			io[i] = add(arrived(1));
		assert_int_equal(by_request.ranked, 0);
		assert_true(fgio_queue_needs_clock(&queue));
		expect(io[0]);
		expect(io[1]);
		expect(NULL);
		by_request.bound.fixed = NO_BOUND;
		earlier = add(arrived(2));
		assert_int_equal(by_request.ranked, FGIO_REQUEST_ALONE_MOST - 1);
		/* The other one has begun, or had more. */
		if (policy == FGIO_BY_BATCH)
			expect(io[2]);
		else
			expect(earlier);
		expect(policy == FGIO_BY_BATCH ? io[3] : io[2]);
	}
	/* There is a limit to what one call has to rank. */
	begin(FGIO_BY_ARRIVAL);
	for (u32 i = 0; i <= FGIO_REQUEST_ALONE_MOST; i++)
		io[i] = add(arrived(1));
	assert_int_equal(by_request.ranked, FGIO_REQUEST_ALONE_MOST + 1);
	for (u32 i = 0; i <= FGIO_REQUEST_ALONE_MOST; i++)
		expect(io[i]);
	assert_int_equal(by_request.ranked, 0);
}

static void test_claims_are_counted(void **state)
{
	(void)state;
	begin(FGIO_BY_LIMITED);
	add(0);
	add(arrived(0));
	add(arrived(1000));
	add(arrived(-1000));
	expect_claims(0, 0);
	add(arrived(1001));
	expect_claims(1, 0);
	add(arrived(-1001));
	add(arrived(599999));
	expect_claims(3, 0);
	add(arrived(600001));
	add(4711);
	expect_claims(3, 2);
	while (next())
		;
	/* None is believed, so none is wrong. */
	fgio_request_order_set_policy(&by_request, FGIO_BY_NONE);
	add(4711);
	add(arrived(1001));
	expect_claims(3, 2);
}

/* Each of them once, however many I/Os it has. */
static void test_requests_outstanding_are_counted(void **state)
{
	struct fgio_request *first;

	(void)state;
	begin(FGIO_BY_ARRIVAL);
	for (u32 round = 0; round < 3; round++)
		for (s64 ms = 9; ms > 5; ms--)
			add(arrived(ms));
	add(0);
	assert_int_equal(by_request.requests, 4);
	for (u32 left = 4; left > 0; left--) {
		first = next();
		assert_int_equal(by_request.requests, left);
		assert_int_equal(next()->rank.id, first->rank.id);
		assert_int_equal(next()->rank.id, first->rank.id);
		assert_int_equal(by_request.requests, left - 1);
	}
	assert_int_equal(next()->rank.id, 0);
}

static void test_late_ones_are_counted(void **state)
{
	(void)state;
	for (u32 policy = FGIO_BY_ARRIVAL; policy < FGIO_REQUEST_POLICIES;
	     policy++) {
		begin(policy);
		add_with((struct fgio_rank){ .id = arrived(50), .deadline_ms = 51 });
		assert_non_null(next());
		assert_int_equal(by_request.late, 0);
		add_with((struct fgio_rank){ .id = arrived(50), .deadline_ms = 49 });
		assert_non_null(next());
		assert_int_equal(by_request.late, 1);
		/* Without a deadline, without an id, and with a number that is none. */
		add(arrived(900));
		add_with((struct fgio_rank){ .deadline_ms = 1 });
		add_with((struct fgio_rank){ .id = 4711, .deadline_ms = 1 });
		/* Later than the clock can say. */
		add_with((struct fgio_rank){ .id = arrived(50), .deadline_ms = ~0U });
		for (int i = 0; i < 4; i++)
			assert_non_null(next());
		assert_int_equal(by_request.late, 1);
		/* It became late in the queue. */
		add_with((struct fgio_rank){ .id = arrived(0), .deadline_ms = 5 });
		now_ns += 6 * MILLISECOND;
		assert_non_null(next());
		assert_int_equal(by_request.late, 2);
	}
}

static void test_groups_order_their_own(void **state)
{
	static struct fgio_shares shares;
	static struct fgio_share_group groups[2];
	struct fgio_request *io[4];

	(void)state;
	begin(FGIO_BY_ARRIVAL);
	fgio_shares_init(&shares, false);
	fgio_queue_set_shares(&queue, &shares);
	for (int i = 0; i < 2; i++)
		fgio_share_group_init(&groups[i], fgio_shares_weight(100));
	for (int i = 0; i < 4; i++) {
		io[i] = &requests[i];
		*io[i] = (struct fgio_request){
			.class = FGIO_CRITICAL,
			.sectors = 8,
			.queued_ns = now_ns,
			.rank.id = arrived(i),
		};
		fgio_list_init(&io[i]->link);
		fgio_queue_insert_of(&queue, io[i], &groups[i % 2], false);
	}
	/* One that moves to the other group gets its place there. */
	fgio_shares_recharge(io[1], &groups[0], now_ns);
	assert_int_equal(by_request.ranked, 4);
	for (int i = 0, last = 3; i < 4; i++) {
		struct fgio_request *request = next();

		assert_non_null(request);
		if (request == io[3])
			continue;
		assert_true(request - requests < last);
		last = (int)(request - requests);
	}
	assert_int_equal(by_request.ranked, 0);
}

static void test_hardware_queues_order_their_own(void **state)
{
	static struct fgio_hw_queue hw[2];
	static struct fgio_hw_queue *all[] = { &hw[0], &hw[1] };
	static struct fgio_request_order orders[2];
	u64 ago_ms[] = { 1, 4, 2, 3 };

	(void)state;
	begin(FGIO_BY_ARRIVAL);
	for (u32 i = 0; i < 2; i++) {
		fgio_hw_queue_init(&hw[i], &queue, i);
		fgio_request_order_init(&orders[i], FGIO_BY_ARRIVAL);
		fgio_request_order_set_clock(&orders[i], REAL_NS);
		fgio_hw_queue_set_request_order(&hw[i], &orders[i]);
	}
	fgio_queue_set_hw(&queue, all, 2);
	for (int i = 0; i < 4; i++) {
		requests[i] = (struct fgio_request){
			.class = FGIO_CRITICAL,
			.sectors = 8,
			.queued_ns = now_ns,
			.rank.id = arrived((s64)ago_ms[i]),
		};
		fgio_list_init(&requests[i].link);
		fgio_queue_saw_critical_at(&queue, now_ns);
		fgio_hw_queue_insert(&hw[i / 2], &requests[i], false);
	}
	for (int i = 0; i < 2; i++) {
		assert_true(fgio_hw_queue_needs_clock(&hw[i]));
		assert_ptr_equal(fgio_hw_queue_next(&hw[i], now_ns),
				 &requests[i ? 3 : 1]);
		assert_ptr_equal(fgio_hw_queue_next(&hw[i], now_ns),
				 &requests[i ? 2 : 0]);
		assert_int_equal(orders[i].ranked, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_are_believed_within_bounds),
		cmocka_unit_test(test_servers_agree_whatever_arrives_first),
		cmocka_unit_test(test_no_id_is_an_arrival_now),
		cmocka_unit_test(test_without_ids_nothing_changes),
		cmocka_unit_test(test_a_lie_gains_no_more_than_the_bound),
		cmocka_unit_test(test_a_batch_ends_before_another_begins),
		cmocka_unit_test(test_a_heavy_request_goes_in_turn_with_light_ones),
		cmocka_unit_test(test_the_earliest_deadline_goes_first),
		cmocka_unit_test(test_the_least_work_goes_first),
		cmocka_unit_test(test_work_is_learnt_by_parts),
		cmocka_unit_test(test_no_request_waits_for_ever),
		cmocka_unit_test(test_ten_thousand_requests_outstanding),
		cmocka_unit_test(test_the_only_one_is_ranked_when_another_comes),
		cmocka_unit_test(test_a_request_alone_is_not_ranked),
		cmocka_unit_test(test_claims_are_counted),
		cmocka_unit_test(test_requests_outstanding_are_counted),
		cmocka_unit_test(test_late_ones_are_counted),
		cmocka_unit_test(test_groups_order_their_own),
		cmocka_unit_test(test_hardware_queues_order_their_own),
		cmocka_unit_test(test_random_scripts_follow_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
