// SPDX-License-Identifier: GPL-2.0
/*
 * A stripe has a struct r5dev for each member, with the bios that read and write
 * that member and lists of the bios that wait for its block. To write a block,
 * old data and parity may be read first, and parity is written as well: so each
 * bio of a stripe counts as one for all that waits for any of its blocks.
 *
 * A stripe's bio is known by its place: in an r5dev, beside the only bio_vec that
 * it has, in an array that begins after what its bi_private leads to.
 */
#include <linux/bio.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "block/originals.h"
#include "block/stacked.h"
#include "block/stripe.h"

/* Members that are looked at: requests are, with their queue locked. */
#define MEMBERS_MAX 32

/* Bios that wait for a block of a page each have at least a sector of it. */
#define BLOCK_SECTORS (PAGE_SIZE / SECTOR_SIZE)

static const size_t lists[] = {
	FGIO_R5DEV_TOREAD,
	FGIO_R5DEV_READ,
	FGIO_R5DEV_TOWRITE,
	FGIO_R5DEV_WRITTEN,
};

/* The struct r5dev in which a bio is, or 0. */
static u64 member_of(u64 address, const struct bio *bio)
{
	u64 vec = (u64)bio->bi_io_vec;

	if (vec == address - FGIO_R5DEV_REQ + FGIO_R5DEV_VEC)
		return address - FGIO_R5DEV_REQ;
	if (vec == address - FGIO_R5DEV_RREQ + FGIO_R5DEV_RVEC)
		return address - FGIO_R5DEV_RREQ;
	return 0;
}

/* How many members the stripe of a bio has; 0 where it is none of a stripe. */
static unsigned int members_of_stripe(u64 address, const struct bio *bio)
{
	u64 member, first, stripe = (u64)bio->bi_private;
	int members;

	if (!FGIO_STRIPES_KNOWN || !stripe)
		return 0;
	member = member_of(address, bio);
	first = stripe + FGIO_STRIPE_DEVICES;
	if (!member || member < first || (member - first) % FGIO_R5DEV_SIZE ||
	    !fgio_is_memory((const void *)stripe) ||
	    get_kernel_nofault(members,
			       (const int *)(stripe + FGIO_STRIPE_DISKS)))
		return 0;
	return (member - first) / FGIO_R5DEV_SIZE < (u64)max(members, 0) ?
		       members :
		       0;
}

static bool was_seen(struct fgio_originals_look *look, u64 address)
{
	u64 *seen = &look->seen[hash_64(address, ilog2(FGIO_ORIGINALS_SEEN))];
	bool again = *seen == address;

	*seen = address;
	return again;
}

/*
 * Those that wait for one block: the last of a list may go on beyond it. What
 * does not reach into the block is none of them, or is gone.
 */
static void visit_list(u64 address, sector_t end,
		       struct fgio_originals_look *look)
{
	struct fgio_top original;
	const struct bio *bio = &original.bio;

	while (address && look->count < FGIO_ORIGINALS_MAX &&
	       !was_seen(look, address)) {
		look->count++;
		if (!fgio_bio_copy(&original, address) ||
		    bio->bi_iter.bi_sector >= end ||
		    bio_end_sector(bio) <= end - BLOCK_SECTORS)
			return;
		look->visit(address, &original.bio, look->data);
		address = bio_end_sector(bio) < end ? (u64)bio->bi_next : 0;
	}
}

bool fgio_stripe_visit(u64 address, const struct bio *bio,
		       struct fgio_originals_look *look)
{
	unsigned int members = members_of_stripe(address, bio);
	u64 member = (u64)bio->bi_private + FGIO_STRIPE_DEVICES;
	unsigned int i, list;
	sector_t end;

	for (i = 0; i < min(members, MEMBERS_MAX); i++) {
		if (look->count >= FGIO_ORIGINALS_MAX ||
		    look->members++ >= FGIO_ORIGINALS_MEMBERS)
			break;
		end = fgio_kernel_word(member + FGIO_R5DEV_SECTOR) +
		      BLOCK_SECTORS;
		for (list = 0; list < ARRAY_SIZE(lists); list++)
			visit_list(fgio_kernel_word(member + lists[list]), end,
				   look);
		member += FGIO_R5DEV_SIZE;
	}
	return members;
}
