/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How many requests of a class the device has, and how many of them count.
 *
 * A device may keep a request for as long as it likes: a polled completion that
 * its submitter never reaps, a placement group of a network volume that waits
 * for its disks. An in-flight limit would then never leave room. So requests of
 * the device can be written off: they are there, and count no more.
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
 * once: those that count (bits 19:0), those written off (39:20), and how often
 * that was done (63:40), by which a request knows to which of them it belongs.
 */
struct fgio_inflight {
	u64 word;
};

#define FGIO_INFLIGHT_BITS 20
#define FGIO_INFLIGHT_MASK ((1ULL << FGIO_INFLIGHT_BITS) - 1)
#define FGIO_INFLIGHT_EPOCH_SHIFT (2 * FGIO_INFLIGHT_BITS)

/* Those that a limit counts. */
static inline u32 fgio_inflight_counted(const struct fgio_inflight *inflight)
{
	return fgio_load(&inflight->word) & FGIO_INFLIGHT_MASK;
}

/* All that the device has. Ordered before what is read after it. */
static inline u32 fgio_inflight_all(const struct fgio_inflight *inflight)
{
	u64 word = fgio_load_acquire(&inflight->word);

	return (word & FGIO_INFLIGHT_MASK) +
	       (word >> FGIO_INFLIGHT_BITS & FGIO_INFLIGHT_MASK);
}

/* Whether it has one, counted or not. Ordered before what is read after it. */
static inline bool fgio_inflight_any(const struct fgio_inflight *inflight)
{
	return fgio_load_acquire(&inflight->word) &
	       ((1ULL << FGIO_INFLIGHT_EPOCH_SHIFT) - 1);
}

/* A request goes to the device. Return: what fgio_inflight_leave() wants. */
static inline u32 fgio_inflight_enter(struct fgio_inflight *inflight)
{
	return fgio_add(&inflight->word, 1) >> FGIO_INFLIGHT_EPOCH_SHIFT;
}

/*
 * It left the device. Return: how many are there still. A full barrier on both
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

/* Those that are in the device now count no more. */
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
