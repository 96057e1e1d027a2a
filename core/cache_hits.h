/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Hits in the page cache, counted towards a group's part of the drive.
 *
 * A group whose memory goes by weight has the better hit ratio the heavier it
 * is. Where the drive goes by weight as well, what its tasks get goes by more
 * than its weight. Among groups that read again what they lost (they are
 * *hungry*, cache_shares.h), memory and drive are two ways to the same data.
 * Their weights on the drive are scaled by their parts of misses, so that
 * what they get of both together goes by weight.
 *
 * That holds where the drive is what they wait for. Groups that hit more than
 * others may have less than their part of all that is moved nevertheless, for
 * want of demand: then their hits are no advantage. So how much of the scales is
 * *applied* follows what those groups get.
 *
 * Two bounds keep that from doing harm. What hungry groups have of the drive
 * together stays what it was, so a group that is not hungry (a backup, a
 * database that fits into memory) neither gains nor loses. And no more than
 * half of what a group moves is counted as hits: one that is mostly in memory
 * keeps the larger part of its weight for its misses.
 *
 * Nothing here sleeps, allocates or keeps state outside of the groups; the
 * caller serialises calls for one set of siblings. Cost: O(n).
 */
#ifndef FGIO_CORE_CACHE_HITS_H
#define FGIO_CORE_CACHE_HITS_H

#include "shares_tree.h"
#include "types.h"

/* What was moved is remembered: it falls to 1/e in this time. */
#define FGIO_CACHE_HITS_MS 8000

/* A group counts as hungry for as long after it was. */
#define FGIO_CACHE_HITS_HUNGRY_MS 8000

/* Of what a group moves, misses are at least 1 / FGIO_CACHE_HITS_MISSES. */
#define FGIO_CACHE_HITS_MISSES 2

/*
 * A group that misses this many times what it moves reads through maps: its hits
 * are not seen. Small records, with what is read around them, are below that.
 */
#define FGIO_CACHE_HITS_MAPPED 16

/*
 * What is applied of the scales, in parts of it; it changes by the part of all
 * that those who hit have beyond what they are due, in this time. Shorter than
 * what is moved is remembered for, it would swing.
 */
#define FGIO_CACHE_HITS_APPLIED 1024
#define FGIO_CACHE_HITS_FOLLOW_MS 1000

/* Most bytes that count in one interval: 2^44. */
#define FGIO_CACHE_HITS_BYTES_MOST (1ULL << 44)

/**
 * struct fgio_cache_hits - a group: facts, the decision, and the estimate between
 * @weight: 1 to 10,000; others are taken as the nearest
 * @hungry: not 0: it read again what it lost, since the decision before
 * @moved: bytes that its tasks read and wrote since the decision before
 * @missed: of those, bytes that came from a drive or have to go there
 *
 * @scale: decided: of its weight on drives, in parts of FGIO_SHARES_SCALE_ONE
 *
 * @moved_kept: kept: @moved, of some seconds
 * @missed_kept: kept: the same of @missed
 * @hungry_ms: kept: time for which it still counts as hungry
 *
 * All fields have one size, so that bindings cannot get the layout wrong.
 */
struct fgio_cache_hits {
	u64 weight;
	u64 hungry;
	u64 moved;
	u64 missed;

	u64 scale;

	u64 moved_kept;
	u64 missed_kept;
	u64 hungry_ms;
};

/**
 * struct fgio_cache_family - what a set of siblings has in common
 * @interval_ms: time since the decision before, 1 to 60,000
 * @withheld: kept: of the scales, what is not applied, in parts of
 *	FGIO_CACHE_HITS_APPLIED; 0 at first
 */
struct fgio_cache_family {
	u64 interval_ms;
	u64 withheld;
};

/**
 * fgio_cache_count_hits() - scale the weights of siblings on drives
 * @family: what they have in common
 * @groups: the siblings; facts are read, decisions and estimates written
 * @count: how many, 0 to 2^20
 *
 * Guarantees, whatever the facts: groups that are not hungry, those that read
 * through maps, and one that is alone, have FGIO_SHARES_SCALE_ONE; scales are within
 * 1 / FGIO_CACHE_HITS_MISSES and FGIO_CACHE_HITS_MISSES times that; the scaled
 * weights of hungry groups add up to their weights, but for rounding.
 */
void fgio_cache_count_hits(struct fgio_cache_family *family,
			   struct fgio_cache_hits *groups, u64 count);

#endif /* FGIO_CORE_CACHE_HITS_H */
