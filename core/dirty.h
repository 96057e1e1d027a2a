/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Dirty limit: how many pages non-critical writers may dirty, and what a writer
 * does beyond that.
 *
 * The FAST'17 paper (section 4.3) gives them 1 % of memory. On a large host
 * that is many seconds of writing, and a journal commit or a sync may have to
 * wait for it. So there is a second limit, the pages that the device writes in
 * a tenth of a second, and the smaller of both counts.
 *
 * A writer beyond the limit is *parked*. It starts writeback when half of the
 * limit or less is under writeback, in pieces of half the limit or more: the
 * device never runs dry, and gets large requests. It resumes when the device is
 * below the limit, or after it has been parked for long enough.
 *
 * All sizes are in pages. Nothing here sleeps, allocates, loops or keeps state.
 */
#ifndef FGIO_CORE_DIRTY_H
#define FGIO_CORE_DIRTY_H

#include "types.h"

/*
 * Least limit in pages, 2 MiB: a device that has less than two of the largest
 * requests waits for the writer, not the writer for it.
 */
#define FGIO_DIRTY_LIMIT_LEAST 512

/*
 * Far above the limit, a park may take this many times as long as at the limit.
 */
#define FGIO_DIRTY_PARK_FACTOR 50

/*
 * At the limit, a park takes this many times the device's time for the pages.
 */
#define FGIO_DIRTY_PARK_SHARE 2

/**
 * struct fgio_dirty_config - the administrator's settings
 * @percent: limit in percent of the memory that can be dirty, 0 to 100
 * @milliseconds: limit in ms of writing by the device, at most 60,000; 0:
 *	@percent alone, as in the paper
 * @park_max_ms: longest park of a writer at the limit, whatever it dirtied, at
 *	most 60,000
 */
struct fgio_dirty_config {
	u32 percent;
	u32 milliseconds;
	u32 park_max_ms;
};

/**
 * struct fgio_dirty_sample - the state of one device
 * @dirty: pages that have to be written
 * @writeback: pages under writeback
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
 * How many pages of a device may be dirty or under writeback at once. Pages of
 * other devices count against the percentage, but FGIO_DIRTY_LIMIT_LEAST is
 * always there: a writer could do nothing about the others.
 */
u64 fgio_dirty_limit(const struct fgio_dirty_config *config,
		     const struct fgio_dirty_sample *sample);

/* The action of a writer before it dirties more. */
enum fgio_dirty_action
fgio_dirty_next(u64 limit, const struct fgio_dirty_sample *sample);

/*
 * Pages to start writing after FGIO_DIRTY_WRITE, at least 1: no more than the
 * device writes in 50 ms, however large the limit.
 */
u64 fgio_dirty_batch(u64 limit, const struct fgio_dirty_sample *sample);

/* How long to wait until the state may have changed, 0.25 ms to 10 ms. */
u64 fgio_dirty_pause_ns(u64 limit, const struct fgio_dirty_sample *sample);

/**
 * fgio_dirty_park_ns() - the longest time to park a writer now
 * @config: the settings
 * @limit: from fgio_dirty_limit()
 * @sample: the state of the device
 * @pages: pages that the writer dirtied since it last got here
 *
 * A task may wait for the writer unseen (for a lock in user space that it
 * holds), so a writer that dirtied little is parked for little: twice the
 * device's time for as many pages. It grows with the cube of how far above the
 * limit the device is. Otherwise many writers, each resumed after a short time,
 * would get ever farther above it.
 */
u64 fgio_dirty_park_ns(const struct fgio_dirty_config *config, u64 limit,
		       const struct fgio_dirty_sample *sample, u64 pages);

#endif /* FGIO_CORE_DIRTY_H */
