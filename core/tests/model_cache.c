// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../number.h"
#include "check.h"
#include "model_cache.h"

/* As the kernel's: it begins to reclaim below the one, up to the other. */
#define WATERMARK_LOW (MODEL_CACHE_MEMORY / 128)
#define WATERMARK_HIGH (MODEL_CACHE_MEMORY / 64)
/* Pages that reclaim with multiple generations takes from a group in its turn. */
#define BATCH 32
/* Pages that a group can use in a tick, however many are in memory. */
#define HITS_MOST 400
#define FILE_PAGES 32
#define APPEND_PAGES 4

void model_cache_init(struct model_cache *cache, bool controlled, u64 seed)
{
	*cache = (struct model_cache){
		.controlled = controlled,
		.drive = 16,
		.random = seed,
	};
}

void model_cache_add(struct model_cache *cache, enum model_cache_load load,
		     u64 weight, u64 size)
{
	struct model_cache_group *group = &cache->group[cache->count++];

	CHECK(size <= MODEL_CACHE_FILES);
	*group = (struct model_cache_group){
		.load = load,
		.weight = weight,
		.size = size,
		.scale = FGIO_SHARES_SCALE_ONE,
		.page = calloc(MODEL_CACHE_FILES + 1, sizeof(*group->page)),
	};
	CHECK(group->page);
	group->page[MODEL_CACHE_FILES].newer = MODEL_CACHE_FILES;
	group->page[MODEL_CACHE_FILES].older = MODEL_CACHE_FILES;
}

void model_cache_end(struct model_cache *cache)
{
	for (u64 i = 0; i < cache->count; i++)
		free(cache->group[i].page);
}

static void unlink_page(struct model_cache_group *group, u32 at)
{
	struct model_cache_page *page = &group->page[at];

	group->page[page->newer].older = page->older;
	group->page[page->older].newer = page->newer;
}

static void link_newest(struct model_cache_group *group, u32 at)
{
	struct model_cache_page *head = &group->page[MODEL_CACHE_FILES];

	group->page[at].older = head->older;
	group->page[at].newer = MODEL_CACHE_FILES;
	group->page[head->older].newer = at;
	head->older = at;
}

/* The oldest is what the head calls newer: the circle closes there. */
static bool evict_one(struct model_cache_group *group)
{
	u32 at = group->page[MODEL_CACHE_FILES].newer;

	if (at == MODEL_CACHE_FILES)
		return false;
	unlink_page(group, at);
	group->page[at].present = false;
	group->page[at].evicted = true;
	group->held--;
	return true;
}

static u64 held(const struct model_cache *cache)
{
	u64 sum = 0;

	for (u64 i = 0; i < cache->count; i++)
		sum += cache->group[i].held;
	return sum;
}

static u64 open_pages(const struct model_cache_group *group, bool all)
{
	return all ? group->held : beyond(group->held, group->low);
}

static u64 free_pages(const struct model_cache *cache)
{
	return MODEL_CACHE_MEMORY - held(cache);
}

static void steal(struct model_cache *cache, struct model_cache_group *group)
{
	if (!evict_one(group))
		return;
	cache->freed++;
	cache->taken++;
}

/* As shrink_one(): memory.low counts once, then the group is like any other. */
static void reclaim_in_turn(struct model_cache *cache)
{
	while (free_pages(cache) < WATERMARK_HIGH) {
		struct model_cache_group *group =
			&cache->group[cache->turn++ % cache->count];

		if (group->held <= group->low && !group->passed) {
			group->passed = true;
			continue;
		}
		group->passed = false;
		for (int i = 0; i < BATCH; i++)
			steal(cache, group);
	}
}

/* As kswapd: from each by what it holds beyond memory.low. */
static void reclaim_by_overage(struct model_cache *cache)
{
	while (free_pages(cache) < WATERMARK_HIGH) {
		u64 sum = 0, chosen;
		bool all;

		for (u64 i = 0; i < cache->count; i++)
			sum += open_pages(&cache->group[i], false);
		all = !sum;
		if (all)
			sum = held(cache);
		chosen = next_random(&cache->random) % sum;
		for (u64 i = 0; i < cache->count; i++) {
			u64 mine = open_pages(&cache->group[i], all);

			if (chosen < mine) {
				steal(cache, &cache->group[i]);
				break;
			}
			chosen -= mine;
		}
	}
}

static void use(struct model_cache *cache, struct model_cache_group *group,
		u32 at, bool writes)
{
	struct model_cache_page *page = &group->page[at];

	group->reads++;
	if (writes || !page->present) {
		group->budget--;
		group->missed++;
	}
	if (page->present) {
		unlink_page(group, at);
	} else {
		if (page->evicted && !writes)
			group->refaults++;
		page->evicted = false;
		page->present = true;
		group->held++;
	}
	link_newest(group, at);
	if (free_pages(cache) >= WATERMARK_LOW)
		return;
	if (cache->generations)
		reclaim_in_turn(cache);
	else
		reclaim_by_overage(cache);
}

static void use_file(struct model_cache *cache, struct model_cache_group *group)
{
	u32 file = (u32)(next_random(&cache->random) %
			 (group->size / FILE_PAGES)) * FILE_PAGES;
	u64 kind = next_random(&cache->random) % 3;
	u32 first = kind == 2 ? (u32)(next_random(&cache->random) %
				      (FILE_PAGES - APPEND_PAGES)) : 0;
	u32 count = kind == 2 ? APPEND_PAGES : FILE_PAGES;

	for (u32 i = 0; i < count; i++)
		use(cache, group, file + first + i, kind > 0);
}

static void work(struct model_cache *cache, struct model_cache_group *group)
{
	u64 most = group->reads + HITS_MOST;

	while (group->budget >= 1 && group->reads < most) {
		switch (group->load) {
		case MODEL_CACHE_IDLE:
			return;
		case MODEL_CACHE_REREAD:
			use(cache, group,
			    (u32)(next_random(&cache->random) % group->size),
			    false);
			break;
		case MODEL_CACHE_FILESERVER:
			use_file(cache, group);
			break;
		case MODEL_CACHE_BURSTS:
			if (cache->ticks % 3000 >= 1000)
				return;
			/* fall through */
		case MODEL_CACHE_STREAM:
			use(cache, group,
			    (u32)(group->position++ % group->size), false);
			break;
		}
	}
}

static void decide(struct model_cache *cache)
{
	struct fgio_cache_level level = {
		.interval_ms = larger(cache->ticks - cache->before, 1),
	};

	cache->memory.free = free_pages(cache);
	cache->memory.high = WATERMARK_HIGH;
	cache->memory.file = held(cache);
	cache->memory.freed = cache->freed;
	cache->memory.rest_ms = MODEL_CACHE_INTERVAL;
	cache->freed = 0;
	if (cache->fixed)
		cache->memory.known = cache->memory.inflow = 0;
	fgio_cache_keep_free(&cache->memory, &level);
	for (u64 i = 0; i < cache->count; i++) {
		struct fgio_cache_group *facts = &cache->decided[i];

		facts->weight = cache->group[i].weight;
		facts->file = cache->group[i].held;
		facts->refaults = cache->group[i].refaults;
		facts->max = ~0ULL;
		cache->group[i].refaults = 0;
	}
	fgio_cache_decide(&level, cache->decided, cache->count);
	for (u64 i = 0; i < cache->count; i++) {
		cache->group[i].low = cache->decided[i].protect;
		cache->counted[i].hungry |= cache->decided[i].hungry;
		for (u64 n = cache->decided[i].reclaim; n; n--)
			cache->freed += evict_one(&cache->group[i]);
	}
	cache->decisions++;
	cache->before = cache->ticks;
	cache->next = cache->ticks + cache->memory.pause_ms;
}

/* As fgiod cache does, each second. */
static void count_hits(struct model_cache *cache)
{
	const u64 page = 4096;

	for (u64 i = 0; i < cache->count; i++) {
		struct model_cache_group *group = &cache->group[i];
		struct fgio_cache_hits *facts = &cache->counted[i];

		facts->weight = group->weight;
		facts->moved = (group->reads - group->told_reads) * page;
		facts->missed = (group->missed - group->told_missed) * page;
		group->told_reads = group->reads;
		group->told_missed = group->missed;
	}
	cache->family.interval_ms = 1000;
	fgio_cache_count_hits(&cache->family, cache->counted, cache->count);
	for (u64 i = 0; i < cache->count; i++) {
		cache->group[i].scale = cache->counted[i].scale;
		cache->counted[i].hungry = 0;
	}
	cache->hits_next = cache->ticks + 1000;
}

/* Time of the drive that it is due, in parts of all that are. */
static double drive_weight(const struct model_cache *cache,
			   const struct model_cache_group *group)
{
	return cache->drive_by_weight ?
		       (double)group->weight * (double)group->scale : 1;
}

void model_cache_run(struct model_cache *cache, u64 ticks)
{
	for (u64 end = cache->ticks + ticks; cache->ticks < end;
	     cache->ticks++) {
		double weights = 0;

		for (u64 i = 0; i < cache->count; i++)
			if (cache->group[i].load != MODEL_CACHE_IDLE)
				weights += drive_weight(cache,
							&cache->group[i]);
		for (u64 i = 0; i < cache->count; i++) {
			struct model_cache_group *group = &cache->group[i];
			double mine = drive_weight(cache, group);

			group->budget += cache->drive * mine / weights;
			/* Time of the drive cannot be saved up. */
			group->budget = fmin(group->budget, cache->drive);
			work(cache, group);
		}
		if (cache->controlled && cache->ticks >= cache->next)
			decide(cache);
		if (cache->hits && cache->ticks >= cache->hits_next)
			count_hits(cache);
	}
}

double model_cache_pv(const double *got, const u64 *weights, u64 count)
{
	double sum = 0;
	u64 least = 0;

	for (u64 i = 1; i < count; i++)
		if (weights[i] < weights[least])
			least = i;
	for (u64 i = 0; i < count; i++)
		sum += fabs(got[i] / got[least] -
			    (double)weights[i] / (double)weights[least]);
	return sum / (double)count;
}

void model_cache_max_min(const u64 *needs, const u64 *weights, u64 count,
			 u64 capacity, double *granted)
{
	double low = 0, high = 0;

	/* Pages for each unit of weight: where all have what they need. */
	for (u64 i = 0; i < count; i++)
		high = fmax(high, (double)needs[i] / (double)weights[i]);
	for (int step = 0; step < 200; step++) {
		double level = (low + high) / 2, sum = 0;

		for (u64 i = 0; i < count; i++)
			sum += fmin((double)needs[i],
				    level * (double)weights[i]);
		if (sum > (double)capacity)
			high = level;
		else
			low = level;
	}
	for (u64 i = 0; i < count; i++)
		granted[i] = fmin((double)needs[i], high * (double)weights[i]);
}
