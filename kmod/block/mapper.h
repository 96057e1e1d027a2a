/* SPDX-License-Identifier: GPL-2.0 */
/*
 * I/O that drivers of the device mapper make themselves before they let a bio of
 * others pass: copies for snapshots and thin volumes, notes of what was copied,
 * metadata of thin pools and caches. Nothing in it leads to the bios that are
 * held back, so all of it is in the way of each of them.
 */
#ifndef FGIO_BLOCK_MAPPER_H
#define FGIO_BLOCK_MAPPER_H

#include <linux/types.h>

struct bio;

/* Whether a bio is such I/O. @bio: it or a copy of it. Context: any. */
bool fgio_is_mappers_own(const struct bio *bio);

/*
 * Whether a block device is one of the device mapper. It may be gone. Context:
 * any; reads without faults.
 */
bool fgio_is_mapper(u64 device);

/* A critical bio is submitted. Context: its submitter's. */
void fgio_mapper_note_critical(const struct bio *bio);

/*
 * Whether a critical bio was submitted to a device of the device mapper at a time
 * (ktime_get_ns()), or since then. Context: any.
 */
bool fgio_mapper_has_critical_since(u64 since_ns);

#endif /* FGIO_BLOCK_MAPPER_H */
