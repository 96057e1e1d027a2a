// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Mixes of tenants on simulated drives: what each is guaranteed and got, and
 * how full the drive is, with fair shares and without. make -C core shares.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "model_host.h"
#include "model_tenants.h"

#define SECOND 1000000000ULL
#define MILLISECOND 1000000ULL
#define KIB 1024U
#define MIB (1024U * KIB)
/* Of a task that reads without a queue. */
#define THINK_NS 3000
/* A burst's tenant enters at the begin of the measurement, less this. */
#define ENTERED_NS (50 * MILLISECOND)
/* Its p99 is to be at most this many times that of its share. */
#define BURST_MOST 1.25
#define DRIVES_MAX 16U
#define ALONE_MAX 64U
#define DEPTHS_MAX 16U
#define NAME_MAX 16U

struct mix {
	const char *name;
	void (*fill)(struct mix *mix);
	bool burst;
	u32 count;
	struct tenant tenant[TENANTS_MAX];
};

struct options {
	u32 depth[DEPTHS_MAX]; /* of sfq; 0: the usual ones */
	const char *drive[DRIVES_MAX];
	u32 drives;
	const char *mixes; /* NULL: all */
	u64 seed;
	u32 seeds;
	double seconds;
	double warm_up;
	u32 window; /* seconds in which a group is to have its guarantee */
	bool known;
	bool no_turns;
	double copy_ns;
	bool json;
	bool groups;
};

struct alone {
	struct tenant tenant;
	double bytes_per_s;
	double p99_ns;
};

struct policy {
	char name[NAME_MAX];
	enum tenants_policy policy;
	u32 depth;
};

static struct policy policies[2 + DEPTHS_MAX];
static u32 policy_count;

struct result {
	struct tenants_figures figures;
	double jain;
	double worst[TENANTS_MAX];
	double least;
	double burst;
};

/* ---- streams: buffered, as the benchmark S, or direct ---- */

static const struct tenant random_reader = {
	.name = "random reader", .weight = 100, .bytes = 4 * KIB, .depth = 1, .think_ns = THINK_NS,
};
/* Two readaheads of 128 KiB at a time. */
static const struct tenant reader = {
	.name = "reader", .weight = 100, .sequential = true, .bytes = 128 * KIB, .depth = 2,
	.think_ns = THINK_NS,
};
/* Writeback, deep. */
static const struct tenant random_writer = {
	.name = "random writer", .weight = 100, .write = true, .bytes = 4 * KIB, .depth = 32,
};
static const struct tenant writer = {
	.name = "writer", .weight = 100, .write = true, .sequential = true, .bytes = 512 * KIB,
	.depth = 16,
};

static void add(struct mix *mix, struct tenant tenant, u32 weight, u32 times)
{
	tenant.weight = weight;
	while (times--)
		mix->tenant[mix->count++] = tenant;
}

static struct tenant of_bytes(struct tenant tenant, u32 bytes)
{
	tenant.bytes = bytes;
	return tenant;
}

static void random_beside_readers(struct mix *mix)
{
	add(mix, random_reader, 300, 1);
	add(mix, reader, 100, 4);
}

static void random_beside_writers(struct mix *mix)
{
	add(mix, random_reader, 300, 1);
	add(mix, writer, 100, 4);
}

static void reader_beside_readers(struct mix *mix)
{
	add(mix, reader, 300, 1);
	add(mix, reader, 100, 4);
}

static void reader_beside_writers(struct mix *mix)
{
	add(mix, reader, 300, 1);
	add(mix, writer, 100, 4);
}

/* Of the nine interferers of S four are active: the three random ones first. */
static void mix2_reads(struct mix *mix)
{
	add(mix, random_reader, 300, 1);
	add(mix, of_bytes(random_reader, 128 * KIB), 100, 3);
	add(mix, reader, 100, 1);
}

static void mix2_reads_4k(struct mix *mix)
{
	add(mix, random_reader, 300, 1);
	add(mix, random_reader, 100, 3);
	add(mix, reader, 100, 1);
}

static void mix2_reads_1m(struct mix *mix)
{
	add(mix, reader, 300, 1);
	add(mix, of_bytes(random_reader, MIB), 100, 3);
	add(mix, reader, 100, 1);
}

static void mix2_writes_4k(struct mix *mix)
{
	add(mix, random_reader, 300, 1);
	add(mix, random_writer, 100, 3);
	add(mix, writer, 100, 1);
}

static void mix2_writes_128k(struct mix *mix)
{
	add(mix, reader, 300, 1);
	add(mix, of_bytes(random_writer, 128 * KIB), 100, 3);
	add(mix, writer, 100, 1);
}

static void random_beside_random(struct mix *mix)
{
	add(mix, random_reader, 300, 1);
	add(mix, random_reader, 100, 4);
}

static void reader_beside_random(struct mix *mix)
{
	add(mix, reader, 300, 1);
	add(mix, random_reader, 100, 4);
}

static void dynamic(struct mix *mix)
{
	struct tenant sporadic = of_bytes(reader, MIB);

	sporadic.bytes_per_s = 50e6;
	add(mix, random_reader, 300, 1);
	add(mix, random_reader, 100, 1);
	add(mix, reader, 100, 1);
	add(mix, random_writer, 100, 1);
	add(mix, writer, 100, 1);
	add(mix, sporadic, 200, 5);
}

static void equal(struct mix *mix)
{
	add(mix, random_reader, 100, 1);
	add(mix, reader, 100, 7);
}

static struct tenant saturating(bool write, bool sequential, u32 bytes,
				u32 depth)
{
	return (struct tenant){
		.name = write ? "direct writer" : "direct reader",
		.write = write, .sequential = sequential, .bytes = bytes,
		.depth = depth,
	};
}

/* isol-bench: four jobs of depth 256 each; fewer where that is 100,000. */
static void isolated(struct mix *mix, u32 count, bool write)
{
	for (u32 i = 1; i <= count; i++)
		add(mix, saturating(write, false, 4 * KIB,
				    count > 16 ? 64 : 1024), i, 1);
}

static void isolated_2(struct mix *mix)
{
	isolated(mix, 2, false);
}

static void isolated_8(struct mix *mix)
{
	isolated(mix, 8, false);
}

static void isolated_64(struct mix *mix)
{
	isolated(mix, 64, false);
}

static void isolated_256(struct mix *mix)
{
	isolated(mix, 256, false);
}

static void isolated_writes(struct mix *mix)
{
	isolated(mix, 8, true);
}

static void sizes(struct mix *mix)
{
	add(mix, saturating(false, false, 4 * KIB, 256), 100, 2);
	add(mix, saturating(false, false, 256 * KIB, 256), 100, 2);
}

static void patterns(struct mix *mix)
{
	add(mix, saturating(false, false, 4 * KIB, 256), 100, 2);
	add(mix, saturating(false, true, 4 * KIB, 256), 100, 2);
}

static void reads_and_writes(struct mix *mix)
{
	add(mix, saturating(false, false, 4 * KIB, 256), 100, 2);
	add(mix, saturating(true, false, 4 * KIB, 256), 100, 2);
}

/* The four are there before the measurement begins. */
static void burst(struct mix *mix)
{
	struct tenant critical = random_reader;

	critical.critical = true;
	add(mix, critical, 100, 1);
	add(mix, saturating(false, false, 4 * KIB, 256), 100, 4);
}

static struct tenant of_foreground(struct tenant tenant, u32 depth)
{
	tenant.critical = true;
	tenant.depth = depth;
	tenant.think_ns = THINK_NS;
	return tenant;
}

/* All backends of one are foreground, and all of the other is not. */
static void foreground(struct mix *mix, u32 bytes, u32 commits)
{
	struct tenant commit = of_foreground(of_bytes(writer, bytes), commits);

	commit.joins = true;
	add(mix, of_foreground(random_reader, 1), 100, 1);
	add(mix, commit, 100, 1);
	add(mix, saturating(false, false, 4 * KIB, 256), 100, 1);
}

static void foreground_small(struct mix *mix)
{
	foreground(mix, 16 * KIB, 1);
}

static void foreground_many(struct mix *mix)
{
	foreground(mix, 16 * KIB, 8);
}

static void foreground_large(struct mix *mix)
{
	foreground(mix, 256 * KIB, 1);
}

static void foreground_reads(struct mix *mix)
{
	add(mix, of_foreground(random_reader, 1), 100, 1);
	add(mix, saturating(false, false, 4 * KIB, 256), 100, 4);
}

static struct mix mixes[] = {
	{ .name = "1: random, 4 readers", .fill = random_beside_readers },
	{ .name = "1: random, 4 writers", .fill = random_beside_writers },
	{ .name = "1: reader, 4 readers", .fill = reader_beside_readers },
	{ .name = "1: reader, 4 writers", .fill = reader_beside_writers },
	{ .name = "2: random, reads of 4 KiB", .fill = mix2_reads_4k },
	{ .name = "2: random, reads of 128 KiB", .fill = mix2_reads },
	{ .name = "2: reader, reads of 1 MiB", .fill = mix2_reads_1m },
	{ .name = "2: random, writes of 4 KiB", .fill = mix2_writes_4k },
	{ .name = "2: reader, writes of 128 KiB", .fill = mix2_writes_128k },
	{ .name = "3: random, 4 random", .fill = random_beside_random },
	{ .name = "3: reader, 4 random", .fill = reader_beside_random },
	{ .name = "4: dynamic", .fill = dynamic },
	{ .name = "equal: random, 7 readers", .fill = equal },
	{ .name = "isolated: 2", .fill = isolated_2 },
	{ .name = "isolated: 8", .fill = isolated_8 },
	{ .name = "isolated: 64", .fill = isolated_64 },
	{ .name = "isolated: 256", .fill = isolated_256 },
	{ .name = "isolated: 8, writes", .fill = isolated_writes },
	{ .name = "isolated: 4 and 256 KiB", .fill = sizes },
	{ .name = "isolated: random, sequential", .fill = patterns },
	{ .name = "isolated: reads, writes", .fill = reads_and_writes },
	{ .name = "burst", .fill = burst, .burst = true },
	{ .name = "foreground: reads", .fill = foreground_reads },
	{ .name = "foreground: commits", .fill = foreground_small },
	{ .name = "foreground: 8 commits", .fill = foreground_many },
	{ .name = "foreground: commits, 256 KiB", .fill = foreground_large },
};

/* ---- what each would do alone, and the guarantee ---- */

/* Streams of one tenant, without a policy. */
static const struct tenants_figures *
run_tenant(const struct options *options,
	   const struct simdisk_parameters *drive,
	   const struct tenant *streams, u32 count, u64 seed)
{
	static struct tenants_figures figures;
	struct tenants tenants = {
		.drive = drive,
		.seed = seed,
		.policy = TENANTS_NONE,
		.copy_ns = options->copy_ns,
		.count = count,
		.tenant = streams,
		.begin_ns = (u64)(options->warm_up * SECOND),
	};

	tenants.end_ns = tenants.begin_ns + (u64)(options->seconds * SECOND);
	tenants_run(&tenants, &figures);
	return &figures;
}

static struct alone run_alone(const struct options *options,
			      const struct simdisk_parameters *drive,
			      const struct tenant *tenant, u64 seed)
{
	const struct tenants_figures *figures;
	struct alone alone = { .tenant = *tenant };

	alone.tenant.bytes_per_s = 0;
	alone.tenant.begin_ns = 0;
	alone.tenant.weight = 1;
	figures = run_tenant(options, drive, &alone.tenant, 1, seed);
	alone.bytes_per_s = figures->bytes_per_s;
	alone.p99_ns = figures->group[0].p99_ns;
	return alone;
}

static bool same_stream(const struct tenant *one, const struct tenant *other)
{
	return one->write == other->write &&
	       one->sequential == other->sequential &&
	       one->bytes == other->bytes && one->depth == other->depth &&
	       one->think_ns == other->think_ns;
}

/* Streams of the group of this one, with which it begins. */
static u32 streams_of(const struct mix *mix, u32 first)
{
	u32 count = 1;

	while (first + count < mix->count && mix->tenant[first + count].joins)
		count++;
	return count;
}

/* Of a group with several streams: what each of them does beside the others. */
static void run_streams(const struct options *options,
			const struct simdisk_parameters *drive,
			const struct tenant *streams, u32 count, u64 seed,
			double *rate)
{
	const struct tenants_figures *figures =
		run_tenant(options, drive, streams, count, seed);

	for (u32 i = 0; i < count; i++)
		rate[i] = figures->group[i].bytes_per_s;
}

static void alone_rates(const struct options *options,
			const struct simdisk_parameters *drive,
			const struct mix *mix, u64 seed, double *rate)
{
	struct alone known[ALONE_MAX];
	u32 count = 0, streams;

	for (u32 i = 0; i < mix->count; i += streams) {
		u32 j = 0;

		streams = streams_of(mix, i);
		if (streams > 1) {
			run_streams(options, drive, &mix->tenant[i], streams,
				     seed, &rate[i]);
			continue;
		}
		while (j < count &&
		       !same_stream(&known[j].tenant, &mix->tenant[i]))
			j++;
		if (j == count) {
			CHECK(count < ALONE_MAX);
			known[count++] = run_alone(options, drive,
						   &mix->tenant[i], seed);
		}
		rate[i] = known[j].bytes_per_s;
	}
}

/*
 * Each group's part of the drive's time: by weight among those that want more,
 * and no more than it wants.
 */
static void parts_of_time(const struct mix *mix, const double *alone,
			  double *part)
{
	bool full[TENANTS_MAX] = { false };
	double left = 1, weights;
	bool changed = true;

	while (changed) {
		changed = false;
		weights = 0;
		for (u32 i = 0; i < mix->count; i++)
			weights += full[i] || mix->tenant[i].joins ?
					   0 :
					   mix->tenant[i].weight;
		for (u32 i = 0; i < mix->count && !changed; i++) {
			double wants = mix->tenant[i].bytes_per_s / alone[i];

			if (full[i])
				continue;
			if (mix->tenant[i].joins) {
				part[i] = part[i - 1];
				continue;
			}
			part[i] = left * mix->tenant[i].weight / weights;
			if (mix->tenant[i].bytes_per_s > 0 && wants < part[i]) {
				part[i] = wants;
				left -= wants;
				full[i] = true;
				changed = true;
			}
		}
	}
}

/* ---- running and judging ---- */

static void run_policy(const struct options *options,
		       const struct simdisk_parameters *drive,
		       const struct mix *mix, const struct policy *policy,
		       const double *alone, u64 seed, struct result *result)
{
	static struct mix changed;
	struct tenants tenants = {
		.drive = drive,
		.seed = seed,
		.policy = policy->policy,
		.depth = policy->depth,
		.copy_ns = options->copy_ns,
		.count = mix->count,
		.tenant = changed.tenant,
		.known = options->known ? alone : NULL,
		.no_turns = options->no_turns,
		.begin_ns = (u64)(options->warm_up * SECOND),
	};

	changed = *mix;
	tenants.end_ns = tenants.begin_ns + (u64)(options->seconds * SECOND);
	if (mix->burst)
		changed.tenant[0].begin_ns = tenants.begin_ns - ENTERED_NS;
	tenants_run(&tenants, &result->figures);
}

/*
 * A disk that serves each sequential group in every second begins at least one
 * stream anew for each but the first, which may go on from the second before:
 * the least seek between two of them, and half a turn. Return: the part of the
 * disk's time that is left; 1 where there is no such bound.
 */
static double time_of_slices(const struct simdisk_parameters *drive,
			     const struct mix *mix)
{
	double switch_ns = drive->hdd.rotation_ns / 2.0 +
			   drive->hdd.seek_settle_ns +
			   drive->hdd.seek_stroke_ns / sqrt(TENANTS_MAX);
	u32 streams = 0;

	if (drive->kind != SIMDISK_HDD)
		return 1;
	/* A cache takes writes and puts them in order. */
	for (u32 i = 0; i < mix->count; i++)
		streams += mix->tenant[i].sequential && !mix->tenant[i].write;
	return streams ? 1 - (streams - 1) * switch_ns / SECOND : 1;
}

static double jain(const double *value, u32 count)
{
	double sum = 0, squares = 0;

	for (u32 i = 0; i < count; i++) {
		sum += value[i];
		squares += value[i] * value[i];
	}
	return sum * sum / (count * squares);
}

/* A second counts one I/O more: it may be under way when the second ends. */
static void judge(const struct options *options, const struct mix *mix,
		  const double *guarantee, struct result *result)
{
	u32 window = options->window;
	double share[TENANTS_MAX];

	result->least = INFINITY;
	for (u32 i = 0; i < mix->count; i++) {
		const struct tenant_figures *group = &result->figures.group[i];

		result->worst[i] = INFINITY;
		share[i] = group->bytes_per_s / guarantee[i];
		for (u32 s = 0; s + window <= (u32)options->seconds; s++) {
			double bytes = mix->tenant[i].bytes;

			for (u32 j = 0; j < window; j++)
				bytes += group->second[s + j];
			result->worst[i] = fmin(result->worst[i],
						bytes / window / guarantee[i]);
		}
		result->least = fmin(result->least, result->worst[i]);
	}
	result->jain = jain(share, mix->count);
}

/*
 * The same tenant alone on a drive of @part of the speed: all times are longer
 * by 1 / @part there, those of controller and link as well.
 */
static double burst_p99(const struct options *options,
			const struct simdisk_parameters *drive,
			const struct mix *mix, u64 seed, double part)
{
	struct tenant tenant = mix->tenant[0];

	tenant.think_ns = (u64)((double)tenant.think_ns * part);
	return run_alone(options, drive, &tenant, seed).p99_ns / part;
}

/* ---- printing ---- */

static void print_json(const char *drive, const struct mix *mix,
		       const struct policy *policy, u64 seed, double feasible,
		       const double *guarantee, const struct result *result)
{
	printf("{\"config\": \"%s\", \"device\": \"%s\", \"mix\": \"%s\", \"seed\": %llu, \"total_mb_s\": %.1f, \"feasible_mb_s\": %.1f, \"jain\": %.4f, \"worst_second\": %.3f, ",
	       policy->name, drive, mix->name, (unsigned long long)seed,
	       result->figures.bytes_per_s / 1e6, feasible / 1e6, result->jain,
	       result->least);
	if (mix->burst)
		printf("\"p99_of_share\": %.3f, ", result->burst);
	printf("\"groups\": [");
	/* Of hundreds, the first of each kind is enough. */
	for (u32 i = 0; i < mix->count && i < 16; i++)
		printf("%s{\"name\": \"%s\", \"weight\": %u, \"guarantee_mb_s\": %.2f, \"mb_s\": %.2f, \"worst_second\": %.3f, \"p99_ms\": %.3f}",
		       i ? ", " : "", mix->tenant[i].name,
		       mix->tenant[i].weight, guarantee[i] / 1e6,
		       result->figures.group[i].bytes_per_s / 1e6,
		       result->worst[i], result->figures.group[i].p99_ns / 1e6);
	printf("]}\n");
}

static void print_text(const struct options *options, const char *drive,
		       const struct mix *mix, const struct policy *policy,
		       double feasible, const double *guarantee,
		       const struct result *result)
{
	printf("%-8s %-28s %-7s total %7.1f of %7.1f MB/s (%4.0f%%)  worst second %4.0f%%  Jain %.4f",
	       drive, mix->name, policy->name,
	       result->figures.bytes_per_s / 1e6, feasible / 1e6,
	       100 * result->figures.bytes_per_s / feasible,
	       100 * result->least, result->jain);
	if (mix->burst)
		printf("  p99 %.2f of its share's", result->burst);
	if (policy->policy == TENANTS_FGIO)
		printf("  depth %u", result->figures.limit);
	printf("\n");
	for (u32 i = 0; options->groups && i < mix->count && i < 16; i++)
		printf("    %-14s weight %3u: guarantee %7.2f, got %7.2f MB/s, worst second %4.0f%%, p50 %.2f p99 %.2f ms\n",
		       mix->tenant[i].name, mix->tenant[i].weight,
		       guarantee[i] / 1e6,
		       result->figures.group[i].bytes_per_s / 1e6,
		       100 * result->worst[i],
		       result->figures.group[i].p50_ns / 1e6,
		       result->figures.group[i].p99_ns / 1e6);
}

static void run_mix(const struct options *options, const char *name,
		    const struct mix *mix, u64 seed)
{
	static struct result results[ARRAY_SIZE(policies)];
	struct simdisk_parameters drive = host_parsed(name);
	double alone[TENANTS_MAX], part[TENANTS_MAX], guarantee[TENANTS_MAX];
	double feasible = 0, share_p99 = 0;

	alone_rates(options, &drive, mix, seed, alone);
	parts_of_time(mix, alone, part);
	for (u32 i = 0; i < mix->count; i++) {
		guarantee[i] = part[i] * alone[i];
		feasible += guarantee[i];
	}
	if (mix->burst)
		share_p99 = burst_p99(options, &drive, mix, seed, part[0]);
	for (u32 i = 0; i < policy_count; i++) {
		run_policy(options, &drive, mix, &policies[i], alone, seed,
			   &results[i]);
		judge(options, mix, guarantee, &results[i]);
		results[i].burst =
			results[i].figures.group[0].p99_ns / share_p99;
		/* The best that keeps all guarantees, and a burst's latency. */
		if (results[i].least >= 0.95 &&
		    (!mix->burst || results[i].burst <= BURST_MOST))
			feasible = fmax(feasible,
					results[i].figures.bytes_per_s);
	}
	for (u32 i = 0; i < policy_count; i++) {
		if (options->json)
			print_json(name, mix, &policies[i], seed, feasible,
				   guarantee, &results[i]);
		else
			print_text(options, name, mix, &policies[i], feasible,
				   guarantee, &results[i]);
	}
	if (!options->json && time_of_slices(&drive, mix) < 1)
		printf("    with each of its streams of reads in every second, %.1f%% of the disk's time at most\n",
		       100 * time_of_slices(&drive, mix));
	fflush(stdout);
}

/* ---- options ---- */

static void print_usage(FILE *out)
{
	fputs("usage: shares [OPTION]... [DRIVE]...\n"
	      "Mixes of tenants on simulated drives, with fair shares and without.\n\n"
	      "  --mix TEXT     mixes whose name has this; default: all\n"
	      "  --seconds S    measured of each run; default: 4\n"
	      "  --warm-up S    before that; default: 6\n"
	      "  --seeds N      seeds of each; default: 1\n"
	      "  --seed N       the first of them; also SEED=N; default: a fresh one, printed\n"
	      "  --window N     seconds in which each group is to have its guarantee; default: 1\n"
	      "  --known-costs  service costs are given to fgio and not learnt\n"
	      "  --no-turns     reads have no turns under fgio\n"
	      "  --depths N,... I/Os in the drive of sfq; default: 4,32\n"
	      "  --copy NS      one processor, that long for each KiB; default: one for each\n"
	      "  --groups       print what each group got\n"
	      "  --json         one object a line\n"
	      "  --help\n\nDefault drives: ssd-m5s, volume, nvme, hdd. Mixes:\n", out);
	for (u32 i = 0; i < ARRAY_SIZE(mixes); i++)
		fprintf(out, "  %s\n", mixes[i].name);
}

static double number(const char *text, double least, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= least && value <= most)) {
		fprintf(stderr, "shares: %s: give a value from %g to %g\n",
			text, least, most);
		exit(2);
	}
	return value;
}

static void read_depths(struct options *options, char *text)
{
	u32 count = 0;

	for (char *each = strtok(text, ","); each; each = strtok(NULL, ",")) {
		if (count == DEPTHS_MAX) {
			fprintf(stderr, "shares: --depths: give %u at most\n",
				DEPTHS_MAX);
			exit(2);
		}
		options->depth[count++] = (u32)number(each, 1, 65535);
	}
}

/* None, start tags with each number of I/Os in the drive, and fgio. */
static void fill_policies(const struct options *options)
{
	policies[policy_count++] =
		(struct policy){ "none", TENANTS_NONE, 0 };
	for (u32 i = 0; i < DEPTHS_MAX && options->depth[i]; i++) {
		struct policy *sfq = &policies[policy_count++];

		snprintf(sfq->name, sizeof(sfq->name), "sfq-%u",
			 options->depth[i]);
		sfq->policy = TENANTS_SFQ;
		sfq->depth = options->depth[i];
	}
	policies[policy_count++] =
		(struct policy){ "fgio", TENANTS_FGIO, 0 };
}

static void read_options(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{ "mix", required_argument, NULL, 'm' },
		{ "seconds", required_argument, NULL, 't' },
		{ "warm-up", required_argument, NULL, 'w' },
		{ "seeds", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "window", required_argument, NULL, 'W' },
		{ "known-costs", no_argument, NULL, 'k' },
		{ "no-turns", no_argument, NULL, 'T' },
		{ "depths", required_argument, NULL, 'd' },
		{ "copy", required_argument, NULL, 'c' },
		{ "groups", no_argument, NULL, 'g' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	static const char *const usual[] = { "ssd-m5s", "volume", "nvme", "hdd" };
	bool seeded = false;
	int option;

	*options = (struct options){
		.depth = { 4, 32 }, .seconds = 4, .warm_up = 6, .seeds = 1,
		.window = 1,
	};
	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (option) {
		case 'm':
			options->mixes = optarg;
			break;
		case 't':
			options->seconds = number(optarg, 1, 60);
			break;
		case 'w':
			options->warm_up = number(optarg, 0.1, 1000);
			break;
		case 'n':
			options->seeds = (u32)number(optarg, 1, 1000);
			break;
		case 's':
			options->seed = (u64)number(optarg, 0, 1e18);
			seeded = true;
			break;
		case 'W':
			options->window = (u32)number(optarg, 1, 60);
			break;
		case 'k':
			options->known = true;
			break;
		case 'T':
			options->no_turns = true;
			break;
		case 'd':
			memset(options->depth, 0, sizeof(options->depth));
			read_depths(options, optarg);
			break;
		case 'c':
			options->copy_ns = number(optarg, 0, 1e6);
			break;
		case 'g':
			options->groups = true;
			break;
		case 'j':
			options->json = true;
			break;
		case 'h':
			print_usage(stdout);
			exit(0);
		default:
			print_usage(stderr);
			exit(2);
		}
	}
	for (; optind < argc && options->drives < DRIVES_MAX; optind++)
		options->drive[options->drives++] = argv[optind];
	for (u32 i = 0; !options->drives && i < ARRAY_SIZE(usual); i++)
		options->drive[i] = usual[i];
	if (!options->drives)
		options->drives = ARRAY_SIZE(usual);
	for (u32 i = 0; i < options->drives; i++)
		host_parsed(options->drive[i]);
	if (options->window > options->seconds) {
		fputs("shares: --window: give no more than --seconds\n",
		      stderr);
		exit(2);
	}
	if (!seeded && !options->json)
		options->seed = fresh_seed("shares");
	else if (!seeded)
		options->seed = 1;
}

int main(int argc, char **argv)
{
	struct options options;

	read_options(&options, argc, argv);
	fill_policies(&options);
	for (u32 i = 0; i < ARRAY_SIZE(mixes); i++)
		mixes[i].fill(&mixes[i]);
	for (u32 drive = 0; drive < options.drives; drive++)
		for (u32 i = 0; i < ARRAY_SIZE(mixes); i++)
			for (u32 seed = 0; seed < options.seeds; seed++)
				if (!options.mixes ||
				    strstr(mixes[i].name, options.mixes))
					run_mix(&options, options.drive[drive],
						&mixes[i], options.seed + seed);
	return 0;
}
