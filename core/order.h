/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The order of the queued requests of one class. The rules are those of
 * mq-deadline where they keep a disk's arm from seeking, and finer where there
 * is no arm.
 *
 * Reads go before writes, since a task waits for nearly every read and for few
 * writes; but after FGIO_ORDER_STARVED times, it is the turn of the writes. A
 * time is, depending on the purpose of the order:
 *
 * - FGIO_ORDER_SWEEP, for a disk that rotates: up to FGIO_ORDER_BATCH requests
 *   of one direction, in the order of their sectors, upwards from the last one.
 *   Each batch begins with the oldest request if that is overdue, or if the
 *   sweep is at its end.
 * - FGIO_ORDER_SHARE, for other drives: the same number in the order of
 *   arrival, and a read waits only for the writes whose turn it is.
 * - FGIO_ORDER_AGE, where few requests go at a time or all are waited for: one.
 *   A read never stands behind a pile of writes, nor a write behind a pile of
 *   reads: a commit among many critical reads has two before it, and a read
 *   among the writes that an fsync made critical has one.
 *
 * Within a direction, I/O that serves users' requests may go in the order of
 * these instead of its own arrival: request_order.h.
 *
 * Locking: the caller serialises all calls for one struct. Nothing here sleeps,
 * allocates or loops.
 */
#ifndef FGIO_CORE_ORDER_H
#define FGIO_CORE_ORDER_H

#include "list.h"
#include "request.h"
#include "shares_heap.h"
#include "types.h"

#define FGIO_DIRECTIONS 2

/* As mq-deadline's writes_starved, fifo_batch, read_expire and write_expire. */
#define FGIO_ORDER_STARVED 2
#define FGIO_ORDER_BATCH 16
#define FGIO_ORDER_READ_NS 500000000ULL
#define FGIO_ORDER_WRITE_NS 5000000000ULL
/*
 * Two batches of reads. mq-deadline's batches end before 16 where its sweep
 * does, which cuts the direction with fewer queued requests, the reads: with 32
 * here, writes had 94 to 95 % of its share of an NVMe drive.
 */
#define FGIO_ORDER_SHARE_READS 30

enum fgio_order_by {
	FGIO_ORDER_AGE,
	FGIO_ORDER_SHARE,
	FGIO_ORDER_SWEEP,
};

/**
 * struct fgio_ranked - requests of one direction in the order of users' requests
 * @heap: those of light and of heavy users' requests, see request_order.h
 */
struct fgio_ranked {
	struct fgio_heap heap[2];
};

/**
 * struct fgio_order - the queued requests of a class; only the functions below
 *	touch the members
 * @fifo: by direction, the oldest first
 * @position: end of the last one of each direction, in sectors
 * @batch: requests of the batch under way, of a sweep
 * @write: its direction
 * @starved: batches of reads that went with writes queued, since the last
 *	writes
 * @passed: the same in requests, without a sweep
 * @turn: writes that went in their turn
 * @ranked_count: those that go in the order of users' requests
 * @ranked: by direction, their heaps
 */
struct fgio_order {
	struct fgio_list fifo[FGIO_DIRECTIONS];
	u64 position[FGIO_DIRECTIONS];
	u32 batch;
	u32 starved;
	u32 passed;
	u32 turn;
	bool write;
	u32 ranked_count;
	struct fgio_ranked ranked[FGIO_DIRECTIONS];
};

/**
 * struct fgio_sweep - the next requests on the way over a disk
 * @next: by direction, the queued request with the lowest sector at or beyond
 *	fgio_order.position, or NULL
 */
struct fgio_sweep {
	struct fgio_request *next[FGIO_DIRECTIONS];
};

void fgio_order_init(struct fgio_order *order);

/*
 * The two rules. Without a sweep they are inline: each I/O passes them, and
 * most find one request alone.
 */
struct fgio_request *fgio_order_choose_on_sweep(const struct fgio_order *order,
						const struct fgio_sweep *sweep,
						u64 now_ns);
void fgio_order_went_on_sweep(struct fgio_order *order,
			      const struct fgio_request *request,
			      const struct fgio_sweep *sweep);

static inline bool fgio_order_holds(const struct fgio_order *order, bool write)
{
	return !fgio_list_empty(&order->fifo[write]);
}

static inline struct fgio_request *
fgio_order_oldest(const struct fgio_order *order, bool write)
{
	return fgio_container_of(order->fifo[write].next, struct fgio_request,
				 link);
}

/* request_order.c: where some are ranked, of either direction. */
struct fgio_request *fgio_order_first_ranked(const struct fgio_order *order,
					     bool write);
/* @request has a rank; or its user's request is alone. */
void fgio_order_went_ranked(struct fgio_order *order,
			    struct fgio_request *request);
void fgio_order_went_alone(const struct fgio_request *request);

static inline void fgio_order_went_by_request(struct fgio_order *order,
					      struct fgio_request *request)
{
	if (request->rank.state == FGIO_RANK_ALONE)
		fgio_order_went_alone(request);
	else
		fgio_order_went_ranked(order, request);
}

/* Of those of a direction, the one that goes first but for a sweep. */
static inline struct fgio_request *
fgio_order_first(const struct fgio_order *order, bool write)
{
	if (order->ranked_count)
		return fgio_order_first_ranked(order, write);
	return fgio_order_oldest(order, write);
}

/* Reads that may go with writes queued, then writes with reads queued. */
static inline u32 fgio_order_reads_at_a_time(enum fgio_order_by by)
{
	return by == FGIO_ORDER_SHARE ? FGIO_ORDER_SHARE_READS :
					FGIO_ORDER_STARVED;
}

static inline u32 fgio_order_writes_at_a_time(enum fgio_order_by by)
{
	return by == FGIO_ORDER_SHARE ? FGIO_ORDER_BATCH : 1;
}

static inline struct fgio_request *
fgio_order_choose_by_age(const struct fgio_order *order, enum fgio_order_by by)
{
	bool write = !fgio_order_holds(order, false);

	if (fgio_order_holds(order, true) &&
	    order->passed >= fgio_order_reads_at_a_time(by))
		write = true;
	return fgio_order_first(order, write);
}

static inline void fgio_order_went_by_age(struct fgio_order *order,
					  const struct fgio_request *request,
					  enum fgio_order_by by)
{
	bool both = fgio_order_holds(order, !request->write);

	if (!request->write && both) {
		order->passed++;
		return;
	}
	/*
	 * The turn of the writes ends at its length, or when no read competes.
	 */
	if (both && ++order->turn < fgio_order_writes_at_a_time(by))
		return;
	order->passed = 0;
	order->turn = 0;
}

/**
 * fgio_order_choose() - the request that goes next
 * @order: at least one is queued
 * @by: see above
 * @sweep: the next requests on the way, for FGIO_ORDER_SWEEP
 * @now_ns: the time, for that
 */
static inline struct fgio_request *
fgio_order_choose(const struct fgio_order *order, enum fgio_order_by by,
		  const struct fgio_sweep *sweep, u64 now_ns)
{
	return by == FGIO_ORDER_SWEEP ?
		       fgio_order_choose_on_sweep(order, sweep, now_ns) :
		       fgio_order_choose_by_age(order, by);
}

/* @request, the last one chosen this way, goes; it is still queued. */
static inline void fgio_order_went(struct fgio_order *order,
				   struct fgio_request *request,
				   enum fgio_order_by by,
				   const struct fgio_sweep *sweep)
{
	order->position[request->write] = request->sector + request->sectors;
	if (by == FGIO_ORDER_SWEEP)
		fgio_order_went_on_sweep(order, request, sweep);
	else
		fgio_order_went_by_age(order, request, by);
	if (request->rank.state)
		fgio_order_went_by_request(order, request);
}

/*
 * The same two for the only request queued, which has no rank, and without a
 * sweep: no turn goes on beside it.
 */
static inline struct fgio_request *
fgio_order_take_only(struct fgio_order *order)
{
	bool write = !fgio_order_holds(order, false);
	struct fgio_request *request = fgio_order_oldest(order, write);

	order->position[write] = request->sector + request->sectors;
	order->passed = 0;
	order->turn = 0;
	return request;
}

#endif /* FGIO_CORE_ORDER_H */
