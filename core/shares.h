/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Fair shares: each group of tasks (a tenant, a control group) gets its part of
 * the drive. docs/design.md, "Fair shares", has the theory in one page.
 *
 * Two virtual clocks. Among groups with queued requests the one with the least
 * *start tag* goes: each request adds its service cost over the group's weight
 * (shares_cost.h), so groups that always have requests get drive time by
 * weight. A group whose I/Os are all in the drive cannot be helped by order.
 * Its *entitlement* grows in real time, by its part of the weights of the
 * groups that ask, and each of its I/Os uses up the time that it takes of a
 * drive that the group has alone. A group that did not get its entitlement
 * *lags*. Then the others may have the fewer requests in the drive the more it
 * lags, and none at last, even while the group thinks for a moment.
 *
 * A disk does one I/O at a time, so what each read takes is measured: the group's
 * mean is charged at first, and the difference when it is done. Writes go to its
 * cache, and all of them pay together for what it does for them (shares_disk.c).
 *
 * Within a group critical requests go first (queue.h). Among groups, those
 * with critical requests go first while they are at most
 * FGIO_SHARES_CRITICAL_NS of drive time ahead (beside slices, and within the
 * guarantee: two rounds). While the limit of the drive is not known, they go
 * before groups that lag as well, within their own guarantee.
 *
 * A request belongs to the group that it is charged to, which may change
 * (fgio_shares_recharge()). The struct of a group is part of the caller's own,
 * one for each group and device. It must stay until fgio_share_group_is_busy()
 * is false and it has been removed.
 *
 * Cost: adding, dispatching and recharging a request take a fixed number of
 * steps and of heap operations of O(log groups) each. Groups that stopped asking
 * are found two at a call, or as they become first in a heap: each is paid for
 * by the call that made it active. Groups whose writes wait for a turn of reads
 * leave a heap one by one, and all come back at its end, in one call.
 *
 * Locking: the caller serialises all calls for one device, except that
 * fgio_shares_left() and fgio_share_group_is_busy() may run at any time, in any
 * context. Nothing here sleeps or allocates. All times are ns of the clock of
 * fgio_queue_next().
 */
#ifndef FGIO_CORE_SHARES_H
#define FGIO_CORE_SHARES_H

#include "atomic.h"
#include "list.h"
#include "order.h"
#include "request.h"
#include "shares_cost.h"
#include "shares_heap.h"
#include "shares_limit.h"
#include "shares_reads.h"
#include "types.h"

/* Weights as users set them. */
#define FGIO_SHARES_WEIGHT_LEAST 1U
#define FGIO_SHARES_WEIGHT_MOST 10000U
#define FGIO_SHARES_WEIGHT_DEFAULT 100U

/*
 * Weights of core are FGIO_SHARES_WEIGHT_ONE times as large, so that a
 * hierarchy can be flattened to them (shares_tree.h).
 */
#define FGIO_SHARES_WEIGHT_ONE 64U

/* One ns of virtual time of a group of weight 1 (of core). */
#define FGIO_SHARES_VIRTUAL_SHIFT 28

/*
 * Groups with critical requests go before others while they are at most this
 * far ahead, in drive time that all groups together get in it.
 */
#define FGIO_SHARES_CRITICAL_NS 2000000ULL

/* The first read of a group on a disk is charged as a seek and half a turn. */
#define FGIO_SHARES_DISK_FIRST_NS 8000000ULL

/* A group is ahead of its entitlement by at most its last I/O, and this. */
#define FGIO_SHARES_AHEAD_NS 500000ULL

/*
 * Others have no request in the drive once a group lags by this many of its
 * I/Os, within these bounds.
 */
#define FGIO_SHARES_LAG_IOS 8U
#define FGIO_SHARES_LAG_LEAST_NS 1000000ULL
#define FGIO_SHARES_LAG_MOST_NS 200000000ULL
/* But no more than two I/Os, or what it is due in this time. */
#define FGIO_SHARES_LAG_DUE_NS 50000000ULL
/* On a disk, where groups take slices. */
#define FGIO_SHARES_LAG_DISK_NS 400000000ULL

/* It is remembered up to this many times as much, except of deep groups. */
#define FGIO_SHARES_LAG_MEMORY 4U

/* A group with more queued requests is deep: order alone gives it its part. */
#define FGIO_SHARES_DEEP 16U

/*
 * A group asks while it has an I/O, and for this long after that: its task may
 * wait for a processor. If its usual pause is longer than its I/Os, it asks for
 * the lesser time. A usual pause is no longer than the last of these.
 */
#define FGIO_SHARES_PATIENCE_NS 1000000ULL
/*
 * To wait for a group takes no more of the drive than half of what its own I/Os
 * do, of which as much is remembered.
 */
#define FGIO_SHARES_PATIENCE_MOST_NS 4000000ULL
#define FGIO_SHARES_PAUSE_LEAST_NS 20000ULL
#define FGIO_SHARES_PAUSE_MOST_NS 2000000ULL

/* A group that asks again within this time still lags by what it did. */
#define FGIO_SHARES_LAG_KEPT_NS 10000000ULL

/*
 * Requests that groups may have in the drive although the depth withholds them,
 * while the foreground of others is served within its share: one more for each
 * LEND of its I/Os that were in time, one fewer for each LEND_LATE that was not.
 * So the late ones are one in 64.
 */
#define FGIO_SHARES_LEND 16U
#define FGIO_SHARES_LEND_LATE 4U

/*
 * Foreground is beyond its guarantee once its I/Os have taken more of the
 * drive's time than their group's part, by what the group is due in this time:
 * users come in bursts.
 */
#define FGIO_SHARES_BEYOND_NS 100000000ULL

/*
 * Entitlements grow this part faster than real time: estimates are no better.
 * And this part slower while critical I/O of a group is late, and for some time
 * after that: what others get beyond their guarantee delays it.
 */
#define FGIO_SHARES_MARGIN_SHARE 32U
#define FGIO_SHARES_STRAINED_NS 100000000ULL

/*
 * Of a group with one I/O at a time, its alone time is the median: its first
 * step, and the last of those that become smaller with each I/O.
 */
#define FGIO_SHARES_ALONE_STEP 16U
#define FGIO_SHARES_ALONE_STEP_LAST 128U
/*
 * A drive may be busy with what its cache took for this long. A reader must not
 * be charged for what others wrote, so its alone time does not rise meanwhile.
 */
#define FGIO_SHARES_WRITTEN_NS 50000000ULL

/*
 * A probe: a group has the drive alone for this many I/Os, or this many if it
 * has one at a time; within these bounds. On a disk, ten times as long.
 */
#define FGIO_SHARES_PROBE_IOS 64U
#define FGIO_SHARES_PROBE_IOS_ONE 16U
#define FGIO_SHARES_PROBE_LEAST_NS 1000000ULL
#define FGIO_SHARES_PROBE_MOST_NS 10000000ULL
#define FGIO_SHARES_PROBE_DISK 10U
/* Pause after a probe in lengths of it: of groups not yet probed, and others. */
#define FGIO_SHARES_PROBE_SPACE_FIRST 8U
#define FGIO_SHARES_PROBE_SPACE 64U
/* A group is probed again after this, and this many lengths of its probe. */
#define FGIO_SHARES_PROBE_AGAIN_NS 2000000000ULL
#define FGIO_SHARES_PROBE_AGAIN 128U
/*
 * A probe takes no more than the group gets in this time, or in this part of it
 * if it has many requests.
 */
#define FGIO_SHARES_PROBE_SHARE_NS 100000000ULL
#define FGIO_SHARES_PROBE_DEEP 5U
/*
 * The first probe of a group with few requests, and this part of the weights or
 * more, may take more: what it gets in the first time, and no more than the
 * second. A slow drive takes 90 ms for eight I/Os.
 */
#define FGIO_SHARES_PROBE_FIRST_WEIGHT 16U
#define FGIO_SHARES_PROBE_FIRST_SHARE_NS 1000000000ULL
#define FGIO_SHARES_PROBE_FIRST_MOST_NS 200000000ULL
/* A new probe counts for one part in this. */
#define FGIO_SHARES_PROBE_SPAN 4U

/*
 * Of a group's reads of one kind and size, each of which had the drive alone,
 * this many in a row show what one costs at most.
 */
#define FGIO_SHARES_LONE_IOS 16U

/* The longest time that one I/O is charged. */
#define FGIO_SHARES_CHARGE_MOST_NS 1000000000ULL

/*
 * If nothing went or completed for this long, requests in the drive count for
 * no limit: the device keeps them.
 */
#define FGIO_SHARES_STILL_NS 1000000000ULL

/*
 * A run: up to this many requests of one group go one after the other, as one
 * decision at one time, while no other group has queued requests.
 */
#define FGIO_SHARES_RUN 16U

/*
 * What the groups of a file system wait for may go at once while its own group is
 * at most this far ahead, in drive time that all groups together get in it, and
 * at most by the longest lead of its own.
 */
#define FGIO_SHARES_PASS_NS 1000000000ULL
/* Of those, this many may be in the drive: foreground that comes next waits for them. */
#define FGIO_SHARES_PASSING_MOST 4

struct fgio_shares;

/**
 * struct fgio_share_counters - totals of a group since its init
 * @dispatched: requests
 * @sectors: their length
 * @charged_ns: drive time charged by start tags
 * @held: times that it lagged and others were held back for it
 */
struct fgio_share_counters {
	u64 dispatched;
	u64 sectors;
	u64 charged_ns;
	u64 held;
};

/**
 * struct fgio_share_alone - what an I/O of a group takes of a drive that it has
 *	alone
 * @ns: mean time per completion; on a disk, with the I/O of others there; 0: not
 *	known
 * @ios: the drive had as many of the group at a time; 0: not known; of no use on
 *	a disk
 * @step: the part of @ns by which the next one alone changes it at most
 */
struct fgio_share_alone {
	u64 ns;
	u32 ios;
	u32 step;
};

/**
 * struct fgio_share_group - a group on one device; only the functions below
 *	touch the members
 * @shares: the device's, or NULL before the first request
 * @ready: its start tag, while it has queued requests
 * @owed: its place by entitlement: while it has queued requests, or lags with all
 *	of them in the drive
 * @asking: place among the groups that ask
 * @backlogged: place among those with queued requests
 * @order: queued requests of each class
 * @queued: their number
 * @weight: of core
 * @per_weight: virtual time of one ns
 * @start: start tag of its next request
 * @paid: the same by entitlement: it lags while the clock is later
 * @charge_ns: charged to its last I/O by entitlement
 * @probed_ns: from here on it is not probed for a while; 0: it never was
 * @pause_ns: usual pause between its last completion and its next request: one
 *	in nine is shorter
 * @patience_ns: for how long it may be waited for
 * @lagged: when it last ended asking, it lagged by this virtual time
 * @excess: on a disk, virtual time that it had beyond its last slice
 * @next_release_ns: non-critical I/O goes then, whatever is critical
 * @streams: which of its I/Os are sequential
 * @asks: its entitlement grows
 * @sequential: its last one was
 * @foreground: its last one was critical
 * @critical_ns: when it last had a critical one
 * @beyond_ns: drive time that its critical I/Os took beyond its part...
 * @beyond_at_ns: ...when the last one went
 * @writes: its last one was a write
 * @waiting: place among those whose writes wait for a turn of reads
 * @window: number of the window (shares_reads.h) in which it...
 * @due: ...was due this virtual time, until it last ended asking...
 * @due_since: ...and from here on, while it asks...
 * @got: ...and was charged this by entitlement
 * @counters: totals
 * @in_device: its requests in the drive
 * @idle_since_ns: its last completion
 * @owes_ns: of a disk: what it took for the group's I/Os beyond what was charged
 * @alone: of reads and of writes; a disk has one of both
 * @reads_ns: on a disk, mean time that a read took there...
 * @reads_most_ns: ...and mean of the most that such reads take
 * @lone_shape: kind and size of the last read that had the drive alone
 * @lone: number of those of that shape in a row...
 * @lone_ns: ...and what they took
 * @lone_mean_ns: the mean of FGIO_SHARES_LONE_IOS of them, not yet learnt from; 0:
 *	there is none
 */
struct fgio_share_group {
	struct fgio_shares *shares;
	struct fgio_heap_node ready;
	struct fgio_heap_node owed;
	struct fgio_list asking;
	struct fgio_list backlogged;
	struct fgio_order order[FGIO_CLASSES];
	u32 queued[FGIO_CLASSES];
	u32 weight;
	u64 per_weight;
	u64 start;
	u64 paid;
	u64 charge_ns;
	u64 probed_ns;
	u64 pause_ns;
	u64 patience_ns;
	u64 lagged;
	u64 critical_ns;
	u64 beyond_ns;
	u64 beyond_at_ns;
	u64 excess;
	u64 next_release_ns;
	struct fgio_share_streams streams;
	bool asks;
	bool sequential;
	bool foreground;
	bool writes;
	struct fgio_list waiting;
	u32 window;
	u64 due;
	u64 due_since;
	u64 got;
	struct fgio_share_counters counters;

	/* Written by completions as well. */
	u32 in_device __attribute__((aligned(64)));
	u64 idle_since_ns;
	s64 owes_ns;
	struct fgio_share_alone alone[2];
	u64 reads_ns;
	u64 reads_most_ns;
	u32 lone_shape;
	u32 lone;
	u64 lone_ns;
	u64 lone_mean_ns;
};

/**
 * struct fgio_share_probe - a group has the drive alone
 * @group: the group; NULL: none has
 * @begin_ns: its begin
 * @longest_ns: it ends after this, with a result or without
 * @alone: those of the others are done, and what they wrote
 * @alone_ns: when the group's first I/O after that completed...
 * @completed: ...and its completions until then
 * @most: the most that it had in the drive since
 * @dry: it had none queued at some time since
 * @kind: of its last I/O...
 * @sectors: ...and the length of that
 * @mixed: it had both reads and writes
 * @next_ns: the next probe begins then at the earliest
 */
struct fgio_share_probe {
	struct fgio_share_group *group;
	u64 begin_ns;
	u64 longest_ns;
	u64 alone_ns;
	u64 completed;
	bool alone;
	u32 most;
	bool dry;
	u8 kind;
	u32 sectors;
	bool mixed;
	u64 next_ns;
};

/**
 * struct fgio_share_run - requests of the group that went last, which go next
 * @left: their number; any other operation on queued requests ends it
 * @in_device: requests in the drive if none completed since its begin: else it
 *	is over
 */
struct fgio_share_run {
	u32 left;
	u32 in_device;
};

/**
 * struct fgio_share_slice - slices of groups on a disk
 * @window_ns: of the whole drive's time; a group's slice is its part of this
 * @went: group whose non-critical requests went last; NULL: there is none
 * @group: the group that has a slice, or had the last; NULL: there was none
 * @is_over: it had it
 * @critical: group whose critical requests went last; NULL: there is none
 * @end: the tag that slices of this round end with
 * @width: virtual time of the round
 * @begin_ns: when it began
 * @ended: slices that have ended in it
 * @sequential_ns: when what goes in order last had the arm; of writes, while there
 *	are reads as well
 * @read_ns: when a read last went
 */
struct fgio_share_slice {
	u64 window_ns;
	struct fgio_share_group *went;
	const struct fgio_share_group *group;
	const struct fgio_share_group *critical;
	bool is_over;
	u64 end;
	u64 width;
	u64 begin_ns;
	u64 ended;
	u64 sequential_ns;
	u64 read_ns;
};

/**
 * struct fgio_share_disk - what a disk does for writes
 * @ratio: what writes take, in parts of what a model of a disk says
 * @took_ns: sum, which decays, of what the disk did for writes...
 * @modelled_ns: ...and of what they take by the model
 * @sent_ns: the same of those that went since both were last added up
 * @next_ns: from then on, both are to be added up
 * @done_ns: what the disk did for writes since; by completions
 */
struct fgio_share_disk {
	u64 ratio;
	u64 took_ns;
	u64 modelled_ns;
	u64 sent_ns;
	u64 next_ns;
	u64 done_ns;
};

/**
 * struct fgio_shares - of one device; only the functions below touch the
 *	members
 * @rotates: it is a disk
 * @ready: groups with queued requests by start tag: without, and with critical
 *	ones
 * @owed: groups that ask by entitlement: with none queued, with some, and deep
 *	ones
 * @asking: groups that ask, a ring: the one that was not looked at for longest;
 *	NULL: there is none
 * @backlogged: groups with queued requests, but for...
 * @only: ...the only one of them, if it has one request and is in no heap of
 *	those with queued requests yet; NULL: all are in theirs
 * @virtual: least start tag of the groups that have requests
 * @clock: virtual time of entitlements...
 * @clock_ns: ...at this time
 * @furthest: what the group that is furthest ahead has used up of its
 *	entitlement, or the clock
 * @weights: sum of the weights of groups that ask
 * @last: group whose request went last
 * @run: what is decided already
 * @slice: on a disk
 * @disk: what a disk does for writes
 * @probe: the probe under way, or the last
 * @cost: service costs
 * @limit: requests in the drive that keep it full
 * @reads: turns of reads
 * @trial: whether they help
 * @lent: requests that the drive may have although the depth withholds them, in
 *	1 / FGIO_SHARES_LEND
 * @strained_until_ns: critical I/O was late lately, as late as lends nothing
 * @retry_ns: until then, a group that lags may come back
 * @rest: group of requests without one
 * @in_device: requests in the drive
 * @critical_in_device: critical ones of them
 * @sent: requests sent to it so far
 * @moved_ns: the last dispatch or completion
 * @left_ns: the last completion
 * @wrote: group of the last write...
 * @wrote_ns: ...and when it went
 * @written_ns: the last completion of a write
 * @in_time: critical I/Os that took no longer than in their group's share of the
 *	drive, since @lent was last worked out...
 * @late: ...and those that did
 */
struct fgio_shares {
	bool rotates;
	struct fgio_heap ready[FGIO_CLASSES];
	struct fgio_heap owed[3];
	struct fgio_list *asking;
	struct fgio_list backlogged;
	struct fgio_share_group *only;
	u64 virtual;
	u64 clock;
	u64 clock_ns;
	u64 furthest;
	u64 weights;
	struct fgio_share_group *last;
	struct fgio_share_run run;
	struct fgio_share_slice slice;
	struct fgio_share_disk disk;
	struct fgio_share_probe probe;
	struct fgio_share_cost cost;
	struct fgio_share_limit limit;
	struct fgio_share_reads reads;
	struct fgio_share_trial trial;
	u32 lent;
	u64 strained_until_ns;
	u64 retry_ns;
	struct fgio_share_group rest;

	/* Written by completions as well. */
	u32 in_device __attribute__((aligned(64)));
	u32 critical_in_device;
	u32 sent;
	u64 moved_ns;
	u64 left_ns;
	const struct fgio_share_group *wrote;
	u64 wrote_ns;
	u64 written_ns;
	u32 in_time;
	u32 late;
};

/* @rotates: it is a disk, as far as is known. */
void fgio_shares_init(struct fgio_shares *shares, bool rotates);

/* The weight in core of a group below the root. @weight: 1 to 10,000. */
static inline u32 fgio_shares_weight(u32 weight)
{
	return weight * FGIO_SHARES_WEIGHT_ONE;
}

/* @weight: of core, at least 1. */
void fgio_share_group_init(struct fgio_share_group *group, u32 weight);

/*
 * A new weight, of core and at least 1; for requests that come later. Before
 * the first request or under the lock of its device.
 */
void fgio_share_group_set_weight(struct fgio_share_group *group, u32 weight);

/* Whether it has requests, queued or in the drive. Any context. */
static inline bool
fgio_share_group_is_busy(const struct fgio_share_group *group)
{
	return fgio_load_acquire(&group->in_device) ||
	       fgio_load(&group->queued[FGIO_NONCRITICAL]) ||
	       fgio_load(&group->queued[FGIO_CRITICAL]);
}

/*
 * The group ends; it is not busy, and nothing is charged to it any more. Its
 * memory is the caller's again.
 */
void fgio_share_group_remove(struct fgio_share_group *group);

/*
 * @request, which is to be queued, joins @group (NULL: the rest), which counts it
 * from now on; @now_ns: the time.
 */
void fgio_shares_join(struct fgio_shares *shares, struct fgio_request *request,
		      struct fgio_share_group *group, u64 now_ns);

/* @request was added to its group's FIFO again, or taken from it. */
void fgio_shares_added(struct fgio_request *request);
void fgio_shares_taken(struct fgio_request *request);

/*
 * The groups with queued requests, one by one: the one after @group, or the
 * first. NULL: there is none.
 */
struct fgio_share_group *
fgio_shares_backlogged_after(const struct fgio_shares *shares,
			     const struct fgio_share_group *group);

/**
 * fgio_shares_recharge() - charge a request to another group
 * @request: queued, or in the drive
 * @group: the group of the task that waits for it
 * @now_ns: the time
 *
 * A queued one goes behind those of its class there. For one in the drive the
 * new group pays, and the old one gets back what it paid; once for each request.
 * The caller sees to it that neither group is removed meanwhile.
 */
void fgio_shares_recharge(struct fgio_request *request,
			  struct fgio_share_group *group, u64 now_ns);

/**
 * fgio_shares_pass() - whether a request goes at once, past all that is queued
 * @shares: the device's
 * @group: it is charged to this; NULL: to the rest
 * @write: its direction
 * @sectors: its length
 * @now_ns: the time
 *
 * Metadata of a file system: its tasks read them while they hold what tasks of all
 * groups wait for, such as a handle of the journal. In its turn, that of a light
 * group would hold up all others for as long as its own I/O waits.
 *
 * Return: true: the group has paid; the request is not counted as queued or in
 * the drive, and no cost is learnt from it. False: it is to be queued: the group
 * is too far ahead, one is probed, or it is a write in a turn of reads, or a disk,
 * whose arm would go to and fro. The caller sees to it that no more than
 * FGIO_SHARES_PASSING_MOST are in the drive.
 */
bool fgio_shares_pass(struct fgio_shares *shares,
		      struct fgio_share_group *group, bool write, u32 sectors,
		      u64 now_ns);

/**
 * fgio_shares_turn() - the group whose request goes next
 * @shares: some group has queued requests
 * @free: no critical I/O is about, which a probe of other I/O would hold up,
 *	and whose depth would make it useless
 * @now_ns: the time
 *
 * Return: the group; NULL: none may, the drive is full or held. Then
 * fgio_shares_retry_ns() is the time to ask again; 0: at the next completion.
 */
struct fgio_share_group *fgio_shares_turn(struct fgio_shares *shares, bool free,
					  u64 now_ns);

/*
 * Whether fgio_shares_turn(), asked again at the same time, would name the
 * group of the last request: no request was queued, taken or charged anew
 * since, none completed, and the drive has room. The caller looks whether
 * critical I/O was seen, and asks anew when some milliseconds have passed, in
 * which I/O of others in the drive may have become late.
 */
static inline bool fgio_shares_run_goes_on(const struct fgio_shares *shares)
{
	return fgio_load(&shares->run.left) &&
	       fgio_load(&shares->in_device) == shares->run.in_device;
}

static inline void fgio_shares_end_run(struct fgio_shares *shares)
{
	fgio_store(&shares->run.left, 0);
}

/* The time of the last turn. */
static inline u64 fgio_shares_run_ns(const struct fgio_shares *shares)
{
	return shares->clock_ns;
}

/* The same where nothing may be withheld: there is one. */
struct fgio_share_group *fgio_shares_turn_in_order(struct fgio_shares *shares,
						   u64 now_ns);

/*
 * After fgio_shares_turn(), whose group may not go for another reason: the
 * group with critical requests whose turn comes next; the group with queued
 * requests that lags most.
 */
struct fgio_share_group *
fgio_shares_turn_of_critical(struct fgio_shares *shares);
struct fgio_share_group *
fgio_shares_turn_of_lagging(struct fgio_shares *shares);

/*
 * Whether a queued request waits for the turn of other groups, and not for the
 * drive: since it joined its group, most requests that went were of others.
 */
bool fgio_shares_awaits_turn(const struct fgio_request *request);

/*
 * Whether a group lags, and may go although the depth withholds its requests:
 * the more it lags, the more requests the drive may have. So they become no more
 * than it takes, and critical I/O waits for no burst. A group with critical I/O
 * since @foreground_since_ns goes by the depth, which is for its own foreground
 * as well, unless the critical I/O that would go instead is beyond its group's
 * guarantee: that group has what this one lacks.
 */
bool fgio_shares_insists(const struct fgio_share_group *group,
			 u64 foreground_since_ns);

/*
 * Whether a group without critical I/O since @foreground_since_ns may go although
 * the depth withholds its requests: the foreground of others is served within its
 * share all the same.
 */
bool fgio_shares_lends(const struct fgio_share_group *group,
		       u64 foreground_since_ns);

static inline u64 fgio_shares_retry_ns(const struct fgio_shares *shares)
{
	return shares->retry_ns;
}

/*
 * A request, no longer in its group's FIFO but not yet fgio_shares_taken(), goes
 * to the drive: its group pays.
 */
void fgio_shares_sent(struct fgio_shares *shares, struct fgio_request *request,
		      u64 now_ns);

/* It left the drive. Any context. */
void fgio_shares_left(struct fgio_request *request, u64 now_ns);

/* By how much a group that asks lags, in ns of its time alone; 0: it does not. */
u64 fgio_shares_lag_ns(const struct fgio_share_group *group);

#endif /* FGIO_CORE_SHARES_H */
