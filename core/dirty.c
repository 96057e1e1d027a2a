// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "dirty.h"
#include "number.h"

#define MILLISECOND 1000000ULL
#define SECOND (1000 * MILLISECOND)

#define PAUSE_MIN_NS (MILLISECOND / 4)
#define PAUSE_MAX_NS (10 * MILLISECOND)
/* Part of a second, so that the writer sees in between that it may resume. */
#define BATCHES_A_SECOND 20

static u64 total(const struct fgio_dirty_sample *sample)
{
	return sample->dirty + sample->writeback;
}

u64 fgio_dirty_limit(const struct fgio_dirty_config *config,
		     const struct fgio_dirty_sample *sample)
{
	u64 share = sample->dirtyable * config->percent / 100;
	u64 limit = share - smaller(share, sample->others);

	if (config->milliseconds)
		limit = smaller(limit, sample->bandwidth *
					       config->milliseconds / 1000);
	return larger(limit, FGIO_DIRTY_LIMIT_LEAST);
}

/*
 * Above the limit with half of it or less under writeback, more than half of it
 * is there to be written.
 */
enum fgio_dirty_action
fgio_dirty_next(u64 limit, const struct fgio_dirty_sample *sample)
{
	if (total(sample) <= limit)
		return FGIO_DIRTY_GO;
	if (sample->writeback <= limit / 2)
		return FGIO_DIRTY_WRITE;
	return FGIO_DIRTY_WAIT;
}

u64 fgio_dirty_batch(u64 limit, const struct fgio_dirty_sample *sample)
{
	u64 room = limit - smaller(limit, sample->writeback);
	u64 share = larger(sample->bandwidth / BATCHES_A_SECOND, 1);

	return smaller(smaller(sample->dirty, room), share);
}

/* Pages to be written until the writer can resume, or start more writeback. */
static u64 pages_until_change(u64 limit, const struct fgio_dirty_sample *sample)
{
	u64 excess = total(sample) - smaller(limit, total(sample));

	if (sample->writeback <= limit / 2)
		return excess;
	return smaller(excess, sample->writeback - limit / 2);
}

/* Half of the time for them: the speed may be underestimated. */
u64 fgio_dirty_pause_ns(u64 limit, const struct fgio_dirty_sample *sample)
{
	u64 pages = pages_until_change(limit, sample);
	u64 pause_ns = PAUSE_MAX_NS;

	/* Compared first, so that the product cannot overflow. */
	if (pages < sample->bandwidth)
		pause_ns = pages * (SECOND / 2) / sample->bandwidth;
	return smaller(larger(pause_ns, PAUSE_MIN_NS), PAUSE_MAX_NS);
}

/* Beyond this number of pages, a product with a second would overflow. */
#define PAGES_MAX (1ULL << 33)

/* The device's time for the pages. */
static u64 time_of(u64 pages, u64 bandwidth, u64 longest_ns)
{
	if (pages >= PAGES_MAX || !bandwidth)
		return longest_ns;
	return smaller(pages * SECOND / bandwidth, longest_ns);
}

u64 fgio_dirty_park_ns(const struct fgio_dirty_config *config, u64 limit,
		       const struct fgio_dirty_sample *sample, u64 pages)
{
	u64 longest_ns = config->park_max_ms * MILLISECOND;
	u64 share = smaller(pages, PAGES_MAX) * FGIO_DIRTY_PARK_SHARE;
	u64 fair_ns = time_of(share, sample->bandwidth, longest_ns);
	/* In sixteenths, far beyond what the cube needs to reach the factor. */
	u64 times = smaller(16 * total(sample) / limit,
			    16 * FGIO_DIRTY_PARK_FACTOR);

	if (times <= 16)
		return fair_ns;
	return smaller(fair_ns * times / 16 * times / 16 * times / 16,
		       longest_ns * FGIO_DIRTY_PARK_FACTOR);
}
