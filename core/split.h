/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How long a non-critical request may be where critical I/O comes.
 *
 * A drive finishes what it was given. A critical I/O that comes just after a
 * write of 256 KiB waits for all of it: 2.1 ms on a volume of 125 MB/s, where it
 * takes 0.6 ms alone. Shorter requests take as much of the drive in all as long
 * as its limit is in bytes. Where it is in requests, they do less, which a trial
 * of longer ones shows: docs/depth.md.
 *
 * A disk that rotates is left alone: to leave a long transfer costs its arm two
 * ways.
 *
 * Locking: the caller serialises calls for one struct, except for
 * fgio_split_most() and fgio_split_note(). Nothing here sleeps, allocates or
 * loops.
 */
#ifndef FGIO_CORE_SPLIT_H
#define FGIO_CORE_SPLIT_H

#include "atomic.h"
#include "types.h"

/* Requests may be of this many sectors at least: 128 KiB, and at most: 4 MiB. */
#define FGIO_SPLIT_LEAST 256U
#define FGIO_SPLIT_MOST 8192U

/**
 * struct fgio_split - what is known of one drive
 * @most: sectors that a request may have; a power of two
 * @least: it does not become shorter than that, since the drive does less then
 * @least_left_ns: time with demand after which that is tried again
 * @tried_from: a trial is under way, and @most was this before; 0: none is
 * @span_ns: time with demand for all that the drive does, of requests of @most
 * @span_sectors: what it did in that time
 * @before: sectors in a second before the trial
 * @wait_ns: such time until the next trial
 * @next_wait_ns: and from it to the one after it
 * @split_ns: an I/O was last split then; 0: none was
 */
struct fgio_split {
	u32 most;
	u32 least;
	u32 tried_from;
	u64 least_left_ns;
	u64 span_ns;
	u64 span_sectors;
	u64 before;
	u64 wait_ns;
	u64 next_wait_ns;
	u64 split_ns;
};

/**
 * struct fgio_split_seen - an interval of the learnt depth
 * @length_ns: its length
 * @sectors: dispatched in it
 * @wanted: there was demand for all that the drive does, and a request of the
 *	longest length or more went
 * @split: I/Os were split in it: longer requests would have come
 * @settled: the drive's limit has been met
 * @takes_ns: time of the drive that a request of the longest length takes...
 * @twice_ns: ...and one of twice the length
 * @alone_ns: time that a critical I/O takes in a quiet drive; 0: not known
 */
struct fgio_split_seen {
	u64 length_ns;
	u64 sectors;
	bool wanted;
	bool split;
	bool settled;
	u64 takes_ns;
	u64 twice_ns;
	u64 alone_ns;
};

void fgio_split_init(struct fgio_split *split);

/* Sectors that a request may have. Any context. */
static inline u32 fgio_split_most(const struct fgio_split *split)
{
	return fgio_load(&split->most);
}

/* An I/O is split. Any context. */
static inline void fgio_split_note(struct fgio_split *split, u64 now_ns)
{
	fgio_store(&split->split_ns, now_ns);
}

/* Whether a trial of another length is under way. */
static inline bool fgio_split_tries(const struct fgio_split *split)
{
	return split->tried_from;
}

/* An interval ends. */
void fgio_split_learn(struct fgio_split *split,
		      const struct fgio_split_seen *seen);

/*
 * Sectors of the first piece of an I/O of @sectors from @sector on, where @most
 * are allowed. It ends at a multiple of that, so that a page of a database that
 * is aligned stays in one piece.
 */
static inline u32 fgio_split_first(u32 most, u64 sector, u32 sectors)
{
	u32 first = most - (u32)(sector & (most - 1));

	return first < sectors ? first : sectors;
}

#endif /* FGIO_CORE_SPLIT_H */
