// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "model_cells.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"

#define MILLISECOND 1000000ULL

/*
 * The terms of a cell: what counts as little harm, and as none; what the background must
 * have then; and from which difference on a policy is better than another.
 */
#define FREE_TIMES 1.5
#define FREE_SHARE 0.85
#define KEPT_MEAN 1.25
#define KEPT_P99 1.5
#define KEPT_SHARE 0.7
#define DOMINATES 1.05

/* A p99 is that of ten requests or more, if that takes no longer than this. */
#define REQUESTS_ENOUGH 1000
#define LONGER_MOST 5

/*
 * Slots of a stream with arrivals at any moment: enough that it hardly waits.
 */
#define OPEN_SLOTS 60

/*
 * Requests come @services reads of the idle drive apart, so that the load is a
 * share of the drive's throughput; and at least @least_ns.
 */
struct foreground {
	const char *name;
	const char *text;
	struct rival rival;
	u32 services;
	u64 least_ns;
};

static const struct foreground foregrounds[] = {
	{ "poisson", "reads of 8 KiB at any moment",
	  { .bytes = 8192, .depth = OPEN_SLOTS, .irregular = true }, 5, 0 },
	{ "write", "sequential writes of 16 KiB at any moment",
	  { .write = true, .sequential = true, .bytes = 16384,
	    .depth = OPEN_SLOTS, .irregular = true }, 5, MILLISECOND },
	{ "burst16", "bursts of 16 reads of 8 KiB at any moment",
	  { .bytes = 8192, .depth = 16, .bursts = true }, 40, 30 * MILLISECOND },
	{ "commit", "4 clients that write 8 KiB and flush, at any moment",
	  { .write = true, .sequential = true, .bytes = 8192, .depth = 4,
	    .irregular = true, .ends = RIVAL_ENDS_FLUSHED },
	  20, 5 * MILLISECOND },
	{ "qd1", "reads of 8 KiB, 1 at a time, without a pause",
	  { .bytes = 8192, .depth = 1 }, 0, 0 },
	{ "qd8", "the same, 8 at a time", { .bytes = 8192, .depth = 8 }, 0, 0 },
	{ "qd32", "the same, 32 at a time",
	  { .bytes = 8192, .depth = 32 }, 0, 0 },
	{ "regular", "a write of 4 KiB every 5 ms",
	  { .write = true, .sequential = true, .bytes = 4096, .depth = 1 },
	  0, 5 * MILLISECOND },
	{ .name = NULL },
};

struct background {
	const char *name;
	const char *text;
	struct rival rival;
};

static const struct background backgrounds[] = {
	{ "checkpoint", "64 random writes of 8 KiB at a time",
	  { .write = true, .bytes = 8192, .depth = 64 } },
	{ "random", "32 random writes of 64 KiB",
	  { .write = true, .bytes = 65536, .depth = 32 } },
	{ "sequential", "16 sequential writes of 256 KiB",
	  { .write = true, .sequential = true, .bytes = 262144, .depth = 16 } },
	{ "backup", "8 sequential reads of 256 KiB",
	  { .sequential = true, .bytes = 262144, .depth = 8 } },
	{ "mixed", "16 random reads and writes of 64 KiB",
	  { .mixed = true, .bytes = 65536, .depth = 16 } },
	{ .name = NULL },
};

const char *cell_foreground(u32 number)
{
	return number < ARRAY_SIZE(foregrounds) ? foregrounds[number].name :
						  NULL;
}

const char *cell_foreground_text(u32 number)
{
	return foregrounds[number].text;
}

const char *cell_background(u32 number)
{
	return number < ARRAY_SIZE(backgrounds) ? backgrounds[number].name :
						  NULL;
}

const char *cell_background_text(u32 number)
{
	return backgrounds[number].text;
}

const char *cell_kind_name(enum cell_kind kind)
{
	static const char *const names[CELL_KINDS] = {
		[CELL_FREE] = "free",
		[CELL_KEPT] = "kept",
		[CELL_BEYOND] = "beyond",
	};

	return names[kind];
}

bool cell_read_limits(struct cell_policies *policies, const char *list)
{
	*policies = (struct cell_policies){ .count = 1 };
	while (*list) {
		char *end;
		unsigned long limit = strtoul(list, &end, 10);

		if (end == list || !limit || limit >= RIVALS_UNRESTRICTED ||
		    (*end && (*end != ',' || !end[1])) ||
		    policies->count == CELL_POLICIES_MAX - 1)
			return false;
		policies->limit[policies->count++] = (u32)limit;
		list = *end ? end + 1 : end;
	}
	policies->limit[policies->count++] = RIVALS_UNRESTRICTED;
	return true;
}

/* The idle drive's, so that all that follows scales with it. */
static u64 service_of(const struct cell *cell)
{
	struct rivals rivals = {
		.drive = cell->drive,
		.seed = cell->seed,
		.foreground = { .bytes = 8192, .depth = 1 },
		.begin_ns = 1,
		.end_ns = 200 * MILLISECOND,
	};

	return (u64)rivals_run(&rivals).mean_ns;
}

static struct rival foreground_of(const struct cell *cell, u64 service_ns)
{
	const struct foreground *foreground = &foregrounds[cell->foreground];
	struct rival rival = foreground->rival;
	u64 apart_ns = service_ns * foreground->services;

	if (apart_ns < foreground->least_ns)
		apart_ns = foreground->least_ns;
	/* The slots of a burst come together, others in turn. */
	rival.think_ns = rival.bursts ? apart_ns : apart_ns * rival.depth;
	/* A foreground finds a drive that is busy already. */
	rival.begin_ns = 200 * MILLISECOND;
	return rival;
}

static struct rivals rivals_of(const struct cell *cell, u64 service_ns,
			       u64 measured_ns)
{
	return (struct rivals){
		.drive = cell->drive,
		.seed = cell->seed,
		.foreground = foreground_of(cell, service_ns),
		.begin_ns = cell->warm_ns,
		.end_ns = cell->warm_ns + measured_ns,
	};
}

struct cell_alone cell_run_alone(const struct cell *cell)
{
	struct cell_alone alone = {
		.service_ns = service_of(cell),
		.measured_ns = cell->measured_ns,
	};
	struct rivals rivals = rivals_of(cell, alone.service_ns,
					 alone.measured_ns);
	double longer;

	alone.figures = rivals_run(&rivals);
	if (alone.figures.requests >= REQUESTS_ENOUGH)
		return alone;
	longer = fmin(LONGER_MOST, (double)REQUESTS_ENOUGH /
					   (alone.figures.requests + 1));
	alone.measured_ns = (u64)(alone.measured_ns * longer);
	rivals.end_ns = rivals.begin_ns + alone.measured_ns;
	alone.figures = rivals_run(&rivals);
	return alone;
}

/* A foreground without completed I/O was not served at all. */
static double times(double ns, double alone_ns)
{
	return ns > 0 && alone_ns > 0 ? ns / alone_ns : INFINITY;
}

struct cell_figures cell_run(const struct cell *cell,
			     const struct cell_policies *policies,
			     const struct cell_alone *alone)
{
	struct rivals rivals = rivals_of(cell, alone->service_ns,
					 alone->measured_ns);
	struct cell_figures figures = { .mean = { 0 } };

	rivals.background = backgrounds[cell->background].rival;
	for (u32 i = 0; i < policies->count; i++) {
		struct rivals_figures run;

		rivals.limit = policies->limit[i];
		run = rivals_run(&rivals);
		figures.background_bytes_per_s[i] = run.background_bytes_per_s;
		figures.mean[i] = times(run.mean_ns, alone->figures.mean_ns);
		figures.p99[i] = times(run.p99_ns, alone->figures.p99_ns);
	}
	return figures;
}

static bool within(const struct cell_figures *figures, u32 policy, double mean,
		   double p99)
{
	return figures->mean[policy] <= mean && figures->p99[policy] <= p99;
}

static u32 dominator(const struct cell_figures *figures,
		     const struct cell_policies *policies, u32 policy)
{
	const double *bytes_per_s = figures->background_bytes_per_s;
	u32 found = 0;

	for (u32 i = 1; i < policies->count; i++)
		if (bytes_per_s[i] >= DOMINATES * bytes_per_s[policy] &&
		    within(figures, i, DOMINATES * figures->mean[policy],
			   DOMINATES * figures->p99[policy]) &&
		    (!found || bytes_per_s[i] > bytes_per_s[found]))
			found = i;
	return found;
}

/* The most that a policy with a foreground as good as alone lets through. */
static double most_kept(const struct cell_figures *figures,
			const struct cell_policies *policies)
{
	double most = -1;

	for (u32 i = 0; i < policies->count; i++)
		if (within(figures, i, KEPT_MEAN, KEPT_P99))
			most = fmax(most, figures->background_bytes_per_s[i]);
	return most;
}

struct cell_verdict cell_judge(const struct cell_figures *figures,
			       const struct cell_policies *policies, u32 policy)
{
	const double *bytes_per_s = figures->background_bytes_per_s;
	u32 none = policies->count - 1;
	double most = most_kept(figures, policies);
	struct cell_verdict verdict = {
		.dominated_by = dominator(figures, policies, policy),
	};

	if (within(figures, none, FREE_TIMES, FREE_TIMES)) {
		verdict.kind = CELL_FREE;
		verdict.kept = within(figures, policy, FREE_TIMES, FREE_TIMES) &&
			       bytes_per_s[policy] >=
				       FREE_SHARE * bytes_per_s[none];
	} else if (most >= 0) {
		verdict.kind = CELL_KEPT;
		verdict.kept = within(figures, policy, KEPT_MEAN, KEPT_P99) &&
			       bytes_per_s[policy] >= KEPT_SHARE * most;
	} else {
		verdict.kind = CELL_BEYOND;
		verdict.kept = true;
	}
	return verdict;
}
