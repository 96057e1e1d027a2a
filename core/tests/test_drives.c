// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The family of drives against published figures: data sheets, cloud providers'
 * documentation, measurements in reviews and papers. Expected values here are
 * theirs, none is worked out from a model's parameters; docs/drives.md has the
 * sources in full. Figures that no source gives are not tested here.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "check.h"
#include "model_host.h"

#define MIB_SECTORS 2048ull
#define GIB_SECTORS (1024 * MIB_SECTORS)
#define TIB_SECTORS (1024 * GIB_SECTORS)
#define MIB 1048576.0
#define MB 1e6
#define S 1000000000ull

static u64 seed;

static void between(const char *what, double value, double low, double high)
{
	printf("    %-56s %12.4g  (%.4g to %.4g)\n", what, value, low, high);
	assert_true(value >= low && value <= high);
}

static void about(const char *what, double value, double published,
		  double tolerance)
{
	between(what, value, published * (1 - tolerance),
		published * (1 + tolerance));
}

static struct host drive(const char *spec, u64 capacity)
{
	struct simdisk_parameters parameters = host_parsed(spec);
	struct host host;

	host_start(&host, &parameters, capacity, next_random(&seed));
	return host;
}

/* ---- patterns ---- */

static u32 kib;
static u64 position;

static struct simdisk_request request_of(struct host *host,
					 enum simdisk_operation operation,
					 u64 sector)
{
	return (struct simdisk_request) {
		.operation = operation,
		.sector = sector,
		.sectors = kib * 2,
		.hw_queue = (u16)(host->submissions %
				  host->parameters.hw_queues),
	};
}

static u64 anywhere(struct host *host)
{
	return host_random(host, host->capacity / (kib * 2)) * (kib * 2);
}

static struct simdisk_request random_read(struct host *host, u64 number)
{
	(void)number;
	return request_of(host, SIMDISK_READ, anywhere(host));
}

static struct simdisk_request random_write(struct host *host, u64 number)
{
	(void)number;
	return request_of(host, SIMDISK_WRITE, anywhere(host));
}

/* Half reads, half writes. */
static struct simdisk_request random_mix(struct host *host, u64 number)
{
	return request_of(host, number % 2 ? SIMDISK_WRITE : SIMDISK_READ,
			  anywhere(host));
}

static struct simdisk_request next_read(struct host *host, u64 number)
{
	(void)number;
	position += kib * 2;
	return request_of(host, SIMDISK_READ, position - kib * 2);
}

static struct simdisk_request next_write(struct host *host, u64 number)
{
	(void)number;
	position += kib * 2;
	return request_of(host, SIMDISK_WRITE, position - kib * 2);
}

static double iops(struct host *host, host_pattern pattern, u32 size, u32 depth,
		   u64 count)
{
	kib = size;
	host_run(host, pattern, depth, count);
	return host_iops(host);
}

static double rate(struct host *host, host_pattern pattern, u32 size, u32 depth,
		   u64 count)
{
	iops(host, pattern, size, depth, count);
	return host_bytes_per_s(host);
}

/* The host does nothing for @ns. */
static void rest(struct host *host, u64 ns)
{
	struct simdisk_completion none;

	host->now += ns;
	assert_int_equal(simdisk_advance(host->model, host->now, &none, 1), 0);
}

/* ---- cloud volumes ---- */

/* AWS: baselines and provisioned maxima of gp3, and what it is designed for. */
static void test_gp3(void **state)
{
	struct host host = drive("gp3", 64 * GIB_SECTORS);

	(void)state;
	iops(&host, random_read, 4, 1, 3000);
	between("gp3: latency in ms: single digits, below 1 measured",
		host_mean_ns(&host) / 1e6, 0.4, 1);
	about("gp3: I/Os/s", iops(&host, random_read, 4, 64, 30000), 3000,
	      0.03);
	about("gp3: MiB/s", rate(&host, random_read, 256, 32, 6000) / MIB, 125,
	      0.03);
	host_stop(&host);
	host = drive("gp3-16k", 64 * GIB_SECTORS);
	about("gp3, provisioned: I/Os/s",
	      iops(&host, random_read, 4, 64, 160000), 16000, 0.03);
	about("gp3, provisioned: MiB/s",
	      rate(&host, random_read, 256, 64, 40000) / MIB, 1000, 0.03);
	host_stop(&host);
}

/*
 * AWS: 100 GiB have 300 I/Os a second, burst to 3,000 with 5.4 million credits,
 * and do so for 2,000 s. Here a tenth of the credits for a tenth of the time.
 */
static void test_gp2(void **state)
{
	struct host host = drive("gp2:credits=540k", 100 * GIB_SECTORS);
	double burst = 0;
	u64 count = 0;

	(void)state;
	iops(&host, random_read, 4, 64, 610000);
	for (u64 i = 64; i < host.completions; i++) {
		if (host.times[i] - host.times[i - 64] > S / 25)
			continue;
		burst = (double)host.times[i] / S;
		count = i;
	}
	about("gp2: I/Os/s of a burst", (double)count / burst, 3000, 0.03);
	about("gp2: a tenth of the burst, s", burst, 200, 0.03);
	about("gp2: I/Os/s without credits",
	      iops(&host, random_read, 4, 32, 3000), 300, 0.03);
	rest(&host, 100 * S);
	/* 300 credits a second come back. */
	iops(&host, random_read, 4, 32, 30000);
	between("gp2: s for 30,000 I/Os after a pause of 100 s",
		(double)host.elapsed / S, 9.5, 11.5);
	host_stop(&host);
}

/* AWS: per TiB 40 MiB/s, bursts of 250 MiB/s; half a TiB here. */
static void test_st1(void **state)
{
	struct host host = drive("st1-spent", 512 * GIB_SECTORS);

	(void)state;
	about("st1: MiB/s of a burst", rate(&host, random_read, 1024, 16, 250) /
	      MIB, 125, 0.05);
	iops(&host, random_read, 1024, 16, 100);
	about("st1: MiB/s without credits",
	      rate(&host, random_read, 1024, 16, 300) / MIB, 20, 0.05);
	host_stop(&host);
}

/* AWS: volumes are loaded at 100 to 300 MiB/s; before, latency is higher. */
static void test_snapshot(void **state)
{
	struct host host = drive("snapshot", 4 * GIB_SECTORS);
	double cold;

	(void)state;
	position = 0;
	iops(&host, random_read, 4, 1, 200);
	cold = host_mean_ns(&host) / 1e6;
	between("snapshot: first I/Os in ms, above single digits", cold, 10,
		100);
	between("snapshot: MiB/s of first reads",
		rate(&host, next_read, 256, 32, 4 * 4096 - 32) / MIB, 95, 135);
	iops(&host, random_read, 4, 1, 3000);
	between("snapshot: latency when all is loaded, ms",
		host_mean_ns(&host) / 1e6, 0.4, 1);
	host_stop(&host);
}

/* 300 I/Os in each tenth of a second, early in it, then none. */
static void test_quota(void **state)
{
	struct host host = drive("quota", 64 * GIB_SECTORS);
	double periods = 0, early = 0;
	u64 count = 0;

	(void)state;
	iops(&host, random_read, 4, 64, 9000);
	for (u64 i = 1; i < host.completions; i++) {
		count++;
		early += host.times[i] % (S / 10) < S / 40;
		if (host.times[i] / (S / 10) == host.times[i - 1] / (S / 10))
			continue;
		periods++;
		assert_true(count <= 300 + 64);
		count = 0;
	}
	about("quota: I/Os in a period", 9000 / (periods + 1), 300, 0.04);
	between("quota: share in the first quarter of a period", early / 9000,
		0.9, 1);
	host_stop(&host);
}

/* Drives that no product is the source of, by the description of each. */
static void test_chosen_volumes(void **state)
{
	struct host host = drive("network", 64 * GIB_SECTORS);

	(void)state;
	iops(&host, random_read, 4, 1, 5000);
	about("network: ms", host_mean_ns(&host) / 1e6, 5, 0.03);
	about("network: I/Os/s of 64", iops(&host, random_read, 4, 64, 60000),
	      10000, 0.03);
	between("network: ms of 40 at once, all in parallel",
		iops(&host, random_read, 4, 40, 30000) * host_mean_ns(&host) /
		1e9, 39, 41);
	host_stop(&host);
	host = drive("volume-sigma:jitter_mean=0", 64 * GIB_SECTORS);
	iops(&host, random_read, 4, 1, 50000);
	about("sigma 0.5: p99 in medians",
	      (double)host_percentile_ns(&host, 0.99) /
	      (double)host_percentile_ns(&host, 0.5), 3.2, 0.05);
	host_stop(&host);
}

/* ---- hard disks ---- */

/* 75 to 100 I/Os a second is what Amazon says of a disk of 7,200 rpm. */
static void test_spindles(void **state)
{
	struct host host = drive("hdd", TIB_SECTORS);
	double fast = iops(&host, random_read, 4, 1, 3000), slow;

	(void)state;
	between("hdd: I/Os/s, one at a time", fast, 75, 100);
	host_stop(&host);
	host = drive("hdd5400", TIB_SECTORS);
	slow = iops(&host, random_read, 4, 1, 3000);
	/* Half a turn takes 1.39 ms more, and seeks are not faster. */
	between("hdd5400: ms more than at 7,200 rpm", 1e3 / slow - 1e3 / fast,
		1.39, 5);
	host_stop(&host);
}

/*
 * Aghayev, FAST'17: high throughput for a short period, then low for good;
 * Seagate's Archive HDD has a sequential rate of 190 MB/s. At such a rate, a
 * band of some 30 MiB read and written again makes a few scattered writes a
 * second.
 */
static void test_shingled(void **state)
{
	struct host host = drive("smr-spent", TIB_SECTORS);
	double before, after;

	(void)state;
	position = 0;
	about("smr: MB/s of a sequential read",
	      rate(&host, next_read, 128, 4, 4000) / MB, 190, 0.03);
	before = iops(&host, random_write, 4, 32, 3000);
	iops(&host, random_write, 4, 32, 6000);
	after = iops(&host, random_write, 4, 32, 150);
	printf("    smr: random writes/s: %.0f, then %.1f\n", before, after);
	between("smr: how much slower with a full log", before / after, 100,
		1e6);
	between("smr: writes/s with a full log", after, 1, 10);
	rest(&host, 7200 * S);
	between("smr: writes/s after two hours' rest, of what it was",
		iops(&host, random_write, 4, 32, 3000) / before, 0.8, 1.2);
	host_stop(&host);
}

/* ---- arrays ---- */

static double array_iops(const char *spec, host_pattern pattern, u32 size,
			 u32 depth, u64 count)
{
	struct host host = drive(spec, TIB_SECTORS);
	double result;

	position = 0;
	result = iops(&host, pattern, size, depth, count);
	host_stop(&host);
	return result;
}

/*
 * Patterson, Gibson and Katz: of the throughput of as many disks without
 * redundancy, small reads have all in levels 1 and 5, small writes a half in
 * level 1 and a quarter in level 5: two or four I/Os for each.
 */
static void test_array_penalties(void **state)
{
	const char *none = "raid0-hdd:cache_entries=0,volatile_cache=off";
	double reads = array_iops(none, random_read, 4, 128, 15000);
	double writes = array_iops(none, random_write, 4, 128, 10000);

	(void)state;
	about("raid10-hdd: small reads, of RAID-0's",
	      array_iops("raid10-hdd", random_read, 4, 128, 15000) / reads, 1, 0.1);
	about("raid5-hdd: small reads, of RAID-0's",
	      array_iops("raid5-hdd", random_read, 4, 128, 15000) / reads, 1, 0.1);
	about("raid10-hdd: small writes, of RAID-0's",
	      array_iops("raid10-hdd", random_write, 4, 128, 10000) / writes, 0.5,
	      0.1);
	about("raid5-hdd: small writes, of RAID-0's",
	      array_iops("raid5-hdd", random_write, 4, 128, 8000) / writes, 0.25,
	      0.15);
	writes = array_iops("raid0-ssd", random_write, 4, 128, 60000);
	between("raid10-ssd: small writes, of RAID-0's",
		array_iops("raid10-ssd", random_write, 4, 128, 60000) / writes, 0.4,
		0.6);
	between("raid5-ssd: small writes, of RAID-0's",
		array_iops("raid5-ssd", random_write, 4, 128, 60000) / writes, 0.2,
		0.5);
}

/* The same paper: large writes have (n - 1) / n in level 5, half in level 1. */
static void test_array_streams(void **state)
{
	double writes = array_iops("raid0-ssd", next_write, 768, 8, 4000);
	double reads = array_iops("raid0-ssd", next_read, 768, 8, 4000);

	(void)state;
	about("raid5-ssd of 4: large writes, of RAID-0's",
	      array_iops("raid5-ssd", next_write, 768, 8, 4000) / writes, 0.75,
	      0.05);
	about("raid10-ssd: large writes, of RAID-0's",
	      array_iops("raid10-ssd", next_write, 768, 8, 4000) / writes, 0.5,
	      0.05);
	about("raid10-ssd: large reads, of RAID-0's",
	      array_iops("raid10-ssd", next_read, 768, 8, 4000) / reads, 1,
	      0.1);
	about("raid5-ssd: large reads, of RAID-0's",
	      array_iops("raid5-ssd", next_read, 768, 8, 4000) / reads, 1, 0.1);
}

/* A protected cache hides the penalty while it has room, and no longer. */
static void test_array_cache(void **state)
{
	struct host host = drive("raid5-hdd-cached", TIB_SECTORS);
	double bare = array_iops("raid5-hdd", random_write, 4, 128, 8000);

	(void)state;
	iops(&host, random_write, 4, 1, 400);
	between("raid5-hdd-cached: ms of a write",
		host_mean_ns(&host) / 1e6, 0.01, 0.2);
	iops(&host, random_write, 4, 128, 6000);
	between("raid5-hdd-cached: writes/s when it is full, of uncached",
		iops(&host, random_write, 4, 128, 6000) / bare, 1, 3);
	host_stop(&host);
}

/* ---- flash ---- */

struct data_sheet {
	const char *name;
	double read_1;		/* I/Os a second of 4 KiB, at random */
	double read_32;
	double write_1;
	double write_32;
	double read_mb;		/* MB/s of large I/Os in order */
	double write_mb;
};

static void check_sheet(const struct data_sheet *sheet)
{
	struct host host = drive(sheet->name, 256 * GIB_SECTORS);

	printf("    %s\n", sheet->name);
	position = 0;
	about("random reads/s, 1", iops(&host, random_read, 4, 1, 10000),
	      sheet->read_1, 0.1);
	about("random reads/s, 32", iops(&host, random_read, 4, 32, 100000),
	      sheet->read_32, 0.25);
	about("random writes/s, 1", iops(&host, random_write, 4, 1, 10000),
	      sheet->write_1, 0.1);
	/* Until what the cache takes in no longer counts. */
	iops(&host, random_write, 4, 32, 50000);
	about("random writes/s, 32", iops(&host, random_write, 4, 32, 100000),
	      sheet->write_32, 0.25);
	about("MB/s of reads", rate(&host, next_read, 128, 32, 20000) / MB,
	      sheet->read_mb, 0.07);
	about("MB/s of writes", rate(&host, next_write, 128, 32, 30000) / MB,
	      sheet->write_mb, 0.07);
	host_stop(&host);
}

static void test_data_sheets(void **state)
{
	/* Samsung 870 EVO 1 TB; 970 EVO Plus 250 GB. */
	static const struct data_sheet sheets[] = {
		{ "ssd-tlc", 13000, 98000, 36000, 88000, 560, 530 },
		{ "nvme-consumer", 17000, 250000, 60000, 550000, 3500, 2300 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sheets); i++)
		check_sheet(&sheets[i]);
}

/*
 * P. Valente, "Measuring (and fixing) I/O-controller throughput loss" (LWN,
 * 2018): a Plextor PX-256M5S reads at 160 MB/s at random, 500 MB/s in order,
 * and 23 MB/s by one thread that reads at random and waits for each.
 */
static void test_fairness_drive(void **state)
{
	struct host host = drive("ssd-m5s", 256 * GIB_SECTORS);

	(void)state;
	position = 0;
	about("MB/s at random", rate(&host, random_read, 4, 32, 100000) / MB,
	      160, 0.02);
	about("MB/s at random, one by one",
	      rate(&host, random_read, 4, 1, 10000) / MB, 23, 0.02);
	about("MB/s in order", rate(&host, next_read, 128, 4, 20000) / MB, 500,
	      0.02);
	host_stop(&host);
}

static void check_exhaustion(const char *name, double cached, double after,
			     double gib)
{
	struct host host = drive(name, 256 * GIB_SECTORS);
	u64 count = (u64)(gib * 8192);

	printf("    %s\n", name);
	position = 0;
	about("MB/s into the SLC cache",
	      rate(&host, next_write, 128, 32, count * 9 / 10) / MB, cached,
	      0.07);
	iops(&host, next_write, 128, 32, count / 5);
	about("MB/s when it is full",
	      rate(&host, next_write, 128, 32, 20000) / MB, after, 0.07);
	/* A pause of ten minutes empties it. */
	rest(&host, 600 * S);
	about("MB/s after a pause",
	      rate(&host, next_write, 128, 32, count * 8 / 10) / MB, cached,
	      0.07);
	host_stop(&host);
}

/*
 * Samsung: 870 QVO, 6 GB at 530 MB/s, then 160 MB/s from 2 TB on (KitGuru
 * measured 487 and 169); 970 EVO Plus 250 GB, 13 GB at 2,300, then 400.
 */
static void test_slc_exhaustion(void **state)
{
	(void)state;
	check_exhaustion("qlc", 530, 160, 6);
	check_exhaustion("nvme-consumer", 2300, 400, 13);
}

/* One command and nothing else. */
static void complete(struct host *host, const struct simdisk_request *request)
{
	u32 slot = host_submit(host, request);

	assert_int_equal(host_wait(host), slot);
	host->submitted[slot] = SIMDISK_NEVER;
}

/* Mean time of a write and a flush, one after the other. */
static double synced_us(const char *name)
{
	struct simdisk_request flush = { .operation = SIMDISK_FLUSH };
	struct host host = drive(name, 256 * GIB_SECTORS);
	u64 begin = host.now;
	double mean;

	kib = 16;
	for (int i = 0; i < 200; i++) {
		struct simdisk_request write = next_write(&host, 0);

		complete(&host, &write);
		complete(&host, &flush);
		host.now += 2000000;
	}
	mean = (double)(host.now - begin) / 200 / 1e3 - 2000;
	host_stop(&host);
	return mean;
}

/*
 * Callaghan, 2026: 16 KiB and a sync take 891 us on a consumer NVMe drive, and
 * 12 to 58 us on drives with protection against power loss.
 */
static void test_flushes(void **state)
{
	(void)state;
	about("nvme-consumer: write and flush, us", synced_us("nvme-consumer"),
	      891, 0.15);
	between("nvme: write and flush, us", synced_us("nvme"), 12, 58);
}

/* Mean and quantiles of reads amid as many writes. */
static double read_ns(const char *name, double share)
{
	struct host host = drive(name, 256 * GIB_SECTORS);
	double *reads = NULL, result = 0;
	u64 count = 60000;

	kib = 4;
	reads = malloc(count * sizeof(*reads));
	assert_non_null(reads);
	for (u64 done = 0; done < count;) {
		struct simdisk_request request;
		u32 slot;

		while (simdisk_outstanding(host.model) < 4) {
			request = random_mix(&host, host.submissions);
			host_submit(&host, &request);
		}
		slot = host_wait(&host);
		if (host.request[slot].operation == SIMDISK_READ)
			reads[done++] = (double)(host.now -
						 host.submitted[slot]);
		host.submitted[slot] = SIMDISK_NEVER;
		/* Half of what it could do. */
		host.now += host_random(&host, 60000);
	}
	for (u64 i = 0; share < 0 && i < count; i++)
		result += reads[i] / (double)count;
	if (share >= 0) {
		u64 place = (u64)(share * (double)count);

		/* The one with as many below it: a selection by counting. */
		for (double low = 0, high = 1e9; high - low > 1;) {
			double middle = (low + high) / 2;
			u64 below = 0;

			for (u64 i = 0; i < count; i++)
				below += reads[i] <= middle;
			if (below > place)
				high = middle;
			else
				low = middle;
			result = high;
		}
	}
	free(reads);
	host_stop(&host);
	return result;
}

/*
 * Wu and He, FAST'12: suspending programs and erases cuts mean read latency by
 * half, against reads that have priority but wait for what is under way.
 */
static void test_suspension(void **state)
{
	double waiting = read_ns("ssd-erase", -1);
	double suspending = read_ns("ssd-suspend", -1);

	(void)state;
	between("ssd-suspend: mean read latency cut by, %",
		100 * (1 - suspending / waiting), 35, 75);
}

/*
 * Yan et al., FAST'17: collection makes the 99th to 99.99th percentiles 5 to
 * 138 times what they are without.
 */
static void test_collection(void **state)
{
	double quiet = read_ns("ssd", 0.999), collecting;

	(void)state;
	collecting = read_ns("ssd-gc", 0.999);
	between("ssd-gc: p99.9 of reads, of that without collection",
		collecting / quiet, 5, 138);
}

/* ---- a measured drive ---- */

/* What goes in comes out: quantiles of a table, each size, each direction. */
static void test_measured(void **state)
{
	static const char spec[] =
		"measured:parallel=4,read_4k=80us/90us/95us/100us/120us/200us/300us/1ms/4ms/9ms,read_32k=160us/180us/190us/200us/240us/400us/600us/2ms/8ms/18ms,read_256k=800us/900us/950us/1ms/1200us/2ms/3ms/9ms/20ms/40ms,flush=2ms,volatile_cache=on,iops=20k,bytes_per_s=300M";
	struct host host = drive(spec, 64 * GIB_SECTORS);
	static const double quantiles[][2] = {
		{ 0.1, 90 }, { 0.25, 95 }, { 0.5, 100 }, { 0.75, 120 },
		{ 0.9, 200 }, { 0.95, 300 }, { 0.99, 1000 }, { 0.999, 4000 },
	};

	(void)state;
	iops(&host, random_read, 4, 1, 100000);
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		about("measured: quantile, us",
		      (double)host_percentile_ns(&host, quantiles[i][0]) / 1e3,
		      quantiles[i][1], quantiles[i][0] > 0.8 ? 0.35 : 0.03);
	iops(&host, random_read, 32, 1, 20000);
	about("measured: median of 32 KiB, us",
	      (double)host_percentile_ns(&host, 0.5) / 1e3, 200, 0.03);
	iops(&host, random_read, 144, 1, 20000);
	about("measured: median between sizes, us",
	      (double)host_percentile_ns(&host, 0.5) / 1e3, 600, 0.03);
	about("measured: cap on I/Os", iops(&host, random_read, 4, 32, 100000),
	      20000, 0.05);
	about("measured: cap on bytes, MB/s",
	      rate(&host, random_read, 128, 32, 10000) / MB, 300, 0.05);
	host_stop(&host);
}

/*
 * Several commands deliver what the table says, the latencies grow by what they
 * share.
 */
static void test_measured_scaling(void **state)
{
	static const char spec[] =
		"measured:parallel=256,read_4k=80us/90us/95us/100us/120us/200us/300us/1ms/4ms/9ms,read_scaling=1.2/1.5/2.4/4/4/4/3";
	static const double scaling[][2] = {
		{ 2, 1.2 }, { 3, 1.35 }, { 4, 1.5 }, { 8, 2.4 }, { 12, 3.2 },
		{ 16, 4 }, { 64, 4 }, { 128, 3 }, { 200, 3 },
	};
	struct host host = drive(spec, 64 * GIB_SECTORS);
	double alone = iops(&host, random_read, 4, 1, 200000);
	double median = (double)host_percentile_ns(&host, 0.5);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(scaling); i++)
		about("measured: more with several",
		      iops(&host, random_read, 4, (u32)scaling[i][0], 200000) /
		      alone, scaling[i][1], 0.05);
	iops(&host, random_read, 4, 8, 100000);
	about("measured: median with 8, of that alone",
	      (double)host_percentile_ns(&host, 0.5) / median, 8 / 2.4, 0.1);
	host_stop(&host);
}

static struct simdisk_request write_flush(struct host *host, u64 number)
{
	struct simdisk_request request = random_write(host, number);

	if (number % 2) {
		request.operation = SIMDISK_FLUSH;
		request.sectors = 0;
	}
	return request;
}

/*
 * Caps of one direction hold up that one; streams and flushes have times of
 * their own.
 */
static void test_measured_sides(void **state)
{
	static const char spec[] =
		"measured:parallel=64,write_4k=1ms/1ms/1ms/1ms/1ms/1ms/1ms/1ms/1ms/1ms,read_iops=9k,write_iops=2k,read_bytes_per_s=500M,write_bytes_per_s=100M,read_stream=250M,flush_times=5ms/5ms/5ms/5ms/5ms/5ms/5ms/5ms/5ms/5ms,volatile_cache=on";
	struct host host = drive(spec, 64 * GIB_SECTORS);

	(void)state;
	about("measured: cap on reads", iops(&host, random_read, 4, 32, 50000),
	      9000, 0.05);
	about("measured: cap on writes",
	      iops(&host, random_write, 4, 32, 50000), 2000, 0.05);
	about("measured: reads and writes beside each other",
	      iops(&host, random_mix, 4, 64, 50000), 4000, 0.08);
	about("measured: cap on bytes read, MB/s",
	      rate(&host, random_read, 256, 64, 10000) / MB, 500, 0.05);
	about("measured: cap on bytes written, MB/s",
	      rate(&host, random_write, 256, 64, 10000) / MB, 100, 0.05);
	about("measured: a stream, MB/s",
	      rate(&host, next_read, 256, 1, 10000) / MB, 250, 0.03);
	about("measured: a write and a flush, ms",
	      2e3 / iops(&host, write_flush, 4, 1, 2000), 6, 0.02);
	host_stop(&host);
}

/* ---- cost ---- */

/* A second of a busy drive takes the processor well below a second. */
static void test_models_are_cheap(void **state)
{
	const struct simdisk_preset *preset;

	(void)state;
	for (u32 i = 0; (preset = simdisk_preset(i)); i++) {
		struct host host = drive(preset->name, 64 * GIB_SECTORS);
		clock_t begin = clock();

		kib = 16;
		host_run(&host, random_mix, 16, 20000);
		printf("    %-20s %6.1f s of the drive's time, %.0f ns of ours an I/O\n",
		       preset->name, (double)host.elapsed / S,
		       (double)(clock() - begin) / CLOCKS_PER_SEC * 1e9 / 20000);
		/* With sanitizers, which make it five to ten times slower. */
		assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 1.5);
		host_stop(&host);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gp3),
		cmocka_unit_test(test_gp2),
		cmocka_unit_test(test_st1),
		cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_chosen_volumes),
		cmocka_unit_test(test_spindles),
		cmocka_unit_test(test_shingled),
		cmocka_unit_test(test_array_penalties),
		cmocka_unit_test(test_array_streams),
		cmocka_unit_test(test_array_cache),
		cmocka_unit_test(test_data_sheets),
		cmocka_unit_test(test_fairness_drive),
		cmocka_unit_test(test_slc_exhaustion),
		cmocka_unit_test(test_flushes),
		cmocka_unit_test(test_suspension),
		cmocka_unit_test(test_collection),
		cmocka_unit_test(test_measured),
		cmocka_unit_test(test_measured_scaling),
		cmocka_unit_test(test_measured_sides),
		cmocka_unit_test(test_models_are_cheap),
	};

	seed = fresh_seed("the family of drives");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
