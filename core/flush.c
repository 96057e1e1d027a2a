// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "depth_constants.h"
#include "flush.h"
#include "number.h"

bool fgio_flush_may_come(const struct fgio_flushes *flushes, u64 now_ns)
{
	u64 ended_ns = fgio_load(&flushes->ended_ns);

	return ended_ns && now_ns < ended_ns + FLUSH_MEMORY_NS;
}

void fgio_flush_begin(struct fgio_flushes *flushes, struct fgio_flush *flush,
		      bool commits, u64 now_ns)
{
	u64 wrote = fgio_load(&flushes->wrote);

	*flush = (struct fgio_flush){
		.begin_ns = now_ns,
		.wrote = wrote,
		.left = beyond(wrote, fgio_load(&flushes->flushed)),
		.commits = commits,
	};
	fgio_store(&flushes->until_ns, now_ns + fgio_load(&flushes->usual_ns));
}

void fgio_flush_covers(const struct fgio_flushes *flushes,
		       struct fgio_flush *flush, u64 size)
{
	flush->wrote += size;
	flush->left = beyond(flush->wrote, fgio_load(&flushes->flushed));
}

/*
 * Two that end at once may each miss the other, which costs a little of the
 * mean.
 */
void fgio_flush_end(struct fgio_flushes *flushes,
		    const struct fgio_flush *flush, u64 alone_ns, u64 now_ns)
{
	u64 usual_ns = fgio_load(&flushes->usual_ns);
	u64 took_ns = beyond(now_ns, flush->begin_ns);

	fgio_add(&flushes->ended, 1);
	fgio_add(&flushes->took_ns, took_ns);
	usual_ns += took_ns / FLUSH_USUAL_SPAN;
	usual_ns -= usual_ns / FLUSH_USUAL_SPAN;
	fgio_store(&flushes->usual_ns, smaller(usual_ns, FLUSH_USUAL_MOST_NS));
	fgio_store(&flushes->until_ns, 0);
	fgio_store(&flushes->ended_ns, now_ns);
	fgio_store(&flushes->open_until_ns, now_ns + alone_ns);
	if (flush->wrote > fgio_load(&flushes->flushed))
		fgio_store(&flushes->flushed, flush->wrote);
}
