/* SPDX-License-Identifier: GPL-2.0 */
/* A disk's data: in pages allocated as they are written, or in persistent memory. */
#ifndef SIMDISK_DATA_H
#define SIMDISK_DATA_H

#include <linux/blk_types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat.h"

struct dax_device;

struct disk_data {
	u64 sectors;
	/* Guest memory: pages by their number on the disk; a hole reads as zeroes. */
	struct xarray pages;
	struct work_struct populate;
	spinlock_t wanted_lock;		/* protects wanted_* and waits */
	pgoff_t wanted_first;
	unsigned long wanted_count;
	u64 waits;			/* requests deferred for lack of memory */
	struct request_queue *queue;	/* to run when populate has allocated pages, or NULL */
	/* Backing device: all of it in the kernel's address space. */
	struct compat_bdev opened;
	struct dax_device *dax;
	void *memory;
};

/* Prepares @data for @sectors sectors of guest memory. Allocates nothing. */
void disk_data_init_memory(struct disk_data *data, u64 sectors);

/*
 * Opens the block device @path, exclusively, and takes its size. It must have direct access
 * (/dev/pmemN). Returns 0 or a negative error, after a message. Process context.
 */
int disk_data_init_backing(struct disk_data *data, const char *path);

/* Drops the request queue, which must have no requests any more. Process context. */
void disk_data_stop(struct disk_data *data);

/* Frees all data. The disk must be gone. Process context. */
void disk_data_destroy(struct disk_data *data);

/*
 * Moves the data of @rq, which must lie on the disk. Does not sleep. BLK_STS_RESOURCE: no memory
 * now; pages are being allocated, and the queue will be run again.
 */
blk_status_t disk_data_transfer(struct disk_data *data, struct request *rq);

#endif /* SIMDISK_DATA_H */
