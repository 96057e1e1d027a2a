// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Turns of reads: writes wait while groups that read catch up. */
#include "atomic.h"
#include "number.h"
#include "shares.h"
#include "shares_internal.h"

/* Of those that ask, the group that lags most; NULL: none does. */
static struct fgio_share_group *most_behind(struct fgio_shares *shares,
					    u64 now_ns)
{
	struct fgio_share_group *most = NULL, *group;

	for (u32 i = FGIO_OWED_IN_DRIVE; i <= FGIO_OWED_DEEP; i++) {
		group = fgio_shares_most_behind(shares, i, now_ns);
		if (group && (!most || fgio_before(group->paid, most->paid)))
			most = group;
	}
	return most;
}

/* To its place by start tag, which it may have again by a critical request. */
static void come_back(struct fgio_share_group *group)
{
	struct fgio_shares *shares = group->shares;
	u64 least = shares->virtual -
		    FGIO_SHARES_LEAD_MOST_NS * group->per_weight;

	fgio_list_remove(&group->waiting);
	if (!fgio_share_group_has_queued(group))
		return;
	if (group->ready.in_heap)
		fgio_heap_remove(fgio_share_group_ready_heap(group),
				 &group->ready);
	/* What a wrong cost kept from it is not all due at once. */
	if (fgio_before(group->start, least))
		group->start = least;
	if (shares->only != group)
		fgio_heap_add(fgio_share_group_ready_heap(group), &group->ready,
			      group->start);
}

void fgio_share_group_reads_again(struct fgio_share_group *group)
{
	if (!group->writes)
		come_back(group);
}

static void go_beside(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_reads *reads = &shares->reads;

	reads->alone = false;
	reads->since_ns = now_ns;
	while (!fgio_list_empty(&reads->waiting)) {
		struct fgio_share_group *group =
			fgio_container_of(reads->waiting.next,
					  struct fgio_share_group, waiting);

		come_back(group);
	}
}

/* What went until now is no part of an interval of costs. */
static void restart_interval(struct fgio_shares *shares, u64 now_ns)
{
	shares->reads.idle_ns += shares->cost.idle_ns;
	fgio_share_cost_begin(&shares->cost, now_ns);
}

static void begin_cycle(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_reads *reads = &shares->reads;

	fgio_share_cost_begin_cycle(&shares->cost, reads->has_turns, now_ns);
	reads->cycle_ns = now_ns;
	reads->clean_ns = 0;
	reads->idle_ns = 0;
	reads->turn_cost_ns = 0;
	reads->beside_cost_ns = 0;
}

void fgio_shares_set_turns(struct fgio_shares *shares, bool has_turns,
			   u64 now_ns)
{
	fgio_store(&shares->reads.has_turns, has_turns);
	shares->reads.scale = FGIO_SHARE_SCALE_ONE;
	go_beside(shares, now_ns);
	begin_cycle(shares, now_ns);
	fgio_share_limit_restart(&shares->limit);
}

/*
 * The time of a cycle that its reads took. Several groups that have one I/O at
 * a time read together: they took less than they were charged. Once the drive
 * has done the writes, all of the turn is theirs, whatever they were charged.
 */
static u64 reads_took_ns(const struct fgio_share_reads *reads, u64 now_ns)
{
	u64 clean_ns = reads->clean_ns ? beyond(now_ns, reads->clean_ns) : 0;
	u64 turn_ns = beyond(now_ns, reads->since_ns) - clean_ns;

	return smaller(reads->turn_cost_ns, turn_ns) + clean_ns +
	       reads->beside_cost_ns;
}

/*
 * The end of a turn may be an interval in which reads alone took the drive.
 * What its writes cost is the rest of the cycle.
 */
static void learn(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_reads *reads = &shares->reads;
	struct fgio_share_cost *cost = &shares->cost;
	u64 idle_ns = reads->idle_ns + cost->idle_ns;
	u64 length_ns = beyond(now_ns, reads->cycle_ns);

	if (!fgio_shares_learns(shares))
		return;
	fgio_share_cost_learn_writes(
		cost,
		beyond(length_ns, reads_took_ns(reads, now_ns) + idle_ns),
		now_ns, &reads->scale);
	if (reads->clean_ns && fgio_share_cost_is_due(cost, now_ns))
		fgio_share_cost_learn(cost, now_ns);
}

static void end_cycle(struct fgio_shares *shares, u64 now_ns)
{
	learn(shares, now_ns);
	begin_cycle(shares, now_ns);
	go_beside(shares, now_ns);
	fgio_shares_go_on_with_trial(shares, now_ns);
}

/* Whether groups that read are to have the drive. */
static bool is_turn_of_reads(struct fgio_shares *shares, u64 now_ns)
{
	const struct fgio_share_group *most = most_behind(shares, now_ns);
	u64 lag = fgio_shares_virtual_of(FGIO_SHARES_TURN_LAG_NS,
					 larger(shares->weights, 1));

	if (!most || most->writes || fgio_shares_is_still(shares, now_ns))
		return false;
	return shares->reads.alone || shares->clock - most->paid >= lag;
}

/* @goes_on: as far as the groups go. Return: whether the turn of reads is over. */
static bool follow_turn(struct fgio_shares *shares, bool goes_on,
			u64 passed_ns, u64 now_ns)
{
	struct fgio_share_reads *reads = &shares->reads;

	if (!reads->clean_ns && fgio_shares_has_written(shares, now_ns)) {
		reads->clean_ns = now_ns;
		restart_interval(shares, now_ns);
	}
	if (passed_ns >= FGIO_SHARES_TURN_MOST_NS)
		return true;
	return !goes_on && (passed_ns >= FGIO_SHARES_TURN_LEAST_NS ||
			    !fgio_load(&shares->in_device));
}

static void begin_turn(struct fgio_share_reads *reads, u64 passed_ns,
		       u64 now_ns)
{
	reads->alone = true;
	fgio_store(&reads->beside_ns, passed_ns);
	reads->since_ns = now_ns;
}

void fgio_shares_follow_turns(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_reads *reads = &shares->reads;
	u64 passed_ns = beyond(now_ns, reads->since_ns);
	/* It also ends the asking of groups that count no longer. */
	bool is_turn = is_turn_of_reads(shares, now_ns);

	if (reads->alone) {
		if (follow_turn(shares, is_turn, passed_ns, now_ns))
			end_cycle(shares, now_ns);
	} else if (is_turn && passed_ns >= FGIO_SHARES_TURN_LAG_NS &&
		   !shares->probe.group) {
		begin_turn(reads, passed_ns, now_ns);
	}
}

void fgio_shares_end_turn_of_reads(struct fgio_shares *shares, u64 now_ns)
{
	go_beside(shares, now_ns);
	/* What went meanwhile went by other rules. */
	begin_cycle(shares, now_ns);
}

void fgio_shares_hold_writes(struct fgio_shares *shares)
{
	struct fgio_heap *ready = &shares->ready[false];
	struct fgio_share_group *group;

	while ((group = fgio_shares_first_ready(ready)) && group->writes) {
		fgio_heap_remove(ready, &group->ready);
		if (fgio_list_empty(&group->waiting))
			fgio_list_add_tail(&shares->reads.waiting,
					   &group->waiting);
	}
}

void fgio_shares_note_turn(struct fgio_shares *shares,
			   const struct fgio_request *request, u64 charge_ns)
{
	struct fgio_share_reads *reads = &shares->reads;

	if (request->write)
		return;

	if (reads->alone)
		reads->turn_cost_ns += request->share.group->charge_ns;
	else
		reads->beside_cost_ns += charge_ns;
}
