// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A request joins its group. With its first one a group begins to ask: its
 * entitlement grows from then on, until some time after its last one.
 */
#include "atomic.h"
#include "number.h"
#include "shares.h"
#include "shares_internal.h"

/* Parts by which a pause changes the usual one. */
#define PAUSE_SHORTER 8
#define PAUSE_LONGER 64

/*
 * A tag this far ahead was last looked at before virtual time went around, or
 * its group went while others were held back for long: it is forgotten.
 */
static bool is_too_far(const struct fgio_share_group *group, u64 tag, u64 than)
{
	u64 most = 2 * FGIO_SHARES_CHARGE_MOST_NS * group->per_weight;

	return fgio_before(than + most, tag);
}

/* What it lagged by is still due to it after a short time without asking. */
static u64 lag_kept(const struct fgio_share_group *group)
{
	u64 since_ns = fgio_load(&group->idle_since_ns);

	return group->shares->clock_ns < since_ns + FGIO_SHARES_LAG_KEPT_NS ?
		       group->lagged :
		       0;
}

static inline void begin_asking(struct fgio_shares *shares,
				struct fgio_share_group *group)
{
	group->asks = true;
	if (group->window != shares->trial.window)
		fgio_share_group_begin_window(group);
	group->due_since = shares->clock;
	shares->weights += group->weight;
	if (fgio_before(group->paid, shares->clock) ||
	    is_too_far(group, group->paid, shares->clock))
		group->paid = shares->clock - lag_kept(group);
	/* Behind all others. */
	if (shares->asking)
		fgio_list_add_tail(shares->asking, &group->asking);
	else
		shares->asking = &group->asking;
}

void fgio_share_group_end_asking(struct fgio_share_group *group)
{
	struct fgio_shares *shares = group->shares;

	group->lagged = fgio_before(group->paid, shares->clock) ?
				shares->clock - group->paid :
				0;
	if (group->owed.in_heap)
		fgio_heap_remove(&shares->owed[FGIO_OWED_IN_DRIVE],
				 &group->owed);
	fgio_share_group_follow_window(group);
	group->due += shares->clock - group->due_since;
	group->asks = false;
	if (shares->asking == &group->asking)
		shares->asking = fgio_list_empty(&group->asking) ?
					 NULL : group->asking.next;
	fgio_list_remove(&group->asking);
	shares->weights -= group->weight;
}

/*
 * A usual pause counts for no entitlement. What is longer, for want of a
 * processor, does while the group asks, up to half of the time that its I/Os
 * took: others may wait for it meanwhile. The group has no request. In its
 * heap, it has its new place once the one that comes is added.
 */
static inline void end_pause(struct fgio_share_group *group, u64 now_ns)
{
	u64 since_ns = fgio_load(&group->idle_since_ns);
	u64 pause_ns, longer_ns, usual;

	if (!since_ns)
		return;
	pause_ns = smaller(beyond(now_ns, since_ns), FGIO_SHARES_PAUSE_MOST_NS);
	if (!group->pause_ns)
		group->pause_ns = pause_ns + 1;
	else if (pause_ns < group->pause_ns)
		group->pause_ns -= group->pause_ns / PAUSE_SHORTER;
	else
		group->pause_ns += group->pause_ns / PAUSE_LONGER + 1;
	longer_ns = smaller(beyond(pause_ns, group->pause_ns),
			    group->patience_ns);
	group->patience_ns -= longer_ns;
	if (!group->asks)
		return;
	usual = fgio_shares_virtual_of(pause_ns - longer_ns,
				       group->shares->weights);
	group->paid += usual;
	group->got += usual;
}

static inline void begin_backlog(struct fgio_shares *shares,
				 struct fgio_share_group *group)
{
	if (fgio_before(group->start, shares->virtual) ||
	    is_too_far(group, group->start, shares->virtual)) {
		group->start = shares->virtual;
		group->excess = 0;
	}
	if (shares->rotates)
		fgio_share_group_join_round(group);
}

/*
 * The group's first one. If it is the only one of all, it most often goes at
 * once, and its group's places would be left as they are entered.
 */
static inline void add_first(struct fgio_shares *shares,
			     struct fgio_share_group *group, u8 class)
{
	if (!group->asks)
		begin_asking(shares, group);
	fgio_store(&group->queued[class], 1);
	begin_backlog(shares, group);
	if (fgio_list_empty(&shares->backlogged) && !shares->rotates)
		shares->only = group;
	else
		fgio_share_group_enter_queued(group);
}

/* It has @all queued already, of both classes. */
static FGIO_SELDOM void add_beside(struct fgio_share_group *group, u8 class,
				   u32 all)
{
	u32 *queued = &group->queued[class];

	if (fgio_share_group_stays(*queued, all)) {
		fgio_store(queued, *queued + 1);
		return;
	}
	fgio_share_group_leave_heaps(group);
	fgio_store(queued, *queued + 1);
	fgio_share_group_enter_heaps(group);
}

void fgio_shares_added(struct fgio_request *request)
{
	struct fgio_share_group *group = request->share.group;
	struct fgio_shares *shares = group->shares;
	u32 all = fgio_share_group_all_queued(group);

	fgio_shares_end_run(shares);
	fgio_shares_forget_only(shares);
	if (all)
		add_beside(group, request->class, all);
	else
		add_first(shares, group, request->class);
}

FGIO_SELDOM void fgio_shares_enrol(struct fgio_shares *shares,
				   struct fgio_share_group *group)
{
	group->start = shares->virtual;
	group->excess = 0;
	group->paid = shares->clock;
	group->shares = shares;
	fgio_share_group_begin_window(group);
}

static inline void stamp_joined(struct fgio_shares *shares,
				struct fgio_request *request,
				struct fgio_share_group *group, u64 now_ns)
{
	bool sequential;

	request->share.group = group;
	request->share.sent_before = fgio_load(&shares->sent);
	request->share.own_before = (u32)group->counters.dispatched;
	sequential = fgio_share_is_sequential(&group->streams, request->sector,
					      request->sectors, request->write);
	group->sequential = sequential;
	group->writes = request->write;
	group->foreground = request->class == FGIO_CRITICAL;
	if (group->foreground)
		group->critical_ns = now_ns;
	request->share.kind = fgio_share_kind(request->write, sequential);
}

/* It may be the group's first one. */
static FGIO_SELDOM void join(struct fgio_shares *shares,
			     struct fgio_request *request,
			     struct fgio_share_group *group, u64 now_ns)
{
	u32 all = fgio_share_group_all_queued(group);

	if (group->shares != shares)
		fgio_shares_enrol(shares, group);
	stamp_joined(shares, request, group, now_ns);
	/* The clock runs by the weights of those that asked until now. */
	if (!group->asks)
		fgio_shares_advance(shares, now_ns);
	fgio_shares_end_run(shares);
	fgio_shares_forget_only(shares);
	if (all) {
		add_beside(group, request->class, all);
		return;
	}
	if (!fgio_load_acquire(&group->in_device))
		end_pause(group, now_ns);
	add_first(shares, group, request->class);
}

/* Whether the group has others queued, and they keep their places. */
static inline bool joins_others(const struct fgio_shares *shares,
				const struct fgio_request *request,
				const struct fgio_share_group *group)
{
	u32 queued = group->queued[request->class];

	return queued && group->shares == shares && !shares->only &&
	       fgio_share_group_stays(queued,
				      fgio_share_group_all_queued(group));
}

void fgio_shares_join(struct fgio_shares *shares, struct fgio_request *request,
		      struct fgio_share_group *group, u64 now_ns)
{
	group = group ?: &shares->rest;
	if (joins_others(shares, request, group)) {
		fgio_shares_end_run(shares);
		stamp_joined(shares, request, group, now_ns);
		fgio_store(&group->queued[request->class],
			   group->queued[request->class] + 1);
	} else {
		join(shares, request, group, now_ns);
	}
	if (!fgio_list_empty(&group->waiting))
		fgio_share_group_reads_again(group);
}
