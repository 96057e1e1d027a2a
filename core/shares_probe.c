// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Probes: what an I/O of a group takes of a drive that it has alone. */
#include "atomic.h"
#include "number.h"
#include "shares.h"
#include "shares_internal.h"

/* Fewer tell nothing. */
#define PROBE_IOS_LEAST (FGIO_SHARES_PROBE_IOS_ONE / 2)

static u64 completed_by(const struct fgio_share_group *group)
{
	return group->counters.dispatched - fgio_load(&group->in_device);
}

static u64 probe_most_ns(const struct fgio_shares *shares)
{
	return FGIO_SHARES_PROBE_MOST_NS *
	       (shares->rotates ? FGIO_SHARES_PROBE_DISK : 1);
}

/* The longest that a probe of it may take. @deep: it always has requests. */
static u64 may_take_ns(const struct fgio_share_group *group, bool deep)
{
	bool is_heavy = FGIO_SHARES_PROBE_FIRST_WEIGHT * group->weight >=
			group->shares->weights;

	if (deep)
		return fgio_share_group_due_ns(group,
					       FGIO_SHARES_PROBE_SHARE_NS) /
		       FGIO_SHARES_PROBE_DEEP;
	if (group->probed_ns || !is_heavy)
		return fgio_share_group_due_ns(group,
					       FGIO_SHARES_PROBE_SHARE_NS);
	return smaller(fgio_share_group_due_ns(group,
					       FGIO_SHARES_PROBE_FIRST_SHARE_NS),
		       FGIO_SHARES_PROBE_FIRST_MOST_NS);
}

/* Whether it takes little of what the group gets. */
static bool is_worth_a_probe(const struct fgio_share_group *group)
{
	u32 has = fgio_load(&group->in_device) + group->queued[0] +
		  group->queued[1];
	u64 ios = has > 1 ? FGIO_SHARES_PROBE_IOS : FGIO_SHARES_PROBE_IOS_ONE;
	bool deep = has > FGIO_SHARES_PROBE_IOS_ONE;
	u64 takes_ns;

	/*
	 * Order serves those that always have requests. They need it less, and
	 * only to tell costs apart, which a probe of writes does not show.
	 */
	if (deep && (group->writes || group->shares->cost.uniform))
		return false;
	if (!group->charge_ns)
		return false;
	takes_ns = larger(smaller(ios * group->charge_ns,
				  probe_most_ns(group->shares)),
			  PROBE_IOS_LEAST * group->charge_ns);
	return takes_ns <= may_take_ns(group, deep);
}

/* Without a result it ends after this: twice what the least I/Os take. */
static u64 longest_ns(const struct fgio_share_group *group)
{
	return larger(probe_most_ns(group->shares),
		      smaller(2 * PROBE_IOS_LEAST * group->charge_ns,
			      FGIO_SHARES_PROBE_FIRST_MOST_NS));
}

bool fgio_shares_begin_probe(struct fgio_shares *shares,
			     struct fgio_share_group *group, bool free,
			     u64 now_ns)
{
	if ((!free && !group->foreground) || !is_worth_a_probe(group))
		return false;
	shares->probe = (struct fgio_share_probe){
		.group = group,
		.begin_ns = now_ns,
		.longest_ns = longest_ns(group) + FGIO_SHARES_WRITTEN_NS,
	};
	return true;
}

/*
 * Learns from a group that has several I/Os at a time. If those were reads and
 * writes, it cannot be told which of them took the time.
 */
static void learn_probe(struct fgio_shares *shares)
{
	const struct fgio_share_probe *probe = &shares->probe;
	struct fgio_share_group *group = probe->group;
	u64 count = completed_by(group) - probe->completed;
	bool write = fgio_share_kind_writes(probe->kind);
	u64 mean_ns;

	if (!probe->alone_ns || count < PROBE_IOS_LEAST || probe->mixed)
		return;
	mean_ns = beyond(fgio_load(&group->idle_since_ns), probe->alone_ns) /
		  count;
	/* With fewer I/Os than the group has, a limit not yet found is slow. */
	if (probe->most > 1 && (probe->most < shares->limit.limit ||
				fgio_share_limit_is_found(&shares->limit)))
		mean_ns = fgio_share_group_alone_shown(group, write, mean_ns,
						       probe->most);
	/* A cache takes writes at once, whatever they cost later. */
	if (!write &&
	    fgio_share_cost_shown(&shares->cost, probe->kind, probe->sectors,
				  mean_ns, !probe->dry))
		fgio_share_limit_restart(&shares->limit);
}

static void end_probe(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_probe *probe = &shares->probe;
	u32 space = probe->group->probed_ns ? FGIO_SHARES_PROBE_SPACE :
					      FGIO_SHARES_PROBE_SPACE_FIRST;

	u64 length_ns = beyond(now_ns, probe->begin_ns);

	learn_probe(shares);
	probe->group->probed_ns = now_ns + FGIO_SHARES_PROBE_AGAIN * length_ns;
	probe->group = NULL;
	probe->next_ns = now_ns + space * length_ns;
}

/* Whether a group that has had the drive alone for a while has shown enough. */
static bool has_shown_enough(const struct fgio_shares *shares, u64 now_ns)
{
	const struct fgio_share_probe *probe = &shares->probe;
	u64 count = completed_by(probe->group) - probe->completed;
	u64 took_ns = beyond(now_ns, probe->alone_ns);

	if (count >= (probe->most > 1 ? FGIO_SHARES_PROBE_IOS :
					FGIO_SHARES_PROBE_IOS_ONE))
		return beyond(now_ns, probe->begin_ns) >=
		       FGIO_SHARES_PROBE_LEAST_NS;
	return count >= PROBE_IOS_LEAST && took_ns >= probe_most_ns(shares);
}

/* Whether the probe goes on. */
static bool probes_on(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_probe *probe = &shares->probe;
	struct fgio_share_group *group = probe->group;
	u32 others = (u32)beyond(fgio_load(&shares->in_device),
				 fgio_load(&group->in_device));
	u64 length_ns = beyond(now_ns, probe->begin_ns);

	if (!probe->alone && !others &&
	    !fgio_share_group_others_wrote(group, now_ns)) {
		probe->alone = true;
		probe->completed = completed_by(group);
	}
	if (probe->alone && !probe->alone_ns &&
	    completed_by(group) != probe->completed) {
		probe->alone_ns = fgio_load(&group->idle_since_ns);
		probe->completed = completed_by(group);
	}
	if (probe->alone && !fgio_share_group_has_queued(group))
		probe->dry = true;
	/* Foreground I/O of others does not wait for it. */
	if (shares->ready[true].count > !!group->queued[FGIO_CRITICAL] ||
	    !fgio_share_group_still_asks(group, now_ns) ||
	    length_ns >= probe->longest_ns)
		return false;
	return !probe->alone_ns || !has_shown_enough(shares, now_ns);
}

bool fgio_shares_follow_probe(struct fgio_shares *shares, bool free, u64 now_ns)
{
	fgio_shares_forget_only(shares);
	if (!free && !shares->probe.group->foreground) {
		shares->probe.group = NULL;
		return false;
	}
	if (probes_on(shares, now_ns))
		return true;
	end_probe(shares, now_ns);
	return false;
}

void fgio_shares_note_probe(struct fgio_share_probe *probe,
			    const struct fgio_request *request, u32 all,
			    u32 own)
{
	if (all != own)
		return;
	if (probe->most && fgio_share_kind_writes(probe->kind) != request->write)
		probe->mixed = true;
	probe->most = (u32)larger(probe->most, own);
	probe->kind = request->share.kind;
	probe->sectors = request->sectors;
}
