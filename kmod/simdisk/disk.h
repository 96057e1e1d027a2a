/* SPDX-License-Identifier: GPL-2.0 */
/* One simulated disk: a timing model, data, and the block device that joins them. */
#ifndef SIMDISK_DISK_H
#define SIMDISK_DISK_H

#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/spinlock.h>

#include "core/simdisk.h"

#include "data.h"

struct dentry;
struct platform_device;

/* Totals of completed commands of one kind. */
struct disk_counter {
	u64 count;
	u64 sectors;
	u64 service_ns;		/* from submission to completion, by the model */
	u64 max_ns;
	u64 high;		/* commands with priority */
};

struct disk_command {
	blk_status_t status;
	enum simdisk_operation operation;
	u32 sectors;
	bool high;
	u64 start;
};

struct disk {
	unsigned int number;
	struct disk_data data;
	struct blk_mq_tag_set tags;
	struct platform_device *device;
	struct gendisk *gendisk;
	struct dentry *directory;
	unsigned int queue_depth;
	bool priority_supported;	/* NCQ priority */
	bool priority_enabled;

	spinlock_t lock;		/* protects everything below; taken in hard interrupts */
	struct simdisk_model *model;
	struct request **requests;	/* by the model's slot */
	struct hrtimer timer;
	u64 armed;			/* when the timer will fire, or SIMDISK_NEVER */
	struct disk_counter counters[SIMDISK_OPERATIONS];
	u32 depth_max;
};

/*
 * Makes /dev/simdisk@number. With @backing, that device holds the data and sets the size, else
 * @sectors of guest memory. @parameters must be complete; they are checked here, with a message.
 * Returns the disk or an ERR_PTR. Process context.
 */
struct disk *disk_create(unsigned int number, const struct simdisk_parameters *parameters,
			 u64 sectors, const char *backing, u64 seed);

/* Removes a disk that is not open. Waits for commands under way. Process context. */
void disk_destroy(struct disk *disk);

/*
 * The device that the disk belongs to, /sys/block/simdiskN/device, with the attributes of a SATA
 * disk's. Returns 0 or a negative error. Process context.
 */
int disk_device_create(struct disk *disk, const struct simdisk_parameters *parameters);
void disk_device_destroy(struct disk *disk);

/* Whether the command for @rq goes out with priority. Any context. */
bool disk_has_priority(const struct disk *disk, struct request *rq);

/* debugfs: /sys/kernel/debug/simdisk, and a folder in it per disk. */
void disk_stats_init(void);
void disk_stats_exit(void);
void disk_stats_add(struct disk *disk);
void disk_stats_remove(struct disk *disk);

#endif /* SIMDISK_DISK_H */
