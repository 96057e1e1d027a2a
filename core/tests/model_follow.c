// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "model_follow.h"

#include <math.h>

#include "check.h"

#define MILLISECOND 1000000ULL
#define SECOND 1000000000ULL
#define SEEDS_MOST 32

#define LEARNS_NS (1 * SECOND)
#define PAUSE_NS (60 * SECOND)
/* The drive ends what it was given in the pause. */
#define DRAINS_NS (100 * MILLISECOND)
/* Long after the start. */
#define SETTLED_NS (8 * SECOND)
#define SHARE_LEAST 0.8
#define MEAN_MOST 1.5
#define MEAN_MORE 1.25

const char *follow_event_name(enum follow_event event)
{
	static const char *const names[FOLLOW_EVENTS] = {
		[FOLLOW_START] = "start",
		[FOLLOW_SLOWER] = "slower",
		[FOLLOW_FASTER] = "faster",
		[FOLLOW_RETURN] = "return",
	};

	return names[event];
}

static struct rivals figure_11(const struct simdisk_parameters *drive, u64 seed)
{
	return (struct rivals){
		.drive = drive,
		.seed = seed,
		.foreground = { .write = true, .sequential = true, .bytes = 4096,
				.depth = 1, .think_ns = 5 * MILLISECOND,
				.begin_ns = 200 * MILLISECOND },
		.background = { .write = true, .bytes = 65536, .depth = 32 },
	};
}

static void measure(struct rivals rivals, u64 begin_ns, double *share,
		    double *mean)
{
	struct rivals_figures learnt, none, alone;

	rivals.begin_ns = begin_ns;
	rivals.end_ns = begin_ns + 1 * SECOND;
	learnt = rivals_run(&rivals);
	rivals.limit = RIVALS_UNRESTRICTED;
	none = rivals_run(&rivals);
	rivals.background.depth = 0;
	alone = rivals_run(&rivals);
	*share = learnt.background_bytes_per_s / none.background_bytes_per_s;
	*mean = learnt.requests ? learnt.mean_ns / alone.mean_ns : INFINITY;
}

struct follow_figures follow_run(const struct simdisk_parameters *drive,
				 enum follow_event event, u64 seed)
{
	struct simdisk_parameters turns = *drive;
	struct rivals rivals = figure_11(&turns, seed), always = rivals;
	u64 at_ns = 3 * SECOND + seed % 10 * 100 * MILLISECOND;
	u64 begin_ns = at_ns + LEARNS_NS, always_begin_ns = begin_ns;
	struct simdisk_parameters turned = *drive;
	struct follow_figures figures;

	always.drive = &turned;
	if (event == FOLLOW_START) {
		begin_ns = rivals.foreground.begin_ns + LEARNS_NS;
		always_begin_ns = SETTLED_NS;
	} else if (event == FOLLOW_RETURN) {
		rivals.pause_ns = at_ns;
		rivals.resume_ns = at_ns + PAUSE_NS;
		begin_ns = rivals.resume_ns + DRAINS_NS;
		always_begin_ns = at_ns;
	} else {
		turns.variation.turn_ns = at_ns;
		turned.variation.turn_ns = 1;
		turns.variation.turn_speed_ppm =
			event == FOLLOW_SLOWER ? SIMDISK_PPM / 4 :
						 2 * SIMDISK_PPM;
		turned.variation.turn_speed_ppm =
			turns.variation.turn_speed_ppm;
	}
	measure(rivals, begin_ns, &figures.share, &figures.mean);
	measure(always, always_begin_ns, &figures.always_share,
		&figures.always_mean);
	return figures;
}

static void sort_in(double *values, u32 count, double value)
{
	for (; count && values[count - 1] > value; count--)
		values[count] = values[count - 1];
	values[count] = value;
}

struct follow_figures follow_median(const struct simdisk_parameters *drive,
				    enum follow_event event, u64 seed,
				    u32 seeds)
{
	double values[4][SEEDS_MOST];

	CHECK(seeds && seeds <= SEEDS_MOST);
	for (u32 i = 0; i < seeds; i++) {
		struct follow_figures run = follow_run(drive, event, seed + i);

		sort_in(values[0], i, run.share);
		sort_in(values[1], i, run.mean);
		sort_in(values[2], i, run.always_share);
		sort_in(values[3], i, run.always_mean);
	}
	return (struct follow_figures){
		.share = values[0][seeds / 2],
		.mean = values[1][seeds / 2],
		.always_share = values[2][seeds / 2],
		.always_mean = values[3][seeds / 2],
	};
}

bool follow_holds(const struct follow_figures *figures)
{
	return figures->share >= SHARE_LEAST * figures->always_share &&
	       figures->mean <= fmax(MEAN_MOST,
				     MEAN_MORE * figures->always_mean);
}
