// SPDX-License-Identifier: GPL-2.0
/*
 * From a bio of direct I/O to its kiocb, and from there to its file and to the
 * context to which it completes:
 *
 *	fs/iomap/direct-io.c	bi_private of the bio is a struct iomap_dio
 *	fs/btrfs/direct-io.c	the bio is part of a struct btrfs_bio, which
 *				names a struct iomap_dio (6.12)
 *	block/fops.c		the first bio of an I/O is part of a struct
 *				blkdev_dio; further ones have it as bi_private
 *	fs/aio.c		the kiocb is part of a struct aio_kiocb
 *	fs/backing-file.c	of a file of overlayfs, the kiocb is part of a
 *				struct backing_aio, which names that of its user
 *	io_uring/rw.c		the kiocb is the begin of a struct io_kiocb
 *
 * The types are private, and nothing in the objects says which one they are.
 * Each step is read without faults, and only where the step before leads to the
 * kernel's memory: bi_private of other bios may be anything, and must not be
 * followed, not even without faults (it may lead to the registers of a device).
 */
#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/fs.h>
#include <linux/iomap.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "block/direct.h"
#include "block/ends.h"
#include "block/io_target.h"
#include "block/originals.h"
#include "block/stacked.h"
#include "compat/aio.h"
#include "compat/btrfs.h"
#include "compat/compat.h"
#include "who/uring.h"

/* Bios of a request that are looked at: the queue is locked meanwhile. */
#define BIOS_MAX 16

/* Pools of modules are not in the memory of fgio_is_memory(). */
static bool is_in_module(const void *pool)
{
#ifdef MODULES_VADDR
	return (unsigned long)pool >= MODULES_VADDR &&
	       (unsigned long)pool < MODULES_END;
#else
	return false;
#endif
}

/*
 * btrfs uses bi_private and the end of a bio itself, and keeps those of fs/iomap
 * in front of it. The bios of its direct I/O are known by their pool.
 */
static u64 io_of_btrfs(u64 address, const struct bio *bio)
{
	unsigned int front_pad;

	if (!fgio_btrfs_dio_bio || !is_in_module(bio->bi_pool) ||
	    get_kernel_nofault(front_pad, &bio->bi_pool->front_pad) ||
	    front_pad != fgio_btrfs_dio_bio)
		return 0;
	return fgio_kernel_word(address - fgio_btrfs_bio_bio +
				fgio_btrfs_bio_private);
}

static u64 iocb_of_iomap(u64 io)
{
	const void *place = io ? fgio_iomap_dio_iocb_place((const void *)io) :
				 NULL;

	return fgio_word_of((u64)place, 0);
}

/*
 * The kiocb of direct I/O of fs/iomap, or 0. Its bios are known by the function
 * that ends them, which reads the same members; those of btrfs less surely, so
 * that of them a kiocb has to be in the kernel's memory, and on no stack.
 * @address: where the bio is, of which @bio may be a copy.
 */
static u64 iocb_of_file_io(u64 address, const struct bio *bio)
{
	u64 iocb;

	if (bio->bi_end_io == iomap_dio_bio_end_io)
		return iocb_of_iomap((u64)bio->bi_private);
	iocb = iocb_of_iomap(io_of_btrfs(address, bio));
	return fgio_word_of(iocb, offsetof(struct kiocb, ki_filp)) ? iocb : 0;
}

static u64 mapping_by(u64 place)
{
	const struct kiocb *iocb = (const void *)place;
	u64 file = iocb ? fgio_peek_word(&iocb->ki_filp) : 0;

	return fgio_word_of(file, offsetof(struct file, f_mapping));
}

u64 fgio_direct_mapping_of(u64 address, const struct bio *bio)
{
	return mapping_by(iocb_of_file_io(address, bio));
}

/*
 * A kiocb may be on a stack, of which no check says that it is there. So the bio
 * is looked at again after its object: both were there until then.
 */
u64 fgio_direct_mapping_of_original(u64 address, const struct bio *bio)
{
	u64 iocb = iocb_of_file_io(address, bio);
	struct fgio_top again;

	if (!iocb || !fgio_bio_copy(&again, address) ||
	    again.bio.bi_end_io != bio->bi_end_io ||
	    again.bio.bi_private != bio->bi_private)
		return 0;
	return mapping_by(iocb);
}

/* The address_space of a block device, which may be gone. */
static u64 mapping_of_device(const struct block_device *device)
{
	static const size_t path[] = FGIO_BDEV_MAPPING_PATH;
	u64 at = (u64)device;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(path); i++)
		at = fgio_word_of(at, path[i]);
	return at;
}

/*
 * Return: the kiocb of a struct blkdev_dio, or 0 where the address leads to
 * anything else: its file must be the block device to which the bio goes. For
 * I/O whose submitter waits, it leads to that task instead.
 */
static u64 iocb_of_device_io(u64 io, const struct bio *bio)
{
	u64 iocb = fgio_word_of(io, fgio_blkdev_dio_iocb);
	u64 file = fgio_word_of(iocb, offsetof(struct kiocb, ki_filp));
	u64 mapping = fgio_word_of(file, offsetof(struct file, f_mapping));

	return mapping && mapping == mapping_of_device(bio->bi_bdev) ? iocb : 0;
}

/*
 * Whether bios of the bio's pool stand in objects as a blkdev_dio has one. That
 * pool is the kernel's own, not a module's.
 */
static bool may_be_in_device_io(const struct bio *bio)
{
	unsigned int front_pad;

	return fgio_blkdev_dio_bio && fgio_is_memory(bio->bi_pool) &&
	       !get_kernel_nofault(front_pad, &bio->bi_pool->front_pad) &&
	       front_pad == fgio_blkdev_dio_bio;
}

u64 fgio_direct_iocb_of(u64 address, const struct bio *bio)
{
	u64 iocb = iocb_of_file_io(address, bio);

	if (!iocb && may_be_in_device_io(bio))
		iocb = iocb_of_device_io(address - fgio_blkdev_dio_bio, bio);
	if (!iocb && fgio_blkdev_dio_bio)
		iocb = iocb_of_device_io((u64)bio->bi_private, bio);
	return iocb;
}

/* Of a file of overlayfs: the kiocb of the file below is for that above. */
static u64 iocb_above(u64 iocb)
{
	u64 ends = fgio_word_of(iocb, offsetof(struct kiocb, ki_complete));

	if (!fgio_overlay_original || fgio_end_of(ends) != FGIO_END_OVERLAY)
		return iocb;
	return fgio_word_of(iocb, fgio_overlay_original);
}

/* A kiocb without a function for its completion is on its waiter's stack. */
void fgio_direct_contexts_of(const struct bio *bio,
			     u64 contexts[FGIO_DIRECT_CONTEXTS])
{
	struct fgio_top top;
	struct bio copy;
	u64 iocb;

	contexts[0] = 0;
	contexts[1] = 0;
	/* That of a sleeper may have been on a stack that is gone. */
	if (!fgio_is_memory(bio) ||
	    copy_from_kernel_nofault(&copy, bio, sizeof(copy)))
		return;
	iocb = fgio_direct_iocb_of((u64)bio, &copy);
	if (!iocb && fgio_stacked_top((u64)bio, &copy, &top))
		iocb = fgio_direct_iocb_of(top.address, &top.bio);
	iocb = iocb_above(iocb);
	if (!fgio_word_of(iocb, offsetof(struct kiocb, ki_complete)))
		return;
	if (fgio_aio_context_place)
		contexts[0] = fgio_word_of(iocb, fgio_aio_context_place);
	contexts[1] = fgio_uring_ring_of(iocb);
}

static u64 bit_of(u64 context)
{
	return context ? fgio_private_bit(context) : 0;
}

static void note_contexts(struct fgio_io_target *target, const struct bio *bio)
{
	u64 contexts[FGIO_DIRECT_CONTEXTS];

	fgio_direct_contexts_of(bio, contexts);
	target->contexts |= bit_of(contexts[0]) | bit_of(contexts[1]);
}

static void note_original(u64 address, struct bio *bio, void *target)
{
	note_contexts(target, (const struct bio *)address);
}

void fgio_direct_contexts_of_request(struct fgio_io_target *target,
				     struct request *rq)
{
	struct fgio_originals_look look = {
		.visit = note_original,
		.data = target,
	};
	unsigned int count = 0;
	struct bio *bio;

	if (target->contexts_known)
		return;
	target->contexts = 0;
	target->contexts_known = true;
	__rq_for_each_bio(bio, rq) {
		if (count++ == BIOS_MAX)
			return;
		if (!fgio_originals_visit_below(bio, &look))
			note_contexts(target, bio);
	}
}
