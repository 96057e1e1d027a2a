// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Groups come and go, and their weights. */
#include "number.h"
#include "order.h"
#include "shares.h"
#include "shares_internal.h"

void fgio_share_group_init(struct fgio_share_group *group, u32 weight)
{
	*group = (struct fgio_share_group){
		.weight = weight,
		.per_weight = fgio_shares_virtual_of(1, weight),
	};
	fgio_list_init(&group->asking);
	fgio_list_init(&group->backlogged);
	fgio_list_init(&group->waiting);
	fgio_order_init(&group->order[FGIO_NONCRITICAL]);
	fgio_order_init(&group->order[FGIO_CRITICAL]);
}

void fgio_shares_init(struct fgio_shares *shares, bool rotates)
{
	*shares = (struct fgio_shares){ .rotates = rotates };
	fgio_list_init(&shares->backlogged);
	fgio_list_init(&shares->reads.waiting);
	fgio_share_cost_init(&shares->cost);
	fgio_share_limit_init(&shares->limit, rotates);
	fgio_shares_slice_init(&shares->slice);
	fgio_shares_disk_init(&shares->disk);
	fgio_share_group_init(&shares->rest,
			      fgio_shares_weight(FGIO_SHARES_WEIGHT_DEFAULT));
}

void fgio_share_group_set_weight(struct fgio_share_group *group, u32 weight)
{
	struct fgio_shares *shares = group->shares;

	if (shares)
		fgio_shares_end_run(shares);
	if (shares && group->asks) {
		shares->weights += weight;
		shares->weights -= group->weight;
	}
	group->weight = weight;
	group->per_weight = fgio_shares_virtual_of(1, weight);
	group->excess = 0;
	if (shares && shares->rotates)
		fgio_share_group_join_round(group);
}

void fgio_share_group_remove(struct fgio_share_group *group)
{
	struct fgio_shares *shares = group->shares;

	if (!shares)
		return;
	fgio_shares_end_run(shares);
	if (group->asks)
		fgio_share_group_end_asking(group);
	fgio_list_remove(&group->waiting);
	if (shares->last == group)
		shares->last = NULL;
	if (shares->slice.went == group)
		shares->slice.went = NULL;
	if (shares->slice.critical == group)
		shares->slice.critical = NULL;
	if (shares->slice.group == group)
		shares->slice.group = NULL;
	if (shares->probe.group == group)
		shares->probe.group = NULL;
	group->shares = NULL;
}
