/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How many requests keep a drive full: the knee of its throughput, learnt while
 * shares are on. With fewer it idles; with more, requests wait in the drive,
 * which knows neither groups nor classes.
 *
 * The limit doubles while the drive delivers a 32nd more each time, and is then
 * halved while it delivers no less. After some intervals at one limit, the next
 * is tried with half as many more, and one with a third fewer. A change stays if
 * it delivers more, in a comparison with the limit before and again after it, or
 * as much with fewer; while more delivers more, the next trial comes at once. Work is
 * counted in service costs (shares_cost.h), so mixes of kinds may change meanwhile.
 * But of a kind that the limit was not found with, the drive may do many more at a
 * time: the next trial comes soon, with more.
 *
 * A limit that is too high costs order: a group whose requests are all in the drive
 * is not ordered there, and where it lags, others are held back for it
 * (shares_turn.c). No interval is full then, and no trial would begin, so some
 * such intervals in a row are reason enough to try with fewer.
 *
 * Locking: the caller serialises. Nothing here sleeps, allocates or loops.
 */
#ifndef FGIO_CORE_SHARES_LIMIT_H
#define FGIO_CORE_SHARES_LIMIT_H

#include "types.h"

/* Bounds of the limit. */
#define FGIO_SHARE_LIMIT_LEAST 2U
#define FGIO_SHARE_LIMIT_FIRST 16U
/* But no more than the drive does in this time. */
#define FGIO_SHARE_LIMIT_FIRST_NS 50000000ULL
#define FGIO_SHARE_LIMIT_MOST 1024U
/* Of a disk: what it sorts (NCQ). Its throughput is too uneven to learn from. */
#define FGIO_SHARE_LIMIT_DISK 32U
/* Doubling must deliver a 32nd more, half as many more a 64th. */
#define FGIO_SHARE_LIMIT_DOUBLE_SHARE 32U
#define FGIO_SHARE_LIMIT_MORE_SHARE 64U
/* A third fewer may deliver a 256th less. */
#define FGIO_SHARE_LIMIT_FEWER_SHARE 256U
/* Intervals at a limit before the next trial. */
#define FGIO_SHARE_LIMIT_INTERVALS 32U
/* Intervals in a row that were crowded, before there are a third fewer. */
#define FGIO_SHARE_LIMIT_CROWDS 8U
/* Those of a group that has this part of the limit, and more than as many. */
#define FGIO_SHARE_LIMIT_CROWD_SHARE 4U
#define FGIO_SHARE_LIMIT_CROWD_LEAST 16U
/* Intervals of a trial; the first one does not count. */
#define FGIO_SHARE_LIMIT_TRIAL 6U

/* In order: the first search ends with the first that holds. */
enum fgio_share_limit_phase {
	FGIO_SHARE_LIMIT_DOUBLES,
	FGIO_SHARE_LIMIT_HALVES,
	FGIO_SHARE_LIMIT_HOLDS,
	FGIO_SHARE_LIMIT_MORE,
	FGIO_SHARE_LIMIT_CHECKS,
	FGIO_SHARE_LIMIT_FEWER,
};

/**
 * struct fgio_share_limit - of one drive
 * @limit: requests in the drive
 * @before: the limit before a trial, or the best of several in a row
 * @tried: the limit of a trial that is checked
 * @rate: mean of what was delivered at @before, or in a check at @tried, in
 *	permyriad of real time
 * @sum: of what was delivered in the intervals of this phase
 * @count: their number
 * @phase: enum fgio_share_limit_phase
 * @fewer_next: the direction of the next trial
 * @fixed: not learnt
 * @reached: it held a request back in this phase; else the device has no more
 *	tags
 * @crowded: in this interval, others were held back for a group with a large part of
 *	it in the drive
 * @crowds: intervals in a row that were
 * @soon: the next trial comes after as many intervals as one takes
 * @nodes: bits of the kinds and sizes that it met
 */
struct fgio_share_limit {
	u32 limit;
	u32 before;
	u32 tried;
	u64 rate;
	u64 sum;
	u32 count;
	u8 phase;
	bool fewer_next;
	bool fixed;
	bool reached;
	bool crowded;
	u32 crowds;
	bool soon;
	u32 nodes;
};

void fgio_share_limit_init(struct fgio_share_limit *limit, bool rotates);

/* The drive holds as many as the limit, and a request waits. */
static inline void fgio_share_limit_reached(struct fgio_share_limit *limit)
{
	limit->reached = true;
}

/* Others are held back for a group that lags and has @own requests in the drive. */
static inline void fgio_share_limit_held_for(struct fgio_share_limit *limit,
					     u32 own)
{
	if (own > FGIO_SHARE_LIMIT_CROWD_LEAST &&
	    own >= limit->limit / FGIO_SHARE_LIMIT_CROWD_SHARE)
		limit->crowded = true;
}

/*
 * Whether the costs that work is counted in may change: they are the scale by
 * which two limits are compared.
 */
static inline bool
fgio_share_limit_holds(const struct fgio_share_limit *limit)
{
	return limit->phase == FGIO_SHARE_LIMIT_HOLDS || limit->fixed;
}

/* Whether the first search for the knee has ended. */
static inline bool
fgio_share_limit_is_found(const struct fgio_share_limit *limit)
{
	return limit->fixed || limit->phase >= FGIO_SHARE_LIMIT_HOLDS;
}

/*
 * An I/O takes @io_ns of the busy drive. Before the first comparison, the limit
 * is no more than what takes FGIO_SHARE_LIMIT_FIRST_NS: of a slow drive, 16 large
 * I/Os keep it busy for long, and groups that have fewer are never ordered.
 */
void fgio_share_limit_bound_first(struct fgio_share_limit *limit, u64 io_ns);

/* A full interval had I/Os of @nodes (shares_cost.h). */
void fgio_share_limit_meet(struct fgio_share_limit *limit, u32 nodes);

/* The costs changed: a comparison under way begins again. */
void fgio_share_limit_restart(struct fgio_share_limit *limit);

/*
 * An interval of @length_ns ends, in which work of @sum_ns was sent; @full: the
 * drive was full all the time.
 */
void fgio_share_limit_learn(struct fgio_share_limit *limit, u64 sum_ns,
			    u64 length_ns, bool full);

#endif /* FGIO_CORE_SHARES_LIMIT_H */
