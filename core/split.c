// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "depth_constants.h"
#include "number.h"
#include "split.h"

void fgio_split_init(struct fgio_split *split)
{
	*split = (struct fgio_split){
		.most = FGIO_SPLIT_LEAST,
		.least = FGIO_SPLIT_LEAST,
		.wait_ns = SPLIT_TRY_FIRST_NS,
		.next_wait_ns = SPLIT_TRY_LATER * SPLIT_TRY_FIRST_NS,
	};
}

static void set_most(struct fgio_split *split, u32 most)
{
	fgio_store(&split->most, most);
	split->span_ns = 0;
	split->span_sectors = 0;
}

static u64 per_second(const struct fgio_split *split)
{
	return split->span_sectors * SECOND / larger(split->span_ns, 1);
}

static void begin_trial(struct fgio_split *split, u32 most)
{
	split->before = per_second(split);
	split->tried_from = split->most;
	set_most(split, most);
}

/* Shorter requests are as good unless longer ones have the drive do more. */
static void end_trial(struct fgio_split *split)
{
	u64 now = per_second(split), before = split->before;
	bool longer = split->most > split->tried_from;
	u64 of_longer = longer ? now : before;
	u64 of_shorter = longer ? before : now;
	bool gains = of_longer > of_shorter + of_shorter / SPLIT_GAIN_SHARE;

	split->wait_ns = gains ? SPLIT_TRY_FIRST_NS : split->next_wait_ns;
	if (!gains)
		split->next_wait_ns =
			smaller(SPLIT_TRY_LATER * split->next_wait_ns,
				SPLIT_TRY_MOST_NS);
	if (gains != longer)
		set_most(split, split->tried_from);
	split->tried_from = 0;
	if (gains)
		split->least = split->most;
	else if (!longer)
		split->least = FGIO_SPLIT_LEAST;
	split->least_left_ns = SPLIT_KEEP_NS;
}

/* @left: becomes 0 at the earliest. Return: whether it is. */
static bool runs_out(u64 *left_ns, u64 length_ns)
{
	*left_ns = beyond(*left_ns, length_ns);
	return !*left_ns;
}

static void count(struct fgio_split *split, const struct fgio_split_seen *seen)
{
	if (split->span_ns >= 2 * SPLIT_SPAN_NS) {
		split->span_ns /= 2;
		split->span_sectors /= 2;
	}
	split->span_ns += seen->length_ns;
	split->span_sectors += seen->sectors;
}

/*
 * Before the drive's limit was met, the cost is above what the drive needs: it
 * tells of longer requests, and not of shorter ones.
 */
static bool adapt(struct fgio_split *split, const struct fgio_split_seen *seen)
{
	u64 may_take_ns = SPLIT_TAKES_MOST * seen->alone_ns;
	u32 most = split->most;

	if (!may_take_ns)
		return false;
	if (seen->twice_ns <= may_take_ns && most < FGIO_SPLIT_MOST)
		set_most(split, 2 * most);
	else if (seen->settled && seen->takes_ns > may_take_ns &&
		 most > split->least)
		set_most(split, most / 2);
	return split->most != most;
}

/* A length that was kept is tried against half of it when that was long ago. */
static void consider_trial(struct fgio_split *split, u64 length_ns,
			   bool was_split)
{
	bool kept = split->least > FGIO_SPLIT_LEAST;
	bool old = kept && runs_out(&split->least_left_ns, length_ns);
	bool due = runs_out(&split->wait_ns, length_ns);

	if (split->span_ns < SPLIT_SPAN_NS)
		return;
	if (old)
		begin_trial(split, split->most / 2);
	else if (due && was_split && split->most < FGIO_SPLIT_MOST)
		begin_trial(split, 2 * split->most);
}

void fgio_split_learn(struct fgio_split *split,
		      const struct fgio_split_seen *seen)
{
	if (!fgio_split_tries(split) && adapt(split, seen))
		return;
	if (!seen->wanted)
		return;
	count(split, seen);
	if (!fgio_split_tries(split))
		consider_trial(split, seen->length_ns, seen->split);
	else if (split->span_ns >= SPLIT_SPAN_NS)
		end_trial(split);
}
