// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "shares_limit.h"

#define RATE_ONE 10000U

void fgio_share_limit_init(struct fgio_share_limit *limit, bool rotates)
{
	*limit = (struct fgio_share_limit){
		.limit = rotates ? FGIO_SHARE_LIMIT_DISK :
				   FGIO_SHARE_LIMIT_FIRST,
		.before = FGIO_SHARE_LIMIT_FIRST,
		.fixed = rotates,
	};
}

static void enter(struct fgio_share_limit *limit, u8 phase, u32 to)
{
	limit->phase = phase;
	limit->limit = (u32)larger(FGIO_SHARE_LIMIT_LEAST,
				   smaller(to, FGIO_SHARE_LIMIT_MOST));
	limit->sum = 0;
	limit->count = 0;
	limit->reached = false;
}

void fgio_share_limit_bound_first(struct fgio_share_limit *limit, u64 io_ns)
{
	u64 most = FGIO_SHARE_LIMIT_FIRST_NS / larger(io_ns, 1);
	bool has_begun = limit->rate || limit->count;

	if (limit->fixed || limit->phase != FGIO_SHARE_LIMIT_DOUBLES ||
	    has_begun || most >= limit->limit)
		return;
	enter(limit, FGIO_SHARE_LIMIT_DOUBLES, (u32)most);
	limit->before = limit->limit;
}

/* Mean over the intervals of a trial but the first. */
static u64 mean_rate(const struct fgio_share_limit *limit)
{
	return limit->sum / (limit->count - 1);
}

static void end_doubling(struct fgio_share_limit *limit)
{
	u64 rate = mean_rate(limit);
	u64 least = limit->rate + limit->rate / FGIO_SHARE_LIMIT_DOUBLE_SHARE;

	/* It held nothing back: at present, no limit delivers more. */
	if (!limit->reached)
		limit->rate = larger(limit->rate, rate);
	if (rate <= least || !limit->reached) {
		/* Half may do as well: of the first, or a chance result. */
		enter(limit, FGIO_SHARE_LIMIT_HALVES, limit->before / 2);
		return;
	}
	limit->rate = rate;
	limit->before = limit->limit;
	enter(limit, FGIO_SHARE_LIMIT_DOUBLES, 2 * limit->limit);
}

/* Compared with the rate before the first of them: losses do not add up. */
static void end_halving(struct fgio_share_limit *limit)
{
	u64 least = limit->rate - limit->rate / FGIO_SHARE_LIMIT_FEWER_SHARE;

	if (mean_rate(limit) > least)
		limit->before = limit->limit;
	if (limit->before == limit->limit &&
	    limit->limit > FGIO_SHARE_LIMIT_LEAST)
		enter(limit, FGIO_SHARE_LIMIT_HALVES, limit->limit / 2);
	else
		enter(limit, FGIO_SHARE_LIMIT_HOLDS, limit->before);
}

static void try_more(struct fgio_share_limit *limit)
{
	enter(limit, FGIO_SHARE_LIMIT_MORE,
	      limit->before + (limit->before + 1) / 2);
}

static u32 fewer_than(const struct fgio_share_limit *limit)
{
	return limit->limit - limit->limit / 3;
}

static void begin_trial(struct fgio_share_limit *limit)
{
	bool fewer = limit->fewer_next;

	limit->soon = false;
	limit->fewer_next = !fewer;
	limit->rate = mean_rate(limit);
	limit->before = limit->limit;
	if (fewer)
		enter(limit, FGIO_SHARE_LIMIT_FEWER, fewer_than(limit));
	else
		try_more(limit);
}

/*
 * The drive may have become faster meanwhile: then the old limit is, too. Where more
 * delivered more, still more may.
 */
static void end_check(struct fgio_share_limit *limit)
{
	u64 was = mean_rate(limit);

	if (limit->rate <= was + was / FGIO_SHARE_LIMIT_MORE_SHARE) {
		enter(limit, FGIO_SHARE_LIMIT_HOLDS, limit->before);
		return;
	}
	limit->before = limit->tried;
	try_more(limit);
}

static void end_trial(struct fgio_share_limit *limit)
{
	u64 rate = mean_rate(limit), was = limit->rate;

	if (limit->phase == FGIO_SHARE_LIMIT_MORE && limit->reached &&
	    rate > was + was / FGIO_SHARE_LIMIT_MORE_SHARE) {
		limit->rate = rate;
		limit->tried = limit->limit;
		enter(limit, FGIO_SHARE_LIMIT_CHECKS, limit->before);
		return;
	}
	if (limit->phase == FGIO_SHARE_LIMIT_FEWER &&
	    rate > was - was / FGIO_SHARE_LIMIT_FEWER_SHARE)
		limit->before = limit->limit;
	enter(limit, FGIO_SHARE_LIMIT_HOLDS, limit->before);
}

void fgio_share_limit_restart(struct fgio_share_limit *limit)
{
	if (limit->fixed || limit->phase == FGIO_SHARE_LIMIT_HOLDS)
		return;
	if (limit->phase == FGIO_SHARE_LIMIT_DOUBLES)
		limit->rate = 0;
	enter(limit,
	      limit->phase == FGIO_SHARE_LIMIT_DOUBLES ?
		      FGIO_SHARE_LIMIT_DOUBLES :
		      FGIO_SHARE_LIMIT_HOLDS,
	      limit->before);
}

void fgio_share_limit_meet(struct fgio_share_limit *limit, u32 nodes)
{
	if (nodes & ~limit->nodes && limit->phase >= FGIO_SHARE_LIMIT_HOLDS) {
		limit->soon = true;
		limit->fewer_next = false;
	}
	limit->nodes |= nodes;
}

/* Where the drive has whole groups, nothing is full, and no trial would find that. */
static void follow_crowd(struct fgio_share_limit *limit, bool full)
{
	bool is_crowded = limit->crowded && !full;

	limit->crowded = false;
	limit->crowds = is_crowded ? limit->crowds + 1 : 0;
	if (limit->crowds < FGIO_SHARE_LIMIT_CROWDS || limit->fixed ||
	    limit->phase < FGIO_SHARE_LIMIT_HOLDS)
		return;
	limit->crowds = 0;
	enter(limit, FGIO_SHARE_LIMIT_HOLDS, fewer_than(limit));
}

void fgio_share_limit_learn(struct fgio_share_limit *limit, u64 sum_ns,
			    u64 length_ns, bool full)
{
	u32 wanted = limit->phase == FGIO_SHARE_LIMIT_HOLDS && !limit->soon ?
			     FGIO_SHARE_LIMIT_INTERVALS :
			     FGIO_SHARE_LIMIT_TRIAL;

	follow_crowd(limit, full);
	if (limit->fixed || !full || !length_ns)
		return;
	if (limit->count++)
		limit->sum += sum_ns * RATE_ONE / length_ns;
	if (limit->count < wanted)
		return;
	if (limit->phase == FGIO_SHARE_LIMIT_DOUBLES)
		end_doubling(limit);
	else if (limit->phase == FGIO_SHARE_LIMIT_HALVES)
		end_halving(limit);
	else if (limit->phase == FGIO_SHARE_LIMIT_HOLDS)
		begin_trial(limit);
	else if (limit->phase == FGIO_SHARE_LIMIT_CHECKS)
		end_check(limit);
	else
		end_trial(limit);
}
