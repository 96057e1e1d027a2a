/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Whether I/Os that are late, one after the other, are so by chance. Drives have tails: of a
 * volume, one I/O in thirty may take ten times as long, whoever else is there. How many do is
 * seen in a quiet drive. As many in a row as chance has no part in have waited for
 * something.
 *
 * Locking: the caller serialises all calls for one struct. Nothing here sleeps or allocates.
 */
#ifndef FGIO_CORE_CHANCE_H
#define FGIO_CORE_CHANCE_H

#include "types.h"

/* A share of 1. */
#define FGIO_CHANCE_ALL 65536U

/**
 * struct fgio_chance - all zero: nothing is late by chance, as far as is known
 * @share: of the I/Os in a quiet drive that are late, in 1/FGIO_CHANCE_ALL
 * @seen: of these, up to some
 * @row: late ones in a row beside others, the latest I/O last
 */
struct fgio_chance {
	u32 share;
	u32 seen;
	u32 row;
};

/* An I/O in a quiet drive was late, or was not. */
void fgio_chance_learn(struct fgio_chance *chance, bool late);

/* So was one that others were beside. */
void fgio_chance_note(struct fgio_chance *chance, bool late);

/*
 * Whether as many in a row as there are just now would be late by chance more often than
 * @most in FGIO_CHANCE_ALL. Where none is late, that is chance.
 */
bool fgio_chance_explains(const struct fgio_chance *chance, u32 most);

#endif /* FGIO_CORE_CHANCE_H */
