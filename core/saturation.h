/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The in-flight limit of non-critical I/O while critical I/O saturates the
 * drive.
 *
 * A foreground with several I/Os in the drive at any time leaves it no quiet
 * moment, and notices all other I/O. No service cost can be learnt there:
 * nothing tells the background's work from the foreground's own. So critical
 * I/O is compared with itself: its mean time while up to a limit of
 * non-critical I/Os are in the drive, against that in probes, which hold all of
 * them back. The limit is the largest one that makes critical I/O take less
 * than a quarter longer. There is none while all of the background makes it
 * take less than half as long again.
 *
 * Locking: the caller serialises. Nothing here sleeps, allocates or loops.
 */
#ifndef FGIO_CORE_SATURATION_H
#define FGIO_CORE_SATURATION_H

#include "base_latency.h"
#include "tails.h"
#include "types.h"

/* The limit is in units of one I/O / FGIO_SATURATION_ONE. */
#define FGIO_SATURATION_ONE 16U

enum fgio_saturation_phase {
	FGIO_SATURATION_OFF,	/* critical I/O does not saturate the drive */
	FGIO_SATURATION_PROBES, /* non-critical I/O is held back */
	FGIO_SATURATION_LIMITS, /* it goes up to the limit */
};

/**
 * struct fgio_saturation - of one drive; all zero: critical I/O does not
 * saturate it
 * @begin_ns: begin of the interval that decides whether it does
 * @critical_ns: sum of the times of critical I/Os that completed in it
 * @completed: critical I/Os that did
 * @untold: critical I/Os sent meanwhile that are not measured
 * @pause_ns: time in it without a critical I/O in the drive
 * @seen: intervals in a row that contradict @phase
 * @phase: enum fgio_saturation_phase
 * @pressed: the limit held I/O back since it was set
 * @limit: I/Os in the drive / FGIO_SATURATION_ONE; below one: a share of the
 *	time
 * @sent: I/Os dispatched under it, which take turns at its fraction
 * @wanted: the most that were in the drive or waited for it under it
 * @whole: it is all that was wanted: nothing is held back
 * @part: the limit before that
 * @whole_since_ns: begin of that, or of the last blocks that tolerated it
 * @whole_after_ns: when that may be tried again
 * @ceiling: a limit that was found to be too high
 * @ceiling_until_ns: when it may be tried again
 * @ceiling_wait_ns: time from one to the other
 * @next_ns: earliest next dispatch under a limit below one
 * @other_ns: mean time of a non-critical I/O in the drive
 * @probe_begin_ns: begin of the last probe
 * @probe_end_ns: its latest end while it lasts; afterwards, begin of the next
 *	one
 * @probe_wait_ns: least time between two
 * @part_ns: begin of this part of the probe
 * @part_took_ns: mean usual time of an I/O of the part before, and sum of this
 *	one's
 * @probed: critical I/Os of this part
 * @parts: parts that are over
 * @settles: parts that may still turn out to be early
 * @parts_wanted: least parts of a probe
 * @valid_ns: completions before this time do not count
 * @critical_mean_ns: mean time of a critical I/O in the drive
 * @took_ns: sum of the usual times of this block's critical I/Os...
 * @alone_ns: ...and of their times alone
 * @count: critical I/Os of this block
 * @blocks: blocks at this limit
 * @harm: sum of their harm, in permille; negative if faster than alone
 * @squares: sum of its squares
 * @probe_took_ns: sum of the usual times of each kind in this probe
 * @probe_count: I/Os of each kind in it
 * @mean_ns: mean usual time alone of each kind, see base_latency.h; 0: not known
 * @median: time alone of each kind, in probes
 * @tails_alone: what tails add in them
 * @tails: what they add at this limit
 * @tail_ns: time alone that few I/Os of each kind exceed
 * @late: I/Os at this limit that exceeded it by half
 */
struct fgio_saturation {
	u64 begin_ns;
	u64 critical_ns;
	u64 pause_ns;
	u32 completed;
	u32 untold;
	u8 seen;
	u8 phase;
	bool pressed;
	u32 limit;
	u32 sent;
	u32 wanted;
	bool whole;
	u32 part;
	u64 whole_since_ns;
	u64 whole_after_ns;
	u32 ceiling;
	u64 ceiling_until_ns;
	u64 ceiling_wait_ns;
	u64 next_ns;
	u64 other_ns;
	u64 probe_begin_ns;
	u64 probe_end_ns;
	u64 probe_wait_ns;
	u64 part_ns;
	u64 part_took_ns[2];
	u32 probed;
	u32 parts;
	u32 parts_wanted;
	u32 settles;
	u64 valid_ns;
	u64 critical_mean_ns;
	u64 took_ns;
	u64 alone_ns;
	u32 count;
	u32 blocks;
	s64 harm;
	u64 squares;
	u64 probe_took_ns[FGIO_KINDS];
	u32 probe_count[FGIO_KINDS];
	u32 mean_ns[FGIO_KINDS];
	struct fgio_base_latency median[FGIO_KINDS];
	struct fgio_tails tails_alone;
	struct fgio_tails tails;
	u32 tail_ns[FGIO_KINDS];
	u32 late;
};

/* Completions were not seen until @now_ns: a new interval begins. */
void fgio_saturation_begin(struct fgio_saturation *saturation, u64 now_ns);

/* The drive had no critical I/O from @since_ns to @came_ns. */
static inline void fgio_saturation_pause(struct fgio_saturation *saturation,
					 u64 since_ns, u64 came_ns)
{
	if (since_ns < saturation->begin_ns)
		since_ns = saturation->begin_ns;
	if (since_ns < came_ns)
		saturation->pause_ns += came_ns - since_ns;
}

/**
 * fgio_saturation_note() - a critical I/O completed
 * @saturation: of the drive
 * @kind: of the I/O, see base_latency.h
 * @took_ns: its time in the drive
 * @now_ns: the time
 */
void fgio_saturation_note(struct fgio_saturation *saturation, u8 kind,
			  u64 took_ns, u64 now_ns);

/* @count critical I/Os went to the drive that are not measured. */
static inline void fgio_saturation_untold(struct fgio_saturation *saturation,
					  u64 count)
{
	saturation->untold += (u32)count;
}

/* A non-critical I/O completed. */
void fgio_saturation_note_other(struct fgio_saturation *saturation,
				u64 took_ns);

/*
 * Ends intervals and probes that are due. Call it at each completion and
 * dispatch. @quiet_since_ns: when the last critical I/O left the drive; 0: some
 * are in it.
 */
void fgio_saturation_turn(struct fgio_saturation *saturation,
			  u64 quiet_since_ns, u64 now_ns);

/* Whether the in-flight limit is in force, instead of the service cost. */
static inline bool
fgio_saturation_is_on(const struct fgio_saturation *saturation)
{
	return saturation->phase != FGIO_SATURATION_OFF;
}

/* Whether all non-critical I/O is held back, for 1.5 s at most. */
static inline bool
fgio_saturation_probes(const struct fgio_saturation *saturation)
{
	return saturation->phase == FGIO_SATURATION_PROBES;
}

/**
 * fgio_saturation_allows() - whether a non-critical I/O may go
 * @saturation: of the drive; it is on
 * @others: non-critical I/Os in the drive
 * @waiting: those that wait for it
 * @now_ns: the time
 * @retry_ns: out: when to ask again if not; 0: at the next completion of theirs
 */
bool fgio_saturation_allows(struct fgio_saturation *saturation, u64 others,
			    u32 waiting, u64 now_ns, u64 *retry_ns);

/* Non-critical I/Os in the drive at which it does not. */
u32 fgio_saturation_limit(const struct fgio_saturation *saturation);

/*
 * A non-critical I/O was dispatched. Counts even while the limit is not in
 * force.
 */
void fgio_saturation_spend(struct fgio_saturation *saturation, u64 now_ns);

#endif /* FGIO_CORE_SATURATION_H */
