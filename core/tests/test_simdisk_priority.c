// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What NCQ priority changes in the SATA disks, what it may not, and that no
 * command starves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "check.h"
#include "model_host.h"

#define GIB_SECTORS (2048ull * 1024)
#define TIB_SECTORS (1024 * GIB_SECTORS)

static u64 seed;
#define SATA_DEPTH 32u

/* Figures of the commands of one class. */
struct served {
	u64 count;
	u64 latency_sum;
	u64 latency_max;
};

static void start(struct host *host, enum simdisk_kind kind, bool priority_command)
{
	struct simdisk_parameters parameters;

	simdisk_defaults(&parameters, kind);
	parameters.priority_command = priority_command;
	host_start(host, &parameters, kind == SIMDISK_HDD ? TIB_SECTORS : GIB_SECTORS,
		   seed);
}

static void submit(struct host *host, enum simdisk_operation operation, bool high)
{
	struct simdisk_request request = {
		.operation = operation,
		.sector = host_random(host, host->capacity / 8) * 8,
		.sectors = 8,
		.priority = high,
	};

	host_submit(host, &request);
}

/*
 * Keeps @normal and @high reads in the disk; served[1] are those of high
 * priority.
 */
static void run_reads(struct host *host, u32 normal, u32 high, u64 count, struct served *served)
{
	served[0] = served[1] = (struct served) { 0 };
	for (u32 i = 0; i < normal + high; i++)
		submit(host, SIMDISK_READ, i < high);
	for (; count; count--) {
		u32 slot = host_wait(host);
		bool was_high = host->request[slot].priority;
		struct served *one = &served[was_high];
		u64 latency = host->now - host->submitted[slot];

		one->count++;
		one->latency_sum += latency;
		if (latency > one->latency_max)
			one->latency_max = latency;
		host->submitted[slot] = SIMDISK_NEVER;
		submit(host, SIMDISK_READ, was_high);
	}
}

static double mean_ns(const struct served *served)
{
	return (double)served->latency_sum / (double)served->count;
}

/*
 * One command of a kind, beside a full queue of others: with priority, it waits
 * for none of them.
 */
static void check_lone_read(enum simdisk_kind kind, double waits_for)
{
	struct served with[2], without[2], alone[2];
	struct host host;

	start(&host, kind, true);
	run_reads(&host, 0, 1, 2000, alone);
	host_stop(&host);
	start(&host, kind, true);
	run_reads(&host, SATA_DEPTH - 1, 1, 40000, with);
	host_stop(&host);
	start(&host, kind, false);
	run_reads(&host, SATA_DEPTH - 1, 1, 40000, without);
	host_stop(&host);
	printf("    %s: alone %.0f us, with priority %.0f, without %.0f\n", simdisk_name(kind),
	       mean_ns(&alone[1]) / 1e3, mean_ns(&with[1]) / 1e3, mean_ns(&without[1]) / 1e3);
	assert_true(mean_ns(&with[1]) <= mean_ns(&alone[1]) * (1 + waits_for));
	assert_true(mean_ns(&without[1]) >= 2 * mean_ns(&with[1]));
}

/* The arm is never idle: one command is under way when the next one comes. */
static void test_hdd_goes_first(void **state)
{
	(void)state;
	check_lone_read(SIMDISK_HDD, 1.0);
}

/* At most the read under way on its die, and a place in line for the link. */
static void test_ssd_goes_first(void **state)
{
	(void)state;
	check_lone_read(SIMDISK_SSD, 1.0);
}

/*
 * However deep the high commands are, a normal one waits little longer than the
 * age says.
 */
static void check_no_starvation(enum simdisk_kind kind, u64 slack_ns)
{
	struct served served[2];
	struct host host;
	u64 age_ns;

	start(&host, kind, true);
	age_ns = host.parameters.priority_age_ns;
	run_reads(&host, SATA_DEPTH / 2, SATA_DEPTH / 2, 100000, served);
	printf("    %s: %llu normal beside %llu high, longest %.1f and %.1f ms\n",
	       simdisk_name(kind), (unsigned long long)served[0].count,
	       (unsigned long long)served[1].count, (double)served[0].latency_max / 1e6,
	       (double)served[1].latency_max / 1e6);
	assert_true(served[0].latency_max <= age_ns + slack_ns);
	/*
	 * Ageing alone moves half a queue in each age; more would be no
	 * priority.
	 */
	assert_true((double)served[0].count >=
		    0.5 * SATA_DEPTH / 2 * (double)host.now / (double)(age_ns + slack_ns));
	assert_true(served[1].count > served[0].count);
	host_stop(&host);
}

/*
 * Aged commands compete by position, as all do without priority: see
 * test_hdd_no_starvation.
 */
static void test_hdd_no_starvation(void **state)
{
	(void)state;
	check_no_starvation(SIMDISK_HDD, 1000000000);
}

static void test_ssd_no_starvation(void **state)
{
	(void)state;
	check_no_starvation(SIMDISK_SSD, 5000000);
}

static u64 print_of(enum simdisk_kind kind, bool command, u32 normal, u32 high)
{
	struct served served[2];
	struct host host;
	u64 print;

	start(&host, kind, command);
	run_reads(&host, normal, high, 20000, served);
	print = host.print;
	host_stop(&host);
	return print;
}

/*
 * Without the command the bit means nothing; and if all commands have it, none
 * gains.
 */
static void test_priority_is_relative(void **state)
{
	(void)state;
	for (int kind = 0; kind <= SIMDISK_SSD; kind++) {
		assert_true(print_of(kind, false, 16, 16) == print_of(kind, false, 32, 0));
		assert_true(print_of(kind, true, 0, 32) == print_of(kind, true, 32, 0));
		assert_true(print_of(kind, true, 16, 16) != print_of(kind, true, 32, 0));
	}
}

/*
 * How many writes that wait for room in the cache were served before the last
 * one of all.
 */
static u32 overtaken_by_last_write(enum simdisk_kind kind, bool high)
{
	struct host host;
	u32 before = 0, last;

	start(&host, kind, true);
	/* The cache fills up first: then writes wait for its drain. */
	for (int i = 0; i < 40000; i++) {
		u32 slot;

		submit(&host, SIMDISK_WRITE, false);
		if (i < (int)SATA_DEPTH - 2)
			continue;
		slot = host_wait(&host);
		host.submitted[slot] = SIMDISK_NEVER;
	}
	submit(&host, SIMDISK_WRITE, high);
	for (last = 0; host.submitted[last] != host.now; last++)
		;
	for (;;) {
		u32 slot = host_wait(&host);

		if (slot == last)
			break;
		host.submitted[slot] = SIMDISK_NEVER;
		before++;
	}
	host_stop(&host);
	return before;
}

static void test_write_goes_first(void **state)
{
	(void)state;
	for (int kind = 0; kind <= SIMDISK_SSD; kind++) {
		u32 normal = overtaken_by_last_write(kind, false);
		u32 high = overtaken_by_last_write(kind, true);

		printf("    %s: a write waits for %u others, with priority for %u\n",
		       simdisk_name(kind), normal, high);
		assert_true(normal >= SATA_DEPTH - 3);
		/*
		 * Those that the last program of the flash made room for are on
		 * their way.
		 */
		assert_true(high <= normal / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hdd_goes_first),
		cmocka_unit_test(test_ssd_goes_first),
		cmocka_unit_test(test_hdd_no_starvation),
		cmocka_unit_test(test_ssd_no_starvation),
		cmocka_unit_test(test_priority_is_relative),
		cmocka_unit_test(test_write_goes_first),
	};

	seed = fresh_seed("priorities");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
