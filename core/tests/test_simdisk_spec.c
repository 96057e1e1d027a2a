// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Specs of drives: their meaning, what they refuse, and that plain names mean
 * what they did.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "model_host.h"

#define GIB_SECTORS (2048ull * 1024)

static struct simdisk_request any_io(struct host *host, u64 number)
{
	static const u32 lengths[] = { 8, 8, 32, 128, 512 };
	u64 choice = host_random(host, 100);
	struct simdisk_request request = {
		.operation = choice < 50 ? SIMDISK_READ : choice < 97 ? SIMDISK_WRITE :
			     choice < 99 ? SIMDISK_FLUSH : SIMDISK_DISCARD,
		.sectors = lengths[host_random(host, ARRAY_SIZE(lengths))],
		.hw_queue = (u16)host_random(host, host->parameters.hw_queues),
		.priority = host_random(host, 8) == 0,
	};

	request.sector = number % 3 ? host_random(host, host->capacity / 512) * 512 :
			 number * 8 % (host->capacity / 2);
	if (request.operation == SIMDISK_FLUSH)
		request.sectors = 0;
	return request;
}

/*
 * The figures of plain names before there were specs: hashes of all completions
 * and their times, taken from commit 15fd5ea; measured drives, from 437b13d,
 * before several commands could share one. Figures in docs/results come from
 * these drives, so a change that moves one must be meant; no test could work
 * out the hashes from the code that it tests.
 */
static const struct {
	const char *spec;
	u64 seed;
	u64 print;
} unchanged[] = {
	{ "hdd", 1, 0x11021dd265766343ull },
	{ "hdd", 2, 0x22d363dd8c928d6cull },
	{ "hdd", 3, 0xdce23c47810ce995ull },
	{ "ssd", 1, 0x97e50704afb4563cull },
	{ "ssd", 2, 0x55ebf29b159d86aeull },
	{ "ssd", 3, 0x101533bb28bbb09cull },
	{ "volume", 1, 0x27e163ce78ba66a7ull },
	{ "volume", 2, 0x4ae4c3a4641b25acull },
	{ "volume", 3, 0xde0cb386648fa4a3ull },
	{ "nvme", 1, 0x09fb664c963a94ccull },
	{ "nvme", 2, 0xaae3937756986c3cull },
	{ "nvme", 3, 0x1cf51c998aea2de3ull },
	{ "measured", 1, 0x250c43e13f430b58ull },
	{ "measured:parallel=4,iops=20k,bytes_per_s=300M,flush=2ms", 1, 0xc50e31c758694e90ull },
	{ "measured:parallel=16,sigma=0.5,iops=900", 1, 0xf8d580c82177759full },
};

static u64 print_of(const char *spec, u64 seed)
{
	struct simdisk_parameters parameters = host_parsed(spec);
	struct host host;
	u64 print;

	host_start(&host, &parameters, 64 * GIB_SECTORS, seed);
	host_run(&host, any_io, 1, 300);
	host_run(&host, any_io, 16, 3000);
	print = host.print;
	host_stop(&host);
	return print;
}

static void test_plain_names_are_unchanged(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(unchanged); i++)
		assert_int_equal(print_of(unchanged[i].spec, unchanged[i].seed),
				 unchanged[i].print);
}

static void test_values_are_read(void **state)
{
	struct simdisk_parameters read;

	(void)state;
	read = host_parsed("volume:iops=16k,sigma=0.5,latency=0.25ms,bytes_per_s=1.5G,io_size=64Ki");
	assert_int_equal(read.kind, SIMDISK_VOLUME);
	assert_int_equal(read.volume.iops, 16000);
	assert_int_equal(read.variation.sigma_ppm, 500000);
	assert_int_equal(read.volume.latency_ns, 250000);
	assert_int_equal(read.volume.bytes_per_s, 1500000000);
	assert_int_equal(read.volume.io_bytes, 65536);
	assert_int_equal(read.volume.jitter_mean_ns, 100000);
	read = host_parsed("hdd:rotation=11.111111ms,cache=16Mi,volatile_cache=off,tail_share=3%");
	assert_int_equal(read.hdd.rotation_ns, 11111111);
	assert_int_equal(read.hdd.cache_sectors, 32768);
	assert_int_equal(read.variation.tail_share_ppm, 30000);
	assert_false(read.volatile_cache);
	read = host_parsed("ssd:dies=16,cache=4Mi,priority=0,flush=0");
	assert_int_equal(read.flash.dies, 16);
	assert_int_equal(read.flash.cache_pages, 1024);
	assert_int_equal(read.flash.flush_ns, 0);
	assert_false(read.priority_command);
}

static void test_lists_are_read(void **state)
{
	struct simdisk_parameters read = host_parsed(
		"measured:write_scaling=1.9/3.5/6/9.25/10/10/9,read_iops=5k,write_bytes_per_s=80M,read_stream=200M,flush_times=1us/2us/3us/4us/5us/6us/7us/8us/9us/1s");

	(void)state;
	assert_int_equal(read.measured.scaling_ppm[0][0], 0);
	assert_int_equal(read.measured.scaling_ppm[1][0], 1900000);
	assert_int_equal(read.measured.scaling_ppm[1][3], 9250000);
	assert_int_equal(read.measured.scaling_ppm[1][6], 9000000);
	assert_int_equal(read.measured.side_iops[0], 5000);
	assert_int_equal(read.measured.side_iops[1], 0);
	assert_int_equal(read.measured.side_bytes_per_s[1], 80000000);
	assert_int_equal(read.measured.stream_bytes_per_s[0], 200000000);
	assert_int_equal(read.measured.flush_quantile_ns[0], 1000);
	assert_int_equal(read.measured.flush_quantile_ns[9], 1000000000);
}

static const struct {
	const char *spec;
	const char *says;	/* part of the message */
} refused[] = {
	{ "", "is no drive; there are: hdd ssd volume nvme" },
	{ "floppy", "floppy is no drive; there are: hdd" },
	{ "hdd2", "hdd2 is no drive" },
	{ "hd", "hd is no drive" },
	{ ":iops=1", " is no drive" },
	{ "volume:", "is no parameter of volume; there are: sigma tail_share" },
	{ "volume:iops", "iops= is not accepted; give a number, 1 to 100M" },
	{ "volume:iops=", "iops= is not accepted" },
	{ "volume:iops=0", "iops=0 is not accepted; give a number, 1 to 100M" },
	{ "volume:iops=1,", "is no parameter of volume" },
	{ "volume:iops=-1", "iops=-1 is not accepted" },
	{ "volume:iops=1.", "iops=1. is not accepted" },
	{ "volume:iops=1K", "iops=1K is not accepted" },
	{ "volume:iops=99999999999999999999999", "is not accepted" },
	{ "volume:bytes_per_s=2000000000G", "is not accepted" },
	{ "volume:sigma=1.6", "give a decimal number or %, 0 to 1.5" },
	{ "volume:swing=1", "swing=1 is not accepted" },
	{ "volume:latency=5", "give a time in ns, us, ms or s, 0ns to 4s" },
	{ "volume:dies=4", "dies is no parameter of volume" },
	{ "hdd:iops=4", "iops is no parameter of hdd" },
	{ "hdd:fua=yes", "fua=yes is not accepted; give on or off" },
	{ "hdd:cache=100", "cache=100 is not accepted" },
	{ "measured:read_scaling=1/2/3/4/5/6", "give seven numbers with / between" },
	{ "measured:read_scaling=1/2/3/4/5/6/7/8", "give seven numbers" },
	{ "measured:read_scaling=1/2/3/4/5/6/", "give seven numbers" },
	{ "measured:read_scaling=0/2/3/4/5/6/7", "0.01 to 1000" },
	{ "measured:read_scaling=1ms/2/3/4/5/6/7", "give seven numbers" },
	{ "measured:flush_times=1s", "give ten times with / between" },
	{ "measured:flush_times=2s/1s/1s/1s/1s/1s/1s/1s/1s/3s", "quantiles of a flush must not fall" },
	{ "measured:read_stream=10k", "read_stream and write_stream must be 0 or at least 1M" },
	{ "volume:read_stream=10M", "read_stream is no parameter of volume" },
	{ "hdd:hw_queues=2", "hw_queues must be 1" },
	{ "hdd:outer_bytes_per_s=10M", "outer_bytes_per_s must be at least inner_bytes_per_s" },
};

static void test_mistakes_are_told(void **state)
{
	struct simdisk_parameters parameters;
	char error[SIMDISK_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_false(simdisk_parse(&parameters, refused[i].spec, error, sizeof(error)));
		if (!strstr(error, refused[i].says))
			fail_msg("%s: \"%s\" lacks \"%s\"", refused[i].spec, error,
				 refused[i].says);
	}
}

/* A message that is too long is cut, and the buffer's end is respected. */
static void test_messages_fit(void **state)
{
	struct simdisk_parameters parameters;
	char error[SIMDISK_TEXT_BYTES];

	(void)state;
	for (size_t bytes = 0; bytes < sizeof(error); bytes++) {
		memset(error, 'x', sizeof(error));
		assert_false(simdisk_parse(&parameters, "floppy", error, bytes));
		if (bytes)
			assert_true(strlen(error) < bytes);
		for (size_t i = bytes; i < sizeof(error); i++)
			assert_int_equal(error[i], 'x');
	}
}

/*
 * Bytes by chance and specs with one byte changed: read or refused, and nothing
 * else.
 */
static void test_any_text(void **state)
{
	static const char good[] = "volume:iops=16000,sigma=0.5,latency=500us";
	u64 random = fresh_seed("any text");
	struct simdisk_parameters parameters;
	char error[SIMDISK_TEXT_BYTES], spec[64];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t length = next_random(&random) % sizeof(spec);

		if (round % 2) {
			memcpy(spec, good, sizeof(good));
			spec[next_random(&random) % (sizeof(good) - 1)] =
				(char)next_random(&random);
		} else {
			fill_random(&random, (uint8_t *)spec, length);
			spec[length < sizeof(spec) ? length : 0] = '\0';
		}
		if (simdisk_parse(&parameters, spec, error, sizeof(error)))
			assert_null(simdisk_check(&parameters, GIB_SECTORS));
		else
			assert_true(strlen(error) > 10);
	}
}

static void test_help(void **state)
{
	char line[SIMDISK_TEXT_BYTES];
	u32 lines = 0;
	bool sigma = false, network = false;

	(void)state;
	while (simdisk_help(lines, line, sizeof(line))) {
		assert_true(strlen(line) > 2 && strlen(line) < sizeof(line) - 1);
		sigma |= !strncmp(line, "  sigma ", 8);
		network |= !strncmp(line, "  network ", 10);
		lines++;
	}
	assert_true(sigma && network && lines > 60);
}

static void test_presets(void **state)
{
	const struct simdisk_preset *preset;

	(void)state;
	for (u32 i = 0; (preset = simdisk_preset(i)); i++) {
		host_parsed(preset->name);
		assert_true(strlen(preset->what) > 10 && strlen(preset->source) > 3);
		for (u32 other = 0; other < i; other++)
			assert_string_not_equal(preset->name, simdisk_preset(other)->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_names_are_unchanged),
		cmocka_unit_test(test_values_are_read),
		cmocka_unit_test(test_lists_are_read),
		cmocka_unit_test(test_mistakes_are_told),
		cmocka_unit_test(test_messages_fit),
		cmocka_unit_test(test_any_text),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_presets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
