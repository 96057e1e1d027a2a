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

/**
 * fgio_stripe_visit() - look at the bios for which a stripe's bio reads or writes
 * @address: where @bio is
 * @bio: the bio, or a copy of it
 * @visit: called for each; a bio that waits for several blocks comes as often
 * @data: for @visit
 *
 * Return: whether it is the bio of a stripe. Context: any; the bio cannot
 * complete. The array may end what waits for it meanwhile: all is read without
 * faults.
 */
bool fgio_stripe_visit(u64 address, const struct bio *bio,
		       fgio_original_fn *visit, void *data);

/* The same for a bio that may be a clone of a stripe's. */
bool fgio_stripe_visit_below(struct bio *bio, fgio_original_fn *visit,
			     void *data);

/*
 * The first and the last page of a bio that may be gone, and that is no clone.
 * @bio: a copy of it. Return: whether there are any; what they hold may be of
 * others by now. Context: any.
 */
bool fgio_original_pages(const struct bio *bio, struct page **first,
			 struct page **last);

#endif /* FGIO_BLOCK_STRIPE_H */
