// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Whose turn it is. */
#include "atomic.h"
#include "number.h"
#include "shares.h"
#include "shares_internal.h"

/* The group with the least start tag. */
static struct fgio_share_group *least(const struct fgio_shares *shares)
{
	struct fgio_share_group *one =
		fgio_shares_first_ready(&shares->ready[false]);
	struct fgio_share_group *other =
		fgio_shares_first_ready(&shares->ready[true]);

	if (!one || !other)
		return one ?: other;
	return fgio_before(one->start, other->start) ? one : other;
}

/* Whether it is at most @window_ns of the whole drive's time ahead of @first. */
static bool is_near(const struct fgio_share_group *group,
		    const struct fgio_share_group *first, u64 window_ns)
{
	u64 window = fgio_shares_virtual_of(window_ns, group->shares->weights);

	return !fgio_before(first->start + window, group->start);
}

/*
 * Whether its foreground lags by more than is remembered: a deep group, which it
 * is by its background, has no memory.
 */
static bool forgets_lag(const struct fgio_share_group *group)
{
	return group->queued[FGIO_CRITICAL] &&
	       fgio_shares_lag_ns(group) >= fgio_share_group_lag_most_ns(group);
}

/* On a disk. */
static FGIO_SELDOM struct fgio_share_group *
settle_least(struct fgio_shares *shares)
{
	struct fgio_share_group *first = least(shares);

	/* With slices, a group settles within its own. */
	if (fgio_shares_takes_slices(shares))
		return first;
	/* Each time is paid for by a completion. */
	while (fgio_share_group_settle_up_disk(first))
		first = least(shares);
	return first;
}

/* The group with the least start tag, which owes nothing. */
static inline struct fgio_share_group *settled_least(struct fgio_shares *shares)
{
	if (shares->rotates)
		return settle_least(shares);
	if (fgio_heap_first(&shares->ready[true]))
		return least(shares);
	return fgio_shares_first_ready(&shares->ready[false]);
}

/*
 * Whether it goes instead of @first: order does not tell how long others keep
 * its I/Os in the drive. Where all lag alike, the clock is too fast, and order
 * decides.
 */
static FGIO_SELDOM bool goes_first(const struct fgio_share_group *group,
				   const struct fgio_share_group *first)
{
	return !fgio_shares_takes_slices(group->shares) &&
	       fgio_share_group_lags_more(group, first) && !forgets_lag(first);
}

/*
 * By how much foreground may be ahead of others. With slices, the tag of its group
 * is at the end of a round and those of others at its begin: as long as it is
 * within its guarantee, it waits for none.
 */
static inline u64 critical_window_ns(const struct fgio_share_group *group)
{
	const struct fgio_shares *shares = group->shares;

	return shares->rotates && fgio_shares_takes_slices(shares) &&
			       !fgio_share_group_is_beyond(group) ?
		       2 * shares->slice.window_ns :
		       FGIO_SHARES_CRITICAL_NS;
}

/* Whose critical requests may go at @first's turn; NULL: there is none. */
static inline struct fgio_share_group *
critical_near(const struct fgio_shares *shares,
	      const struct fgio_share_group *first)
{
	struct fgio_share_group *group =
		fgio_shares_first_ready(&shares->ready[true]);

	return group && is_near(group, first, critical_window_ns(group)) ?
		       group :
		       NULL;
}

/*
 * Where the limit of the drive is not known yet, all groups may lag, and foreground
 * that leaves the others their guarantee would wait for each of them.
 */
static inline bool is_before_lag(const struct fgio_share_group *critical)
{
	return !fgio_share_limit_is_found(&critical->shares->limit) &&
	       !fgio_share_group_is_beyond(critical);
}

static inline struct fgio_share_group *in_order(struct fgio_shares *shares)
{
	struct fgio_share_group *first = settled_least(shares);
	struct fgio_share_group *critical = critical_near(shares, first);
	struct fgio_share_group *group;

	fgio_shares_first_in_order(shares, first);
	if (critical && is_before_lag(critical))
		return critical;
	group = fgio_shares_first_owed(&shares->owed[FGIO_OWED_QUEUED]);
	if (group && group != first &&
	    !fgio_share_group_waits_for_reads(group) &&
	    fgio_before(group->paid, shares->clock) && goes_first(group, first))
		return group;
	return critical ?: first;
}

/* The group that lags most of those whose requests are all in the drive. */
static FGIO_SELDOM struct fgio_share_group *suffers(struct fgio_shares *shares,
						    u64 now_ns)
{
	return fgio_shares_most_behind(shares, FGIO_OWED_IN_DRIVE, now_ns);
}

/* Whether others leave room to the group that suffers. */
static bool is_spared(struct fgio_shares *shares,
		      struct fgio_share_group *sufferer, u64 now_ns)
{
	u32 own, all;

	if (!sufferer)
		return true;
	own = fgio_load(&sufferer->in_device);
	all = fgio_load(&shares->in_device);
	if (beyond(all, own) < fgio_share_group_beside(shares, sufferer))
		return true;
	sufferer->counters.held++;
	if (!sufferer->writes)
		fgio_shares_note_held(shares, now_ns);
	/* If it has none there, there may be no completion to wait for. */
	if (!own)
		shares->retry_ns = larger(now_ns + 1,
					  fgio_share_group_awaited_until_ns(sufferer));
	return false;
}

/* Of those with queued requests, the one that lags most. */
static struct fgio_share_group *queued_lagging(struct fgio_shares *shares)
{
	struct fgio_share_group *one =
		fgio_shares_first_owed(&shares->owed[FGIO_OWED_QUEUED]);
	struct fgio_share_group *other =
		fgio_shares_first_owed(&shares->owed[FGIO_OWED_DEEP]);

	if (!one || !other)
		return one ?: other;
	return fgio_share_group_lags_more(other, one) ? other : one;
}

struct fgio_share_group *
fgio_shares_turn_of_critical(struct fgio_shares *shares)
{
	return fgio_shares_first_ready(&shares->ready[true]);
}

struct fgio_share_group *fgio_shares_turn_of_lagging(struct fgio_shares *shares)
{
	struct fgio_share_group *group = queued_lagging(shares);

	return group && !fgio_share_group_waits_for_reads(group) &&
			       fgio_shares_lag_ns(group) ?
		       group :
		       NULL;
}

void fgio_shares_learn_costs(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_cost *cost = &shares->cost;
	u64 length_ns = beyond(now_ns, cost->begin_ns);
	bool changed = false;

	/* Else it is noted as the next one enters the drive: too late for this. */
	if (!fgio_load(&shares->in_device))
		fgio_shares_note_idle(shares, now_ns);

	cost->in_drive = fgio_load(&shares->in_device);
	if (fgio_share_limit_holds(&shares->limit) || cost->slack)
		changed = fgio_share_cost_learn(cost, now_ns);
	/* Those are the scale of a comparison. */
	if (changed)
		fgio_share_limit_restart(&shares->limit);
	fgio_share_limit_bound_first(&shares->limit,
				     beyond(length_ns, cost->idle_ns) /
					     larger(cost->count, 1));
	if (!cost->slack)
		fgio_share_limit_meet(&shares->limit,
				      fgio_share_cost_nodes(cost));
	fgio_share_limit_learn(&shares->limit, cost->sum_ns, length_ns,
			       !cost->slack);
	if (fgio_share_limit_holds(&shares->limit)) {
		fgio_share_cost_begin_dithered(cost, now_ns);
		return;
	}
	/* Two limits are compared by one mix. */
	fgio_share_cost_end_dither(cost);
	fgio_share_cost_begin(cost, now_ns);
}

/* Return: the group that has the drive alone; NULL: it has no request. */
static FGIO_SELDOM struct fgio_share_group *
turn_of_probe(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_group *group = shares->probe.group;

	shares->retry_ns = now_ns + FGIO_SHARES_PAUSE_LEAST_NS;
	if (fgio_load(&shares->in_device))
		shares->retry_ns = now_ns + FGIO_SHARES_PROBE_LEAST_NS;
	fgio_share_cost_slack(&shares->cost);
	return fgio_share_group_has_queued(group) &&
			       !fgio_share_group_waits_for_reads(group) ?
		       group :
		       NULL;
}

/* Whether writes alone are queued, and wait for a turn of reads. */
static FGIO_SELDOM bool waits_for_reads(struct fgio_shares *shares, u64 now_ns)
{
	fgio_shares_hold_writes(shares);
	if (least(shares))
		return false;
	shares->retry_ns = now_ns + FGIO_SHARES_PROBE_LEAST_NS;
	return true;
}

/* Some group in the drive lags. Return: the one that goes all the same. */
static FGIO_SELDOM struct fgio_share_group *
beside_sufferer(struct fgio_shares *shares, struct fgio_share_group *group,
		u64 now_ns)
{
	struct fgio_share_group *sufferer = suffers(shares, now_ns);
	struct fgio_share_group *lagging;

	if (is_spared(shares, sufferer, now_ns))
		return group;
	fgio_share_cost_slack(&shares->cost);
	fgio_share_limit_held_for(&shares->limit,
				  fgio_load(&sufferer->in_device));
	lagging = queued_lagging(shares);
	return lagging && !fgio_share_group_waits_for_reads(lagging) &&
			       fgio_share_group_lags_more(lagging, sufferer) ?
		       lagging :
		       NULL;
}

/*
 * At this time, nothing but room in the drive decides whether other requests of
 * @group go, too. An interval of costs must not end among them.
 */
static FGIO_SELDOM void begin_run(struct fgio_shares *shares,
				  const struct fgio_share_group *group)
{
	u32 in_device = fgio_load(&shares->in_device);
	u64 most = smaller(FGIO_SHARES_RUN, group->queued[FGIO_NONCRITICAL]);
	u32 room;

	if (shares->rotates || group->queued[FGIO_CRITICAL])
		return;
	most = smaller(most, beyond(shares->limit.limit, in_device));
	room = fgio_share_cost_room(&shares->cost, shares->clock_ns);
	if (room)
		most = smaller(most, room);
	shares->run.in_device = in_device + 1;
	fgio_store(&shares->run.left, (u32)beyond(most, 1));
}

struct fgio_share_group *fgio_shares_turn_of_all(struct fgio_shares *shares,
						 bool free, bool probing,
						 u64 now_ns)
{
	struct fgio_share_group *group;

	fgio_shares_forget_only(shares);
	/* Before virtual time moves on to other groups. */
	if (shares->rotates && fgio_shares_has_slice(shares, now_ns))
		return fgio_share_group_has_queued(shares->slice.went) ?
			       shares->slice.went :
			       NULL;
	if (shares->reads.alone && waits_for_reads(shares, now_ns))
		return NULL;
	group = in_order(shares);
	if (fgio_shares_is_still(shares, now_ns))
		return group;
	if (probing)
		return turn_of_probe(shares, now_ns);
	if (!fgio_shares_is_held(shares)) {
		if (free && fgio_shares_is_backlog_of_one(shares) &&
		    !fgio_shares_may_begin_probe(shares, now_ns))
			begin_run(shares, group);
		return group;
	}
	if (fgio_load(&shares->in_device) >= shares->limit.limit)
		return NULL;
	if (shares->reads.has_turns && !shares->reads.alone)
		return group;
	return beside_sufferer(shares, group, now_ns);
}

struct fgio_share_group *fgio_shares_turn(struct fgio_shares *shares, bool free,
					  u64 now_ns)
{
	bool probing = fgio_shares_begin_turn(shares, free, now_ns);

	if (free && fgio_shares_only_goes(shares, probing))
		return fgio_shares_first_in_order(shares, shares->only);
	return fgio_shares_turn_of_all(shares, free, probing, now_ns);
}

struct fgio_share_group *fgio_shares_turn_in_order(struct fgio_shares *shares,
						   u64 now_ns)
{
	fgio_shares_end_run(shares);
	shares->retry_ns = 0;
	shares->probe.group = NULL;
	fgio_shares_advance(shares, now_ns);
	fgio_shares_look_for_idle(shares, now_ns);
	fgio_shares_forget_only(shares);
	if (shares->reads.alone)
		fgio_shares_end_turn_of_reads(shares, now_ns);
	/* The drive may have more than the limit: nothing is learnt from that. */
	fgio_share_cost_slack(&shares->cost);
	return in_order(shares);
}

bool fgio_shares_awaits_turn(const struct fgio_request *request)
{
	const struct fgio_share_group *group = request->share.group;
	u32 all = fgio_load(&group->shares->sent) - request->share.sent_before;
	u32 own = (u32)group->counters.dispatched - request->share.own_before;

	return all - own > own;
}
