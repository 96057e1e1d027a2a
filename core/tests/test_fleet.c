// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The simulated fleet: what makes its figures comparable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "check.h"
#include "model_fleet.h"
#include "model_host.h"

#define SECOND 1000000000ULL

static struct simdisk_parameters drive;

/* Four shards at nine tenths of what they can. */
static struct fleet usual(uint64_t seed)
{
	drive = host_parsed("volume");
	return (struct fleet){
		.drive = &drive,
		.seed = seed,
		.policy = FLEET_ORDERED,
		.order = FGIO_BY_LIMITED,
		.drives = 4,
		.fanout = 4,
		.proxies = 1,
		.records = 100,
		.width = 1,
		.per_s = 0.9 * 4 * 3000 / fleet_mean_reads(4, 100, 0),
		.begin_ns = 2 * SECOND,
		.end_ns = 6 * SECOND,
	};
}

static struct fleet_figures figures_of(struct fleet fleet)
{
	struct fleet_figures figures;

	fleet_run(&fleet, &figures);
	return figures;
}

static void test_same_seed_same_figures(void **state)
{
	struct fleet fleet = usual(fresh_seed("fleet") % 1000000);
	struct fleet_figures one = figures_of(fleet), two = figures_of(fleet);

	(void)state;
	assert_memory_equal(&one, &two, sizeof(one));
	assert_true(one.n > 300);
}

/* Whatever the policy: the same requests, and all of their reads. */
static void test_policies_have_the_same_requests(void **state)
{
	struct fleet fleet = usual(fresh_seed("policies") % 1000000);
	struct fleet_figures first = figures_of(fleet);

	(void)state;
	for (u32 policy = FLEET_NONE; policy <= FLEET_ORACLE_ARRIVAL; policy++) {
		struct fleet_figures figures;

		fleet.policy = policy;
		figures = figures_of(fleet);
		assert_int_equal(figures.n, first.n);
		assert_int_equal(figures.ios, first.ios);
		assert_true(figures.p50_ms <= figures.p99_ms);
		assert_true(figures.gap_p99_ms <= figures.p999_ms * 1.000001);
	}
}

/* A fan-out of one has no gap. */
static void test_one_part_has_no_gap(void **state)
{
	struct fleet fleet = usual(fresh_seed("one part") % 1000000);
	struct fleet_figures figures;

	(void)state;
	fleet.fanout = 1;
	fleet.records = 25;
	fleet.per_s = 0.8 * 4 * 3000 / fleet_mean_reads(1, 25, 0);
	figures = figures_of(fleet);
	assert_true(figures.n > 300);
	assert_true(figures.gap_p99_ms == 0);
}

/* Where no shard gets ids, all is as without an order. */
static void test_without_ids_there_is_no_order(void **state)
{
	struct fleet fleet = usual(fresh_seed("without ids") % 1000000);
	struct fleet_figures ordered, unordered;

	(void)state;
	fleet.without_ids = fleet.drives;
	ordered = figures_of(fleet);
	/* No I/O with an id: nothing was learnt. */
	assert_int_equal(ordered.bound, 1U << FGIO_BOUND_FIRST);
	ordered.bound = 0;
	fleet.policy = FLEET_UNORDERED;
	unordered = figures_of(fleet);
	assert_memory_equal(&ordered, &unordered, sizeof(ordered));
}

/* Faults leave no request behind: the run ends when the last one does. */
static void test_faults_leave_no_request_behind(void **state)
{
	struct fleet fleet = usual(fresh_seed("faults") % 1000000);
	struct fleet_figures figures;

	(void)state;
	fleet.drives = 8;
	fleet.proxies = 3;
	fleet.skew_ms = 3000;
	fleet.exchange = true;
	fleet.slow = 1;
	fleet.slow_factor = 2;
	fleet.dead = 2;
	fleet.hedge_ms = 20;
	fleet.liars_ppm = 10000;
	fleet.background = true;
	fleet.width = 4;
	fleet.huge_ppm = 5000;
	fleet.end_ns = 6 * SECOND;
	fleet.per_s = 0.2 * 8 * 3000 / fleet_mean_reads(4, 100, 0.005);
	figures = figures_of(fleet);
	assert_true(figures.n > 100);
}

/* A file with a text, which is gone when the test has read it. */
static const char *read_text(struct fleet_load *load, const char *text)
{
	char path[] = "/tmp/fleet-load.XXXXXX";
	int file = mkstemp(path);
	const char *wrong;

	assert_true(file >= 0);
	assert_int_equal(write(file, text, strlen(text)), strlen(text));
	wrong = fleet_load_read(load, path);
	close(file);
	unlink(path);
	return wrong;
}

static void test_a_bad_recording_is_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "no request" },
		{ "# nothing\n", "no request" },
		{ "0 10 5 2 20\n", "not a request" },
		{ "0 10\n", "not a request" },
		{ "0 10 5 2 20 x\n", "something else" },
		{ "0 10 5 -2 20 3\n", "something else" },
		{ "0 10 5 2 20 99999999999999999999999\n", "something else" },
		{ "0 10 5 2 20 3\n5 10 5 2 20 3 5 2 20 3\n", "different" },
		{ "9 10 5 2 20 3\n8 10 5 2 20 3\n", "in the order" },
		{ "0 10 5 2 20 3\nread after 0 5 0 8\n", "that is none" },
		{ "0 10 5 2 20 3\nread after 0 5 0 8 0\n", "that is none" },
		{ "0 10 5 2 20 3\nwrite after 0 5 0 8 2561\n", "that is none" },
		{ "0 10 5 2 20 3\nwrite after 65536 5 0 8 8\n", "that is none" },
		{ "0 10 5 2 20 3\nwrite after 3 5 1 8 8\n", "no request has" },
		{ "0 10 5 2 20 3\nread 0 5 0 8 8\n", "neither" },
		{ "read after 0 5 0 8 8\n", "no request" },
		{ "trim 5 0 8 8\n", "something else" },
	};
	struct fleet_load load;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *wrong = read_text(&load, bad[i].text);

		assert_non_null(wrong);
		assert_non_null(strstr(wrong, bad[i].says));
		assert_int_equal(load.count, 0);
	}
	assert_non_null(fleet_load_read(&load, "/nosuch/load"));
	assert_null(read_text(&load, "# of one\n0 10 5 2 20 3\n\n"));
	assert_int_equal(load.count, 1);
	assert_int_equal(load.shards, 1);
	fleet_load_free(&load);
}

/* A request that reads nothing takes what was recorded, to the nanosecond. */
static void test_a_recorded_request_without_reads_takes_its_time(void **state)
{
	struct fleet fleet = usual(1);
	struct fleet_figures figures;
	struct fleet_load load;

	(void)state;
	assert_null(read_text(&load, "1000000 7 100 0 0 40 30 0 0 5\n"));
	fleet.load = &load;
	fleet.drives = fleet.fanout = 2;
	figures = figures_of(fleet);
	fleet_load_free(&load);
	assert_int_equal(figures.n, 1);
	assert_float_equal(figures.p50_ms, 0.147, 1e-9);
	assert_float_equal(figures.gap_p50_ms, 0.105, 1e-9);
}

#define RECORDED 400
#define STREAMS 3
#define STREAM_IOS 40

/* Streams of background that end long before the last request. */
static void draw_streams(struct fleet_load *load, u64 *seed)
{
	load->streams = STREAMS;
	load->stream = calloc(STREAMS, sizeof(*load->stream));
	for (u32 i = 0; i < STREAMS; i++) {
		struct fleet_load_stream *stream = &load->stream[i];

		stream->count = STREAM_IOS;
		stream->io = calloc(STREAM_IOS, sizeof(*stream->io));
		for (u32 j = 0; j < STREAM_IOS; j++)
			stream->io[j] = (struct fleet_load_io){
				.gap_ns = next_random(seed) % 5000000,
				.sector = next_random(seed) % 100000,
				.sectors = (u32)(1 + next_random(seed) % 256),
				.shard = (u32)(next_random(seed) % load->shards),
				.write = next_random(seed) % 2,
				.beside = j && next_random(seed) % 2,
			};
	}
}

/* Requests at random times, some of which read nothing, and background. */
static void draw_load(struct fleet_load *load, u64 seed)
{
	u64 due_ns = 0;

	*load = (struct fleet_load){
		.request = calloc(RECORDED, sizeof(*load->request)),
		.count = RECORDED,
		.shards = 1 + next_random(&seed) % 4,
	};
	for (u32 i = 0; i < RECORDED; i++) {
		struct fleet_load_request *request = &load->request[i];

		due_ns += next_random(&seed) % 20000000;
		request->due_ns = due_ns;
		request->tail_ns = next_random(&seed) % 100000;
		request->part = calloc(load->shards, sizeof(*request->part));
		for (u32 j = 0; j < load->shards; j++)
			request->part[j] = (struct fleet_load_part){
				.begin_ns = next_random(&seed) % 1000000,
				.reads = (u32)(next_random(&seed) % 30),
				.think_ns = next_random(&seed) % 3000000,
				.end_ns = next_random(&seed) % 100000,
			};
	}
	/* Whatever is deferred has the time to end. */
	load->request[RECORDED - 1].due_ns += 10 * SECOND;
	draw_streams(load, &seed);
}

/*
 * Under each policy, with any number of clients: all requests, reads and
 * background, no more at a time than there are clients, and none is faster than it was without
 * its reads.
 */
static void test_a_recorded_load_is_replayed_whole(void **state)
{
	u64 seed = fresh_seed("recorded");
	struct fleet fleet = usual(seed % 1000000);
	double least_ms = 0, reads = 0;
	struct fleet_load load;

	(void)state;
	draw_load(&load, seed);
	for (u32 i = 0; i < load.count; i++) {
		double longest_ms = 0;

		for (u32 j = 0; j < load.shards; j++) {
			const struct fleet_load_part *part =
				&load.request[i].part[j];
			/* Up to a nanosecond for each pause is rounded off. */
			double think_ns = part->reads < 2 ? 0 :
					  (double)part->think_ns - part->reads;
			double ms = ((double)part->begin_ns + think_ns +
				     (double)part->end_ns) / 1e6;

			reads += part->reads;
			longest_ms = ms > longest_ms ? ms : longest_ms;
		}
		least_ms += longest_ms + (double)load.request[i].tail_ns / 1e6;
	}
	fleet.load = &load;
	fleet.drives = fleet.fanout = load.shards;
	fleet.begin_ns = 0;
	fleet.end_ns = 3600 * SECOND;
	for (u32 policy = FLEET_NONE; policy <= FLEET_ORACLE_ARRIVAL; policy++) {
		struct fleet_figures figures;

		fleet.policy = policy;
		fleet.clients = (u32)(next_random(&seed) % 4);
		figures = figures_of(fleet);
		assert_int_equal(figures.n, RECORDED);
		assert_int_equal(figures.ios, (u64)reads);
		assert_int_equal(figures.background_ios, STREAMS * STREAM_IOS);
		assert_true(!fleet.clients ||
			    figures.outstanding <= fleet.clients);
		assert_true(figures.mean_ms * RECORDED >= least_ms);
	}
	fleet_load_free(&load);
}

/* Its background is in the way of its requests, and fgio puts it behind them. */
static void test_recorded_background_is_in_the_way(void **state)
{
	struct fleet fleet = usual(fresh_seed("background") % 1000000);
	struct fleet_figures alone, first, last;
	char text[32768] = "1000000 0 0 20 0 0\n";
	struct fleet_load load;

	(void)state;
	assert_null(read_text(&load, text));
	fleet.load = &load;
	fleet.drives = fleet.fanout = 1;
	fleet.policy = FLEET_NONE;
	alone = figures_of(fleet);
	fleet_load_free(&load);
	for (u32 i = 0; i < 600; i++)
		sprintf(text + strlen(text), "%s beside 0 %u 0 %u 64\n",
			i % 2 ? "write" : "read", i ? 0 : 990000, 1024 * i);
	assert_null(read_text(&load, text));
	last = figures_of(fleet);
	fleet.policy = FLEET_UNORDERED;
	first = figures_of(fleet);
	fleet_load_free(&load);
	assert_true(alone.background_mb_s == 0);
	assert_true(last.background_mb_s > 0 && first.background_mb_s > 0);
	assert_true(last.p50_ms > 2 * alone.p50_ms);
	assert_true(first.p50_ms < last.p50_ms);
}

/* What waits for the end of earlier ones is slow with a slow drive. */
static void test_recorded_streams_wait_for_their_drive(void **state)
{
	static const char *const ways[] = { "after", "beside" };
	struct fleet fleet = usual(fresh_seed("streams") % 1000000);
	double mb_s[ARRAY_SIZE(ways)];

	(void)state;
	fleet.drives = fleet.fanout = 1;
	fleet.policy = FLEET_NONE;
	for (u32 way = 0; way < ARRAY_SIZE(ways); way++) {
		char text[16384] = "100000 0 0 0 0 0\n";
		struct fleet_load load;

		for (u32 i = 0; i < 400; i++)
			sprintf(text + strlen(text), "read %s 0 10 0 %u 8\n",
				ways[way], 1024 * i);
		assert_null(read_text(&load, text));
		fleet.load = &load;
		mb_s[way] = figures_of(fleet).background_mb_s;
		fleet_load_free(&load);
	}
	/* A tenth of a second has room for a hundred of them, or for all. */
	assert_true(mb_s[0] > 0);
	assert_true(mb_s[1] > 2 * mb_s[0]);
}

/* What waits for a client counts: with one, latencies are those of a queue. */
static void test_waiting_for_a_client_counts(void **state)
{
	struct fleet fleet = usual(fresh_seed("clients") % 1000000);
	struct fleet_figures all, one;
	struct fleet_load load;

	(void)state;
	assert_null(read_text(&load, "0 0 100000 0 0 0\n"
				     "0 0 100000 0 0 0\n"
				     "0 0 100000 0 0 0\n"));
	fleet.load = &load;
	fleet.drives = fleet.fanout = 1;
	fleet.begin_ns = 0;
	all = figures_of(fleet);
	fleet.clients = 1;
	one = figures_of(fleet);
	fleet_load_free(&load);
	assert_float_equal(all.mean_ms, 100, 1e-6);
	assert_float_equal(one.mean_ms, 200, 1e-6);
	assert_float_equal(one.p999_ms, 300, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_seed_same_figures),
		cmocka_unit_test(test_policies_have_the_same_requests),
		cmocka_unit_test(test_one_part_has_no_gap),
		cmocka_unit_test(test_without_ids_there_is_no_order),
		cmocka_unit_test(test_faults_leave_no_request_behind),
		cmocka_unit_test(test_a_bad_recording_is_refused),
		cmocka_unit_test(
			test_a_recorded_request_without_reads_takes_its_time),
		cmocka_unit_test(test_a_recorded_load_is_replayed_whole),
		cmocka_unit_test(test_recorded_background_is_in_the_way),
		cmocka_unit_test(test_recorded_streams_wait_for_their_drive),
		cmocka_unit_test(test_waiting_for_a_client_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
