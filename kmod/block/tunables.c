// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/block/DEV/queue/iosched/: one value per file, its unit in its name. The
 * block layer keeps the elevator in place during these calls.
 */
#include <linux/kstrtox.h>
#include <linux/log2.h>
#include <linux/sysfs.h>

#include "base/version.h"
#include "block/admission.h"
#include "block/tunables.h"

#define SLOTS_MAX 65536

static ssize_t version_show(struct elevator_queue *eq, char *page)
{
	return sysfs_emit(page, FGIO_VERSION "\n");
}

/* Out of range is an error: a silently clamped value would mislead. */
static int parse(const char *page, u32 min, u32 max, u32 *value)
{
	int error = kstrtou32(page, 10, value);

	if (error)
		return error;
	return *value < min || *value > max ? -ERANGE : 0;
}

static void configure_queue(struct fgio_queue_data *fq,
			    const struct fgio_queue_config *config)
{
	spin_lock(&fq->lock);
	fgio_queue_configure(&fq->queue, config);
	spin_unlock(&fq->lock);
	/* Requests withheld under the old values may go under the new ones. */
	fgio_queue_retry(&fq->queue);
	blk_mq_run_hw_queues(fq->q, true);
}

#define QUEUE_TUNABLE(name, member, unit, min, max)                          \
static ssize_t name##_show(struct elevator_queue *eq, char *page)            \
{                                                                            \
	struct fgio_queue_data *fq = eq->elevator_data;                      \
									     \
	return sysfs_emit(page, "%llu\n",                                    \
			  (u64)fq->queue.config.member / (unit));            \
}                                                                            \
									     \
static ssize_t name##_store(struct elevator_queue *eq, const char *page,     \
			    size_t length)                                   \
{                                                                            \
	struct fgio_queue_data *fq = eq->elevator_data;                      \
	struct fgio_queue_config config = fq->queue.config;                  \
	u32 value;                                                           \
	int error = parse(page, min, max, &value);                           \
									     \
	if (error)                                                           \
		return error;                                                \
	config.member = (typeof(config.member))value * (unit);               \
	configure_queue(fq, &config);                                        \
	return length;                                                       \
}

#define SLOTS_TUNABLE(name)                                                  \
static ssize_t name##_show(struct elevator_queue *eq, char *page)            \
{                                                                            \
	struct fgio_queue_data *fq = eq->elevator_data;                      \
									     \
	return sysfs_emit(page, "%u\n", fq->name);                           \
}                                                                            \
									     \
static ssize_t name##_store(struct elevator_queue *eq, const char *page,     \
			    size_t length)                                   \
{                                                                            \
	struct fgio_queue_data *fq = eq->elevator_data;                      \
	u32 value;                                                           \
	int error = parse(page, 1, SLOTS_MAX, &value);                       \
									     \
	if (error)                                                           \
		return error;                                                \
	fq->name = value;                                                    \
	fgio_admission_configure(fq);                                        \
	return length;                                                       \
}

QUEUE_TUNABLE(noncritical_in_device_max, noncritical_in_device_max, 1, 0, 65535)
QUEUE_TUNABLE(noncritical_release_interval_ms, release_interval_ns,
	      NSEC_PER_MSEC, 1, 10000)
QUEUE_TUNABLE(critical_window_ms, critical_window_ns, NSEC_PER_MSEC, 0, 60000)
SLOTS_TUNABLE(critical_slots)
SLOTS_TUNABLE(noncritical_slots)

static ssize_t noncritical_split_kib_show(struct elevator_queue *eq, char *page)
{
	struct fgio_queue_data *fq = eq->elevator_data;

	return sysfs_emit(page, "%u\n", fq->queue.config.split_sectors / 2);
}

/* Pieces end at multiples of their length (core/split.h). */
static ssize_t noncritical_split_kib_store(struct elevator_queue *eq,
					   const char *page, size_t length)
{
	struct fgio_queue_data *fq = eq->elevator_data;
	struct fgio_queue_config config = fq->queue.config;
	u32 kib;
	int error = parse(page, 0, FGIO_SPLIT_MOST / 2, &kib);

	if (error)
		return error;
	if (kib && (kib < FGIO_SPLIT_LEAST / 2 || !is_power_of_2(kib)))
		return -EINVAL;
	config.split_sectors = kib * 2;
	configure_queue(fq, &config);
	return length;
}

static ssize_t drive_priority_show(struct elevator_queue *eq, char *page)
{
	struct fgio_queue_data *fq = eq->elevator_data;

	return sysfs_emit(page, "%u\n", fq->drive_priority);
}

static ssize_t drive_priority_store(struct elevator_queue *eq,
				    const char *page, size_t length)
{
	struct fgio_queue_data *fq = eq->elevator_data;
	u32 value;
	int error = parse(page, 0, 1, &value);

	if (error)
		return error;
	WRITE_ONCE(fq->drive_priority, value);
	return length;
}

#define RW(name) __ATTR(name, 0644, name##_show, name##_store)

struct elv_fs_entry fgio_tunables[] = {
	__ATTR(version, 0444, version_show, NULL),
	RW(noncritical_in_device_max),
	RW(noncritical_split_kib),
	RW(noncritical_release_interval_ms),
	RW(critical_window_ms),
	RW(critical_slots),
	RW(noncritical_slots),
	RW(drive_priority),
	__ATTR_NULL
};
