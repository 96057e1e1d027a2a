/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Whether a drive that rotates has several arms, as an array has. Reads of one
 * arm wait for each other; of several, most find theirs free. So reads beside
 * exactly one background I/O are compared with those of a quiet drive.
 *
 * Which of them tell: critical reads beside a background read that went while
 * critical I/O was in the drive, since any other one may be in order, and over
 * before the arm is missed; and background reads far from those before them.
 *
 * Locking: the caller serialises all calls for one struct. Nothing here sleeps,
 * allocates or loops. All times are ns.
 */
#ifndef FGIO_CORE_ARMS_H
#define FGIO_CORE_ARMS_H

#include "types.h"

/* Unit of the means: a base latency. */
#define FGIO_ARMS_ONE 4096

/**
 * struct fgio_arms - of one drive; all zero: nothing is known, so one arm
 * @beside: mean time of reads beside another one, in base latencies
 * @alone: the same of reads in a quiet drive
 * @seen_beside: reads that @beside is the mean of, up to ARMS_SPAN
 * @seen_alone: those of @alone
 * @several: the verdict
 */
struct fgio_arms {
	u32 beside;
	u32 alone;
	u32 seen_beside;
	u32 seen_alone;
	bool several;
};

/* A read took @took_ns, whose base latency is @known_ns, not 0. */
void fgio_arms_note(struct fgio_arms *arms, bool beside, u64 took_ns,
		    u64 known_ns);

#endif /* FGIO_CORE_ARMS_H */
