/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The tails of an I/O's time, compared beside others and alone. Of a hundred
 * I/Os on a volume, one may take thirty times as long: whether a mean of fifty
 * has it is chance, and the mean says nothing else. So means are taken of usual
 * times, and what tails add beyond those counts where there are enough of them.
 *
 * Stalls are no tails: a drive that hands out its rate by the tenth of a second
 * makes all I/Os in it late at once, by as much as others took from it. All of
 * that is usual time.
 *
 * Locking: the caller serialises all calls for one struct. Nothing here sleeps
 * or allocates.
 */
#ifndef FGIO_CORE_TAILS_H
#define FGIO_CORE_TAILS_H

#include "types.h"

/**
 * struct fgio_tails - all zero: no I/O yet
 * @late: I/Os beyond a few medians
 * @clustered: those of them that came right after another one
 * @was_late: the latest I/O is one
 * @noted: I/Os of the present block
 * @blocks: blocks before it
 * @sum: of what its I/Os took beyond the usual, in permille of a median
 * @mean_sum: of the mean of each block
 * @squares: of that
 */
struct fgio_tails {
	u32 late;
	u32 clustered;
	bool was_late;
	u32 noted;
	u32 blocks;
	u64 sum;
	u64 mean_sum;
	u64 squares;
};

/*
 * The longest time that is a usual one, where @median_ns is the median and
 * @alone are the tails alone.
 */
u64 fgio_tails_usual_ns(const struct fgio_tails *alone, u64 median_ns);

/* An I/O took @took_ns, where @median_ns is the median, not 0. */
void fgio_tails_note(struct fgio_tails *tails, u64 took_ns, u64 usual_ns,
		     u64 median_ns);

/* What tails add on average, in permille of a median. */
u64 fgio_tails_mean(const struct fgio_tails *tails);

/**
 * fgio_tails_harm() - how much tails add @beside others
 * @alone: of the same I/O alone
 * @beside: of it beside others
 *
 * Return: in permille of a median; 0 where it may be chance.
 */
u64 fgio_tails_harm(const struct fgio_tails *alone,
		    const struct fgio_tails *beside);

#endif /* FGIO_CORE_TAILS_H */
