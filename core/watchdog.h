/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The watchdog: whether I/O that fgio holds makes progress.
 *
 * I/O can stand still in some places: asleep in admission, or queued. While I/O
 * of a class is in a place, some of it must leave within a bounded time.
 * Otherwise something is wrong with fgio, and it must step aside. Each hardware
 * queue has a watchdog of its own: in a sum over all, those that move would
 * hide one that stands still.
 *
 * A device that has I/O and completes none is another matter: no I/O can move
 * then, and stepping aside would not help. Such time does not count, nor does
 * it for a hardware queue that has I/O and completes none. Neither does time in
 * which the driver takes no I/O of it (the reset of a controller, a suspended
 * device), nor a jump of the clock (a paused virtual machine): from one look to
 * the next, at most half of the bounded time counts.
 *
 * What is not seen: I/O that stands still in a hardware queue while the device
 * keeps another I/O of that queue for ever, as one by polling whose submitter
 * never reaps it.
 *
 * Each look is one call of fgio_watchdog_begin(), then one of
 * fgio_watchdog_look() for each hardware queue.
 *
 * Locking: the caller serialises the calls for one device, and holds the lock
 * of the hardware queue for fgio_watchdog_sample_queue(). Nothing here sleeps,
 * allocates or loops without bound.
 */
#ifndef FGIO_CORE_WATCHDOG_H
#define FGIO_CORE_WATCHDOG_H

#include "class.h"
#include "queue.h"
#include "types.h"

enum fgio_watchdog_place {
	FGIO_PLACE_ADMISSION,
	FGIO_PLACE_CARRIERS, /* the same, of threads that carry others' I/O */
	FGIO_PLACE_QUEUE,
	FGIO_PLACES,
};

/**
 * struct fgio_watchdog_sample - the state of one hardware queue
 * @held: I/O in each place, per class
 * @moved: total I/O that left it, per class; any number that changes with that
 * @in_device: its requests in the device
 * @completed: total requests that left it
 * @stopped: the driver takes no requests of it now
 */
struct fgio_watchdog_sample {
	u32 held[FGIO_PLACES][FGIO_CLASSES];
	u64 moved[FGIO_PLACES][FGIO_CLASSES];
	u32 in_device;
	u64 completed;
	bool stopped;
};

/**
 * struct fgio_watchdog_device - what the watchdogs of a device share; all zero
 *	at first
 * @last_ns: time of the last look; 0 for never
 * @in_device: requests in the device at that time
 * @completed: total requests that had left it
 * @counts_ns: how much of the time before it counts
 */
struct fgio_watchdog_device {
	u64 last_ns;
	u32 in_device;
	u64 completed;
	u64 counts_ns;
};

/**
 * struct fgio_watchdog - one hardware queue; all zero at first
 * @last: the last sample
 * @still_ns: for how long nothing has moved, and could have
 */
struct fgio_watchdog {
	struct fgio_watchdog_sample last;
	u64 still_ns[FGIO_PLACES][FGIO_CLASSES];
};

/**
 * struct fgio_watchdog_finding - I/O that stands still
 * @place: enum fgio_watchdog_place
 * @class: enum fgio_class
 * @held: number of I/Os
 * @still_ns: for how long
 */
struct fgio_watchdog_finding {
	u8 place;
	u8 class;
	u32 held;
	u64 still_ns;
};

/*
 * Adds the requests of @hw to a sample. Those that the device granted, and that
 * did not go yet, count as queued.
 */
void fgio_watchdog_sample_queue(struct fgio_watchdog_sample *sample,
				const struct fgio_hw_queue *hw);

/*
 * Minimum service takes hardware queues one by one, so each may wait for all
 * the others. Return: @limit_ns, or, if that is more, what is certainly too long
 * for one of the device's.
 */
u64 fgio_watchdog_limit_ns(const struct fgio_queue *queue, u64 limit_ns);

/**
 * fgio_watchdog_begin() - look at a device as a whole
 * @device: the device
 * @in_device: requests in it
 * @completed: total requests that left it
 * @now_ns: the time; never 0, monotonic
 * @limit_ns: how long I/O may stand still; look several times as often
 */
void fgio_watchdog_begin(struct fgio_watchdog_device *device, u32 in_device,
			 u64 completed, u64 now_ns, u64 limit_ns);

/**
 * fgio_watchdog_look() - look at a hardware queue
 * @watchdog: of the hardware queue
 * @device: of its device, after fgio_watchdog_begin()
 * @sample: its state
 * @limit_ns: as above
 * @finding: out: the I/O that stands still
 *
 * Return: whether any I/O stands still.
 */
bool fgio_watchdog_look(struct fgio_watchdog *watchdog,
			const struct fgio_watchdog_device *device,
			const struct fgio_watchdog_sample *sample,
			u64 limit_ns, struct fgio_watchdog_finding *finding);

#endif /* FGIO_CORE_WATCHDOG_H */
