// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What holds for every timing model under any load: commands, time, flushes,
 * seeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "model_host.h"

#define MIB_SECTORS 2048ull
#define GIB_SECTORS (1024 * MIB_SECTORS)

static u64 first_seed;

/* All options of a measured drive, so that each part meets the others. */
static const char everything_measured[] =
	"measured:parallel=24,iops=9k,read_iops=8k,write_iops=4k,bytes_per_s=400M,read_bytes_per_s=300M,write_bytes_per_s=200M,read_scaling=1.9/3.5/6/9.25/10/10/9,write_scaling=0.5/0.6/1/2/2/2/2,read_stream=500M,write_stream=80M,flush_times=0us/1us/2us/30us/40us/50us/60us/1ms/2ms/30ms,volatile_cache=on,sigma=0.3,tail_share=1%,swing=0.5";

/*
 * Every kind by its name, a measured drive with all it may have, then the
 * presets; then NULL.
 */
static const char *drive(u32 number)
{
	const struct simdisk_preset *preset;

	if (number < SIMDISK_KINDS)
		return simdisk_name((enum simdisk_kind)number);
	if (number == SIMDISK_KINDS)
		return everything_measured;
	preset = simdisk_preset(number - SIMDISK_KINDS - 1);
	return preset ? preset->name : NULL;
}

static void start(struct host *host, const char *spec, u64 capacity, u64 seed)
{
	struct simdisk_parameters parameters = host_parsed(spec);

	host_start(host, &parameters, capacity, seed);
}

/* Any command, with a liking for neighbours and repeats. */
static struct simdisk_request any_request(struct host *host, u64 number)
{
	struct simdisk_request request = { .operation = SIMDISK_READ };
	u64 choice = host_random(host, 100);

	(void)number;
	request.sectors = 1 + (u32)host_random(host, host_random(host, 4) ? 64 :
					       host->parameters.max_sectors);
	if (request.sectors > host->capacity)
		request.sectors = (u32)host->capacity;
	request.sector = host_random(host, host->capacity - request.sectors + 1);
	if (host_random(host, 2) && host->capacity > 20000 + request.sectors)
		request.sector = host_random(host, 20000);
	request.hw_queue = (u16)host_random(host, host->parameters.hw_queues);
	request.priority = host_random(host, 4) == 0;
	if (choice < 45) {
		request.operation = SIMDISK_WRITE;
		request.fua = choice < 4;
	} else if (choice < 50) {
		request.operation = SIMDISK_FLUSH;
		request.sectors = 0;
	} else if (choice < 53) {
		request.operation = SIMDISK_DISCARD;
	}
	return request;
}

static u32 free_slot(struct host *host, const bool *taken, u16 queue)
{
	u32 depth = host->parameters.queue_depth;

	for (u32 slot = queue * depth; slot < (queue + 1u) * depth; slot++) {
		if (!taken[slot])
			return slot;
	}
	return SIMDISK_NO_SLOT;
}

/*
 * Random commands, random steps of time: each command completes once, in order,
 * in time.
 */
static void run_random(const char *spec, u64 capacity, u64 seed, u64 count_all)
{
	struct host host;
	bool *taken;
	u64 completed = 0, submitted = 0, last = 0;

	start(&host, spec, capacity, seed);
	taken = calloc(host.slots, sizeof(*taken));
	while (completed < count_all) {
		struct simdisk_completion completions[5];
		u32 limit = 1 + (u32)host_random(&host, 5), count;

		for (u64 i = host_random(&host, 8); i && submitted < count_all; i--) {
			struct simdisk_request request = any_request(&host, 0);
			u32 slot = free_slot(&host, taken, request.hw_queue);

			if (slot == SIMDISK_NO_SLOT)
				break;
			CHECK(simdisk_submit(host.model, host.now, slot, &request));
			CHECK(!simdisk_submit(host.model, host.now, slot, &request));
			host.submitted[slot] = host.now;
			taken[slot] = true;
			submitted++;
		}
		if (host_random(&host, 3))
			host.now += host_random(&host, 1ull << host_random(&host, 26));
		else if (simdisk_next_event(host.model) != SIMDISK_NEVER &&
			 simdisk_next_event(host.model) > host.now)
			host.now = simdisk_next_event(host.model);
		count = simdisk_advance(host.model, host.now, completions, limit);
		CHECK(count <= limit);
		for (u32 i = 0; i < count; i++) {
			CHECK(taken[completions[i].slot]);
			CHECK(completions[i].time_ns >= host.submitted[completions[i].slot]);
			CHECK(completions[i].time_ns >= last && completions[i].time_ns <= host.now);
			last = completions[i].time_ns;
			taken[completions[i].slot] = false;
		}
		completed += count;
		CHECK(simdisk_outstanding(host.model) == submitted - completed);
		/* Nothing is left to do at a time that has passed. */
		CHECK(count == limit || simdisk_next_event(host.model) > host.now);
		CHECK(submitted == completed || simdisk_next_event(host.model) != SIMDISK_NEVER);
	}
	free(taken);
	host_stop(&host);
}

static void test_random_commands(void **state)
{
	const u64 capacities[] = { MIB_SECTORS, 64 * MIB_SECTORS + 5, 1000 * GIB_SECTORS };

	(void)state;
	for (u32 number = 0; drive(number); number++)
		for (u32 i = 0; i < 3; i++)
			for (u64 j = 0; j < (number < SIMDISK_KINDS ? 4 : 1); j++)
				run_random(drive(number), capacities[i],
					   first_seed + j, 4000);
}

/*
 * A parameter of the table, from the help: " NAME what: unit, LEAST to MOST".
 */
struct bounds {
	char name[32];
	char least[24];
	char most[24];
};

static u32 all_bounds(struct bounds *bounds, u32 most)
{
	char line[SIMDISK_TEXT_BYTES];
	u32 count = 0, part = 0;
	int fields;

	for (u32 i = 0; simdisk_help(i, line, sizeof(line)); i++) {
		const char *to = strstr(line, " to "), *comma = strrchr(line, ',');

		part += !strncmp(line, "Parameters of", 13);
		if (!part || strncmp(line, "  ", 2) || strstr(line, " with / between"))
			continue;
		assert_true(count < most);
		bounds[count] = (struct bounds) { .least = "off", .most = "on" };
		fields = sscanf(line, " %31s", bounds[count].name);
		assert_int_equal(fields, 1);
		while (to && strstr(to + 1, " to "))
			to = strstr(to + 1, " to ");
		if (to && comma && comma < to)
			fields = sscanf(comma, ", %23s to %23s", bounds[count].least,
					bounds[count].most);
		assert_in_range(fields, 1, 2);
		count++;
	}
	return count;
}

/* "NAME=VALUE" of any parameter that the kind has, at a bound of it. */
static void any_setting(const struct bounds *bounds, u32 count, const char *kind, u64 *random,
			char *setting, size_t bytes)
{
	struct simdisk_parameters parameters;
	char spec[100], error[SIMDISK_TEXT_BYTES];

	do {
		const struct bounds *one = &bounds[next_random(random) % count];

		snprintf(setting, bytes, "%s=%s", one->name,
			 next_random(random) % 2 ? one->least : one->most);
		snprintf(spec, sizeof(spec), "%s:%s", kind, setting);
	} while (!simdisk_parse(&parameters, spec, error, sizeof(error)) &&
		 strstr(error, "is no parameter of"));
}

/*
 * Any kind with a few of its parameters at their bounds either is refused or
 * works: commands complete, in order of time, and nothing overflows under the
 * sanitizers.
 */
static void test_parameters_at_their_bounds(void **state)
{
	static struct bounds bounds[160];
	u64 random = fresh_seed("bounds");
	u32 count = all_bounds(bounds, ARRAY_SIZE(bounds)), accepted = 0;

	(void)state;
	for (int round = 0; round < 1200; round++) {
		struct simdisk_parameters parameters;
		char spec[200], error[SIMDISK_TEXT_BYTES];
		const char *kind = simdisk_name(next_random(&random) % SIMDISK_KINDS);
		int length = snprintf(spec, sizeof(spec), "%s", kind);
		u32 changes = 1 + next_random(&random) % 3;

		for (u32 i = 0; i < changes; i++) {
			char setting[60];

			any_setting(bounds, count, kind, &random, setting, sizeof(setting));
			length += snprintf(spec + length, sizeof(spec) - (size_t)length, "%c%s",
					   i ? ',' : ':', setting);
		}
		if (!simdisk_parse(&parameters, spec, error, sizeof(error)) ||
		    simdisk_bytes(&parameters) > (4u << 20))
			continue;
		accepted++;
		run_random(spec, GIB_SECTORS, next_random(&random), 100);
	}
	printf("    %u parameters, %u accepted\n", count, accepted);
	assert_true(count > 90 && accepted > 500);
}

static u64 print_of(const char *spec, u64 disk_seed, u64 host_seed)
{
	struct host host;
	u64 print;

	start(&host, spec, 100 * GIB_SECTORS, disk_seed);
	host.random = host_seed;
	host_run(&host, any_request, 1, 200);
	for (u32 depth = 2; depth <= 16; depth *= 2) {
		for (int i = 0; i < 500; i++) {
			struct simdisk_request request = any_request(&host, 0);
			u32 slot;

			host_submit(&host, &request);
			if (simdisk_outstanding(host.model) < depth)
				continue;
			slot = host_wait(&host);
			host.submitted[slot] = SIMDISK_NEVER;
		}
	}
	print = host.print;
	host_stop(&host);
	return print;
}

static void test_same_seed_same_figures(void **state)
{
	(void)state;
	for (u32 number = 0; drive(number); number++) {
		const char *spec = drive(number);
		u64 print = print_of(spec, first_seed, first_seed);

		assert_true(print == print_of(spec, first_seed, first_seed));
		assert_true(print != print_of(spec, first_seed + 1, first_seed));
		assert_true(print != print_of(spec, first_seed, first_seed + 1));
	}
}

enum { SCHEDULE = 1500 };

struct schedule {
	struct host host;
	u32 command[65536];	/* by slot */
	u64 completed[SCHEDULE];
};

static u32 collect(struct schedule *schedule, u64 now)
{
	struct simdisk_completion completions[8];
	u32 count = simdisk_advance(schedule->host.model, now, completions, 8);

	for (u32 i = 0; i < count; i++) {
		u32 slot = completions[i].slot;

		schedule->completed[schedule->command[slot]] = completions[i].time_ns;
		schedule->host.submitted[slot] = SIMDISK_NEVER;
	}
	return count;
}

/*
 * A fixed schedule, whose caller looks at every event, or only when a slot is
 * not free.
 */
static void follow_schedule(struct schedule *schedule, const char *spec, bool often)
{
	struct host *host = &schedule->host;
	u64 time = 0, order = first_seed;

	start(host, spec, 100 * GIB_SECTORS, first_seed);
	for (u32 i = 0; i < SCHEDULE; i++) {
		struct simdisk_request request = any_request(host, 0);
		u32 depth = host->parameters.queue_depth;
		u32 slot = request.hw_queue * depth + i % depth;

		time += next_random(&order) % 10000000;
		while (often && simdisk_next_event(host->model) < time)
			collect(schedule, simdisk_next_event(host->model));
		while ((often || host->submitted[slot] != SIMDISK_NEVER) &&
		       collect(schedule, time))
			;
		if (host->submitted[slot] != SIMDISK_NEVER)
			continue;
		host->submitted[slot] = time;
		schedule->command[slot] = i;
		assert_true(simdisk_submit(host->model, time, slot, &request));
	}
	while (collect(schedule, time + 1000000000000ull))
		;
	assert_int_equal(simdisk_outstanding(host->model), 0);
	host_stop(host);
}

static void test_looking_changes_nothing(void **state)
{
	static struct schedule often, seldom;

	(void)state;
	for (u32 number = 0; drive(number); number++) {
		memset(&often, 0, sizeof(often));
		memset(&seldom, 0, sizeof(seldom));
		follow_schedule(&often, drive(number), true);
		follow_schedule(&seldom, drive(number), false);
		assert_memory_equal(often.completed, seldom.completed, sizeof(often.completed));
	}
}

/*
 * When a flush completes, all that is still volatile was not complete when the
 * flush came: it is at most what was written since, or still in flight then;
 * times @copies in an array's members.
 */
static void check_flushes(const char *spec, u64 copies, u64 seed)
{
	struct host host;
	u64 unsafe = 0, in_flight = 0;
	u32 flush = SIMDISK_NO_SLOT, flushes = 0;

	start(&host, spec, 100 * GIB_SECTORS, seed);
	while (flushes < 60) {
		u32 depth = 1 + (u32)host_random(&host, host.parameters.queue_depth - 2), slot;
		struct simdisk_request request = {
			SIMDISK_WRITE, host_random(&host, host.capacity / 8) * 8, 8, false, 0, 0,
		};

		if (flush == SIMDISK_NO_SLOT && !host_random(&host, 40)) {
			request = (struct simdisk_request) { SIMDISK_FLUSH, 0, 0, false, 0, 0 };
			flush = host_submit(&host, &request);
			unsafe = in_flight;
			continue;
		}
		if (simdisk_outstanding(host.model) < depth) {
			host_submit(&host, &request);
			in_flight += 8;
			unsafe += 8;
			continue;
		}
		slot = host_wait(&host);
		host.submitted[slot] = SIMDISK_NEVER;
		if (slot == flush) {
			assert_true(simdisk_volatile_sectors(host.model) <= unsafe * copies);
			flush = SIMDISK_NO_SLOT;
			flushes++;
		} else {
			in_flight -= 8;
		}
	}
	host_stop(&host);
}

static void test_flush_makes_earlier_writes_durable(void **state)
{
	(void)state;
	for (u64 i = 0; i < 3; i++) {
		check_flushes("hdd", 1, first_seed + i);
		check_flushes("ssd", 1, first_seed + i);
		check_flushes("hdd-raid:level=0", 1, first_seed + i);
		check_flushes("hdd-raid:level=5", 2, first_seed + i);
		check_flushes("ssd-raid:level=10", 2, first_seed + i);
		check_flushes("nvme-consumer", 1, first_seed + i);
		check_flushes("smr-spent:smr_cache=1Mi", 1, first_seed + i);
	}
}

/*
 * Alone, with 40 writes complete before it, a flush leaves nothing and takes
 * the media's time.
 */
static void test_flush_takes_time(void **state)
{
	(void)state;
	for (int kind = SIMDISK_HDD; kind <= SIMDISK_SSD; kind++) {
		const char *spec = simdisk_name((enum simdisk_kind)kind);
		struct simdisk_request flush = { SIMDISK_FLUSH, 0, 0, false, 0, 0 };
		struct host host;
		u64 begin;
		u32 slot;

		start(&host, spec, 100 * GIB_SECTORS, 5);
		for (int i = 0; i < 40; i++) {
			struct simdisk_request request = {
				SIMDISK_WRITE, host_random(&host, host.capacity / 8) * 8, 8, false,
				0, 0,
			};

			slot = host_submit(&host, &request);
			assert_int_equal(host_wait(&host), slot);
			host.submitted[slot] = SIMDISK_NEVER;
		}
		begin = host.now;
		slot = host_submit(&host, &flush);
		assert_int_equal(host_wait(&host), slot);
		assert_int_equal(simdisk_volatile_sectors(host.model), 0);
		/*
		 * 40 scattered writes seek 39 times at least; 40 pages need one
		 * program and more.
		 */
		assert_true(host.now - begin >= (kind == SIMDISK_HDD ? 39 * 1700000ull : 600000));
		host_stop(&host);
	}
}

static void test_forced_write_is_durable(void **state)
{
	static const char *const specs[] = {
		"hdd", "ssd", "hdd-raid:level=5", "ssd-raid:level=10", "nvme-consumer",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct simdisk_request forced = { SIMDISK_WRITE, 1234567, 8, true, 0, 0 };
		struct host host;
		u32 slot;

		start(&host, specs[i], 100 * GIB_SECTORS, 5);
		slot = host_submit(&host, &forced);
		assert_int_equal(host_wait(&host), slot);
		assert_int_equal(simdisk_volatile_sectors(host.model), 0);
		assert_true(host.now >= 400000);
		host_stop(&host);
	}
}

static void test_bad_submissions_are_refused(void **state)
{
	(void)state;
	for (u32 number = 0; drive(number); number++) {
		struct simdisk_request request = { SIMDISK_READ, 0, 8, false, 0, 0 };
		struct simdisk_request bad;
		struct host host;

		start(&host, drive(number), GIB_SECTORS, 1);
		assert_false(simdisk_submit(host.model, 0, host.slots, &request));
		bad = request;
		bad.hw_queue = (u16)host.parameters.hw_queues;
		assert_false(simdisk_submit(host.model, 0, 0, &bad));
		bad = request;
		bad.sectors = 0;
		assert_false(simdisk_submit(host.model, 0, 0, &bad));
		bad = request;
		bad.sector = GIB_SECTORS - 7;
		assert_false(simdisk_submit(host.model, 0, 0, &bad));
		bad.sector = (u64)-1;
		assert_false(simdisk_submit(host.model, 0, 0, &bad));
		bad = request;
		bad.operation = SIMDISK_OPERATIONS;
		assert_false(simdisk_submit(host.model, 0, 0, &bad));
		assert_int_equal(simdisk_outstanding(host.model), 0);
		assert_true(simdisk_submit(host.model, 0, 0, &request));
		host_stop(&host);
	}
}

static void refused(enum simdisk_kind kind, u32 hw_queues, u32 queue_depth, u64 capacity)
{
	struct simdisk_parameters parameters;

	simdisk_defaults(&parameters, kind);
	parameters.hw_queues = hw_queues;
	parameters.queue_depth = queue_depth;
	assert_non_null(simdisk_check(&parameters, capacity));
}

static void test_bad_parameters_are_refused(void **state)
{
	(void)state;
	refused(SIMDISK_HDD, 2, 32, GIB_SECTORS);
	refused(SIMDISK_SSD, 1, 33, GIB_SECTORS);
	refused(SIMDISK_NVME, 65, 256, GIB_SECTORS);
	refused(SIMDISK_NVME, 0, 256, GIB_SECTORS);
	refused(SIMDISK_VOLUME, 1, 0, GIB_SECTORS);
	refused(SIMDISK_VOLUME, 1, 1025, GIB_SECTORS);
	refused(SIMDISK_VOLUME, 1, 128, 2047);
	refused(SIMDISK_VOLUME, 1, 128, (1ull << 36) + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_commands),
		cmocka_unit_test(test_parameters_at_their_bounds),
		cmocka_unit_test(test_same_seed_same_figures),
		cmocka_unit_test(test_looking_changes_nothing),
		cmocka_unit_test(test_flush_makes_earlier_writes_durable),
		cmocka_unit_test(test_flush_takes_time),
		cmocka_unit_test(test_forced_write_is_durable),
		cmocka_unit_test(test_bad_submissions_are_refused),
		cmocka_unit_test(test_bad_parameters_are_refused),
	};

	first_seed = fresh_seed("any load");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
