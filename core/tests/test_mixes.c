// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Without a foreground task, fgio is at least as good as mq-deadline: mixes of
 * reads and writes on every simulated drive, beside a second implementation of
 * mq-deadline's rules, and beside the order that fgio had before (the control).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../queue.h"
#include "../simdisk.h"
#include "check.h"
#include "long.h"

#define SECOND 1000000000ULL
#define SECTORS (4096ull * 2048)
#define IOS 128
#define SLOTS 2048
#define SAMPLES 2000000
/* Enough for a queue to form before each of them. */
#define IN_DRIVE_MOST 32

/* The p99 of one run may be worse by chance: the mean of this many at most counts. */
#define RUNS_MOST 5

enum rules { FGIO, DEADLINE, FORMER, RULES };

struct stream {
	bool write;
	bool sequential;
	u32 kib;
	u32 count;
};

struct mix {
	const char *name;
	struct stream streams[2];
};

static const struct mix mixes[] = {
	{ "1 reader, 100 writers of 64 KiB",
	  { { false, false, 16, 1 }, { true, false, 64, 100 } } },
	{ "1 reader, 60 writers of 512 KiB",
	  { { false, false, 16, 1 }, { true, false, 512, 60 } } },
	{ "1 writer, 100 readers",
	  { { true, false, 4, 1 }, { false, false, 16, 100 } } },
	{ "60 readers, 60 writers",
	  { { false, false, 4, 60 }, { true, false, 4, 60 } } },
	{ "4 readers in sequence, 100 writers",
	  { { false, true, 64, 4 }, { true, false, 16, 100 } } },
	{ "100 readers", { { false, false, 4, 100 } } },
	{ "100 writers", { { true, false, 4, 100 } } },
};

struct io {
	struct fgio_request request;
	const struct stream *of;
	u64 made_ns;
	u64 number;
	bool queued;
};

struct run {
	enum rules rules;
	bool rotates;
	struct fgio_queue queue;
	struct io io[IOS];
	u32 ios;
	struct io *in_slot[SLOTS];
	struct simdisk_parameters parameters;
	struct simdisk_model *model;
	u64 now_ns;
	u64 random;
	u64 made;
	u64 position[2];
	/* mq-deadline's, per direction; and of the former order */
	u64 ended[2];
	bool direction;
	u32 batch;
	u32 starved;
	u32 passed_over;
	double bytes[2];
	u64 *latency_ns[2];
	u32 latencies[2];
};

struct figures {
	double mean_ms;
	double p99_ms;
	double mb_per_s;
};

/* ---- the rules ---- */

static struct io *oldest(struct run *run, int direction)
{
	struct io *found = NULL;

	for (u32 i = 0; i < run->ios; i++) {
		struct io *io = &run->io[i];

		if (io->queued && (direction < 0 || io->of->write == direction) &&
		    (!found || io->number < found->number))
			found = io;
	}
	return found;
}

static struct io *at_or_after(struct run *run, bool write, u64 sector)
{
	struct io *found = NULL;

	for (u32 i = 0; i < run->ios; i++) {
		struct io *io = &run->io[i];

		if (io->queued && io->of->write == write &&
		    io->request.sector >= sector &&
		    (!found || io->request.sector < found->request.sector))
			found = io;
	}
	return found;
}

/* mq-deadline's dispatch, with its defaults, for one priority. */
static struct io *next_by_deadline(struct run *run)
{
	struct io *next = at_or_after(run, run->direction,
				      run->ended[run->direction]);
	bool reads = oldest(run, false), writes = oldest(run, true);
	struct io *first;

	if (next && run->batch < 16) {
		run->batch++;
	} else {
		run->direction = !reads || (writes && run->starved++ >= 2);
		if (run->direction)
			run->starved = 0;
		first = oldest(run, run->direction);
		next = at_or_after(run, run->direction,
				   run->ended[run->direction]);
		if (!next || run->now_ns >=
				     first->made_ns + (run->direction ?
							       5 * SECOND :
							       SECOND / 2))
			next = first;
		run->batch = 1;
	}
	run->ended[next->of->write] =
		next->request.sector + next->request.sectors;
	return next;
}

/*
 * By age, or on the way over a drive that says it rotates, of either direction.
 */
static struct io *next_as_formerly(struct run *run)
{
	struct io *first = oldest(run, -1), *next = NULL;

	for (int turn = 0; run->rotates && turn < 2 && !next; turn++) {
		bool write = run->direction ^ turn;

		next = at_or_after(run, write, run->ended[0]);
		if (!next)
			next = at_or_after(run, write, 0);
	}
	if (!next || next == first || run->passed_over++ >= 128) {
		run->passed_over = 0;
		next = first;
	}
	run->direction = next->of->write;
	run->ended[0] = next->request.sector + next->request.sectors;
	return next;
}

static struct io *next_by_fgio(struct run *run)
{
	struct fgio_queue *queue = &run->queue;
	struct fgio_sweep sweep;
	struct fgio_request *request;

	for (int write = 0; write < 2; write++) {
		struct io *io = at_or_after(run, write,
					    fgio_queue_position(queue, write));

		sweep.next[write] = io ? &io->request : NULL;
	}
	request = fgio_queue_next(queue,
				  fgio_queue_needs_clock(queue) ? run->now_ns : 0,
				  fgio_queue_sweeps(queue) ? &sweep : NULL);
	return fgio_container_of(request, struct io, request);
}

/* ---- the drive ---- */

static void make(struct run *run, struct io *io)
{
	u32 sectors = io->of->kib * 2;
	u64 count = SECTORS / sectors;

	io->made_ns = run->now_ns + 1;
	io->number = ++run->made;
	io->request = (struct fgio_request){
		.sector = (io->of->sequential ?
				   run->position[io->of->write]++ % count :
				   next_random(&run->random) % count) * sectors,
		.sectors = sectors,
		.write = io->of->write,
		.queued_ns = io->made_ns,
	};
	fgio_list_init(&io->request.link);
	fgio_queue_insert(&run->queue, &io->request, false);
	io->queued = true;
}

static void send(struct run *run, struct io *io)
{
	u32 slot = 0;

	while (run->in_slot[slot])
		slot++;
	run->in_slot[slot] = io;
	io->queued = false;
	CHECK(simdisk_submit(
		run->model, run->now_ns, slot,
		&(struct simdisk_request){
			.operation = io->of->write ? SIMDISK_WRITE : SIMDISK_READ,
			.sector = io->request.sector,
			.sectors = io->request.sectors,
			.hw_queue = (u16)(slot / run->parameters.queue_depth) }));
}

static void dispatch(struct run *run)
{
	u32 most = run->parameters.queue_depth < IN_DRIVE_MOST ?
			   run->parameters.queue_depth : IN_DRIVE_MOST;

	while (simdisk_outstanding(run->model) < most && oldest(run, -1)) {
		if (run->rules == FGIO)
			send(run, next_by_fgio(run));
		else if (run->rules == DEADLINE)
			send(run, next_by_deadline(run));
		else
			send(run, next_as_formerly(run));
	}
}

static void complete(struct run *run, u32 slot)
{
	struct io *io = run->in_slot[slot];
	bool write = io->of->write;

	run->in_slot[slot] = NULL;
	if (run->rules == FGIO)
		fgio_queue_left_device(&run->queue, &io->request, run->now_ns);
	if (run->now_ns > SECOND) {
		CHECK(run->latencies[write] < SAMPLES);
		run->latency_ns[write][run->latencies[write]++] =
			run->now_ns - io->made_ns;
		run->bytes[write] += io->of->kib * 1024.0;
	}
	make(run, io);
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void figures_of(struct run *run, double seconds, struct figures figures[2])
{
	for (int write = 0; write < 2; write++) {
		u64 *latency_ns = run->latency_ns[write];
		u32 n = run->latencies[write];
		double sum = 0;

		figures[write] = (struct figures){ 0 };
		if (!n)
			continue;
		for (u32 i = 0; i < n; i++)
			sum += (double)latency_ns[i];
		qsort(latency_ns, n, sizeof(u64), compare);
		figures[write] = (struct figures){
			.mean_ms = sum / n / 1e6,
			.p99_ms = (double)latency_ns[(n - 1) * 99ull / 100] / 1e6,
			.mb_per_s = run->bytes[write] / seconds / 1e6,
		};
	}
}

static void start(struct run *run, const struct mix *mix, u64 seed)
{
	for (int i = 0; i < 2; i++)
		for (u32 j = 0; j < mix->streams[i].count; j++)
			run->io[run->ios++].of = &mix->streams[i];
	run->random = seed;
	run->model = simdisk_create(calloc(1, simdisk_bytes(&run->parameters)),
				    &run->parameters, SECTORS, seed);
	fgio_queue_init(&run->queue, run->rotates);
	for (u32 i = 0; i < run->ios; i++)
		make(run, &run->io[i]);
}

static void play(enum rules rules, enum simdisk_kind kind, bool says_it_rotates,
		 const struct mix *mix, u64 seed, struct figures figures[2])
{
	struct run *run = calloc(1, sizeof(*run));
	struct simdisk_completion completion;
	u64 end_ns = kind == SIMDISK_HDD    ? 20 * SECOND :
		     kind == SIMDISK_VOLUME ? 3 * SECOND :
					      SECOND + SECOND / 4;

	run->rules = rules;
	simdisk_defaults(&run->parameters, kind);
	run->rotates = run->parameters.rotational || says_it_rotates;
	for (int write = 0; write < 2; write++)
		run->latency_ns[write] = malloc(SAMPLES * sizeof(u64));
	start(run, mix, seed);
	while (run->now_ns < end_ns) {
		u64 next_ns;

		dispatch(run);
		next_ns = simdisk_next_event(run->model);
		run->now_ns = next_ns > run->now_ns ? next_ns : run->now_ns + 1;
		while (simdisk_advance(run->model, run->now_ns, &completion, 1))
			complete(run, completion.slot);
	}
	figures_of(run, (double)(end_ns - SECOND) / 1e9, figures);
	for (int write = 0; write < 2; write++)
		free(run->latency_ns[write]);
	free(run->model);
	free(run);
}

/* ---- the table ---- */

static void show(const char *drive, const char *mix, bool write,
		 struct figures of[RULES][2])
{
	if (of[DEADLINE][write].mb_per_s > 0)
		print_message("    %-9s %-35s %-6s %9.2f %9.2f %9.2f  %9.2f %9.2f %9.2f  %7.2f %7.2f %7.2f\n",
			      drive, mix, write ? "writes" : "reads",
			      of[DEADLINE][write].mean_ms, of[FGIO][write].mean_ms,
			      of[FORMER][write].mean_ms,
			      of[DEADLINE][write].p99_ms, of[FGIO][write].p99_ms,
			      of[FORMER][write].p99_ms,
			      of[DEADLINE][write].mb_per_s,
			      of[FGIO][write].mb_per_s,
			      of[FORMER][write].mb_per_s);
}

/*
 * If the drive does more in total because reads are not kept waiting, they come
 * more often, too: writes may pay a fifth of their throughput for that.
 */
static bool is_as_good(const struct figures it[2], const struct figures than[2],
		       bool write)
{
	double share = 0.95, longer = 1.05;

	if (write && it[0].mb_per_s + it[1].mb_per_s >=
			     1.05 * (than[0].mb_per_s + than[1].mb_per_s)) {
		share = 0.8;
		longer = 1.25;
	}
	return it[write].mean_ms <= longer * than[write].mean_ms + 0.05 &&
	       it[write].p99_ms <= 1.1 * than[write].p99_ms + 0.1 &&
	       it[write].mb_per_s >= share * than[write].mb_per_s;
}

struct drive {
	const char *name;
	enum simdisk_kind kind;
	bool says_it_rotates;
};

static void add_to_mean(struct figures *mean, const struct figures *figures,
			u32 runs)
{
	mean->mean_ms += (figures->mean_ms - mean->mean_ms) / runs;
	mean->p99_ms += (figures->p99_ms - mean->p99_ms) / runs;
	mean->mb_per_s += (figures->mb_per_s - mean->mb_per_s) / runs;
}

/*
 * Runs all rules with the same seeds until the mean of the runs is as good as
 * mq-deadline's, RUNS_MOST times at most.
 *
 * Return: the number of runs that @of is the mean of.
 */
static u32 compare_rules(const struct drive *drive, const struct mix *mix,
			 uint64_t *random, struct figures of[RULES][2])
{
	u32 runs = 0;
	bool good;

	memset(of, 0, RULES * sizeof(of[0]));
	do {
		u64 seed = next_random(random);

		runs++;
		for (u32 rules = 0; rules < RULES; rules++) {
			struct figures figures[2];

			play(rules, drive->kind, drive->says_it_rotates, mix,
			     seed, figures);
			for (int write = 0; write < 2; write++)
				add_to_mean(&of[rules][write], &figures[write],
					    runs);
		}
		good = is_as_good(of[FGIO], of[DEADLINE], false) &&
		       is_as_good(of[FGIO], of[DEADLINE], true);
	} while (!good && runs < RUNS_MOST);
	return runs;
}

static void test_every_mix_on_every_drive(void **state)
{
	static const struct drive drives[] = {
		{ "hdd", SIMDISK_HDD, false },
		{ "volume", SIMDISK_VOLUME, false },
		{ "volume, r", SIMDISK_VOLUME, true },
		{ "ssd", SIMDISK_SSD, false },
		{ "nvme", SIMDISK_NVME, false },
	};
	uint64_t random = fresh_seed("mixes");
	u32 worse = 0, former_worse = 0;

	(void)state;
	skip_if_sanitized();
	print_message("    %-9s %-35s %-6s %29s  %29s  %23s\n", "drive", "mix", "",
		      "mean ms: mq-deadline, fgio,", "p99 ms", "MB/s");
	for (u32 i = 0; i < ARRAY_SIZE(drives); i++) {
		for (u32 j = 0; j < ARRAY_SIZE(mixes); j++) {
			struct figures of[RULES][2];
			u32 runs = compare_rules(&drives[i], &mixes[j], &random,
						 of);

			for (int write = 0; write < 2; write++) {
				bool good = is_as_good(of[FGIO], of[DEADLINE],
						       write);

				show(drives[i].name, mixes[j].name, write, of);
				if (!good)
					print_message("    ^ worse\n");
				worse += !good;
				former_worse += !is_as_good(
					of[FORMER], of[DEADLINE], write);
			}
			if (runs > 1)
				print_message("    ^ mean of %u runs\n", runs);
		}
	}
	print_message("    worse than mq-deadline: %u; as it was formerly: %u\n",
		      worse, former_worse);
	assert_int_equal(worse, 0);
	assert_true(former_worse > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_mix_on_every_drive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
