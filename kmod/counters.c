// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/fgio/DISK/counters: totals since the elevator was chosen,
 * lines of "name value", and what is where at this moment.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "fgio.h"

static struct dentry *root;

/* The module's folder, which goes with all that is in it. */
struct dentry *fgio_counters_root(void)
{
	return root;
}

struct admission_totals {
	u64 admitted[FGIO_CLASSES];
	u64 waited_ns[FGIO_CLASSES];
	u32 waiting[FGIO_CLASSES];
	u64 promoted;
};

static struct admission_totals sum_domains(struct fgio_queue_data *fq)
{
	struct admission_totals totals = {};
	struct fgio_domain *domain;
	unsigned long flags;
	int class;

	mutex_lock(&fgio_queues_lock);
	list_for_each_entry(domain, &fq->domains, list) {
		spin_lock_irqsave(&domain->lock, flags);
		for (class = 0; class < FGIO_CLASSES; class++) {
			totals.admitted[class] +=
				domain->admission.granted[class];
			totals.waited_ns[class] += domain->waited_ns[class];
			totals.waiting[class] +=
				domain->admission.waiting[class];
		}
		totals.promoted += domain->promoted;
		spin_unlock_irqrestore(&domain->lock, flags);
	}
	mutex_unlock(&fgio_queues_lock);
	return totals;
}

static void show_class(struct seq_file *file, const char *name,
		       enum fgio_class class,
		       const struct admission_totals *admission,
		       const struct fgio_queue *queue, u64 merged, u64 bytes)
{
	const struct fgio_queue_counters *counters = &queue->counters;

	seq_printf(file, "%s_admitted %llu\n", name,
		   admission->admitted[class]);
	seq_printf(file, "%s_queued %llu\n", name, counters->queued[class]);
	seq_printf(file, "%s_dispatched %llu\n", name,
		   counters->dispatched[class]);
	seq_printf(file, "%s_dispatched_bytes %llu\n", name, bytes);
	seq_printf(file, "%s_completed %llu\n", name,
		   counters->dispatched[class] - queue->in_device[class]);
	seq_printf(file, "%s_promoted %llu\n", name,
		   class == FGIO_CRITICAL ? counters->promoted : 0);
	seq_printf(file, "%s_waited_ns %llu\n", name,
		   counters->waited_ns[class]);
	seq_printf(file, "%s_admission_waited_ns %llu\n", name,
		   admission->waited_ns[class]);
	seq_printf(file, "%s_merged %llu\n", name, merged);
	seq_printf(file, "%s_in_device %u\n", name, queue->in_device[class]);
	seq_printf(file, "%s_waiting %u\n", name, admission->waiting[class]);
}

static int counters_show(struct seq_file *file, void *data)
{
	struct fgio_queue_data *fq = file->private;
	struct admission_totals admission = sum_domains(fq);
	u64 merged[FGIO_CLASSES];
	u64 bytes[FGIO_CLASSES];
	struct fgio_queue queue;

	spin_lock(&fq->lock);
	queue = fq->queue;
	memcpy(merged, fq->merged, sizeof(merged));
	memcpy(bytes, fq->dispatched_bytes, sizeof(bytes));
	spin_unlock(&fq->lock);

	show_class(file, "critical", FGIO_CRITICAL, &admission, &queue,
		   merged[FGIO_CRITICAL], bytes[FGIO_CRITICAL]);
	show_class(file, "noncritical", FGIO_NONCRITICAL, &admission, &queue,
		   merged[FGIO_NONCRITICAL], bytes[FGIO_NONCRITICAL]);
	seq_printf(file, "starvation_releases %llu\n",
		   queue.counters.starvation_releases);
	seq_printf(file, "sleepers_promoted %llu\n", admission.promoted);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

/* Counters that cannot be shown are no reason to refuse a disk. */
void fgio_counters_add_queue(struct fgio_queue_data *fq)
{
	if (!fq->q->disk)
		return;
	fq->debugfs = debugfs_create_dir(fq->q->disk->disk_name, root);
	debugfs_create_file("counters", 0400, fq->debugfs, fq, &counters_fops);
}

void fgio_counters_remove_queue(struct fgio_queue_data *fq)
{
	debugfs_remove_recursive(fq->debugfs);
}

int fgio_counters_init(void)
{
	root = debugfs_create_dir("fgio", NULL);
	return 0;
}

void fgio_counters_exit(void)
{
	debugfs_remove_recursive(root);
}
