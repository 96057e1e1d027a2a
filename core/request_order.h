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
 * The only critical I/O that is queued has nothing to be in order with: it is
 * ranked when another one comes, if it did not go before. I/Os of one request that
 * were queued in a row are a chain, of which the first is in the heap.
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
 * as a request begins in a batch, for each of its I/Os.
 */
#ifndef FGIO_CORE_REQUEST_ORDER_H
#define FGIO_CORE_REQUEST_ORDER_H

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

/* Parts are told apart in powers of two. */
#define FGIO_REQUEST_SIZES 8U

/**
 * struct fgio_request_memo - what a user's request had here
 * @id: rank of the request; 0: free
 * @served: I/Os of it that went
 * @queued: I/Os of it that are ranked
 * @used: number of its last use; the order counts them
 * @size: power of two of its parts
 */
struct fgio_request_memo {
	u64 id;
	u32 served;
	u32 used;
	u16 queued;
	u8 size;
};

/**
 * struct fgio_request_order - the order of a queue or a hardware queue; only the
 *	functions here touch the members
 * @policy: enum fgio_request_policy
 * @ranked: I/Os that are ranked now
 * @requests: users' requests with ranked I/Os, but for those forgotten
 * @number: of the next one
 * @uses: of memos, in total
 * @alone: the only critical I/O, with an id, that is queued: it goes at once, and
 *	is ranked when another one comes. NULL: there is none
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
	struct fgio_request *alone;
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

/* @policy: enum fgio_request_policy; may change at any time by a store. */
void fgio_request_order_init(struct fgio_request_order *by_request,
			     enum fgio_request_policy policy);

static inline void
fgio_request_order_set_policy(struct fgio_request_order *by_request,
			      enum fgio_request_policy policy)
{
	by_request->policy = policy;
}

/*
 * The time since 1970 is @real_ns more than the clock of fgio_queue_next(). At
 * first it is 0.
 */
static inline void
fgio_request_order_set_clock(struct fgio_request_order *by_request,
			     u64 real_ns)
{
	by_request->real_ns = real_ns;
}

/**
 * fgio_request_order_added() - rank a request that just joined its FIFO's tail
 * @by_request: the order
 * @order: the FIFO's
 * @request: its queued_ns is set
 */
void fgio_request_order_added(struct fgio_request_order *by_request,
			      struct fgio_order *order,
			      struct fgio_request *request);

/* Another critical request is to be queued: there is one that was alone. */
void fgio_request_order_rank_alone(struct fgio_request_order *by_request);

/* Takes the rank of a request that has one, or is alone. */
void fgio_request_order_taken(struct fgio_request_order *by_request,
			      struct fgio_order *order,
			      struct fgio_request *request);

/* @request, ranked, also stands for @other, ranked, of the same @order. */
void fgio_request_order_joined(struct fgio_order *order,
			       struct fgio_request *request,
			       const struct fgio_request *other);

#endif /* FGIO_CORE_REQUEST_ORDER_H */
