/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Whether a drive that says it has a platter has one. Virtual disks often say so: it is
 * what the kernel assumes of virtio, Xen and SCSI. A read far from those before it has to
 * wait for an arm and half a turn, where there is one.
 */
#ifndef FGIO_CORE_ROTATION_H
#define FGIO_CORE_ROTATION_H

#include "types.h"

/* Streams of reads that a disk may read ahead for; of more, the oldest are forgotten. */
#define FGIO_ROTATION_STREAMS 4

/* Only the functions below touch the members. */
struct fgio_rotation {
	bool declared;
	u8 doubts;
	u32 streams;
	u32 far; /* done since it was judged last... */
	u32 quick; /* ...and those of them that no platter could have done so fast */
	u64 sector[FGIO_ROTATION_STREAMS]; /* where the latest read of each ended */
};

void fgio_rotation_init(struct fgio_rotation *rotation, bool declared);

/*
 * A read goes to the drive. Return: whether it is far: from where each of the streams
 * has come; never where the drive says that it has no platter. The caller serialises, as
 * for the others.
 */
bool fgio_rotation_moves(struct fgio_rotation *rotation, u64 sector,
			 u32 sectors);

/* One that is far, of at least @bytes, took so long in the drive. */
void fgio_rotation_done(struct fgio_rotation *rotation, u64 bytes, u64 took_ns);

/*
 * All that were done in @length_ns are known. Return: whether the drive is to be taken
 * for one with a platter.
 */
bool fgio_rotation_judge(struct fgio_rotation *rotation, u64 length_ns);

#endif /* FGIO_CORE_ROTATION_H */
