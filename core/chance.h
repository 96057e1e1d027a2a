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
 * @rarest: least share of late ones beside others, rising slowly; 0: not known
 * @beside: I/Os beside others since it was last learnt
 * @late: those of them that were late
 */
struct fgio_chance {
	u32 share;
	u32 seen;
	u32 row;
	u32 rarest;
	u32 beside;
	u32 late;
};

/* An I/O in a quiet drive was late, or was not. */
void fgio_chance_learn(struct fgio_chance *chance, bool late);

/* An I/O beside others was late, or was not. */
void fgio_chance_note(struct fgio_chance *chance, bool late);

/*
 * The share as if one I/O more had been late (Laplace's rule of succession):
 * after few I/Os in a quiet drive, that no tail came shows little. A drive whose
 * background keeps it busy has few for seconds. But tails are no more frequent
 * than late I/Os are beside others, where hardly any has waited.
 */
u32 fgio_chance_likely(const struct fgio_chance *chance);

/*
 * Whether chance makes a row as long as the present one more often than @most
 * in FGIO_CHANCE_ALL, where @share of the I/Os are late by chance. Always true
 * of an empty row.
 */
bool fgio_chance_explains(const struct fgio_chance *chance, u32 share,
			  u32 most);

#endif /* FGIO_CORE_CHANCE_H */
