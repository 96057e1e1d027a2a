// SPDX-License-Identifier: GPL-2.0
/*
 * Long non-critical I/O is split, so that critical I/O is not behind all of it
 * (core/split.h). The kernel splits each bio that is longer than the disk's
 * limits allow (block/blk-merge.c). Its function is told how many bytes the
 * first piece may have, and finds a smaller number here; the rest comes back
 * to it as a bio of its own. So pieces are made, completed and counted as those
 * of any disk with a lower limit, and critical I/O keeps the disk's own.
 *
 * 6.1 has that number in no function that can be hooked.
 */
#include <linux/bio.h>
#include <linux/blk-crypto.h>
#include <linux/blkdev.h>
#include <linux/preempt.h>

#include "base/hook.h"
#include "block/queues.h"
#include "block/split.h"
#include "block/stamp.h"
#include "compat/compat.h"
#include "who/presence.h"

/*
 * Not those that the kernel would fail if they were split, that are polled for,
 * which a split ends, or of which a piece must have whole units of encryption or
 * of a zone; nor those of a path to a drive with several, which may move to
 * another path.
 */
static bool may_be_split(struct bio *bio)
{
	const blk_opf_t whole = REQ_NOWAIT | FGIO_REQ_ATOMIC | REQ_POLLED |
				REQ_PREFLUSH | REQ_FUA | REQ_DRV;

	return !(bio->bi_opf & whole) && !bio_has_crypt_ctx(bio) &&
	       !bdev_is_zoned(bio->bi_bdev);
}

/*
 * Whether a disk's queue splits it by its own limits. File systems ask for
 * pieces by limits of theirs, of bios that may have no disk yet.
 */
static bool is_by_disk(struct bio *bio, const struct queue_limits *limits)
{
	return bio->bi_bdev &&
	       limits == &bdev_get_queue(bio->bi_bdev)->limits &&
	       (bio_op(bio) == REQ_OP_READ || bio_op(bio) == REQ_OP_WRITE);
}

/* What is left of one that was split, by whatever limit. */
static bool comes_back(struct bio *bio)
{
	return bio_flagged(bio, BIO_CHAIN);
}

/* Sectors of the first piece; pages of a database are aligned in its partition. */
static u32 first_sectors(struct fgio_queue_data *fq, struct bio *bio)
{
	u64 sector = bio->bi_iter.bi_sector - bio->bi_bdev->bd_start_sect;
	u32 sectors = bio_sectors(bio);

	return may_be_split(bio) ?
		       fgio_queue_first_piece(&fq->queue, sector, sectors,
					      ktime_get_ns()) :
		       sectors;
}

/* Bytes of the first piece, where the kernel says @most. */
static u32 first_bytes(struct bio *bio, u32 most)
{
	u32 sectors = bio_sectors(bio);
	struct fgio_queue_data *fq;
	u32 first;

	fq = fgio_queue_find(bdev_get_queue(bio->bi_bdev));
	if (!fq || fgio_lets_through(fq))
		return most;
	first = first_sectors(fq, bio);
	if (first == sectors && !comes_back(bio))
		return most;
	if (fgio_stamp_again(bio) || first << SECTOR_SHIFT >= most)
		return most;
	if (first < sectors)
		atomic64_inc(&fq->split);
	return first << SECTOR_SHIFT;
}

/* bio_split_rw_at(bio, limits, segments, most), in the submitter's context. */
static void __maybe_unused on_split(unsigned long function,
				    unsigned long caller,
				    struct ftrace_ops *operations,
				    struct ftrace_regs *regs)
{
	struct bio *bio = (void *)fgio_ftrace_argument(regs, 0);
	const void *limits = (void *)fgio_ftrace_argument(regs, 1);
	u32 most = (u32)fgio_ftrace_argument(regs, 3);

	if (bio_sectors(bio) <= FGIO_SPLIT_LEAST && !comes_back(bio))
		return;
	if (bio->bi_opf & FGIO_REQ_CRITICAL || !fgio_waits_matter() ||
	    !is_by_disk(bio, limits))
		return;
	preempt_disable();
	fgio_ftrace_set_fourth(regs, first_bytes(bio, most));
	preempt_enable();
}

static struct fgio_hook hooks[] = {
#ifdef CONFIG_X86_64
	FGIO_LOOK("bio_split_rw_at", SPLIT, on_split, .optional = true),
	/* Its name in later kernels. */
	FGIO_LOOK("bio_split_io_at", SPLIT, on_split, .optional = true,
		  .fallback = true),
#endif
	{}
};

const struct fgio_layer fgio_split_layer = {
	.name = "split",
	.mechanism = FGIO_MECHANISM_SPLIT,
	.hooks = hooks,
};
