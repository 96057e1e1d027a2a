/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stripes of parity RAID (drivers/md/raid5.c): the array's thread reads and
 * writes the members for the bios that wait for a stripe, which no bio of its own
 * names. Where the types are not known (kmod/private), no bio is a stripe's.
 */
#ifndef FGIO_BLOCK_STRIPE_H
#define FGIO_BLOCK_STRIPE_H

#include <linux/blk_types.h>
#include <linux/types.h>

struct page;

/**
 * typedef fgio_original_fn - looks at a bio that waits for a stripe
 * @address: where it is; it may be gone
 * @bio: a copy of it
 * @data: the caller's
 */
typedef void fgio_original_fn(u64 address, struct bio *bio, void *data);

/*
 * Originals that are looked at for one request: its queue is locked meanwhile,
 * and a request has hundreds of stripes' bios. Most are of the same few.
 */
#define FGIO_ORIGINALS_MAX 64
#define FGIO_ORIGINALS_SEEN 8

/**
 * struct fgio_stripe_look - a look at what waits for the stripes of a request
 * @visit: called for each original, mostly once
 * @data: for @visit
 * @count: originals so far; those beyond FGIO_ORIGINALS_MAX are left out
 * @seen: some that were visited
 */
struct fgio_stripe_look {
	fgio_original_fn *visit;
	void *data;
	unsigned int count;
	u64 seen[FGIO_ORIGINALS_SEEN];
};

/**
 * fgio_stripe_visit() - look at the bios for which a stripe's bio reads or writes
 * @address: where @bio is
 * @bio: the bio, or a copy of it
 * @look: goes on with it
 *
 * Return: whether it is the bio of a stripe. Context: any; the bio cannot
 * complete. The array may end what waits for it meanwhile: all is read without
 * faults.
 */
bool fgio_stripe_visit(u64 address, const struct bio *bio,
		       struct fgio_stripe_look *look);

/* The same for a bio that may be a clone of a stripe's. */
bool fgio_stripe_visit_below(struct bio *bio, struct fgio_stripe_look *look);

/*
 * The first and the last page of a bio that may be gone, and that is no clone.
 * @bio: a copy of it. Return: whether there are any; what they hold may be of
 * others by now. Context: any.
 */
bool fgio_original_pages(const struct bio *bio, struct page **first,
			 struct page **last);

#endif /* FGIO_BLOCK_STRIPE_H */
