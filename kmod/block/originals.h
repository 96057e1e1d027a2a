/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bios that drivers make for several bios of others, their originals: those of
 * stripes of parity RAID (stripe.h), and the direct I/O of loop devices (loop.h).
 */
#ifndef FGIO_BLOCK_ORIGINALS_H
#define FGIO_BLOCK_ORIGINALS_H

#include <linux/blk_types.h>
#include <linux/types.h>

struct page;

/**
 * typedef fgio_original_fn - looks at a bio that another does the work of
 * @address: where it is; it may be gone
 * @bio: a copy of it
 * @data: the caller's
 */
typedef void fgio_original_fn(u64 address, struct bio *bio, void *data);

/*
 * Originals that are looked at for one request: its queue is locked meanwhile,
 * and a request may have hundreds of stripes' bios. Most are of the same few.
 */
#define FGIO_ORIGINALS_MAX 64
#define FGIO_ORIGINALS_SEEN 8
/* Members of their stripes, five words each: of eight members, 64 stripes. */
#define FGIO_ORIGINALS_MEMBERS 512

/**
 * struct fgio_originals_look - a look at what the bios of a request are for
 * @visit: called for each original, mostly once
 * @data: for @visit
 * @count: originals so far; those beyond FGIO_ORIGINALS_MAX are left out
 * @members: of stripes so far; those beyond FGIO_ORIGINALS_MEMBERS are left out
 * @seen: some that were visited
 */
struct fgio_originals_look {
	fgio_original_fn *visit;
	void *data;
	unsigned int count;
	unsigned int members;
	u64 seen[FGIO_ORIGINALS_SEEN];
};

/**
 * fgio_originals_visit() - look at the bios that a bio does the work of
 * @address: where @bio is
 * @bio: the bio, or a copy of it
 * @look: goes on with it
 *
 * Return: whether it is one that is for others. Context: any; the bio cannot
 * complete. What it is for may end meanwhile: all is read without faults.
 */
bool fgio_originals_visit(u64 address, const struct bio *bio,
			  struct fgio_originals_look *look);

/* The same for a bio that may be a clone of such a one. */
bool fgio_originals_visit_below(struct bio *bio,
				struct fgio_originals_look *look);

/*
 * The first and the last page of a bio that may be gone, and that is no clone.
 * @bio: a copy of it. Return: whether there are any; what they hold may be of
 * others by now. Context: any.
 */
bool fgio_original_pages(const struct bio *bio, struct page **first,
			 struct page **last);

#endif /* FGIO_BLOCK_ORIGINALS_H */
