// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A request goes to the drive, and its group pays; a request leaves it. */
#include "atomic.h"
#include "number.h"
#include "shares.h"
#include "shares_internal.h"

/* How many times a group's weight all weights are, in 1 / PART_ONE. */
#define PART_ONE 16
#define PART_MOST (4096 * PART_ONE)
/* A mean of lone reads within this part of what is charged changes nothing. */
#define LONE_MARGIN 8

/* ---- dispatch ---- */

/* The others that it has queued have another place. */
static FGIO_SELDOM void charge_taken_beside(struct fgio_share_group *group,
					    const struct fgio_request *request,
					    u64 charge_ns)
{
	u32 *queued = &group->queued[request->class];

	fgio_share_group_leave_heaps(group);
	fgio_store(queued, *queued - 1);
	fgio_share_group_charge(group, request->write, charge_ns);
	fgio_share_group_enter_heaps(group);
}

/* None of its requests is queued any more. */
static inline void place_in_drive(struct fgio_share_group *group)
{
	if (group->owed.in_heap)
		fgio_heap_change(&group->shares->owed[FGIO_OWED_IN_DRIVE],
				 &group->owed, group->paid);
	else
		fgio_share_group_enter_in_drive(group);
}

/* Of shares.only, which has no place of a group with queued requests yet. */
static inline void charge_taken_only(struct fgio_shares *shares,
				     const struct fgio_request *request,
				     u64 charge_ns)
{
	struct fgio_share_group *group = request->share.group;

	shares->only = NULL;
	fgio_store(&group->queued[request->class], 0);
	fgio_share_group_charge(group, request->write, charge_ns);
	place_in_drive(group);
}

/* The group pays for the request, which it counts as queued no longer. */
static inline void charge_taken(struct fgio_share_group *group,
				const struct fgio_request *request,
				u64 charge_ns)
{
	struct fgio_shares *shares = group->shares;
	u32 *queued = &group->queued[request->class];
	u32 all = fgio_share_group_all_queued(group);

	if (shares->only) {
		charge_taken_only(shares, request, charge_ns);
		return;
	}
	if (all == 1) {
		fgio_share_group_take_only(group, request->class);
		fgio_share_group_charge(group, request->write, charge_ns);
		fgio_share_group_enter_in_drive(group);
		return;
	}
	if (!fgio_share_group_stays(*queued - 1, all - 1)) {
		charge_taken_beside(group, request, charge_ns);
		return;
	}
	fgio_store(queued, *queued - 1);
	fgio_share_group_charge(group, request->write, charge_ns);
	/* It has others queued: it is in both heaps, but in a turn of reads. */
	if (group->ready.in_heap)
		fgio_heap_change(fgio_share_group_ready_heap(group),
				 &group->ready, group->start);
	fgio_heap_change(fgio_share_group_owed_heap(group), &group->owed,
			 group->paid);
}

/* Costs of the least size are within all bounds. */
static inline u64 charge_of(struct fgio_shares *shares,
			    const struct fgio_request *request, u64 now_ns)
{
	u64 cost_ns = fgio_share_cost_sent(&shares->cost, request->share.kind,
					   request->sectors);

	if (shares->rotates)
		return fgio_shares_disk_charge(shares, request, now_ns);
	if (request->sectors > FGIO_SHARE_LEAST_SECTORS)
		return smaller(cost_ns, FGIO_SHARES_CHARGE_MOST_NS);
	return cost_ns;
}

FGIO_SELDOM void fgio_shares_note_write(struct fgio_shares *shares,
					const struct fgio_share_group *group,
					u64 charge_ns, u64 now_ns)
{
	shares->trial.stage_writes_ns += charge_ns;
	shares->trial.window_writes_ns += charge_ns;
	fgio_store(&shares->wrote, group);
	fgio_store(&shares->wrote_ns, now_ns);
}

bool fgio_share_group_others_wrote(const struct fgio_share_group *group,
				   u64 now_ns)
{
	const struct fgio_shares *shares = group->shares;
	const struct fgio_share_group *wrote = fgio_load(&shares->wrote);

	return !shares->rotates && !group->writes && wrote && wrote != group &&
	       now_ns < fgio_load(&shares->wrote_ns) + FGIO_SHARES_WRITTEN_NS;
}

/* The drive has one more. @own: out. Return: requests there. */
static inline u32 enter_drive(struct fgio_shares *shares,
			      struct fgio_share_group *group, u64 now_ns,
			      u32 *own)
{
	u32 all;

	if (!fgio_load(&shares->in_device))
		fgio_shares_note_idle(shares, now_ns);
	all = fgio_add(&shares->in_device, 1);
	*own = fgio_add(&group->in_device, 1);
	fgio_store(&shares->moved_ns, now_ns);
	fgio_shares_note_no_longer_held(shares, now_ns);
	if (all >= shares->limit.limit)
		fgio_share_limit_reached(&shares->limit);
	return all;
}

/* @all: requests in the drive. */
static inline void stamp_sent(struct fgio_shares *shares,
			      struct fgio_request *request, u64 charge_ns,
			      u32 all, u64 now_ns)
{
	u32 number = shares->sent + 1;

	fgio_store(&shares->sent, number);
	request->share.sent_ns = now_ns;
	request->share.charge_ns = (u32)charge_ns;
	request->share.number = number;
	/* The first one after those of others does not count. */
	request->share.alone = all == 1 && shares->last == request->share.group;
	request->share.moved = false;
	shares->last = request->share.group;
}

/*
 * A read costs no more than it takes of a drive that its group has alone. Probes
 * show that too, but few of them fit between the large I/Os of a slow drive.
 */
static FGIO_SELDOM void learn_from_lone(struct fgio_shares *shares,
					const struct fgio_request *request)
{
	struct fgio_share_group *group = request->share.group;
	u64 mean_ns = fgio_exchange(&group->lone_mean_ns, 0);

	if (fgio_share_group_is_of_lone(group, request) &&
	    mean_ns + mean_ns / LONE_MARGIN < group->charge_ns &&
	    fgio_share_cost_shown(&shares->cost, request->share.kind,
				  request->sectors, mean_ns, false))
		fgio_share_limit_restart(&shares->limit);
}

/* The group has paid. */
static inline void count_sent(struct fgio_shares *shares,
			      const struct fgio_request *request)
{
	struct fgio_share_group *group = request->share.group;

	if (fgio_load(&group->lone_mean_ns))
		learn_from_lone(shares, request);
	if (group->patience_ns < FGIO_SHARES_PATIENCE_MOST_NS)
		group->patience_ns = smaller(group->patience_ns +
						     group->charge_ns / 2,
					     FGIO_SHARES_PATIENCE_MOST_NS);
	fgio_share_cost_alone(&shares->cost,
			      larger(group->charge_ns,
				     fgio_load(&group->alone[request->write].ns)));
	group->counters.dispatched++;
	group->counters.sectors += request->sectors;
}

static FGIO_SELDOM void sent(struct fgio_shares *shares,
			     struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	u64 charge_ns = charge_of(shares, request, now_ns);
	u32 own, all = enter_drive(shares, group, now_ns, &own);

	if (request->write)
		fgio_shares_note_write(shares, group, charge_ns, now_ns);
	if (shares->probe.group == group)
		fgio_shares_note_probe(&shares->probe, request, all, own);
	stamp_sent(shares, request, charge_ns, all, now_ns);
	if (shares->rotates)
		fgio_shares_slice_sent(shares, request);
	charge_taken(group, request, charge_ns);
	if (shares->reads.has_turns)
		fgio_shares_note_turn(shares, request, charge_ns);
	if (request->class == FGIO_CRITICAL) {
		fgio_add(&shares->critical_in_device, 1);
		fgio_share_group_note_beyond(group, group->charge_ns, now_ns);
	}
	count_sent(shares, request);
	if (fgio_list_empty(&shares->backlogged) && all < shares->limit.limit)
		fgio_share_cost_slack(&shares->cost);
}

/* Whether it is a small read, not on a disk, and no group is probed. */
static inline bool is_plain(const struct fgio_shares *shares,
			    const struct fgio_request *request)
{
	return request->class == FGIO_NONCRITICAL && !request->write &&
	       request->sectors <= FGIO_SHARE_LEAST_SECTORS &&
	       !shares->rotates && !shares->probe.group &&
	       !shares->reads.has_turns;
}

/* The only one queued of all. */
static inline void send_only(struct fgio_shares *shares,
			     struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	u64 charge_ns = fgio_share_cost_sent_small(&shares->cost,
						   request->share.kind);
	u32 own, all = enter_drive(shares, group, now_ns, &own);

	stamp_sent(shares, request, charge_ns, all, now_ns);
	charge_taken_only(shares, request, charge_ns);
	count_sent(shares, request);
	if (all < shares->limit.limit)
		fgio_share_cost_slack(&shares->cost);
}

/*
 * Whether its group has others queued, and alone has, and does not lag: nothing
 * but its tags changes, and no place in a heap.
 */
static inline bool is_of_many(const struct fgio_shares *shares,
			      const struct fgio_share_group *group)
{
	u32 queued = group->queued[FGIO_NONCRITICAL];

	return queued > 1 &&
	       fgio_share_group_stays(queued - 1,
				      fgio_share_group_all_queued(group) - 1) &&
	       !fgio_share_group_is_behind(group) &&
	       fgio_shares_is_backlog_of_one(shares);
}

static inline void send_of_many(struct fgio_shares *shares,
				struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	u64 charge_ns = fgio_share_cost_sent_small(&shares->cost,
						   request->share.kind);
	u32 own, all = enter_drive(shares, group, now_ns, &own);

	stamp_sent(shares, request, charge_ns, all, now_ns);
	fgio_store(&group->queued[FGIO_NONCRITICAL],
		   group->queued[FGIO_NONCRITICAL] - 1);
	fgio_share_group_charge_in_order(group, charge_ns * group->per_weight,
					 false);
	group->charge_ns = fgio_share_group_entitlement_of(
		group, request->write, charge_ns, false);
	fgio_share_group_charge_ahead(group,
				      group->charge_ns * group->per_weight);
	group->got += group->charge_ns * group->per_weight;
	group->counters.charged_ns += charge_ns;
	group->ready.key = group->start;
	group->owed.key = group->paid;
	count_sent(shares, request);
}

void fgio_shares_sent(struct fgio_shares *shares, struct fgio_request *request,
		      u64 now_ns)
{
	bool plain = is_plain(shares, request);

	if (plain && shares->only)
		send_only(shares, request, now_ns);
	else if (plain && is_of_many(shares, request->share.group))
		send_of_many(shares, request, now_ns);
	else
		sent(shares, request, now_ns);
}

/* ---- completion ---- */

/*
 * Whether the drive has done what was written beside reads: with turns, each
 * turn of reads begins while it does.
 */
static bool is_written(const struct fgio_shares *shares, u64 now_ns)
{
	return !fgio_load(&shares->reads.has_turns) ||
	       fgio_shares_has_written(shares, now_ns);
}

/* Whether a critical I/O took no longer than the group's share would take. */
static void note_critical(struct fgio_shares *shares,
			  const struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	u64 since_ns = request->queued_ns ?: request->share.sent_ns;
	u32 own = fgio_load(&group->in_device) +
		  fgio_load(&group->queued[FGIO_CRITICAL]);
	u64 part = smaller(PART_ONE * fgio_load(&shares->weights) /
				   fgio_load(&group->weight),
			   PART_MOST);
	const struct fgio_share_alone *alone =
		fgio_share_group_alone_of(group, request->write);
	u64 due_ns = smaller(fgio_load(&alone->ns), FGIO_SHARES_CHARGE_MOST_NS) *
		     own / PART_ONE * part;
	bool is_late = beyond(now_ns, since_ns) > due_ns;
	bool beside_others = fgio_load(&shares->in_device) >
			     fgio_load(&shares->critical_in_device);

	/* In time without other I/O in the drive, it shows nothing. */
	if (due_ns && (is_late || beside_others))
		fgio_add(is_late ? &shares->late : &shares->in_time, 1);
}

static inline void leave_drive(struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	struct fgio_shares *shares = group->shares;

	fgio_store(&shares->moved_ns, now_ns);
	fgio_sub(&shares->in_device, 1);
	fgio_store(&group->idle_since_ns, now_ns);
	if (request->write)
		fgio_store(&shares->written_ns, now_ns);
	request->share.group = NULL;
	/* From here on, the group may be removed. */
	fgio_sub(&group->in_device, 1);
}

/* Its time may tell something. */
static FGIO_SELDOM void left(struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	struct fgio_shares *shares = group->shares;

	if (request->share.alone && !shares->rotates &&
	    request->share.number == fgio_load(&shares->sent) &&
	    is_written(shares, now_ns))
		fgio_share_group_note_alone(group, request, now_ns);
	if (shares->rotates)
		fgio_shares_disk_left(shares, request, now_ns);
	if (request->class == FGIO_CRITICAL) {
		note_critical(shares, request, now_ns);
		fgio_sub(&shares->critical_in_device, 1);
	}
	leave_drive(request, now_ns);
}

void fgio_shares_left(struct fgio_request *request, u64 now_ns)
{
	if (request->share.alone || request->class == FGIO_CRITICAL ||
	    request->share.group->shares->rotates)
		left(request, now_ns);
	else
		leave_drive(request, now_ns);
}
