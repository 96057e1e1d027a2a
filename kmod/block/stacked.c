// SPDX-License-Identifier: GPL-2.0
/*
 * The bio that a bio does the work of is named by these, of which the types are
 * private and no object says what it is:
 *
 *	block/bio.c		a split: bi_private is the bio it was split from
 *	drivers/md/dm.c		a clone is part of a struct dm_target_io, which
 *				leads to its struct dm_io, and that to the bio
 *	drivers/md/md.c		bi_private of a clone leads to the bio (raid0,
 *				raid5, and with 6.12 raid1 and raid10 as well)
 *	drivers/md/raid1.c,	the same, by their own struct
 *	drivers/md/raid10.c
 *	drivers/md/dm-crypt.c	the same; of a write, the pages are copies
 *
 * So each place that may name it is tried. A clone or a split has the bio_vecs
 * of its original: what leads to a bio with the same ones is the right one. An
 * encrypted write has its own, but it is for a clone of the device mapper, which
 * is known by them.
 */
#include <linux/bio.h>
#include <linux/iomap.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "block/stacked.h"
#include "fgio_private.h"

/* Devices on top of each other, each of which may split as well. */
#define LEVELS_MAX 8

/* Offsets in what bi_private of a clone leads to. */
static const size_t named_at[] = {
#ifdef FGIO_MD_IO_CLONE_ORIGINAL
	FGIO_MD_IO_CLONE_ORIGINAL,
#endif
#ifdef FGIO_MD_IO_ACCT_ORIGINAL
	FGIO_MD_IO_ACCT_ORIGINAL,
#endif
#ifdef FGIO_R1BIO_MASTER
	FGIO_R1BIO_MASTER,
#endif
#ifdef FGIO_R10BIO_MASTER
	FGIO_R10BIO_MASTER,
#endif
#ifdef FGIO_DM_CRYPT_IO_BASE
	FGIO_DM_CRYPT_IO_BASE,
#endif
};

/* Whether all of an object that may be none is in the kernel's own memory. */
static bool may_be_at(u64 address, size_t size)
{
	return IS_ALIGNED(address, sizeof(u64)) &&
	       virt_addr_valid((const void *)address) &&
	       virt_addr_valid((const void *)(address + size - 1));
}

static u64 word_at(u64 address)
{
	return may_be_at(address, sizeof(u64)) ?
		       fgio_peek_word((const void *)address) : 0;
}

static bool is_clone(const struct bio *bio)
{
	return bio->bi_flags & (1U << BIO_CLONED);
}

static bool copy_bio(struct fgio_top *top, u64 address)
{
	if (!address || !may_be_at(address, sizeof(top->bio)) ||
	    copy_from_kernel_nofault(&top->bio, (const void *)address,
				     sizeof(top->bio)))
		return false;
	top->address = address;
	return true;
}

/* Whether @original names another bio, with the bio_vecs of that at @address. */
static bool shares_vecs(u64 address, const struct bio *bio, u64 original,
			struct fgio_top *above)
{
	return original != address && copy_bio(above, original) &&
	       bio->bi_io_vec && above->bio.bi_io_vec == bio->bi_io_vec;
}

/* Where a clone of the device mapper at @address names its original. */
static u64 original_by_mapper(u64 address)
{
#if defined(FGIO_DM_TARGET_IO_CLONE) && defined(FGIO_DM_TARGET_IO_IO) && \
	defined(FGIO_DM_IO_ORIGINAL)
	u64 io = word_at(address - FGIO_DM_TARGET_IO_CLONE +
			 FGIO_DM_TARGET_IO_IO);

	return io ? word_at(io + FGIO_DM_IO_ORIGINAL) : 0;
#else
	return 0;
#endif
}

static bool above_clone(u64 address, const struct bio *bio,
			struct fgio_top *above)
{
	u64 object = (u64)bio->bi_private;
	unsigned int i;

	if (shares_vecs(address, bio, original_by_mapper(address), above))
		return true;
	if (!object)
		return false;
	if (shares_vecs(address, bio, object, above))
		return true;
	for (i = 0; i < ARRAY_SIZE(named_at); i++)
		if (shares_vecs(address, bio, word_at(object + named_at[i]),
				above))
			return true;
	return false;
}

/* An encrypted write is for a clone of the device mapper. */
bool fgio_stacked_plain(const struct bio *bio, struct fgio_top *plain)
{
#ifdef FGIO_DM_CRYPT_IO_BASE
	u64 object = (u64)bio->bi_private;
	u64 base = object ? word_at(object + FGIO_DM_CRYPT_IO_BASE) : 0;
	struct fgio_top original;

	return op_is_write(bio_op(bio)) && !is_clone(bio) &&
	       copy_bio(plain, base) && is_clone(&plain->bio) &&
	       shares_vecs(base, &plain->bio, original_by_mapper(base),
			   &original);
#else
	return false;
#endif
}

/* Bios of direct I/O may be clones of none: those of a fixed buffer are. */
static bool above(u64 address, const struct bio *bio, struct fgio_top *found)
{
	if (bio->bi_end_io == iomap_dio_bio_end_io)
		return false;
	return is_clone(bio) ? above_clone(address, bio, found) :
			       fgio_stacked_plain(bio, found);
}

bool fgio_stacked_top(u64 address, const struct bio *bio, struct fgio_top *top)
{
	struct fgio_top next;
	unsigned int level;

	if (!above(address, bio, top))
		return false;
	for (level = 1; level < LEVELS_MAX; level++) {
		if (!above(top->address, &top->bio, &next))
			break;
		*top = next;
	}
	return true;
}
