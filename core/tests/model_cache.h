/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A simulated host: groups that read and write files through page caches that
 * evict the least recently used page, one drive, and a reclaim like the
 * kernel's, of either kind. One takes from each group in proportion to what that
 * holds beyond its memory.low, and from all when everything is protected. The
 * other, with multiple generations, takes from one group after the other, and
 * passes over one below its memory.low only once before it takes from that, too
 * (shrink_one() of Linux 6.12). With or without the policy of cache_shares.h.
 *
 * Within a group it has no active list and no generations, and it has no
 * readahead and no dirty limit: what it shows is how the policy divides pages,
 * not what a kernel reaches.
 */
#ifndef FGIO_CORE_TESTS_MODEL_CACHE_H
#define FGIO_CORE_TESTS_MODEL_CACHE_H

#include "../cache_hits.h"
#include "../cache_shares.h"

#define MODEL_CACHE_GROUPS 8
#define MODEL_CACHE_MEMORY 16384
#define MODEL_CACHE_FILES 65536
/* Time between two decisions at rest, in ticks of 1 ms. */
#define MODEL_CACHE_INTERVAL 500

enum model_cache_load {
	MODEL_CACHE_IDLE,
	MODEL_CACHE_REREAD,	/* random pages of one file */
	MODEL_CACHE_FILESERVER, /* files: read whole, written whole, appended to */
	MODEL_CACHE_STREAM,	/* all pages in order, again only after 2^16 */
	MODEL_CACHE_BURSTS,	/* a stream, for a second of each three */
};

/* A page of a group's files; lists are circles through the group's head. */
struct model_cache_page {
	u32 newer;
	u32 older;
	bool present;
	bool evicted;
};

struct model_cache_group {
	enum model_cache_load load;
	u64 weight;
	u64 size; /* pages of its files, MODEL_CACHE_FILES at most */
	u64 held;
	u64 low;
	u64 refaults;
	u64 reads; /* pages read or written */
	u64 missed; /* of those, pages that took time of the drive */
	u64 told_reads; /* of both, what the last decision on hits knew */
	u64 told_missed;
	u64 scale; /* of its weight on the drive */
	u64 position;
	bool passed;	/* over, by reclaim with multiple generations */
	double budget;
	struct model_cache_page *page; /* the head at the end */
};

struct model_cache {
	u64 count;
	struct model_cache_group group[MODEL_CACHE_GROUPS];
	struct fgio_cache_group decided[MODEL_CACHE_GROUPS];
	struct fgio_cache_memory memory;
	bool controlled;
	bool generations; /* reclaim with multiple generations */
	bool fixed;	/* ablation: the inflow is taken for 0 */
	bool drive_by_weight;
	bool hits; /* count towards its part of the drive */
	struct fgio_cache_hits counted[MODEL_CACHE_GROUPS];
	struct fgio_cache_family family;
	u64 hits_next;	/* tick of the next decision on them */
	u64 next;	/* tick of the next decision */
	u64 before;	/* tick of the last one */
	u64 turn;	/* group that reclaim looks at next */
	u64 freed;	/* pages, by reclaim of any kind */
	u64 taken;	/* pages, by the kernel's reclaim */
	u64 decisions;
	double drive; /* pages that it moves in a tick */
	u64 random;
	u64 ticks;
};

void model_cache_init(struct model_cache *cache, bool controlled, u64 seed);
void model_cache_add(struct model_cache *cache, enum model_cache_load load,
		     u64 weight, u64 size);
void model_cache_run(struct model_cache *cache, u64 ticks);
void model_cache_end(struct model_cache *cache);

/* Proportionality variation, as docs/page-cache-shares.md infers it. */
double model_cache_pv(const double *got, const u64 *weights, u64 count);

/* Weighted max-min by bisection: what each is granted, in fractions of a page. */
void model_cache_max_min(const u64 *needs, const u64 *weights, u64 count,
			 u64 capacity, double *granted);

#endif /* FGIO_CORE_TESTS_MODEL_CACHE_H */
