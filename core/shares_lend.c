// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Requests that go although the depth withholds them: those of a group that lags,
 * and those that the foreground of others has room for.
 */
#include "atomic.h"
#include "number.h"
#include "shares.h"
#include "shares_internal.h"

static bool has_foreground(const struct fgio_share_group *group,
			   u64 foreground_since_ns)
{
	return group->critical_ns > foreground_since_ns;
}

/* By how much drive time its critical I/Os took more than its part by now. */
static u64 beyond_by(const struct fgio_share_group *group, u64 now_ns)
{
	u64 passed_ns = smaller(beyond(now_ns, group->beyond_at_ns),
				FGIO_SHARES_STILL_NS);

	return beyond(group->beyond_ns, fgio_share_group_due_ns(group, passed_ns));
}

void fgio_share_group_note_beyond(struct fgio_share_group *group, u64 charge_ns,
				  u64 now_ns)
{
	u64 most_ns = fgio_share_group_due_ns(group, FGIO_SHARES_BEYOND_NS) + charge_ns;

	group->beyond_ns = smaller(beyond_by(group, now_ns) + charge_ns,
				   most_ns);
	group->beyond_at_ns = now_ns;
}

void fgio_share_group_move_beyond(struct fgio_share_group *from,
				  struct fgio_share_group *to, u64 charge_ns,
				  u64 now_ns)
{
	from->beyond_ns = beyond(from->beyond_ns, charge_ns);
	fgio_share_group_note_beyond(to, charge_ns, now_ns);
}

bool fgio_share_group_is_beyond(const struct fgio_share_group *group)
{
	return beyond_by(group, group->shares->clock_ns) >
	       fgio_share_group_due_ns(group, FGIO_SHARES_BEYOND_NS);
}

/*
 * A disk serves what is near first, so that critical I/O waits in it for as long
 * as other I/O in order comes.
 */
static bool is_critical_in_disk(const struct fgio_shares *shares)
{
	const struct fgio_share_group *critical = shares->slice.critical;

	return shares->rotates && fgio_load(&shares->critical_in_device) &&
	       critical && fgio_load(&critical->in_device) &&
	       !fgio_share_group_is_beyond(critical);
}

/*
 * Whether the critical request that would go instead of @group's is beyond the
 * guarantee of its group.
 */
static bool competes_with_excess(const struct fgio_share_group *group)
{
	const struct fgio_shares *shares = group->shares;
	const struct fgio_share_group *other =
		fgio_shares_first_ready(&shares->ready[true]);

	return other && !group->queued[FGIO_CRITICAL] &&
	       fgio_share_group_is_beyond(other);
}

bool fgio_shares_insists(const struct fgio_share_group *group,
			 u64 foreground_since_ns)
{
	const struct fgio_shares *shares = group->shares;
	u32 all = shares->limit.limit;

	if (!fgio_share_group_lags(group) || is_critical_in_disk(shares) ||
	    (has_foreground(group, foreground_since_ns) &&
	     !competes_with_excess(group)))
		return false;
	return fgio_load(&shares->in_device) <=
	       beyond(all, fgio_share_group_beside(shares, group));
}

bool fgio_shares_lends(const struct fgio_share_group *group,
		       u64 foreground_since_ns)
{
	const struct fgio_shares *shares = group->shares;

	return !has_foreground(group, foreground_since_ns) &&
	       fgio_load(&shares->in_device) < shares->lent / FGIO_SHARES_LEND;
}

void fgio_shares_learn_lent(struct fgio_shares *shares, u64 now_ns)
{
	u32 in_time = fgio_exchange(&shares->in_time, 0);
	u32 late = fgio_exchange(&shares->late, 0);

	shares->lent = (u32)smaller(
		beyond(shares->lent + in_time,
		       (u64)late * FGIO_SHARES_LEND * FGIO_SHARES_LEND_LATE),
		shares->limit.limit * FGIO_SHARES_LEND);
	if (late && !shares->lent)
		shares->strained_until_ns = now_ns + FGIO_SHARES_STRAINED_NS;
}
