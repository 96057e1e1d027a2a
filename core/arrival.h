/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * When the next critical I/O comes, by the pauses between those before it, and
 * how long before it a drive has to be done so that it does not wait.
 *
 * Locking: the caller serialises all calls for one struct. Nothing here sleeps,
 * allocates, or loops longer than over its array. All times are ns.
 */
#ifndef FGIO_CORE_ARRIVAL_H
#define FGIO_CORE_ARRIVAL_H

#include "types.h"

/* As many pauses say when it comes next. */
#define FGIO_ARRIVAL_PAUSES 16

/* Only the functions below touch the members. All zero: nothing is known. */
struct fgio_arrival {
	u32 pause_ns[FGIO_ARRIVAL_PAUSES];
	u32 pauses;
	u32 summed; /* @pauses when the next two were found */
	u32 least_ns;
	u32 most_ns;
	u64 margin_ns;
};

/* Critical I/O came so long after the last one had completed. */
void fgio_arrival_came(struct fgio_arrival *arrival, u64 pause_ns);

/**
 * fgio_arrival_next() - when the next critical I/O comes
 * @arrival: what is known of the pauses
 * @since_ns: when the last one completed
 * @work_ns: how long the drive has to do with what would go before it
 * @done_ns: set to when the drive must be done
 * @late_ns: set to when the I/O should have come
 *
 * Return: false when it cannot be said, or when waiting for it would cost too
 * much: the pauses have to be alike, and long beside the work.
 */
bool fgio_arrival_next(struct fgio_arrival *arrival, u64 since_ns,
		       u64 work_ns, u64 *done_ns, u64 *late_ns);

/*
 * As fgio_arrival_next(), for pauses that are short beside the work: to wait for the
 * next critical I/O costs little, and it comes before @late_ns. Return: whether so.
 */
bool fgio_arrival_soon(struct fgio_arrival *arrival, u64 since_ns,
		       u64 work_ns, u64 *late_ns);

/* Critical I/O took so much longer than @known_ns, as in a quiet drive; or 0. */
void fgio_arrival_judge(struct fgio_arrival *arrival, u64 excess_ns,
			u64 known_ns);

#endif /* FGIO_CORE_ARRIVAL_H */
