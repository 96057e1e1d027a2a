/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the files of fair shares have in common, and queue_shares.c with them:
 *
 *	shares.c		groups come and go, and their weights
 *	shares_asking.c		a request joins its group, which asks from then on
 *	shares_places.c		places of groups in the heaps
 *	shares_lag.c		by how much a group lags
 *	shares_charge.c		what groups pay beside their turns, or get back
 *	shares_turn.c		whose turn it is
 *	shares_slice.c		slices of a disk
 *	shares_lend.c		what goes although the depth withholds it
 *	shares_probe.c		what an I/O takes of a drive that its group has alone
 *	shares_reads.c		turns of reads
 *	shares_trial.c		whether turns of reads help
 *	shares_drive.c		dispatch and completion
 *	shares_alone.c		what one I/O at a time takes of the drive
 *	shares_disk.c		what I/Os take of a disk
 *
 * What most I/Os pass is inline: a module is not optimised across files.
 */
#ifndef FGIO_CORE_SHARES_INTERNAL_H
#define FGIO_CORE_SHARES_INTERNAL_H

#include "atomic.h"
#include "number.h"
#include "shares.h"

/* Virtual time of @ns of drive time, 30 s at most, for groups of @weight. */
static inline u64 fgio_shares_virtual_of(u64 ns, u64 weight)
{
	return (ns << FGIO_SHARES_VIRTUAL_SHIFT) / weight;
}

static inline struct fgio_share_group *
fgio_shares_first_ready(const struct fgio_heap *heap)
{
	struct fgio_heap_node *node = fgio_heap_first(heap);

	return node ? fgio_container_of(node, struct fgio_share_group, ready) :
		      NULL;
}

static inline struct fgio_share_group *
fgio_shares_first_owed(const struct fgio_heap *heap)
{
	struct fgio_heap_node *node = fgio_heap_first(heap);

	return node ? fgio_container_of(node, struct fgio_share_group, owed) :
		      NULL;
}

/* ---- queued requests, and places in the heaps (shares_places.c) ---- */

/* Places in struct fgio_shares.owed. */
enum fgio_shares_owed {
	FGIO_OWED_IN_DRIVE, /* none of its requests is queued */
	FGIO_OWED_QUEUED,
	FGIO_OWED_DEEP,
};

static inline bool
fgio_share_group_has_queued(const struct fgio_share_group *group)
{
	return group->queued[FGIO_NONCRITICAL] || group->queued[FGIO_CRITICAL];
}

static inline u32
fgio_share_group_all_queued(const struct fgio_share_group *group)
{
	return group->queued[FGIO_NONCRITICAL] + group->queued[FGIO_CRITICAL];
}

static inline bool
fgio_share_group_is_deep(const struct fgio_share_group *group)
{
	return fgio_share_group_all_queued(group) > FGIO_SHARES_DEEP;
}

static inline struct fgio_heap *
fgio_share_group_owed_heap(const struct fgio_share_group *group)
{
	return &group->shares->owed[fgio_share_group_is_deep(group) ?
					    FGIO_OWED_DEEP :
				    fgio_share_group_has_queued(group) ?
					    FGIO_OWED_QUEUED :
					    FGIO_OWED_IN_DRIVE];
}

/* The heap of start tags that it belongs to. */
static inline struct fgio_heap *
fgio_share_group_ready_heap(const struct fgio_share_group *group)
{
	return &group->shares->ready[!!group->queued[FGIO_CRITICAL]];
}

/* Whether one group alone has queued requests; some group has. */
static inline bool
fgio_shares_is_backlog_of_one(const struct fgio_shares *shares)
{
	return shares->backlogged.next->next == &shares->backlogged;
}

/*
 * Whether a group stays in its heaps, where it has a place as long as it has
 * queued requests, as one of a class comes or goes. @without: those of that
 * class but for it; @all: of both.
 */
static inline bool fgio_share_group_stays(u32 without, u32 all)
{
	return without && all != FGIO_SHARES_DEEP;
}

/* Whether it lags, if it asks. */
static inline bool
fgio_share_group_is_behind(const struct fgio_share_group *group)
{
	return fgio_before(group->paid, group->shares->clock);
}

/* It has no place there yet, and needs one only once it lags. */
static inline void
fgio_share_group_enter_in_drive(struct fgio_share_group *group)
{
	if (fgio_share_group_is_behind(group))
		fgio_heap_add(&group->shares->owed[FGIO_OWED_IN_DRIVE],
			      &group->owed, group->paid);
}

/* The group has one request queued, and no places for it yet. */
void fgio_share_group_enter_queued(struct fgio_share_group *group);

/* It was the only one queued. The group is among those that ask no longer. */
void fgio_share_group_take_only(struct fgio_share_group *group, u8 class);

void fgio_share_group_leave_heaps(struct fgio_share_group *group);

void fgio_share_group_enter_heaps(struct fgio_share_group *group);

/* No longer the only request: its group gets its places. */
void fgio_shares_place_only(struct fgio_shares *shares);

static inline void fgio_shares_forget_only(struct fgio_shares *shares)
{
	if (shares->only)
		fgio_shares_place_only(shares);
}

/* What it is due of the drive in @ns, at most some seconds, if it asks. */
static inline u64
fgio_share_group_due_ns(const struct fgio_share_group *group, u64 ns)
{
	u64 weights = larger(group->shares->weights, group->weight);

	return ns * group->weight / weights;
}

/* ---- what a group lags by (shares_lag.c) ---- */

static inline bool fgio_share_group_lags(const struct fgio_share_group *group)
{
	return group->asks && fgio_share_group_is_behind(group);
}

u64 fgio_share_group_lag_most_ns(const struct fgio_share_group *group);

/* Virtual time that fgio_share_group_lag_most_ns() is never less than. */
static inline u64
fgio_share_group_lag_at_least(const struct fgio_share_group *group)
{
	return 2 * smaller(group->charge_ns, FGIO_SHARES_LAG_MOST_NS / 2) *
	       group->per_weight;
}

/* What it lags by beyond the most is forgotten. */
void fgio_share_group_forget_lag(struct fgio_share_group *group);

/* It lags, mostly by little. */
static inline void fgio_share_group_bound_lag(struct fgio_share_group *group)
{
	if (fgio_before(group->paid,
			group->shares->clock -
				fgio_share_group_lag_at_least(group)))
		fgio_share_group_forget_lag(group);
}

/* Each in parts of the most that it may lag by. */
bool fgio_share_group_lags_more(const struct fgio_share_group *group,
				const struct fgio_share_group *than);

/*
 * The group that lags most of a heap of entitlements; NULL: none does. Those that
 * asked last too long ago ask no longer from here on.
 */
struct fgio_share_group *fgio_shares_most_behind(struct fgio_shares *shares,
						 enum fgio_shares_owed owed,
						 u64 now_ns);

/* Requests of others that may be in the drive beside @group, which lags. */
u32 fgio_share_group_beside(const struct fgio_shares *shares,
			    const struct fgio_share_group *group);

/* ---- turns of reads (shares_reads.c), and trials (shares_trial.c) ---- */

/*
 * With turns: whether the drive has done what it took beside reads, for which it
 * has as long as it took to take it, and some.
 */
static inline bool fgio_shares_has_written(const struct fgio_shares *shares,
					   u64 now_ns)
{
	return now_ns > fgio_load(&shares->written_ns) +
				FGIO_SHARES_WRITTEN_NS +
				fgio_load(&shares->reads.beside_ns);
}

/* Whether costs change: in a trial, they are the scale. */
static inline bool fgio_shares_learns(const struct fgio_shares *shares)
{
	return shares->trial.stage == FGIO_SHARES_TRIAL_NONE;
}

/* From here on, reads have turns, or have none. */
void fgio_shares_set_turns(struct fgio_shares *shares, bool has_turns,
			   u64 now_ns);

/* Reads have turns: one begins or ends. */
void fgio_shares_follow_turns(struct fgio_shares *shares, u64 now_ns);

/* It ends as nothing may be withheld. */
void fgio_shares_end_turn_of_reads(struct fgio_shares *shares, u64 now_ns);

/* It waits for a turn of reads to end, and has one request more. */
void fgio_share_group_reads_again(struct fgio_share_group *group);

/* In a turn of reads, the group with the least start tag is one that reads. */
void fgio_shares_hold_writes(struct fgio_shares *shares);

/* Whether it is a turn of reads, in which nothing of @group goes. */
static inline bool
fgio_share_group_waits_for_reads(const struct fgio_share_group *group)
{
	return group->shares->reads.alone && group->writes &&
	       !group->queued[FGIO_CRITICAL];
}

/* Reads have turns, and the request went. */
void fgio_shares_note_turn(struct fgio_shares *shares,
			   const struct fgio_request *request, u64 charge_ns);

/* A window, or with turns a cycle, has ended. */
void fgio_shares_go_on_with_trial(struct fgio_shares *shares, u64 now_ns);

void fgio_shares_end_window(struct fgio_shares *shares, u64 now_ns);

/* What it lacked in the window that it is in, which has ended. */
void fgio_share_group_end_window(struct fgio_share_group *group);

/* It asks, or had its window counted. */
void fgio_share_group_begin_window(struct fgio_share_group *group);

static inline void
fgio_share_group_follow_window(struct fgio_share_group *group)
{
	if (group->window != group->shares->trial.window)
		fgio_share_group_end_window(group);
}

/* Writes are held back for a group that reads, until something goes. */
static inline void fgio_shares_note_held(struct fgio_shares *shares, u64 now_ns)
{
	if (!shares->trial.held_since_ns)
		shares->trial.held_since_ns = now_ns;
}

static inline void fgio_shares_note_no_longer_held(struct fgio_shares *shares,
						   u64 now_ns)
{
	struct fgio_share_trial *trial = &shares->trial;

	if (!trial->held_since_ns)
		return;
	trial->held_ns += smaller(beyond(now_ns, trial->held_since_ns),
				  FGIO_SHARES_WINDOW_NS);
	trial->held_since_ns = 0;
}

static inline void fgio_shares_follow_reads(struct fgio_shares *shares,
					    u64 now_ns)
{
	if (now_ns >= shares->trial.window_ns + FGIO_SHARES_WINDOW_NS)
		fgio_shares_end_window(shares, now_ns);
	if (shares->reads.has_turns)
		fgio_shares_follow_turns(shares, now_ns);
}

/* ---- the clock of entitlements, and groups that ask (shares_asking.c) ---- */

static inline void fgio_shares_note_paid(struct fgio_shares *shares, u64 paid)
{
	if (fgio_before(shares->furthest, paid))
		shares->furthest = paid;
}

/*
 * How far the clock goes, of @step for the time that passed and @margin. The
 * margin waits for the group that is furthest ahead: if all groups lagged, each
 * would by the most that is remembered, and those that have few I/Os at a time
 * would get what order leaves. Time itself does not, since charges are estimates:
 * beside a group that is charged too little, others would have less.
 */
static inline u64 fgio_shares_step(const struct fgio_shares *shares, u64 step,
				   u64 margin)
{
	u64 room = shares->furthest - shares->clock;

	if (shares->rotates)
		return step + margin;
	return larger(step, smaller(step + margin, room));
}

static inline void fgio_shares_advance(struct fgio_shares *shares, u64 now_ns)
{
	u64 passed_ns = smaller(now_ns - shares->clock_ns, FGIO_SHARES_STILL_NS);
	u64 margin_ns = passed_ns / FGIO_SHARES_MARGIN_SHARE;

	if (now_ns <= shares->clock_ns)
		return;
	shares->clock_ns = now_ns;
	if (!shares->weights)
		return;
	if (now_ns < shares->strained_until_ns) {
		passed_ns -= margin_ns;
		margin_ns = 0;
	}
	shares->clock += fgio_shares_step(
		shares, fgio_shares_virtual_of(passed_ns, shares->weights),
		fgio_shares_virtual_of(margin_ns, shares->weights));
	fgio_shares_note_paid(shares, shares->clock);
}

/* It had no request since it was made, or removed. */
void fgio_shares_enrol(struct fgio_shares *shares,
		       struct fgio_share_group *group);

/* It is not busy. */
void fgio_share_group_end_asking(struct fgio_share_group *group);

/*
 * How long it counts as asking after its last completion. A group that usually
 * pauses for longer than an I/O takes is not waited for, nor one that has been
 * waited for half as long as its I/Os took. Foreground goes first as it comes:
 * to wait for it takes what others have.
 */
static inline u64
fgio_share_group_patience_ns(const struct fgio_share_group *group)
{
	if (group->foreground || group->pause_ns > group->charge_ns)
		return FGIO_SHARES_PAUSE_LEAST_NS;
	return larger(smaller(group->patience_ns, FGIO_SHARES_PATIENCE_NS),
		      FGIO_SHARES_PAUSE_LEAST_NS);
}

static inline u64
fgio_share_group_awaited_until_ns(const struct fgio_share_group *group)
{
	return fgio_load(&group->idle_since_ns) +
	       fgio_share_group_patience_ns(group);
}

static inline bool
fgio_share_group_is_waited_for(const struct fgio_share_group *group, u64 now_ns)
{
	/* By the function before, each I/O would take 8 instructions more. */
	return now_ns < fgio_load(&group->idle_since_ns) +
				fgio_share_group_patience_ns(group);
}

static inline bool
fgio_share_group_still_asks(const struct fgio_share_group *group, u64 now_ns)
{
	return fgio_share_group_is_busy(group) ||
	       fgio_share_group_is_waited_for(group, now_ns);
}

/*
 * Most groups whose requests are all in the drive are ahead until they ask no
 * longer. One that comes to lag gets its place when it is looked at next.
 */
static inline void
fgio_share_group_note_lag(struct fgio_share_group *group)
{
	if (!group->owed.in_heap && !fgio_share_group_has_queued(group))
		fgio_share_group_enter_in_drive(group);
}

/* Looks at the next one. Return: whether there is another. */
static inline bool fgio_shares_look_at_next(struct fgio_shares *shares,
					    u64 now_ns)
{
	struct fgio_list *next = shares->asking;
	struct fgio_share_group *group =
		fgio_container_of(next, struct fgio_share_group, asking);

	if (!fgio_share_group_still_asks(group, now_ns)) {
		fgio_share_group_end_asking(group);
		return shares->asking;
	}
	fgio_share_group_note_lag(group);
	fgio_share_group_follow_window(group);
	shares->asking = next->next;
	return next->next != next;
}

static inline void fgio_shares_look_for_idle(struct fgio_shares *shares,
					     u64 now_ns)
{
	if (shares->asking && fgio_shares_look_at_next(shares, now_ns))
		fgio_shares_look_at_next(shares, now_ns);
}

/* ---- what an I/O takes of a drive that its group has alone (shares_alone.c) ---- */

/* Disks have one mean of reads and writes. */
static inline struct fgio_share_alone *
fgio_share_group_alone_of(struct fgio_share_group *group, bool write)
{
	return &group->alone[write && !group->shares->rotates];
}

/* An I/O that had the drive alone left it. Any context, but one at a time. */
void fgio_share_group_note_alone(struct fgio_share_group *group,
				 const struct fgio_request *request, u64 now_ns);

/* Whether it is of the kind and size of the last read that had the drive alone. */
bool fgio_share_group_is_of_lone(const struct fgio_share_group *group,
				 const struct fgio_request *request);

/*
 * A probe showed that it takes @took_ns where the group has @ios at a time.
 * Return: what it takes by that and the probes before.
 */
u64 fgio_share_group_alone_shown(struct fgio_share_group *group, bool write,
				 u64 took_ns, u32 ios);

/*
 * What an I/O of @charge_ns uses up of its entitlement. The more the group has at
 * a time, the less of the drive's time each of them takes.
 */
static inline u64
fgio_share_group_entitlement_of(struct fgio_share_group *group, bool write,
				u64 charge_ns, bool rotates)
{
	const struct fgio_share_alone *alone = &group->alone[write];
	u64 alone_ns = fgio_load(&alone->ns);
	u64 ios, own;

	if (rotates || alone_ns <= charge_ns)
		return charge_ns;
	alone_ns = smaller(alone_ns, FGIO_SHARES_CHARGE_MOST_NS);
	ios = fgio_load(&alone->ios);
	own = smaller(fgio_load(&group->in_device) +
			      fgio_share_group_all_queued(group),
		      group->shares->limit.limit);
	if (own <= ios)
		return alone_ns;
	/* Of most groups that have many, without a division. */
	return alone_ns * ios <= charge_ns * own ? charge_ns :
						   alone_ns * ios / own;
}

/* ---- tags (shares_charge.c) ---- */

/*
 * The longest that a group goes before its turn is a probe. A tag that is further
 * ahead was charged by a cost that was wrong, as that of the first I/Os, and the
 * group would wait until the others had as much.
 */
#define FGIO_SHARES_LEAD_MOST_NS \
	(FGIO_SHARES_PROBE_MOST_NS + FGIO_SHARES_WRITTEN_NS)

/* Its start tag. */
static inline void
fgio_share_group_charge_in_order(struct fgio_share_group *group, u64 charge,
				 bool rotates)
{
	u64 most = group->shares->virtual +
		   FGIO_SHARES_LEAD_MOST_NS * group->per_weight;

	if (!rotates && fgio_before(most, group->start))
		group->start = most;
	group->start += charge;
}

/* Its entitlement, which it is ahead of. */
static inline void fgio_share_group_charge_ahead(struct fgio_share_group *group,
						 u64 charge)
{
	u64 most = group->shares->clock +
		   FGIO_SHARES_AHEAD_NS * group->per_weight;

	if (fgio_before(most, group->paid))
		group->paid = most;
	group->paid += charge;
	fgio_shares_note_paid(group->shares, group->paid);
}

static inline void fgio_share_group_charge_owed(struct fgio_share_group *group,
						u64 charge)
{
	if (!fgio_share_group_is_behind(group)) {
		fgio_share_group_charge_ahead(group, charge);
		return;
	}
	fgio_share_group_bound_lag(group);
	group->paid += charge;
	fgio_shares_note_paid(group->shares, group->paid);
}

/* Its tags; it may be in no heap. */
static inline void fgio_share_group_charge(struct fgio_share_group *group,
					   bool write, u64 charge_ns)
{
	bool rotates = group->shares->rotates;
	u64 used;

	fgio_share_group_charge_in_order(group, charge_ns * group->per_weight,
					 rotates);
	group->charge_ns = fgio_share_group_entitlement_of(group, write,
							   charge_ns, rotates);
	used = group->charge_ns * group->per_weight;
	fgio_share_group_charge_owed(group, used);
	group->got += used;
	group->counters.charged_ns += charge_ns;
}

/* A write of @group goes, for which it pays @charge_ns. */
void fgio_shares_note_write(struct fgio_shares *shares,
			    const struct fgio_share_group *group, u64 charge_ns,
			    u64 now_ns);

/* Return: whether that was anything. */
bool fgio_share_group_settle_up_disk(struct fgio_share_group *group);

/* ---- slices of a disk (shares_slice.c) ---- */

/* The device may keep requests for any time. */
static inline bool fgio_shares_is_still(const struct fgio_shares *shares,
					u64 now_ns)
{
	return now_ns >= fgio_load(&shares->moved_ns) + FGIO_SHARES_STILL_NS;
}

void fgio_shares_slice_init(struct fgio_share_slice *slice);

/*
 * Whether groups take slices: it is a disk, and some read there in order, or write
 * in order beside reads.
 */
bool fgio_shares_takes_slices(const struct fgio_shares *shares);

/* The request went to a disk. */
void fgio_shares_slice_sent(struct fgio_shares *shares,
			    struct fgio_request *request);

/*
 * A group that comes in the middle of a round, or has another weight since, has
 * no longer slice in it than by the weights of now.
 */
void fgio_share_group_join_round(struct fgio_share_group *group);

/*
 * Of a disk: whether the group that went last keeps the arm: it has requests, or
 * will at once, and has not had its slice yet. Critical I/O goes in between.
 */
bool fgio_shares_has_slice(struct fgio_shares *shares, u64 now_ns);

/* ---- what I/Os take of a disk (shares_disk.c) ---- */

void fgio_shares_disk_init(struct fgio_share_disk *disk);

/* What is charged to a request that goes. */
u64 fgio_shares_disk_charge(struct fgio_shares *shares,
			    const struct fgio_request *request, u64 now_ns);

/* It left the drive. Any context. */
void fgio_shares_disk_left(struct fgio_shares *shares,
			   const struct fgio_request *request, u64 now_ns);

/* ---- beyond the guarantee, and what is lent (shares_lend.c) ---- */

/*
 * A critical I/O of it takes @charge_ns. A pause earns nothing, and a long
 * excess costs no more than a short one.
 */
void fgio_share_group_note_beyond(struct fgio_share_group *group, u64 charge_ns,
				  u64 now_ns);

/* A critical I/O that was @from's is charged to @to. */
void fgio_share_group_move_beyond(struct fgio_share_group *from,
				  struct fgio_share_group *to, u64 charge_ns,
				  u64 now_ns);

/* Whether its critical I/Os took more than its part of the drive. */
bool fgio_share_group_is_beyond(const struct fgio_share_group *group);

/* From what completions counted. */
void fgio_shares_learn_lent(struct fgio_shares *shares, u64 now_ns);

/* ---- probes (shares_probe.c) ---- */

bool fgio_shares_begin_probe(struct fgio_shares *shares,
			     struct fgio_share_group *group, bool free,
			     u64 now_ns);

/* There is one. Return: whether it goes on. */
bool fgio_shares_follow_probe(struct fgio_shares *shares, bool free,
			      u64 now_ns);

/* Follows the probe that the request belongs to. */
void fgio_shares_note_probe(struct fgio_share_probe *probe,
			    const struct fgio_request *request, u32 all,
			    u32 own);

/* Whether one may begin: it is time, and more than one group asks. */
static inline bool fgio_shares_may_begin_probe(const struct fgio_shares *shares,
					       u64 now_ns)
{
	return now_ns >= shares->probe.next_ns && shares->asking &&
	       !fgio_list_empty(shares->asking);
}

/* Whether a probe would end before its next I/O: that is not waited for. */
static inline bool
fgio_share_group_outlasts_probe(const struct fgio_share_group *group)
{
	return group->pause_ns > fgio_share_group_patience_ns(group) &&
	       fgio_load(&group->in_device) +
			       fgio_share_group_all_queued(group) <= 1;
}

/* The next group that asks has its turn to be probed. Return: whether it is. */
static inline bool fgio_shares_try_probe(struct fgio_shares *shares, bool free,
					 u64 now_ns)
{
	struct fgio_share_group *group =
		fgio_container_of(shares->asking, struct fgio_share_group,
				  asking);

	shares->asking = shares->asking->next;
	if (!fgio_share_group_has_queued(group) ||
	    fgio_share_group_outlasts_probe(group) ||
	    fgio_share_group_waits_for_reads(group) ||
	    (group->probed_ns &&
	     now_ns < group->probed_ns + FGIO_SHARES_PROBE_AGAIN_NS))
		return false;
	return fgio_shares_begin_probe(shares, group, free, now_ns);
}

/* Return: whether there is one, and so no group but its own may go. */
static inline bool fgio_shares_probes(struct fgio_shares *shares, bool free,
				      u64 now_ns)
{
	if (shares->probe.group &&
	    fgio_shares_follow_probe(shares, free, now_ns))
		return true;
	return fgio_shares_may_begin_probe(shares, now_ns) &&
	       fgio_shares_try_probe(shares, free, now_ns);
}

/* ---- whose turn it is (shares_turn.c) ---- */

/* An interval of costs ends. */
void fgio_shares_learn_costs(struct fgio_shares *shares, u64 now_ns);

/* It has had no request since the last one left, or since the interval began. */
static inline void fgio_shares_note_idle(struct fgio_shares *shares, u64 now_ns)
{
	u64 since_ns = larger(fgio_load(&shares->moved_ns),
			      shares->cost.begin_ns);

	fgio_share_cost_idle(&shares->cost, beyond(now_ns, since_ns));
}

/* From what went, and what completions counted. */
static inline void fgio_shares_learn(struct fgio_shares *shares, u64 now_ns)
{
	if (!shares->rotates)
		fgio_shares_follow_reads(shares, now_ns);
	if (fgio_share_cost_is_due(&shares->cost, now_ns) &&
	    !shares->reads.has_turns && fgio_shares_learns(shares))
		fgio_shares_learn_costs(shares, now_ns);
	if (fgio_load(&shares->in_time) || fgio_load(&shares->late))
		fgio_shares_learn_lent(shares, now_ns);
}

/* The depth withholds what has its turn, for which the drive has room. */
static inline void fgio_shares_note_withheld(struct fgio_shares *shares)
{
	if (fgio_load(&shares->in_device) < shares->limit.limit)
		fgio_share_cost_limited(&shares->cost);
}

/* Whether the drive has no room: without it, or for a group there that lags. */
static inline bool fgio_shares_is_held(const struct fgio_shares *shares)
{
	const struct fgio_heap_node *in_drive =
		fgio_heap_first(&shares->owed[FGIO_OWED_IN_DRIVE]);

	return fgio_load(&shares->in_device) >= shares->limit.limit ||
	       (in_drive && fgio_before(in_drive->key, shares->clock));
}

/* Virtual time is that of @first, which has the least start tag. */
static inline struct fgio_share_group *
fgio_shares_first_in_order(struct fgio_shares *shares,
			   struct fgio_share_group *first)
{
	if (fgio_before(shares->virtual, first->start))
		shares->virtual = first->start;
	return first;
}

/* The run goes on. Return: its group; the time is fgio_shares_run_ns(). */
static inline struct fgio_share_group *
fgio_shares_turn_of_run(struct fgio_shares *shares)
{
	fgio_store(&shares->run.left, shares->run.left - 1);
	shares->run.in_device++;
	fgio_shares_look_for_idle(shares, shares->clock_ns);
	return fgio_shares_first_in_order(shares, shares->last);
}

/* The first part of fgio_shares_turn(). Return: whether a group is probed. */
static inline bool fgio_shares_begin_turn(struct fgio_shares *shares, bool free,
					  u64 now_ns)
{
	fgio_shares_end_run(shares);
	shares->retry_ns = 0;
	fgio_shares_advance(shares, now_ns);
	fgio_shares_look_for_idle(shares, now_ns);
	fgio_shares_learn(shares, now_ns);
	return !shares->rotates && !fgio_shares_is_still(shares, now_ns) &&
	       fgio_shares_probes(shares, free, now_ns);
}

/* Then, where nothing is withheld: whether the only queued request goes. */
static inline bool fgio_shares_only_goes(const struct fgio_shares *shares,
					 bool probing)
{
	return shares->only && !probing && !shares->reads.alone &&
	       !fgio_shares_is_held(shares);
}

/* Else, the last part. */
struct fgio_share_group *fgio_shares_turn_of_all(struct fgio_shares *shares,
						 bool free, bool probing,
						 u64 now_ns);

/* ---- the drive (shares_drive.c) ---- */

/* Whether the drive may still be busy with what others wrote. */
bool fgio_share_group_others_wrote(const struct fgio_share_group *group,
				   u64 now_ns);

#endif /* FGIO_CORE_SHARES_INTERNAL_H */
