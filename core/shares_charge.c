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

static void pay(struct fgio_share_group *group, bool write, u64 charge_ns)
{
	fgio_share_group_charge(group, write, charge_ns);
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
		pay(group, false,
		    smaller((u64)owes_ns, FGIO_SHARES_CHARGE_MOST_NS));
	else
		refund(group,
		       smaller((u64)-owes_ns, FGIO_SHARES_CHARGE_MOST_NS));
	return true;
}

/* How far ahead it may be, in virtual time. Beyond the longest lead it would pay nothing. */
static u64 pass_window(const struct fgio_share_group *group)
{
	u64 weights = larger(group->shares->weights, group->weight);

	return smaller(fgio_shares_virtual_of(FGIO_SHARES_PASS_NS, weights),
		       FGIO_SHARES_LEAD_MOST_NS * group->per_weight);
}

bool fgio_shares_pass(struct fgio_shares *shares,
		      struct fgio_share_group *group, bool write, u32 sectors,
		      u64 now_ns)
{
	u64 charge_ns, usual_ns;

	group = group ?: &shares->rest;
	if (shares->rotates || shares->probe.group ||
	    (write && shares->reads.alone))
		return false;
	if (group->shares != shares)
		fgio_shares_enrol(shares, group);
	if (fgio_before(shares->virtual + pass_window(group), group->start))
		return false;
	fgio_shares_advance(shares, now_ns);
	if (!fgio_share_group_has_queued(group) &&
	    fgio_before(group->start, shares->virtual))
		group->start = shares->virtual;
	charge_ns = fgio_share_cost_of(&shares->cost,
				       fgio_share_kind(write, false), sectors);
	usual_ns = group->charge_ns;
	pay(group, write, smaller(charge_ns, FGIO_SHARES_CHARGE_MOST_NS));
	group->charge_ns = usual_ns;
	group->counters.dispatched++;
	group->counters.sectors += sectors;
	/* What is in the drive at the same time has not had it alone. */
	fgio_store(&shares->sent, shares->sent + 1);
	shares->last = NULL;
	if (write)
		fgio_shares_note_write(shares, group, 0, now_ns);
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
	pay(group, request->write, request->share.charge_ns);
	if (request->class == FGIO_CRITICAL)
		fgio_share_group_move_beyond(old, group,
					     request->share.charge_ns, now_ns);
}
