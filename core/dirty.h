/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Room in the page cache: how many pages non-critical writers may dirty, and
 * what a writer does that finds more.
 *
 * The FAST'17 paper (section 4.3) gives them 1 % of memory. On a large host
 * that is many seconds of writing, and a journal commit, or anybody who wants
 * all of it on disk, may have to wait for it: so a second limit is what the
 * device writes in a tenth of a second, and the smaller of both counts.
 *
 * A writer beyond the limit is *parked*. It starts writing pages back when half
 * of the limit or less is being written, and in pieces of half the limit or
 * more: so the device never runs dry, and gets large requests. It goes on when
 * the device is below the limit, or has been parked for long enough.
 *
 * All sizes are in pages. Nothing here sleeps, allocates, loops or keeps state.
 */
#ifndef FGIO_CORE_DIRTY_H
#define FGIO_CORE_DIRTY_H

#include "types.h"

/*
 * The least limit: 2 MiB in pages of 4 KiB, since a device that has less than
 * two of the largest requests waits for the writer, not the writer for it.
 */
#define FGIO_DIRTY_LIMIT_LEAST 512

/* How much longer than at the limit a park may be, far above it. */
#define FGIO_DIRTY_PARK_FACTOR 50

/* At the limit, a park is as long as the device takes for so many times more. */
#define FGIO_DIRTY_PARK_SHARE 2

/**
 * struct fgio_dirty_config - what an administrator may choose
 * @percent: limit in percent of the memory that can be dirty, 0 to 100
 * @milliseconds: limit in what the device writes in that time, at most 60,000;
 *	0: @percent alone, as in the paper
 * @park_max_ms: longest time that a writer is parked at the limit, whatever
 *	it dirtied, at most 60,000
 */
struct fgio_dirty_config {
	u32 percent;
	u32 milliseconds;
	u32 park_max_ms;
};

#define FGIO_DIRTY_CONFIG_DEFAULT     \
	((struct fgio_dirty_config){  \
		.percent = 1,         \
		.milliseconds = 100,  \
		.park_max_ms = 200,   \
	})

/**
 * struct fgio_dirty_sample - how things are on one device
 * @dirty: pages that somebody has to write
 * @writeback: pages that are being written
 * @others: such pages of all other devices
 * @dirtyable: memory that could be dirty
 * @bandwidth: pages that the device was seen to write in a second
 */
struct fgio_dirty_sample {
	u64 dirty;
	u64 writeback;
	u64 others;
	u64 dirtyable;
	u64 bandwidth;
};

enum fgio_dirty_action {
	FGIO_DIRTY_GO,
	FGIO_DIRTY_WRITE, /* start writing fgio_dirty_batch() pages */
	FGIO_DIRTY_WAIT,  /* look again after fgio_dirty_pause_ns() */
};

/*
 * How many pages of a device may be dirty or written at once. What other
 * devices have counts against the percentage, but FGIO_DIRTY_LIMIT_LEAST is always
 * there: a writer could do nothing about the others.
 */
u64 fgio_dirty_limit(const struct fgio_dirty_config *config,
		     const struct fgio_dirty_sample *sample);

/* What a writer does that would dirty more. */
enum fgio_dirty_action
fgio_dirty_next(u64 limit, const struct fgio_dirty_sample *sample);

/*
 * Pages to start writing after FGIO_DIRTY_WRITE, at least 1: no more than the
 * device writes in 50 ms, however large the limit.
 */
u64 fgio_dirty_batch(u64 limit, const struct fgio_dirty_sample *sample);

/* How long to wait until things may have changed, 0.25 ms to 10 ms. */
u64 fgio_dirty_pause_ns(u64 limit, const struct fgio_dirty_sample *sample);

/**
 * fgio_dirty_park_ns() - the longest time for which a writer is parked now
 * @config: what was chosen
 * @limit: what fgio_dirty_limit() said
 * @sample: how things are
 * @pages: how many pages the writer made dirty since it was looked at last
 *
 * Someone may wait for the writer who is not seen to do so (a lock in user
 * space that it holds), thus who dirtied little is parked for little: for twice
 * the time that the device takes for as much. It grows with the cube of how far
 * above the limit the device is: or many writers, each of them let go after a
 * short time, would get ever farther above it.
 */
u64 fgio_dirty_park_ns(const struct fgio_dirty_config *config, u64 limit,
		       const struct fgio_dirty_sample *sample, u64 pages);

#endif /* FGIO_CORE_DIRTY_H */
