/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Offsets in the private structs of btrfs (fs/btrfs): the build finds them in
 * the BTF of the module. Where one is missing, no wait for btrfs is known.
 */
#ifndef FGIO_COMPAT_BTRFS_H
#define FGIO_COMPAT_BTRFS_H

#include <linux/types.h>
#include <linux/version.h>

#include "fgio_private.h"

#if defined(FGIO_BTRFS_HANDLE_TRANSACTION) &&                                 \
	defined(FGIO_BTRFS_TRANSACTION_STATE) &&                              \
	defined(FGIO_BTRFS_TRANSACTION_WRITERS) &&                            \
	defined(FGIO_BTRFS_COMMITS) && defined(FGIO_BTRFS_FS_RUNNING) &&      \
	defined(FGIO_BTRFS_FS_TREES) && defined(FGIO_BTRFS_ROOT_LOG) &&       \
	defined(FGIO_BTRFS_ROOT_LOG_PAGES) &&                                 \
	defined(FGIO_BTRFS_ORDERED_INODE) &&                                  \
	defined(FGIO_BTRFS_ORDERED_BEGIN) &&                                  \
	defined(FGIO_BTRFS_ORDERED_BYTES) &&                                  \
	defined(FGIO_BTRFS_INODE_INODE) && defined(FGIO_BTRFS_LEAF_BEGIN) &&  \
	defined(FGIO_BTRFS_LEAF_BYTES) && defined(FGIO_BTRFS_LEAF_FS)
#define FGIO_BTRFS_KNOWN 1
#else
#define FGIO_BTRFS_KNOWN 0
#define FGIO_BTRFS_HANDLE_TRANSACTION 0
#define FGIO_BTRFS_TRANSACTION_STATE 0
#define FGIO_BTRFS_TRANSACTION_WRITERS 0
#define FGIO_BTRFS_COMMITS 0
#define FGIO_BTRFS_FS_RUNNING 0
#define FGIO_BTRFS_FS_TREES 0
#define FGIO_BTRFS_ROOT_LOG 0
#define FGIO_BTRFS_ROOT_LOG_PAGES 0
#define FGIO_BTRFS_ORDERED_INODE 0
#define FGIO_BTRFS_ORDERED_BEGIN 0
#define FGIO_BTRFS_ORDERED_BYTES 0
#define FGIO_BTRFS_INODE_INODE 0
#define FGIO_BTRFS_LEAF_BEGIN 0
#define FGIO_BTRFS_LEAF_BYTES 0
#define FGIO_BTRFS_LEAF_FS 0
#endif

/*
 * Whether a call of read_extent_buffer_pages() waits for the pages. The second
 * argument said so before reading ahead had a function of its own.
 */
static inline bool fgio_btrfs_read_waits(unsigned long second_argument)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return true;
#else
	return second_argument;
#endif
}

/*
 * How far a bio of btrfs is behind the begin of its struct btrfs_bio, and where
 * that names its owner; 0: this kernel's are not known.
 */
#if defined(FGIO_BTRFS_BIO_BIO) && defined(FGIO_BTRFS_BIO_PRIVATE)
#define fgio_btrfs_bio_bio FGIO_BTRFS_BIO_BIO
#define fgio_btrfs_bio_private FGIO_BTRFS_BIO_PRIVATE
#else
#define fgio_btrfs_bio_bio 0
#define fgio_btrfs_bio_private 0
#endif

/*
 * Direct I/O: how far a bio is behind the begin of its struct btrfs_dio_private;
 * 0: it is in none (6.1, where the owner has the bio of fs/iomap).
 */
#if defined(FGIO_BTRFS_DIO_BBIO) && defined(FGIO_BTRFS_BIO_BIO)
#define fgio_btrfs_dio_bio (FGIO_BTRFS_DIO_BBIO + FGIO_BTRFS_BIO_BIO)
#else
#define fgio_btrfs_dio_bio 0
#endif
#ifdef FGIO_BTRFS_DIO_ORIGINAL
#define fgio_btrfs_dio_original FGIO_BTRFS_DIO_ORIGINAL
#else
#define fgio_btrfs_dio_original 0
#endif

#endif /* FGIO_COMPAT_BTRFS_H */
