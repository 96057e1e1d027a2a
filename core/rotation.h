/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The rotation probe: whether a drive that declares to rotate does. The kernel
 * assumes rotation of virtio, Xen and SCSI, so virtual disks often declare it.
 * A read far from those before it waits for an arm and half a turn, if there is
 * one.
 *
 * Locking: the caller serialises all calls for one struct.
 */
#ifndef FGIO_CORE_ROTATION_H
#define FGIO_CORE_ROTATION_H

#include "types.h"

/*
 * Streams of reads that a disk may read ahead for; a new one replaces the
 * oldest.
 */
#define FGIO_ROTATION_STREAMS 4

/* Only the functions below touch the members. */
struct fgio_rotation {
	bool declared;
	u8 doubts;
	u32 streams;
	u32 far; /* far reads completed since the last verdict... */
	u32 quick; /* ...and those too quick for an arm */
	/* end of each stream's latest read */
	u64 sector[FGIO_ROTATION_STREAMS];
};

void fgio_rotation_init(struct fgio_rotation *rotation, bool declared);

/*
 * A read goes to the drive. Return: whether it is far from all streams; always
 * false for a drive that does not declare to rotate.
 */
bool fgio_rotation_moves(struct fgio_rotation *rotation, u64 sector,
			 u32 sectors);

/* A far read of at least @bytes took @took_ns in the drive. */
void fgio_rotation_done(struct fgio_rotation *rotation, u64 bytes, u64 took_ns);

/*
 * All far reads that completed in @length_ns are known. Return: whether the
 * drive is taken for one that rotates.
 */
bool fgio_rotation_judge(struct fgio_rotation *rotation, u64 length_ns);

#endif /* FGIO_CORE_ROTATION_H */
