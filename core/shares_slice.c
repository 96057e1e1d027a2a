// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Slices of a disk that rotates, where a seek for each request would cost more
 * than the request: which group keeps the arm, and for how long.
 *
 * Groups have their slices in rounds, one after the other and always in the same
 * order: as deficit round robin, in start tags. A round has an end; a group whose
 * tag has come to it waits for the next round, and what it had beyond is part of
 * its next slice. Guarantees hold in each second, so a round may take that long,
 * and should take no less, for the sake of seeks.
 */
#include "atomic.h"
#include "number.h"
#include "shares.h"
#include "shares_internal.h"

/*
 * A round longer than a second leaves some second without a slice of some group.
 * One differs from the next by an I/O or two.
 */
#define ROUND_NS 980000000ULL

/*
 * The window is corrected by this part of what a round differs by. One of another
 * kind, as when groups came or went, has no more than a small say, and a pause
 * none.
 */
#define CORRECTION 2
#define DIFFERS_MOST_NS (ROUND_NS / 8)
#define ROUND_MOST_NS (4 * ROUND_NS)

/* Of groups that take turns, each has one in this time. */
#define ORDER_KEPT_NS (2 * ROUND_NS)
/* Writers have slices this long after the last read. */
#define READS_KEPT_NS 3000000000ULL

#define WINDOW_FIRST_NS 900000000ULL
#define WINDOW_LEAST_NS 100000000ULL
#define WINDOW_MOST_NS 1000000000ULL

void fgio_shares_slice_init(struct fgio_share_slice *slice)
{
	*slice = (struct fgio_share_slice){ .window_ns = WINDOW_FIRST_NS };
}

static void set_start(struct fgio_share_group *group, u64 start)
{
	group->start = start;
	if (group->ready.in_heap)
		fgio_heap_change(fgio_share_group_ready_heap(group),
				 &group->ready, start);
}

/* A round takes its window, seeks, and what is critical meanwhile. */
static void learn_window(struct fgio_share_slice *slice, u64 round_ns)
{
	u64 longer_ns = smaller(beyond(round_ns, ROUND_NS), DIFFERS_MOST_NS);
	u64 shorter_ns = smaller(beyond(ROUND_NS, round_ns), DIFFERS_MOST_NS);
	u64 window_ns = slice->window_ns + shorter_ns / CORRECTION;

	window_ns = beyond(window_ns, longer_ns / CORRECTION);
	slice->window_ns = larger(smaller(window_ns, WINDOW_MOST_NS),
				  WINDOW_LEAST_NS);
}

/* The virtual time of a slice, by the groups that ask now. */
static u64 width_of_round(const struct fgio_shares *shares)
{
	return fgio_shares_virtual_of(shares->slice.window_ns,
				      larger(shares->weights, 1));
}

/*
 * Whether the group has not come to the end of the round. By distance: the round
 * may be an old one, and virtual time have gone half around since. A tag that was
 * charged back may be before the round's begin, by no more than a width.
 */
static bool is_in_round(const struct fgio_share_slice *slice,
			const struct fgio_share_group *group)
{
	return slice->end - group->start - 1 < 2 * slice->width;
}

/* From the tag of the group that is the first. */
static void begin_round(struct fgio_shares *shares, u64 start, u64 now_ns)
{
	struct fgio_share_slice *slice = &shares->slice;

	if (now_ns < slice->begin_ns + ROUND_MOST_NS)
		learn_window(slice, beyond(now_ns, slice->begin_ns));
	slice->begin_ns = now_ns;
	slice->ended = 0;
	slice->width = width_of_round(shares);
	slice->end = start + slice->width;
}

static void begin_slice(struct fgio_shares *shares,
			struct fgio_share_group *group, u64 now_ns)
{
	shares->slice.group = group;
	shares->slice.is_over = false;
	if (!is_in_round(&shares->slice, group))
		begin_round(shares, group->start, now_ns);
	set_start(group, group->start + group->excess);
	group->excess = 0;
}

/* By its tag, it comes behind those whose slices ended before. */
static void end_slice(struct fgio_shares *shares,
		      struct fgio_share_group *group)
{
	struct fgio_share_slice *slice = &shares->slice;
	u64 most = FGIO_SHARES_CHARGE_MOST_NS * group->per_weight;
	u64 start = slice->end + slice->ended++;

	slice->is_over = true;
	group->excess = fgio_before(start, group->start) ?
				smaller(group->start - start, most) :
				0;
	set_start(group, start);
}

void fgio_share_group_join_round(struct fgio_share_group *group)
{
	const struct fgio_shares *shares = group->shares;
	u64 start = shares->slice.end - width_of_round(shares);

	if (fgio_shares_takes_slices(shares) &&
	    is_in_round(&shares->slice, group) &&
	    fgio_before(group->start, start))
		set_start(group, start);
}

void fgio_shares_slice_sent(struct fgio_shares *shares,
			    struct fgio_request *request)
{
	struct fgio_share_slice *slice = &shares->slice;

	request->share.first = false;
	if (!request->write)
		slice->read_ns = shares->clock_ns;
	if (request->class == FGIO_CRITICAL) {
		slice->critical = request->share.group;
		return;
	}
	request->share.first = slice->went != request->share.group &&
			       fgio_shares_takes_slices(shares);
	slice->went = request->share.group;
}

/* Random I/O is served best all together where none goes in order. */
bool fgio_shares_takes_slices(const struct fgio_shares *shares)
{
	return shares->rotates && shares->slice.sequential_ns &&
	       shares->clock_ns < shares->slice.sequential_ns + ORDER_KEPT_NS;
}

/*
 * Whether there are reads as well. Else the disk puts writes in order itself, from
 * its cache.
 */
static bool are_beside_reads(const struct fgio_share_slice *slice, u64 now_ns)
{
	return slice->read_ns && now_ns < slice->read_ns + READS_KEPT_NS;
}

bool fgio_shares_has_slice(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_slice *slice = &shares->slice;
	struct fgio_share_group *group = slice->went;

	if (!group || !group->asks)
		return false;
	if (group->sequential && (!group->writes || are_beside_reads(slice, now_ns)))
		slice->sequential_ns = now_ns;
	if (!fgio_shares_takes_slices(shares) ||
	    fgio_shares_is_still(shares, now_ns) ||
	    fgio_heap_first(&shares->ready[true]) ||
	    !fgio_share_group_still_asks(group, now_ns))
		return false;
	if (slice->group != group)
		begin_slice(shares, group, now_ns);
	/* Until another one goes. */
	if (slice->is_over)
		return false;
	fgio_share_group_settle_up_disk(group);
	if (!is_in_round(slice, group)) {
		end_slice(shares, group);
		return false;
	}
	if (!fgio_share_group_is_busy(group))
		shares->retry_ns = larger(now_ns + 1,
					  fgio_share_group_awaited_until_ns(group));
	return true;
}
