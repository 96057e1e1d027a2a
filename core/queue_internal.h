/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What queue.c, hw_queue.c, queue_shares.c and shares_charge.c share, and no
 * other.
 */
#ifndef FGIO_CORE_QUEUE_INTERNAL_H
#define FGIO_CORE_QUEUE_INTERNAL_H

#include "atomic.h"
#include "queue.h"

enum fgio_queue_mode {
	FGIO_QUEUE_FREE,    /* nothing is held back */
	FGIO_QUEUE_RECENT,  /* critical I/O may come back */
	FGIO_QUEUE_WEIGHED, /* critical I/O is present */
};

/*
 * If the caller had no reason to read the clock (@now_ns is 0), nothing is
 * weighed: the next call finds the critical I/O seen since then.
 */
enum fgio_queue_mode fgio_queue_mode_at(struct fgio_queue *queue, u64 now_ns);

/*
 * Measuring begins with the first call that finds I/O of both classes present,
 * and learns from the completions since the last one.
 */
void fgio_queue_measure(struct fgio_queue *queue, enum fgio_queue_mode mode,
			u64 now_ns);

/* Nothing is held back: requests may go without the device's leave. */
static inline void fgio_queue_stop_measuring(struct fgio_queue *queue)
{
	queue->count.at_ns = 0;
	/* Others read it: write it seldom. */
	if (queue->measures)
		fgio_store(&queue->measures, false);
}

/* A request goes to the device: the depth is told. */
void fgio_queue_measure_request(struct fgio_queue *queue,
				struct fgio_request *request, u64 now_ns);

/* A queued request goes to the device, which is told of it. */
void fgio_queue_hand_over(struct fgio_request *request, u64 now_ns);

/* The next request where nothing is held back. At least one is queued. */
struct fgio_request *fgio_queue_choose_free(struct fgio_hw_queue *hw,
					    const struct fgio_sweep *sweep,
					    u64 now_ns);

/*
 * The next request beside critical I/O; at least one is queued. Return: NULL if
 * all are withheld; fgio_queue_retry_ns() is set then.
 */
struct fgio_request *fgio_queue_choose_weighed(struct fgio_hw_queue *hw,
					       u64 now_ns);

/* The same two, with fair shares (queue_shares.c). */
struct fgio_request *fgio_queue_choose_shared(struct fgio_queue *queue,
					      enum fgio_queue_mode mode,
					      u64 now_ns);

/*
 * The same two in one with fair shares, and no critical I/O about: nothing is
 * weighed. At least one request is queued.
 */
static inline bool fgio_queue_is_plainly_shared(const struct fgio_queue *queue)
{
	return queue->shares && !fgio_load(&queue->one_class) &&
	       !fgio_queue_saw_critical(queue) &&
	       !fgio_hw_queue_has(&queue->own, FGIO_CRITICAL);
}

struct fgio_request *fgio_queue_next_in_turn(struct fgio_queue *queue,
					     u64 now_ns);

/* Non-critical requests that the device keeps for long count no more. */
void fgio_queue_write_off_overdue(struct fgio_queue *queue, u64 now_ns);

/*
 * Whether minimum service lets a non-critical request go, whatever else is
 * about.
 */
bool fgio_queue_release_is_due(const struct fgio_queue *queue, u64 now_ns);

/*
 * Whether the next non-critical request, of which there is one, may go beside
 * critical I/O.
 */
bool fgio_queue_may_go_in_turn(struct fgio_hw_queue *hw, u64 now_ns);

/* The same for @first. */
bool fgio_queue_may_go(struct fgio_queue *queue,
		       const struct fgio_request *first, u64 now_ns);

/*
 * Whether critical requests wait for a place in the device: they go in the order
 * of users' requests, and it has enough of them.
 */
bool fgio_queue_is_full(const struct fgio_queue *queue);

/*
 * Critical requests are held back: as fgio_queue_withhold(). Then look whether
 * fgio_queue_is_full() again.
 */
void fgio_queue_hold_critical(struct fgio_queue *queue, u64 now_ns);

/* The first time at which they may go, whatever the device does. */
u64 fgio_queue_held_until(const struct fgio_queue *queue);

/* Whether non-critical requests have places of their own in the device. */
bool fgio_queue_has_places(const struct fgio_queue *queue);

/* Whether the in-flight limit has room for a release. */
bool fgio_queue_release_has_room(const struct fgio_queue *queue);

/*
 * Call of fgio_hw_queue_ask() only, before a decision: critical requests are
 * looked for once for all that it grants.
 */
void fgio_queue_look_for_critical(struct fgio_queue *queue, u64 now_ns);

/*
 * Requests are withheld: announce it. A full barrier on both sides. Return:
 * whether it is worth a look if one completed meanwhile.
 */
bool fgio_queue_withhold(struct fgio_queue *queue, u64 now_ns);

/* The first time at which a withheld request may go. */
u64 fgio_queue_retry_at(const struct fgio_queue *queue);

/* The limit is learnt, not set. */
static inline bool fgio_queue_adapts(const struct fgio_queue *queue)
{
	return !fgio_load(&queue->config.noncritical_in_device_max);
}

/* A probe: critical I/O is to be alone for a moment. */
static inline bool fgio_queue_probes(const struct fgio_queue *queue)
{
	return fgio_queue_adapts(queue) && fgio_depth_probes(&queue->depth);
}

void fgio_queue_add_counters(struct fgio_queue_counters *sum,
			     const struct fgio_queue_counters *more);

static inline void fgio_request_set_state(struct fgio_request *request,
					  enum fgio_request_state state)
{
	fgio_store(&request->state, (u8)state);
}

static inline struct fgio_order *
fgio_request_order_of(const struct fgio_request *request)
{
	struct fgio_share_group *group = request->share.group;
	struct fgio_order *order = group ? group->order : request->hw->order;

	return &order[request->class];
}

/* A request joins its FIFO, and the order of users' requests if there is one. */
static inline void fgio_request_line_up(struct fgio_request *request,
					enum fgio_line_up how)
{
	struct fgio_order *order = fgio_request_order_of(request);
	struct fgio_request_order *by_request = request->hw->by_request;
	struct fgio_list *fifo = &order->fifo[request->write];

	if (how == FGIO_TO_HEAD)
		fgio_list_add_head(fifo, &request->link);
	else
		fgio_list_add_tail(fifo, &request->link);
	request->rank.state = FGIO_RANK_NONE;
	if (by_request && request->class == FGIO_CRITICAL &&
	    (request->rank.id || by_request->ranked || by_request->alone.count))
		fgio_request_order_added(by_request, order, request, how);
}

/* The opposite. */
static inline void fgio_request_step_out(struct fgio_request *request)
{
	fgio_list_remove(&request->link);
	if (request->rank.state)
		fgio_request_order_taken(request->hw->by_request,
					 fgio_request_order_of(request),
					 request);
}

/* A request is queued no longer; its group, if it has one, still counts it. */
static inline void fgio_request_leave_line(struct fgio_request *request)
{
	struct fgio_hw_queue *hw = request->hw;
	u8 class = request->class;

	fgio_request_step_out(request);
	fgio_request_set_state(request, FGIO_REQUEST_IDLE);
	fgio_store(&hw->queued[class], hw->queued[class] - 1);
}

static inline void fgio_request_take_out(struct fgio_request *request)
{
	fgio_request_leave_line(request);
	if (request->share.group)
		fgio_shares_taken(request);
}

/* Before a critical request is chosen. */
static inline void fgio_hw_queue_tell_time(struct fgio_hw_queue *hw, u64 now_ns)
{
	if (hw->by_request)
		hw->by_request->now_ns = now_ns;
}

/*
 * Beside and among critical I/O only age counts: few requests are in the
 * device.
 */
static inline struct fgio_request *
fgio_hw_queue_peek(const struct fgio_hw_queue *hw, enum fgio_class class)
{
	return fgio_order_choose(&hw->order[class], FGIO_ORDER_AGE, NULL, 0);
}

/* It is to go next. */
static inline struct fgio_request *
fgio_hw_queue_oldest(struct fgio_hw_queue *hw, enum fgio_class class)
{
	struct fgio_request *request = fgio_hw_queue_peek(hw, class);

	fgio_order_went(&hw->order[class], request, FGIO_ORDER_AGE, NULL);
	return request;
}

/* Inline, so that a class which is known is not looked up. */
static inline void fgio_request_enter_device_as(struct fgio_hw_queue *hw,
						struct fgio_request *request,
						enum fgio_class class,
						u64 now_ns)
{
	fgio_request_set_state(request, FGIO_REQUEST_IN_DEVICE);
	hw->counters.dispatched[class]++;
	request->epoch = fgio_inflight_enter(&hw->in_device[class]);
	if (request->queued_ns && now_ns > request->queued_ns)
		hw->counters.waited_ns[class] += now_ns - request->queued_ns;
}

static inline void fgio_request_enter_device(struct fgio_request *request,
					     u64 now_ns)
{
	fgio_request_enter_device_as(request->hw, request,
				     (enum fgio_class)request->class, now_ns);
}

/* Length of the recent window. */
static inline u64 fgio_queue_recent_ns(const struct fgio_queue *queue)
{
	return FGIO_QUEUE_RECENT_WINDOWS * queue->config.critical_window_ns;
}

#endif /* FGIO_CORE_QUEUE_INTERNAL_H */
