/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The watchdog: whether I/O that fgio holds makes progress.
 *
 * I/O can stand still in some places: asleep in admission, or queued. While I/O
 * of a class is in a place, some of it must leave within a bounded time.
 * Otherwise something is wrong with fgio, and it must step aside.
 *
 * A device that has I/O and completes none is another matter: no I/O can move
 * then, and stepping aside would not help. Such time does not count. Neither
 * does time in which the device's driver takes no I/O at all (the reset of a
 * controller, a suspended device), nor a jump of the clock (a paused virtual
 * machine): from one look to the next, at most half of the bounded time counts.
 *
 * Locking: the caller serialises the calls for one watchdog. Nothing here
 * sleeps or allocates.
 */
#ifndef FGIO_CORE_WATCHDOG_H
#define FGIO_CORE_WATCHDOG_H

#include "class.h"
#include "types.h"

enum fgio_watchdog_place {
	FGIO_PLACE_ADMISSION,
	FGIO_PLACE_CARRIERS, /* the same, of threads that carry others' I/O */
	FGIO_PLACE_QUEUE,
	FGIO_PLACES,
};

/**
 * struct fgio_watchdog_sample - the state of one device
 * @held: I/O in each place, per class
 * @moved: total I/O that left it, per class; any number that changes with that
 * @in_device: requests in the device
 * @completed: total requests that left it
 * @stopped: the driver takes no requests now
 */
struct fgio_watchdog_sample {
	u32 held[FGIO_PLACES][FGIO_CLASSES];
	u64 moved[FGIO_PLACES][FGIO_CLASSES];
	u32 in_device;
	u64 completed;
	bool stopped;
};

/**
 * struct fgio_watchdog - one device; all zero at first
 * @last: the last sample
 * @last_ns: its time; 0 for never
 * @still_ns: for how long nothing has moved, and could have
 */
struct fgio_watchdog {
	struct fgio_watchdog_sample last;
	u64 last_ns;
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

/**
 * fgio_watchdog_look() - look at a device
 * @watchdog: of the device
 * @sample: its state
 * @now_ns: the time; never 0, monotonic
 * @limit_ns: how long I/O may stand still; look several times as often
 * @finding: out: the I/O that stands still
 *
 * Return: whether any I/O stands still.
 */
bool fgio_watchdog_look(struct fgio_watchdog *watchdog,
			const struct fgio_watchdog_sample *sample, u64 now_ns,
			u64 limit_ns, struct fgio_watchdog_finding *finding);

#endif /* FGIO_CORE_WATCHDOG_H */
