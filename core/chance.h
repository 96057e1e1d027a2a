/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Whether late I/Os in a row are late by chance. Drives have tails: on a
 * volume, one I/O in thirty may take ten times as long beside any load. The
 * share of late I/Os is learnt in a quiet drive. A row too long for that share
 * has waited.
 *
 * Locking: the caller serialises all calls for one struct. Nothing here sleeps
 * or allocates.
 */
#ifndef FGIO_CORE_CHANCE_H
#define FGIO_CORE_CHANCE_H

#include "types.h"

/* A share of 1. */
#define FGIO_CHANCE_ALL 65536U

/**
 * struct fgio_chance - all zero: no I/O is late by chance, as far as is known
 * @share: of late I/Os in a quiet drive, in 1/FGIO_CHANCE_ALL
 * @seen: I/Os learnt from, counted to CHANCE_SPAN - CHANCE_FIRST
 * @row: late ones in a row beside others, the latest I/O last
 */
struct fgio_chance {
	u32 share;
	u32 seen;
	u32 row;
};

/* An I/O in a quiet drive was late, or was not. */
void fgio_chance_learn(struct fgio_chance *chance, bool late);

/* An I/O beside others was late, or was not. */
void fgio_chance_note(struct fgio_chance *chance, bool late);

/*
 * Whether chance makes a row as long as the present one more often than @most
 * in FGIO_CHANCE_ALL. Always true of an empty row.
 */
bool fgio_chance_explains(const struct fgio_chance *chance, u32 most);

#endif /* FGIO_CORE_CHANCE_H */
