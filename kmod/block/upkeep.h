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

/* A critical bio is submitted. Context: its submitter's. */
void fgio_note_critical_to_stacked(const struct bio *bio);

/*
 * Whether the current task, which is about to sleep, gave such a device critical
 * I/O just now. No where another task took its place in a table. Context: any.
 */
bool fgio_gave_critical_to_stacked(void);

#endif /* FGIO_BLOCK_UPKEEP_H */
