/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A device with many hardware queues: each has the requests of its CPUs, under
 * a lock of its own, and they share the device's rules (queue.h).
 *
 * Critical requests go by their own queue's lock alone. So do non-critical ones
 * while no critical I/O is about: then nothing that queues share is written,
 * and no clock is read. Otherwise a non-critical request needs the device's
 * leave, under the device's lock, which is given for several at a time where
 * the drive is fast (fgio_hw_queue_ask()).
 *
 * What the device knows of critical I/O, it knows by samples. Each queue tells
 * it of one request in FGIO_TELL_NS at most, and adds up the others, whose size
 * the device accounts for when it is asked or told. A foreground of fewer I/Os
 * than that is known request by request, as on a device with one queue.
 *
 * Where several queues want to send non-critical requests, they take turns. A
 * queue that has the turn waits for room and is run when there is some
 * (fgio_queue_turn()), and others are refused meanwhile. A CPU that is busy may
 * be late for its turn. After FGIO_TURN_NS others may pass, and the late queue
 * has one request granted when it asks, whatever the drive holds; one late
 * queue of the device has in a release interval.
 * A queue none of whose non-critical requests went for a release interval for
 * each queue has the next one that the in-flight limit has room for.
 *
 * Requests are not merged here: plugging did that.
 *
 * Locking: the caller serialises all calls for one hardware queue by its lock,
 * and holds the device's lock, too, for fgio_hw_queue_ask() and _tell(); the
 * device's is the inner one. fgio_hw_queue_has_work() and fgio_queue_turn() may
 * run at any time, in any context. Nothing here sleeps or allocates; loops run
 * over the hardware queues, or over FGIO_GRANT_MOST requests.
 */
#ifndef FGIO_CORE_HW_QUEUE_H
#define FGIO_CORE_HW_QUEUE_H

#include "queue.h"

/*
 * The device is told of one critical request of a queue in this time. Sixteen
 * queues then write what they share 800,000 times a second at most.
 */
#define FGIO_TELL_NS 20000ULL

/* How long others wait for a queue that was called for its turn. */
#define FGIO_TURN_NS 1000000ULL

/* Non-critical requests granted at once. */
#define FGIO_GRANT_MOST 16U

/*
 * Requests are granted at once as far as the drive does them in this time:
 * 1/FGIO_GRANT_SHARE of a base latency, within these bounds. Asking takes about
 * as long as the least.
 */
#define FGIO_GRANT_SHARE 8U
#define FGIO_GRANT_LEAST_NS 2000ULL
#define FGIO_GRANT_MOST_NS 20000ULL

/* @queue: the device; @index: its place among the device's */
void fgio_hw_queue_init(struct fgio_hw_queue *hw, struct fgio_queue *queue,
			u32 index);

/*
 * The device has @count hardware queues, each initialised; @hw stays in place
 * as long as the device. @hw NULL, @count 1: one queue for all. While the queue
 * has no request; fgio_queue_totals() is not called meanwhile.
 */
void fgio_queue_set_hw(struct fgio_queue *queue,
		       struct fgio_hw_queue *const *hw, u32 count);

/*
 * Whether fgio_hw_queue_next() or _ask() will use the clock. False while no
 * critical I/O is about.
 */
static inline bool fgio_hw_queue_needs_clock(const struct fgio_hw_queue *hw)
{
	const struct fgio_queue *queue = hw->queue;

	if (fgio_hw_queue_ranks(hw))
		return true;
	if (!fgio_queue_saw_critical(queue))
		return false;
	return hw->queued[FGIO_NONCRITICAL] || fgio_load(&queue->measures);
}

/**
 * fgio_hw_queue_next() - dispatch a request that goes without the device's
 * leave
 * @hw: the hardware queue
 * @now_ns: a monotonic clock; any value while fgio_hw_queue_needs_clock() is
 *	false
 *
 * Return: the request, now in the device, or NULL: ask the device if
 * fgio_hw_queue_must_ask().
 */
struct fgio_request *fgio_hw_queue_next(struct fgio_hw_queue *hw, u64 now_ns);

/* After fgio_hw_queue_next() returned NULL. */
static inline bool fgio_hw_queue_must_ask(const struct fgio_hw_queue *hw)
{
	return hw->queued[FGIO_NONCRITICAL];
}

/**
 * fgio_hw_queue_ask() - dispatch a request by the device's rules
 * @hw: the hardware queue; fgio_hw_queue_must_ask()
 * @now_ns: the time
 *
 * More requests may have been granted for the next calls of
 * fgio_hw_queue_next(). If fgio_queue_retry_ns() is not 0 afterwards, the
 * caller sees to it that at that time, which may be now, fgio_queue_retry() is
 * called and the queue of fgio_queue_turn() is run.
 *
 * Return: the request, now in the device, or NULL: it is withheld, and there is
 * such a time.
 */
struct fgio_request *fgio_hw_queue_ask(struct fgio_hw_queue *hw, u64 now_ns);

/*
 * Whether the device is to be told of @request, which fgio_hw_queue_next() just
 * returned; if not, it is noted. The caller tells by fgio_hw_queue_tell(), or,
 * where the device's lock is taken, by fgio_hw_queue_does_not_tell().
 */
bool fgio_hw_queue_tells(struct fgio_hw_queue *hw,
			 const struct fgio_request *request, u64 now_ns);

/*
 * Notes @request, a critical one, for the device to be told of later. Since the
 * device's lock was taken, the next ones do not try, either.
 */
void fgio_hw_queue_does_not_tell(struct fgio_hw_queue *hw,
				 const struct fgio_request *request,
				 u64 now_ns);

/* Tells the device of @request, which fgio_hw_queue_next() just returned. */
void fgio_hw_queue_tell(struct fgio_hw_queue *hw, struct fgio_request *request,
			u64 now_ns);

/*
 * Whether a call of fgio_hw_queue_next() or _ask() could return a request. May
 * be true when none could; false only while fgio_queue_turn() is to name this
 * queue, or it is empty.
 */
static inline bool fgio_hw_queue_has_work(const struct fgio_hw_queue *hw)
{
	if (fgio_load(&hw->queued[FGIO_CRITICAL]) ||
	    fgio_load(&hw->granted_count))
		return true;
	return fgio_load(&hw->queued[FGIO_NONCRITICAL]) &&
	       (!fgio_load(&hw->queue->withheld) || fgio_load(&hw->called));
}

/*
 * Size, in units of depth.h, of the non-critical writes that the device was not
 * told of yet. @hw: the queue's, read once. Any context; as they are accounted
 * for, it may be wrong.
 */
u64 fgio_hw_queues_wrote(const struct fgio_queue *queue,
			 struct fgio_hw_queue *const *hw);

/**
 * fgio_queue_turn() - the hardware queue to run
 * @queue: the device, when fgio_queue_left_device() or _flush_ends() returned
 *	true, or after fgio_queue_retry()
 * @now_ns: the time
 *
 * Return: the queue that has the turn, or NULL: it has no request, or did not
 * come, so run all. Those that are to run have work until they ask.
 */
struct fgio_hw_queue *fgio_queue_turn(struct fgio_queue *queue, u64 now_ns);

#endif /* FGIO_CORE_HW_QUEUE_H */
