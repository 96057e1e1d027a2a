// SPDX-License-Identifier: GPL-2.0
/*
 * NCQ priority as the drivers of SATA disks have it: off until
 * device/ncq_prio_enable is written, then the real-time class is high
 * (libata-sata.c and ata_build_rw_tf() of libata-core.c). The device exists for
 * these two files.
 */
#include <linux/ioprio.h>
#include <linux/kstrtox.h>
#include <linux/platform_device.h>
#include <linux/sysfs.h>

#include "disk.h"

static struct disk *disk_of(struct device *device)
{
	return platform_get_drvdata(to_platform_device(device));
}

static ssize_t ncq_prio_supported_show(struct device *device, struct device_attribute *attribute,
				       char *page)
{
	return sysfs_emit(page, "%d\n", disk_of(device)->priority_supported);
}
static DEVICE_ATTR_RO(ncq_prio_supported);

static ssize_t ncq_prio_enable_show(struct device *device, struct device_attribute *attribute,
				    char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(disk_of(device)->priority_enabled));
}

static ssize_t ncq_prio_enable_store(struct device *device, struct device_attribute *attribute,
				     const char *page, size_t length)
{
	struct disk *disk = disk_of(device);
	bool enable;
	int error = kstrtobool(page, &enable);

	if (error)
		return error;
	if (!disk->priority_supported)
		return -EINVAL;
	WRITE_ONCE(disk->priority_enabled, enable);
	return length;
}
static DEVICE_ATTR_RW(ncq_prio_enable);

static struct attribute *sata_attributes[] = {
	&dev_attr_ncq_prio_supported.attr,
	&dev_attr_ncq_prio_enable.attr,
	NULL
};

static const struct attribute_group sata_group = {
	.attrs = sata_attributes,
};

static const struct attribute_group *sata_groups[] = {
	&sata_group,
	NULL
};

static bool is_sata(const struct simdisk_parameters *parameters)
{
	return parameters->kind == SIMDISK_HDD || parameters->kind == SIMDISK_SSD;
}

int disk_device_create(struct disk *disk, const struct simdisk_parameters *parameters)
{
	struct platform_device *device = platform_device_alloc("simdisk", disk->number);
	int error;

	if (!device)
		return -ENOMEM;
	disk->priority_supported = parameters->priority_command;
	platform_set_drvdata(device, disk);
	if (is_sata(parameters))
		device->dev.groups = sata_groups;
	error = platform_device_add(device);
	if (error) {
		platform_device_put(device);
		return error;
	}
	disk->device = device;
	return 0;
}

void disk_device_destroy(struct disk *disk)
{
	if (disk->device)
		platform_device_unregister(disk->device);
}

/* Only reads and writes are NCQ commands. */
bool disk_has_priority(const struct disk *disk, struct request *rq)
{
	return READ_ONCE(disk->priority_enabled) &&
	       (req_op(rq) == REQ_OP_READ || req_op(rq) == REQ_OP_WRITE) &&
	       IOPRIO_PRIO_CLASS(req_get_ioprio(rq)) == IOPRIO_CLASS_RT;
}
