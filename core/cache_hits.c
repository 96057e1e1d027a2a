// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "cache_hits.h"
#include "cache_shares.h"
#include "number.h"

/* Parts of misses, in 2^10ths. */
#define WHOLE 1024ULL

static u64 weight_of(const struct fgio_cache_hits *group)
{
	return smaller(larger(group->weight, FGIO_CACHE_WEIGHT_LEAST),
		       FGIO_CACHE_WEIGHT_MOST);
}

/* What @interval_ms leaves of @kept, and what is new. */
static u64 keep(u64 kept, u64 fresh, u64 interval_ms)
{
	u64 gone = smaller(interval_ms, FGIO_CACHE_HITS_MS);

	/* Divided first: the product could overflow. */
	return kept - kept / FGIO_CACHE_HITS_MS * gone +
	       smaller(fresh, FGIO_CACHE_HITS_BYTES_MOST);
}

static void estimate(struct fgio_cache_hits *group, u64 interval_ms)
{
	group->moved_kept = keep(group->moved_kept, group->moved, interval_ms);
	group->missed_kept = keep(group->missed_kept, group->missed,
				  interval_ms);
	if (group->missed_kept / FGIO_CACHE_HITS_MAPPED > group->moved_kept)
		group->hungry_ms = 0;
	else if (group->hungry)
		group->hungry_ms = FGIO_CACHE_HITS_HUNGRY_MS;
	else
		group->hungry_ms = beyond(group->hungry_ms, interval_ms);
}

/* In pages, so that neither the sum of 2^20 groups overflows nor its parts. */
static u64 moved_of(const struct fgio_cache_hits *group)
{
	return smaller(group->moved_kept >> 12, 1ULL << 32);
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

/* Of all hungry groups. */
struct sums {
	u64 weights;
	u64 misses;
	u64 moved;
};

static struct sums sum_up(const struct fgio_cache_hits *groups, u64 count)
{
	struct sums sums = { 0 };

	for (u64 i = 0; i < count; i++) {
		const struct fgio_cache_hits *group = &groups[i];

		if (!group->hungry_ms)
			continue;
		sums.weights += weight_of(group);
		sums.misses += weight_of(group) * misses_of(group);
		sums.moved += moved_of(group);
	}
	return sums;
}

/*
 * As if all of it were applied. Weights of 2^20 groups are below 2^34, so
 * products are below 2^54.
 */
static u64 whole_scale_of(const struct fgio_cache_hits *group,
			  const struct sums *sums)
{
	return misses_of(group) * sums->weights * FGIO_SHARES_SCALE_ONE /
	       sums->misses;
}

static u64 part_of(u64 some, u64 all)
{
	return some * FGIO_CACHE_HITS_APPLIED / larger(all, 1);
}

/* Those that hit more than others do: what they have of all, and are due. */
static void follow(struct fgio_cache_family *family,
		   const struct fgio_cache_hits *groups, u64 count,
		   const struct sums *sums)
{
	u64 moved = 0, weights = 0, had, due, change;

	for (u64 i = 0; i < count; i++) {
		const struct fgio_cache_hits *group = &groups[i];

		if (!group->hungry_ms ||
		    whole_scale_of(group, sums) >= FGIO_SHARES_SCALE_ONE)
			continue;
		moved += moved_of(group);
		weights += weight_of(group);
	}
	had = part_of(moved, sums->moved);
	due = part_of(weights, sums->weights);
	change = (larger(had, due) - smaller(had, due)) * family->interval_ms /
		 FGIO_CACHE_HITS_FOLLOW_MS;
	/* Or rare looks would swing between all and nothing. */
	change = smaller(change, FGIO_CACHE_HITS_APPLIED / 4);
	if (had < due)
		family->withheld = smaller(family->withheld + change,
					   FGIO_CACHE_HITS_APPLIED);
	else
		family->withheld = beyond(family->withheld, change);
}

static u64 scale_of(const struct fgio_cache_family *family,
		    const struct fgio_cache_hits *group,
		    const struct sums *sums)
{
	u64 withheld = family->withheld;

	if (!group->hungry_ms)
		return FGIO_SHARES_SCALE_ONE;
	return (whole_scale_of(group, sums) *
			(FGIO_CACHE_HITS_APPLIED - withheld) +
		FGIO_SHARES_SCALE_ONE * withheld) /
	       FGIO_CACHE_HITS_APPLIED;
}

void fgio_cache_count_hits(struct fgio_cache_family *family,
			   struct fgio_cache_hits *groups, u64 count)
{
	struct sums sums;

	family->interval_ms = smaller(larger(family->interval_ms, 1), 60000);
	family->withheld = smaller(family->withheld, FGIO_CACHE_HITS_APPLIED);
	for (u64 i = 0; i < count; i++)
		estimate(&groups[i], family->interval_ms);
	sums = sum_up(groups, count);
	if (sums.weights)
		follow(family, groups, count, &sums);
	for (u64 i = 0; i < count; i++)
		groups[i].scale = scale_of(family, &groups[i], &sums);
}
