// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/fgio/DISK/counters, lines of "name value": totals since the
 * elevator was chosen, and the number of I/Os in each place now.
 *
 * A disk's elevator changes while the disk takes no I/O. The holder of a lock
 * of debugfs may wait for memory meanwhile, and memory for that very disk, when
 * it has swap on it. So a worker makes and removes the files a little later.
 */
#include <linux/blkdev.h>
#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "base/debug.h"
#include "block/counters.h"
#include "block/queues.h"
#include "block/request_order.h"

/**
 * struct counters_file - the counters of a disk
 * @link: in files, in the order in which they were added
 * @fq: the queue; NULL once it has left the elevator
 * @folder: NULL until the worker has made it
 * @name: the name of the disk
 */
struct counters_file {
	struct list_head link;
	struct fgio_queue_data *fq;
	struct dentry *folder;
	char name[DISK_NAME_LEN];
};

/* Its holders allocate no memory. Taken outside of fgio_queues_lock. */
static DEFINE_MUTEX(files_lock);
static LIST_HEAD(files);

struct admission_totals {
	u64 admitted[FGIO_CLASSES];
	u64 waited_ns[FGIO_CLASSES];
	u32 waiting[FGIO_CLASSES];
	u64 promoted;
};

static struct admission_totals sum_tag_sets(struct fgio_queue_data *fq)
{
	struct admission_totals totals = {};
	struct fgio_tag_set *tag_set;
	unsigned long flags;
	int class, line;

	mutex_lock(&fgio_queues_lock);
	list_for_each_entry(tag_set, &fq->tag_sets, list) {
		spin_lock_irqsave(&tag_set->lock, flags);
		for (line = 0; line < FGIO_LINES; line++) {
			class = fgio_class_of_line(line);
			totals.admitted[class] +=
				tag_set->admission.granted[line];
			totals.waiting[class] +=
				tag_set->admission.waiting[line];
		}
		for (class = 0; class < FGIO_CLASSES; class++)
			totals.waited_ns[class] += tag_set->waited_ns[class];
		totals.promoted += tag_set->promoted;
		spin_unlock_irqrestore(&tag_set->lock, flags);
	}
	mutex_unlock(&fgio_queues_lock);
	return totals;
}

static void show_class(struct seq_file *file, const char *name,
		       enum fgio_class class,
		       const struct admission_totals *admission,
		       const struct fgio_queue_counters *counters,
		       u32 in_device, u64 merged, u64 bytes)
{
	seq_printf(file, "%s_admitted %llu\n", name,
		   admission->admitted[class]);
	seq_printf(file, "%s_queued %llu\n", name, counters->queued[class]);
	seq_printf(file, "%s_dispatched %llu\n", name,
		   counters->dispatched[class]);
	seq_printf(file, "%s_dispatched_bytes %llu\n", name, bytes);
	seq_printf(file, "%s_completed %llu\n", name,
		   counters->dispatched[class] - in_device);
	seq_printf(file, "%s_promoted %llu\n", name,
		   class == FGIO_CRITICAL ? counters->promoted : 0);
	seq_printf(file, "%s_waited_ns %llu\n", name,
		   counters->waited_ns[class]);
	seq_printf(file, "%s_admission_waited_ns %llu\n", name,
		   admission->waited_ns[class]);
	seq_printf(file, "%s_merged %llu\n", name, merged);
	seq_printf(file, "%s_in_device %u\n", name, in_device);
	seq_printf(file, "%s_waiting %u\n", name, admission->waiting[class]);
}

/* Context: files_lock is held: the queue stays. */
static void show_request_order(struct seq_file *file,
			       struct fgio_queue_data *fq)
{
	const struct fgio_request_order *order = fq->queue.own.by_request;
	u32 alone = order ? READ_ONCE(order->alone.count) : 0;

	seq_printf(file, "request_order %u\n", fgio_request_order_of(fq));
	seq_printf(file, "critical_with_id %llu\n", READ_ONCE(fq->with_id));
	seq_printf(file, "critical_ranked %u\n",
		   order ? READ_ONCE(order->ranked) + alone : 0);
	seq_printf(file, "critical_bound %u\n",
		   order ? fgio_request_bound_now(&order->bound) : 0);
	seq_printf(file, "requests_outstanding %u\n",
		   order ? READ_ONCE(order->requests) + !!alone : 0);
	seq_printf(file, "requests_forgotten %llu\n",
		   order ? READ_ONCE(order->forgotten) : 0);
	seq_printf(file, "critical_aged %llu\n",
		   order ? READ_ONCE(order->aged) : 0);
	seq_printf(file, "critical_clamped %llu\n",
		   order ? READ_ONCE(order->clamped) : 0);
	seq_printf(file, "critical_foreign %llu\n",
		   order ? READ_ONCE(order->foreign) : 0);
	seq_printf(file, "critical_late %llu\n",
		   order ? READ_ONCE(order->late) : 0);
}

static void show_queue(struct seq_file *file, struct fgio_queue_data *fq)
{
	struct admission_totals admission = sum_tag_sets(fq);
	u64 merged[FGIO_CLASSES];
	u64 bytes[FGIO_CLASSES];
	struct fgio_queue_counters counters;
	const struct fgio_flushes *flushes = &fq->queue.depth.flushes;
	u32 in_device[FGIO_CLASSES];
	unsigned int class, hw;
	u64 hardware_priority_sent;

	spin_lock(&fq->lock);
	for (class = 0; class < FGIO_CLASSES; class++)
		in_device[class] = fgio_queue_in_device(&fq->queue, class);
	hardware_priority_sent = fq->hardware_priority_sent;
	memcpy(merged, fq->merged, sizeof(merged));
	memcpy(bytes, fq->dispatched_bytes, sizeof(bytes));
	spin_unlock(&fq->lock);
	/* After those in the device, so that no fewer were dispatched. */
	mutex_lock(&fgio_queues_lock);
	counters = fgio_queue_totals(&fq->queue);
	mutex_unlock(&fgio_queues_lock);
	for (hw = 0; fq->all_hw && hw < fq->q->nr_hw_queues; hw++)
		for (class = 0; class < FGIO_CLASSES; class++)
			bytes[class] +=
				READ_ONCE(fq->all_hw[hw].dispatched_bytes[class]);

	show_class(file, "critical", FGIO_CRITICAL, &admission, &counters,
		   in_device[FGIO_CRITICAL], merged[FGIO_CRITICAL],
		   bytes[FGIO_CRITICAL]);
	show_class(file, "noncritical", FGIO_NONCRITICAL, &admission, &counters,
		   in_device[FGIO_NONCRITICAL], merged[FGIO_NONCRITICAL],
		   bytes[FGIO_NONCRITICAL]);
	seq_printf(file, "critical_flushes %llu\n",
		   READ_ONCE(flushes->ended));
	seq_printf(file, "critical_flushes_ns %llu\n",
		   READ_ONCE(flushes->took_ns));
	seq_printf(file, "starvation_releases %llu\n",
		   counters.starvation_releases);
	seq_printf(file, "sleepers_promoted %llu\n", admission.promoted);
	seq_printf(file, "drive_priority %llu\n", hardware_priority_sent);
	seq_printf(file, "split %lld\n", atomic64_read(&fq->split));
	seq_printf(file, "watchdog_tripped %d\n", fgio_lets_through(fq));
	seq_printf(file, "rotates %d\n", fgio_depth_rotates(&fq->queue.depth));
	seq_printf(file, "shared %d\n", READ_ONCE(fq->shared));
	seq_printf(file, "room_pages %llu\n", READ_ONCE(fq->room.pages));
	seq_printf(file, "room_groups %u\n", READ_ONCE(fq->room.groups));
	seq_printf(file, "recharged %llu\n", READ_ONCE(fq->recharged));
	seq_printf(file, "passed %llu\n", READ_ONCE(fq->passed));
	seq_printf(file, "hardware_queues %u\n",
		   fq->hw ? fq->queue.hw_count : 0);
	show_request_order(file, fq);
}

static int counters_show(struct seq_file *file, void *data)
{
	struct counters_file *counters = file->private;
	int error = -ENODEV;

	mutex_lock(&files_lock);
	if (counters->fq) {
		show_queue(file, counters->fq);
		error = 0;
	}
	mutex_unlock(&files_lock);
	return error;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static void make_folder(struct counters_file *file)
{
	struct dentry *folder = debugfs_create_dir(file->name,
						   fgio_debug_root());

	debugfs_create_file("counters", 0400, folder, file, &counters_fops);
	mutex_lock(&files_lock);
	file->folder = folder;
	mutex_unlock(&files_lock);
}

static void remove_file(struct counters_file *file)
{
	debugfs_remove_recursive(file->folder);
	mutex_lock(&files_lock);
	list_del(&file->link);
	mutex_unlock(&files_lock);
	kfree(file);
}

/* In order, so that a disk which comes back finds its name free. */
static struct counters_file *next_unsettled(bool *gone)
{
	struct counters_file *file, *found = NULL;

	mutex_lock(&files_lock);
	list_for_each_entry(file, &files, link) {
		if (file->fq && file->folder)
			continue;
		*gone = !file->fq;
		found = file;
		break;
	}
	mutex_unlock(&files_lock);
	return found;
}

static void settle_files(struct work_struct *work)
{
	struct counters_file *file;
	bool gone;

	while ((file = next_unsettled(&gone))) {
		if (gone)
			remove_file(file);
		else
			make_folder(file);
	}
}

static DECLARE_WORK(settle, settle_files);

void fgio_counters_add_queue(struct fgio_queue_data *fq)
{
	struct counters_file *file;

	if (!fq->q->disk)
		return;
	file = kzalloc(sizeof(*file), GFP_NOIO);
	if (!file)
		return;
	file->fq = fq;
	strscpy(file->name, fq->q->disk->disk_name, sizeof(file->name));
	mutex_lock(&files_lock);
	fq->counters = file;
	list_add_tail(&file->link, &files);
	mutex_unlock(&files_lock);
	schedule_work(&settle);
}

void fgio_counters_remove_queue(struct fgio_queue_data *fq)
{
	if (!fq->counters)
		return;
	mutex_lock(&files_lock);
	fq->counters->fq = NULL;
	mutex_unlock(&files_lock);
	schedule_work(&settle);
}

void fgio_counters_exit(void)
{
	flush_work(&settle);
}
