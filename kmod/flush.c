// SPDX-License-Identifier: GPL-2.0
/*
 * Flushes of a drive's volatile cache that foreground tasks wait for:
 *
 *	blkdev_issue_flush	what fsync and fdatasync end with where there is
 *				nothing for the journal to commit
 *
 * They pass every elevator, so its queue is told. Left out: those that a journal's
 * commit makes of its own writes (REQ_PREFLUSH), which nobody hooked sees end.
 */
#include <linux/blkdev.h>

#include "fgio.h"
#include "inherit.h"

/* What entry leaves for exit. The caller has the device open. */
struct pending_flush {
	struct request_queue *q;
	struct fgio_flush flush;
};

static_assert(sizeof(struct pending_flush) <= FGIO_HOOK_DATA);

/* int blkdev_issue_flush(struct block_device *bdev) */
static int enter_flush(struct kretprobe_instance *instance,
		       struct pt_regs *regs)
{
	struct pending_flush *pending = (struct pending_flush *)instance->data;
	struct block_device *bdev;

	if (!fgio_waits_matter() || !fgio_current_is_critical())
		return 1;
	bdev = (struct block_device *)regs_get_kernel_argument(regs, 0);
	if (!bdev_write_cache(bdev))
		return 1;
	pending->q = bdev_get_queue(bdev);
	return !fgio_elevator_flush_begins(pending->q, &pending->flush);
}

static int leave_flush(struct kretprobe_instance *instance,
		       struct pt_regs *regs)
{
	const struct pending_flush *pending = (void *)instance->data;

	fgio_elevator_flush_ends(pending->q, &pending->flush);
	return 0;
}

struct fgio_hook fgio_flush_hooks[] = {
	FGIO_HOOK("blkdev_issue_flush", IO, enter_flush, leave_flush),
	{}
};
