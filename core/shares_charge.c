// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What groups pay beside dispatches in their turn, get back, or take over. */
#include "atomic.h"
#include "number.h"
#include "queue_internal.h"
#include "shares.h"
#include "shares_internal.h"

/* Its tags changed. */
static void change_places(struct fgio_share_group *group)
{
	fgio_shares_end_run(group->shares);
	fgio_shares_forget_only(group->shares);
	if (group->ready.in_heap)
		fgio_heap_change(fgio_share_group_ready_heap(group),
				 &group->ready, group->start);
	if (group->owed.in_heap)
		fgio_heap_change(fgio_share_group_owed_heap(group),
				 &group->owed, group->paid);
}

static void pay(struct fgio_share_group *group, u64 charge_ns)
{
	fgio_share_group_charge(group, charge_ns);
	change_places(group);
}

static void refund(struct fgio_share_group *group, u64 charge_ns)
{
	struct fgio_shares *shares = group->shares;
	u64 back = charge_ns * group->per_weight;

	group->start -= back;
	if (fgio_before(group->start, shares->virtual))
		group->start = shares->virtual;
	group->paid -= back;
	group->got = beyond(group->got, back);
	if (fgio_before(group->paid, shares->clock))
		fgio_share_group_bound_lag(group);
	group->counters.charged_ns -= charge_ns;
	change_places(group);
}

bool fgio_share_group_settle_up_disk(struct fgio_share_group *group)
{
	s64 owes_ns;

	if (!group || !fgio_load(&group->owes_ns))
		return false;
	owes_ns = fgio_exchange(&group->owes_ns, 0);
	if (owes_ns > 0)
		pay(group, smaller((u64)owes_ns, FGIO_SHARES_CHARGE_MOST_NS));
	else
		refund(group,
		       smaller((u64)-owes_ns, FGIO_SHARES_CHARGE_MOST_NS));
	return true;
}

bool fgio_shares_pass(struct fgio_shares *shares,
		      struct fgio_share_group *group, bool write, u32 sectors,
		      u64 now_ns)
{
	u8 kind = fgio_share_kind(write, false);
	u64 window;

	group = group ?: &shares->rest;
	if (shares->rotates)
		return false;
	if (group->shares != shares)
		fgio_shares_enrol(shares, group);
	fgio_shares_advance(shares, now_ns);
	/* Beyond the longest lead, it would pay nothing. */
	window = smaller(fgio_shares_virtual_of(FGIO_SHARES_PASS_NS,
						larger(shares->weights,
						       group->weight)),
			 FGIO_SHARES_LEAD_MOST_NS * group->per_weight);
	if (fgio_before(shares->virtual + window, group->start))
		return false;
	if (fgio_before(group->start, shares->virtual))
		group->start = shares->virtual;
	pay(group, smaller(fgio_share_cost_sent(&shares->cost, kind, sectors),
			   FGIO_SHARES_CHARGE_MOST_NS));
	group->counters.sectors += sectors;
	return true;
}

void fgio_shares_recharge(struct fgio_request *request,
			  struct fgio_share_group *group, u64 now_ns)
{
	struct fgio_share_group *old = request->share.group;
	struct fgio_shares *shares = old->shares;

	group = group ?: &shares->rest;
	if (group == old)
		return;
	if (request->state == FGIO_REQUEST_QUEUED) {
		fgio_request_step_out(request);
		fgio_shares_taken(request);
		fgio_shares_join(shares, request, group, now_ns);
		fgio_request_line_up(request, FGIO_TO_TAIL_AGAIN);
		return;
	}
	if (request->share.moved || group->shares != shares)
		return;
	request->share.moved = true;
	refund(old, request->share.charge_ns);
	pay(group, request->share.charge_ns);
	if (request->class == FGIO_CRITICAL)
		fgio_share_group_move_beyond(old, group,
					     request->share.charge_ns, now_ns);
}
