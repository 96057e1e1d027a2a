// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "tails.h"

/* Medians that a usual time has at most. */
#define USUAL_MOST 4ULL
/* One I/O counts as at most this many. */
#define TIMES_MOST 64ULL
/*
 * Single tails come together as often as they come at all, a few times in a
 * hundred; those of a drive that stalls mostly do. More than one in this many
 * are stalls.
 */
#define CLUSTERED_SHARE 4
/* I/Os of a block: those in the drive at one moment are one observation. */
#define BLOCK 16
/* Blocks counted; then all of them fade by half. */
#define BLOCKS_MOST 4096
/* Standard errors, squared, that are no chance. */
#define SURE 4

u64 fgio_tails_usual_ns(const struct fgio_tails *alone, u64 median_ns)
{
	bool stalls = alone->clustered > alone->late / CLUSTERED_SHARE;

	return (stalls ? TIMES_MOST : USUAL_MOST) * median_ns;
}

static void end_block(struct fgio_tails *tails)
{
	u64 excess = tails->sum / BLOCK;

	tails->sum = 0;
	tails->noted = 0;
	tails->blocks++;
	tails->mean_sum += excess;
	tails->squares += excess * excess;
	if (tails->blocks < BLOCKS_MOST)
		return;
	tails->late /= 2;
	tails->clustered /= 2;
	tails->blocks /= 2;
	tails->mean_sum /= 2;
	tails->squares /= 2;
}

void fgio_tails_note(struct fgio_tails *tails, u64 took_ns, u64 usual_ns,
		     u64 median_ns)
{
	bool late = took_ns > USUAL_MOST * median_ns;

	tails->late += late;
	tails->clustered += late && tails->was_late;
	tails->was_late = late;
	took_ns = smaller(took_ns, TIMES_MOST * median_ns);
	if (took_ns > usual_ns)
		tails->sum += 1000 * (took_ns - usual_ns) / median_ns;
	if (++tails->noted == BLOCK)
		end_block(tails);
}

u64 fgio_tails_mean(const struct fgio_tails *tails)
{
	return tails->blocks ? tails->mean_sum / tails->blocks : 0;
}

/*
 * Few tails may not have come yet, so the variance is that of both together: as
 * if others made no difference.
 */
u64 fgio_tails_harm(const struct fgio_tails *alone,
		    const struct fgio_tails *beside)
{
	u64 off = beyond(fgio_tails_mean(beside), fgio_tails_mean(alone));
	u64 variance;

	if (!off || !alone->blocks)
		return 0;
	variance = (alone->squares + beside->squares) /
		   (alone->blocks + beside->blocks);
	if (off * off < SURE * (variance / alone->blocks +
				variance / beside->blocks))
		return 0;
	return off;
}
