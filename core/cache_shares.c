// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "cache_shares.h"
#include "number.h"

#define SECOND_MS 1000ULL

/* In @granted, until a group has its grant. */
#define OPEN (~0ULL)

static u64 pages(u64 count)
{
	return smaller(count, FGIO_CACHE_PAGES_MOST);
}

static u64 weight_of(const struct fgio_cache_group *group)
{
	return smaller(larger(group->weight, FGIO_CACHE_WEIGHT_LEAST),
		       FGIO_CACHE_WEIGHT_MOST);
}

static u64 interval_of(const struct fgio_cache_level *level)
{
	return smaller(larger(level->interval_ms, 1), 60 * SECOND_MS);
}

/* Whether a group gained @count pages in a way that shows a need for more. */
static bool is_much(const struct fgio_cache_group *group, u64 count,
		    u64 interval_ms)
{
	u64 least = larger(pages(group->file) / FGIO_CACHE_HUNGER,
			   FGIO_CACHE_HUNGER_LEAST);

	return pages(count) * SECOND_MS >= least * interval_ms;
}

static bool is_hungry(const struct fgio_cache_group *group, u64 interval_ms)
{
	return is_much(group, group->refaults, interval_ms);
}

static u64 growth_of(const struct fgio_cache_group *group)
{
	return group->known ? beyond(pages(group->file), group->held) : 0;
}

/* File pages that it may hold under its own limit. */
static u64 room_of(const struct fgio_cache_group *group)
{
	return pages(beyond(group->max, pages(group->other)));
}

/* What it holds, an eighth to grow, and twice what it gained or read again. */
static u64 claim_of(const struct fgio_cache_group *group)
{
	u64 file = pages(group->file);

	return file + file / 8 + FGIO_CACHE_ROOM +
	       2 * (pages(group->refaults) + growth_of(group));
}

static void estimate(struct fgio_cache_group *group, u64 interval_ms,
		     bool are_hungry)
{
	u64 claim = claim_of(group);
	bool asks = is_hungry(group, interval_ms) ||
		    is_much(group, growth_of(group), interval_ms);

	if (!group->known)
		group->need = claim;
	else if (asks || (claim > group->need && !are_hungry))
		group->need = larger(group->need, claim);
	else if (are_hungry)
		group->need = smaller(group->need -
					      group->need * interval_ms /
						      FGIO_CACHE_DECAY_MS,
				      claim);
	else
		group->need -= (group->need - claim) / 2;
	/* An estimate that ran away would take long to come back. */
	group->need = smaller(smaller(group->need, 4 * claim), room_of(group));
	group->held = pages(group->file);
	group->known = 1;
}

static u64 weights_of(const struct fgio_cache_group *groups, u64 count)
{
	u64 sum = 0;

	for (u64 i = 0; i < count; i++)
		if (groups[i].granted == OPEN)
			sum += weight_of(&groups[i]);
	return sum;
}

/*
 * Part of a capacity, at most 2^42, by weights that add up to 2^34 at most: the
 * product with one weight is less than 2^56.
 */
static u64 part(u64 capacity, u64 weight, u64 weights)
{
	return capacity * weight / weights;
}

/* Weighted max-min: groups that need less than their part go out with it. */
static void grant(struct fgio_cache_group *groups, u64 count, u64 capacity)
{
	u64 left = capacity;
	u64 taken, weights;

	do {
		u64 before = left;

		weights = weights_of(groups, count);
		taken = 0;
		for (u64 i = 0; i < count; i++) {
			struct fgio_cache_group *group = &groups[i];

			if (group->granted != OPEN ||
			    group->need >
				    part(before, weight_of(group), weights))
				continue;
			group->granted = group->need;
			left -= group->need;
			taken++;
		}
	} while (taken);
	for (u64 i = 0; i < count; i++)
		if (groups[i].granted == OPEN)
			groups[i].granted =
				part(left, weight_of(&groups[i]), weights);
}

static void protect(struct fgio_cache_group *group)
{
	u64 kept = group->granted - group->granted / FGIO_CACHE_SLACK;

	group->protect = larger(pages(group->other) + kept, group->low);
}

/*
 * What it holds beyond its grant, what the administrator protected, and what
 * cannot be reclaimed yet. The kernel's count of busy pages is up to 2 s old:
 * hence the room beside them, without which most attempts would be in vain.
 */
static u64 excess_of(const struct fgio_cache_group *group)
{
	u64 guarded = larger(group->low, group->min);
	u64 kept = larger(group->granted,
			  beyond(guarded, pages(group->other)));
	u64 busy = group->busy ? pages(group->busy) + FGIO_CACHE_ROOM : 0;

	return beyond(pages(group->file), larger(kept, busy));
}

/* Of that, what it can give because others ask: half, less when it stalls. */
static u64 gift_of(const struct fgio_cache_group *group)
{
	return excess_of(group) / 2 *
	       beyond(FGIO_CACHE_STALLED, group->stalled) / FGIO_CACHE_STALLED;
}

/*
 * What a group asks of the others: as much as it read again, up to what it is
 * granted.
 */
static u64 wanted_by(const struct fgio_cache_group *group, u64 interval_ms)
{
	u64 lacks = beyond(group->granted, pages(group->file));

	if (!is_hungry(group, interval_ms))
		return 0;
	return smaller(lacks, 2 * pages(group->refaults));
}

/* A group's part of @wanted, of which there is @all: at most what is @mine. */
static u64 portion(u64 mine, u64 wanted, u64 all)
{
	/* In 2^10ths, since a product of both could overflow. */
	return all > wanted ? mine * (wanted * 1024 / all) / 1024 : mine;
}

static void reclaim(const struct fgio_cache_level *level,
		    struct fgio_cache_group *groups, u64 count)
{
	u64 deficit = pages(level->deficit);
	u64 held = 0, asked = 0, excess = 0, gifts = 0;

	for (u64 i = 0; i < count; i++) {
		held = pages(held + pages(groups[i].file));
		/* 2^20 groups of 2^42 pages do not overflow. */
		excess += excess_of(&groups[i]);
		gifts += gift_of(&groups[i]);
		asked = pages(asked +
			      wanted_by(&groups[i], interval_of(level)));
	}
	asked = smaller(asked, held * interval_of(level) /
				       (SECOND_MS * FGIO_CACHE_RATE));
	/* What is freed for all is there for those that ask, too. */
	asked = beyond(asked, deficit);
	for (u64 i = 0; i < count; i++) {
		u64 mine = excess_of(&groups[i]);
		u64 due = smaller(mine, portion(mine, deficit, excess) +
						portion(gift_of(&groups[i]),
							asked, gifts));

		groups[i].reclaim = due < FGIO_CACHE_RECLAIM_LEAST ? 0 : due;
	}
}

/* The rate seen last, or what is left of a larger one. */
static void expect(struct fgio_cache_memory *memory, u64 interval_ms)
{
	u64 before = pages(memory->was_free) + pages(memory->freed);
	u64 taken = memory->known ? beyond(before, pages(memory->free)) : 0;
	u64 kept = memory->inflow -
		   memory->inflow * smaller(interval_ms, FGIO_CACHE_INFLOW_MS) /
			   FGIO_CACHE_INFLOW_MS;

	memory->inflow = pages(larger(taken * SECOND_MS / interval_ms, kept));
	memory->was_free = memory->free;
	memory->known = 1;
}

/*
 * The time in which half of the least spare memory is taken. More often than
 * that, decisions would cost processor time for nothing; more rarely, more
 * memory would have to be kept free.
 */
static u64 pause_of(const struct fgio_cache_memory *memory, u64 high)
{
	u64 rest_ms = smaller(larger(memory->rest_ms, 1), 60 * SECOND_MS);
	u64 pause_ms = memory->inflow ?
			       high * SECOND_MS / (2 * memory->inflow) :
			       rest_ms;

	return smaller(larger(pause_ms, larger(rest_ms / FGIO_CACHE_HASTE, 1)),
		       rest_ms);
}

void fgio_cache_keep_free(struct fgio_cache_memory *memory,
			  struct fgio_cache_level *level)
{
	u64 interval_ms = interval_of(level);
	u64 free = pages(memory->free), file = pages(memory->file);
	u64 high = pages(memory->high);
	u64 ahead;

	expect(memory, interval_ms);
	ahead = 2 * memory->inflow * interval_ms / SECOND_MS;
	memory->spare = high + larger(high, smaller(ahead,
						    file / FGIO_CACHE_SPARE));
	memory->pause_ms = pause_of(memory, high);
	level->capacity = beyond(file + free, memory->spare);
	level->deficit = beyond(memory->spare, free);
}

void fgio_cache_decide(const struct fgio_cache_level *level,
		       struct fgio_cache_group *groups, u64 count)
{
	u64 capacity = pages(level->capacity);
	u64 interval_ms = interval_of(level);
	u64 weights = 0, hungry = 0;

	for (u64 i = 0; i < count; i++) {
		groups[i].hungry = is_hungry(&groups[i], interval_ms);
		hungry += groups[i].hungry;
		weights += weight_of(&groups[i]);
	}
	for (u64 i = 0; i < count; i++) {
		struct fgio_cache_group *group = &groups[i];

		estimate(group, interval_ms, hungry > group->hungry);
		group->entitled = smaller(
			part(capacity, weight_of(group), weights),
			room_of(group));
		group->granted = OPEN;
	}
	grant(groups, count, capacity);
	for (u64 i = 0; i < count; i++)
		protect(&groups[i]);
	reclaim(level, groups, count);
}
