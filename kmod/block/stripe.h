/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stripes of parity RAID (drivers/md/raid5.c): the array's thread reads and
 * writes the members for the bios that wait for a stripe, which no bio of its own
 * names. Where the types are not known (kmod/private), no bio is a stripe's.
 */
#ifndef FGIO_BLOCK_STRIPE_H
#define FGIO_BLOCK_STRIPE_H

#include <linux/types.h>

#include "compat/stripe.h"

struct bio;
struct fgio_originals_look;

/*
 * As fgio_originals_visit(), for a stripe's bio alone. Return: whether it is one.
 */
bool fgio_stripe_visit(u64 address, const struct bio *bio,
		       struct fgio_originals_look *look);

#endif /* FGIO_BLOCK_STRIPE_H */
