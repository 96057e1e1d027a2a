// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "number.h"
#include "hw_queue.h"
#include "queue.h"
#include "queue_internal.h"

/* Least looks whether requests move, in FGIO_QUEUE_STILL_NS. */
#define LOOKS 16

/* Of a disk with a full cache. */
#define FLUSH_MOST_NS 1000000000ULL

void fgio_queue_init(struct fgio_queue *queue, bool rotates)
{
	*queue = (struct fgio_queue){
		.config = FGIO_QUEUE_CONFIG_DEFAULT,
		.hw_count = 1,
	};
	fgio_hw_queue_init(&queue->own, queue, 0);
	fgio_depth_init(&queue->depth, rotates);
}

void fgio_queue_configure(struct fgio_queue *queue,
			  const struct fgio_queue_config *config)
{
	queue->config = *config;
}

void fgio_queue_set_one_class(struct fgio_queue *queue, bool one_class)
{
	fgio_store(&queue->one_class, one_class);
	if (queue->shares)
		fgio_shares_end_run(queue->shares);
	fgio_queue_retry(queue);
}

bool fgio_request_is_in_device(const struct fgio_request *request)
{
	return fgio_load(&request->state) == FGIO_REQUEST_IN_DEVICE;
}

void fgio_hw_queue_insert(struct fgio_hw_queue *hw,
			  struct fgio_request *request, bool at_head)
{
	struct fgio_queue *queue = hw->queue;
	u8 class = request->class;

	/* The last one left earlier: that ended the time that is measured. */
	if (fgio_load(&queue->measures) && class == FGIO_NONCRITICAL &&
	    !hw->queued[FGIO_NONCRITICAL] &&
	    !fgio_queue_has(queue, FGIO_NONCRITICAL))
		fgio_store(&queue->measures, false);
	request->hw = hw;
	if (class == FGIO_NONCRITICAL && !hw->queued[FGIO_NONCRITICAL])
		hw->served_ns = request->queued_ns;
	if (at_head)
		request->queued_ns = 0;
	fgio_request_line_up(request, at_head ? FGIO_TO_HEAD : FGIO_TO_TAIL);
	fgio_request_set_state(request, FGIO_REQUEST_QUEUED);
	/*
	 * In order before what the caller asks of fgio_hw_queue_has_work(): it sees
	 * that nothing is withheld any more, or fgio_queue_turn() sees the request.
	 */
	fgio_exchange(&hw->queued[class], hw->queued[class] + 1);
	hw->counters.queued[class]++;
}

static FGIO_SELDOM void insert_of_rest(struct fgio_queue *queue,
				       struct fgio_request *request,
				       bool at_head)
{
	fgio_queue_insert_of(queue, request, NULL, at_head);
}

void fgio_queue_insert(struct fgio_queue *queue, struct fgio_request *request,
		       bool at_head)
{
	if (queue->shares)
		insert_of_rest(queue, request, at_head);
	else
		fgio_hw_queue_insert(&queue->own, request, at_head);
}

void fgio_queue_set_shares(struct fgio_queue *queue,
			   struct fgio_shares *shares)
{
	queue->shares = shares;
}

/*
 * @request goes to the place of @absorbed, of the same line. One without a rank
 * stays before all that have one.
 */
static void take_place(struct fgio_request *request,
		       struct fgio_request *absorbed)
{
	bool ranked = absorbed->rank.state;

	if (ranked && !request->rank.state)
		return;
	if (ranked) {
		fgio_list_remove(&request->link);
		fgio_request_order_joined(fgio_request_order_of(request),
					  request, absorbed);
	} else {
		fgio_request_step_out(request);
	}
	fgio_list_add_head(&absorbed->link, &request->link);
	request->queued_ns = absorbed->queued_ns;
}

void fgio_queue_absorb(struct fgio_request *request,
		       struct fgio_request *absorbed)
{
	if (absorbed->class == FGIO_CRITICAL)
		fgio_queue_promote(request);
	if (absorbed->state != FGIO_REQUEST_QUEUED)
		return;
	if (absorbed->class == request->class &&
	    absorbed->write == request->write &&
	    absorbed->share.group == request->share.group &&
	    absorbed->queued_ns < request->queued_ns)
		take_place(request, absorbed);
	fgio_request_take_out(absorbed);
	absorbed->share.group = NULL;
}

void fgio_queue_resize(struct fgio_request *request, u64 sector, u32 sectors)
{
	request->sector = sector;
	request->sectors = sectors;
}

bool fgio_queue_critical_present(const struct fgio_queue *queue, u64 now_ns)
{
	u64 seen_ns = fgio_load(&queue->critical_seen_ns);

	/* A completion on another CPU may carry a time just after now_ns. */
	return (seen_ns && beyond(now_ns, seen_ns) <
				   queue->config.critical_window_ns) ||
	       now_ns < fgio_load(&queue->flush_until_ns) ||
	       fgio_queue_has(queue, FGIO_CRITICAL);
}

/* Non-critical requests in the device, as a limit counts them. */
static u32 counted(const struct fgio_queue *queue)
{
	u32 count = 0;

	for (u32 i = 0; i < queue->hw_count; i++)
		count += fgio_inflight_counted(
			&fgio_queue_hw(queue, i)->in_device[FGIO_NONCRITICAL]);
	return count;
}

/*
 * All hardware queues are looked at, most of which other processors wrote since
 * this one did: that takes longer than all else.
 */
static void count(struct fgio_queue *queue, u64 now_ns)
{
	struct fgio_count *count = &queue->count;
	u64 each_ns = fgio_depth_time_of_others_ns(&queue->depth);

	count->at_ns = now_ns;
	count->again_ns = now_ns;
	count->in_device = counted(queue);
	count->queued = fgio_queue_queued(queue, FGIO_NONCRITICAL);
	if (count->in_device >= FGIO_COUNT_MANY)
		count->again_ns += smaller(each_ns / FGIO_COUNT_SHARE,
					   FGIO_COUNT_NS);
}

/* The fixed limit, or a limit of one if there is none. */
static u32 fixed_limit(const struct fgio_queue *queue)
{
	return queue->config.noncritical_in_device_max ?: 1;
}

static bool device_has_room(const struct fgio_queue *queue)
{
	return counted(queue) < fixed_limit(queue);
}

bool fgio_queue_release_has_room(const struct fgio_queue *queue)
{
	u32 noncritical = counted(queue);

	return noncritical < fixed_limit(queue) ||
	       noncritical < fgio_queue_in_device(queue, FGIO_CRITICAL) /
				     FGIO_RELEASE_SHARE;
}

static u64 release_interval_ns(const struct fgio_queue *queue,
			       const struct fgio_request *released)
{
	u64 interval_ns = queue->config.release_interval_ns;

	if (!fgio_queue_adapts(queue))
		return interval_ns;
	return fgio_depth_min_service_ns(&queue->depth, released->sectors,
					 released->write, interval_ns);
}

/*
 * A late release does not delay the next one: the intervals stay on their grid,
 * so the rate holds on average. At most one interval is made up for: a long
 * pause must not end in a burst.
 */
static void plan_next_release(struct fgio_queue *queue,
			      const struct fgio_request *released, u64 now_ns)
{
	u64 interval_ns = release_interval_ns(queue, released);
	u64 on_grid_ns = queue->next_release_ns + interval_ns;

	if (now_ns < queue->next_release_ns)
		on_grid_ns = now_ns + interval_ns;
	else if (on_grid_ns < now_ns)
		on_grid_ns = now_ns;
	fgio_store(&queue->next_release_ns, on_grid_ns);
}

static bool allows(struct fgio_queue *queue, const struct fgio_request *first,
		   const u32 in_device[FGIO_CLASSES], u32 queued, u64 now_ns)
{
	if (!fgio_queue_adapts(queue))
		return in_device[FGIO_NONCRITICAL] < fixed_limit(queue);
	return fgio_depth_allows(&queue->depth, first->sectors, first->write,
				 in_device, queued, now_ns);
}

static bool has_room(const struct fgio_queue *queue,
		     const struct fgio_request *first)
{
	u32 in_device = queue->count.in_device;

	if (!fgio_queue_adapts(queue))
		return in_device < fixed_limit(queue);
	return fgio_depth_has_room(&queue->depth, first->sectors, first->write,
				   in_device);
}

void fgio_queue_look_for_critical(struct fgio_queue *queue, u64 now_ns)
{
	bool critical = !fgio_depth_is_quiet(&queue->depth);
	u32 i;

	/* Unless the drive seems to have none, it makes no difference. */
	for (i = 0; !critical && i < queue->hw_count; i++)
		critical = fgio_inflight_any(
			&queue->hw[i]->in_device[FGIO_CRITICAL]);
	queue->count.critical = critical;
	queue->count.asked_ns = now_ns;
}

/* The same with many hardware queues, which are counted only if need be. */
static bool may_go_by_count(struct fgio_queue *queue,
			    const struct fgio_request *first, u64 now_ns)
{
	struct fgio_count *last = &queue->count;
	/* @now_ns is later for what goes ahead. */
	u64 asked_ns = last->asked_ns;
	u32 in_device[FGIO_CLASSES];

	if (!last->at_ns || asked_ns >= last->at_ns + FGIO_COUNT_NS ||
	    (asked_ns >= last->again_ns && !has_room(queue, first)))
		count(queue, asked_ns);
	in_device[FGIO_NONCRITICAL] = last->in_device;
	in_device[FGIO_CRITICAL] = last->critical;
	return allows(queue, first, in_device, last->queued, now_ns);
}

bool fgio_queue_may_go_in_turn(struct fgio_hw_queue *hw, u64 now_ns)
{
	return fgio_queue_may_go(hw->queue,
				 fgio_hw_queue_peek(hw, FGIO_NONCRITICAL),
				 now_ns);
}

bool fgio_queue_may_go(struct fgio_queue *queue,
		       const struct fgio_request *first, u64 now_ns)
{
	u32 in_device[FGIO_CLASSES];

	if (queue->hw)
		return may_go_by_count(queue, first, now_ns);
	in_device[FGIO_NONCRITICAL] = counted(queue);
	in_device[FGIO_CRITICAL] = fgio_queue_in_device(queue, FGIO_CRITICAL);
	return allows(queue, first, in_device,
		      queue->own.queued[FGIO_NONCRITICAL], now_ns);
}

/* Begins with the first call that finds I/O of both classes present. */
void fgio_queue_measure(struct fgio_queue *queue, enum fgio_queue_mode mode,
			u64 now_ns)
{
	bool measures;

	if (mode == FGIO_QUEUE_FREE) {
		fgio_queue_stop_measuring(queue);
		return;
	}
	measures = fgio_queue_adapts(queue) && fgio_queue_both_present(queue);
	if (measures && !queue->measures)
		fgio_depth_begin(&queue->depth, counted(queue), queue->unseen,
				 now_ns);
	/* Others read it: write it seldom. */
	if (measures != queue->measures)
		fgio_store(&queue->measures, measures);
	if (!measures)
		return;
	fgio_depth_learn(&queue->depth, now_ns);
	fgio_depth_turn(&queue->depth, mode == FGIO_QUEUE_RECENT, now_ns);
}

/*
 * Where it is known that there are some, or where no difference is made, not all
 * hardware queues are looked at.
 */
static u32 others_in_device(const struct fgio_queue *queue, u64 now_ns)
{
	u32 others = 0;

	if (!queue->hw)
		return counted(queue);
	if (!queue->measures || fgio_depth_owes(&queue->depth, now_ns))
		return queue->count.in_device;
	for (u32 i = 0; !others && i < queue->hw_count; i++)
		others = fgio_inflight_counted(
			&queue->hw[i]->in_device[FGIO_NONCRITICAL]);
	return others;
}

void fgio_queue_measure_request(struct fgio_queue *queue,
			    struct fgio_request *request, u64 now_ns)
{
	bool critical = request->class == FGIO_CRITICAL;
	u32 others = others_in_device(queue, now_ns);
	bool unseen;

	request->depth.sent_ns = 0;
	if (!critical && request->write)
		fgio_depth_wrote(&queue->depth, 1, request->sectors);
	if (critical && fgio_queue_adapts(queue))
		fgio_depth_critical_came(&queue->depth, request->sectors,
					 request->write, request->queued_ns);
	unseen = !queue->measures && (queue->unseen || !critical);
	if (unseen != queue->unseen)
		fgio_store(&queue->unseen, unseen);
	if (queue->measures)
		fgio_depth_sent(&queue->depth, &request->depth,
				request->class, request->sector,
				request->sectors, request->write, others,
				now_ns);
}

void fgio_queue_hand_over(struct fgio_request *request, u64 now_ns)
{
	struct fgio_queue *queue = request->hw->queue;

	fgio_request_leave_line(request);
	fgio_queue_measure_request(queue, request, now_ns);
	if (request->share.group)
		fgio_shares_sent(queue->shares, request, now_ns);
	fgio_request_enter_device(request, now_ns);
	if (request->class == FGIO_NONCRITICAL)
		queue->count.in_device++;
}

/* Up to fgio_queue_choose_weighed(): which request goes. */

bool fgio_queue_release_is_due(const struct fgio_queue *queue, u64 now_ns)
{
	return now_ns >= fgio_load(&queue->next_release_ns) &&
	       fgio_queue_release_has_room(queue) && !fgio_queue_probes(queue);
}

bool fgio_queue_has_places(const struct fgio_queue *queue)
{
	return fgio_queue_adapts(queue) &&
	       fgio_depth_shares(&queue->depth);
}

/* The drive has as many as the bound allows, which is in force. */
static inline bool reaches_bound(const struct fgio_queue *queue)
{
	const struct fgio_hw_queue *own = &queue->own;

	return fgio_inflight_counted(&own->in_device[FGIO_CRITICAL]) >=
		       fgio_request_bound_now(&own->by_request->bound) &&
	       !fgio_depth_rotates(&queue->depth);
}

bool fgio_queue_is_full(const struct fgio_queue *queue)
{
	return !queue->hw && fgio_hw_queue_ranks(&queue->own) &&
	       reaches_bound(queue);
}

void fgio_queue_hold_critical(struct fgio_queue *queue, u64 now_ns)
{
	struct fgio_hw_queue *own = &queue->own;

	fgio_exchange(&queue->critical_held, true);
	if (fgio_request_bound_holds(&own->by_request->bound, now_ns))
		fgio_inflight_write_off(&own->in_device[FGIO_CRITICAL]);
}

u64 fgio_queue_held_until(const struct fgio_queue *queue)
{
	return fgio_request_bound_retry_ns(&queue->own.by_request->bound);
}

static struct fgio_request *
next_beside_critical(struct fgio_hw_queue *hw, u64 now_ns)
{
	bool critical = hw->queued[FGIO_CRITICAL];
	bool noncritical = hw->queued[FGIO_NONCRITICAL];
	bool in_turn = noncritical && (!critical || fgio_queue_has_places(hw->queue)) &&
		       fgio_queue_may_go_in_turn(hw, now_ns);
	bool due = noncritical && fgio_queue_release_is_due(hw->queue, now_ns);
	struct fgio_request *request;

	if (in_turn || due) {
		request = fgio_hw_queue_oldest(hw, FGIO_NONCRITICAL);
		hw->counters.starvation_releases += !in_turn;
		plan_next_release(hw->queue, request, now_ns);
		return request;
	}
	if (!critical || fgio_queue_is_full(hw->queue))
		return NULL;
	return fgio_hw_queue_oldest(hw, FGIO_CRITICAL);
}

/* As with one class, but critical requests go first. */
struct fgio_request *fgio_queue_choose_free(struct fgio_hw_queue *hw,
					   const struct fgio_sweep *sweep,
					   u64 now_ns)
{
	struct fgio_order *order = &hw->order[FGIO_NONCRITICAL];
	enum fgio_order_by by = sweep ? FGIO_ORDER_SWEEP : FGIO_ORDER_SHARE;
	struct fgio_request *request;

	if (hw->queued[FGIO_CRITICAL])
		return fgio_hw_queue_oldest(hw, FGIO_CRITICAL);
	request = fgio_order_choose(order, by, sweep, now_ns);
	fgio_order_went(order, request, by, sweep);
	return request;
}

/*
 * Whether this is a recent window: critical I/O should find the device nearly
 * idle.
 */
static bool may_come_back(const struct fgio_queue *queue, u64 seen_ns,
			  u64 now_ns)
{
	return seen_ns && fgio_queue_adapts(queue) &&
	       !fgio_depth_rotates(&queue->depth) &&
	       beyond(now_ns, seen_ns) < fgio_queue_recent_ns(queue);
}

/* Forgets critical I/O seen at @seen_ns, unless some was seen since. */
static void forget_critical(struct fgio_queue *queue, u64 seen_ns, u64 now_ns)
{
	u64 until_ns = fgio_load(&queue->flush_until_ns);

	if (seen_ns)
		fgio_replace(&queue->critical_seen_ns, &seen_ns, 0);
	if (until_ns && until_ns <= now_ns)
		fgio_replace(&queue->flush_until_ns, &until_ns, 0);
}

/*
 * If the caller had no reason to read the clock, nothing is weighed: the next
 * call finds the critical I/O seen since then.
 */
enum fgio_queue_mode fgio_queue_mode_at(struct fgio_queue *queue, u64 now_ns)
{
	u64 seen_ns = fgio_load(&queue->critical_seen_ns);

	if (fgio_load(&queue->one_class)) {
		forget_critical(queue, seen_ns, now_ns);
		return FGIO_QUEUE_FREE;
	}
	if (!now_ns)
		return FGIO_QUEUE_FREE;
	if (!fgio_queue_saw_critical(queue))
		return fgio_queue_has(queue, FGIO_CRITICAL) ?
			       FGIO_QUEUE_WEIGHED : FGIO_QUEUE_FREE;
	if (fgio_queue_critical_present(queue, now_ns))
		return FGIO_QUEUE_WEIGHED;
	if (fgio_queue_adapts(queue) &&
	    fgio_depth_flush_may_come(&queue->depth, now_ns))
		return FGIO_QUEUE_WEIGHED;
	if (may_come_back(queue, seen_ns, now_ns))
		return FGIO_QUEUE_RECENT;
	forget_critical(queue, seen_ns, now_ns);
	return FGIO_QUEUE_FREE;
}

void fgio_queue_add_counters(struct fgio_queue_counters *sum,
			     const struct fgio_queue_counters *more)
{
	unsigned int class;

	for (class = 0; class < FGIO_CLASSES; class++) {
		sum->queued[class] += fgio_load(&more->queued[class]);
		sum->dispatched[class] += fgio_load(&more->dispatched[class]);
		sum->waited_ns[class] += fgio_load(&more->waited_ns[class]);
	}
	sum->promoted += fgio_load(&more->promoted);
	sum->starvation_releases += fgio_load(&more->starvation_releases);
}

/* @own has those of the time in which hardware queues were not used. */
struct fgio_queue_counters fgio_queue_totals(const struct fgio_queue *queue)
{
	struct fgio_queue_counters sum = { .promoted = 0 };

	fgio_queue_add_counters(&sum, &queue->own.counters);
	for (u32 i = 0; queue->hw && i < queue->hw_count; i++)
		fgio_queue_add_counters(&sum, &queue->hw[i]->counters);
	return sum;
}

static u64 count_moves(const struct fgio_queue *queue)
{
	u64 moves = 0;

	for (u32 i = 0; i < queue->hw_count; i++)
		moves += 2 * fgio_load(&fgio_queue_hw(queue, i)
						->counters.dispatched
							[FGIO_NONCRITICAL]);
	return moves - fgio_queue_in_device(queue, FGIO_NONCRITICAL);
}

static void write_off(struct fgio_queue *queue)
{
	if (!queue->hw)
		fgio_inflight_write_off(
			&queue->own.in_device[FGIO_NONCRITICAL]);
	for (u32 i = 0; queue->hw && i < queue->hw_count; i++)
		fgio_inflight_write_off(
			&queue->hw[i]->in_device[FGIO_NONCRITICAL]);
}

/*
 * Each dispatch and each completion is a move. Without one for long, the device
 * keeps its requests, for whatever reason: the limit must not hold up the
 * others.
 */
void fgio_queue_write_off_overdue(struct fgio_queue *queue, u64 now_ns)
{
	struct fgio_queue_still *still = &queue->still;
	u64 moves;

	/* All hardware queues are looked at, so not each time. */
	if (queue->hw &&
	    now_ns < still->since_ns + FGIO_QUEUE_STILL_NS / LOOKS)
		return;
	moves = count_moves(queue);
	if (moves == still->moves &&
	    now_ns < still->since_ns + FGIO_QUEUE_STILL_NS)
		return;
	if (moves == still->moves)
		write_off(queue);
	still->moves = moves;
	still->since_ns = now_ns;
}

/* The first time at which a withheld request may go. */
u64 fgio_queue_retry_at(const struct fgio_queue *queue)
{
	u64 at_ns = queue->still.since_ns + FGIO_QUEUE_STILL_NS;

	if (fgio_load(&queue->withheld) == FGIO_WITHHELD_TO_RETRY)
		return queue->count.again_ns;
	if (fgio_queue_release_has_room(queue) && !fgio_queue_probes(queue))
		at_ns = smaller(at_ns, queue->next_release_ns);
	if (fgio_queue_adapts(queue) && fgio_depth_retry_ns(&queue->depth))
		at_ns = smaller(at_ns, fgio_depth_retry_ns(&queue->depth));
	return at_ns;
}

bool fgio_queue_withhold(struct fgio_queue *queue, u64 now_ns)
{
	bool look = !queue->hw || now_ns >= queue->count.again_ns;

	fgio_exchange(&queue->withheld, look ? FGIO_WITHHELD_TO_COMPLETION :
					       FGIO_WITHHELD_TO_RETRY);
	return look;
}

/*
 * The same where critical requests are withheld as well: then the depth was not
 * asked.
 */
static u64 retry_held_at(const struct fgio_queue *queue)
{
	u64 at_ns = fgio_queue_held_until(queue);

	if (queue->own.queued[FGIO_NONCRITICAL] &&
	    fgio_queue_release_has_room(queue) && !fgio_queue_probes(queue))
		at_ns = smaller(at_ns, queue->next_release_ns);
	return at_ns;
}

/* Return: NULL if all requests are withheld. */
struct fgio_request *fgio_queue_choose_weighed(struct fgio_hw_queue *hw,
					       u64 now_ns)
{
	struct fgio_queue *queue = hw->queue;
	struct fgio_request *request;
	bool held;

	request = next_beside_critical(hw, now_ns);
	if (request)
		return request;
	held = hw->queued[FGIO_CRITICAL];
	/*
	 * The last non-critical request may leave the device before it can see
	 * that its room is wanted. Announce that first, then look once more:
	 * either its completion sees the flag, or this call sees the room.
	 */
	fgio_queue_write_off_overdue(queue, now_ns);
	if (held)
		fgio_queue_hold_critical(queue, now_ns);
	if (fgio_queue_withhold(queue, now_ns))
		request = next_beside_critical(hw, now_ns);
	if (!request)
		queue->retry_ns = held ? retry_held_at(queue) :
					 fgio_queue_retry_at(queue);
	else if (held)
		fgio_queue_retry(queue);
	else if (!queue->hw)
		fgio_exchange(&queue->withheld, FGIO_WITHHELD_NOT);
	else /* others may wait: it stays announced, for which a look is due */
		queue->retry_ns = fgio_queue_retry_at(queue);
	return request;
}

/* A critical request went. @ranks: some were ranked before. */
static void tell_bound(struct fgio_queue *queue, bool ranks, u64 now_ns)
{
	struct fgio_hw_queue *own = &queue->own;

	if (ranks)
		fgio_request_bound_went(&own->by_request->bound,
					own->queued[FGIO_CRITICAL], now_ns);
	else
		fgio_request_bound_pauses(&own->by_request->bound);
}

/* The clock was read for the order of users' requests: nothing is weighed. */
static bool only_orders(const struct fgio_queue *queue)
{
	return !queue->shares && !queue->one_class &&
	       !fgio_hw_queue_has(&queue->own, FGIO_NONCRITICAL) &&
	       !fgio_queue_sweeps(queue);
}

/* Without shares, or critical I/O is about. At least one request is queued. */
static FGIO_SELDOM struct fgio_request *
next_by_class(struct fgio_queue *queue, u64 now_ns,
	      const struct fgio_sweep *sweep)
{
	struct fgio_request *request;
	enum fgio_queue_mode mode;
	bool ranks, orders;

	if (queue->shares && !now_ns)
		now_ns = fgio_shares_run_ns(queue->shares);
	fgio_hw_queue_tell_time(&queue->own, now_ns);
	ranks = fgio_hw_queue_ranks(&queue->own);
	orders = ranks && only_orders(queue);
	mode = orders ? FGIO_QUEUE_FREE : fgio_queue_mode_at(queue, now_ns);
	fgio_queue_measure(queue, mode, now_ns);
	if (queue->shares)
		request = fgio_queue_choose_shared(queue, mode, now_ns);
	else if (mode == FGIO_QUEUE_FREE && !(orders && reaches_bound(queue)))
		request = fgio_queue_choose_free(&queue->own, sweep, now_ns);
	else
		request = fgio_queue_choose_weighed(&queue->own, now_ns);
	if (!request)
		return NULL;
	fgio_queue_hand_over(request, now_ns);
	if (queue->own.by_request && request->class == FGIO_CRITICAL)
		tell_bound(queue, ranks, now_ns);
	return request;
}

struct fgio_request *fgio_queue_next(struct fgio_queue *queue, u64 now_ns,
				     const struct fgio_sweep *sweep)
{
	queue->retry_ns = 0;
	if (!fgio_queue_holds_requests(queue))
		return NULL;
	if (fgio_queue_is_plainly_shared(queue))
		return fgio_queue_next_in_turn(queue, now_ns);
	return next_by_class(queue, now_ns, sweep);
}

u64 fgio_queue_retry_ns(const struct fgio_queue *queue)
{
	return queue->retry_ns;
}

void fgio_queue_retry(struct fgio_queue *queue)
{
	fgio_exchange(&queue->withheld, FGIO_WITHHELD_NOT);
	/* Seldom, and never where many hardware queues read what this shares. */
	if (fgio_load(&queue->critical_held))
		fgio_exchange(&queue->critical_held, false);
}

/*
 * No critical I/O is waited for any more: note the time, to predict the next
 * one.
 */
static void note_quiet(struct fgio_queue *queue, u64 now_ns)
{
	if (fgio_queue_adapts(queue) && !fgio_queue_has(queue, FGIO_CRITICAL))
		fgio_depth_quiet(&queue->depth, now_ns);
}

static bool asks_for_room(struct fgio_queue *queue)
{
	return fgio_load(&queue->withheld) == FGIO_WITHHELD_TO_COMPLETION &&
	       fgio_exchange(&queue->withheld, FGIO_WITHHELD_NOT);
}

bool fgio_queue_left_device(struct fgio_queue *queue,
			    struct fgio_request *request, u64 now_ns)
{
	bool measured = request->depth.sent_ns;
	u8 class = request->class;
	u32 left;

	fgio_request_set_state(request, FGIO_REQUEST_IDLE);
	if (class == FGIO_CRITICAL)
		fgio_queue_saw_critical_at(queue, now_ns);
	left = fgio_inflight_leave(&request->hw->in_device[class],
				   request->epoch);
	if (request->share.group)
		fgio_shares_left(request, now_ns);
	/* Requests dispatched while nothing was weighed are not measured. */
	if (measured)
		fgio_depth_completed(&queue->depth, &request->depth, class,
				     class == FGIO_CRITICAL ? 0 : counted(queue),
				     now_ns);
	if (class == FGIO_CRITICAL) {
		if (!left && (!queue->hw || measured))
			note_quiet(queue, now_ns);
		if (fgio_load(&queue->critical_held) &&
		    fgio_exchange(&queue->critical_held, false)) {
			asks_for_room(queue);
			return true;
		}
		/* Those that the device is told of run others often enough. */
		if (queue->hw && !measured)
			return false;
		if (queue->shares)
			return asks_for_room(queue);
		if (fgio_queue_adapts(queue) ?
			    fgio_depth_rests(&queue->depth, now_ns) :
			    now_ns < fgio_load(&queue->next_release_ns))
			return false;
	}
	return asks_for_room(queue);
}

/*
 * The task that waits for it will be back: critical I/O stays present until it
 * ends.
 */
void fgio_queue_flush_begins(struct fgio_queue *queue, struct fgio_flush *flush,
			     bool commits, u64 now_ns)
{
	/* A disk that begins to be shared loses them at any time. */
	struct fgio_hw_queue *const *hw = fgio_load(&queue->hw);

	fgio_raise(&queue->flush_until_ns, now_ns + FLUSH_MOST_NS);
	fgio_depth_flush_begins(&queue->depth, flush, commits, now_ns);
	if (hw)
		fgio_depth_flush_covers(&queue->depth, flush,
					fgio_hw_queues_wrote(queue, hw));
}

bool fgio_queue_flush_ends(struct fgio_queue *queue,
			   const struct fgio_flush *flush, u64 now_ns)
{
	u64 until_ns = flush->begin_ns + FLUSH_MOST_NS;

	fgio_raise(&queue->critical_seen_ns, now_ns);
	/* A later flush under way keeps its own time. */
	fgio_replace(&queue->flush_until_ns, &until_ns, 0);
	fgio_depth_flush_ends(&queue->depth, flush, now_ns);
	return asks_for_room(queue);
}

/* With a learnt limit, only a completion says that there is room. */
bool fgio_queue_has_room(const struct fgio_queue *queue)
{
	return !fgio_queue_adapts(queue) && device_has_room(queue);
}

bool fgio_queue_promote(struct fgio_request *request)
{
	if (request->state != FGIO_REQUEST_QUEUED ||
	    request->class == FGIO_CRITICAL)
		return false;
	fgio_request_take_out(request);
	request->class = FGIO_CRITICAL;
	fgio_request_line_up(request, FGIO_TO_TAIL);
	fgio_request_set_state(request, FGIO_REQUEST_QUEUED);
	fgio_store(&request->hw->queued[FGIO_CRITICAL],
		   request->hw->queued[FGIO_CRITICAL] + 1);
	if (request->share.group) {
		fgio_shares_added(request);
		/* Its group may be one that others are withheld for. */
		fgio_queue_retry(request->hw->queue);
	}
	request->hw->counters.promoted++;
	return true;
}

/*
 * The request at @node, or the first write where @node is the head of the
 * reads.
 */
static struct fgio_request *queued_at(const struct fgio_order *order,
				      struct fgio_list *node)
{
	if (node == &order->fifo[false])
		node = order->fifo[true].next;
	if (node == &order->fifo[true])
		return NULL;
	return fgio_container_of(node, struct fgio_request, link);
}

/* The first request of the groups after @group (NULL: of all). */
static struct fgio_request *first_after(const struct fgio_shares *shares,
					const struct fgio_share_group *group,
					enum fgio_class class)
{
	struct fgio_share_group *next =
		fgio_shares_backlogged_after(shares, group);

	while (next && !next->queued[class])
		next = fgio_shares_backlogged_after(shares, next);
	return next ? queued_at(&next->order[class],
				next->order[class].fifo[false].next) :
		      NULL;
}

struct fgio_request *fgio_hw_queue_first(struct fgio_hw_queue *hw,
					 enum fgio_class class)
{
	if (hw->queue->shares)
		return first_after(hw->queue->shares, NULL, class);
	return queued_at(&hw->order[class], hw->order[class].fifo[false].next);
}

struct fgio_request *fgio_hw_queue_after(const struct fgio_request *request)
{
	const struct fgio_share_group *group = request->share.group;

	if (group)
		return queued_at(&group->order[request->class],
				 request->link.next) ?:
			       first_after(group->shares, group,
					   request->class);
	return queued_at(&request->hw->order[request->class],
			 request->link.next);
}

static bool covers(const struct fgio_request *request, u64 sector)
{
	return sector >= request->sector &&
	       sector - request->sector < request->sectors;
}

struct fgio_request *fgio_hw_queue_promote_sector(struct fgio_hw_queue *hw,
						  u64 sector)
{
	struct fgio_request *request, *next;

	fgio_hw_queue_for_each(hw, FGIO_NONCRITICAL, request, next) {
		if (covers(request, sector)) {
			fgio_queue_promote(request);
			return request;
		}
	}
	return NULL;
}
