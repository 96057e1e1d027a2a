// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "number.h"
#include "queue_internal.h"
#include "shares.h"

/* How many times a group's weight all weights are, in 1 / PART_ONE. */
#define PART_ONE 16
#define PART_MOST (4096 * PART_ONE)
/* Parts by which a pause changes the usual one. */
#define PAUSE_SHORTER 8
#define PAUSE_LONGER 64

/* Places in struct fgio_shares.owed. */
enum {
	IN_DRIVE, /* none of its requests is queued */
	QUEUED,
	DEEP,
};

/* Virtual time of @ns of drive time, 30 s at most, for groups of @weight. */
static u64 virtual_of(u64 ns, u64 weight)
{
	return (ns << FGIO_SHARES_VIRTUAL_SHIFT) / weight;
}

void fgio_share_group_init(struct fgio_share_group *group, u32 weight)
{
	*group = (struct fgio_share_group){
		.weight = weight,
		.per_weight = virtual_of(1, weight),
	};
	fgio_list_init(&group->asking);
	fgio_list_init(&group->backlogged);
	fgio_order_init(&group->order[FGIO_NONCRITICAL]);
	fgio_order_init(&group->order[FGIO_CRITICAL]);
}

void fgio_shares_init(struct fgio_shares *shares, bool rotates)
{
	*shares = (struct fgio_shares){ .rotates = rotates };
	fgio_list_init(&shares->backlogged);
	fgio_share_cost_init(&shares->cost);
	fgio_share_limit_init(&shares->limit, rotates);
	fgio_share_group_init(&shares->rest,
			      fgio_shares_weight(FGIO_SHARES_WEIGHT_DEFAULT));
}

static bool has_queued(const struct fgio_share_group *group)
{
	return group->queued[FGIO_NONCRITICAL] || group->queued[FGIO_CRITICAL];
}

/* ---- the clock of entitlements, and the groups that ask ---- */

static inline void advance(struct fgio_shares *shares, u64 now_ns)
{
	u64 passed_ns = now_ns - shares->clock_ns;
	u64 margin_ns = passed_ns / FGIO_SHARES_MARGIN_SHARE;

	if (now_ns <= shares->clock_ns)
		return;
	shares->clock_ns = now_ns;
	if (!shares->weights)
		return;
	if (now_ns < shares->strained_until_ns)
		passed_ns -= margin_ns;
	else
		passed_ns += margin_ns;
	shares->clock += virtual_of(smaller(passed_ns, FGIO_SHARES_STILL_NS),
				    shares->weights);
}

static u32 all_queued(const struct fgio_share_group *group)
{
	return group->queued[FGIO_NONCRITICAL] + group->queued[FGIO_CRITICAL];
}

static bool is_deep(const struct fgio_share_group *group)
{
	return all_queued(group) > FGIO_SHARES_DEEP;
}

static struct fgio_heap *owed_heap(const struct fgio_share_group *group)
{
	return &group->shares->owed[is_deep(group)    ? DEEP :
				    has_queued(group) ? QUEUED :
							IN_DRIVE];
}

static u64 lag_most_ns(const struct fgio_share_group *group)
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

static inline bool asks(const struct fgio_share_group *group)
{
	return group->owed.in_heap || group->shares->only == group;
}

static bool lags(const struct fgio_share_group *group)
{
	return group->shares && asks(group) &&
	       fgio_before(group->paid, group->shares->clock);
}

u64 fgio_shares_lag_ns(const struct fgio_share_group *group)
{
	const struct fgio_shares *shares = group->shares;

	if (!lags(group))
		return 0;
	return (shares->clock - group->paid) / group->per_weight;
}

/* Virtual time that lag_most_ns() is never less than. */
static inline u64 lag_at_least(const struct fgio_share_group *group)
{
	return 2 * smaller(group->charge_ns, FGIO_SHARES_LAG_MOST_NS / 2) *
	       group->per_weight;
}

/* What it lags by beyond the most is forgotten. It lags, mostly by little. */
static FGIO_SELDOM void bound_lag(struct fgio_share_group *group)
{
	u64 most;

	if (!fgio_before(group->paid,
			 group->shares->clock - lag_at_least(group)))
		return;
	most = lag_most_ns(group) * group->per_weight;
	if (!is_deep(group))
		most *= FGIO_SHARES_LAG_MEMORY;
	if (fgio_before(group->paid, group->shares->clock - most))
		group->paid = group->shares->clock - most;
}

/*
 * A tag this far ahead was last looked at before virtual time went around, or
 * its group went while others were held back for long: it is forgotten.
 */
static bool is_too_far(const struct fgio_share_group *group, u64 tag,
		       u64 than)
{
	return fgio_before(than + 2 * FGIO_SHARES_CHARGE_MOST_NS *
					  group->per_weight, tag);
}

/* What it lagged by is still due to it after a short time without asking. */
static u64 lag_kept(const struct fgio_share_group *group)
{
	u64 since_ns = fgio_load(&group->idle_since_ns);

	return group->shares->clock_ns < since_ns + FGIO_SHARES_LAG_KEPT_NS ?
		       group->lagged :
		       0;
}

/* It enters its heap afterwards. */
static void begin_asking(struct fgio_share_group *group)
{
	struct fgio_shares *shares = group->shares;

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

/* It is not busy. */
static FGIO_SELDOM void end_asking(struct fgio_share_group *group)
{
	struct fgio_shares *shares = group->shares;

	group->lagged = fgio_before(group->paid, shares->clock) ?
				shares->clock - group->paid :
				0;
	fgio_heap_remove(&shares->owed[IN_DRIVE], &group->owed);
	if (shares->asking == &group->asking)
		shares->asking = fgio_list_empty(&group->asking) ?
					 NULL : group->asking.next;
	fgio_list_remove(&group->asking);
	shares->weights -= group->weight;
}

/*
 * How long it counts as asking after its last completion. A group that usually
 * pauses for longer than an I/O takes is not waited for, nor one that has been
 * waited for half as long as its I/Os took. Foreground goes first as it comes:
 * to wait for it takes what others have.
 */
static u64 patience_ns(const struct fgio_share_group *group)
{
	if (group->foreground || group->pause_ns > group->charge_ns)
		return FGIO_SHARES_PAUSE_LEAST_NS;
	return larger(smaller(group->patience_ns, FGIO_SHARES_PATIENCE_NS),
		      FGIO_SHARES_PAUSE_LEAST_NS);
}

static bool is_waited_for(const struct fgio_share_group *group, u64 now_ns)
{
	return now_ns < fgio_load(&group->idle_since_ns) + patience_ns(group);
}

static inline bool still_asks(const struct fgio_share_group *group, u64 now_ns)
{
	return fgio_share_group_is_busy(group) || is_waited_for(group, now_ns);
}

/* Looks at the next one. Return: whether there is another. */
static inline bool look_at_next(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_list *next = shares->asking;
	struct fgio_share_group *group =
		fgio_container_of(next, struct fgio_share_group, asking);

	if (!still_asks(group, now_ns)) {
		end_asking(group);
		return shares->asking;
	}
	shares->asking = next->next;
	return next->next != next;
}

static inline void look_for_idle(struct fgio_shares *shares, u64 now_ns)
{
	if (shares->asking && look_at_next(shares, now_ns))
		look_at_next(shares, now_ns);
}

/*
 * A usual pause counts for no entitlement. What is longer, for want of a
 * processor, does while the group asks, up to half of the time that its I/Os
 * took: others may wait for it meanwhile. In its heap, the group has its new place
 * once the request is added: it has no other queued.
 */
static inline void end_pause(struct fgio_share_group *group, u64 now_ns)
{
	u64 since_ns, pause_ns, longer_ns;

	if (fgio_share_group_is_busy(group))
		return;
	since_ns = fgio_load(&group->idle_since_ns);
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
	if (asks(group))
		group->paid += virtual_of(pause_ns - longer_ns,
					  group->shares->weights);
}

void fgio_share_group_set_weight(struct fgio_share_group *group, u32 weight)
{
	struct fgio_shares *shares = group->shares;

	if (shares)
		fgio_shares_end_run(shares);
	if (shares && asks(group)) {
		shares->weights += weight;
		shares->weights -= group->weight;
	}
	group->weight = weight;
	group->per_weight = virtual_of(1, weight);
}

void fgio_share_group_remove(struct fgio_share_group *group)
{
	struct fgio_shares *shares = group->shares;

	if (!shares)
		return;
	fgio_shares_end_run(shares);
	if (group->owed.in_heap)
		end_asking(group);
	if (shares->last == group)
		shares->last = NULL;
	if (shares->probe.group == group)
		shares->probe.group = NULL;
	group->shares = NULL;
}

/* ---- queued requests ---- */

/* The heap of start tags that it belongs to. */
static struct fgio_heap *ready_heap(const struct fgio_share_group *group)
{
	return &group->shares->ready[!!group->queued[FGIO_CRITICAL]];
}

static void leave_heaps(struct fgio_share_group *group)
{
	if (group->ready.in_heap)
		fgio_heap_remove(ready_heap(group), &group->ready);
	fgio_heap_remove(owed_heap(group), &group->owed);
}

static void enter_heaps(struct fgio_share_group *group)
{
	if (has_queued(group))
		fgio_heap_add(ready_heap(group), &group->ready, group->start);
	fgio_heap_add(owed_heap(group), &group->owed, group->paid);
}

static void begin_backlog(struct fgio_share_group *group)
{
	struct fgio_shares *shares = group->shares;

	if (fgio_before(group->start, shares->virtual) ||
	    is_too_far(group, group->start, shares->virtual))
		group->start = shares->virtual;
}

/*
 * Whether a group stays in its heaps, where it has a place as long as it has
 * queued requests, as one of a class comes or goes. @without: those of that
 * class but for it; @all: of both.
 */
static bool stays(u32 without, u32 all)
{
	return without && all != FGIO_SHARES_DEEP;
}

/* The group has one request queued, and no places for it yet. */
static void enter_queued(struct fgio_share_group *group)
{
	struct fgio_shares *shares = group->shares;

	fgio_list_add_tail(&shares->backlogged, &group->backlogged);
	if (group->owed.in_heap)
		fgio_heap_remove(&shares->owed[IN_DRIVE], &group->owed);
	fgio_heap_add(ready_heap(group), &group->ready, group->start);
	fgio_heap_add(&shares->owed[QUEUED], &group->owed, group->paid);
}

/* No longer the only request: its group gets its places. */
static FGIO_SELDOM void place_only(struct fgio_shares *shares)
{
	struct fgio_share_group *group = shares->only;

	shares->only = NULL;
	enter_queued(group);
}

static inline void forget_only(struct fgio_shares *shares)
{
	if (shares->only)
		place_only(shares);
}

/*
 * The group's first one. If it is the only one of all, it most often goes at
 * once, and its group's places would be left as they are entered.
 */
static void add_first(struct fgio_share_group *group, u8 class)
{
	struct fgio_shares *shares = group->shares;
	bool only = fgio_list_empty(&shares->backlogged) && !shares->rotates;

	if (!group->owed.in_heap)
		begin_asking(group);
	fgio_store(&group->queued[class], 1);
	begin_backlog(group);
	if (only)
		shares->only = group;
	else
		enter_queued(group);
}

static FGIO_SELDOM void add_beside(struct fgio_share_group *group, u8 class)
{
	leave_heaps(group);
	fgio_store(&group->queued[class], group->queued[class] + 1);
	enter_heaps(group);
}

static inline void count_added(struct fgio_share_group *group, u8 class)
{
	u32 *queued = &group->queued[class];
	u32 all = all_queued(group);

	fgio_shares_end_run(group->shares);
	forget_only(group->shares);
	if (stays(*queued, all))
		fgio_store(queued, *queued + 1);
	else if (!all)
		add_first(group, class);
	else
		add_beside(group, class);
}

void fgio_shares_added(struct fgio_request *request)
{
	count_added(request->share.group, request->class);
}

/* Its first request since it was made, or removed. */
static FGIO_SELDOM void enrol(struct fgio_shares *shares,
			      struct fgio_share_group *group)
{
	group->start = shares->virtual;
	group->paid = shares->clock;
	group->shares = shares;
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
	if (group->shares != shares)
		enrol(shares, group);
	stamp_joined(shares, request, group, now_ns);
	/* The clock runs by the weights of those that asked until now. */
	if (!asks(group))
		advance(shares, now_ns);
	end_pause(group, now_ns);
	count_added(group, request->class);
}

/* Whether the group has others queued, and they keep their places. */
static inline bool joins_others(const struct fgio_shares *shares,
				const struct fgio_request *request,
				const struct fgio_share_group *group)
{
	u32 queued = group->queued[request->class];

	return queued && group->shares == shares && !shares->only &&
	       stays(queued, all_queued(group));
}

void fgio_shares_join(struct fgio_shares *shares, struct fgio_request *request,
		      struct fgio_share_group *group, u64 now_ns)
{
	group = group ?: &shares->rest;
	if (!joins_others(shares, request, group)) {
		join(shares, request, group, now_ns);
		return;
	}
	fgio_shares_end_run(shares);
	stamp_joined(shares, request, group, now_ns);
	fgio_store(&group->queued[request->class],
		   group->queued[request->class] + 1);
}

/* It was the only one queued. The group is among those that ask no longer. */
static void take_only(struct fgio_share_group *group, u8 class)
{
	struct fgio_shares *shares = group->shares;

	fgio_heap_remove(&shares->ready[class == FGIO_CRITICAL],
			 &group->ready);
	fgio_heap_remove(&shares->owed[QUEUED], &group->owed);
	fgio_store(&group->queued[class], 0);
	fgio_list_remove(&group->backlogged);
}

static void enter_in_drive(struct fgio_share_group *group)
{
	fgio_heap_add(&group->shares->owed[IN_DRIVE], &group->owed,
		      group->paid);
}

/* The same of shares.only, which may be there. */
static void take_at_once(struct fgio_share_group *group, u8 class)
{
	group->shares->only = NULL;
	fgio_store(&group->queued[class], 0);
}

static void place_in_drive(struct fgio_share_group *group)
{
	if (group->owed.in_heap)
		fgio_heap_change(&group->shares->owed[IN_DRIVE], &group->owed,
				 group->paid);
	else
		enter_in_drive(group);
}

static FGIO_SELDOM void take_beside(struct fgio_share_group *group, u8 class)
{
	leave_heaps(group);
	fgio_store(&group->queued[class], group->queued[class] - 1);
	enter_heaps(group);
}

void fgio_shares_taken(struct fgio_request *request)
{
	struct fgio_share_group *group = request->share.group;
	u32 *queued = &group->queued[request->class];
	u32 all = all_queued(group);

	fgio_shares_end_run(group->shares);
	forget_only(group->shares);
	if (stays(*queued - 1, all - 1)) {
		fgio_store(queued, *queued - 1);
	} else if (all == 1) {
		take_only(group, request->class);
		enter_in_drive(group);
	} else {
		take_beside(group, request->class);
	}
}

struct fgio_share_group *
fgio_shares_backlogged_after(const struct fgio_shares *shares,
			     const struct fgio_share_group *group)
{
	const struct fgio_list *at =
		group ? &group->backlogged : &shares->backlogged;

	if (shares->only)
		return group ? NULL : shares->only;
	return at->next == &shares->backlogged ?
		       NULL :
		       fgio_container_of(at->next, struct fgio_share_group,
					 backlogged);
}

/* Whether one group alone has queued requests; some group has. */
static inline bool is_backlog_of_one(const struct fgio_shares *shares)
{
	return shares->backlogged.next->next == &shares->backlogged;
}

/* ---- whose turn it is ---- */

/*
 * The longest that a group goes before its turn is a probe. A tag that is further
 * ahead was charged by a cost that was wrong, as that of the first I/Os, and the
 * group would wait until the others had as much.
 */
#define LEAD_MOST_NS (FGIO_SHARES_PROBE_MOST_NS + FGIO_SHARES_WRITTEN_NS)

/* Its start tag. */
static inline void charge_in_order(struct fgio_share_group *group, u64 charge,
				   bool rotates)
{
	u64 most = group->shares->virtual + LEAD_MOST_NS * group->per_weight;

	if (!rotates && fgio_before(most, group->start))
		group->start = most;
	group->start += charge;
}

/* Its entitlement, which it is ahead of. */
static inline void charge_ahead(struct fgio_share_group *group, u64 charge)
{
	u64 most = group->shares->clock +
		   FGIO_SHARES_AHEAD_NS * group->per_weight;

	if (fgio_before(most, group->paid))
		group->paid = most;
	group->paid += charge;
}

static inline bool is_behind(const struct fgio_share_group *group)
{
	return fgio_before(group->paid, group->shares->clock);
}

static inline void charge_owed(struct fgio_share_group *group, u64 charge)
{
	if (!is_behind(group)) {
		charge_ahead(group, charge);
		return;
	}
	bound_lag(group);
	group->paid += charge;
}

/* What an I/O of @charge_ns uses up of its entitlement. */
static inline u64 entitlement_of(const struct fgio_share_group *group,
				 u64 charge_ns, bool rotates)
{
	u64 alone_ns = fgio_load(&group->alone_ns);

	if (rotates || alone_ns <= charge_ns)
		return charge_ns;
	return smaller(alone_ns, FGIO_SHARES_CHARGE_MOST_NS);
}

/* Its tags; it may be in no heap. */
static inline void charge(struct fgio_share_group *group, u64 charge_ns)
{
	bool rotates = group->shares->rotates;

	charge_in_order(group, charge_ns * group->per_weight, rotates);
	group->charge_ns = entitlement_of(group, charge_ns, rotates);
	charge_owed(group, group->charge_ns * group->per_weight);
	group->counters.charged_ns += charge_ns;
}

/* Its tags changed. */
static void change_places(struct fgio_share_group *group)
{
	fgio_shares_end_run(group->shares);
	forget_only(group->shares);
	if (group->ready.in_heap)
		fgio_heap_change(ready_heap(group), &group->ready,
				 group->start);
	if (group->owed.in_heap)
		fgio_heap_change(owed_heap(group), &group->owed, group->paid);
}

static void pay(struct fgio_share_group *group, u64 charge_ns)
{
	charge(group, charge_ns);
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
	if (fgio_before(group->paid, shares->clock))
		bound_lag(group);
	group->counters.charged_ns -= charge_ns;
	change_places(group);
}

/* Return: whether that was anything. */
static bool settle_up_disk(struct fgio_share_group *group)
{
	s64 owes_ns;

	if (!group || !fgio_load(&group->owes_ns))
		return false;
	owes_ns = fgio_exchange(&group->owes_ns, 0);
	if (owes_ns > 0)
		pay(group, smaller((u64)owes_ns, FGIO_SHARES_CHARGE_MOST_NS));
	else
		refund(group, smaller((u64)-owes_ns,
				      FGIO_SHARES_CHARGE_MOST_NS));
	return true;
}

/* Charges what a disk took for the group. Return: whether that was anything. */
static inline bool settle_up(const struct fgio_shares *shares,
			     struct fgio_share_group *group)
{
	return shares->rotates && settle_up_disk(group);
}

static struct fgio_share_group *group_ready(const struct fgio_heap *heap)
{
	struct fgio_heap_node *node = fgio_heap_first(heap);

	return node ? fgio_container_of(node, struct fgio_share_group, ready) :
		      NULL;
}

static struct fgio_share_group *group_owed(const struct fgio_heap *heap)
{
	struct fgio_heap_node *node = fgio_heap_first(heap);

	return node ? fgio_container_of(node, struct fgio_share_group, owed) :
		      NULL;
}

/* The group with the least start tag. */
static struct fgio_share_group *least(const struct fgio_shares *shares)
{
	struct fgio_share_group *one = group_ready(&shares->ready[false]);
	struct fgio_share_group *other = group_ready(&shares->ready[true]);

	if (!one || !other)
		return one ?: other;
	return fgio_before(one->start, other->start) ? one : other;
}

/* Whether it is at most @window_ns of the whole drive's time ahead of @first. */
static bool is_near(const struct fgio_share_group *group,
		    const struct fgio_share_group *first, u64 window_ns)
{
	u64 window = virtual_of(window_ns, group->shares->weights);

	return !fgio_before(first->start + window, group->start);
}

/* Each in parts of the most that it may lag by. */
static bool lags_more(const struct fgio_share_group *group,
		      const struct fgio_share_group *than)
{
	if (!lags(group) || !lags(than))
		return lags(group);
	return fgio_shares_lag_ns(group) * lag_most_ns(than) >
	       fgio_shares_lag_ns(than) * lag_most_ns(group);
}

/*
 * Whether its foreground lags by more than is remembered: a deep group, which it
 * is by its background, has no memory.
 */
static bool forgets_lag(const struct fgio_share_group *group)
{
	return group->queued[FGIO_CRITICAL] &&
	       fgio_shares_lag_ns(group) >= lag_most_ns(group);
}

bool fgio_shares_awaits_turn(const struct fgio_request *request)
{
	const struct fgio_share_group *group = request->share.group;
	u32 all = fgio_load(&group->shares->sent) - request->share.sent_before;
	u32 own = (u32)group->counters.dispatched - request->share.own_before;

	return all - own > own;
}

/* On a disk. */
static FGIO_SELDOM struct fgio_share_group *
settle_least(struct fgio_shares *shares)
{
	struct fgio_share_group *first = least(shares);

	/* Each time is paid for by a completion. */
	while (settle_up(shares, first))
		first = least(shares);
	return first;
}

/* The group with the least start tag, which owes nothing. */
static inline struct fgio_share_group *
settled_least(struct fgio_shares *shares)
{
	if (shares->rotates)
		return settle_least(shares);
	if (fgio_heap_first(&shares->ready[true]))
		return least(shares);
	return group_ready(&shares->ready[false]);
}

/*
 * Whether it goes instead of @first: order does not tell how long others keep
 * its I/Os in the drive. Where all lag alike, the clock is too fast, and order
 * decides.
 */
static FGIO_SELDOM bool goes_first(const struct fgio_share_group *group,
				   const struct fgio_share_group *first)
{
	return lags_more(group, first) && !forgets_lag(first);
}

/* Virtual time is that of @first, which has the least start tag. */
static inline struct fgio_share_group *
first_in_order(struct fgio_shares *shares, struct fgio_share_group *first)
{
	if (fgio_before(shares->virtual, first->start))
		shares->virtual = first->start;
	return first;
}

static inline struct fgio_share_group *in_order(struct fgio_shares *shares)
{
	struct fgio_share_group *first = settled_least(shares);
	struct fgio_share_group *critical, *group;

	first_in_order(shares, first);
	group = group_owed(&shares->owed[QUEUED]);
	if (group && group != first &&
	    fgio_before(group->paid, shares->clock) &&
	    goes_first(group, first))
		return group;
	critical = group_ready(&shares->ready[true]);
	if (critical && critical != first &&
	    is_near(critical, first, FGIO_SHARES_CRITICAL_NS))
		return critical;
	return first;
}

/* The group that lags most of those whose requests are all in the drive. */
static FGIO_SELDOM struct fgio_share_group *suffers(struct fgio_shares *shares,
						     u64 now_ns)
{
	struct fgio_share_group *group;

	while ((group = group_owed(&shares->owed[IN_DRIVE]))) {
		if (!lags(group) || !fgio_shares_lag_ns(group))
			return NULL;
		if (still_asks(group, now_ns))
			return group;
		end_asking(group);
	}
	return NULL;
}

/* Requests of others that may be in the drive beside @group, which lags. */
static u32 beside(const struct fgio_shares *shares,
		  const struct fgio_share_group *group)
{
	u64 most_ns = lag_most_ns(group);
	u64 left_ns = beyond(most_ns, fgio_shares_lag_ns(group));

	return (u32)(shares->limit.limit * left_ns / most_ns);
}

static bool has_foreground(const struct fgio_share_group *group,
			   u64 foreground_since_ns)
{
	return group->critical_ns > foreground_since_ns;
}

/* What a group that asks is due of the drive in @ns. */
static u64 due_of(const struct fgio_share_group *group, u64 ns)
{
	u64 weights = larger(group->shares->weights, group->weight);

	return ns * group->weight / weights;
}

/* By how much drive time its critical I/Os took more than its part by now. */
static u64 beyond_by(const struct fgio_share_group *group, u64 now_ns)
{
	u64 passed_ns = smaller(beyond(now_ns, group->beyond_at_ns),
				FGIO_SHARES_STILL_NS);

	return beyond(group->beyond_ns, due_of(group, passed_ns));
}

/*
 * A critical I/O of it takes @charge_ns. A pause earns nothing, and a long
 * excess costs no more than a short one.
 */
static FGIO_SELDOM void note_beyond(struct fgio_share_group *group,
				    u64 charge_ns, u64 now_ns)
{
	u64 most_ns = due_of(group, FGIO_SHARES_BEYOND_NS) + charge_ns;

	group->beyond_ns = smaller(beyond_by(group, now_ns) + charge_ns,
				   most_ns);
	group->beyond_at_ns = now_ns;
}

/* A critical I/O that was @from's is charged to @to. */
static void move_beyond(struct fgio_share_group *from,
			struct fgio_share_group *to, u64 charge_ns, u64 now_ns)
{
	from->beyond_ns = beyond(from->beyond_ns, charge_ns);
	note_beyond(to, charge_ns, now_ns);
}

/*
 * Whether the critical request that would go instead of @group's is beyond the
 * guarantee of its group.
 */
static bool competes_with_excess(const struct fgio_share_group *group)
{
	const struct fgio_shares *shares = group->shares;
	const struct fgio_share_group *other =
		group_ready(&shares->ready[true]);

	return other && !group->queued[FGIO_CRITICAL] &&
	       beyond_by(other, shares->clock_ns) >
		       due_of(other, FGIO_SHARES_BEYOND_NS);
}

bool fgio_shares_insists(const struct fgio_share_group *group,
			 u64 foreground_since_ns)
{
	const struct fgio_shares *shares = group->shares;
	u32 all = shares->limit.limit;

	if (!lags(group) || (has_foreground(group, foreground_since_ns) &&
			     !competes_with_excess(group)))
		return false;
	return fgio_load(&shares->in_device) <=
	       beyond(all, beside(shares, group));
}

bool fgio_shares_lends(const struct fgio_share_group *group,
		       u64 foreground_since_ns)
{
	const struct fgio_shares *shares = group->shares;

	return !has_foreground(group, foreground_since_ns) &&
	       fgio_load(&shares->in_device) < shares->lent / FGIO_SHARES_LEND;
}

/* From what completions counted. */
static FGIO_SELDOM void learn_lent(struct fgio_shares *shares, u64 now_ns)
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

/* The device may keep requests for any time. */
static bool is_still(const struct fgio_shares *shares, u64 now_ns)
{
	return now_ns >= fgio_load(&shares->moved_ns) + FGIO_SHARES_STILL_NS;
}

/* Whether others leave room to the group that suffers. */
static bool is_spared(struct fgio_shares *shares,
		      struct fgio_share_group *sufferer, u64 now_ns)
{
	u32 own, all;

	if (!sufferer)
		return true;
	own = fgio_load(&sufferer->in_device);
	all = fgio_load(&shares->in_device);
	if (beyond(all, own) < beside(shares, sufferer))
		return true;
	sufferer->counters.held++;
	/* If it has none there, there may be no completion to wait for. */
	if (!own)
		shares->retry_ns = larger(
			now_ns + 1, fgio_load(&sufferer->idle_since_ns) +
					    patience_ns(sufferer));
	return false;
}

struct fgio_share_group *
fgio_shares_turn_of_critical(struct fgio_shares *shares)
{
	return group_ready(&shares->ready[true]);
}

/* Of those with queued requests, the one that lags most. */
static struct fgio_share_group *queued_lagging(struct fgio_shares *shares)
{
	struct fgio_share_group *one = group_owed(&shares->owed[QUEUED]);
	struct fgio_share_group *other = group_owed(&shares->owed[DEEP]);

	if (!one || !other)
		return one ?: other;
	return lags_more(other, one) ? other : one;
}

struct fgio_share_group *
fgio_shares_turn_of_lagging(struct fgio_shares *shares)
{
	struct fgio_share_group *group = queued_lagging(shares);

	return group && fgio_shares_lag_ns(group) ? group : NULL;
}

/* An interval ends. */
static FGIO_SELDOM void learn_costs(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_cost *cost = &shares->cost;
	bool changed = false;

	if (fgio_share_limit_holds(&shares->limit) || cost->slack)
		changed = fgio_share_cost_learn(cost, now_ns);
	/* Those are the scale of a comparison. */
	if (changed)
		fgio_share_limit_restart(&shares->limit);
	fgio_share_limit_learn(&shares->limit, cost->sum_ns,
			       beyond(now_ns, cost->begin_ns), !cost->slack);
	fgio_share_cost_begin(cost, now_ns);
}

/* Whether the drive may still be busy with what others wrote. */
static bool others_wrote(const struct fgio_share_group *group, u64 now_ns)
{
	const struct fgio_shares *shares = group->shares;
	const struct fgio_share_group *wrote = fgio_load(&shares->wrote);

	return !shares->rotates && !group->writes && wrote && wrote != group &&
	       now_ns < fgio_load(&shares->wrote_ns) + FGIO_SHARES_WRITTEN_NS;
}

/*
 * Whether a sequential group keeps the arm of a disk: it has requests, or will
 * at once, and is not too far ahead.
 */
static FGIO_SELDOM bool has_slice(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_group *group = shares->last;

	if (!group || !group->sequential ||
	    !group->owed.in_heap || is_still(shares, now_ns) ||
	    fgio_heap_first(&shares->ready[true]) ||
	    !still_asks(group, now_ns))
		return false;
	settle_up(shares, group);
	if (!is_near(group, least(shares), FGIO_SHARES_SLICE_NS))
		return false;
	if (!fgio_share_group_is_busy(group))
		shares->retry_ns =
			larger(now_ns + 1, fgio_load(&group->idle_since_ns) +
						   patience_ns(group));
	return true;
}

/* ---- probes: what an I/O of a group takes of a drive that it has alone ---- */

static u64 completed_by(const struct fgio_share_group *group)
{
	return group->counters.dispatched - fgio_load(&group->in_device);
}

static u64 probe_most_ns(const struct fgio_shares *shares)
{
	return FGIO_SHARES_PROBE_MOST_NS *
	       (shares->rotates ? FGIO_SHARES_PROBE_DISK : 1);
}

/* Whether it takes little of what the group gets. */
static bool is_worth_a_probe(const struct fgio_share_group *group)
{
	u32 has = fgio_load(&group->in_device) + group->queued[0] +
		  group->queued[1];
	u64 ios = has > 1 ? FGIO_SHARES_PROBE_IOS : FGIO_SHARES_PROBE_IOS_ONE;
	bool deep = has > FGIO_SHARES_PROBE_IOS_ONE;
	u64 takes_ns, share_ns;

	/*
	 * Order serves those that always have requests. They need it less, and
	 * only to tell costs apart, which a probe of writes does not show.
	 */
	if (deep && (group->writes || group->shares->cost.uniform))
		return false;
	if (!group->charge_ns)
		return false;
	/* It would end before the group's next I/O. */
	if (has <= 1 && group->pause_ns > patience_ns(group))
		return false;
	takes_ns = smaller(ios * group->charge_ns,
			   probe_most_ns(group->shares));
	share_ns = FGIO_SHARES_PROBE_SHARE_NS * group->weight /
		   group->shares->weights;
	if (deep)
		share_ns /= FGIO_SHARES_PROBE_DEEP;
	return takes_ns <= share_ns;
}

/* Whether one may begin: it is time, and more than one group asks. */
static inline bool may_begin_probe(const struct fgio_shares *shares,
				   u64 now_ns)
{
	return now_ns >= shares->probe.next_ns && shares->asking &&
	       !fgio_list_empty(shares->asking);
}

static FGIO_SELDOM bool begin_probe(struct fgio_shares *shares,
				    struct fgio_share_group *group, bool free,
				    u64 now_ns)
{
	if ((!free && !group->foreground) || !is_worth_a_probe(group))
		return false;
	shares->probe = (struct fgio_share_probe){
		.group = group,
		.begin_ns = now_ns,
	};
	return true;
}

/* The next group that asks has its turn to be probed. Return: whether it is. */
static inline bool try_probe(struct fgio_shares *shares, bool free, u64 now_ns)
{
	struct fgio_share_group *group = fgio_container_of(
		shares->asking, struct fgio_share_group, asking);

	shares->asking = shares->asking->next;
	if (!has_queued(group) ||
	    (group->probed_ns &&
	     now_ns < group->probed_ns + FGIO_SHARES_PROBE_AGAIN_NS))
		return false;
	return begin_probe(shares, group, free, now_ns);
}

/* Learns from a group that has several I/Os at a time. */
static void learn_probe(struct fgio_shares *shares)
{
	const struct fgio_share_probe *probe = &shares->probe;
	struct fgio_share_group *group = probe->group;
	u64 count = completed_by(group) - probe->completed;
	u64 mean_ns, known_ns = fgio_load(&group->alone_ns);

	if (!probe->alone_ns || count < FGIO_SHARES_PROBE_IOS_ONE / 2)
		return;
	mean_ns = beyond(fgio_load(&group->idle_since_ns), probe->alone_ns) /
		  count;
	/* With fewer I/Os than the group has, a limit not yet found is slow. */
	if (probe->most > 1 && (probe->most < shares->limit.limit ||
				fgio_share_limit_is_found(&shares->limit))) {
		if (known_ns)
			mean_ns = known_ns - known_ns / FGIO_SHARES_PROBE_SPAN +
				  mean_ns / FGIO_SHARES_PROBE_SPAN;
		fgio_store(&group->alone_ns, mean_ns);
	}
	/* A cache takes writes at once, whatever they cost later. */
	if (!fgio_share_kind_writes(probe->kind) &&
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

/* Whether the probe goes on. */
static bool probes_on(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_probe *probe = &shares->probe;
	struct fgio_share_group *group = probe->group;
	u32 others = (u32)beyond(fgio_load(&shares->in_device),
				 fgio_load(&group->in_device));
	u64 length_ns = beyond(now_ns, probe->begin_ns);
	u32 ios = probe->most > 1 ? FGIO_SHARES_PROBE_IOS :
				    FGIO_SHARES_PROBE_IOS_ONE;

	if (!probe->alone && !others && !others_wrote(group, now_ns)) {
		probe->alone = true;
		probe->completed = completed_by(group);
	}
	if (probe->alone && !probe->alone_ns &&
	    completed_by(group) != probe->completed) {
		probe->alone_ns = fgio_load(&group->idle_since_ns);
		probe->completed = completed_by(group);
	}
	if (probe->alone && !has_queued(group))
		probe->dry = true;
	/* Foreground I/O of others does not wait for it. */
	if (shares->ready[true].count > !!group->queued[FGIO_CRITICAL] ||
	    !still_asks(group, now_ns) || length_ns >= probe_most_ns(shares) +
					       FGIO_SHARES_WRITTEN_NS)
		return false;
	return !probe->alone_ns || length_ns < FGIO_SHARES_PROBE_LEAST_NS ||
	       completed_by(group) - probe->completed < ios;
}

/* There is one. Return: whether it goes on. */
static FGIO_SELDOM bool follow_probe(struct fgio_shares *shares, bool free,
				     u64 now_ns)
{
	forget_only(shares);
	if (!free && !shares->probe.group->foreground) {
		shares->probe.group = NULL;
		return false;
	}
	if (probes_on(shares, now_ns))
		return true;
	end_probe(shares, now_ns);
	return false;
}

/* Return: whether there is one, and so no group but its own may go. */
static inline bool probes(struct fgio_shares *shares, bool free, u64 now_ns)
{
	if (shares->probe.group && follow_probe(shares, free, now_ns))
		return true;
	return may_begin_probe(shares, now_ns) &&
	       try_probe(shares, free, now_ns);
}

/* Return: the group that has the drive alone; NULL: it has no request. */
static FGIO_SELDOM struct fgio_share_group *
turn_of_probe(struct fgio_shares *shares, u64 now_ns)
{
	struct fgio_share_group *group = shares->probe.group;

	shares->retry_ns = now_ns + FGIO_SHARES_PAUSE_LEAST_NS;
	if (fgio_load(&shares->in_device))
		shares->retry_ns = now_ns + FGIO_SHARES_PROBE_LEAST_NS;
	fgio_share_cost_slack(&shares->cost);
	return has_queued(group) ? group : NULL;
}

/* Some group in the drive lags. Return: the one that goes all the same. */
static FGIO_SELDOM struct fgio_share_group *
beside_sufferer(struct fgio_shares *shares, struct fgio_share_group *group,
		u64 now_ns)
{
	struct fgio_share_group *sufferer = suffers(shares, now_ns);
	struct fgio_share_group *lagging;

	if (is_spared(shares, sufferer, now_ns))
		return group;
	fgio_share_cost_slack(&shares->cost);
	lagging = queued_lagging(shares);
	return lagging && lags_more(lagging, sufferer) ? lagging : NULL;
}

/* From what went, and what completions counted. */
static inline void learn(struct fgio_shares *shares, bool free, u64 now_ns)
{
	if (fgio_share_cost_is_due(&shares->cost, now_ns))
		learn_costs(shares, now_ns);
	if (fgio_load(&shares->in_time) || fgio_load(&shares->late))
		learn_lent(shares, now_ns);
	if (!free)
		fgio_share_cost_limited(&shares->cost);
}

/* Whether the drive has no room: without it, or for a group there that lags. */
static inline bool is_held(const struct fgio_shares *shares)
{
	const struct fgio_heap_node *in_drive =
		fgio_heap_first(&shares->owed[IN_DRIVE]);

	return fgio_load(&shares->in_device) >= shares->limit.limit ||
	       (in_drive && fgio_before(in_drive->key, shares->clock));
}

/*
 * At this time, nothing but room in the drive decides whether other requests of
 * @group go, too. An interval of costs must not end among them.
 */
static FGIO_SELDOM void begin_run(struct fgio_shares *shares,
				  const struct fgio_share_group *group)
{
	u32 in_device = fgio_load(&shares->in_device);
	u64 most = smaller(FGIO_SHARES_RUN, group->queued[FGIO_NONCRITICAL]);

	if (shares->rotates || group->queued[FGIO_CRITICAL])
		return;
	most = smaller(most, beyond(shares->limit.limit, in_device));
	if (shares->cost.count < FGIO_SHARE_INTERVAL_IOS)
		most = smaller(most, FGIO_SHARE_INTERVAL_IOS -
					     shares->cost.count);
	shares->run.in_device = in_device + 1;
	fgio_store(&shares->run.left, (u32)beyond(most, 1));
}

struct fgio_share_group *fgio_shares_turn_of_run(struct fgio_shares *shares)
{
	fgio_store(&shares->run.left, shares->run.left - 1);
	shares->run.in_device++;
	look_for_idle(shares, shares->clock_ns);
	return first_in_order(shares, shares->last);
}

struct fgio_share_group *fgio_shares_turn(struct fgio_shares *shares, bool free,
					  u64 now_ns)
{
	struct fgio_share_group *group;
	bool still, probing;

	fgio_shares_end_run(shares);
	shares->retry_ns = 0;
	advance(shares, now_ns);
	look_for_idle(shares, now_ns);
	learn(shares, free, now_ns);
	still = is_still(shares, now_ns);
	probing = !still && !shares->rotates && probes(shares, free, now_ns);
	if (shares->only && free && !probing && !is_held(shares))
		return first_in_order(shares, shares->only);
	forget_only(shares);
	group = in_order(shares);
	if (shares->rotates && has_slice(shares, now_ns))
		return has_queued(shares->last) ? shares->last : NULL;
	if (still)
		return group;
	if (probing)
		return turn_of_probe(shares, now_ns);
	if (!is_held(shares)) {
		if (free && is_backlog_of_one(shares) &&
		    !may_begin_probe(shares, now_ns))
			begin_run(shares, group);
		return group;
	}
	if (fgio_load(&shares->in_device) >= shares->limit.limit)
		return NULL;
	return beside_sufferer(shares, group, now_ns);
}

struct fgio_share_group *fgio_shares_turn_in_order(struct fgio_shares *shares,
						   u64 now_ns)
{
	fgio_shares_end_run(shares);
	shares->retry_ns = 0;
	shares->probe.group = NULL;
	advance(shares, now_ns);
	look_for_idle(shares, now_ns);
	forget_only(shares);
	/* The drive may have more than the limit: nothing is learnt from that. */
	fgio_share_cost_slack(&shares->cost);
	return in_order(shares);
}

/* ---- dispatch and completion ---- */

/* Follows the probe that the request belongs to. */
static FGIO_SELDOM void note_probe(struct fgio_share_probe *probe,
				   const struct fgio_request *request, u32 all,
				   u32 own)
{
	if (all != own)
		return;
	probe->most = (u32)larger(probe->most, own);
	probe->kind = request->share.kind;
	probe->sectors = request->sectors;
}

/* The others that it has queued have another place. */
static FGIO_SELDOM void charge_taken_beside(struct fgio_share_group *group,
					    u8 class, u64 charge_ns)
{
	leave_heaps(group);
	fgio_store(&group->queued[class], group->queued[class] - 1);
	charge(group, charge_ns);
	enter_heaps(group);
}

/* The group pays for the request, which it counts as queued no longer. */
static inline void charge_taken(struct fgio_share_group *group, u8 class,
				u64 charge_ns)
{
	const struct fgio_shares *shares = group->shares;
	u32 *queued = &group->queued[class];
	u32 all = all_queued(group);

	if (shares->only) {
		take_at_once(group, class);
		charge(group, charge_ns);
		place_in_drive(group);
		return;
	}
	if (all == 1) {
		take_only(group, class);
		charge(group, charge_ns);
		enter_in_drive(group);
		return;
	}
	if (!stays(*queued - 1, all - 1)) {
		charge_taken_beside(group, class, charge_ns);
		return;
	}
	fgio_store(queued, *queued - 1);
	charge(group, charge_ns);
	/* It has others queued, so it is in both heaps. */
	fgio_heap_change(ready_heap(group), &group->ready, group->start);
	fgio_heap_change(owed_heap(group), &group->owed, group->paid);
}

/* Of a disk. */
static FGIO_SELDOM u64 charge_of_disk(struct fgio_share_group *group)
{
	settle_up_disk(group);
	return smaller(fgio_load(&group->alone_ns) ?: FGIO_SHARES_DISK_FIRST_NS,
		       FGIO_SHARES_CHARGE_MOST_NS);
}

/* Costs of the least size are within all bounds. */
static inline u64 charge_of(struct fgio_shares *shares,
			    const struct fgio_request *request)
{
	u64 cost_ns = fgio_share_cost_sent(&shares->cost, request->share.kind,
					   request->sectors);

	if (shares->rotates)
		return charge_of_disk(request->share.group);
	if (request->sectors > FGIO_SHARE_LEAST_SECTORS)
		return smaller(cost_ns, FGIO_SHARES_CHARGE_MOST_NS);
	return cost_ns;
}

static FGIO_SELDOM void note_write(struct fgio_shares *shares,
				   const struct fgio_share_group *group,
				   u64 now_ns)
{
	fgio_store(&shares->wrote, group);
	fgio_store(&shares->wrote_ns, now_ns);
}

/* The drive has one more. @own: out. Return: requests there. */
static inline u32 enter_drive(struct fgio_shares *shares,
			      struct fgio_share_group *group, u64 now_ns,
			      u32 *own)
{
	u32 all;

	if (!fgio_load(&shares->in_device))
		fgio_share_cost_idle(&shares->cost,
				     beyond(now_ns,
					    fgio_load(&shares->moved_ns)));
	all = fgio_add(&shares->in_device, 1);
	*own = fgio_add(&group->in_device, 1);
	fgio_store(&shares->moved_ns, now_ns);
	if (all >= shares->limit.limit)
		fgio_share_limit_reached(&shares->limit);
	return all;
}

/* @all: requests in the drive. */
static inline void stamp_sent(struct fgio_shares *shares,
			      struct fgio_request *request, u64 charge_ns,
			      u32 all, u64 now_ns)
{
	u32 number = shares->sent + 1;

	fgio_store(&shares->sent, number);
	request->share.sent_ns = now_ns;
	request->share.charge_ns = (u32)charge_ns;
	request->share.number = number;
	/* The first one after those of others does not count. */
	request->share.alone = all == 1 &&
			       shares->last == request->share.group;
	request->share.moved = false;
	shares->last = request->share.group;
}

/* The group has paid. */
static inline void count_sent(struct fgio_shares *shares,
			      struct fgio_share_group *group, u32 sectors)
{
	if (group->patience_ns < FGIO_SHARES_PATIENCE_MOST_NS)
		group->patience_ns = smaller(group->patience_ns +
						     group->charge_ns / 2,
					     FGIO_SHARES_PATIENCE_MOST_NS);
	fgio_share_cost_alone(&shares->cost, group->charge_ns);
	group->counters.dispatched++;
	group->counters.sectors += sectors;
}

static FGIO_SELDOM void sent(struct fgio_shares *shares,
			     struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	u64 charge_ns = charge_of(shares, request);
	u32 own, all = enter_drive(shares, group, now_ns, &own);

	if (request->write)
		note_write(shares, group, now_ns);
	if (shares->probe.group == group)
		note_probe(&shares->probe, request, all, own);
	stamp_sent(shares, request, charge_ns, all, now_ns);
	charge_taken(group, request->class, charge_ns);
	if (request->class == FGIO_CRITICAL) {
		fgio_add(&shares->critical_in_device, 1);
		note_beyond(group, group->charge_ns, now_ns);
	}
	count_sent(shares, group, request->sectors);
	if (fgio_list_empty(&shares->backlogged) && all < shares->limit.limit)
		fgio_share_cost_slack(&shares->cost);
}

/*
 * Whether it is a small read of a group that has others queued, and alone has,
 * is not probed and does not lag: nothing but its tags changes, and no place in
 * a heap.
 */
static inline bool is_of_many(const struct fgio_shares *shares,
			      const struct fgio_request *request)
{
	const struct fgio_share_group *group = request->share.group;
	u32 queued = group->queued[FGIO_NONCRITICAL];

	return queued > 1 && request->class == FGIO_NONCRITICAL &&
	       !request->write &&
	       request->sectors <= FGIO_SHARE_LEAST_SECTORS &&
	       stays(queued - 1, all_queued(group) - 1) &&
	       !shares->rotates && !shares->probe.group && !is_behind(group) &&
	       is_backlog_of_one(shares);
}

void fgio_shares_sent(struct fgio_shares *shares, struct fgio_request *request,
		      u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	u64 charge_ns;
	u32 own;

	if (!is_of_many(shares, request)) {
		sent(shares, request, now_ns);
		return;
	}
	charge_ns = fgio_share_cost_sent_small(&shares->cost,
					       request->share.kind);
	stamp_sent(shares, request, charge_ns,
		   enter_drive(shares, group, now_ns, &own), now_ns);
	fgio_store(&group->queued[FGIO_NONCRITICAL],
		   group->queued[FGIO_NONCRITICAL] - 1);
	charge_in_order(group, charge_ns * group->per_weight, false);
	group->charge_ns = entitlement_of(group, charge_ns, false);
	charge_ahead(group, group->charge_ns * group->per_weight);
	group->counters.charged_ns += charge_ns;
	group->ready.key = group->start;
	group->owed.key = group->paid;
	count_sent(shares, group, request->sectors);
}

/* A median of one I/O at a time, by steps. Such I/Os complete one by one. */
static void note_alone(struct fgio_share_group *group,
		       const struct fgio_request *request, u64 now_ns)
{
	u64 took_ns = beyond(now_ns, request->share.sent_ns);
	u64 known_ns = fgio_load(&group->alone_ns);
	u32 part = (u32)larger(group->alone_step, FGIO_SHARES_ALONE_STEP);
	u64 step_ns = known_ns / part + 1;

	group->alone_step =
		(u32)smaller(part + 1, FGIO_SHARES_ALONE_STEP_LAST);
	if (!known_ns)
		fgio_store(&group->alone_ns, took_ns);
	else if (took_ns < known_ns)
		fgio_store(&group->alone_ns, beyond(known_ns, step_ns));
	else if (!others_wrote(group, now_ns))
		fgio_store(&group->alone_ns, known_ns + step_ns);
}

/* Whether a critical I/O took no longer than the group's share would take. */
static void note_critical(struct fgio_shares *shares,
			  const struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	u64 since_ns = request->queued_ns ?: request->share.sent_ns;
	u32 own = fgio_load(&group->in_device) +
		  fgio_load(&group->queued[FGIO_CRITICAL]);
	u64 part = smaller(PART_ONE * fgio_load(&shares->weights) /
				   fgio_load(&group->weight), PART_MOST);
	u64 due_ns = smaller(fgio_load(&group->alone_ns),
			     FGIO_SHARES_CHARGE_MOST_NS) *
		     own / PART_ONE * part;
	bool is_late = beyond(now_ns, since_ns) > due_ns;
	bool beside_others = fgio_load(&shares->in_device) >
			     fgio_load(&shares->critical_in_device);

	/* In time without other I/O in the drive, it shows nothing. */
	if (due_ns && (is_late || beside_others))
		fgio_add(is_late ? &shares->late : &shares->in_time, 1);
}

/* A disk took the time since the completion before for this request. */
static void note_turn_of_disk(struct fgio_shares *shares,
			      const struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	u64 since_ns = larger(request->share.sent_ns,
			      fgio_load(&shares->left_ns));
	u64 took_ns = beyond(now_ns, since_ns);
	u64 mean_ns = fgio_load(&group->alone_ns);

	mean_ns = mean_ns ? mean_ns - mean_ns / FGIO_SHARES_ALONE_STEP +
				    took_ns / FGIO_SHARES_ALONE_STEP :
			    took_ns;
	fgio_store(&group->alone_ns, mean_ns);
	fgio_add(&group->owes_ns, (s64)took_ns - request->share.charge_ns);
	fgio_store(&shares->left_ns, now_ns);
}

static inline void leave_drive(struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	struct fgio_shares *shares = group->shares;

	fgio_store(&shares->moved_ns, now_ns);
	fgio_sub(&shares->in_device, 1);
	fgio_store(&group->idle_since_ns, now_ns);
	request->share.group = NULL;
	/* From here on, the group may be removed. */
	fgio_sub(&group->in_device, 1);
}

/* Its time may tell something. */
static FGIO_SELDOM void left(struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	struct fgio_shares *shares = group->shares;

	if (request->share.alone && !shares->rotates &&
	    request->share.number == fgio_load(&shares->sent))
		note_alone(group, request, now_ns);
	if (shares->rotates)
		note_turn_of_disk(shares, request, now_ns);
	if (request->class == FGIO_CRITICAL) {
		note_critical(shares, request, now_ns);
		fgio_sub(&shares->critical_in_device, 1);
	}
	leave_drive(request, now_ns);
}

void fgio_shares_left(struct fgio_request *request, u64 now_ns)
{
	if (request->share.alone || request->class == FGIO_CRITICAL ||
	    request->share.group->shares->rotates)
		left(request, now_ns);
	else
		leave_drive(request, now_ns);
}

/* ---- charges that move ---- */

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
		move_beyond(old, group, request->share.charge_ns, now_ns);
}
