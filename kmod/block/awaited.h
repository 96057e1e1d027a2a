/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The I/O that the last walk looked for, for those who submit more of it before
 * the next walk: it is critical from the start.
 */
#ifndef FGIO_BLOCK_AWAITED_H
#define FGIO_BLOCK_AWAITED_H

#include <linux/ktime.h>
#include <linux/types.h>

/*
 * Some walks: a task that waits for upkeep (upkeep.h) or a loop device (loop.h)
 * once does so again, several times in one commit, with waits for other I/O in
 * between. So what serves such a wait is critical for this long.
 */
#define FGIO_AWAITED_NS (8 * NSEC_PER_MSEC)

/* Whether a time has not come yet; 0 is none. Most often, it is 0. */
static inline bool fgio_lasts_until(u64 until_ns)
{
	return until_ns && ktime_get_ns() < until_ns;
}

struct bio;
struct fgio_io_target;
struct fgio_link;
struct fgio_wanted;

/* Leaves out what was noted before. Context: the walk's thread. */
void fgio_awaited_clear(void);

/*
 * Notes I/O that the task of @link waits for, if it is named by pages or by its
 * bi_private. Beyond some tens in a walk nothing is noted: walks find it.
 * Context: as above.
 */
void fgio_awaited_note(const struct fgio_wanted *wanted,
		       const struct fgio_link *link);

/*
 * Notes that a task waits for upkeep of a stacked device (upkeep.h), for some
 * milliseconds. Context: as above.
 */
void fgio_awaited_note_upkeep(void);

/*
 * Whether a task waits for what a bio carries, of which @target is the summary.
 * Context: as fgio_io_target_of_bio(); no lock of waits is held.
 */
bool fgio_is_awaited(const struct fgio_io_target *target, struct bio *bio);

#endif /* FGIO_BLOCK_AWAITED_H */
