// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "queue.h"

/* Of a disk with a full cache. */
#define FLUSH_MOST_NS 1000000000ULL

void fgio_queue_init(struct fgio_queue *queue, bool rotates)
{
	*queue = (struct fgio_queue){ .config = FGIO_QUEUE_CONFIG_DEFAULT };
	fgio_list_init(&queue->fifo[FGIO_NONCRITICAL]);
	fgio_list_init(&queue->fifo[FGIO_CRITICAL]);
	fgio_depth_init(&queue->depth, rotates);
	fgio_calm_init(&queue->calm, rotates);
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

void fgio_queue_insert(struct fgio_queue *queue, struct fgio_request *request,
		       bool at_head)
{
	u8 class = request->class;

	if (at_head)
		fgio_list_add_head(&queue->fifo[class], &request->link);
	else
		fgio_list_add_tail(&queue->fifo[class], &request->link);
	set_state(request, FGIO_REQUEST_QUEUED);
	request->calm_ns = 0;
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

bool fgio_queue_critical_about(const struct fgio_queue *queue, u64 now_ns)
{
	u64 seen_ns;

	if (fgio_load(&queue->queued[FGIO_CRITICAL]) ||
	    fgio_load(&queue->in_device[FGIO_CRITICAL]))
		return true;
	seen_ns = fgio_load(&queue->critical_seen_ns);
	/* A completion on another CPU may carry a time just after now_ns. */
	return seen_ns && (now_ns < seen_ns ||
			   now_ns - seen_ns < queue->config.critical_window_ns);
}

bool fgio_queue_holds_requests(const struct fgio_queue *queue)
{
	return fgio_load(&queue->queued[FGIO_CRITICAL]) ||
	       fgio_load(&queue->queued[FGIO_NONCRITICAL]);
}

bool fgio_queue_saw_critical(const struct fgio_queue *queue)
{
	return fgio_load(&queue->critical_seen_ns);
}

/* Without I/O of both classes there is nothing to weigh against each other. */
bool fgio_queue_needs_clock(const struct fgio_queue *queue)
{
	if (fgio_load(&queue->one_class))
		return false;
	if (!fgio_load(&queue->queued[FGIO_NONCRITICAL]) &&
	    !fgio_load(&queue->in_device[FGIO_NONCRITICAL]))
		return false;
	return fgio_load(&queue->queued[FGIO_CRITICAL]) ||
	       fgio_load(&queue->in_device[FGIO_CRITICAL]) ||
	       fgio_queue_saw_critical(queue);
}

static bool adapts(const struct fgio_queue *queue)
{
	return !fgio_load(&queue->config.noncritical_in_device_max);
}

/* By the fixed limit; by that of one, where there is none. */
static bool device_has_room(const struct fgio_queue *queue)
{
	u32 max = queue->config.noncritical_in_device_max;

	return fgio_load(&queue->in_device[FGIO_NONCRITICAL]) < (max ?: 1);
}

static bool release_has_room(const struct fgio_queue *queue)
{
	return device_has_room(queue) ||
	       fgio_load(&queue->in_device[FGIO_NONCRITICAL]) <
		       fgio_load(&queue->in_device[FGIO_CRITICAL]) /
			       FGIO_RELEASE_SHARE;
}

static u64 release_interval_ns(const struct fgio_queue *queue,
			       const struct fgio_request *released)
{
	u64 interval_ns = queue->config.release_interval_ns;

	if (!adapts(queue))
		return interval_ns;
	return fgio_depth_promise_ns(&queue->depth, released->sectors,
				     released->write, interval_ns);
}

/*
 * A request that went late does not put off the next one: the intervals stay
 * on their grid, so that the promised rate is kept on average. But no more
 * than one interval is made good, or a long calm would end in a burst.
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

static struct fgio_request *oldest(struct fgio_queue *queue,
				   enum fgio_class class)
{
	return fgio_container_of(queue->fifo[class].next, struct fgio_request,
				 link);
}

static bool may_go_in_turn(struct fgio_queue *queue, u64 now_ns)
{
	const struct fgio_request *first = oldest(queue, FGIO_NONCRITICAL);

	if (!adapts(queue))
		return device_has_room(queue);
	return fgio_depth_allows(&queue->depth, first->sectors, first->write,
				 queue->in_device, now_ns);
}

/* Begins with the first call for which both classes are about. */
static void measure(struct fgio_queue *queue, u64 now_ns)
{
	bool measures = adapts(queue) && fgio_queue_needs_clock(queue);

	if (measures && !queue->measures)
		fgio_depth_begin(&queue->depth,
				 fgio_load(&queue->in_device[FGIO_NONCRITICAL]),
				 now_ns);
	queue->measures = measures;
	fgio_calm_end(&queue->calm);
	if (!measures)
		return;
	fgio_depth_learn(&queue->depth, now_ns);
	fgio_calm_set_rotates(&queue->calm, fgio_depth_rotates(&queue->depth));
}

static void measure_request(struct fgio_queue *queue,
			    struct fgio_request *request, u64 now_ns)
{
	bool critical = request->class == FGIO_CRITICAL;
	u32 others = fgio_load(&queue->in_device[FGIO_NONCRITICAL]);

	request->depth.sent_ns = 0;
	if (!critical && request->write)
		fgio_depth_wrote(&queue->depth, request->sectors);
	if (critical && adapts(queue))
		fgio_depth_critical_came(&queue->depth, request->sectors,
					 request->write, request->queued_ns);
	if (queue->measures)
		fgio_depth_sent(&queue->depth, &request->depth,
				request->sector, request->sectors,
				request->write, others, now_ns);
}

static struct fgio_request *hand_to_device(struct fgio_queue *queue,
					   struct fgio_request *request,
					   u64 now_ns)
{
	u8 class = request->class;

	take_out(queue, request);
	measure_request(queue, request, now_ns);
	set_state(request, FGIO_REQUEST_IN_DEVICE);
	fgio_add(&queue->in_device[class], 1);
	queue->counters.dispatched[class]++;
	if (request->queued_ns && now_ns > request->queued_ns)
		queue->counters.waited_ns[class] += now_ns - request->queued_ns;
	return request;
}

static struct fgio_request *
next_beside_critical(struct fgio_queue *queue, u64 now_ns)
{
	bool critical = queue->queued[FGIO_CRITICAL];
	bool noncritical = queue->queued[FGIO_NONCRITICAL];
	bool in_turn = noncritical && !critical &&
		       may_go_in_turn(queue, now_ns);
	bool due = now_ns >= queue->next_release_ns && release_has_room(queue);
	struct fgio_request *request;

	if (noncritical && (in_turn || due)) {
		request = oldest(queue, FGIO_NONCRITICAL);
		queue->counters.starvation_releases += !in_turn;
		plan_next_release(queue, request, now_ns);
		return hand_to_device(queue, request, now_ns);
	}
	if (critical)
		return hand_to_device(queue, oldest(queue, FGIO_CRITICAL),
				      now_ns);
	return NULL;
}

static struct fgio_request *cheapest_or_oldest(struct fgio_queue *queue,
					       struct fgio_request *cheapest)
{
	struct fgio_request *first;

	if (queue->queued[FGIO_CRITICAL])
		return oldest(queue, FGIO_CRITICAL);
	first = oldest(queue, FGIO_NONCRITICAL);
	if (!cheapest || cheapest == first ||
	    queue->passed_over >= FGIO_PASSED_OVER_MAX) {
		queue->passed_over = 0;
		return first;
	}
	queue->passed_over++;
	return cheapest;
}

/* Whether non-critical requests are held back, or may be. */
static bool is_weighed(const struct fgio_queue *queue, u64 now_ns)
{
	if (fgio_load(&queue->one_class))
		return false;
	if (fgio_queue_critical_about(queue, now_ns))
		return true;
	return adapts(queue) && fgio_queue_saw_critical(queue) &&
	       fgio_depth_flush_may_come(&queue->depth, now_ns);
}

/* Whether critical I/O was about lately, and is to find the device nearly free. */
static bool may_come_back(const struct fgio_queue *queue, u64 now_ns)
{
	u64 seen_ns = fgio_load(&queue->critical_seen_ns);
	u64 calm_ns = FGIO_CALM_WINDOWS * queue->config.critical_window_ns;

	return seen_ns && adapts(queue) && fgio_calm_applies(&queue->calm) &&
	       now_ns - seen_ns < calm_ns;
}

static bool calm_has_room(const struct fgio_queue *queue)
{
	return fgio_calm_has_room(&queue->calm,
				  fgio_load(&queue->in_device[FGIO_NONCRITICAL]));
}

static struct fgio_request *next_in_calm(struct fgio_queue *queue, u64 now_ns,
					 struct fgio_request *cheapest)
{
	struct fgio_request *request;

	if (!calm_has_room(queue)) {
		/* As in fgio_queue_next(): say so first, then look once more. */
		fgio_exchange(&queue->withheld, 1);
		if (!calm_has_room(queue))
			return NULL;
	}
	request = cheapest_or_oldest(queue, cheapest);
	request->calm_ns = now_ns;
	return hand_to_device(queue, request, now_ns);
}

struct fgio_request *fgio_queue_next(struct fgio_queue *queue, u64 now_ns,
				     struct fgio_request *cheapest)
{
	struct fgio_request *request;

	if (!fgio_queue_holds_requests(queue))
		return NULL;
	if (!is_weighed(queue, now_ns)) {
		queue->measures = false;
		if (!queue->one_class && may_come_back(queue, now_ns))
			return next_in_calm(queue, now_ns, cheapest);
		fgio_store(&queue->critical_seen_ns, 0);
		request = cheapest_or_oldest(queue, cheapest);
		return hand_to_device(queue, request, now_ns);
	}

	measure(queue, now_ns);
	request = next_beside_critical(queue, now_ns);
	if (request)
		return request;
	/*
	 * The last non-critical request may leave the device before it can
	 * see that its room is wanted. Say so first, then look once more:
	 * either it sees the word, or we see the room.
	 */
	fgio_exchange(&queue->withheld, 1);
	return next_beside_critical(queue, now_ns);
}

u64 fgio_queue_retry_ns(const struct fgio_queue *queue)
{
	u64 retry_ns = fgio_depth_retry_ns(&queue->depth);

	/* In a calm, what is withheld waits for a completion. */
	if (!adapts(queue) || fgio_load(&queue->one_class) || !queue->measures)
		return 0;
	if (device_has_room(queue) &&
	    (!retry_ns || queue->next_release_ns < retry_ns))
		return queue->next_release_ns;
	return retry_ns;
}

void fgio_queue_retry(struct fgio_queue *queue)
{
	fgio_exchange(&queue->withheld, 0);
}

/* Nobody waits for critical I/O any more: note when, to foresee the next. */
static void note_quiet(struct fgio_queue *queue, u32 in_device, u64 now_ns)
{
	if (!in_device && adapts(queue) &&
	    !fgio_load(&queue->queued[FGIO_CRITICAL]))
		fgio_depth_quiet(&queue->depth, now_ns);
}

bool fgio_queue_left_device(struct fgio_queue *queue,
			    struct fgio_request *request, u64 now_ns)
{
	struct fgio_depth_stamp stamp = request->depth;
	u64 calm_ns = request->calm_ns;
	u8 class = request->class;
	u32 in_device;

	set_state(request, FGIO_REQUEST_IDLE);
	if (class == FGIO_CRITICAL)
		fgio_store(&queue->critical_seen_ns, now_ns);
	in_device = fgio_sub(&queue->in_device[class], 1);
	if (calm_ns)
		fgio_calm_completed(&queue->calm, now_ns - calm_ns,
				    in_device + 1);
	if (stamp.sent_ns)
		fgio_depth_completed(&queue->depth, &stamp, class,
				     fgio_load(&queue->in_device[FGIO_NONCRITICAL]),
				     now_ns);
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

/* Who waits for it will be back: critical I/O is about as long as it may take. */
void fgio_queue_flush_begins(struct fgio_queue *queue, struct fgio_flush *flush,
			     bool commits, u64 now_ns)
{
	fgio_store(&queue->critical_seen_ns, now_ns + FLUSH_MOST_NS);
	fgio_depth_flush_begins(&queue->depth, flush, commits, now_ns);
}

bool fgio_queue_flush_ends(struct fgio_queue *queue,
			   const struct fgio_flush *flush, u64 now_ns)
{
	fgio_store(&queue->critical_seen_ns, now_ns);
	fgio_depth_flush_ends(&queue->depth, flush, now_ns);
	return fgio_load(&queue->withheld) &&
	       fgio_exchange(&queue->withheld, 0);
}

bool fgio_queue_has_work(const struct fgio_queue *queue)
{
	if (fgio_load(&queue->queued[FGIO_CRITICAL]))
		return true;
	return fgio_load(&queue->queued[FGIO_NONCRITICAL]) &&
	       (!fgio_load(&queue->withheld) ||
		(!adapts(queue) && device_has_room(queue)));
}

bool fgio_queue_promote(struct fgio_queue *queue, struct fgio_request *request)
{
	if (request->state != FGIO_REQUEST_QUEUED ||
	    request->class == FGIO_CRITICAL)
		return false;
	take_out(queue, request);
	request->class = FGIO_CRITICAL;
	fgio_list_add_tail(&queue->fifo[FGIO_CRITICAL], &request->link);
	set_state(request, FGIO_REQUEST_QUEUED);
	fgio_store(&queue->queued[FGIO_CRITICAL],
		   queue->queued[FGIO_CRITICAL] + 1);
	queue->counters.promoted++;
	return true;
}

static struct fgio_request *queued_at(struct fgio_queue *queue,
				      enum fgio_class class,
				      struct fgio_list *node)
{
	if (node == &queue->fifo[class])
		return NULL;
	return fgio_container_of(node, struct fgio_request, link);
}

struct fgio_request *fgio_queue_first(struct fgio_queue *queue,
				      enum fgio_class class)
{
	return queued_at(queue, class, queue->fifo[class].next);
}

struct fgio_request *fgio_queue_after(struct fgio_queue *queue,
				      struct fgio_request *request)
{
	return queued_at(queue, request->class, request->link.next);
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
