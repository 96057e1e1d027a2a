// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for a slot. The block layer calls limit_depth in the submitter's
 * context just before it allocates a scheduler tag, with q_usage_counter held,
 * and may sleep there; prepare_request follows in the same task once it has
 * the tag, and finish_request when the tag goes back (block/blk-mq.c).
 *
 * limit_depth charges a slot and says so to prepare_request through bits of
 * rq_flags. A sleeper gets its slot from who frees one, so nothing is retried
 * and nobody is overtaken.
 */
#include <linux/backing-dev.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "fgio.h"
#include "trace.h"

static bool admission = true;
module_param(admission, bool, 0644);
MODULE_PARM_DESC(admission, "keep the slots of the two classes apart (Y)");

struct sleeper {
	struct fgio_waiter waiter;
	struct task_struct *task;
};

static bool critical_about(struct fgio_domain *domain)
{
	const struct fgio_queue *queue = &domain->fq->queue;
	u64 now_ns = fgio_queue_saw_critical(queue) ? ktime_get_ns() : 0;

	return fgio_queue_critical_about(queue, now_ns);
}

/*
 * Wakes under the lock, and sleepers look under the lock: a sleeper's stack
 * cannot go away in between.
 */
static void wake_granted(struct fgio_domain *domain)
{
	struct fgio_waiter *waiter;
	bool about;

	lockdep_assert_held(&domain->lock);
	if (likely(!fgio_admission_somebody_waits(&domain->admission)))
		return;
	about = critical_about(domain);
	while ((waiter = fgio_admission_grant(&domain->admission, about)))
		wake_up_process(container_of(waiter, struct sleeper,
					     waiter)->task);
}

static bool was_granted(struct fgio_domain *domain, struct sleeper *sleeper)
{
	bool granted;

	spin_lock_irq(&domain->lock);
	granted = sleeper->waiter.granted;
	spin_unlock_irq(&domain->lock);
	return granted;
}

/* io_schedule() submits what the task has plugged, so that it can complete. */
static void sleep_until_granted(struct fgio_domain *domain,
				struct sleeper *sleeper)
{
	for (;;) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		if (was_granted(domain, sleeper))
			break;
		io_schedule();
	}
	__set_current_state(TASK_RUNNING);
}

static void wait_for_slot(struct fgio_domain *domain, enum fgio_class class)
{
	struct sleeper sleeper = { .task = current };
	bool about = class == FGIO_NONCRITICAL && critical_about(domain);
	u64 since_ns, waited_ns;

	spin_lock_irq(&domain->lock);
	if (likely(fgio_admission_try(&domain->admission, class, about))) {
		spin_unlock_irq(&domain->lock);
		return;
	}
	fgio_admission_wait(&domain->admission, &sleeper.waiter, class);
	spin_unlock_irq(&domain->lock);

	since_ns = ktime_get_ns();
	sleep_until_granted(domain, &sleeper);
	waited_ns = ktime_get_ns() - since_ns;

	spin_lock_irq(&domain->lock);
	domain->waited_ns[class] += waited_ns;
	spin_unlock_irq(&domain->lock);
	trace_fgio_admission_wait(domain->fq->q, class, waited_ns);
}

/* The flusher runs as a work item of the disk's own writeback. */
static bool is_flusher(struct request_queue *q)
{
	struct work_struct *work = current_work();

	return work && q->disk &&
	       work->func == q->disk->bdi->wb.dwork.work.func;
}

/*
 * Who must not sleep for a slot: memory reclaim and swapping, which everybody
 * may be waiting for; and, for a non-critical one, kernel threads that carry
 * the I/O of others (dm, md, loop, a journal), because critical I/O may stand in line
 * behind the one that sleeps. Writeback's own threads carry nobody's.
 */
static bool may_not_wait(struct request_queue *q, blk_opf_t opf,
			 enum fgio_class class)
{
	if (opf & REQ_SWAP || current->flags & PF_MEMALLOC)
		return true;
	return class == FGIO_NONCRITICAL && current->flags & PF_KTHREAD &&
	       !is_flusher(q);
}

static bool is_full(struct fgio_domain *domain, enum fgio_class class)
{
	const struct fgio_admission *slots = &domain->admission;
	bool about = class == FGIO_NONCRITICAL && critical_about(domain);

	return READ_ONCE(slots->admitted[class]) >=
	       fgio_admission_limit(slots, class, about);
}

/**
 * fgio_limit_depth() - the elevator's limit_depth
 * @opf: operation and flags of the bio
 * @data: the allocation
 *
 * Context: the submitter's; sleeps unless the allocation must not wait. Called
 * again for the same allocation when a hardware queue went away: the charge
 * stands.
 */
void fgio_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct fgio_domain *domain = data->hctx->sched_data;
	enum fgio_class class = fgio_class_of_opf(opf);

	if (data->rq_flags & FGIO_RQF_CHARGED || !domain->charged ||
	    !READ_ONCE(admission))
		return;
	if (data->flags & BLK_MQ_REQ_NOWAIT) {
		/* One usable tag is as near to "no" as a depth can say. */
		if (is_full(domain, class))
			data->shallow_depth = 1;
		return;
	}
	if (may_not_wait(data->q, opf, class))
		return;
	wait_for_slot(domain, class);
	data->rq_flags |= domain->charged;
	/* The charge is for one request: no batch may share it. */
	data->nr_tags = 1;
}

static struct fgio_domain *charged_domain(struct fgio_queue_data *fq,
					  req_flags_t charged)
{
	struct fgio_domain *domain;

	list_for_each_entry(domain, &fq->domains, list)
		if (domain->charged == charged)
			return domain;
	return NULL;
}

static void release(struct fgio_domain *domain, enum fgio_class class)
{
	unsigned long flags;

	spin_lock_irqsave(&domain->lock, flags);
	fgio_admission_release(&domain->admission, class);
	wake_granted(domain);
	spin_unlock_irqrestore(&domain->lock, flags);
}

/* What limit_depth charged for this request is not wanted. */
void fgio_admission_return_charge(struct fgio_queue_data *fq,
				  struct request *rq)
{
	struct fgio_domain *domain;
	req_flags_t charged = rq->rq_flags & FGIO_RQF_CHARGED;

	rq->rq_flags &= ~FGIO_RQF_CHARGED;
	if (!charged)
		return;
	domain = charged_domain(fq, charged);
	if (!WARN_ON_ONCE(!domain))
		release(domain, fgio_class_of_opf(rq->cmd_flags));
}

/*
 * The slot has a request: it takes over the charge, or is charged now. A charge
 * elsewhere goes back: the tag came from another hardware queue in the end.
 */
void fgio_admission_prepare(struct fgio_slot *slot, struct request *rq)
{
	struct fgio_domain *domain = slot->domain;
	unsigned long flags;

	slot->charged_class = fgio_class_of_opf(rq->cmd_flags);
	if (likely(domain->charged &&
		   (rq->rq_flags & FGIO_RQF_CHARGED) == domain->charged)) {
		rq->rq_flags &= ~FGIO_RQF_CHARGED;
		return;
	}
	spin_lock_irqsave(&domain->lock, flags);
	fgio_admission_charge(&domain->admission, slot->charged_class);
	spin_unlock_irqrestore(&domain->lock, flags);
	fgio_admission_return_charge(domain->fq, rq);
}

/*
 * The class is known for good: a plug may have allocated the request for a bio
 * of the other class, and promotion changes it.
 */
void fgio_admission_settle(struct fgio_slot *slot, enum fgio_class class)
{
	struct fgio_domain *domain = slot->domain;
	unsigned long flags;

	if (likely(slot->charged_class == class))
		return;
	spin_lock_irqsave(&domain->lock, flags);
	fgio_admission_reclassify(&domain->admission, slot->charged_class,
				  class);
	slot->charged_class = class;
	wake_granted(domain);
	spin_unlock_irqrestore(&domain->lock, flags);
}

/* Context: any, interrupts included. */
void fgio_admission_finish(struct fgio_slot *slot)
{
	release(slot->domain, slot->charged_class);
}

/* The administrator chose other shares, or the queue has another depth. */
void fgio_admission_configure(struct fgio_queue_data *fq)
{
	struct fgio_domain *domain;
	unsigned long flags;

	list_for_each_entry(domain, &fq->domains, list) {
		spin_lock_irqsave(&domain->lock, flags);
		fgio_admission_set_shares(&domain->admission,
					  fq->critical_slots,
					  fq->noncritical_slots);
		wake_granted(domain);
		spin_unlock_irqrestore(&domain->lock, flags);
	}
}
