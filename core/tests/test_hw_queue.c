// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A device with many hardware queues: random hosts, whose processors are late
 * at times, lose no request and hold none up; queues take turns; nothing that
 * queues share is written without critical I/O; and the learnt depth does as
 * well as with one queue.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../hw_queue.h"
#include "../queue.h"
#include "check.h"
#include "long.h"
#include "model_rivals.h"

#define MICROSECOND 1000ULL
#define MILLISECOND 1000000ULL
#define SECOND 1000000000ULL
#define NEVER UINT64_MAX

#define HW_MOST 16
#define REQUESTS 512

/* ---- a host: processors that run hardware queues, and a device ---- */

struct io {
	struct fgio_request request;
	bool away;	  /* not with the queue */
	uint64_t done_ns; /* in the device until then */
	uint64_t made_ns;
	uint32_t hw;
	uint32_t served; /* times that it completed */
};

/*
 * @late_ns: a processor comes at most this late when its queue is to run
 * @slow_hw: its processor is always that late
 * @service_ns: an I/O takes half of that to one and a half times
 * @in_device_max: I/Os that the device takes
 */
struct host {
	struct fgio_queue queue;
	struct fgio_hw_queue hw_queue[HW_MOST];
	struct fgio_hw_queue *hw[HW_MOST];
	uint64_t run_ns[HW_MOST]; /* when the processor comes; NEVER */
	uint32_t count;
	uint64_t late_ns;
	uint32_t slow_hw;
	uint64_t service_ns;
	uint32_t in_device_max;
	uint32_t in_device;
	uint64_t now_ns;
	uint64_t retry_ns;
	uint64_t turn_ns;
	uint64_t random;
	struct io io[REQUESTS];
	uint64_t longest_wait_ns;
	uint64_t served[HW_MOST]; /* non-critical */
};

static struct host host;

static void start(uint64_t seed, uint32_t count, uint32_t limit)
{
	struct fgio_queue_config config = FGIO_QUEUE_CONFIG_DEFAULT;

	host = (struct host){
		.count = count,
		.slow_hw = HW_MOST,
		.service_ns = 100 * MICROSECOND,
		.in_device_max = 64,
		.now_ns = 1,
		.retry_ns = NEVER,
		.turn_ns = NEVER,
		.random = seed,
	};
	config.noncritical_in_device_max = limit;
	fgio_queue_init(&host.queue, false);
	fgio_queue_configure(&host.queue, &config);
	for (uint32_t i = 0; i < count; i++) {
		host.hw[i] = &host.hw_queue[i];
		host.run_ns[i] = NEVER;
		fgio_hw_queue_init(host.hw[i], &host.queue, i);
	}
	fgio_queue_set_hw(&host.queue, host.hw, count);
	for (int i = 0; i < REQUESTS; i++) {
		host.io[i].away = true;
		host.io[i].done_ns = NEVER;
	}
}

static void run_later(uint32_t hw)
{
	uint64_t late_ns = 0;

	if (hw == host.slow_hw)
		late_ns = host.late_ns;
	else if (host.late_ns && host.slow_hw == HW_MOST)
		late_ns = next_random(&host.random) % host.late_ns;
	if (host.run_ns[hw] > host.now_ns + late_ns)
		host.run_ns[hw] = host.now_ns + late_ns;
}

static void run_withheld(void)
{
	struct fgio_hw_queue *turn = fgio_queue_turn(&host.queue, host.now_ns);

	if (turn) {
		run_later(turn->index);
		host.turn_ns = host.now_ns + FGIO_TURN_NS;
	}
	for (uint32_t i = 0; !turn && i < host.count; i++)
		run_later(i);
}

static struct io *make(enum fgio_class class, uint32_t hw)
{
	struct io *io = host.io;

	while (!io->away)
		CHECK(++io < host.io + REQUESTS);
	io->away = false;
	io->made_ns = host.now_ns;
	io->hw = hw;
	io->request = (struct fgio_request){
		.class = (uint8_t)class,
		.sector = next_random(&host.random) % 100000 * 8,
		.sectors = 8 << next_random(&host.random) % 4,
		.write = next_random(&host.random) % 2,
		.queued_ns = host.now_ns,
	};
	fgio_list_init(&io->request.link);
	if (class == FGIO_CRITICAL)
		fgio_queue_saw_critical_at(&host.queue, host.now_ns);
	fgio_hw_queue_insert(host.hw[hw], &io->request, false);
	run_later(hw);
	return io;
}

static struct fgio_request *next_of(struct fgio_hw_queue *hw)
{
	uint64_t now_ns = fgio_hw_queue_needs_clock(hw) ? host.now_ns : 0;
	struct fgio_request *request = fgio_hw_queue_next(hw, now_ns);
	uint64_t retry_ns;

	if (request && fgio_hw_queue_tells(hw, request, now_ns)) {
		if (next_random(&host.random) % 8)
			fgio_hw_queue_tell(hw, request, now_ns);
		else /* the lock is taken */
			fgio_hw_queue_does_not_tell(hw, request, now_ns);
	}
	if (request || !fgio_hw_queue_must_ask(hw))
		return request;
	request = fgio_hw_queue_ask(hw, host.now_ns);
	retry_ns = fgio_queue_retry_ns(&host.queue);
	if (retry_ns && retry_ns <= host.now_ns) {
		fgio_queue_retry(&host.queue);
		run_withheld();
	} else if (retry_ns && !(host.retry_ns > host.now_ns &&
				 host.retry_ns <= retry_ns)) {
		host.retry_ns = retry_ns;
	}
	CHECK(request || retry_ns);
	return request;
}

static void send(struct fgio_request *request)
{
	struct io *io = fgio_container_of(request, struct io, request);
	uint64_t wait_ns = host.now_ns - io->made_ns;

	CHECK(fgio_request_is_in_device(request));
	CHECK(io->done_ns == NEVER && !io->away);
	if (request->class == FGIO_NONCRITICAL &&
	    wait_ns > host.longest_wait_ns)
		host.longest_wait_ns = wait_ns;
	io->done_ns = host.now_ns + host.service_ns / 2 +
		      next_random(&host.random) % host.service_ns;
	host.in_device++;
}

static void run(uint32_t index)
{
	struct fgio_request *request;

	host.run_ns[index] = NEVER;
	while (fgio_hw_queue_has_work(host.hw[index])) {
		if (host.in_device >= host.in_device_max) {
			run_later(index);
			return;
		}
		request = next_of(host.hw[index]);
		if (!request)
			return;
		send(request);
	}
}

static void complete(struct io *io)
{
	io->done_ns = NEVER;
	io->away = true;
	io->served++;
	host.in_device--;
	if (io->request.class == FGIO_NONCRITICAL)
		host.served[io->hw]++;
	if (fgio_queue_left_device(&host.queue, &io->request, host.now_ns))
		run_withheld();
}

/* Goes on to the next event, which must be before @until_ns. */
static bool step(uint64_t until_ns)
{
	uint64_t next_ns = host.retry_ns < host.turn_ns ? host.retry_ns :
							  host.turn_ns;
	struct io *first = NULL;
	uint32_t runs = HW_MOST;

	for (int i = 0; i < REQUESTS; i++)
		if (host.io[i].done_ns < next_ns) {
			first = &host.io[i];
			next_ns = first->done_ns;
		}
	for (uint32_t i = 0; i < host.count; i++) {
		bool full = host.in_device >= host.in_device_max;

		if (host.run_ns[i] < next_ns && !full) {
			runs = i;
			next_ns = host.run_ns[i];
		}
	}
	if (next_ns >= until_ns) {
		host.now_ns = until_ns;
		return false;
	}
	host.now_ns = next_ns > host.now_ns ? next_ns : host.now_ns;
	if (runs < HW_MOST) {
		run(runs);
	} else if (first) {
		complete(first);
	} else {
		if (host.retry_ns <= host.now_ns)
			host.retry_ns = NEVER;
		if (host.turn_ns <= host.now_ns)
			host.turn_ns = NEVER;
		fgio_queue_retry(&host.queue);
		run_withheld();
	}
	return true;
}

static void run_for(uint64_t time_ns)
{
	uint64_t until_ns = host.now_ns + time_ns;

	while (step(until_ns))
		;
}

static uint32_t left(void)
{
	uint32_t count = 0;

	for (int i = 0; i < REQUESTS; i++)
		count += !host.io[i].away;
	return count;
}

/* ---- random hosts ---- */

static void promote_one(void)
{
	struct io *io = &host.io[next_random(&host.random) % REQUESTS];

	if (!io->away && fgio_queue_promote(&io->request)) {
		fgio_queue_saw_critical_at(&host.queue, host.now_ns);
		run_later(io->hw);
	}
}

static void play(uint64_t seed)
{
	uint64_t random = seed;
	uint32_t made = 0;

	start(seed, 1 + next_random(&random) % HW_MOST,
	      next_random(&random) % 3);
	host.late_ns = next_random(&random) % 3 * 300 * MICROSECOND;
	host.service_ns = (10ULL << next_random(&random) % 8) * MICROSECOND;
	host.in_device_max = 1 + next_random(&random) % 64;
	for (int i = 0; i < 300; i++) {
		uint32_t hw = next_random(&random) % host.count;
		uint32_t what = next_random(&random) % 16;

		run_for(next_random(&random) % (2 * host.service_ns));
		if (what == 15)
			promote_one();
		else if (what == 14)
			fgio_queue_set_one_class(&host.queue,
						 next_random(&random) % 2);
		else if (left() < REQUESTS - 1)
			made += make(what < 4 ? FGIO_CRITICAL : FGIO_NONCRITICAL,
				     hw) != NULL;
		/* Its caller runs all queues. */
		for (uint32_t j = 0; what == 14 && j < host.count; j++)
			run_later(j);
	}
	/*
	 * Critical requests end, then the critical and the recent window; at
	 * worst, those in the device are written off after a second.
	 */
	run_for(REQUESTS * 2 * host.service_ns + 4 * SECOND);
	assert_int_equal(left(), 0);
	assert_int_equal(host.in_device, 0);
	assert_false(fgio_queue_has(&host.queue, FGIO_CRITICAL));
	assert_false(fgio_queue_has(&host.queue, FGIO_NONCRITICAL));
	for (int i = 0; i < REQUESTS; i++)
		made -= host.io[i].served;
	assert_int_equal(made, 0);
}

static void test_random_hosts_lose_and_hold_up_nothing(void **state)
{
	uint64_t seed = fresh_seed("random hosts");

	(void)state;
	for (int i = 0; i < 300; i++)
		play(seed + (uint64_t)i);
}

/* ---- turns ---- */

/* All queues have non-critical requests all the time, beside critical ones. */
static void saturate(uint64_t time_ns)
{
	uint64_t end_ns = host.now_ns + time_ns;

	while (host.now_ns < end_ns) {
		for (uint32_t i = 0; i < host.count; i++)
			while (host.hw[i]->queued[FGIO_NONCRITICAL] < 4)
				make(FGIO_NONCRITICAL, i);
		make(FGIO_CRITICAL, next_random(&host.random) % host.count);
		run_for(MILLISECOND);
	}
}

static void test_queues_take_turns(void **state)
{
	uint64_t seed = fresh_seed("turns");

	(void)state;
	for (uint32_t count = 2; count <= HW_MOST; count *= 2) {
		uint64_t least = UINT64_MAX, most = 0;

		start(seed + count, count, 2);
		saturate(2 * SECOND);
		for (uint32_t i = 0; i < count; i++) {
			least = host.served[i] < least ? host.served[i] : least;
			most = host.served[i] > most ? host.served[i] : most;
		}
		print_message("    %u queues: %llu to %llu requests\n", count,
			      (unsigned long long)least,
			      (unsigned long long)most);
		assert_true(4 * least >= 3 * most);
	}
}

/* Five milliseconds late whenever it is to run, which it must not pay twice. */
static void test_a_busy_processor_is_not_starved(void **state)
{
	uint64_t seed = fresh_seed("a busy processor");
	uint64_t others = 0;

	(void)state;
	start(seed, 8, 2);
	host.late_ns = 5 * MILLISECOND;
	host.slow_hw = 3;
	saturate(2 * SECOND);
	for (uint32_t i = 0; i < 8; i++)
		others += i == host.slow_hw ? 0 : host.served[i];
	print_message("    late: %llu requests, others %llu each, longest wait %llu ms\n",
		      (unsigned long long)host.served[3],
		      (unsigned long long)(others / 7),
		      (unsigned long long)(host.longest_wait_ns / MILLISECOND));
	/* One in 15 ms: a release interval, and its own lateness. */
	assert_true(host.served[3] >= 2000 / 20);
	/* And the drive is not idle for it: two of its I/Os take 50 us each. */
	assert_true(others >= 2 * SECOND / host.service_ns);
}

/* A processor that never comes holds the others up for a moment only. */
static void test_a_queue_that_never_comes_is_passed_over(void **state)
{
	uint64_t seed = fresh_seed("never");

	(void)state;
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t others = 0;

		start(seed + i, 4, 2);
		host.late_ns = 100 * SECOND;
		host.slow_hw = (uint32_t)(i % 4);
		saturate(SECOND);
		for (uint32_t hw = 0; hw < 4; hw++)
			others += hw == host.slow_hw ? 0 : host.served[hw];
		assert_int_equal(host.served[host.slow_hw], 0);
		/* Two at a time, 100 us each, half of the time. */
		assert_true(others >= SECOND / host.service_ns);
	}
}

/*
 * All queues have 16 for 50 ms beside critical I/O. Return: requests served, the
 * @most in the device.
 */
static uint64_t fill(uint64_t seed, uint32_t limit, bool seldom, uint64_t *most)
{
	uint64_t end_ns, in_device, served = 0;

	*most = 0;
	start(seed, HW_MOST, limit);
	host.in_device_max = REQUESTS;
	host.late_ns = seed % 3 * 20 * MICROSECOND;
	/* As if it was learnt, which a fixed limit is without. */
	if (seldom)
		host.queue.depth.saturation.other_ns = host.service_ns;
	run_for(SECOND);
	make(FGIO_CRITICAL, 0);
	end_ns = host.now_ns + 50 * MILLISECOND;
	while (host.now_ns < end_ns) {
		for (uint32_t hw = 0; hw < HW_MOST; hw++)
			while (host.hw[hw]->queued[FGIO_NONCRITICAL] < 16)
				make(FGIO_NONCRITICAL, hw);
		in_device = fgio_queue_in_device(&host.queue, FGIO_NONCRITICAL);
		*most = in_device > *most ? in_device : *most;
		run_for(5 * MICROSECOND);
	}
	for (uint32_t hw = 0; hw < HW_MOST; hw++)
		served += host.served[hw];
	run_for(3 * SECOND);
	assert_int_equal(left(), 0);
	return served;
}

/*
 * With many in the device, hardware queues are not counted for each request: no
 * more go than the limit allows, and nearly as many.
 */
static void test_many_in_the_device_are_counted_seldom(void **state)
{
	uint64_t seed = fresh_seed("many in the device");
	uint64_t most, served, control;
	uint64_t all_served = 0, all_control = 0;

	(void)state;
	for (uint64_t i = 0; i < 6; i++) {
		const uint32_t limit = 80 + (uint32_t)i * 16;

		control = fill(seed + i, limit, false, &most);
		served = fill(seed + i, limit, true, &most);
		print_message("    limit %u: %llu at most, %llu requests, %llu if counted each time\n",
			      limit, (unsigned long long)most,
			      (unsigned long long)served,
			      (unsigned long long)control);
		/* A late queue has one more in a release interval. */
		assert_in_range(most, limit - 8, limit + 1);
		assert_true(10 * served >= 8 * control);
		all_served += served;
		all_control += control;
	}
	/* One run in some hundred has 89 %. */
	assert_true(10 * all_served >= 9 * all_control);
}

/* Requests that were withheld in the recent window go when it is over. */
static void test_all_go_when_critical_io_is_over(void **state)
{
	uint64_t seed = fresh_seed("over");

	(void)state;
	for (uint64_t i = 0; i < 50; i++) {
		start(seed + i, 8, 0);
		host.late_ns = i % 2 * 200 * MICROSECOND;
		for (int round = 0; round < 20; round++) {
			make(FGIO_CRITICAL, (uint32_t)round % 8);
			make(FGIO_NONCRITICAL, (uint32_t)round % 7);
			run_for(MILLISECOND);
		}
		for (uint32_t hw = 0; hw < 8; hw++)
			for (int j = 0; j < 24; j++)
				make(FGIO_NONCRITICAL, hw);
		/* No insertion, and no completion once none is in the device. */
		run_for(2300 * MILLISECOND);
		assert_int_equal(left(), 0);
	}
}

/* A queue never out of critical requests, and its non-critical ones. */
static void test_minimum_service_beside_a_critical_backlog(void **state)
{
	uint64_t seed = fresh_seed("a backlog");
	uint64_t end_ns;

	(void)state;
	for (uint64_t i = 0; i < 8; i++) {
		start(seed + i, 2, i % 2);
		host.in_device_max = 4;
		end_ns = host.now_ns + 2 * SECOND;
		while (host.now_ns < end_ns) {
			while (host.hw[0]->queued[FGIO_CRITICAL] < 32)
				make(FGIO_CRITICAL, 0);
			for (uint32_t hw = 0; hw < 2; hw++)
				while (host.hw[hw]->queued[FGIO_NONCRITICAL] < 2)
					make(FGIO_NONCRITICAL, hw);
			run_for(300 * MICROSECOND);
		}
		print_message("    %llu and %llu requests beside critical ones\n",
			      (unsigned long long)host.served[0],
			      (unsigned long long)host.served[1]);
		/* One in 10 ms, but for probes of critical I/O alone. */
		assert_true(host.served[0] + host.served[1] >= 100);
		assert_true(host.served[0] >= 20 && host.served[1] >= 20);
	}
}

/* Writes that passed the device by are behind the next flush all the same. */
static void test_flushes_wait_for_what_passed(void **state)
{
	struct fgio_flush flush;
	uint64_t sectors = 0, left;
	struct io *io;

	(void)state;
	start(fresh_seed("flushes"), 4, 0);
	for (uint32_t i = 0; i < 8; i++) {
		io = make(FGIO_NONCRITICAL, i % 4);
		sectors += io->request.write ? io->request.sectors : 0;
	}
	run_for(MILLISECOND);
	fgio_queue_flush_begins(&host.queue, &flush, false, host.now_ns);
	left = flush.left;
	assert_true(left > sectors || !sectors);
	/* It covered them, though the device was not told of them yet. */
	fgio_queue_flush_ends(&host.queue, &flush, host.now_ns);
	fgio_queue_flush_begins(&host.queue, &flush, false, host.now_ns);
	assert_int_equal(flush.left, 0);
	for (uint32_t i = 0; i < 8; i++)
		make(FGIO_NONCRITICAL, i % 4)->request.write = i % 2;
	run_for(10 * SECOND);
	fgio_queue_flush_begins(&host.queue, &flush, false, host.now_ns);
	left = flush.left;
	assert_true(left > 0);
	/* A second one, with the writes accounted for in between. */
	make(FGIO_CRITICAL, 0);
	make(FGIO_NONCRITICAL, 0)->request.write = false;
	run_for(MILLISECOND);
	fgio_queue_flush_begins(&host.queue, &flush, false, host.now_ns);
	assert_int_equal(flush.left, left);
	fgio_queue_flush_ends(&host.queue, &flush, host.now_ns);
	fgio_queue_flush_begins(&host.queue, &flush, false, host.now_ns);
	assert_int_equal(flush.left, 0);
}

/* ---- cost ---- */

static void test_nothing_shared_is_written_without_critical_io(void **state)
{
	struct fgio_queue before;

	(void)state;
	start(fresh_seed("no critical I/O"), 4, 0);
	make(FGIO_NONCRITICAL, 0);
	run_for(MILLISECOND);
	before = host.queue;
	for (int i = 0; i < 1000; i++) {
		make(FGIO_NONCRITICAL, (uint32_t)i % 4);
		assert_false(fgio_hw_queue_needs_clock(host.hw[i % 4]));
		run_for(20 * MICROSECOND);
	}
	assert_memory_equal(&host.queue, &before, sizeof(before));
	/* The control: with critical I/O, it is. */
	make(FGIO_CRITICAL, 0);
	make(FGIO_NONCRITICAL, 1);
	run_for(MILLISECOND);
	assert_memory_not_equal(&host.queue, &before, sizeof(before));
}

static void test_critical_io_tells_seldom(void **state)
{
	uint64_t told = 0, told_ns = 0;

	(void)state;
	start(fresh_seed("seldom"), 2, 0);
	host.service_ns = 10 * MICROSECOND;
	make(FGIO_NONCRITICAL, 1);
	for (int i = 0; i < 20000; i++) {
		if (left() < REQUESTS / 2)
			make(FGIO_CRITICAL, 0);
		if (host.hw[1]->queued[FGIO_NONCRITICAL] < 8)
			make(FGIO_NONCRITICAL, 1);
		run_for(MICROSECOND);
		told += host.hw[0]->told_ns != told_ns;
		told_ns = host.hw[0]->told_ns;
	}
	print_message("    told %llu times in 20 ms, not of %llu\n",
		      (unsigned long long)told,
		      (unsigned long long)host.hw[0]->passed.untold);
	assert_in_range(told, 20, 20000 * MICROSECOND / FGIO_TELL_NS + 1);
	assert_true(host.hw[0]->passed.untold > 1000);
}

/* ---- the learnt depth ---- */

/* One run in eight learns a fifth less. */
#define RUNS 6

static struct rivals rivals(const struct simdisk_parameters *drive,
			    uint64_t seed)
{
	return (struct rivals){
		.drive = drive,
		.seed = seed,
		.foreground = { .write = true, .bytes = 4096, .depth = 1,
				.think_ns = 1000000, .irregular = true },
		.background = { .write = true, .sequential = true,
				.bytes = 65536, .depth = 64 },
		.begin_ns = 1500 * MILLISECOND,
		.end_ns = 3500 * MILLISECOND,
	};
}

static struct rivals_figures mean_of(const char *name, uint64_t seed,
				     uint32_t hw_queues)
{
	struct rivals_figures sum = { 0 }, one;
	struct simdisk_parameters drive;
	char error[256];

	CHECK(simdisk_parse(&drive, name, error, sizeof(error)));
	for (uint64_t i = 0; i < RUNS; i++) {
		struct rivals game = rivals(&drive, seed + i);

		game.hw_queues = hw_queues;
		one = rivals_run(&game);
		sum.background_bytes_per_s += one.background_bytes_per_s / RUNS;
		sum.mean_ns += one.mean_ns / RUNS;
	}
	return sum;
}

static void test_depth_is_learnt_as_with_one_queue(void **state)
{
	static const char *const drives[] = { "nvme", "volume", "gp3-16k",
					      "network" };
	uint64_t seed = fresh_seed("depth");

	(void)state;
	skip_if_sanitized();
	for (unsigned int i = 0; i < ARRAY_SIZE(drives); i++) {
		struct rivals_figures one = mean_of(drives[i], seed, 0);

		for (uint32_t count = 1; count <= 16; count *= 4) {
			struct rivals_figures many =
				mean_of(drives[i], seed, count);

			print_message("    %s, %u queues: background %.2f, mean %.2f of one queue\n",
				      drives[i], count,
				      many.background_bytes_per_s /
					      one.background_bytes_per_s,
				      many.mean_ns / one.mean_ns);
			assert_true(many.background_bytes_per_s >=
				    0.8 * one.background_bytes_per_s);
			assert_true(many.mean_ns <= 1.15 * one.mean_ns);
		}
	}
}

/* Shares need one queue for all, and are on and off at any time. */
static void test_totals_go_on_where_queues_are_left(void **state)
{
	struct fgio_queue_counters before, after;

	(void)state;
	start(fresh_seed("totals"), 4, 0);
	for (int round = 1; round <= 3; round++) {
		fgio_queue_set_hw(&host.queue, host.hw, host.count);
		for (uint32_t i = 0; i < 40; i++)
			make(i % 2, i % host.count);
		while (step(host.now_ns + SECOND))
			;
		before = fgio_queue_totals(&host.queue);
		for (int class = 0; class < FGIO_CLASSES; class++) {
			assert_int_equal(before.queued[class], 20 * round);
			assert_int_equal(before.dispatched[class], 20 * round);
		}
		fgio_queue_set_hw(&host.queue, NULL, 1);
		after = fgio_queue_totals(&host.queue);
		assert_memory_equal(&before, &after, sizeof(before));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_hosts_lose_and_hold_up_nothing),
		cmocka_unit_test(test_queues_take_turns),
		cmocka_unit_test(test_totals_go_on_where_queues_are_left),
		cmocka_unit_test(test_a_busy_processor_is_not_starved),
		cmocka_unit_test(test_a_queue_that_never_comes_is_passed_over),
		cmocka_unit_test(test_many_in_the_device_are_counted_seldom),
		cmocka_unit_test(test_all_go_when_critical_io_is_over),
		cmocka_unit_test(test_minimum_service_beside_a_critical_backlog),
		cmocka_unit_test(test_flushes_wait_for_what_passed),
		cmocka_unit_test(
			test_nothing_shared_is_written_without_critical_io),
		cmocka_unit_test(test_critical_io_tells_seldom),
		cmocka_unit_test(test_depth_is_learnt_as_with_one_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
