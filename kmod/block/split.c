// SPDX-License-Identifier: GPL-2.0
/*
 * Long non-critical I/O is split, so that critical I/O is not behind all of it
 * (core/split.h). The kernel splits each bio that is longer than the disk's
 * limits allow (block/blk-merge.c). Its function is told how many bytes the
 * first piece may have, and finds a smaller number here; the rest comes back
 * to it as a bio of its own. So pieces are made, completed and counted as those
 * of any disk with a lower limit, and critical I/O keeps the disk's own.
 *
 * Before 6.12 that number is no argument of a function.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>

#include "base/hook.h"
#include "block/queues.h"
#include "block/split.h"
#include "compat/compat.h"
#include "who/presence.h"

/*
 * Not those that the kernel would fail if they were split, nor those that are
 * polled for, which a split ends.
 */
static bool may_be_split(const struct bio *bio)
{
	const blk_opf_t whole = REQ_NOWAIT | FGIO_REQ_ATOMIC | REQ_POLLED |
				REQ_PREFLUSH | REQ_FUA | FGIO_REQ_CRITICAL;

	return !(bio->bi_opf & whole) && (bio_op(bio) == REQ_OP_READ ||
					  bio_op(bio) == REQ_OP_WRITE);
}

/*
 * Whether a disk's queue splits it by its own limits. File systems ask for
 * pieces by limits of theirs, of bios that may have no disk yet.
 */
static bool is_by_disk(const struct bio *bio, const struct queue_limits *limits)
{
	return bio->bi_bdev &&
	       limits == &bdev_get_queue(bio->bi_bdev)->limits;
}

/* Return: bytes of the first piece; 0: as many as the kernel says. */
static u32 first_bytes(const struct bio *bio)
{
	struct fgio_queue_data *fq;
	u32 sectors = bio_sectors(bio);
	u32 first = sectors;

	rcu_read_lock();
	fq = fgio_queue_find(bdev_get_queue(bio->bi_bdev));
	if (fq && !fgio_lets_through(fq))
		first = fgio_queue_first_piece(&fq->queue,
					       bio->bi_iter.bi_sector, sectors,
					       ktime_get_ns());
	if (first < sectors)
		atomic64_inc(&fq->split);
	rcu_read_unlock();
	return first < sectors ? first << SECTOR_SHIFT : 0;
}

/* bio_split_rw_at(bio, limits, segments, most bytes), in the submitter's context. */
static void on_split(unsigned long function, unsigned long caller,
		     struct ftrace_ops *operations, struct ftrace_regs *regs)
{
	const struct bio *bio = (void *)fgio_ftrace_argument(regs, 0);
	const struct queue_limits *limits;
	u32 first;

	limits = (void *)fgio_ftrace_argument(regs, 1);
	if (bio->bi_iter.bi_size <= FGIO_SPLIT_LEAST << SECTOR_SHIFT ||
	    !may_be_split(bio) || !is_by_disk(bio, limits) ||
	    !fgio_waits_matter())
		return;
	first = first_bytes(bio);
	if (first && first < (u32)fgio_ftrace_argument(regs, 3))
		fgio_ftrace_set_fourth(regs, first);
}

static struct fgio_hook hooks[] = {
	FGIO_LOOK("bio_split_rw_at", SPLIT, on_split, .optional = true),
	{}
};

const struct fgio_layer fgio_split_layer = {
	.name = "split",
	.mechanism = FGIO_MECHANISM_SPLIT,
	.hooks = hooks,
};
