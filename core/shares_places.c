// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The places of groups with queued requests: in the heap of start tags, in that
 * of entitlements, and among all of them.
 */
#include "atomic.h"
#include "number.h"
#include "shares.h"
#include "shares_internal.h"

void fgio_share_group_leave_heaps(struct fgio_share_group *group)
{
	if (group->ready.in_heap)
		fgio_heap_remove(fgio_share_group_ready_heap(group),
				 &group->ready);
	fgio_heap_remove(fgio_share_group_owed_heap(group), &group->owed);
}

void fgio_share_group_enter_heaps(struct fgio_share_group *group)
{
	if (fgio_share_group_has_queued(group))
		fgio_heap_add(fgio_share_group_ready_heap(group), &group->ready,
			      group->start);
	fgio_heap_add(fgio_share_group_owed_heap(group), &group->owed,
		      group->paid);
}

void fgio_share_group_enter_queued(struct fgio_share_group *group)
{
	struct fgio_shares *shares = group->shares;

	fgio_list_add_tail(&shares->backlogged, &group->backlogged);
	if (group->owed.in_heap)
		fgio_heap_remove(&shares->owed[FGIO_OWED_IN_DRIVE],
				 &group->owed);
	fgio_heap_add(fgio_share_group_ready_heap(group), &group->ready,
		      group->start);
	fgio_heap_add(&shares->owed[FGIO_OWED_QUEUED], &group->owed,
		      group->paid);
}

void fgio_shares_place_only(struct fgio_shares *shares)
{
	struct fgio_share_group *group = shares->only;

	shares->only = NULL;
	fgio_share_group_enter_queued(group);
}

void fgio_share_group_take_only(struct fgio_share_group *group, u8 class)
{
	struct fgio_shares *shares = group->shares;

	if (group->ready.in_heap)
		fgio_heap_remove(&shares->ready[class == FGIO_CRITICAL],
				 &group->ready);
	fgio_heap_remove(&shares->owed[FGIO_OWED_QUEUED], &group->owed);
	fgio_store(&group->queued[class], 0);
	fgio_list_remove(&group->backlogged);
}

static FGIO_SELDOM void take_beside(struct fgio_share_group *group, u8 class)
{
	fgio_share_group_leave_heaps(group);
	fgio_store(&group->queued[class], group->queued[class] - 1);
	fgio_share_group_enter_heaps(group);
}

void fgio_shares_taken(struct fgio_request *request)
{
	struct fgio_share_group *group = request->share.group;
	u32 *queued = &group->queued[request->class];
	u32 all = fgio_share_group_all_queued(group);

	fgio_shares_end_run(group->shares);
	fgio_shares_forget_only(group->shares);
	if (fgio_share_group_stays(*queued - 1, all - 1)) {
		fgio_store(queued, *queued - 1);
	} else if (all == 1) {
		fgio_share_group_take_only(group, request->class);
		fgio_share_group_enter_in_drive(group);
	} else {
		take_beside(group, request->class);
	}
}

struct fgio_share_group *
fgio_shares_backlogged_after(const struct fgio_shares *shares,
			     const struct fgio_share_group *group)
{
	const struct fgio_list *at = group ? &group->backlogged :
					     &shares->backlogged;

	if (shares->only)
		return group ? NULL : shares->only;
	return at->next == &shares->backlogged ?
		       NULL :
		       fgio_container_of(at->next, struct fgio_share_group,
					 backlogged);
}
