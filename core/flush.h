/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Flushes of a drive's volatile cache that foreground tasks wait for. They pass every
 * elevator, so the queue does not see them. What non-critical writes left in the cache
 * makes them long, and no write finds that: docs/depth.md.
 *
 * Locking: fgio_flush_wrote() is called by one at a time; the others may run at any
 * time, in any context. Nothing here sleeps, allocates or loops.
 *
 * All times are ns of one clock that never goes back.
 */
#ifndef FGIO_CORE_FLUSH_H
#define FGIO_CORE_FLUSH_H

#include "atomic.h"
#include "types.h"

/**
 * struct fgio_flush - one of them
 * @begin_ns: when it began
 * @wrote: size of the non-critical writes that went to the drive before
 * @left: of these, what no flush that is over took with it
 * @commits: it is that of a journal's commit, with the commit's record; on many
 *	drives there is another flush after that
 */
struct fgio_flush {
	u64 begin_ns;
	u64 wrote;
	u64 left;
	bool commits;
};

/**
 * struct fgio_flushes - those of a drive
 * @wrote: size of the non-critical writes that went to it
 * @flushed: so much of that is in no cache any more
 * @usual_ns: how long flushes take lately
 * @until_ns: when those under way will be over; 0: none is
 * @open_until_ns: before this, writes may go whether one is under way or not
 * @ended_ns: when one was over; 0: none was
 * @ended: critical flushes that are over
 * @took_ns: how long all of them took
 */
struct fgio_flushes {
	u64 wrote;
	u64 flushed;
	u64 usual_ns;
	u64 until_ns;
	u64 open_until_ns;
	u64 ended_ns;
	u64 ended;
	u64 took_ns;
};

/* A non-critical write of @size, in any unit, goes to the drive. */
static inline void fgio_flush_wrote(struct fgio_flushes *flushes, u64 size)
{
	fgio_store(&flushes->wrote, flushes->wrote + size);
}

/*
 * Whether a non-critical write has to wait for one that is under way. A time and not a
 * count: whatever is missed of their ends, it is over soon.
 */
static inline bool fgio_flush_holds(const struct fgio_flushes *flushes,
				    u64 now_ns)
{
	return fgio_load(&flushes->until_ns) > now_ns &&
	       fgio_load(&flushes->open_until_ns) <= now_ns;
}

/* Whether one was over lately: who comes next finds what the cache was given since. */
bool fgio_flush_may_come(const struct fgio_flushes *flushes, u64 now_ns);

void fgio_flush_begin(struct fgio_flushes *flushes, struct fgio_flush *flush,
		      bool commits, u64 now_ns);

/*
 * @alone_ns: how long such a one takes with nothing in the cache; 0: not known. As long
 * writes may go now: where one flush follows the other, they would never.
 */
void fgio_flush_end(struct fgio_flushes *flushes,
		    const struct fgio_flush *flush, u64 alone_ns, u64 now_ns);

#endif /* FGIO_CORE_FLUSH_H */
