// SPDX-License-Identifier: GPL-2.0
/* simdisk: block devices with a real device's timing, for the lab. */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "disk.h"

#define MAX_DISKS 16u

static unsigned int devices = 1;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "Number of disks, 1 to 16 (default 1)");

static char *model = "volume";
module_param(model, charp, 0444);
MODULE_PARM_DESC(model, "Timing: hdd, ssd, volume, nvme or another of the family, with parameters: volume:iops=16000,sigma=0.5 (default volume)");

static unsigned long size_mib = 1024;
module_param(size_mib, ulong, 0444);
MODULE_PARM_DESC(size_mib, "Size of a disk in guest memory in MiB, allocated as written (default 1024)");

static char *backing = "";
module_param(backing, charp, 0444);
MODULE_PARM_DESC(backing, "Persistent-memory devices that hold the data in place of guest memory, one for each disk: /dev/pmem1,/dev/pmem2");

static unsigned long seed = 1;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "Seed of everything random in the timing (default 1)");

static unsigned int hw_queues;
module_param(hw_queues, uint, 0444);
MODULE_PARM_DESC(hw_queues, "Hardware queues, 1 to 64; hdd and ssd have one (default 0: the model's own)");

static unsigned int queue_depth;
module_param(queue_depth, uint, 0444);
MODULE_PARM_DESC(queue_depth, "Commands per queue, 1 to 1024; hdd and ssd up to 32 (default 0: the model's own)");

static bool ncq_prio = true;
module_param(ncq_prio, bool, 0444);
MODULE_PARM_DESC(ncq_prio, "Whether hdd and ssd have NCQ priority, off until device/ncq_prio_enable is set (default Y)");

static struct disk *disks[MAX_DISKS];

static unsigned int backing_devices(void)
{
	unsigned int commas = 0;
	const char *each;

	for (each = backing; *each; each++)
		commas += *each == ',';
	return commas + 1;
}

static int find_model(struct simdisk_parameters *parameters)
{
	char error[SIMDISK_TEXT_BYTES];

	if (simdisk_parse(parameters, model, error, sizeof(error)))
		return 0;
	pr_err("simdisk: model=%s: %s\n", model, error);
	return -EINVAL;
}

static int read_parameters(struct simdisk_parameters *parameters)
{
	if (devices < 1 || devices > MAX_DISKS) {
		pr_err("simdisk: devices=%u is out of range; use 1 to %u\n", devices, MAX_DISKS);
		return -EINVAL;
	}
	if (*backing && devices != backing_devices()) {
		pr_err("simdisk: backing=%s has %u devices; use devices=%u\n", backing,
		       backing_devices(), backing_devices());
		return -EINVAL;
	}
	if (size_mib < 1 || size_mib > 32ul * 1024 * 1024) {
		pr_err("simdisk: size_mib=%lu is out of range; use 1 to 33554432\n", size_mib);
		return -EINVAL;
	}
	if (find_model(parameters))
		return -EINVAL;
	if (hw_queues)
		parameters->hw_queues = hw_queues;
	if (queue_depth)
		parameters->queue_depth = queue_depth;
	parameters->priority_command &= ncq_prio;
	return 0;
}

static void destroy_disks(void)
{
	unsigned int i;

	for (i = 0; i < MAX_DISKS && disks[i]; i++)
		disk_destroy(disks[i]);
	/* RCU frees discarded pages by a callback in this module. */
	rcu_barrier();
	disk_stats_exit();
}

/* Cuts @backings, which is the names of backing devices or "", into one for each disk. */
static int create_disks(const struct simdisk_parameters *parameters, char *backings)
{
	unsigned int i;

	for (i = 0; i < devices; i++) {
		const char *path = *backing ? strsep(&backings, ",") : NULL;
		struct disk *disk = disk_create(i, parameters, (u64)size_mib << 11, path,
						seed + i);

		if (IS_ERR(disk))
			return PTR_ERR(disk);
		disks[i] = disk;
	}
	return 0;
}

static int __init simdisk_init(void)
{
	struct simdisk_parameters parameters;
	char *backings;
	int error = read_parameters(&parameters);

	if (error)
		return error;
	backings = kstrdup(backing, GFP_KERNEL);
	if (!backings)
		return -ENOMEM;
	disk_stats_init();
	error = create_disks(&parameters, backings);
	kfree(backings);
	if (error)
		destroy_disks();
	return error;
}
module_init(simdisk_init);

static void __exit simdisk_exit(void)
{
	destroy_disks();
}
module_exit(simdisk_exit);

MODULE_DESCRIPTION("Block devices with a real device's timing");
MODULE_LICENSE("GPL");
