/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Where a long non-critical I/O is split.
 *
 * A drive finishes what it was given. A critical I/O that comes just after a
 * write of 256 KiB waits for all of it: 2.1 ms on a volume of 125 MB/s, where it
 * takes 0.6 ms alone. Requests of half the length take as much of the drive in
 * all, as long as its limit is in bytes: docs/depth.md.
 */
#ifndef FGIO_CORE_SPLIT_H
#define FGIO_CORE_SPLIT_H

#include "types.h"

/* Bounds of the sectors that a piece is set to have: 32 KiB and 8 MiB. */
#define FGIO_SPLIT_LEAST 64U
#define FGIO_SPLIT_MOST 16384U

/*
 * Sectors of the first piece of an I/O of @sectors from @sector on, where a piece
 * has @most at most, a power of two. It ends at a multiple of that, so that a
 * page of a database that is aligned stays in one piece. Return: 1 or more.
 */
static inline u32 fgio_split_first(u32 most, u64 sector, u32 sectors)
{
	u32 first = most - (u32)(sector & (most - 1));

	return first < sectors ? first : sectors;
}

#endif /* FGIO_CORE_SPLIT_H */
