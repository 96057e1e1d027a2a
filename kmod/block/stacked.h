/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bios of stacked devices: from a bio that reaches a disk back to the one that
 * a file system or a program submitted to the device on top, through clones
 * (device mapper, md), encrypted copies (dm-crypt) and splits.
 *
 * Where kernel types of a device are not known (kmod/private), the way ends
 * there. It also ends at caches, writes behind of md raid1, and parity RAID,
 * where one bio is for many (originals.h).
 */
#ifndef FGIO_BLOCK_STACKED_H
#define FGIO_BLOCK_STACKED_H

#include <linux/blk_types.h>
#include <linux/types.h>

/**
 * struct fgio_top - a bio further up
 * @address: where it is
 * @bio: a copy of it. Its driver may cut off what it has dealt with at any time,
 *	so that bi_iter shows nothing
 */
struct fgio_top {
	u64 address;
	struct bio bio;
};

/*
 * Copies what is at an address that may lead anywhere, if it may be a bio.
 * Context: any; reads without faults.
 */
bool fgio_bio_copy(struct fgio_top *top, u64 address);

/**
 * fgio_stacked_top() - find the bio that a bio does the work of
 * @address: where @bio is
 * @bio: it, or a copy of it
 * @top: out; of no use where there is none
 *
 * Return: whether there is one. It cannot complete before @bio does, so that
 * what it leads to may be followed as far as that of @bio may. Context: any;
 * reads without faults; @bio may be gone if it is a copy.
 */
bool fgio_stacked_top(u64 address, const struct bio *bio, struct fgio_top *top);

/*
 * The bio whose pages a write of dm-crypt has encrypted copies of. The driver
 * keeps it as it is meanwhile, which is not so of one above. Return: whether
 * there is one. Context: as above; @plain->bio has pages if @bio cannot complete.
 */
bool fgio_stacked_plain(const struct bio *bio, struct fgio_top *plain);

#endif /* FGIO_BLOCK_STACKED_H */
