// SPDX-License-Identifier: GPL-2.0
/*
 * The watchdog checks whether I/O that fgio holds back moves (core/watchdog.c).
 * When it does not on a disk, fgio has a fault there, and steps aside on that
 * disk: no I/O waits for a slot or is withheld, and no writer is parked, as if
 * no foreground task existed. This lasts until an administrator re-arms the
 * watchdog, or the disk gets another elevator. The log names the I/O that did
 * not move.
 */
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "base/setting.h"
#include "block/queues.h"
#include "block/watchdog.h"

static bool enabled = FGIO_DEFAULT_watchdog;
module_param_named(watchdog, enabled, bool, 0644);

/* Within less than a second, I/O of a busy device may seem not to move. */
static int set_limit(const char *text, const struct kernel_param *param)
{
	unsigned int value;
	int error = kstrtouint(text, 0, &value);

	if (error)
		return error;
	if (value && (value < FGIO_LEAST_watchdog_ms ||
		      value > FGIO_MOST_watchdog_ms))
		return -EINVAL;
	return param_set_uint(text, param);
}

static const struct kernel_param_ops limit_ops = {
	.set = set_limit,
	.get = param_get_uint,
};

static unsigned int watchdog_ms = FGIO_DEFAULT_watchdog_ms;
module_param_cb(watchdog_ms, &limit_ops, &watchdog_ms, 0644);

/* Has a rescuer thread: memory may wait for the I/O that does not move. */
static struct workqueue_struct *queue;

static void look(struct work_struct *unused);
static DECLARE_DELAYED_WORK(work, look);

/* Serialises looks, arming and reports. */
static DEFINE_MUTEX(watchdog_lock);

static const char *const class_names[FGIO_CLASSES] = {
	[FGIO_NONCRITICAL] = "non-critical",
	[FGIO_CRITICAL] = "critical",
};

static const char *const place_names[FGIO_PLACES] = {
	[FGIO_PLACE_ADMISSION] = "slept for a slot",
	[FGIO_PLACE_CARRIERS] = "of kernel threads slept for a slot",
	[FGIO_PLACE_QUEUE] = "stayed queued",
};

/*
 * Whether the driver accepts no requests: then they wait for it, not for fgio.
 * Context: fgio_queues_lock is held, so that the hardware contexts stay.
 */
static bool driver_stopped(const struct fgio_tag_set *tag_set)
{
	struct request_queue *q = tag_set->fq->q;
	struct blk_mq_hw_ctx *hctx;
	unsigned long i;

	if (blk_queue_quiesced(q))
		return true;
	if (tag_set->hw)
		return test_bit(BLK_MQ_S_STOPPED, &tag_set->hw->hctx->state);
	queue_for_each_hw_ctx(q, hctx, i)
		if (!test_bit(BLK_MQ_S_STOPPED, &hctx->state))
			return false;
	return true;
}

/* Requests that are in one queue for all belong to the first tag set. */
static const struct fgio_hw_queue *
requests_of(const struct fgio_tag_set *tag_set)
{
	struct fgio_queue_data *fq = tag_set->fq;

	if (tag_set->hw)
		return &tag_set->hw->queue;
	return list_is_first(&tag_set->list, &fq->tag_sets) ? &fq->queue.own :
							      NULL;
}

static void sample_requests(struct fgio_tag_set *tag_set,
			    struct fgio_watchdog_sample *sample)
{
	const struct fgio_hw_queue *requests = requests_of(tag_set);

	sample->stopped = driver_stopped(tag_set);
	if (!requests)
		return;
	spin_lock(fgio_slots_lock(tag_set));
	fgio_watchdog_sample_queue(sample, requests);
	spin_unlock(fgio_slots_lock(tag_set));
}

static void sample_sleepers(struct fgio_tag_set *tag_set,
			    struct fgio_watchdog_sample *sample)
{
	const struct fgio_admission *slots = &tag_set->admission;
	unsigned int line, place, class;
	unsigned long flags;

	spin_lock_irqsave(&tag_set->lock, flags);
	for (line = 0; line < FGIO_LINES; line++) {
		place = line == FGIO_LINE_CARRIER ? FGIO_PLACE_CARRIERS :
						    FGIO_PLACE_ADMISSION;
		class = fgio_class_of_line(line);
		sample->held[place][class] += slots->waiting[line];
		sample->moved[place][class] += slots->granted[line];
		/* Promoted sleepers leave the class, too. */
		if (class == FGIO_NONCRITICAL)
			sample->moved[place][class] += tag_set->promoted;
	}
	spin_unlock_irqrestore(&tag_set->lock, flags);
}

static void trip(struct fgio_tag_set *tag_set,
		 const struct fgio_watchdog_finding *finding)
{
	struct fgio_queue_data *fq = tag_set->fq;
	struct fgio_trip *trip = &fq->trip;
	int length;

	trip->at_ns = ktime_get_real_ns();
	length = scnprintf(trip->reason, sizeof(trip->reason),
			   "%s: %u %s I/Os %s for %llu s",
			   fq->q->disk ? fq->q->disk->disk_name : "?",
			   finding->held, class_names[finding->class],
			   place_names[finding->place],
			   finding->still_ns / NSEC_PER_SEC);
	if (tag_set->hw)
		scnprintf(trip->reason + length, sizeof(trip->reason) - length,
			  " in hardware queue %u",
			  tag_set->hw->hctx->queue_num);
	WRITE_ONCE(fq->let_through, true);
	pr_warn("%s: letting all its I/O through until the watchdog is re-armed (fgio rearm)\n",
		trip->reason);
	fgio_queue_reconsider(fq);
}

/* One check of all queues. */
struct look {
	u64 now_ns;
	u64 limit_ns;
};

/* Context: fgio_queues_lock is held, so that the tag sets stay. */
static void begin_look(struct fgio_queue_data *fq, u64 now_ns, u64 limit_ns)
{
	struct fgio_tag_set *tag_set;
	u32 in_device = 0;
	u64 completed = 0;

	list_for_each_entry(tag_set, &fq->tag_sets, list) {
		struct fgio_watchdog_sample *sample = &tag_set->sample;

		*sample = (struct fgio_watchdog_sample){};
		sample_requests(tag_set, sample);
		sample_sleepers(tag_set, sample);
		in_device += sample->in_device;
		completed += sample->completed;
	}
	fgio_watchdog_begin(&fq->watchdog, in_device, completed, now_ns,
			    limit_ns);
}

static void look_at_queue(struct fgio_queue_data *fq, void *data)
{
	const struct look *look = data;
	u64 limit_ns = fgio_watchdog_limit_ns(&fq->queue, look->limit_ns);
	struct fgio_watchdog_finding finding;
	struct fgio_tag_set *tag_set, *stands = NULL;

	if (fq->let_through)
		return;
	begin_look(fq, look->now_ns, limit_ns);
	list_for_each_entry(tag_set, &fq->tag_sets, list)
		if (fgio_watchdog_look(&tag_set->watchdog, &fq->watchdog,
				       &tag_set->sample, limit_ns, &finding))
			stands = tag_set;
	if (stands)
		trip(stands, &finding);
}

static void forget_queue(struct fgio_queue_data *fq, void *unused)
{
	struct fgio_tag_set *tag_set;

	memset(&fq->watchdog, 0, sizeof(fq->watchdog));
	list_for_each_entry(tag_set, &fq->tag_sets, list)
		memset(&tag_set->watchdog, 0, sizeof(tag_set->watchdog));
}

static void look_at_queues(unsigned int limit_ms)
{
	struct look look = { .limit_ns = (u64)limit_ms * NSEC_PER_MSEC };

	mutex_lock(&watchdog_lock);
	look.now_ns = ktime_get_ns();
	fgio_visit_queues(look_at_queue, &look);
	mutex_unlock(&watchdog_lock);
}

/* Once a second, or four times per limit when that is below four seconds. */
static void look(struct work_struct *unused)
{
	unsigned int limit_ms = READ_ONCE(watchdog_ms);

	if (limit_ms && READ_ONCE(enabled))
		look_at_queues(limit_ms);
	else
		fgio_visit_queues(forget_queue, NULL);
	if (fgio_queues_exist())
		queue_delayed_work(queue, &work,
				   limit_ms && limit_ms < 4000 ?
					   msecs_to_jiffies(limit_ms / 4) :
					   HZ);
}

void fgio_watchdog_queue_came(void)
{
	queue_delayed_work(queue, &work, HZ / 4);
}

static void rearm(struct fgio_queue_data *fq, void *unused)
{
	if (!fq->let_through)
		return;
	forget_queue(fq, NULL);
	memset(&fq->trip, 0, sizeof(fq->trip));
	WRITE_ONCE(fq->let_through, false);
	fgio_queue_reconsider(fq);
	pr_info("%s: the watchdog was re-armed\n",
		fq->q->disk ? fq->q->disk->disk_name : "?");
}

void fgio_watchdog_rearm(void)
{
	mutex_lock(&watchdog_lock);
	fgio_visit_queues(rearm, NULL);
	mutex_unlock(&watchdog_lock);
}

/* The search of fgio_watchdog_rearm_disk(), and its result. */
struct disk_search {
	dev_t disk;
	bool found;
	bool tripped;
};

static void rearm_wanted(struct fgio_queue_data *fq, void *data)
{
	struct disk_search *search = data;

	if (!fq->q->disk || disk_devt(fq->q->disk) != search->disk)
		return;
	search->found = true;
	search->tripped = fq->let_through;
	rearm(fq, NULL);
}

int fgio_watchdog_rearm_disk(dev_t disk, u32 *tripped)
{
	struct disk_search search = { .disk = disk };

	mutex_lock(&watchdog_lock);
	fgio_visit_queues(rearm_wanted, &search);
	mutex_unlock(&watchdog_lock);
	*tripped = search.tripped;
	return search.found ? 0 : -ENODEV;
}

/* Reports the disk that tripped first. */
static void report_queue(struct fgio_queue_data *fq, void *data)
{
	struct fgio_state *report = data;
	const struct fgio_trip *trip = &fq->trip;

	if (!fq->let_through)
		return;
	if (report->watchdog_tripped++ &&
	    report->watchdog_at_ns <= trip->at_ns)
		return;
	report->watchdog_at_ns = trip->at_ns;
	strscpy(report->watchdog_reason, trip->reason,
		sizeof(report->watchdog_reason));
}

void fgio_watchdog_state(struct fgio_state *state)
{
	mutex_lock(&watchdog_lock);
	state->watchdog_tripped = 0;
	fgio_visit_queues(report_queue, state);
	mutex_unlock(&watchdog_lock);
}

int fgio_watchdog_init(void)
{
	queue = alloc_workqueue("fgio_watchdog", WQ_MEM_RECLAIM, 1);
	return queue ? 0 : -ENOMEM;
}

void fgio_watchdog_exit(void)
{
	cancel_delayed_work_sync(&work);
	destroy_workqueue(queue);
}
