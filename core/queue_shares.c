// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which request goes next with fair shares: the group by its turn, then the
 * request by the rules of the two-class queue, within that group.
 */
#include "atomic.h"
#include "number.h"
#include "queue.h"
#include "queue_internal.h"
#include "shares_internal.h"

/* Inline, so that each call has but the rule that it names. */
static inline struct fgio_request *take(struct fgio_share_group *group,
					enum fgio_class class,
					enum fgio_order_by by)
{
	struct fgio_order *order = &group->order[class];
	struct fgio_request *request = fgio_order_choose(order, by, NULL, 0);

	fgio_order_went(order, request, by, NULL);
	return request;
}

/* A group waits for its release for at most this many intervals. */
#define RELEASE_MOST 100

/*
 * The release interval is that of all groups together: each has its part of it,
 * so a group of half of the weights waits for two.
 */
static void plan_next_release(const struct fgio_queue *queue,
			      struct fgio_share_group *group, u64 now_ns)
{
	u64 part = smaller(RELEASE_MOST, queue->shares->weights / group->weight);
	u64 interval_ns = queue->config.release_interval_ns * larger(1, part);
	u64 on_grid_ns = group->next_release_ns + interval_ns;

	if (now_ns < group->next_release_ns)
		on_grid_ns = now_ns + interval_ns;
	group->next_release_ns = larger(on_grid_ns, now_ns);
}

static bool release_is_due(const struct fgio_queue *queue,
			   const struct fgio_share_group *group, u64 now_ns)
{
	return now_ns >= group->next_release_ns &&
	       fgio_queue_release_has_room(queue) && !fgio_queue_probes(queue);
}

/* Beside critical I/O. Return: NULL if the depth withholds its requests. */
static struct fgio_request *weigh(struct fgio_queue *queue,
				  struct fgio_share_group *group, u64 now_ns)
{
	bool critical = group->queued[FGIO_CRITICAL];
	bool noncritical = group->queued[FGIO_NONCRITICAL];
	u64 recent_ns = beyond(now_ns, fgio_queue_recent_ns(queue));
	bool despite = !critical && (fgio_shares_insists(group, recent_ns) ||
				     fgio_shares_lends(group, recent_ns));
	bool in_turn = noncritical &&
		       (!critical || fgio_queue_has_places(queue)) &&
		       fgio_queue_may_go(
			       queue,
			       fgio_order_choose(&group->order[FGIO_NONCRITICAL],
						 FGIO_ORDER_AGE, NULL, 0),
			       now_ns);

	if (noncritical &&
	    (in_turn || despite || release_is_due(queue, group, now_ns))) {
		queue->own.counters.starvation_releases += !in_turn && !despite;
		plan_next_release(queue, group, now_ns);
		return take(group, FGIO_NONCRITICAL, FGIO_ORDER_AGE);
	}
	if (!critical || fgio_queue_is_full(queue))
		return NULL;
	return take(group, FGIO_CRITICAL, FGIO_ORDER_AGE);
}

static inline struct fgio_request *take_free(struct fgio_share_group *group)
{
	if (group->queued[FGIO_CRITICAL])
		return take(group, FGIO_CRITICAL, FGIO_ORDER_AGE);
	return take(group, FGIO_NONCRITICAL, FGIO_ORDER_SHARE);
}

/* @group: NULL: none has its turn. */
static struct fgio_request *of_group(struct fgio_queue *queue,
				     enum fgio_queue_mode mode,
				     struct fgio_share_group *group, u64 now_ns)
{
	if (!group)
		return NULL;
	return mode == FGIO_QUEUE_FREE ? take_free(group) :
					 weigh(queue, group, now_ns);
}

static struct fgio_request *choose(struct fgio_queue *queue,
				   enum fgio_queue_mode mode, u64 now_ns)
{
	struct fgio_shares *shares = queue->shares;
	struct fgio_share_group *group;
	struct fgio_request *request;

	/* With one class nothing is withheld. */
	if (fgio_load(&queue->one_class))
		group = fgio_shares_turn_in_order(shares, now_ns);
	else
		group = fgio_shares_turn(shares, mode == FGIO_QUEUE_FREE,
					 now_ns);
	/* The interval may be a new one. */
	if (mode != FGIO_QUEUE_FREE)
		fgio_share_cost_beside(&shares->cost);
	request = of_group(queue, mode, group, now_ns);
	if (request || !group)
		return request;
	/* The depth withholds them, but not from a group below its guarantee. */
	fgio_shares_note_withheld(shares);
	request = of_group(queue, mode, fgio_shares_turn_of_critical(shares),
			   now_ns);
	if (request)
		return request;
	return of_group(queue, mode, fgio_shares_turn_of_lagging(shares),
			now_ns);
}

static u64 retry_at(const struct fgio_queue *queue, enum fgio_queue_mode mode,
		    u64 now_ns)
{
	u64 at_ns = now_ns + FGIO_SHARES_STILL_NS;
	u64 shares_ns = fgio_shares_retry_ns(queue->shares);

	if (shares_ns)
		at_ns = smaller(at_ns, shares_ns);
	if (mode == FGIO_QUEUE_FREE)
		return at_ns;
	at_ns = smaller(at_ns, now_ns + queue->config.release_interval_ns);
	/* The depth was not asked if no group had its turn. */
	if (fgio_queue_adapts(queue) &&
	    fgio_depth_retry_ns(&queue->depth) > now_ns)
		at_ns = smaller(at_ns, fgio_depth_retry_ns(&queue->depth));
	return at_ns;
}

/* Return: NULL: all requests are withheld. */
static FGIO_SELDOM struct fgio_request *
withhold(struct fgio_queue *queue, enum fgio_queue_mode mode, u64 now_ns)
{
	struct fgio_request *request;
	bool held;

	held = fgio_queue_is_full(queue) && queue->own.queued[FGIO_CRITICAL];
	/* As fgio_queue_choose_weighed(): a completion sees this, or is seen. */
	fgio_queue_withhold(queue, now_ns);
	if (mode != FGIO_QUEUE_FREE)
		fgio_queue_write_off_overdue(queue, now_ns);
	if (held)
		fgio_queue_hold_critical(queue, now_ns);
	request = choose(queue, mode, now_ns);
	if (request)
		fgio_queue_retry(queue);
	else
		queue->retry_ns = retry_at(queue, mode, now_ns);
	if (!request && held)
		queue->retry_ns = smaller(queue->retry_ns,
					  fgio_queue_held_until(queue));
	return request;
}

struct fgio_request *fgio_queue_choose_shared(struct fgio_queue *queue,
					      enum fgio_queue_mode mode,
					      u64 now_ns)
{
	return choose(queue, mode, now_ns) ?: withhold(queue, mode, now_ns);
}

/*
 * A non-critical request goes, and nothing is weighed: the depth learns nothing
 * from it, and it has no rank.
 */
static inline void hand_over(struct fgio_queue *queue,
			     struct fgio_request *request, u64 now_ns)
{
	struct fgio_hw_queue *own = &queue->own;

	fgio_list_remove(&request->link);
	fgio_store(&own->queued[FGIO_NONCRITICAL],
		   own->queued[FGIO_NONCRITICAL] - 1);
	request->depth.sent_ns = 0;
	if (request->write)
		fgio_depth_wrote(&queue->depth, 1, request->sectors);
	if (!queue->unseen)
		fgio_store(&queue->unseen, true);
	fgio_shares_sent(queue->shares, request, now_ns);
	fgio_request_enter_device_as(own, request, FGIO_NONCRITICAL, now_ns);
	queue->count.in_device++;
}

/* Some group has its turn, or all are withheld. */
static FGIO_SELDOM struct fgio_request *
next_of_all(struct fgio_queue *queue, struct fgio_share_group *group,
	    u64 now_ns)
{
	struct fgio_request *request;

	if (group)
		request = take(group, FGIO_NONCRITICAL, FGIO_ORDER_SHARE);
	else
		request = withhold(queue, FGIO_QUEUE_FREE, now_ns);
	if (request)
		hand_over(queue, request, now_ns);
	return request;
}

static inline struct fgio_request *next_of_run(struct fgio_queue *queue)
{
	struct fgio_shares *shares = queue->shares;
	struct fgio_share_group *group = fgio_shares_turn_of_run(shares);
	struct fgio_request *request =
		take(group, FGIO_NONCRITICAL, FGIO_ORDER_SHARE);

	hand_over(queue, request, fgio_shares_run_ns(shares));
	return request;
}

/* Of all, one request is queued: it goes. */
static inline struct fgio_request *next_only(struct fgio_queue *queue,
					     u64 now_ns)
{
	struct fgio_shares *shares = queue->shares;
	struct fgio_share_group *group =
		fgio_shares_first_in_order(shares, shares->only);
	struct fgio_request *request =
		fgio_order_take_only(&group->order[FGIO_NONCRITICAL]);

	hand_over(queue, request, now_ns);
	return request;
}

/* Without the time, a run goes on. */
struct fgio_request *fgio_queue_next_in_turn(struct fgio_queue *queue,
					     u64 now_ns)
{
	struct fgio_shares *shares = queue->shares;
	struct fgio_share_group *group;
	bool probing;

	fgio_queue_stop_measuring(queue);
	if (!now_ns && shares->run.left)
		return next_of_run(queue);
	now_ns = now_ns ?: fgio_shares_run_ns(shares);
	probing = fgio_shares_begin_turn(shares, true, now_ns);
	if (fgio_shares_only_goes(shares, probing))
		return next_only(queue, now_ns);
	group = fgio_shares_turn_of_all(shares, true, probing, now_ns);
	return next_of_all(queue, group, now_ns);
}

bool fgio_queue_awaits_turn(const struct fgio_queue *queue,
			    const struct fgio_request *request)
{
	return queue->shares && request->state == FGIO_REQUEST_QUEUED &&
	       fgio_shares_awaits_turn(request);
}
