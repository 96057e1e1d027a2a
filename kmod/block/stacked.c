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
 *	fs/btrfs/bio.c		a split is part of a struct btrfs_bio, which
 *				names that of its original
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
#include "compat/btrfs.h"
#include "compat/stacked.h"

/* Devices on top of each other, each of which may split as well. */
#define LEVELS_MAX 8

static bool is_clone(const struct bio *bio)
{
	return bio->bi_flags & (1U << BIO_CLONED);
}

bool fgio_bio_copy(struct fgio_top *top, u64 address)
{
	if (!fgio_copy_kernel(&top->bio, address, sizeof(top->bio)))
		return false;
	top->address = address;
	return true;
}

/* Whether @original names another bio, with the bio_vecs of that at @address. */
static bool shares_vecs(u64 address, const struct bio *bio, u64 original,
			struct fgio_top *above)
{
	return original != address && fgio_bio_copy(above, original) &&
	       bio->bi_io_vec && above->bio.bi_io_vec == bio->bi_io_vec;
}

/* Where a clone of the device mapper at @address names its original. */
static u64 original_by_mapper(u64 address)
{
	u64 io;

	if (!fgio_dm_io_before_clone)
		return 0;
	io = fgio_kernel_word(address - fgio_dm_io_before_clone);
	return io ? fgio_kernel_word(io + fgio_dm_io_original) : 0;
}

/*
 * The owner of a struct btrfs_bio: for direct I/O in 6.1 the object that has the
 * bio of fs/iomap, for a split the struct btrfs_bio that was split.
 */
static bool above_in_btrfs(u64 address, const struct bio *bio,
			   struct fgio_top *above)
{
	u64 object;

	if (!fgio_btrfs_bio_bio)
		return false;
	object = fgio_kernel_word(address - fgio_btrfs_bio_bio +
				  fgio_btrfs_bio_private);
	if (!object)
		return false;
	if (fgio_btrfs_dio_original &&
	    shares_vecs(address, bio, object + fgio_btrfs_dio_original, above))
		return true;
	return shares_vecs(address, bio, object + fgio_btrfs_bio_bio, above);
}

static bool above_clone(u64 address, const struct bio *bio,
			struct fgio_top *above)
{
	u64 object = (u64)bio->bi_private;
	unsigned int i;

	if (shares_vecs(address, bio, original_by_mapper(address), above) ||
	    above_in_btrfs(address, bio, above))
		return true;
	if (!object)
		return false;
	if (shares_vecs(address, bio, object, above))
		return true;
	for (i = 0; i < ARRAY_SIZE(fgio_original_named_at); i++)
		if (shares_vecs(address, bio,
				fgio_kernel_word(object +
						 fgio_original_named_at[i]),
				above))
			return true;
	return false;
}

/* An encrypted write is for a clone of the device mapper. */
bool fgio_stacked_plain(const struct bio *bio, struct fgio_top *plain)
{
	u64 object = (u64)bio->bi_private;
	struct fgio_top original;
	u64 base;

	if (!fgio_dm_crypt_io_base || !object || is_clone(bio) ||
	    !op_is_write(bio_op(bio)))
		return false;
	base = fgio_kernel_word(object + fgio_dm_crypt_io_base);
	return fgio_bio_copy(plain, base) && is_clone(&plain->bio) &&
	       shares_vecs(base, &plain->bio, original_by_mapper(base),
			   &original);
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
