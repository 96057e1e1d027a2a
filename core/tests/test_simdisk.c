// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The timing models' figures against first principles, computed here from the
 * parameters alone.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "check.h"
#include "model_host.h"

#define MIB_SECTORS 2048ull
#define GIB_SECTORS (1024 * MIB_SECTORS)
#define TIB_SECTORS (1024 * GIB_SECTORS)

static u64 seed;

static void between(const char *what, double value, double low, double high)
{
	printf("    %-52s %14.1f  (%.1f to %.1f)\n", what, value, low, high);
	assert_true(value >= low && value <= high);
}

static void about(const char *what, double value, double expected, double tolerance)
{
	between(what, value, expected * (1 - tolerance), expected * (1 + tolerance));
}

static void start(struct host *host, enum simdisk_kind kind, u64 capacity)
{
	struct simdisk_parameters parameters;

	simdisk_defaults(&parameters, kind);
	host_start(host, &parameters, capacity, next_random(&seed));
}

/* ---- patterns ---- */

static struct simdisk_request random_io(struct host *host, enum simdisk_operation operation,
					u32 sectors)
{
	return (struct simdisk_request) {
		.operation = operation,
		.sector = host_random(host, host->capacity / sectors) * sectors,
		.sectors = sectors,
		.hw_queue = (u16)(host->submissions % host->parameters.hw_queues),
	};
}

static struct simdisk_request random_read_4k(struct host *host, u64 number)
{
	(void)number;
	return random_io(host, SIMDISK_READ, 8);
}

static struct simdisk_request random_write_4k(struct host *host, u64 number)
{
	(void)number;
	return random_io(host, SIMDISK_WRITE, 8);
}

static struct simdisk_request random_read_256k(struct host *host, u64 number)
{
	(void)number;
	return random_io(host, SIMDISK_READ, 512);
}

static struct simdisk_request random_read_1m(struct host *host, u64 number)
{
	(void)number;
	return random_io(host, SIMDISK_READ, 2048);
}

static u64 stream_start;

static struct simdisk_request stream_io(struct host *host, enum simdisk_operation operation,
					u64 number)
{
	return (struct simdisk_request) {
		.operation = operation,
		.sector = stream_start + number * 256,
		.sectors = 256,
		.hw_queue = (u16)(number % host->parameters.hw_queues),
	};
}

static struct simdisk_request stream_read_128k(struct host *host, u64 number)
{
	return stream_io(host, SIMDISK_READ, number);
}

static struct simdisk_request stream_write_128k(struct host *host, u64 number)
{
	return stream_io(host, SIMDISK_WRITE, number);
}

/* ---- HDD ---- */

static double hdd_zone_rate(const struct simdisk_hdd_parameters *hdd, double place)
{
	double zone = floor(place * hdd->zones);
	double outer = (double)hdd->outer_bytes_per_s, inner = (double)hdd->inner_bytes_per_s;

	return outer - (outer - inner) * zone / (hdd->zones - 1);
}

/*
 * Mean seek between two uniform addresses: slower zones have more tracks for
 * the same capacity.
 */
static double hdd_mean_seek_ns(const struct simdisk_hdd_parameters *hdd)
{
	enum { STEPS = 800 };
	static double track[STEPS];
	double tracks = 0, sum = 0;

	for (int i = 0; i < STEPS; i++) {
		double width = 1 / hdd_zone_rate(hdd, (i + 0.5) / STEPS);

		track[i] = tracks + width / 2;
		tracks += width;
	}
	for (int i = 0; i < STEPS; i++)
		for (int j = 0; j < STEPS; j++)
			sum += hdd->seek_settle_ns +
			       hdd->seek_stroke_ns * sqrt(fabs(track[i] - track[j]) / tracks);
	return sum / STEPS / STEPS;
}

static double hdd_random_read_ns(const struct simdisk_hdd_parameters *hdd)
{
	return hdd_mean_seek_ns(hdd) + hdd->rotation_ns / 2.0 + 4096e9 / 150e6 +
	       hdd->overhead_ns;
}

static void test_hdd_random_reads(void **state)
{
	struct host host;
	double alone, expected;

	(void)state;
	start(&host, SIMDISK_HDD, TIB_SECTORS);
	expected = hdd_random_read_ns(&host.parameters.hdd);
	between("hdd: mean seek, us", hdd_mean_seek_ns(&host.parameters.hdd) / 1e3, 8000, 9000);
	host_run(&host, random_read_4k, 1, 4000);
	alone = host_iops(&host);
	about("hdd: 4 KiB random reads/s, queue depth 1", alone, 1e9 / expected, 0.02);
	host_run(&host, random_read_4k, 4, 4000);
	between("hdd: queue depth 4 over 1", host_iops(&host) / alone, 1.1, 1.8);
	host_run(&host, random_read_4k, 32, 10000);
	printf("    hdd: 4 KiB random reads/s, queue depth 32: %.1f, max %.1f ms\n",
	       host_iops(&host), (double)host.latency_max / 1e6);
	between("hdd: queue depth 32 over 1", host_iops(&host) / alone, 1.8, 3.0);
	host_stop(&host);
}

static void test_hdd_streams(void **state)
{
	const double places[] = { 0.001, 0.5, 0.98 };

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct host host;
		double rate;

		start(&host, SIMDISK_HDD, TIB_SECTORS);
		rate = hdd_zone_rate(&host.parameters.hdd, places[i]);
		stream_start = (u64)(places[i] * (double)TIB_SECTORS) & ~255ull;
		host_run(&host, stream_read_128k, 1, 4000);
		about("hdd: 128 KiB stream, queue depth 1, bytes/s", host_bytes_per_s(&host), rate,
		      0.02);
		host_run(&host, stream_read_128k, 32, 4000);
		about("hdd: 128 KiB stream, queue depth 32, bytes/s", host_bytes_per_s(&host),
		      rate, 0.02);
		stream_start += 100 * GIB_SECTORS / 16;
		host_run(&host, stream_write_128k, 8, 8000);
		/*
		 * The cache takes in up to 32 MiB more than reaches the media.
		 */
		between("hdd: 128 KiB write stream, bytes/s", host_bytes_per_s(&host), rate * 0.97,
			rate * 1.06);
		host_stop(&host);
	}
}

/* A reader slower than the media finds its data in the buffer. */
static void test_hdd_slow_stream(void **state)
{
	struct host host;
	u64 waited = 0;
	u64 period;

	(void)state;
	start(&host, SIMDISK_HDD, TIB_SECTORS);
	period = 131072 * 1000000000ull / 120000000;
	for (u64 i = 0; i < 2000; i++) {
		struct simdisk_request request = { SIMDISK_READ, i * 256, 256, false, 0, 0 };
		u64 submitted = host.now;
		u32 slot = host_submit(&host, &request);

		assert_int_equal(host_wait(&host), slot);
		host.submitted[slot] = SIMDISK_NEVER;
		waited += host.now - submitted;
		host.now = submitted + period > host.now ? submitted + period : host.now;
	}
	/* Over the link, at most; a lost rotation would be 8.3 ms. */
	between("hdd: latency of a 120 MB/s reader, us", (double)waited / 2000 / 1e3, 200, 450);
	host_stop(&host);
}

static void test_hdd_writes(void **state)
{
	struct host host;

	(void)state;
	start(&host, SIMDISK_HDD, TIB_SECTORS);
	host_run(&host, random_write_4k, 1, 100);
	between("hdd: cached 4 KiB write, mean us", host_mean_ns(&host) / 1e3, 20, 60);
	host_run(&host, random_write_4k, 32, 6000);
	/* The drive orders 128 extents instead of 32 commands. */
	between("hdd: 4 KiB random writes/s, cache full", host_iops(&host), 180, 400);
	host_stop(&host);
}

/*
 * All commands but one read in one spot. The far one can only be overtaken by
 * commands that came less than "ageing times the longest positioning" after it.
 */
static void test_hdd_no_starvation(void **state)
{
	struct host host;
	double longest, bound, worst = 0;

	(void)state;
	start(&host, SIMDISK_HDD, TIB_SECTORS);
	longest = host.parameters.hdd.seek_settle_ns + host.parameters.hdd.seek_stroke_ns +
		  host.parameters.hdd.rotation_ns + 200e3;
	bound = longest * host.parameters.hdd.ageing + 32 * longest;
	for (int round = 0; round < 30; round++) {
		struct simdisk_request far = {
			SIMDISK_READ, TIB_SECTORS - 8 * (u64)(round + 1), 8, false, 0, 0,
		};
		u64 submitted = host.now;
		u32 slot = host_submit(&host, &far), done;

		while (simdisk_outstanding(host.model) < 32) {
			far.sector = host_random(&host, 1000) * 10000;
			host_submit(&host, &far);
		}
		while ((done = host_wait(&host)) != slot) {
			host.submitted[done] = SIMDISK_NEVER;
			far.sector = host_random(&host, 1000) * 10000;
			host_submit(&host, &far);
		}
		host.submitted[slot] = SIMDISK_NEVER;
		worst = fmax(worst, (double)(host.now - submitted));
	}
	between("hdd: longest wait of a far command, ms", worst / 1e6, longest / 1e6 / 4,
		bound / 1e6);
	host_stop(&host);
}

/*
 * A flush has the extents of a full cache to write, and newer writes do not get
 * in its way.
 */
static void test_hdd_flush_under_load(void **state)
{
	struct simdisk_request flush = { SIMDISK_FLUSH, 0, 0, false, 0, 0 };
	struct host host;
	u32 slot = SIMDISK_NO_SLOT, done, flushes = 0;
	u64 longest = 0;

	(void)state;
	start(&host, SIMDISK_HDD, TIB_SECTORS);
	while (flushes < 10) {
		struct simdisk_request request = random_write_4k(&host, 0);

		if (simdisk_outstanding(host.model) < 30)
			host_submit(&host, &request);
		else if (slot == SIMDISK_NO_SLOT)
			slot = host_submit(&host, &flush);
		else {
			done = host_wait(&host);
			if (done == slot) {
				slot = SIMDISK_NO_SLOT;
				flushes++;
				longest = host.now - host.submitted[done] > longest ?
					  host.now - host.submitted[done] : longest;
			}
			host.submitted[done] = SIMDISK_NEVER;
		}
	}
	/*
	 * Ordered by position: a few ms each, well below an unordered seek and
	 * half a rotation.
	 */
	between("hdd: longest flush of 128 extents amid writes, ms", (double)longest / 1e6, 300,
		128 * 8.0);
	host_stop(&host);
}

/* ---- flash ---- */

static double link_ns(const struct simdisk_flash_parameters *flash, double bytes)
{
	return bytes * 1e9 / (double)flash->link_bytes_per_s;
}

static double die_read_ns(const struct simdisk_flash_parameters *flash)
{
	return (double)flash->sense_ns + flash->die_transfer_ns;
}

static double flash_read_ns(const struct simdisk_flash_parameters *flash)
{
	return flash->controller_ns + die_read_ns(flash) + link_ns(flash, 4096) +
	       flash->read_overhead_ns;
}

/*
 * Random reads of a closed system: @depth commands over equal dies. Balanced
 * queues with exponential service would do depth / (depth + dies - 1) of all
 * dies' rate, and constant service does better than that and never more than
 * all of it. Commands elsewhere (controller, link) do not count as depth.
 */
static void check_die_bound(const char *what, const struct host *host, double depth)
{
	const struct simdisk_flash_parameters *flash = &host->parameters.flash;
	double all = flash->dies * 1e9 / die_read_ns(flash);
	double elsewhere = flash_read_ns(flash) - die_read_ns(flash);
	double inside = depth - host_iops(host) * elsewhere / 1e9;

	between(what, host_iops(host), all * inside / (inside + flash->dies - 1) * 0.98, all);
}

static void test_ssd_random_reads(void **state)
{
	struct host host;

	(void)state;
	start(&host, SIMDISK_SSD, 256 * GIB_SECTORS);
	host_run(&host, random_read_4k, 1, 20000);
	about("ssd: 4 KiB random read, queue depth 1, ns", host_mean_ns(&host),
	      flash_read_ns(&host.parameters.flash), 0.01);
	host_run(&host, random_read_4k, 32, 100000);
	check_die_bound("ssd: 4 KiB random reads/s, queue depth 32", &host, 32);
	host_stop(&host);
}

static double ssd_reads_with_dies(u32 dies)
{
	struct simdisk_parameters parameters;
	struct host host;
	double iops;

	simdisk_defaults(&parameters, SIMDISK_SSD);
	parameters.flash.dies = dies;
	host_start(&host, &parameters, 256 * GIB_SECTORS,
		   next_random(&seed));
	host_run(&host, random_read_4k, 32, 50000);
	iops = host_iops(&host);
	host_stop(&host);
	return iops;
}

static void test_ssd_channels_and_link(void **state)
{
	double one = ssd_reads_with_dies(1), two = ssd_reads_with_dies(2);
	double four = ssd_reads_with_dies(4), many = ssd_reads_with_dies(64);
	struct simdisk_parameters parameters;

	(void)state;
	simdisk_defaults(&parameters, SIMDISK_SSD);
	about("ssd: reads/s on 1 channel", one, 1e9 / die_read_ns(&parameters.flash), 0.01);
	between("ssd: 2 channels over 1", two / one, 1.9, 2.0);
	between("ssd: 4 channels over 2", four / two, 1.8, 2.0);
	about("ssd: reads/s on 64 channels (the link)", many,
	      1e9 / link_ns(&parameters.flash, 4096), 0.01);
}

static void test_ssd_streams(void **state)
{
	struct host host;

	(void)state;
	stream_start = 0;
	start(&host, SIMDISK_SSD, 256 * GIB_SECTORS);
	host_run(&host, stream_read_128k, 32, 10000);
	about("ssd: 128 KiB stream, queue depth 32, bytes/s", host_bytes_per_s(&host), 530e6,
	      0.01);
	host_run(&host, stream_write_128k, 32, 20000);
	about("ssd: 128 KiB write stream, bytes/s", host_bytes_per_s(&host), 530e6, 0.02);
	host_stop(&host);
}

static void test_ssd_random_writes(void **state)
{
	const struct simdisk_flash_parameters *flash;
	struct host host;

	(void)state;
	start(&host, SIMDISK_SSD, 256 * GIB_SECTORS);
	flash = &host.parameters.flash;
	host_run(&host, random_write_4k, 1, 100);
	about("ssd: cached 4 KiB write, ns", host_mean_ns(&host),
	      flash->controller_ns + link_ns(flash, 4096) + flash->write_overhead_ns, 0.01);
	host_run(&host, random_write_4k, 32, 300000);
	about("ssd: 4 KiB random writes/s, steady", host_iops(&host),
	      (double)flash->dies * flash->program_pages / flash->random_amplification * 1e9 /
	      flash->program_ns, 0.03);
	host_stop(&host);
}

/*
 * One read at a time amid as many writes as the disk takes: at most one program
 * is in its way.
 */
static void test_ssd_read_waits_for_one_program(void **state)
{
	const struct simdisk_flash_parameters *flash;
	double bound, worst = 0;
	struct host host;
	u32 read = SIMDISK_NO_SLOT, reads = 0, done;
	u64 submitted = 0;

	(void)state;
	start(&host, SIMDISK_SSD, 256 * GIB_SECTORS);
	flash = &host.parameters.flash;
	/*
	 * Its own time, a program, and the rest of the queue before it in
	 * controller and link.
	 */
	bound = flash_read_ns(flash) + flash->sense_jitter_ns + flash->program_ns +
		32 * (flash->controller_ns + link_ns(flash, 4096));
	for (int i = 0; i < 31; i++) {
		struct simdisk_request request = random_write_4k(&host, 0);

		host_submit(&host, &request);
	}
	while (reads < 5000) {
		struct simdisk_request request = random_write_4k(&host, 0);

		if (read == SIMDISK_NO_SLOT) {
			struct simdisk_request wanted = random_read_4k(&host, 0);

			submitted = host.now;
			read = host_submit(&host, &wanted);
		}
		done = host_wait(&host);
		host.submitted[done] = SIMDISK_NEVER;
		if (done == read) {
			worst = fmax(worst, (double)(host.now - submitted));
			read = SIMDISK_NO_SLOT;
			reads++;
		} else {
			host_submit(&host, &request);
		}
	}
	between("ssd: longest read amid writes, us", worst / 1e3, flash->program_ns / 1e3 / 2,
		bound / 1e3);
	host_stop(&host);
}

static void test_nvme_reads(void **state)
{
	struct host host;

	(void)state;
	start(&host, SIMDISK_NVME, TIB_SECTORS);
	host_run(&host, random_read_4k, 1, 20000);
	about("nvme: 4 KiB random read, queue depth 1, ns", host_mean_ns(&host),
	      flash_read_ns(&host.parameters.flash), 0.01);
	between("nvme: the same, us", host_mean_ns(&host) / 1e3, 65, 75);
	host_run(&host, random_read_4k, 32, 100000);
	check_die_bound("nvme: 4 KiB random reads/s, 32 commands", &host, 32);
	host_run(&host, random_read_4k, 128, 200000);
	check_die_bound("nvme: 4 KiB random reads/s, 128 commands", &host, 128);
	host_run(&host, random_read_4k, 1024, 400000);
	check_die_bound("nvme: 4 KiB random reads/s, 4 queues of 256", &host, 1024);
	between("nvme: the same", host_iops(&host), 500e3, 700e3);
	stream_start = 0;
	host_run(&host, stream_read_128k, 64, 50000);
	about("nvme: 128 KiB stream, bytes/s", host_bytes_per_s(&host), 3.2e9, 0.02);
	host_stop(&host);
}

static void test_nvme_dies(void **state)
{
	struct simdisk_parameters parameters;
	double iops[2];

	(void)state;
	simdisk_defaults(&parameters, SIMDISK_NVME);
	for (u32 i = 0; i < 2; i++) {
		struct host host;

		parameters.flash.dies = 8 << i;
		host_start(&host, &parameters, TIB_SECTORS, next_random(&seed));
		host_run(&host, random_read_4k, 512, 100000);
		iops[i] = host_iops(&host);
		host_stop(&host);
	}
	between("nvme: 16 dies over 8", iops[1] / iops[0], 1.9, 2.02);
}

static void test_nvme_writes(void **state)
{
	const struct simdisk_flash_parameters *flash;
	struct host host;

	(void)state;
	start(&host, SIMDISK_NVME, TIB_SECTORS);
	flash = &host.parameters.flash;
	host_run(&host, random_write_4k, 1, 1000);
	between("nvme: 4 KiB write, queue depth 1, us", host_mean_ns(&host) / 1e3, 13, 17);
	host_run(&host, random_write_4k, 256, 600000);
	about("nvme: 4 KiB random writes/s, steady", host_iops(&host),
	      (double)flash->dies * flash->program_pages / flash->random_amplification * 1e9 /
	      flash->program_ns, 0.03);
	host_stop(&host);
}

/* Queues take turns: one that is full does not delay a command in another. */
static void test_nvme_queues_take_turns(void **state)
{
	struct simdisk_parameters parameters;
	struct simdisk_request request;
	struct host host;
	u32 slot, done;

	(void)state;
	simdisk_defaults(&parameters, SIMDISK_NVME);
	parameters.flash.controller_ns = 100000;
	host_start(&host, &parameters, TIB_SECTORS, next_random(&seed));
	for (u32 i = 0; i < 256; i++) {
		request = random_read_4k(&host, 0);
		request.hw_queue = 0;
		host_submit(&host, &request);
	}
	request.hw_queue = 1;
	slot = host_submit(&host, &request);
	while ((done = host_wait(&host)) != slot)
		assert_int_not_equal(done, SIMDISK_NO_SLOT);
	/*
	 * The command in the controller, then ours, then a die that may be
	 * busy.
	 */
	between("nvme: command beside a full queue, us", (double)host.now / 1e3, 250, 400);
	host_stop(&host);
}

/* ---- volume ---- */

/*
 * No window of completions holds more than cap and bucket allow, give or take
 * the jitter.
 */
static void check_cap(const struct host *host, double per_s, double per_completion)
{
	const struct simdisk_volume_parameters *volume = &host->parameters.volume;
	double slack = volume->burst_ns + volume->jitter_max_ns;

	for (u64 i = 0; i < host->completions; i += 7) {
		for (u64 j = i; j < host->completions; j += 3) {
			double window = (double)(host->times[j] - host->times[i]) + slack;

			assert_true((double)(j - i) * per_completion <=
				    window * per_s / 1e9 + per_completion);
		}
	}
}

static void settle(struct host *host)
{
	host_run(host, random_read_4k, 32, 1000);
}

static void test_volume_caps(void **state)
{
	struct host host;

	(void)state;
	start(&host, SIMDISK_VOLUME, 100 * GIB_SECTORS);
	host_run(&host, random_read_4k, 32, 6000);
	check_cap(&host, 3000, 1);
	between("volume: IOPS of 2 s from full buckets", host_iops(&host), 3000, 3000 + 76 / 2.0);
	settle(&host);
	host_run(&host, random_read_4k, 32, 30000);
	about("volume: 4 KiB IOPS, queue depth 32", host_iops(&host), 3000, 0.005);
	settle(&host);
	host_run(&host, random_write_4k, 128, 30000);
	about("volume: 4 KiB write IOPS, queue depth 128", host_iops(&host), 3000, 0.005);
	host_run(&host, random_read_256k, 8, 1000);
	check_cap(&host, 125e6, 262144);
	host_run(&host, random_read_256k, 8, 5000);
	about("volume: 256 KiB, bytes/s", host_bytes_per_s(&host), 125e6, 0.005);
	host_run(&host, random_read_1m, 4, 5000);
	about("volume: 1 MiB, bytes/s", host_bytes_per_s(&host), 125e6, 0.005);
	host_stop(&host);
}

static void test_volume_counts_long_ios(void **state)
{
	struct simdisk_parameters parameters;
	struct host host;

	(void)state;
	simdisk_defaults(&parameters, SIMDISK_VOLUME);
	parameters.volume.bytes_per_s = 100000000000;
	host_start(&host, &parameters, 100 * GIB_SECTORS,
		   next_random(&seed));
	settle(&host);
	host_run(&host, random_read_256k, 64, 20000);
	about("volume: 256 KiB I/Os/s without a byte cap", host_iops(&host), 3000, 0.005);
	host_run(&host, random_read_1m, 64, 10000);
	about("volume: 1 MiB I/Os/s without a byte cap", host_iops(&host), 750, 0.005);
	host_stop(&host);
}

static void test_volume_latency(void **state)
{
	const struct simdisk_volume_parameters *volume;
	struct host host;
	double mean;

	(void)state;
	start(&host, SIMDISK_VOLUME, 100 * GIB_SECTORS);
	volume = &host.parameters.volume;
	mean = volume->latency_ns + volume->jitter_mean_ns +
	       4096e9 / (double)volume->network_bytes_per_s;
	host_run(&host, random_read_4k, 1, 30000);
	about("volume: mean latency, queue depth 1, ns", host_mean_ns(&host), mean, 0.01);
	/* ln 100 jitters above the shortest. */
	about("volume: p99, ns", (double)host_percentile_ns(&host, 0.99),
	      mean - volume->jitter_mean_ns + log(100) * volume->jitter_mean_ns, 0.02);
	between("volume: longest, us", (double)host.latency_max / 1e3, 1000, 1510);
	/*
	 * Small batches below the cap never wait: 16 at once, 128 times a
	 * second.
	 */
	for (int batch = 0; batch < 128; batch++) {
		u64 begin = host.now;
		u32 slot;

		for (int i = 0; i < 16; i++) {
			struct simdisk_request request = random_read_4k(&host, 0);

			host_submit(&host, &request);
		}
		while ((slot = host_wait(&host)) != SIMDISK_NO_SLOT)
			host.submitted[slot] = SIMDISK_NEVER;
		assert_true(host.now - begin <= (u64)mean + volume->jitter_max_ns);
		host.now = begin + 1000000000 / 128;
	}
	host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hdd_random_reads),
		cmocka_unit_test(test_hdd_streams),
		cmocka_unit_test(test_hdd_slow_stream),
		cmocka_unit_test(test_hdd_writes),
		cmocka_unit_test(test_hdd_no_starvation),
		cmocka_unit_test(test_hdd_flush_under_load),
		cmocka_unit_test(test_ssd_random_reads),
		cmocka_unit_test(test_ssd_channels_and_link),
		cmocka_unit_test(test_ssd_streams),
		cmocka_unit_test(test_ssd_random_writes),
		cmocka_unit_test(test_ssd_read_waits_for_one_program),
		cmocka_unit_test(test_nvme_reads),
		cmocka_unit_test(test_nvme_dies),
		cmocka_unit_test(test_nvme_writes),
		cmocka_unit_test(test_nvme_queues_take_turns),
		cmocka_unit_test(test_volume_caps),
		cmocka_unit_test(test_volume_counts_long_ios),
		cmocka_unit_test(test_volume_latency),
	};

	seed = fresh_seed("drives");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
