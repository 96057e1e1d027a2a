// SPDX-License-Identifier: GPL-2.0
/*
 * The watchdog looks whether I/O that fgio holds back moves (core/watchdog.c).
 * When it does not, something is wrong with fgio, and it steps aside: nobody
 * waits for a slot, nothing is withheld, nobody is parked or boosted, as if no
 * foreground task existed. So it stays until an administrator re-arms it, who
 * should report what the log says.
 */
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "fgio.h"
#include "inherit.h"

bool fgio_let_through;

static bool enabled = true;
module_param_named(watchdog, enabled, bool, 0644);
MODULE_PARM_DESC(watchdog, "let everything through when I/O does not move (Y)");

/* Below a second, a busy device would look as if nothing moved. */
static int set_limit(const char *text, const struct kernel_param *param)
{
	unsigned int value;
	int error = kstrtouint(text, 0, &value);

	if (error)
		return error;
	if (value && (value < 1000 || value > 3600000))
		return -EINVAL;
	return param_set_uint(text, param);
}

static const struct kernel_param_ops limit_ops = {
	.set = set_limit,
	.get = param_get_uint,
};

static unsigned int watchdog_ms = 30000;
module_param_cb(watchdog_ms, &limit_ops, &watchdog_ms, 0644);
MODULE_PARM_DESC(watchdog_ms, "how long I/O may stand still, at least 1000; 0: the watchdog is off (30000)");

/* Has a thread of its own: without memory, I/O may be what memory waits for. */
static struct workqueue_struct *queue;

static void look(struct work_struct *unused);
static DECLARE_DELAYED_WORK(work, look);

/* Protects what follows, and serialises tripping and arming. */
static DEFINE_MUTEX(watchdog_lock);
static u64 tripped_at_ns;
static char reason[sizeof_field(struct fgio_state, watchdog_reason)];

/* What the look that is going on found. */
static struct {
	bool yes;
	u64 now_ns;
	u64 limit_ns;
} found;

static const char *const class_names[FGIO_CLASSES] = {
	[FGIO_NONCRITICAL] = "non-critical",
	[FGIO_CRITICAL] = "critical",
};

static const char *const place_names[FGIO_PLACES] = {
	[FGIO_PLACE_ADMISSION] = "slept for a slot",
	[FGIO_PLACE_QUEUE] = "stayed queued",
};

static void sample_queue(struct fgio_queue_data *fq,
			 struct fgio_watchdog_sample *sample)
{
	const struct fgio_queue *of = &fq->queue;
	unsigned int class;

	spin_lock(&fq->lock);
	for (class = 0; class < FGIO_CLASSES; class++) {
		sample->held[FGIO_PLACE_QUEUE][class] = of->queued[class];
		sample->moved[FGIO_PLACE_QUEUE][class] =
			of->counters.dispatched[class];
		sample->in_device += READ_ONCE(of->in_device[class]);
		sample->completed += of->counters.dispatched[class];
	}
	/* Promotion takes it away, too. */
	sample->moved[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL] +=
		of->counters.promoted;
	spin_unlock(&fq->lock);
	sample->completed -= sample->in_device;
}

static void sample_domain(struct fgio_domain *domain,
			  struct fgio_watchdog_sample *sample)
{
	const struct fgio_admission *slots = &domain->admission;
	unsigned int class;
	unsigned long flags;

	spin_lock_irqsave(&domain->lock, flags);
	for (class = 0; class < FGIO_CLASSES; class++) {
		sample->held[FGIO_PLACE_ADMISSION][class] +=
			slots->waiting[class];
		sample->moved[FGIO_PLACE_ADMISSION][class] +=
			slots->granted[class];
	}
	sample->moved[FGIO_PLACE_ADMISSION][FGIO_NONCRITICAL] +=
		domain->promoted;
	spin_unlock_irqrestore(&domain->lock, flags);
}

static void look_at_queue(struct fgio_queue_data *fq)
{
	struct fgio_watchdog_sample sample = {};
	struct fgio_watchdog_finding finding;
	struct fgio_domain *domain;

	sample_queue(fq, &sample);
	list_for_each_entry(domain, &fq->domains, list)
		sample_domain(domain, &sample);
	if (!fgio_watchdog_look(&fq->watchdog, &sample, found.now_ns,
				found.limit_ns, &finding) || found.yes)
		return;
	found.yes = true;
	snprintf(reason, sizeof(reason), "%s: %u %s I/Os %s for %llu s",
		 fq->q->disk ? fq->q->disk->disk_name : "?", finding.held,
		 class_names[finding.class], place_names[finding.place],
		 finding.still_ns / NSEC_PER_SEC);
}

static void forget_queue(struct fgio_queue_data *fq)
{
	memset(&fq->watchdog, 0, sizeof(fq->watchdog));
}

static void trip(void)
{
	tripped_at_ns = ktime_get_real_ns();
	WRITE_ONCE(fgio_let_through, true);
	pr_warn("%s: letting everything through until somebody re-arms the watchdog (fgio rearm)\n",
		reason);
	fgio_queues_reconsider();
}

static void look_at_queues(unsigned int limit_ms)
{
	mutex_lock(&watchdog_lock);
	found.yes = false;
	found.now_ns = ktime_get_ns();
	found.limit_ns = (u64)limit_ms * NSEC_PER_MSEC;
	if (!fgio_let_through)
		fgio_visit_queues(look_at_queue);
	if (found.yes)
		trip();
	mutex_unlock(&watchdog_lock);
}

/* Once a second, or four times in a limit that is shorter than four. */
static void look(struct work_struct *unused)
{
	unsigned int limit_ms = READ_ONCE(watchdog_ms);

	if (limit_ms && READ_ONCE(enabled))
		look_at_queues(limit_ms);
	else
		fgio_visit_queues(forget_queue);
	if (fgio_queues_exist())
		queue_delayed_work(queue, &work,
				   limit_ms && limit_ms < 4000 ?
					   msecs_to_jiffies(limit_ms / 4) :
					   HZ);
}

/* A queue came under the elevator. */
void fgio_watchdog_queue_came(void)
{
	queue_delayed_work(queue, &work, HZ / 4);
}

void fgio_watchdog_rearm(void)
{
	mutex_lock(&watchdog_lock);
	if (fgio_let_through) {
		fgio_visit_queues(forget_queue);
		WRITE_ONCE(fgio_let_through, false);
		reason[0] = '\0';
		tripped_at_ns = 0;
		fgio_queues_reconsider();
		pr_info("the watchdog was re-armed\n");
	}
	mutex_unlock(&watchdog_lock);
}

void fgio_watchdog_state(struct fgio_state *state)
{
	mutex_lock(&watchdog_lock);
	state->watchdog_tripped = fgio_let_through;
	state->watchdog_at_ns = tripped_at_ns;
	strscpy(state->watchdog_reason, reason, sizeof(reason));
	mutex_unlock(&watchdog_lock);
}

int fgio_watchdog_init(void)
{
	queue = alloc_workqueue("fgio_watchdog", WQ_MEM_RECLAIM, 1);
	return queue ? 0 : -ENOMEM;
}

/* No queue is under the elevator any more, and none will come. */
void fgio_watchdog_exit(void)
{
	cancel_delayed_work_sync(&work);
	destroy_workqueue(queue);
}
