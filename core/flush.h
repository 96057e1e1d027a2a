/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Flushes of a drive's volatile cache that foreground tasks wait for. They
 * bypass every elevator, so the queue does not see them. Non-critical writes in
 * the cache make them long, and no write notices that: docs/depth.md.
 *
 * Locking: calls of fgio_flush_wrote() are serialised; the others may run at
 * any time, in any context. Nothing here sleeps, allocates or loops.
 *
 * All times are ns of one monotonic clock.
 */
#ifndef FGIO_CORE_FLUSH_H
#define FGIO_CORE_FLUSH_H

#include "atomic.h"
#include "types.h"

/**
 * struct fgio_flush - a flush under way
 * @begin_ns: its begin
 * @wrote: size of the non-critical writes dispatched before it
 * @left: the part of that which no completed flush covered
 * @commits: it belongs to a journal commit and carries the commit record; on
 *	many drives another flush follows
 */
struct fgio_flush {
	u64 begin_ns;
	u64 wrote;
	u64 left;
	bool commits;
};

/**
 * struct fgio_flushes - the flushes of a drive
 * @wrote: size of the non-critical writes dispatched
 * @flushed: the part of that which no cache holds any more
 * @usual_ns: mean duration of recent flushes
 * @until_ns: expected end of those under way; 0: none is
 * @open_until_ns: writes may go before this, flush or not
 * @ended_ns: last completion; 0: none
 * @ended: critical flushes completed
 * @took_ns: sum of their durations
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
 * Whether a non-critical write has to wait for a flush under way. By time, not
 * by count: a missed end holds writes back for a moment only.
 */
static inline bool fgio_flush_holds(const struct fgio_flushes *flushes,
				    u64 now_ns)
{
	return fgio_load(&flushes->until_ns) > now_ns &&
	       fgio_load(&flushes->open_until_ns) <= now_ns;
}

/*
 * Whether a flush completed lately, so that the next may wait for what is
 * written now.
 */
bool fgio_flush_may_come(const struct fgio_flushes *flushes, u64 now_ns);

void fgio_flush_begin(struct fgio_flushes *flushes, struct fgio_flush *flush,
		      bool commits, u64 now_ns);

/*
 * Writes of @size went before it that fgio_flush_wrote() was not told of yet.
 * Those that an earlier flush covered are among them.
 */
void fgio_flush_covers(const struct fgio_flushes *flushes,
		       struct fgio_flush *flush, u64 size);

/*
 * @alone_ns: base latency of such a flush; 0: not known. Writes may go for that
 *	long afterwards: with flushes back to back they would never go.
 */
void fgio_flush_end(struct fgio_flushes *flushes,
		    const struct fgio_flush *flush, u64 alone_ns, u64 now_ns);

#endif /* FGIO_CORE_FLUSH_H */
