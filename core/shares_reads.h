/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Turns of reads, and trials of whether they help.
 *
 * A drive with a cache takes writes at once and does them later, beside reads.
 * No limit on requests in the drive keeps these from waiting for them. So a
 * group that reads has its part only if writes are held back most of the time,
 * and the drive does less of them than it could.
 *
 * With turns, reads and writes go beside each other until a group that reads
 * lags by FGIO_SHARES_TURN_LAG_NS, and more than any that writes. Writes wait
 * then, until no group that reads lags most, within bounds. Both together are a
 * cycle. The time that its reads take is known; its writes cost the rest. Where
 * a turn outlasts the writes of the drive, its end shows the costs of reads.
 *
 * A group writes if its last request was a write. Its critical requests never
 * wait.
 *
 * That helps some drives and harms others, as a volume without a cache, and
 * nothing else that was looked at tells them apart. So it is tried: where
 * writes are held back for groups that read, or these lack part of their due,
 * turns begin or end for some windows, and the better way stays. The
 * next trial comes after a pause that doubles as long as trials change nothing.
 *
 * Locking: the caller serialises. Nothing here sleeps or allocates.
 */
#ifndef FGIO_CORE_SHARES_READS_H
#define FGIO_CORE_SHARES_READS_H

#include "list.h"
#include "types.h"

/* What a group that reads is due of the drive in this time, it may lag by. */
#define FGIO_SHARES_TURN_LAG_NS 25000000ULL
/* A turn of reads takes this long at least and at most. */
#define FGIO_SHARES_TURN_LEAST_NS 10000000ULL
#define FGIO_SHARES_TURN_MOST_NS 400000000ULL
/* With turns, a lag is remembered that grows in this time. */
#define FGIO_SHARES_TURN_MEMORY_NS 600000000ULL
/* What groups lack and how long writes are held back is counted in windows. */
#define FGIO_SHARES_WINDOW_NS 500000000ULL
/* Parts of a window, in which a lack of drive time is counted. */
#define FGIO_SHARES_LACK_ONE 1024U
/* A group lacks what is below its due by more than this part. */
#define FGIO_SHARES_LACK_SHARE 8U
/*
 * A window with writes is poor if more than this part of it is lacked, or
 * others are held back for as long. A trial comes after some, and more while
 * the drive is not known.
 */
#define FGIO_SHARES_POOR_SHARE 16U
#define FGIO_SHARES_POOR_WINDOWS 2U
#define FGIO_SHARES_POOR_UNKNOWN 6U
/*
 * Pauses between trials in windows: after one that changed the way; and most.
 */
#define FGIO_SHARES_TRIAL_PAUSE 16U
#define FGIO_SHARES_TRIAL_PAUSE_MOST 256U

enum fgio_share_trial_stage {
	FGIO_SHARES_TRIAL_NONE,
	FGIO_SHARES_TRIAL_BEFORE, /* the present way is measured */
	FGIO_SHARES_TRIAL_SETTLES, /* the other has begun */
	FGIO_SHARES_TRIAL_AFTER, /* and is measured */
};

/**
 * struct fgio_share_reads - turns of reads
 * @has_turns: reads have turns; completions read it...
 * @alone: it is the turn of reads: writes wait
 * @since_ns: when it began, or when both began to go beside each other
 * @beside_ns: ...and this: for how long they did before this turn
 * @waiting: groups whose writes wait, out of the heap of start tags
 * @cycle_ns: when the cycle began
 * @clean_ns: from here on the drive had done its writes; 0: it had not yet
 * @idle_ns: in this cycle, time in which the drive had nothing, before the
 *	interval of costs under way
 * @turn_cost_ns: in this cycle, what reads took in their turn...
 * @beside_cost_ns: ...and beside writes
 * @scale: of the costs of writes since turns began (shares_cost.h)
 */
struct fgio_share_reads {
	bool has_turns;
	bool alone;
	u64 since_ns;
	u64 beside_ns;
	struct fgio_list waiting;
	u64 cycle_ns;
	u64 clean_ns;
	u64 idle_ns;
	u64 turn_cost_ns;
	u64 beside_cost_ns;
	u32 scale;
};

/**
 * struct fgio_share_score - of one way
 * @lack: drive time that groups that read lacked, of FGIO_SHARES_LACK_ONE a
 *	window
 * @writes: what writes were charged, of FGIO_SHARES_LACK_ONE a time
 */
struct fgio_share_score {
	u64 lack;
	u64 writes;
};

/**
 * struct fgio_share_trial - whether turns help
 * @stage: enum fgio_share_trial_stage; in all but the first, costs stay as they
 *	are
 * @stage_ns: when it began
 * @stage_writes_ns: what writes were charged since then
 * @before: of the way before the trial
 * @window: number of the window
 * @window_ns: when it began
 * @lack: what groups that read lacked in the one before, as far as they were
 *	looked at...
 * @lacked: ...and what they lacked in that before
 * @window_writes_ns: what writes were charged in this window
 * @held_ns: for how long others were held back in this window for one that
 *	reads...
 * @held_since_ns: ...and are since this time; 0: they are not
 * @poor: windows in a row that were poor
 * @worse: with turns, windows in a row with more lacked than before them
 * @pause: windows between trials
 * @wait: windows until the next may begin
 */
struct fgio_share_trial {
	u8 stage;
	u64 stage_ns;
	u64 stage_writes_ns;
	struct fgio_share_score before;
	u32 window;
	u64 window_ns;
	u64 lack;
	u64 lacked;
	u64 window_writes_ns;
	u64 held_ns;
	u64 held_since_ns;
	u32 poor;
	u32 worse;
	u32 pause;
	u32 wait;
};

#endif /* FGIO_CORE_SHARES_READS_H */
