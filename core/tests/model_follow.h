/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How soon the learnt depth is what it is on a drive that was always so: from
 * the start, after the drive became slower or faster, and after a pause of the
 * foreground.
 */
#ifndef FGIO_CORE_TESTS_MODEL_FOLLOW_H
#define FGIO_CORE_TESTS_MODEL_FOLLOW_H

#include "model_rivals.h"

enum follow_event {
	FOLLOW_START,	/* of both streams; a second is for learning */
	FOLLOW_SLOWER,	/* the drive has a quarter of its speed; the same */
	FOLLOW_FASTER,	/* the drive has twice its speed; the same */
	FOLLOW_RETURN,	/* of the foreground after 60 s; a tenth is to drain */
	FOLLOW_EVENTS,
};

/*
 * Of one second. @share: the background's throughput, of unrestricted. @mean: of
 * the foreground's latency, in times alone. The same on a drive and with a
 * foreground that were always so.
 */
struct follow_figures {
	double share;
	double mean;
	double always_share;
	double always_mean;
};

const char *follow_event_name(enum follow_event event);

/* A write of 4 KiB each 5 ms, beside 32 random writes of 64 KiB. */
struct follow_figures follow_run(const struct simdisk_parameters *drive,
				 enum follow_event event, u64 seed);

/* Medians over the seeds from @seed on. */
struct follow_figures follow_median(const struct simdisk_parameters *drive,
				    enum follow_event event, u64 seed,
				    u32 seeds);

/*
 * Four fifths of what it is otherwise, and a mean that is half as long again as
 * alone at most, or a quarter longer than otherwise.
 */
bool follow_holds(const struct follow_figures *figures);

#endif
