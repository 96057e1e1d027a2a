/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Page cache by weight: how much file memory each group of tasks (a control
 * group) may hold, what is protected from reclaim, and how much to reclaim now.
 *
 * The kernel's reclaim knows no weights: under pressure, groups lose pages
 * about as they hold them. Here the file memory that can be reclaimed is
 * divided among siblings by weight. A group that needs less than its part
 * *lends* the rest to the others (weighted max-min). What it is *granted* in
 * the end is protected (memory.low), but for a slack that keeps some of all
 * memory open to the kernel's own reclaim. A group that holds more than it is
 * granted is reclaimed only when a sibling that holds less asks for the memory,
 * or when free memory comes near the watermark where the kernel would reclaim
 * from all. There it would take from groups within their grant as well, since
 * reclaim with multiple generations passes over a protected group only once: so
 * the memory that is kept free, and the time to the next decision, follow the
 * rate at which free memory is taken (fgio_cache_keep_free()).
 *
 * The *need* of a group is not known, but estimated from its refaults: reads of
 * pages that were evicted before. A group that refaults needs more than it
 * holds, and so does one that grows. A quiet one needs what it holds, and a
 * little to grow; while siblings refault, its need decays by half in
 * FGIO_CACHE_DECAY_MS * 0.7, so that memory which was used once does not stay
 * with it. When its pages refault, the estimate rises at once. A stream (a
 * backup) reads no page again: it causes no decay, whatever it reads.
 *
 * The kernel's own estimate (workingset_activate_file) is not used: it counts a
 * refault only when the group's active list would have had room for the page,
 * so a small group that needs much more has next to none.
 *
 * memory.low is a preference, not a limit: the kernel goes below it before it
 * runs out of memory. Nothing here sets a limit, so nothing here throttles a
 * task or causes an OOM kill.
 *
 * A hierarchy is divided from its top: one call of fgio_cache_decide() for each
 * set of siblings, with what their parent was granted.
 *
 * Memory is counted in pages of 4 KiB, at most FGIO_CACHE_PAGES_MOST; larger
 * figures are taken as that. Nothing here sleeps, allocates or keeps state
 * outside of the groups; the caller serialises calls for one set of siblings.
 * Cost: O(n) for each round of groups that need less than their part; all
 * rounds together are O(n^2) at worst, and two or three in practice.
 */
#ifndef FGIO_CORE_CACHE_SHARES_H
#define FGIO_CORE_CACHE_SHARES_H

#include "types.h"

#define FGIO_CACHE_WEIGHT_LEAST 1ULL
#define FGIO_CACHE_WEIGHT_MOST 10000ULL

/* 16 PiB. */
#define FGIO_CACHE_PAGES_MOST (1ULL << 42)

/* Part of a grant that is not protected: 1 / FGIO_CACHE_SLACK. */
#define FGIO_CACHE_SLACK 32

/*
 * A group can always grow by as much between two decisions, and so can its busy
 * pages: 1 MiB, in pages.
 */
#define FGIO_CACHE_ROOM 256

/*
 * A group that refaults this part of what it holds in a second is *hungry*:
 * it would exchange all of it within 256 s. One that grows by as much needs
 * more, too.
 */
#define FGIO_CACHE_HUNGER 256

/* ... but not below this number of pages a second, 64 KiB. */
#define FGIO_CACHE_HUNGER_LEAST 16

/*
 * Time in which the need of a quiet group falls to 1/e while siblings are
 * hungry. Shorter, an idle database loses its pages between two busy moments;
 * longer, memory that was used once is lent late.
 */
#define FGIO_CACHE_DECAY_MS 128000

/*
 * At most this part of all file memory of the siblings is reclaimed in a second
 * because siblings ask, so that reclaim holds locks of the kernel's lists for a
 * small part of the time: 1 / FGIO_CACHE_RATE. All of it is exchanged in 4 s.
 * What is reclaimed for a deficit, the kernel would reclaim otherwise.
 */
#define FGIO_CACHE_RATE 4

/* A reclaim of fewer pages than this is not worth the call: 256 KiB. */
#define FGIO_CACHE_RECLAIM_LEAST 64

/*
 * Time that a group stalled for memory, in hundredths of a percent (PSI, some,
 * avg10), at which nothing more is reclaimed from it because siblings ask. Below
 * it, reclaim gets slower in proportion.
 */
#define FGIO_CACHE_STALLED 1000

/*
 * A rate at which free memory was taken is expected again: it falls to 1/e in
 * this time. Shorter, each burst of a load that pauses finds too little free.
 */
#define FGIO_CACHE_INFLOW_MS 8000

/* Free memory kept for the inflow is at most this part of file memory. */
#define FGIO_CACHE_SPARE 8

/* Decisions come at most this number of times as often as they do at rest. */
#define FGIO_CACHE_HASTE 8

/**
 * struct fgio_cache_group - a group: facts, decisions, and the estimate between
 * @weight: FGIO_CACHE_WEIGHT_LEAST to FGIO_CACHE_WEIGHT_MOST; others are taken
 *	as the nearest
 * @file: file pages that it holds, active and inactive
 * @busy: of those, dirty ones and those under writeback: reclaim cannot take
 *	them, and each attempt costs a search of the group's lists. 0: a group
 *	that does not write
 * @other: pages charged to it that are not file memory
 * @refaults: file pages read again after they were evicted, since the decision
 *	before
 * @low: the administrator's own memory.low; 0: none
 * @min: the administrator's own memory.min; 0: none
 * @max: the least of memory.max and memory.high; U64_MAX: none
 * @stalled: time stalled for memory, in hundredths of a percent
 *
 * @entitled: decided: its part by weight, of what it may hold at all
 * @granted: decided: what it may hold, with what is lent to or by it
 * @protect: decided: memory.low to be set; never less than @low
 * @reclaim: decided: file pages to reclaim from it now; 0: none
 * @hungry: decided: 1: it read again what it lost, and needs more; else 0
 *
 * @need: kept: pages that it is thought to need
 * @held: kept: @file of the decision before
 * @known: kept: 0 before the first decision
 *
 * All fields have one size, so that bindings cannot get the layout wrong.
 */
struct fgio_cache_group {
	u64 weight;
	u64 file;
	u64 busy;
	u64 other;
	u64 refaults;
	u64 low;
	u64 min;
	u64 max;
	u64 stalled;

	u64 entitled;
	u64 granted;
	u64 protect;
	u64 reclaim;
	u64 hungry;

	u64 need;
	u64 held;
	u64 known;
};

/**
 * struct fgio_cache_level - what a set of siblings has in common
 * @capacity: file pages that they may hold together
 * @deficit: pages by which free memory is short of the place where the kernel
 *	reclaims from all; 0 below the top level, and when enough are free
 * @interval_ms: time since the decision before, 1 to 60,000
 */
struct fgio_cache_level {
	u64 capacity;
	u64 deficit;
	u64 interval_ms;
};

/**
 * struct fgio_cache_memory - the free memory of the host, and how much to keep
 * @free: free pages
 * @high: pages below which the kernel reclaims from all: the sum of the high
 *	watermarks of all zones
 * @file: file pages of all groups
 * @freed: pages that reclaim of any kind freed since the decision before
 * @rest_ms: time between two decisions at rest, 1 to 60,000
 *
 * @spare: decided: pages to keep free
 * @pause_ms: decided: time until the next decision, @rest_ms at most
 *
 * @inflow: kept: free pages taken in a second, as expected
 * @was_free: kept: @free of the decision before
 * @known: kept: 0 before the first decision
 */
struct fgio_cache_memory {
	u64 free;
	u64 high;
	u64 file;
	u64 freed;
	u64 rest_ms;

	u64 spare;
	u64 pause_ms;

	u64 inflow;
	u64 was_free;
	u64 known;
};

/**
 * fgio_cache_keep_free() - how much memory to keep free, and what follows
 * @memory: facts are read, decisions and the estimate written
 * @level: @interval_ms is read; @capacity and @deficit of the top level written
 *
 * Guarantees: the spare memory is twice the watermark at least, and beyond that
 * no more than a part of file memory (FGIO_CACHE_SPARE); what is taken in two
 * intervals at the rate seen last is within it, up to that bound.
 */
void fgio_cache_keep_free(struct fgio_cache_memory *memory,
			  struct fgio_cache_level *level);

/**
 * fgio_cache_decide() - divide the page cache among siblings
 * @level: what they have in common
 * @groups: the siblings; facts are read, decisions and estimates written
 * @count: how many, 0 to 2^20
 *
 * Guarantees, whatever the facts: grants add up to the capacity at most; none
 * is below the lesser of need and part by weight; no group is reclaimed below
 * its grant, nor below its busy pages; in one call, no more is reclaimed in all
 * than the deficit, and beyond it what siblings ask for: half of what groups
 * hold beyond their grants at most, and as the rate allows.
 */
void fgio_cache_decide(const struct fgio_cache_level *level,
		       struct fgio_cache_group *groups, u64 count);

#endif /* FGIO_CORE_CACHE_SHARES_H */
