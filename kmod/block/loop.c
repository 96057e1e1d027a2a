// SPDX-License-Identifier: GPL-2.0
/*
 * A loop device is named by its disk. The work of its root cgroup is part of it,
 * that of another cgroup part of a struct loop_worker, which names the device.
 *
 * Direct I/O on the file has a kiocb in a struct loop_cmd, which stands behind its
 * request. The request is not complete before that I/O is.
 */
#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/cache.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "base/foreign.h"
#include "base/kworker.h"
#include "block/awaited.h"
#include "block/direct.h"
#include "block/ends.h"
#include "block/io_target.h"
#include "block/loop.h"
#include "block/originals.h"
#include "block/stacked.h"
#include "block/upkeep.h"
#include "compat/loop.h"

/*
 * The device that was awaited last, and the disk of the file system below; others
 * may write. Of several devices that are awaited at once, walks find each anew.
 */
static struct {
	u64 until_ns;
	u64 loop;
	u64 disk;
} awaited ____cacheline_aligned;

/* Without loop devices no bio is looked at. */
static bool used __read_mostly;

bool fgio_loops_are_used(void)
{
	return FGIO_LOOP_KNOWN && READ_ONCE(used);
}

void fgio_loops_note_used(bool are_used)
{
	if (READ_ONCE(used) != are_used)
		WRITE_ONCE(used, are_used);
}

u64 fgio_loop_of(u64 device)
{
	u64 disk = FGIO_LOOP_KNOWN ? fgio_disk_of_kind(device, "loop") : 0;

	return fgio_word_of(disk, offsetof(struct gendisk, private_data));
}

bool fgio_work_is_of_loop(u64 work, u64 loop)
{
	return FGIO_LOOP_KNOWN && work && loop &&
	       (work == loop + FGIO_LOOP_ROOT_WORK ||
		fgio_kernel_word(work - FGIO_LOOP_WORKER_WORK +
				 FGIO_LOOP_WORKER_LOOP) == loop);
}

/* The request of a loop device for which a bio reads or writes its file, or 0. */
static u64 request_of(u64 address, const struct bio *bio)
{
	u64 iocb = fgio_direct_iocb_of(address, bio);
	u64 ends = fgio_word_of(iocb, offsetof(struct kiocb, ki_complete));

	if (fgio_end_of(ends) != FGIO_END_LOOP)
		return 0;
	return iocb - FGIO_LOOP_COMMAND_IOCB - sizeof(struct request);
}

bool fgio_loop_visit(u64 address, const struct bio *bio,
		     struct fgio_originals_look *look)
{
	u64 next, request = fgio_loops_are_used() ? request_of(address, bio) : 0;
	struct fgio_top original;

	if (!request)
		return false;
	next = fgio_kernel_word(request + offsetof(struct request, bio));
	while (next && look->count < FGIO_ORIGINALS_MAX) {
		look->count++;
		if (!fgio_bio_copy(&original, next))
			break;
		look->visit(next, &original.bio, look->data);
		next = (u64)original.bio.bi_next;
	}
	return true;
}

/* The disk with the file system of a device's file; 0: not known. */
static u64 disk_below(u64 loop)
{
	u64 file = fgio_word_of(loop, FGIO_LOOP_FILE);
	u64 mapping = fgio_word_of(file, offsetof(struct file, f_mapping));

	return fgio_word_of(mapping ? fgio_file_system_of(mapping) : 0,
		       offsetof(struct block_device, bd_disk));
}

void fgio_loop_note_awaited(u64 loop)
{
	WRITE_ONCE(awaited.loop, loop);
	WRITE_ONCE(awaited.disk, disk_below(loop));
	WRITE_ONCE(awaited.until_ns, ktime_get_ns() + FGIO_AWAITED_NS);
}

bool fgio_loops_are_awaited(void)
{
	return fgio_lasts_until(READ_ONCE(awaited.until_ns));
}

/* Of jbd2's thread, or of XFS' workers. */
static bool is_journal_write(const struct bio *bio)
{
	const blk_opf_t flags = REQ_META | REQ_SYNC;

	return op_is_write(bio_op(bio)) && (bio->bi_opf & flags) == flags;
}

bool fgio_loop_awaits(const struct bio *bio)
{
	if (!(current->flags & PF_KTHREAD) || !fgio_loops_are_awaited())
		return false;
	if (is_journal_write(bio) &&
	    (u64)bio->bi_bdev->bd_disk == READ_ONCE(awaited.disk))
		return true;
	return fgio_work_is_of_loop(fgio_work_of(current),
				    READ_ONCE(awaited.loop));
}
