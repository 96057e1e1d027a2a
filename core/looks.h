/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Looks that take too long for a walk, as at all threads: which are made after
 * it, and whose results are kept.
 *
 * A walk asks for the results of a *key* (a lock, a process), of which a few have
 * a place. A key without one takes the place of the oldest look, once a look may
 * be made and the walk after that one has had its results. Where more keys ask
 * than there are places, none keeps its place by asking again, and chance decides
 * which of the others is next: so all have their turn, in whatever order they ask.
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
 * @mark: the caller's, of what that look found; 0: nothing
 * @turn: the later it got its place, or its look was made, the more; 0: the last
 *	walk did not ask for it
 * @asked: the walk that goes on, or has just ended, asked for it
 * @fresh: made after the last walk, and not asked for since
 */
struct fgio_look {
	u64 key;
	u64 made_ns;
	u64 mark;
	u64 turn;
	bool asked;
	bool fresh;
};

/**
 * struct fgio_looks - places for keys of one kind
 * @look: the places, all zero at first
 * @count: their number
 * @turns: the last @turn
 * @homeless: keys without a place that asked in the walk that goes on, or has just
 *	ended
 * @before: the same of the walk before that
 * @first: of those, the first that may take another one's place
 * @chance: a generator of random numbers
 * @made: looks after the last walk after which there were any; 0: none yet
 * @now_made: the same after this one
 * @began_ns: when the looks after the last walk began
 * @next_ns: earliest time of the next one
 */
struct fgio_looks {
	struct fgio_look *look;
	u32 count;
	u64 turns;
	u32 homeless;
	u32 before;
	u32 first;
	u32 chance;
	u32 made;
	u32 now_made;
	u64 began_ns;
	u64 next_ns;
};

/*
 * A walk asks for the results of @key, not 0. Return: the place that has them;
 * FGIO_LOOKS_NONE as long as its look has not been made.
 */
u32 fgio_looks_ask(struct fgio_looks *looks, u64 key, u64 now_ns);

/*
 * A walk has ended. Return: the place whose look is to be made; FGIO_LOOKS_NONE
 * if none is.
 */
u32 fgio_looks_begin(struct fgio_looks *looks, u64 now_ns);

/* The look of @place, which was to be made, has been. Return: the next one. */
u32 fgio_looks_made(struct fgio_looks *looks, u32 place, u64 now_ns);

#endif /* FGIO_CORE_LOOKS_H */
