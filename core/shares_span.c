// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "shares_span.h"

#define ONE FGIO_DITHER_ONE

void fgio_share_span_init(struct fgio_share_span *span)
{
	*span = (struct fgio_share_span){ 0 };
	fgio_dither_init(&span->dither);
}

void fgio_share_span_end(struct fgio_share_span *span)
{
	fgio_dither_end(&span->dither);
	span->begin_ns = 0;
}

/* After one of this mix. */
static void begin(struct fgio_share_span *span, const u64 *part_ns, u64 now_ns)
{
	fgio_dither_begin(&span->dither, part_ns);
	span->begin_ns = span->dither.now.dearer ? now_ns : 0;
	span->settled_ns = 0;
	span->took_ns = 0;
	for (u32 node = 0; node < FGIO_DITHER_NODES; node++)
		span->part_ns[node] = 0;
}

/* The first one, which no other can be compared with. */
static void begin_first(struct fgio_share_span *span,
			const struct fgio_share_passed *passed, u64 now_ns)
{
	for (u32 node = 0; node < FGIO_DITHER_NODES; node++)
		span->unit_ns[node] = passed->cost_ns[node];
	span->dither.pause -= !!span->dither.pause;
	begin(span, passed->part_ns, now_ns);
}

static void count(struct fgio_share_span *span,
		  const struct fgio_share_passed *passed)
{
	span->took_ns += passed->took_ns;
	for (u32 node = 0; node < FGIO_DITHER_NODES; node++)
		span->part_ns[node] += ONE * passed->part_ns[node] /
				       larger(passed->cost_ns[node], 1) *
				       span->unit_ns[node] / ONE;
}

static u64 sum_of(const struct fgio_share_span *span)
{
	u64 sum_ns = 0;

	for (u32 node = 0; node < FGIO_DITHER_NODES; node++)
		sum_ns += span->part_ns[node];
	return sum_ns;
}

/* By which part it took longer than what it did. */
static s64 error_of(const struct fgio_share_span *span)
{
	u64 sum_ns = larger(sum_of(span), 1);

	return (s64)(ONE * span->took_ns / sum_ns) - (s64)ONE;
}

/* Units change as the costs do, and add up to the time that the last span took. */
static void change_units(struct fgio_share_span *span, const s32 *change)
{
	for (u32 node = 0; change && node < FGIO_DITHER_NODES; node++)
		span->unit_ns[node] += (u64)((s64)span->unit_ns[node] *
					     change[node] /
					     FGIO_DITHER_CHANGE_ONE);
	for (u32 node = 0; node < FGIO_DITHER_NODES; node++)
		span->unit_ns[node] = larger(
			span->unit_ns[node] *
				(u64)((s64)ONE + span->dither.error) / ONE,
			1);
	fgio_dither_corrected(&span->dither, 1);
}

/* Beside a long interval, what a cache takes is little. */
static bool settles(const struct fgio_share_span *span,
		    const struct fgio_share_passed *passed)
{
	return !passed->cycle && span->settled_ns < FGIO_SPAN_SETTLES_NS &&
	       passed->took_ns < FGIO_SPAN_LONG_NS;
}

bool fgio_share_span_add(struct fgio_share_span *span,
			 const struct fgio_share_passed *passed, u64 now_ns,
			 s32 change[FGIO_DITHER_NODES])
{
	u64 least_ns = passed->cycle ? FGIO_SPAN_CYCLES_NS : FGIO_SPAN_NS;
	bool learnt;
	s64 error;

	if (fgio_share_span_is_late(span, now_ns)) {
		fgio_share_span_end(span);
		return false;
	}
	if (!span->begin_ns) {
		fgio_dither_end(&span->dither);
		begin_first(span, passed, now_ns);
		return false;
	}
	if (settles(span, passed)) {
		span->settled_ns += passed->took_ns;
		return false;
	}
	count(span, passed);
	if (span->took_ns < least_ns)
		return false;
	error = error_of(span);
	if (fgio_dither_is_far_off(error)) {
		fgio_dither_disturbed(&span->dither);
		span->begin_ns = 0;
		return false;
	}
	learnt = fgio_dither_learn(&span->dither, span->part_ns, error,
				   span->took_ns, change);
	change_units(span, learnt ? change : NULL);
	begin(span, span->part_ns, now_ns);
	return learnt;
}
