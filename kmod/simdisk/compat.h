/* SPDX-License-Identifier: GPL-2.0 */
/* All differences between the supported kernels (6.1, 6.12) for the lab's disk. */
#ifndef SIMDISK_COMPAT_H
#define SIMDISK_COMPAT_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define BLK_MQ_F_SHOULD_MERGE 0
#endif

/* Limits that a disk reports to the block layer, in the units of their names. */
struct disk_limits {
	unsigned int physical_block_bytes;
	unsigned int max_sectors;
	unsigned int max_segments;
	unsigned int max_discard_sectors;
	unsigned int max_write_zeroes_sectors;
	bool rotational;
	bool write_cache;
	bool fua;
};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)

static inline struct gendisk *compat_alloc_disk(struct blk_mq_tag_set *set,
						const struct disk_limits *limits, void *data)
{
	struct queue_limits lim = {
		.logical_block_size = SECTOR_SIZE,
		.physical_block_size = limits->physical_block_bytes,
		.max_hw_sectors = limits->max_sectors,
		.max_segments = limits->max_segments,
		.max_hw_discard_sectors = limits->max_discard_sectors,
		.discard_granularity = limits->max_discard_sectors ?
				       limits->physical_block_bytes : 0,
		.max_write_zeroes_sectors = limits->max_write_zeroes_sectors,
		.features = (limits->rotational ? BLK_FEAT_ROTATIONAL : 0) |
			    (limits->write_cache ? BLK_FEAT_WRITE_CACHE : 0) |
			    (limits->fua ? BLK_FEAT_FUA : 0),
	};

	return blk_mq_alloc_disk(set, &lim, data);
}

/* A block device opened for reading and writing, for @holder alone. */
struct compat_bdev {
	struct file *file;
	struct block_device *bdev;
};

static inline int compat_open_bdev(struct compat_bdev *opened, const char *path, void *holder)
{
	struct file *file = bdev_file_open_by_path(path, BLK_OPEN_READ | BLK_OPEN_WRITE, holder,
						   NULL);

	if (IS_ERR(file))
		return PTR_ERR(file);
	opened->file = file;
	opened->bdev = file_bdev(file);
	return 0;
}

static inline void compat_close_bdev(struct compat_bdev *opened)
{
	bdev_fput(opened->file);
}

#else

static inline struct gendisk *compat_alloc_disk(struct blk_mq_tag_set *set,
						const struct disk_limits *limits, void *data)
{
	struct gendisk *gendisk = blk_mq_alloc_disk(set, data);
	struct request_queue *queue;

	if (IS_ERR(gendisk))
		return gendisk;
	queue = gendisk->queue;
	blk_queue_logical_block_size(queue, SECTOR_SIZE);
	blk_queue_physical_block_size(queue, limits->physical_block_bytes);
	blk_queue_max_hw_sectors(queue, limits->max_sectors);
	blk_queue_max_segments(queue, limits->max_segments);
	blk_queue_max_discard_sectors(queue, limits->max_discard_sectors);
	if (limits->max_discard_sectors)
		queue->limits.discard_granularity = limits->physical_block_bytes;
	blk_queue_max_write_zeroes_sectors(queue, limits->max_write_zeroes_sectors);
	blk_queue_write_cache(queue, limits->write_cache, limits->fua);
	if (!limits->rotational)
		blk_queue_flag_set(QUEUE_FLAG_NONROT, queue);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, queue);
	return gendisk;
}

struct compat_bdev {
	struct block_device *bdev;
};

#define COMPAT_BDEV_MODE (FMODE_READ | FMODE_WRITE | FMODE_EXCL)

static inline int compat_open_bdev(struct compat_bdev *opened, const char *path, void *holder)
{
	struct block_device *bdev = blkdev_get_by_path(path, COMPAT_BDEV_MODE, holder);

	if (IS_ERR(bdev))
		return PTR_ERR(bdev);
	opened->bdev = bdev;
	return 0;
}

static inline void compat_close_bdev(struct compat_bdev *opened)
{
	blkdev_put(opened->bdev, COMPAT_BDEV_MODE);
}

#endif

static inline void compat_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	timer->function = function;
#endif
}

#endif /* SIMDISK_COMPAT_H */
