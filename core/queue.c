// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "number.h"
#include "queue.h"

/* Of a disk with a full cache. */
#define FLUSH_MOST_NS 1000000000ULL

enum mode {
	FREE,     /* nothing is held back */
	RECENT,   /* critical I/O may come back */
	WEIGHED,  /* critical I/O is present */
};

void fgio_queue_init(struct fgio_queue *queue, bool rotates)
{
	*queue = (struct fgio_queue){ .config = FGIO_QUEUE_CONFIG_DEFAULT };
	fgio_order_init(&queue->order[FGIO_NONCRITICAL]);
	fgio_order_init(&queue->order[FGIO_CRITICAL]);
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
	fgio_exchange(&queue->withheld, 0);
}

static void set_state(struct fgio_request *request,
		      enum fgio_request_state state)
{
	fgio_store(&request->state, (u8)state);
}

bool fgio_request_is_in_device(const struct fgio_request *request)
{
	return fgio_load(&request->state) == FGIO_REQUEST_IN_DEVICE;
}

static struct fgio_list *fifo_of(struct fgio_queue *queue,
				 const struct fgio_request *request)
{
	return &queue->order[request->class].fifo[request->write];
}

void fgio_queue_insert(struct fgio_queue *queue, struct fgio_request *request,
		       bool at_head)
{
	struct fgio_list *fifo = fifo_of(queue, request);
	u8 class = request->class;

	/* The last one left earlier: that ended the time that is measured. */
	if (queue->measures && class == FGIO_NONCRITICAL &&
	    !queue->queued[FGIO_NONCRITICAL] &&
	    !fgio_queue_in_device(queue, FGIO_NONCRITICAL))
		queue->measures = false;
	if (at_head) {
		request->queued_ns = 0;
		fgio_list_add_head(fifo, &request->link);
	} else {
		fgio_list_add_tail(fifo, &request->link);
	}
	set_state(request, FGIO_REQUEST_QUEUED);
	fgio_store(&queue->queued[class], queue->queued[class] + 1);
	queue->counters.queued[class]++;
}

static void take_out(struct fgio_queue *queue, struct fgio_request *request)
{
	u8 class = request->class;

	fgio_list_remove(&request->link);
	set_state(request, FGIO_REQUEST_IDLE);
	fgio_store(&queue->queued[class], queue->queued[class] - 1);
}

void fgio_queue_absorb(struct fgio_queue *queue, struct fgio_request *request,
		       struct fgio_request *absorbed)
{
	if (absorbed->class == FGIO_CRITICAL)
		fgio_queue_promote(queue, request);
	if (absorbed->state != FGIO_REQUEST_QUEUED)
		return;
	if (absorbed->class == request->class &&
	    absorbed->write == request->write &&
	    absorbed->queued_ns < request->queued_ns) {
		fgio_list_remove(&request->link);
		fgio_list_add_head(&absorbed->link, &request->link);
		request->queued_ns = absorbed->queued_ns;
	}
	take_out(queue, absorbed);
}

void fgio_queue_resize(struct fgio_request *request, u64 sector, u32 sectors)
{
	request->sector = sector;
	request->sectors = sectors;
}

bool fgio_queue_critical_present(const struct fgio_queue *queue, u64 now_ns)
{
	u64 seen_ns;

	if (fgio_queue_has(queue, FGIO_CRITICAL))
		return true;
	seen_ns = fgio_load(&queue->critical_seen_ns);
	/* A completion on another CPU may carry a time just after now_ns. */
	return (seen_ns && beyond(now_ns, seen_ns) <
				   queue->config.critical_window_ns) ||
	       now_ns < fgio_load(&queue->flush_until_ns);
}

static bool adapts(const struct fgio_queue *queue)
{
	return !fgio_load(&queue->config.noncritical_in_device_max);
}

/* Non-critical requests in the device, as a limit counts them. */
static u32 counted(const struct fgio_queue *queue)
{
	return fgio_inflight_counted(&queue->in_device[FGIO_NONCRITICAL]);
}

/* The fixed limit, or a limit of one if there is none. */
static bool device_has_room(const struct fgio_queue *queue)
{
	u32 max = queue->config.noncritical_in_device_max;

	return counted(queue) < (max ?: 1);
}

static bool release_has_room(const struct fgio_queue *queue)
{
	return device_has_room(queue) ||
	       counted(queue) < fgio_queue_in_device(queue, FGIO_CRITICAL) /
					FGIO_RELEASE_SHARE;
}

static u64 release_interval_ns(const struct fgio_queue *queue,
			       const struct fgio_request *released)
{
	u64 interval_ns = queue->config.release_interval_ns;

	if (!adapts(queue))
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

/*
 * Beside and among critical I/O only age counts: few requests are in the
 * device.
 */
static struct fgio_request *next_of(const struct fgio_queue *queue,
				    enum fgio_class class)
{
	return fgio_order_choose(&queue->order[class], FGIO_ORDER_AGE, NULL, 0);
}

static bool may_go_in_turn(struct fgio_queue *queue, u64 now_ns)
{
	const struct fgio_request *first = next_of(queue, FGIO_NONCRITICAL);
	const u32 in_device[FGIO_CLASSES] = {
		[FGIO_NONCRITICAL] = counted(queue),
		[FGIO_CRITICAL] = fgio_queue_in_device(queue, FGIO_CRITICAL),
	};

	if (!adapts(queue))
		return device_has_room(queue);
	return fgio_depth_allows(&queue->depth, first->sectors, first->write,
				 in_device,
				 queue->queued[FGIO_NONCRITICAL], now_ns);
}

/* Begins with the first call that finds I/O of both classes present. */
static void measure(struct fgio_queue *queue, enum mode mode, u64 now_ns)
{
	bool measures = mode != FREE && adapts(queue) &&
			fgio_queue_both_present(queue);

	if (measures && !queue->measures)
		fgio_depth_begin(&queue->depth, counted(queue), queue->unseen,
				 now_ns);
	queue->measures = measures;
	if (!measures)
		return;
	fgio_depth_learn(&queue->depth, now_ns);
	fgio_depth_turn(&queue->depth, mode == RECENT, now_ns);
}

static void measure_request(struct fgio_queue *queue,
			    struct fgio_request *request, u64 now_ns)
{
	bool critical = request->class == FGIO_CRITICAL;
	u32 others = counted(queue);

	request->depth.sent_ns = 0;
	if (!critical && request->write)
		fgio_depth_wrote(&queue->depth, request->sectors);
	if (critical && adapts(queue))
		fgio_depth_critical_came(&queue->depth, request->sectors,
					 request->write, request->queued_ns);
	queue->unseen = !queue->measures && (queue->unseen || !critical);
	if (queue->measures)
		fgio_depth_sent(&queue->depth, &request->depth,
				request->class, request->sector,
				request->sectors, request->write, others,
				now_ns);
}

static void hand_to_device(struct fgio_queue *queue,
			   struct fgio_request *request, u64 now_ns)
{
	u8 class = request->class;

	take_out(queue, request);
	measure_request(queue, request, now_ns);
	set_state(request, FGIO_REQUEST_IN_DEVICE);
	request->epoch = fgio_inflight_enter(&queue->in_device[class]);
	queue->counters.dispatched[class]++;
	if (request->queued_ns && now_ns > request->queued_ns)
		queue->counters.waited_ns[class] += now_ns - request->queued_ns;
}

/* The functions up to choose_withholding() choose the request that goes. */

static inline struct fgio_request *oldest_of(struct fgio_queue *queue,
					     enum fgio_class class)
{
	struct fgio_request *request = next_of(queue, class);

	fgio_order_went(&queue->order[class], request, FGIO_ORDER_AGE, NULL);
	return request;
}

/* A probe: critical I/O is to be alone for a moment. */
static bool probes(const struct fgio_queue *queue)
{
	return adapts(queue) && fgio_depth_probes(&queue->depth);
}

/* Whether the others have places of their own in the device. */
static bool shares(const struct fgio_queue *queue)
{
	return adapts(queue) && fgio_depth_shares(&queue->depth);
}

static struct fgio_request *
next_beside_critical(struct fgio_queue *queue, u64 now_ns)
{
	bool critical = queue->queued[FGIO_CRITICAL];
	bool noncritical = queue->queued[FGIO_NONCRITICAL];
	bool in_turn = noncritical && (!critical || shares(queue)) &&
		       may_go_in_turn(queue, now_ns);
	bool due = now_ns >= queue->next_release_ns &&
		   release_has_room(queue) && !probes(queue);
	struct fgio_request *request;

	if (noncritical && (in_turn || due)) {
		request = oldest_of(queue, FGIO_NONCRITICAL);
		queue->counters.starvation_releases += !in_turn;
		plan_next_release(queue, request, now_ns);
		return request;
	}
	return critical ? oldest_of(queue, FGIO_CRITICAL) : NULL;
}

/* As with one class, but critical requests go first. */
static struct fgio_request *next_unweighed(struct fgio_queue *queue,
					   const struct fgio_sweep *sweep,
					   u64 now_ns)
{
	struct fgio_order *order = &queue->order[FGIO_NONCRITICAL];
	enum fgio_order_by by = sweep ? FGIO_ORDER_SWEEP : FGIO_ORDER_SHARE;
	struct fgio_request *request;

	if (queue->queued[FGIO_CRITICAL])
		return oldest_of(queue, FGIO_CRITICAL);
	request = fgio_order_choose(order, by, sweep, now_ns);
	fgio_order_went(order, request, by, sweep);
	return request;
}

/* Length of the recent window. */
static u64 recent_ns(const struct fgio_queue *queue)
{
	return FGIO_QUEUE_RECENT_WINDOWS * queue->config.critical_window_ns;
}

/*
 * Whether this is a recent window: critical I/O should find the device nearly
 * idle.
 */
static bool may_come_back(const struct fgio_queue *queue, u64 seen_ns,
			  u64 now_ns)
{
	return seen_ns && adapts(queue) && !fgio_depth_rotates(&queue->depth) &&
	       beyond(now_ns, seen_ns) < recent_ns(queue);
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
static enum mode mode_at(struct fgio_queue *queue, u64 now_ns)
{
	u64 seen_ns = fgio_load(&queue->critical_seen_ns);

	if (fgio_load(&queue->one_class)) {
		forget_critical(queue, seen_ns, now_ns);
		return FREE;
	}
	if (!now_ns)
		return FREE;
	if (fgio_queue_critical_present(queue, now_ns))
		return WEIGHED;
	if (adapts(queue) && fgio_queue_saw_critical(queue) &&
	    fgio_depth_flush_may_come(&queue->depth, now_ns))
		return WEIGHED;
	if (may_come_back(queue, seen_ns, now_ns))
		return RECENT;
	forget_critical(queue, seen_ns, now_ns);
	return FREE;
}

/*
 * Each dispatch and each completion is a move. Without one for long, the device
 * keeps its requests, for whatever reason: the limit must not hold up the
 * others.
 */
static void write_off_overdue(struct fgio_queue *queue, u64 now_ns)
{
	struct fgio_queue_still *still = &queue->still;
	u64 moves = 2 * queue->counters.dispatched[FGIO_NONCRITICAL] -
		    fgio_queue_in_device(queue, FGIO_NONCRITICAL);

	if (moves == still->moves &&
	    now_ns < still->since_ns + FGIO_QUEUE_STILL_NS)
		return;
	if (moves == still->moves)
		fgio_inflight_write_off(&queue->in_device[FGIO_NONCRITICAL]);
	still->moves = moves;
	still->since_ns = now_ns;
}

/* The first time at which a withheld request may go. */
static u64 retry_at(const struct fgio_queue *queue)
{
	u64 at_ns = queue->still.since_ns + FGIO_QUEUE_STILL_NS;

	if (release_has_room(queue) && !probes(queue))
		at_ns = smaller(at_ns, queue->next_release_ns);
	if (adapts(queue) && fgio_depth_retry_ns(&queue->depth))
		at_ns = smaller(at_ns, fgio_depth_retry_ns(&queue->depth));
	return at_ns;
}

/* Return: NULL if all requests are withheld. */
static struct fgio_request *choose_withholding(struct fgio_queue *queue,
					       u64 now_ns)
{
	struct fgio_request *request;

	request = next_beside_critical(queue, now_ns);
	if (request)
		return request;
	/*
	 * The last non-critical request may leave the device before it can see
	 * that its room is wanted. Announce that first, then look once more:
	 * either its completion sees the flag, or this call sees the room.
	 */
	fgio_exchange(&queue->withheld, 1);
	write_off_overdue(queue, now_ns);
	request = next_beside_critical(queue, now_ns);
	if (request)
		fgio_exchange(&queue->withheld, 0);
	else
		queue->retry_ns = retry_at(queue);
	return request;
}

struct fgio_request *fgio_queue_next(struct fgio_queue *queue, u64 now_ns,
				     const struct fgio_sweep *sweep)
{
	struct fgio_request *request;
	enum mode mode;

	queue->retry_ns = 0;
	if (!fgio_queue_holds_requests(queue))
		return NULL;
	mode = mode_at(queue, now_ns);
	measure(queue, mode, now_ns);
	request = mode == FREE ?
			  next_unweighed(queue, sweep, now_ns) :
			  choose_withholding(queue, now_ns);
	if (request)
		hand_to_device(queue, request, now_ns);
	return request;
}

u64 fgio_queue_retry_ns(const struct fgio_queue *queue)
{
	return queue->retry_ns;
}

void fgio_queue_retry(struct fgio_queue *queue)
{
	fgio_exchange(&queue->withheld, 0);
}

/*
 * No critical I/O is waited for any more: note the time, to predict the next
 * one.
 */
static void note_quiet(struct fgio_queue *queue, u32 in_device, u64 now_ns)
{
	if (!in_device && adapts(queue) &&
	    !fgio_load(&queue->queued[FGIO_CRITICAL]))
		fgio_depth_quiet(&queue->depth, now_ns);
}

bool fgio_queue_left_device(struct fgio_queue *queue,
			    struct fgio_request *request, u64 now_ns)
{
	u32 epoch = request->epoch;
	u8 class = request->class;
	u32 in_device;

	set_state(request, FGIO_REQUEST_IDLE);
	if (class == FGIO_CRITICAL)
		fgio_raise(&queue->critical_seen_ns, now_ns);
	in_device = fgio_inflight_leave(&queue->in_device[class], epoch);
	/* Requests dispatched while nothing was weighed are not measured. */
	if (request->depth.sent_ns)
		fgio_depth_completed(&queue->depth, &request->depth, class,
				     counted(queue), now_ns);
	if (class == FGIO_CRITICAL) {
		note_quiet(queue, in_device, now_ns);
		if (adapts(queue) ?
			    fgio_depth_rests(&queue->depth, now_ns) :
			    now_ns < fgio_load(&queue->next_release_ns))
			return false;
	}
	return fgio_load(&queue->withheld) &&
	       fgio_exchange(&queue->withheld, 0);
}

/*
 * The task that waits for it will be back: critical I/O stays present until it
 * ends.
 */
void fgio_queue_flush_begins(struct fgio_queue *queue, struct fgio_flush *flush,
			     bool commits, u64 now_ns)
{
	fgio_raise(&queue->flush_until_ns, now_ns + FLUSH_MOST_NS);
	fgio_depth_flush_begins(&queue->depth, flush, commits, now_ns);
}

bool fgio_queue_flush_ends(struct fgio_queue *queue,
			   const struct fgio_flush *flush, u64 now_ns)
{
	u64 until_ns = flush->begin_ns + FLUSH_MOST_NS;

	fgio_raise(&queue->critical_seen_ns, now_ns);
	/* A later flush under way keeps its own time. */
	fgio_replace(&queue->flush_until_ns, &until_ns, 0);
	fgio_depth_flush_ends(&queue->depth, flush, now_ns);
	return fgio_load(&queue->withheld) &&
	       fgio_exchange(&queue->withheld, 0);
}

/* With a learnt limit, only a completion says that there is room. */
bool fgio_queue_has_room(const struct fgio_queue *queue)
{
	return !adapts(queue) && device_has_room(queue);
}

bool fgio_queue_promote(struct fgio_queue *queue, struct fgio_request *request)
{
	if (request->state != FGIO_REQUEST_QUEUED ||
	    request->class == FGIO_CRITICAL)
		return false;
	take_out(queue, request);
	request->class = FGIO_CRITICAL;
	fgio_list_add_tail(fifo_of(queue, request), &request->link);
	set_state(request, FGIO_REQUEST_QUEUED);
	fgio_store(&queue->queued[FGIO_CRITICAL],
		   queue->queued[FGIO_CRITICAL] + 1);
	queue->counters.promoted++;
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

struct fgio_request *fgio_queue_first(struct fgio_queue *queue,
				      enum fgio_class class)
{
	return queued_at(&queue->order[class],
			 queue->order[class].fifo[false].next);
}

struct fgio_request *fgio_queue_after(struct fgio_queue *queue,
				      struct fgio_request *request)
{
	return queued_at(&queue->order[request->class], request->link.next);
}

static bool covers(const struct fgio_request *request, u64 sector)
{
	return sector >= request->sector &&
	       sector - request->sector < request->sectors;
}

struct fgio_request *fgio_queue_promote_sector(struct fgio_queue *queue,
					       u64 sector)
{
	struct fgio_request *request, *next;

	fgio_queue_for_each(queue, FGIO_NONCRITICAL, request, next) {
		if (covers(request, sector)) {
			fgio_queue_promote(queue, request);
			return request;
		}
	}
	return NULL;
}
