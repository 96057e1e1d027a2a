/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A dither of costs where some of the I/O is writes.
 *
 * A cache takes writes at once and makes them wait only while it is full, so what
 * the drive takes for the I/Os of one interval says little of what they cost. It
 * does over a *span*: some time under one pattern of the dither (shares_dither.h),
 * after a part that is not counted, in which the cache gets as full as the pattern
 * makes it. With turns of reads (shares_reads.h) a span is made of cycles, of which
 * only the writes count; the turn of reads at the end of each lets the cache get
 * empty, so nothing is left out.
 *
 * Costs are corrected meanwhile, so I/Os are counted in units of the span's own.
 * What a drive has when an interval ends it has not done in it: the caller leaves
 * that out.
 *
 * Locking: the caller serialises all calls. Nothing here sleeps or allocates; a call
 * loops over the nodes.
 */
#ifndef FGIO_CORE_SHARES_SPAN_H
#define FGIO_CORE_SHARES_SPAN_H

#include "shares_dither.h"
#include "types.h"

/* Of intervals: not counted at first, and counted then, at least. */
#define FGIO_SPAN_SETTLES_NS 20000000ULL
#define FGIO_SPAN_NS 60000000ULL
/* An interval that takes this long is counted at once. */
#define FGIO_SPAN_LONG_NS (5 * FGIO_SPAN_SETTLES_NS)
/* Of cycles, what their writes take at least. */
#define FGIO_SPAN_CYCLES_NS 20000000ULL
/* One that comes to no end in this time tells nothing. */
#define FGIO_SPAN_MOST_NS 2000000000ULL

/**
 * struct fgio_share_span - of one drive
 * @dither: its pattern
 * @unit_ns: what an I/O of each node counts
 * @part_ns: what those of each node are so far, so counted
 * @begin_ns: when it began; 0: there is none
 * @settled_ns: time of it that was not counted
 * @took_ns: time that the I/Os took
 */
struct fgio_share_span {
	struct fgio_dither dither;
	u64 unit_ns[FGIO_DITHER_NODES];
	u64 part_ns[FGIO_DITHER_NODES];
	u64 begin_ns;
	u64 settled_ns;
	u64 took_ns;
};

/**
 * struct fgio_share_passed - an interval or a cycle that passed under the pattern
 * @cost_ns: what an I/O of each node costs: FGIO_DITHER_NODES
 * @part_ns: what those of each node cost: FGIO_DITHER_NODES
 * @took_ns: what the drive took for them
 * @cycle: it is a cycle
 */
struct fgio_share_passed {
	const u32 *cost_ns;
	const u64 *part_ns;
	u64 took_ns;
	bool cycle;
};

void fgio_share_span_init(struct fgio_share_span *span);

/*
 * One passed, and ends now. If that ends a span, another begins. @change: out, as of
 * fgio_dither_learn(). Return: whether it is set.
 */
bool fgio_share_span_add(struct fgio_share_span *span,
			 const struct fgio_share_passed *passed, u64 now_ns,
			 s32 change[FGIO_DITHER_NODES]);

/* Whether it is to end, whatever it is worth: without an end, its charges are wrong. */
static inline bool fgio_share_span_is_late(const struct fgio_share_span *span,
					   u64 now_ns)
{
	return span->begin_ns && now_ns > span->begin_ns + FGIO_SPAN_MOST_NS;
}

/* What comes next has nothing to do with what passed: nothing is dithered. */
void fgio_share_span_end(struct fgio_share_span *span);

#endif /* FGIO_CORE_SHARES_SPAN_H */
