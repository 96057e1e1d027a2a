/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The two-class queue: which request goes to the device next.
 *
 * Critical requests go first. Within a class, reads go before writes, and
 * otherwise requests go in order of arrival, or as a disk's arm passes
 * (order.h). Non-critical requests follow two rules (FAST'17 paper, section
 * 4.3). First, while critical I/O is present, the device gets no more of them
 * than do no harm, since a device does not know which request is waited for:
 * depth.h says how many, or `noncritical_in_device_max` if that is set. Second,
 * at least one goes per `release_interval_ns` whatever the critical load, so
 * that background work always progresses (on a disk whose service cost is
 * learnt, it may be fewer: depth.h). Under a deep critical load each I/O takes
 * longer than the interval. Releases may then exceed the limit, up to one
 * non-critical request for eight critical ones in the device. While no critical
 * I/O is present, nothing is held back.
 *
 * For FGIO_QUEUE_RECENT_WINDOWS times `critical_window_ns` after the last
 * critical I/O, the recent window, the next one should not find the device
 * full: depth.h says how much goes meanwhile. There is none if the limit is set
 * by hand.
 *
 * Critical requests that saturate a disk always wait for a place in it. Then
 * the others go up to the learnt limit, whatever waits (fgio_depth_shares()).
 *
 * No request waits for ever. Critical requests go at once, and for the others
 * there is always a time at which the caller asks again, whatever the device
 * does (fgio_queue_retry_ns()). If no non-critical request goes or completes
 * for FGIO_QUEUE_STILL_NS, those in the device are written off: no limit counts
 * them any more (inflight.h).
 *
 * Critical requests may go in the order of the users' requests that they serve
 * (request_order.h). Some of them wait for a place in the device then, though
 * not where there are many hardware queues.
 *
 * With fair shares (shares.h), whose turn it is comes first, what this queue
 * says of classes holds within a group, and the drive's depth last: a group
 * below its guarantee goes whatever the depth says. Minimum service is one
 * request per release interval for all groups, in proportion to their weights.
 *
 * A device with one lock has its requests in one struct fgio_hw_queue, `own`.
 * A device with many hardware queues has one of them for each (hw_queue.h), and
 * struct fgio_queue is what they share.
 *
 * Locking: the caller serialises fgio_queue_insert(), _absorb(), _resize(),
 * _next(), _promote() and _set_one_class() for one queue, and those of
 * fgio_hw_queue_first(), _after() and _promote_sector() for its requests.
 * fgio_queue_has_work(), _left_device(), _retry() and _needs_clock() may run at
 * any time, in any context, beside them and beside each other. Nothing here
 * sleeps or allocates, and loops run over the hardware queues at most, except
 * that _promote_sector() walks the non-critical FIFOs.
 */
#ifndef FGIO_CORE_QUEUE_H
#define FGIO_CORE_QUEUE_H

#include "atomic.h"
#include "class.h"
#include "depth.h"
#include "inflight.h"
#include "list.h"
#include "order.h"
#include "request.h"
#include "request_order.h"
#include "shares.h"
#include "split.h"
#include "types.h"

/**
 * struct fgio_queue_config - the administrator's settings
 * @noncritical_in_device_max: non-critical requests in the device while
 *	critical I/O is present; 0: as many as do no harm
 * @split_sectors: sectors into which longer non-critical I/O is split where
 *	critical I/O came lately, on a device that does not rotate, or more if it
 *	is fast (fgio_depth_longest()); a power of two; 0: it is not
 * @release_interval_ns: a non-critical request goes at least this often; see
 *	fgio_depth_min_service_ns()
 * @critical_window_ns: critical I/O is present for this time after the last one
 *	completed
 */
struct fgio_queue_config {
	u32 noncritical_in_device_max;
	u32 split_sectors;
	u64 release_interval_ns;
	u64 critical_window_ns;
};

#define FGIO_QUEUE_CONFIG_DEFAULT                       \
	((struct fgio_queue_config){                    \
		.noncritical_in_device_max = 0,         \
		.split_sectors = 256,                   \
		.release_interval_ns = 10ULL * 1000000, \
		.critical_window_ns = 100ULL * 1000000, \
	})

/**
 * struct fgio_queue_counters - totals since fgio_queue_init(), arrays per class
 * @queued: requests inserted
 * @dispatched: requests handed to the device
 * @waited_ns: time from insertion to dispatch, summed over the requests that
 *	went while I/O of both classes was present, or in a recent window
 *	(otherwise the clock is read for disks only)
 * @promoted: queued requests that became critical
 * @starvation_releases: non-critical requests that went before critical ones,
 *	or beyond the limit, because the release interval had passed
 */
struct fgio_queue_counters {
	u64 queued[FGIO_CLASSES];
	u64 dispatched[FGIO_CLASSES];
	u64 waited_ns[FGIO_CLASSES];
	u64 promoted;
	u64 starvation_releases;
};

/* For this long after critical I/O came, non-critical I/O is split. */
#define FGIO_LATELY_NS 16000000000ULL

/* Length of the recent window, in critical windows. */
#define FGIO_QUEUE_RECENT_WINDOWS 20

/* Where hardware queues share it, the note of critical I/O is this old. */
#define FGIO_SEEN_SHARE 16

/*
 * Where there are many hardware queues, requests are counted again after this
 * time, or as soon as there seems to be no room. Requests that found no critical
 * I/O as the count was made, and entered the device after it, are missed until
 * then: one for each CPU at most.
 */
#define FGIO_COUNT_NS 100000ULL

/*
 * With FGIO_COUNT_MANY in the device or more, they are not counted again for
 * each that completes, but once in 1/FGIO_COUNT_SHARE of the time that one takes
 * there.
 */
#define FGIO_COUNT_MANY 64U
#define FGIO_COUNT_SHARE 16U

/* A release may exceed the limit up to this share of the critical requests. */
#define FGIO_RELEASE_SHARE 8

/*
 * Non-critical requests in the device are written off when none of them
 * completed for this long. Only the recovery of an error takes a drive longer;
 * one more request per second does no harm then.
 */
#define FGIO_QUEUE_STILL_NS 1000000000ULL

/**
 * struct fgio_passed - requests of which the device was not told, in total
 * @untold: critical ones
 * @untold_sectors: their length
 * @writes: non-critical writes
 * @write_sectors: their length
 */
struct fgio_passed {
	u64 untold;
	u64 untold_sectors;
	u64 writes;
	u64 write_sectors;
};

/**
 * struct fgio_turn - which hardware queue may take the next non-critical
 *	request, where several want to
 * @index: its index
 * @until_ns: until then, no other may
 * @late_ns: when one last went that was late
 */
struct fgio_turn {
	u32 index;
	u64 until_ns;
	u64 late_ns;
};

/*
 * Time since when no non-critical request went or completed, at @moves of both.
 */
struct fgio_queue_still {
	u64 moves;
	u64 since_ns;
};

/**
 * struct fgio_count - what a device with many hardware queues holds, as of its
 *	last count: to look at all queues for each request would take too long
 * @asked_ns: time of this call of fgio_hw_queue_ask()
 * @at_ns: time of the count; 0: it does not hold any more
 * @again_ns: when requests in the device may be counted again
 * @in_device: non-critical requests in the device, as a limit counts them. Those
 *	that went since are added, those that left are not taken off: never less
 *	than there are (but see FGIO_COUNT_NS)
 * @queued: non-critical requests queued
 * @critical: critical requests are in the device; for one call of
 *	fgio_hw_queue_ask()
 */
struct fgio_count {
	u64 asked_ns;
	u64 at_ns;
	u64 again_ns;
	u32 in_device;
	u32 queued;
	bool critical;
};

/**
 * struct fgio_hw_queue - the requests of one hardware queue; only the functions
 *	here and of hw_queue.h touch the members
 * @queue: its device
 * @by_request: orders its critical requests by the users' requests; NULL: none
 * @index: its place among the device's
 * @order: queued requests of each class
 * @queued: their number
 * @granted: non-critical requests that the device granted, and that go next;
 *	counted as in the device
 * @granted_count: their number
 * @late: it came too late to its turn
 * @served_ns: since then, its non-critical requests wait, and none goes
 * @told_ns: the last time that the device was told of a critical request
 * @passed: what it sent without telling the device, in total
 * @accounted: as far as the device accounted for that
 * @counters: totals
 * @in_device: requests in the device, per class
 * @called: it is to ask, and did not yet
 */
struct fgio_hw_queue {
	struct fgio_queue *queue;
	struct fgio_request_order *by_request;
	u32 index;

	/* Written by insertion and dispatch. */
	struct fgio_order order[FGIO_CLASSES] __attribute__((aligned(64)));
	u32 queued[FGIO_CLASSES];
	struct fgio_list granted;
	u32 granted_count;
	bool late;
	u64 served_ns;
	u64 told_ns;
	struct fgio_passed passed;
	struct fgio_passed accounted;
	struct fgio_queue_counters counters;

	/*
	 * Written by completions as well: off the cache lines that dispatch
	 * writes.
	 */
	struct fgio_inflight in_device[FGIO_CLASSES]
		__attribute__((aligned(64)));
	bool called;
};

/* Until when non-critical requests are withheld, at the latest a retry. */
enum fgio_queue_withheld {
	FGIO_WITHHELD_NOT,
	FGIO_WITHHELD_TO_COMPLETION, /* or until one completes */
	FGIO_WITHHELD_TO_RETRY,
};

/*
 * A device. Only the functions below and of hw_queue.h touch the members.
 */
struct fgio_queue {
	/* Read by all paths, and hardly ever written. */
	struct fgio_queue_config config;
	struct fgio_hw_queue *const *hw; /* NULL: @own alone */
	struct fgio_shares *shares; /* NULL: off */
	u32 hw_count;
	bool one_class;
	bool measures;
	bool unseen; /* non-critical requests went unmeasured */

	/* Written where the device decides. */
	u64 next_release_ns __attribute__((aligned(64)));
	u64 retry_ns;
	struct fgio_queue_still still;
	struct fgio_turn turn;
	struct fgio_passed passed; /* as far as accounted for */
	struct fgio_count count;
	struct fgio_depth depth;

	/*
	 * Written by completions as well. Where there are many hardware queues,
	 * each reads the first two for each request.
	 */
	u64 critical_seen_ns __attribute__((aligned(64)));
	u64 flush_until_ns;
	u64 critical_lately_ns; /* as critical_seen_ns, never forgotten */

	u32 withheld __attribute__((aligned(64))); /* enum fgio_queue_withheld */
	bool critical_held; /* critical requests are, by their order's bound */

	struct fgio_hw_queue own;
};

/* @rotates: as for fgio_depth_init(). */
void fgio_queue_init(struct fgio_queue *queue, bool rotates);

/* Takes effect with the next call. */
void fgio_queue_configure(struct fgio_queue *queue,
			  const struct fgio_queue_config *config);

/**
 * fgio_queue_set_one_class() - stop telling classes apart, or resume
 * @queue: the queue
 * @one_class: nothing is withheld, and requests go as those of one class do;
 *	the caller inserts all of them as non-critical. Queued critical ones go
 *	first
 *
 * Takes effect at once: the caller must make sure that fgio_queue_next() is
 * called.
 */
void fgio_queue_set_one_class(struct fgio_queue *queue, bool one_class);

/**
 * fgio_queue_insert() - queue an idle request
 * @queue: the queue
 * @request: state IDLE, sector, sectors, write, class and queued_ns set
 * @at_head: go before all queued requests of its class and direction (a request
 *	that the device gave back); it is overdue
 */
void fgio_queue_insert(struct fgio_queue *queue, struct fgio_request *request,
		       bool at_head);

/**
 * fgio_queue_set_shares() - fair shares, from now on
 * @queue: has no request, queued or in the device, and one lock (@own)
 * @shares: initialised; stays in place until it is replaced. NULL: off
 *
 * Requests are those of the group of fgio_queue_insert_of(). Their queued_ns
 * must be set.
 */
void fgio_queue_set_shares(struct fgio_queue *queue,
			   struct fgio_shares *shares);

/*
 * Whether a request is queued because other groups have their turn; without
 * shares, it is not. Under the lock of @own.
 */
bool fgio_queue_awaits_turn(const struct fgio_queue *queue,
			    const struct fgio_request *request);

/**
 * fgio_hw_queue_set_request_order() - order critical requests by users' requests
 * @hw: of a device with one lock, its @own
 * @by_request: initialised; stays in place as long as @hw. NULL: off, if @hw has
 *	no queued request
 *
 * The queued_ns of requests must be set then. Those that are queued now go
 * before all that come.
 */
static inline void
fgio_hw_queue_set_request_order(struct fgio_hw_queue *hw,
				struct fgio_request_order *by_request)
{
	hw->by_request = by_request;
}

/* Whether what is queued goes by the order of users' requests, and its bound. */
static inline bool fgio_hw_queue_ranks(const struct fgio_hw_queue *hw)
{
	return hw->by_request && (fgio_load(&hw->by_request->ranked) ||
				  fgio_load(&hw->by_request->alone.bounds));
}

/*
 * As fgio_queue_insert(). Where there are many hardware queues, call
 * fgio_queue_saw_critical_at() before for a critical request.
 */
void fgio_hw_queue_insert(struct fgio_hw_queue *hw,
			  struct fgio_request *request, bool at_head);

/* As fgio_queue_insert(), with shares on. @group: NULL: the rest. Inline. */
static inline void fgio_queue_insert_of(struct fgio_queue *queue,
					struct fgio_request *request,
					struct fgio_share_group *group,
					bool at_head)
{
	fgio_shares_join(queue->shares, request, group, request->queued_ns);
	fgio_hw_queue_insert(&queue->own, request, at_head);
	/* It may be of a group that others are withheld for. */
	if (fgio_load(&queue->withheld))
		fgio_exchange(&queue->withheld, FGIO_WITHHELD_NOT);
}

/**
 * fgio_queue_absorb() - a queued request swallowed another
 * @request: queued; takes the place of @absorbed if that waited longer, and
 *	becomes critical if @absorbed is
 * @absorbed: queued, idle afterwards; or idle, merged before it could be
 *	inserted
 */
void fgio_queue_absorb(struct fgio_request *request,
		       struct fgio_request *absorbed);

/* A queued request grew by a merge. */
void fgio_queue_resize(struct fgio_request *request, u64 sector, u32 sectors);

/**
 * fgio_queue_next() - dispatch a request
 * @queue: the queue
 * @now_ns: a monotonic clock; may be 0 while fgio_queue_needs_clock() is false
 * @sweep: the next non-critical requests on the way over a disk, or NULL; for
 *	fgio_queue_sweeps(). They go before older ones only while no critical
 *	I/O is present
 *
 * Return: the request, now in the device, or NULL when nothing may go. If a
 * request was withheld, fgio_queue_retry_ns() is the latest time for another
 * call, and fgio_queue_left_device() may ask for one before.
 */
struct fgio_request *fgio_queue_next(struct fgio_queue *queue, u64 now_ns,
				     const struct fgio_sweep *sweep);

/*
 * Whether the order of sectors matters: the drive rotates, as far as is known
 * (rotation.h). With shares, requests of a group go by age, and the drive sorts.
 */
static inline bool fgio_queue_sweeps(const struct fgio_queue *queue)
{
	return fgio_depth_rotates(&queue->depth) && !queue->shares &&
	       queue->own.queued[FGIO_NONCRITICAL];
}

/* The sector from which to look for fgio_sweep.next. */
static inline u64 fgio_queue_position(const struct fgio_queue *queue,
				      bool write)
{
	return queue->own.order[FGIO_NONCRITICAL].position[write];
}

/**
 * fgio_queue_retry_ns() - when to run the queue again
 * @queue: the queue, for which fgio_queue_next() just returned NULL
 *
 * The one rule that rules out a stall: a queued request either makes
 * fgio_queue_has_work() true, or is withheld until this time. The caller sets a
 * timer for it, which calls fgio_queue_retry() and runs the queue. A completion
 * may run the queue before, but none is needed.
 *
 * Return: a time, at most FGIO_QUEUE_STILL_NS ahead; 0: nothing is withheld.
 */
u64 fgio_queue_retry_ns(const struct fgio_queue *queue);

/* The retry time has come: fgio_queue_has_work() becomes true. */
void fgio_queue_retry(struct fgio_queue *queue);

/**
 * fgio_queue_left_device() - a request completed, or the device gave it back
 * @queue: the queue
 * @request: a request that fgio_queue_next() returned; idle afterwards
 * @now_ns: the time, on the clock of fgio_queue_next()
 *
 * Return: whether requests were withheld for want of room and may go now: the
 * caller must make sure that fgio_queue_next() is called again.
 */
bool fgio_queue_left_device(struct fgio_queue *queue,
			    struct fgio_request *request, u64 now_ns);

/*
 * A flush of the drive's cache begins that a foreground task waits for. Any
 * context.
 */
void fgio_queue_flush_begins(struct fgio_queue *queue, struct fgio_flush *flush,
			     bool commits, u64 now_ns);

/* It completed. Return: as fgio_queue_left_device(). Any context. */
bool fgio_queue_flush_ends(struct fgio_queue *queue,
			   const struct fgio_flush *flush, u64 now_ns);

/*
 * Slow path of fgio_queue_has_work(): whether there is room for withheld
 * requests.
 */
bool fgio_queue_has_room(const struct fgio_queue *queue);

/* The functions up to fgio_queue_needs_clock() run for each I/O: inline. */

/*
 * Whether fgio_queue_next() could return a request. May be true when it could
 * not; false only while an fgio_queue_left_device() or fgio_queue_retry() is to
 * come, or the queue is empty.
 */
static inline bool fgio_queue_has_work(const struct fgio_queue *queue)
{
	if (fgio_load(&queue->own.queued[FGIO_CRITICAL]) &&
	    !fgio_load(&queue->critical_held) &&
	    (!queue->shares || !fgio_load(&queue->withheld)))
		return true;
	return fgio_load(&queue->own.queued[FGIO_NONCRITICAL]) &&
	       (!fgio_load(&queue->withheld) || fgio_queue_has_room(queue));
}

/* Whether requests are queued, critical or not. */
static inline bool fgio_queue_holds_requests(const struct fgio_queue *queue)
{
	return fgio_load(&queue->own.queued[FGIO_CRITICAL]) ||
	       fgio_load(&queue->own.queued[FGIO_NONCRITICAL]);
}

static inline const struct fgio_hw_queue *
fgio_queue_hw(const struct fgio_queue *queue, u32 index)
{
	return queue->hw ? queue->hw[index] : &queue->own;
}

/* Requests of a class in the device, now or a moment ago. */
static inline u32 fgio_queue_in_device(const struct fgio_queue *queue,
				       enum fgio_class class)
{
	u32 count = 0;

	for (u32 i = 0; i < queue->hw_count; i++)
		count += fgio_inflight_all(
			&fgio_queue_hw(queue, i)->in_device[class]);
	return count;
}

/* Requests of a class queued, now or a moment ago. */
static inline u32 fgio_queue_queued(const struct fgio_queue *queue,
				    enum fgio_class class)
{
	u32 count = 0;

	for (u32 i = 0; i < queue->hw_count; i++)
		count += fgio_load(&fgio_queue_hw(queue, i)->queued[class]);
	return count;
}

static inline bool fgio_hw_queue_has(const struct fgio_hw_queue *hw,
				     enum fgio_class class)
{
	return fgio_load(&hw->queued[class]) ||
	       fgio_inflight_any(&hw->in_device[class]);
}

/* Totals of all hardware queues, each a moment old. Any context. */
struct fgio_queue_counters fgio_queue_totals(const struct fgio_queue *queue);

/* Whether requests of a class are queued or in the device. */
static inline bool fgio_queue_has(const struct fgio_queue *queue,
				  enum fgio_class class)
{
	if (!queue->hw)
		return fgio_hw_queue_has(&queue->own, class);
	for (u32 i = 0; i < queue->hw_count; i++)
		if (fgio_hw_queue_has(fgio_queue_hw(queue, i), class))
			return true;
	return false;
}

/* Whether critical I/O completed, and was not yet found to be long ago. */
static inline bool fgio_queue_saw_critical(const struct fgio_queue *queue)
{
	return fgio_load(&queue->critical_seen_ns) ||
	       fgio_load(&queue->flush_until_ns);
}

/*
 * A critical I/O came or completed at @at_ns. Where many hardware queues share
 * the time stamp, it is written once in 1/FGIO_SEEN_SHARE of the critical
 * window. Any context.
 */
static inline void fgio_queue_saw_critical_at(struct fgio_queue *queue,
					      u64 at_ns)
{
	u64 seen_ns = fgio_load(&queue->critical_seen_ns);
	u64 lately_ns;

	if (queue->hw && at_ns < seen_ns + queue->config.critical_window_ns /
						    FGIO_SEEN_SHARE)
		return;
	fgio_raise(&queue->critical_seen_ns, at_ns);
	lately_ns = fgio_load(&queue->critical_lately_ns);
	if (!lately_ns || at_ns > lately_ns + FGIO_LATELY_NS / FGIO_SEEN_SHARE)
		fgio_store(&queue->critical_lately_ns, at_ns);
}

/*
 * Sectors that a non-critical request may have; 0: any number. Whether critical
 * I/O came lately decides, not whether it is present: it finds what went before
 * it. A disk's arm would go back and forth between the pieces. Any context.
 */
static inline u32 fgio_queue_longest(const struct fgio_queue *queue, u64 now_ns)
{
	u64 lately_ns = fgio_load(&queue->critical_lately_ns);

	if (!lately_ns || now_ns > lately_ns + FGIO_LATELY_NS ||
	    fgio_load(&queue->one_class) || fgio_depth_rotates(&queue->depth))
		return 0;
	return fgio_depth_longest(&queue->depth,
				  fgio_load(&queue->config.split_sectors));
}

/*
 * Sectors of the first piece of a non-critical I/O that is to be queued; all:
 * it stays whole. Any context.
 */
static inline u32 fgio_queue_first_piece(const struct fgio_queue *queue,
					 u64 sector, u32 sectors, u64 now_ns)
{
	u32 longest = fgio_queue_longest(queue, now_ns);

	return longest ? fgio_split_first(longest, sector, sectors) : sectors;
}

/* Without I/O of both classes there is nothing to weigh. */
static inline bool fgio_queue_both_present(const struct fgio_queue *queue)
{
	return !fgio_load(&queue->one_class) &&
	       fgio_queue_has(queue, FGIO_NONCRITICAL) &&
	       (fgio_queue_saw_critical(queue) ||
		fgio_queue_has(queue, FGIO_CRITICAL));
}

/*
 * Whether fgio_queue_next() will read the clock: to weigh, to share but in a
 * run of one group (shares.h), or to bound the wait of the oldest request on a
 * disk or in an order of users' requests.
 */
static inline bool fgio_queue_needs_clock(const struct fgio_queue *queue)
{
	if (queue->shares)
		return !fgio_shares_run_goes_on(queue->shares) ||
		       fgio_queue_saw_critical(queue);
	return fgio_queue_both_present(queue) || fgio_queue_sweeps(queue) ||
	       fgio_hw_queue_ranks(&queue->own);
}

/*
 * Whether critical I/O is present: queued, in the device, or recent. Uses the
 * clock only if fgio_queue_saw_critical().
 */
bool fgio_queue_critical_present(const struct fgio_queue *queue, u64 now_ns);

/*
 * The queued requests of a class, one by one: reads, then writes, in order of
 * arrival. NULL: there is none.
 */
struct fgio_request *fgio_hw_queue_first(struct fgio_hw_queue *hw,
					 enum fgio_class class);
struct fgio_request *fgio_hw_queue_after(const struct fgio_request *request);

/* Visits the queued requests of a class in order; @request may leave. */
#define fgio_hw_queue_for_each(hw, in_class, request, following)   \
	for ((request) = fgio_hw_queue_first(hw, in_class);        \
	     (request) &&                                          \
	     ((following) = fgio_hw_queue_after(request), true);   \
	     (request) = (following))

/*
 * Whether a request is in the device. It may complete before the caller sees
 * the answer, unless the caller rules that out.
 */
bool fgio_request_is_in_device(const struct fgio_request *request);

/**
 * fgio_queue_promote() - move one request to the critical side
 * @request: the request
 *
 * It goes behind the queued critical requests: they were waited for before it
 * was; or to its place, where they are in the order of users' requests.
 *
 * Return: whether it moved; false if it is critical already, or not queued.
 */
bool fgio_queue_promote(struct fgio_request *request);

/**
 * fgio_hw_queue_promote_sector() - promote a request queued at a sector
 * @hw: the requests
 * @sector: a sector that the request covers
 *
 * Return: the request that moved, or NULL. Several may cover a sector: call
 * until NULL.
 */
struct fgio_request *fgio_hw_queue_promote_sector(struct fgio_hw_queue *hw,
						  u64 sector);

#endif /* FGIO_CORE_QUEUE_H */
