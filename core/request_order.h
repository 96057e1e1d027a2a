/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Which critical I/O goes first: in the order of the users' requests that it
 * serves.
 *
 * A user's request to several servers ends with the slowest of its parts. Where
 * all servers order the I/O of parts by one rank, the same on each of them, no
 * part waits behind those of later requests (HotStorage'17 paper).
 *
 * The rank of an I/O is that of its request id, as far as that is believed
 * (request_id.h). An I/O without one has the rank of a request that arrives as
 * the I/O is queued. Where no I/O with an id is queued, nothing is ranked, and
 * all go in order of arrival. Directions take turns as ever (order.h).
 *
 * - FGIO_BY_ARRIVAL: the earliest request first.
 * - FGIO_BY_BATCH: those that were begun here first, the earliest of them first:
 *   I/O of few requests is mixed.
 * - FGIO_BY_LIMITED: the earliest first, but three light ones for a heavy one,
 *   lest a scan hold up a thousand small requests (after Baraat's FIFO with
 *   limited multiplexing). Heavy ones have had more I/O here than most; of them,
 *   those go first that have had less, in powers of two.
 * - FGIO_BY_SLACK: the earliest deadline first; that of a request without one is
 *   FGIO_REQUEST_DEADLINE_MS after its arrival.
 * - FGIO_BY_BOTTLENECK: the least work first, in powers of two; then the
 *   earliest. The work of a request is what it had here, and at least what
 *   requests with as many parts had.
 *
 * What a request had is remembered for FGIO_REQUEST_MEMOS requests; beyond that
 * the one that was served longest ago is forgotten, which counts as new when its
 * next I/O comes: it loses its place in a batch, or becomes light. Ranks
 * themselves are kept in the I/Os, however many requests there are.
 *
 * While all critical I/O that is queued is of one request, there is nothing to be
 * in order with: it goes first in, first out, and is ranked when another request's
 * comes, if it did not go before. I/Os of one request that were queued in a row are
 * a chain, of which the first is in the heap.
 *
 * While ids are queued, critical I/O in a drive that does not rotate is bounded
 * (request_bound.h): what the drive has, it orders itself. A disk's arm gains by
 * each I/O that it can choose from, so a disk takes all.
 *
 * No I/O waits for ever: of four that go, one is the oldest of its direction
 * once that is older than FGIO_REQUEST_AGE_NS.
 *
 * Locking: the caller serialises all calls for one struct with those for the
 * hardware queue or queue whose requests it orders. Nothing here sleeps or
 * allocates. Each call takes a few steps per level of a heap of the ranked I/Os;
 * as a request begins in a batch, for each of its I/Os; and as a second one comes,
 * for each of the first's, FGIO_REQUEST_ALONE_MOST at most.
 */
#ifndef FGIO_CORE_REQUEST_ORDER_H
#define FGIO_CORE_REQUEST_ORDER_H

#include "atomic.h"
#include "order.h"
#include "request.h"
#include "request_bound.h"
#include "types.h"

enum fgio_request_policy {
	FGIO_BY_NONE, /* ids mean nothing */
	FGIO_BY_ARRIVAL,
	FGIO_BY_BATCH,
	FGIO_BY_LIMITED,
	FGIO_BY_SLACK,
	FGIO_BY_BOTTLENECK,
	FGIO_REQUEST_POLICIES,
};

/* As mq-deadline's read_expire, after which it goes by age. */
#define FGIO_REQUEST_AGE_NS 500000000ULL
/* Of this number of I/Os, one is the oldest if that is too old. */
#define FGIO_REQUEST_AGE_SHARE 4U

/* A deadline for requests without one: what users feel as at once. */
#define FGIO_REQUEST_DEADLINE_MS 100U
/* Later deadlines count as this, lest ranks wrap. */
#define FGIO_REQUEST_DEADLINE_MOST_MS 60000U

/* Requests remembered, in sets of FGIO_REQUEST_MEMO_WAYS. */
#define FGIO_REQUEST_MEMOS 1024U
#define FGIO_REQUEST_MEMO_WAYS 4U

/*
 * A request is heavy from this number of times the I/Os that four of five had
 * at most; that is never less than FGIO_REQUEST_HEAVY_LEAST.
 */
#define FGIO_REQUEST_HEAVY_TIMES 2U
#define FGIO_REQUEST_HEAVY_LEAST 4U

/* Light ones that go before a heavy one does. */
#define FGIO_REQUEST_LIGHT_RUN 3U

/* With more I/Os than this, a request's are ranked though it is alone. */
#define FGIO_REQUEST_ALONE_MOST 64U

/* Parts are told apart in powers of two. */
#define FGIO_REQUEST_SIZES 8U

/**
 * struct fgio_request_memo - what a user's request had here
 * @id: rank of the request; 0: free
 * @served: I/Os of it that went
 * @queued: I/Os of it that are ranked
 * @used: number of its last use; the order counts them
 * @size: power of two of its parts
 * @last: of those that are ranked, the one that came last, as far as is known;
 *	or NULL
 */
struct fgio_request_memo {
	u64 id;
	struct fgio_request *last;
	u32 served;
	u32 used;
	u16 queued;
	u8 size;
};

/* No I/O was queued then. */
#define FGIO_NOT_BELIEVED (~0ULL)

/**
 * struct fgio_request_alone - a request that all queued critical I/O is of
 * @count: its I/Os, which are not ranked; 0: there is none such
 * @bounds: a full drive holds them back
 * @id: its id, a claim
 * @order: the one that they are queued in
 * @memo: its memo, if that was not given to another request since
 * @believed_ns: its id was believed as it is when I/O was queued at this time
 */
struct fgio_request_alone {
	u32 count;
	bool bounds;
	u64 id;
	struct fgio_order *order;
	struct fgio_request_memo *memo;
	u64 believed_ns;
};

/**
 * struct fgio_request_order - the order of a queue or a hardware queue; only the
 *	functions here touch the members
 * @policy: enum fgio_request_policy
 * @ranked: I/Os that are ranked now
 * @requests: users' requests with ranked I/Os, but for those forgotten
 * @number: of the next one
 * @uses: of memos, in total
 * @alone: the only request that has critical I/O queued
 * @now_ns: time of the last decision
 * @real_ns: add to the clock of fgio_queue_next() for the time since 1970
 * @passed: I/Os that went since the last one by age
 * @light_went: of a direction, light ones since the last heavy one, while heavy
 *	ones are queued
 * @heavy_x16: I/Os, in sixteenths, that four of five requests had at most
 * @typical_x16: mean I/Os of requests, by size, in sixteenths
 * @memo: in sets by hash of the id
 * @forgotten: requests that were forgotten with I/O queued, in total
 * @aged: I/Os that went by age, in total
 * @clamped: ranked I/Os whose id was beyond a bound, in total
 * @foreign: I/Os whose number is no id, in total
 * @late: I/Os that went after the deadline of their request, in total
 * @bound: of critical I/O in the drive, where this orders all of it
 */
struct fgio_request_order {
	u32 policy;
	u32 ranked;
	u32 requests;
	u32 number;
	u32 uses;
	u32 passed;
	u64 now_ns;
	u64 real_ns;
	struct fgio_request_alone alone;
	u8 light_went[FGIO_DIRECTIONS];
	u32 heavy_x16;
	u32 typical_x16[FGIO_REQUEST_SIZES];
	u64 forgotten;
	u64 aged;
	u64 clamped;
	u64 foreign;
	u64 late;
	struct fgio_request_bound bound;
	struct fgio_request_memo memo[FGIO_REQUEST_MEMOS];
};

/* @policy: enum fgio_request_policy; may change between two calls. */
void fgio_request_order_init(struct fgio_request_order *by_request,
			     enum fgio_request_policy policy);

static inline void
fgio_request_order_set_policy(struct fgio_request_order *by_request,
			      enum fgio_request_policy policy)
{
	by_request->policy = policy;
	by_request->alone.believed_ns = FGIO_NOT_BELIEVED;
}

/*
 * The time since 1970 is @real_ns more than the clock of fgio_queue_next(). At
 * first it is 0.
 */
static inline void
fgio_request_order_set_clock(struct fgio_request_order *by_request,
			     u64 real_ns)
{
	if (by_request->real_ns == real_ns)
		return;
	by_request->real_ns = real_ns;
	by_request->alone.believed_ns = FGIO_NOT_BELIEVED;
}

/* How a request joins its FIFO. */
enum fgio_line_up {
	FGIO_TO_TAIL,
	FGIO_TO_HEAD,
	FGIO_TO_TAIL_AGAIN, /* it was queued before, in another one */
};

/**
 * fgio_request_order_added() - rank a request that just joined a FIFO
 * @by_request: the order
 * @order: the FIFO's
 * @request: its queued_ns is set, and it is in no rank
 * @how: at the head, it is not ranked; once more, its claim is not counted
 */
void fgio_request_order_added(struct fgio_request_order *by_request,
			      struct fgio_order *order,
			      struct fgio_request *request,
			      enum fgio_line_up how);

/* A request that has a rank, or whose user's request is alone, is queued no more. */
void fgio_request_order_taken_ranked(struct fgio_request_order *by_request,
				     struct fgio_order *order,
				     struct fgio_request *request);

static inline void
fgio_request_order_taken(struct fgio_request_order *by_request,
			 struct fgio_order *order, struct fgio_request *request)
{
	if (request->rank.state != FGIO_RANK_ALONE) {
		fgio_request_order_taken_ranked(by_request, order, request);
		return;
	}
	request->rank.state = FGIO_RANK_NONE;
	if (!--by_request->alone.count)
		fgio_store(&by_request->alone.bounds, false);
}

/* @request also stands for @other, of the same @order; both have a rank. */
void fgio_request_order_joined(struct fgio_order *order,
			       struct fgio_request *request,
			       const struct fgio_request *other);

#endif /* FGIO_CORE_REQUEST_ORDER_H */
