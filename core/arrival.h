/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Arrival prediction: when the next critical I/O comes, from the pauses between
 * those before it, and when the drive has to be done so that it does not wait.
 *
 * Locking: the caller serialises all calls for one struct. Nothing here sleeps,
 * allocates, or loops longer than over its array. All times are ns.
 */
#ifndef FGIO_CORE_ARRIVAL_H
#define FGIO_CORE_ARRIVAL_H

#include "types.h"

/* Pauses that a prediction is made from. */
#define FGIO_ARRIVAL_PAUSES 16

/* Only the functions below touch the members. All zero: nothing is known. */
struct fgio_arrival {
	u32 pause_ns[FGIO_ARRIVAL_PAUSES];
	u32 pauses;
	u32 summed; /* @pauses at the last update of the next two */
	u32 least_ns;
	u32 most_ns;
	u64 margin_ns;
};

/* Critical I/O came @pause_ns after the last one completed. */
void fgio_arrival_came(struct fgio_arrival *arrival, u64 pause_ns);

/**
 * fgio_arrival_next() - predict the next critical I/O
 * @arrival: the pauses
 * @since_ns: time of the last critical completion
 * @work_ns: time that the drive needs for what would go before it
 * @done_ns: out: when the drive must be done
 * @late_ns: out: when the arrival is overdue
 *
 * Return: false when there is no prediction, or waiting for it would cost too
 * much: the pauses must be alike, and long beside the work.
 */
bool fgio_arrival_next(struct fgio_arrival *arrival, u64 since_ns,
		       u64 work_ns, u64 *done_ns, u64 *late_ns);

/*
 * As fgio_arrival_next(), for pauses that are short beside the work, so that
 * waiting for the arrival costs little. Return: whether it comes before
 * @late_ns.
 */
bool fgio_arrival_soon(struct fgio_arrival *arrival, u64 since_ns,
		       u64 work_ns, u64 *late_ns);

/*
 * Critical I/O took @excess_ns (0: none) longer than @known_ns, its base
 * latency.
 */
void fgio_arrival_judge(struct fgio_arrival *arrival, u64 excess_ns,
			u64 known_ns);

#endif /* FGIO_CORE_ARRIVAL_H */
