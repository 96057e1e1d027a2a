/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A simulated host: groups that read and write files through page caches that
 * evict the least recently used page, one drive, and a reclaim like the
 * kernel's: when free memory is short it takes from each group in proportion to
 * what that holds beyond its memory.low, and from all when everything is
 * protected. With or without the policy of cache_shares.h.
 *
 * It has no active list, no readahead and no dirty limit: what it shows is how
 * the policy divides pages, not what a kernel reaches.
 */
#ifndef FGIO_CORE_TESTS_MODEL_CACHE_H
#define FGIO_CORE_TESTS_MODEL_CACHE_H

#include "../cache_shares.h"

#define MODEL_CACHE_GROUPS 8
#define MODEL_CACHE_MEMORY 16384
#define MODEL_CACHE_FILES 65536
/* Time between two decisions, in ticks of 1 ms. */
#define MODEL_CACHE_INTERVAL 500

enum model_cache_load {
	MODEL_CACHE_IDLE,
	MODEL_CACHE_REREAD,	/* random pages of one file */
	MODEL_CACHE_FILESERVER, /* files: read whole, written whole, appended to */
	MODEL_CACHE_STREAM,	/* all pages in order, again only after 2^16 */
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
	u64 position;
	double budget;
	struct model_cache_page *page; /* the head at the end */
};

struct model_cache {
	u64 count;
	struct model_cache_group group[MODEL_CACHE_GROUPS];
	struct fgio_cache_group decided[MODEL_CACHE_GROUPS];
	bool controlled;
	bool drive_by_weight;
	double drive; /* pages that it moves in a tick */
	u64 random;
	u64 ticks;
	u64 most_reclaimed; /* by one decision */
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
