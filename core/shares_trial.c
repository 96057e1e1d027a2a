// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Whether turns of reads help: they are tried. */
#include "number.h"
#include "shares.h"
#include "shares_internal.h"

/* ---- what groups lack ---- */

/* Of drive time, in parts of a window. */
static u64 lack_of(const struct fgio_share_group *group)
{
	u64 due = group->due + (group->shares->clock - group->due_since);
	u64 lack = beyond(due - due / FGIO_SHARES_LACK_SHARE, group->got);

	/* One whose I/Os are longer than a window has none in most of them. */
	if (group->writes || !fgio_share_group_is_behind(group))
		return 0;
	return FGIO_SHARES_LACK_ONE *
	       smaller(lack / group->per_weight, FGIO_SHARES_WINDOW_NS) /
	       FGIO_SHARES_WINDOW_NS;
}

void fgio_share_group_begin_window(struct fgio_share_group *group)
{
	group->window = group->shares->trial.window;
	group->due = 0;
	group->due_since = group->shares->clock;
	group->got = 0;
}

void fgio_share_group_end_window(struct fgio_share_group *group)
{
	group->shares->trial.lack += lack_of(group);
	fgio_share_group_begin_window(group);
}

/* ---- trials ---- */

static void begin_window(struct fgio_share_trial *trial, u64 now_ns)
{
	trial->window++;
	trial->window_ns = now_ns;
	trial->lacked = trial->lack;
	trial->lack = 0;
	trial->held_ns = 0;
	trial->window_writes_ns = 0;
}

static void begin_stage(struct fgio_shares *shares,
			enum fgio_share_trial_stage stage, u64 now_ns)
{
	struct fgio_share_trial *trial = &shares->trial;

	trial->stage = (u8)stage;
	fgio_share_cost_end_dither(&shares->cost);
	trial->stage_ns = now_ns;
	trial->stage_writes_ns = 0;
	begin_window(trial, now_ns);
}

static struct fgio_share_score score_of(const struct fgio_share_trial *trial,
					u64 passed_ns)
{
	return (struct fgio_share_score){
		.lack = trial->lacked,
		.writes = trial->stage_writes_ns * FGIO_SHARES_LACK_ONE / passed_ns,
	};
}

/* Groups that read come first; else the way by which more is written. */
static bool is_better(struct fgio_share_score other,
		      struct fgio_share_score before)
{
	u64 little = FGIO_SHARES_LACK_ONE / FGIO_SHARES_POOR_SHARE;

	if (other.lack > before.lack + little / 2)
		return false;
	if (other.lack + little < before.lack)
		return other.writes > before.writes - before.writes / 4;
	return other.writes >
	       before.writes + before.writes / FGIO_SHARES_POOR_SHARE;
}

static void begin_other_way(struct fgio_shares *shares, u64 passed_ns,
			    u64 now_ns)
{
	shares->trial.before = score_of(&shares->trial, passed_ns);
	fgio_shares_set_turns(shares, !shares->reads.has_turns, now_ns);
	begin_stage(shares, FGIO_SHARES_TRIAL_SETTLES, now_ns);
}

/* The next trial comes after @windows. */
static void pause_for(struct fgio_shares *shares, u64 windows, u64 now_ns)
{
	struct fgio_share_trial *trial = &shares->trial;

	trial->pause = (u32)smaller(windows, FGIO_SHARES_TRIAL_PAUSE_MOST);
	trial->wait = trial->pause;
	trial->poor = 0;
	trial->worse = 0;
	begin_stage(shares, FGIO_SHARES_TRIAL_NONE, now_ns);
}

static u64 longer_pause(const struct fgio_share_trial *trial)
{
	return 2 * larger(trial->pause, FGIO_SHARES_TRIAL_PAUSE / 2);
}

static void end_trial(struct fgio_shares *shares, u64 passed_ns, u64 now_ns)
{
	struct fgio_share_trial *trial = &shares->trial;
	u64 pause = FGIO_SHARES_TRIAL_PAUSE;

	if (!is_better(score_of(trial, passed_ns), trial->before)) {
		pause = longer_pause(trial);
		fgio_shares_set_turns(shares, !shares->reads.has_turns, now_ns);
	}
	pause_for(shares, pause, now_ns);
}

/* Without writes, there is nothing to take turns with. */
static void end_turns(struct fgio_shares *shares, u64 now_ns)
{
	bool tries = shares->trial.stage != FGIO_SHARES_TRIAL_NONE;

	fgio_shares_set_turns(shares, false, now_ns);
	pause_for(shares, tries ? longer_pause(&shares->trial) : 0, now_ns);
}

static bool is_due(const struct fgio_shares *shares)
{
	const struct fgio_share_trial *trial = &shares->trial;
	u32 poor = fgio_share_limit_is_found(&shares->limit) ?
			   FGIO_SHARES_POOR_WINDOWS :
			   FGIO_SHARES_POOR_UNKNOWN;

	if (trial->worse >= FGIO_SHARES_POOR_WINDOWS)
		return true;
	return !trial->wait && (shares->reads.has_turns || trial->poor >= poor);
}

/* Groups say in the second window of a stage how the first was. */
#define STAGE_NS (2 * FGIO_SHARES_WINDOW_NS)

void fgio_shares_go_on_with_trial(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_trial *trial = &shares->trial;
	u64 passed_ns = beyond(now_ns, trial->stage_ns);

	if (trial->stage == FGIO_SHARES_TRIAL_NONE) {
		if (is_due(shares))
			begin_stage(shares, FGIO_SHARES_TRIAL_BEFORE, now_ns);
	} else if (passed_ns >= 2 * STAGE_NS) {
		/* There was no I/O for long, or other rules held. */
		pause_for(shares, trial->pause, now_ns);
	} else if (trial->stage == FGIO_SHARES_TRIAL_BEFORE) {
		if (passed_ns >= STAGE_NS)
			begin_other_way(shares, passed_ns, now_ns);
	} else if (trial->stage == FGIO_SHARES_TRIAL_SETTLES) {
		if (passed_ns >= FGIO_SHARES_WINDOW_NS / 2)
			begin_stage(shares, FGIO_SHARES_TRIAL_AFTER, now_ns);
	} else if (passed_ns >= STAGE_NS) {
		end_trial(shares, passed_ns, now_ns);
	}
}

void fgio_shares_end_window(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_trial *trial = &shares->trial;
	u64 little = FGIO_SHARES_LACK_ONE / FGIO_SHARES_POOR_SHARE;
	bool has_turns = shares->reads.has_turns;
	u64 little_ns = FGIO_SHARES_WINDOW_NS / FGIO_SHARES_POOR_SHARE;
	bool writes = trial->window_writes_ns > little_ns;
	bool poor = writes &&
		    (trial->lack > little || trial->held_ns > little_ns);
	bool worse = has_turns && trial->lack > trial->before.lack + little;

	if (has_turns && !writes) {
		end_turns(shares, now_ns);
		return;
	}
	trial->poor = poor ? trial->poor + 1 : 0;
	trial->worse = worse ? trial->worse + 1 : 0;
	trial->wait -= !!trial->wait;
	begin_window(trial, now_ns);
	if (fgio_share_span_is_late(&shares->cost.span, now_ns))
		fgio_share_cost_end_dither(&shares->cost);
	/* With turns, it goes on at the end of a cycle, if there are any. */
	if (!has_turns ||
	    now_ns >= shares->reads.cycle_ns + 2 * FGIO_SHARES_WINDOW_NS)
		fgio_shares_go_on_with_trial(shares, now_ns);
}
