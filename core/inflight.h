/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Requests of a class in the device, and how many of them count.
 *
 * A device may keep a request for any time: a polled completion that its
 * submitter never reaps, a placement group of a network volume that waits for
 * its disks. An in-flight limit would then never leave room. So requests in the
 * device can be written off: they are there, but count no more.
 *
 * Locking: the caller serialises fgio_inflight_enter() and _write_off(). All
 * else may run at any time, in any context, beside them and beside each other.
 * Nothing here sleeps, allocates or loops without bound.
 */
#ifndef FGIO_CORE_INFLIGHT_H
#define FGIO_CORE_INFLIGHT_H

#include "atomic.h"
#include "types.h"

/*
 * One word, so that a completion beside fgio_inflight_write_off() is counted
 * once: requests that count (bits 19:0), requests written off (39:20), and the
 * epoch, the number of write-offs (63:40), which tells a request to which of
 * them it belongs.
 */
struct fgio_inflight {
	u64 word;
};

#define FGIO_INFLIGHT_BITS 20
#define FGIO_INFLIGHT_MASK ((1ULL << FGIO_INFLIGHT_BITS) - 1)
#define FGIO_INFLIGHT_EPOCH_SHIFT (2 * FGIO_INFLIGHT_BITS)

/* Requests that a limit counts. */
static inline u32 fgio_inflight_counted(const struct fgio_inflight *inflight)
{
	return fgio_load(&inflight->word) & FGIO_INFLIGHT_MASK;
}

/* All requests in the device. Ordered before later accesses. */
static inline u32 fgio_inflight_all(const struct fgio_inflight *inflight)
{
	u64 word = fgio_load_acquire(&inflight->word);

	return (word & FGIO_INFLIGHT_MASK) +
	       (word >> FGIO_INFLIGHT_BITS & FGIO_INFLIGHT_MASK);
}

/* Whether it has one, counted or not. Ordered before later accesses. */
static inline bool fgio_inflight_any(const struct fgio_inflight *inflight)
{
	return fgio_load_acquire(&inflight->word) &
	       ((1ULL << FGIO_INFLIGHT_EPOCH_SHIFT) - 1);
}

/* A request goes to the device. Return: the epoch for fgio_inflight_leave(). */
static inline u32 fgio_inflight_enter(struct fgio_inflight *inflight)
{
	return fgio_add(&inflight->word, 1) >> FGIO_INFLIGHT_EPOCH_SHIFT;
}

/*
 * It left the device. Return: requests still there. A full barrier on both
 * sides.
 */
static inline u32 fgio_inflight_leave(struct fgio_inflight *inflight, u32 epoch)
{
	u64 word = fgio_load(&inflight->word);
	u64 without;

	do {
		without = word - 1;
		if (word >> FGIO_INFLIGHT_EPOCH_SHIFT != epoch)
			without = word - (1ULL << FGIO_INFLIGHT_BITS);
	} while (!fgio_replace(&inflight->word, &word, without));
	return (without & FGIO_INFLIGHT_MASK) +
	       (without >> FGIO_INFLIGHT_BITS & FGIO_INFLIGHT_MASK);
}

/* Requests now in the device count no more. */
static inline void fgio_inflight_write_off(struct fgio_inflight *inflight)
{
	u64 word = fgio_load(&inflight->word);
	u64 counted;

	do
		counted = word & FGIO_INFLIGHT_MASK;
	while (!fgio_replace(&inflight->word, &word,
			     word - counted + (counted << FGIO_INFLIGHT_BITS) +
				     (1ULL << FGIO_INFLIGHT_EPOCH_SHIFT)));
}

#endif /* FGIO_CORE_INFLIGHT_H */
