// SPDX-License-Identifier: GPL-2.0 OR MIT
/* By how much a group lags, and what that leaves to the others. */
#include "atomic.h"
#include "number.h"
#include "shares.h"
#include "shares_internal.h"

u64 fgio_share_group_lag_most_ns(const struct fgio_share_group *group)
{
	const struct fgio_shares *shares = group->shares;
	u64 most_ns = FGIO_SHARES_LAG_IOS * group->charge_ns;
	u64 due_ns = FGIO_SHARES_LAG_DUE_NS * group->weight /
		     larger(shares->weights, 1);

	if (shares->rotates)
		return FGIO_SHARES_LAG_DISK_NS;
	most_ns = larger(FGIO_SHARES_LAG_LEAST_NS,
			 smaller(most_ns, FGIO_SHARES_LAG_MOST_NS));
	return smaller(most_ns, larger(2 * group->charge_ns + 1, due_ns));
}

u64 fgio_shares_lag_ns(const struct fgio_share_group *group)
{
	const struct fgio_shares *shares = group->shares;

	if (!fgio_share_group_lags(group))
		return 0;
	return (shares->clock - group->paid) / group->per_weight;
}

void fgio_share_group_forget_lag(struct fgio_share_group *group)
{
	u64 most = fgio_share_group_lag_most_ns(group) * group->per_weight;

	if (!fgio_share_group_is_deep(group))
		most *= FGIO_SHARES_LAG_MEMORY;
	if (group->shares->reads.has_turns)
		most = larger(most, fgio_shares_virtual_of(
					    FGIO_SHARES_TURN_MEMORY_NS,
					    larger(group->shares->weights, 1)));
	if (fgio_before(group->paid, group->shares->clock - most))
		group->paid = group->shares->clock - most;
}

bool fgio_share_group_lags_more(const struct fgio_share_group *group,
				const struct fgio_share_group *than)
{
	if (!fgio_share_group_lags(group) || !fgio_share_group_lags(than))
		return fgio_share_group_lags(group);
	return fgio_shares_lag_ns(group) * fgio_share_group_lag_most_ns(than) >
	       fgio_shares_lag_ns(than) * fgio_share_group_lag_most_ns(group);
}

u32 fgio_share_group_beside(const struct fgio_shares *shares,
			    const struct fgio_share_group *group)
{
	u64 most_ns = fgio_share_group_lag_most_ns(group);
	u64 left_ns = beyond(most_ns, fgio_shares_lag_ns(group));

	return (u32)(shares->limit.limit * left_ns / most_ns);
}

struct fgio_share_group *fgio_shares_most_behind(struct fgio_shares *shares,
						 enum fgio_shares_owed owed,
						 u64 now_ns)
{
	struct fgio_share_group *group;

	while ((group = fgio_shares_first_owed(&shares->owed[owed]))) {
		if (!fgio_shares_lag_ns(group))
			return NULL;
		if (fgio_share_group_still_asks(group, now_ns))
			return group;
		fgio_share_group_end_asking(group);
	}
	return NULL;
}
