/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Service costs of kinds that are always queued, and so are mixed in the one
 * proportion that these costs themselves give: no interval tells them apart
 * (shares_cost.h), and the first guess of their ratio stays, however wrong.
 *
 * So they are *dithered*: charged as if some were dearer and the others cheaper, and
 * in the next interval the other way round. That changes the proportion, and what
 * the drive takes for the two intervals tells the ratio. It is known beforehand how
 * the dither changes the proportion; by that, and not by what was sent, is learnt:
 * what was sent varies by chance as well, and the sum with it, which would make all
 * costs too low.
 *
 * How far the ratios are still unsure is kept as in a Kalman filter of one number:
 * the less sure, the more dither, and the more an interval counts; the noisier the
 * intervals, the less. Where some are writes, many intervals count as one
 * (shares_span.h): a cache takes writes at once, as if they cost nothing.
 *
 * Kinds are numbered, each with a place for the sizes (nodes of shares_cost.h).
 * Locking: the caller serialises all calls. Nothing here sleeps or allocates; a call
 * loops over the nodes. Parts are in 1 / FGIO_DITHER_ONE, unless said.
 */
#ifndef FGIO_CORE_SHARES_DITHER_H
#define FGIO_CORE_SHARES_DITHER_H

#include "types.h"

/* Kinds times sizes of shares_cost.h. */
#define FGIO_DITHER_NODES 20U
#define FGIO_DITHER_ONE 1024U
/* Dearer by this part at most, where nothing is known of a ratio, and at least. */
#define FGIO_DITHER_MOST 512U
#define FGIO_DITHER_LEAST 16U
/* A node with less than this part of the interval is not dithered. */
#define FGIO_DITHER_SHARE 16U
/* What is unsure, in 1 / this: the square of the error of a ratio, at most. */
#define FGIO_DITHER_UNSURE_ONE (1ULL << 24)
/* What a second adds to that, since drives change. */
#define FGIO_DITHER_DRIFT 12800ULL
/* A pair of intervals makes it less by one part in this at most. */
#define FGIO_DITHER_SURER 2U
/* Squares of the noise of an interval: 3 % of its length at least; 6 at first. */
#define FGIO_DITHER_NOISE_LEAST 944U
#define FGIO_DITHER_NOISE_FIRST 3775U
#define FGIO_DITHER_NOISE_SPAN 8U
/* After one that took nothing like its sum, as many pass without a dither. */
#define FGIO_DITHER_PAUSE 4U
/* A pair of intervals changes a cost by this part at most, up and down. */
#define FGIO_DITHER_STEP_UP 1024
#define FGIO_DITHER_STEP_DOWN 512
/* Changes are in 1 / this. */
#define FGIO_DITHER_CHANGE_ONE (1LL << 20)

/**
 * struct fgio_dither_sides - which nodes an interval is dithered by
 * @dearer: bits of those that are charged more
 * @cheaper: the same, less
 */
struct fgio_dither_sides {
	u32 dearer;
	u32 cheaper;
};

/**
 * struct fgio_dither - of the costs of one drive
 * @now: of this interval; none: it is not dithered
 * @before: of the last one, if it was full
 * @by: by which part this one's are
 * @turn: counts the intervals that are dithered
 * @seen: bits of the nodes that were compared with others
 * @error: of the last interval, by the costs since
 * @unsure: square of the error of the ratios, in 1 / FGIO_DITHER_UNSURE_ONE
 * @noise: mean of the squares of what intervals of one pattern differ by
 * @pause: full intervals that are to pass before the next dither
 */
struct fgio_dither {
	struct fgio_dither_sides now;
	struct fgio_dither_sides before;
	u32 by;
	u32 turn;
	u32 seen;
	s64 error;
	u64 unsure;
	u64 noise;
	u32 pause;
};

void fgio_dither_init(struct fgio_dither *dither);

/**
 * fgio_dither_begin() - an interval begins that may be dithered
 * @dither: of its costs
 * @part_ns: what each node cost in the last one: FGIO_DITHER_NODES
 */
void fgio_dither_begin(struct fgio_dither *dither, const u64 *part_ns);

/* From here on nothing is dithered, or learnt of what was until now. */
static inline void fgio_dither_end(struct fgio_dither *dither)
{
	dither->now = (struct fgio_dither_sides){ 0 };
	dither->before = dither->now;
}

/* What a node is charged of its cost in this interval. */
u32 fgio_dither_charge(const struct fgio_dither *dither, u32 node);

/**
 * fgio_dither_learn() - an interval was full
 * @dither: of its costs
 * @part_ns: what each node cost in it: FGIO_DITHER_NODES
 * @error: by which part its length differs from what it did
 * @length_ns: its length
 * @change: out: by which part the cost of each node is to change, in
 *	1 / FGIO_DITHER_CHANGE_ONE
 *
 * Return: false: nothing is to change, and @change is not set.
 */
bool fgio_dither_learn(struct fgio_dither *dither, const u64 *part_ns,
		       s64 error, u64 length_ns,
		       s32 change[FGIO_DITHER_NODES]);

/*
 * All costs were corrected by one part in @step of that error: the rest of it is left,
 * by the costs that the next interval is charged.
 */
void fgio_dither_corrected(struct fgio_dither *dither, s64 step);

/* By such an error, all costs are wrong, or the drive paused. */
static inline bool fgio_dither_is_far_off(s64 error)
{
	return error <= -(s64)FGIO_DITHER_ONE / 2 ||
	       error >= (s64)FGIO_DITHER_ONE;
}

/* An interval was full and took nothing like its sum. */
void fgio_dither_disturbed(struct fgio_dither *dither);

#endif /* FGIO_CORE_SHARES_DITHER_H */
