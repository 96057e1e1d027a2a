// SPDX-License-Identifier: GPL-2.0
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "disk.h"

static struct dentry *root;

static void show_counter(struct seq_file *file, const char *name,
			 const struct disk_counter *counter)
{
	seq_printf(file, "%s_count %llu\n", name, counter->count);
	seq_printf(file, "%s_sectors %llu\n", name, counter->sectors);
	seq_printf(file, "%s_service_ns %llu\n", name, counter->service_ns);
	seq_printf(file, "%s_max_ns %llu\n", name, counter->max_ns);
	seq_printf(file, "%s_high %llu\n", name, counter->high);
}

static int stats_show(struct seq_file *file, void *unused)
{
	static const char *const names[SIMDISK_OPERATIONS] = {
		[SIMDISK_READ] = "read",
		[SIMDISK_WRITE] = "write",
		[SIMDISK_FLUSH] = "flush",
		[SIMDISK_DISCARD] = "discard",
	};
	struct disk *disk = file->private;
	struct disk_counter counters[SIMDISK_OPERATIONS];
	u32 depth, depth_max;
	u64 dirty;
	unsigned int i;

	spin_lock_irq(&disk->lock);
	memcpy(counters, disk->counters, sizeof(counters));
	depth = simdisk_outstanding(disk->model);
	depth_max = disk->depth_max;
	dirty = simdisk_volatile_sectors(disk->model);
	spin_unlock_irq(&disk->lock);
	for (i = 0; i < SIMDISK_OPERATIONS; i++)
		show_counter(file, names[i], &counters[i]);
	seq_printf(file, "depth %u\n", depth);
	seq_printf(file, "depth_max %u\n", depth_max);
	seq_printf(file, "write_cache_sectors %llu\n", dirty);
	seq_printf(file, "memory_waits %llu\n", READ_ONCE(disk->data.waits));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

void disk_stats_init(void)
{
	root = debugfs_create_dir("simdisk", NULL);
}

void disk_stats_exit(void)
{
	debugfs_remove(root);
}

void disk_stats_add(struct disk *disk)
{
	disk->directory = debugfs_create_dir(disk->gendisk->disk_name, root);
	debugfs_create_file("stats", 0400, disk->directory, disk, &stats_fops);
}

void disk_stats_remove(struct disk *disk)
{
	debugfs_remove(disk->directory);
}
