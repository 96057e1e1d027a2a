/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the private structs of libaio (fs/aio.c) and of direct I/O on block
 * devices (block/fops.c) keep what fgio reads: the build finds the offsets in
 * the kernel's BTF.
 */
#ifndef FGIO_COMPAT_AIO_H
#define FGIO_COMPAT_AIO_H

#include <linux/blk_types.h>
#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/stddef.h>
#include <linux/version.h>

#include "compat/compat.h"

/* The size of a struct blkdev_dio's head; 0: this kernel's is not known. */
#if defined(FGIO_BLKDEV_DIO_IOCB) && defined(FGIO_BLKDEV_DIO_BIO)
#define fgio_blkdev_dio_iocb FGIO_BLKDEV_DIO_IOCB
#define fgio_blkdev_dio_bio FGIO_BLKDEV_DIO_BIO
#else
#define fgio_blkdev_dio_iocb 0
#define fgio_blkdev_dio_bio 0
#endif

/* From libaio's kiocb to its struct kioctx; 0: this kernel's is not known. */
#if defined(FGIO_AIO_KIOCB_RW) && defined(FGIO_AIO_KIOCB_CONTEXT)
#define fgio_aio_context_place (FGIO_AIO_KIOCB_CONTEXT - FGIO_AIO_KIOCB_RW)
#else
#define fgio_aio_context_place 0
#endif

/*
 * From a kiocb of overlayfs, which is for another one, to that; 0: this kernel's is
 * not known.
 */
#if defined(FGIO_BACKING_AIO_IOCB) && defined(FGIO_BACKING_AIO_ORIGINAL)
#define fgio_overlay_original \
	(FGIO_BACKING_AIO_ORIGINAL - FGIO_BACKING_AIO_IOCB)
#elif defined(FGIO_OVERLAY_AIO_IOCB) && defined(FGIO_OVERLAY_AIO_ORIGINAL)
#define fgio_overlay_original \
	(FGIO_OVERLAY_AIO_ORIGINAL - FGIO_OVERLAY_AIO_IOCB)
#else
#define fgio_overlay_original 0
#endif

/* From the work of an fsync to its context; 0: this kernel's is not known. */
#if defined(FGIO_AIO_KIOCB_FSYNC) && defined(FGIO_FSYNC_IOCB_WORK) && \
	defined(FGIO_AIO_KIOCB_CONTEXT)
#define fgio_context_of_fsync                            \
	(FGIO_AIO_KIOCB_CONTEXT - FGIO_AIO_KIOCB_FSYNC - \
	 FGIO_FSYNC_IOCB_WORK)
#else
#define fgio_context_of_fsync 0
#endif

/*
 * The table of a process' contexts; the offset of its entries is 0 likewise. A
 * kernel has all of its parts or none.
 */
#if defined(CONFIG_AIO) && defined(FGIO_KIOCTX_TABLE_ENTRIES)
#define fgio_kioctx_user_id FGIO_KIOCTX_USER_ID
#define fgio_kioctx_table offsetof(struct mm_struct, ioctx_table)
#define fgio_kioctx_table_count FGIO_KIOCTX_TABLE_COUNT
#define fgio_kioctx_table_entries FGIO_KIOCTX_TABLE_ENTRIES
#else
#define fgio_kioctx_user_id 0
#define fgio_kioctx_table 0
#define fgio_kioctx_table_count 0
#define fgio_kioctx_table_entries 0
#endif

/* From a block device to its address_space: through its inode before 6.11. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define FGIO_BDEV_MAPPING_PATH { offsetof(struct block_device, bd_mapping) }
#else
#define FGIO_BDEV_MAPPING_PATH { offsetof(struct block_device, bd_inode), \
				 offsetof(struct inode, i_mapping) }
#endif

#endif /* FGIO_COMPAT_AIO_H */
