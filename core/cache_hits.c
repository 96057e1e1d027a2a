// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "cache_hits.h"
#include "number.h"
#include "shares.h"

/* Parts of misses, in 2^10ths. */
#define WHOLE 1024ULL

static u64 weight_of(const struct fgio_cache_hits *group)
{
	return smaller(larger(group->weight, FGIO_SHARES_WEIGHT_LEAST),
		       FGIO_SHARES_WEIGHT_MOST);
}

/* Both have fallen to the part that @interval_ms leaves, before what is new. */
static u64 keep(u64 kept, u64 fresh, u64 interval_ms)
{
	u64 gone = smaller(interval_ms, FGIO_CACHE_HITS_MS);

	/* Divided first: the product could overflow. */
	return kept - kept / FGIO_CACHE_HITS_MS * gone +
	       smaller(fresh, FGIO_CACHE_HITS_BYTES_MOST);
}

static void estimate(struct fgio_cache_hits *group, u64 interval_ms)
{
	/* More misses than was moved: readahead, or I/O that was mapped. */
	u64 missed = smaller(group->missed, group->moved);

	group->moved_kept = keep(group->moved_kept, group->moved, interval_ms);
	group->missed_kept = keep(group->missed_kept, missed, interval_ms);
	group->hungry_ms = group->hungry ?
				   FGIO_CACHE_HITS_HUNGRY_MS :
				   beyond(group->hungry_ms, interval_ms);
}

/* Of what it moves: a group of which nothing is known misses all. */
static u64 misses_of(const struct fgio_cache_hits *group)
{
	/* Less than the unit of the parts shows nothing. */
	u64 moved = group->moved_kept / WHOLE;

	if (!moved)
		return WHOLE;
	return smaller(larger(group->missed_kept / moved,
			      WHOLE / FGIO_CACHE_HITS_MISSES),
		       WHOLE);
}

void fgio_cache_count_hits(struct fgio_cache_hits *groups, u64 count,
			   u64 interval_ms)
{
	u64 weights = 0, misses = 0;

	interval_ms = smaller(larger(interval_ms, 1), 60000);
	for (u64 i = 0; i < count; i++) {
		struct fgio_cache_hits *group = &groups[i];

		estimate(group, interval_ms);
		if (!group->hungry_ms)
			continue;
		weights += weight_of(group);
		misses += weight_of(group) * misses_of(group);
	}
	/* Weights of 2^20 groups are below 2^34, so products are below 2^54. */
	for (u64 i = 0; i < count; i++)
		groups[i].scale = groups[i].hungry_ms ?
			misses_of(&groups[i]) * weights *
				FGIO_SHARES_SCALE_ONE / misses :
			FGIO_SHARES_SCALE_ONE;
}
