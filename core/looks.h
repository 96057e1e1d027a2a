/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Looks that take too long for a walk, as at all threads: which are made after
 * it, and whose results are kept.
 *
 * A walk asks for the results of a *key* (a lock, a process), of which a few have
 * a place. A key without one takes that of another, whose results a walk has
 * used. Where more keys ask than there are places, none keeps its place by asking
 * again, so all have their turn, whatever the order in which they ask.
 *
 * All looks together take one part in FGIO_LOOKS_SHARE of the time.
 *
 * Locking: the caller serialises all calls for one struct. Nothing here sleeps or
 * allocates; a call looks at each place once. All times are ns.
 */
#ifndef FGIO_CORE_LOOKS_H
#define FGIO_CORE_LOOKS_H

#include "types.h"

/* After a look, none is made for this many times what it took. */
#define FGIO_LOOKS_SHARE 10
/* Time after which no further look is made after the same walk. */
#define FGIO_LOOKS_SLICE_NS 1000000ULL
#define FGIO_LOOKS_NONE ((u32)-1)

/**
 * struct fgio_look - a place
 * @key: whose; 0: free
 * @made_ns: when its look was made last; 0: never, so it has no results
 * @asked: the walk that goes on, or has just ended, asked for it
 * @fresh: no walk has asked for the results yet
 */
struct fgio_look {
	u64 key;
	u64 made_ns;
	bool asked;
	bool fresh;
};

/**
 * struct fgio_looks - places for keys of one kind
 * @look: the places, all zero at first
 * @count: their number
 * @crowded: a key found no place in the walk that goes on, or has just ended
 * @began_ns: when the looks after the last walk began
 * @next_ns: earliest time of the next one
 */
struct fgio_looks {
	struct fgio_look *look;
	u32 count;
	bool crowded;
	u64 began_ns;
	u64 next_ns;
};

/*
 * A walk asks for the results of @key, not 0. Return: its place, which has
 * results if it has a @made_ns; FGIO_LOOKS_NONE if there is no place for it now.
 */
u32 fgio_looks_ask(struct fgio_looks *looks, u64 key);

/*
 * A walk has ended. Return: the place whose look is to be made; FGIO_LOOKS_NONE
 * if none is.
 */
u32 fgio_looks_begin(struct fgio_looks *looks, u64 now_ns);

/* The look of @place, which was to be made, has been. Return: the next one. */
u32 fgio_looks_made(struct fgio_looks *looks, u32 place, u64 now_ns);

#endif /* FGIO_CORE_LOOKS_H */
