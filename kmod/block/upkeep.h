/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Upkeep: I/O that drivers of stacked devices make themselves before they let a
 * bio of others pass. Copies for snapshots and thin volumes, notes of what was
 * copied, metadata of pools and caches, superblocks and bitmaps of arrays. Nothing
 * in it leads to the bios that are held back, so all of it is in the way of each.
 */
#ifndef FGIO_BLOCK_UPKEEP_H
#define FGIO_BLOCK_UPKEEP_H

#include <linux/types.h>

struct bio;

/* Whether a bio is upkeep. @bio: it or a copy of it. Context: any. */
bool fgio_bio_is_upkeep(const struct bio *bio);

/*
 * Whether a block device is one of the device mapper or of md. It may be gone.
 * Context: any; reads without faults.
 */
bool fgio_is_stacked(u64 device);

/*
 * The disk of a block device if its name begins so; else 0. The device may be
 * gone. @begins: less than 8 characters. Context: as above.
 */
u64 fgio_disk_of_kind(u64 device, const char *begins);

/* A critical bio is submitted. Context: its submitter's. */
void fgio_note_critical_to_stacked(const struct bio *bio);

/*
 * The stacked device, or loop device, to which the current task, which is about to
 * sleep, gave critical I/O just now; 0: none, or another task took its place in a
 * table. Context: any.
 */
u64 fgio_gave_critical_to_stacked(void);

#endif /* FGIO_BLOCK_UPKEEP_H */
