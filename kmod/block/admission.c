// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for a slot. The block layer calls limit_depth in the submitter's
 * context just before it allocates a scheduler tag, with q_usage_counter held,
 * and may sleep there; prepare_request follows in the same task once it has
 * the tag, and finish_request when the tag goes back (block/blk-mq.c).
 *
 * limit_depth charges a slot and says so to prepare_request through bits of
 * rq_flags. A sleeper gets its slot from the task that frees one, so nothing is
 * retried and no sleeper overtaken.
 */
#include <linux/backing-dev.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "base/trace.h"
#include "block/admission.h"
#include "block/queues.h"
#include "graph/layer.h"
#include "graph/wait.h"
#include "who/presence.h"

static int set_admission(const char *text, const struct kernel_param *param)
{
	int error = param_set_bool(text, param);

	if (!error)
		fgio_queues_reconsider();
	return error;
}

static const struct kernel_param_ops admission_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = set_admission,
	.get = param_get_bool,
};

static bool admission = true;
module_param_cb(admission, &admission_ops, &admission, 0644);
__MODULE_PARM_TYPE(admission, "bool");
MODULE_PARM_DESC(admission, "keep the slots of the two classes apart (Y)");

static bool is_on(const struct fgio_queue_data *fq)
{
	return READ_ONCE(admission) && !fgio_lets_through(fq);
}

/* What a task wants to submit: its last bio, when it is not critical. */
struct noted_bio {
	u64 task;
	u64 buffer;
	struct fgio_contents contents;
};

/*
 * limit_depth does not get the bio, so it is noted before. A task that moved to
 * another CPU in between has lost its note.
 */
static DEFINE_PER_CPU(struct noted_bio, noted_bios);

struct sleeper {
	struct fgio_waiter waiter;
	struct task_struct *task;
	struct hlist_node by_task;
	struct hlist_node by_object;
	struct noted_bio bio;
};

static u64 object_of(const struct noted_bio *bio)
{
	return bio->buffer ? bio->buffer : bio->contents.mapping;
}

static struct hlist_head *head_of(struct hlist_head *heads, u64 key)
{
	return &heads[hash_64(key, FGIO_SLEEPER_BITS)];
}

void fgio_admission_note_bio(const struct fgio_contents *contents, u64 buffer)
{
	*get_cpu_ptr(&noted_bios) = (struct noted_bio){
		.task = (u64)current,
		.buffer = buffer,
		.contents = *contents,
	};
	put_cpu_ptr(&noted_bios);
}

static void look_up_note(struct noted_bio *bio)
{
	const struct noted_bio *note = get_cpu_ptr(&noted_bios);

	if (note->task == (u64)current)
		*bio = *note;
	put_cpu_ptr(&noted_bios);
}

static bool critical_about(struct fgio_domain *domain)
{
	const struct fgio_queue *queue = &domain->fq->queue;
	u64 now_ns = fgio_queue_saw_critical(queue) ? ktime_get_ns() : 0;

	return fgio_queue_critical_about(queue, now_ns);
}

static void line_up(struct fgio_domain *domain, struct sleeper *sleeper,
		    enum fgio_line line)
{
	lockdep_assert_held(&domain->lock);
	fgio_admission_wait(&domain->admission, &sleeper->waiter, line);
	hlist_add_head(&sleeper->by_task,
		       head_of(domain->by_task, (u64)sleeper->task));
	hlist_add_head(&sleeper->by_object,
		       head_of(domain->by_object, object_of(&sleeper->bio)));
}

static void wake(struct fgio_waiter *waiter)
{
	struct sleeper *sleeper = container_of(waiter, struct sleeper, waiter);

	hlist_del(&sleeper->by_task);
	hlist_del(&sleeper->by_object);
	wake_up_process(sleeper->task);
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
	if (likely(!fgio_admission_has_waiters(&domain->admission)))
		return;
	about = critical_about(domain);
	while ((waiter = fgio_admission_grant(&domain->admission, about)))
		wake(waiter);
}

/* Sleepers woken in one hold of the lock where all are let in. */
#define WAKES_AT_ONCE 32

/* Whatever the limits. Return: whether some may be left. */
static bool let_some_in(struct fgio_domain *domain)
{
	struct fgio_waiter *waiter;
	unsigned int count;

	lockdep_assert_held(&domain->lock);
	for (count = 0; count < WAKES_AT_ONCE; count++) {
		waiter = fgio_admission_grant_anyway(&domain->admission);
		if (!waiter)
			return false;
		wake(waiter);
	}
	return true;
}

static void let_all_in(struct fgio_domain *domain)
{
	unsigned long flags;
	bool more;

	do {
		spin_lock_irqsave(&domain->lock, flags);
		more = let_some_in(domain);
		spin_unlock_irqrestore(&domain->lock, flags);
	} while (more);
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

static bool try(struct fgio_domain *domain, enum fgio_line line)
{
	bool about;

	if (likely(fgio_admission_is_sure(&domain->admission, line)))
		return fgio_admission_try_sure(&domain->admission, line);
	about = line == FGIO_LINE_NONCRITICAL && critical_about(domain);
	return fgio_admission_try(&domain->admission, line, about);
}

/*
 * Waits in line, behind the tasks that came first. Between the attempt before
 * and now all that would have woken us may have left: hence another one.
 *
 * Return: the line to which the slot is charged: @line, or the critical one
 * when the sleeper was promoted.
 */
static noinline enum fgio_line sleep_for_slot(struct fgio_domain *domain,
					      enum fgio_line line)
{
	enum fgio_class class = fgio_class_of_line(line);
	struct sleeper sleeper = { .task = current };
	u64 since_ns, waited_ns;
	u32 wait = 0;

	look_up_note(&sleeper.bio);
	spin_lock_irq(&domain->lock);
	line_up(domain, &sleeper, line);
	wake_granted(domain);
	spin_unlock_irq(&domain->lock);
	if (unlikely(!is_on(domain->fq)))
		let_all_in(domain);

	if (fgio_waits_matter())
		wait = fgio_wait_enter(FGIO_WAIT_ADMISSION, (u64)domain, class);
	since_ns = ktime_get_ns();
	sleep_until_granted(domain, &sleeper);
	waited_ns = ktime_get_ns() - since_ns;
	fgio_wait_leave(wait);

	spin_lock_irq(&domain->lock);
	domain->waited_ns[class] += waited_ns;
	spin_unlock_irq(&domain->lock);
	trace_fgio_admission_wait(domain->fq->q, class, waited_ns);
	return sleeper.waiter.line;
}

/* The flusher runs as a work item of the disk's own writeback. */
static bool is_flusher(struct request_queue *q)
{
	struct work_struct *work = current_work();

	return work && q->disk &&
	       work->func == q->disk->bdi->wb.dwork.work.func;
}

/*
 * Kernel threads carry the I/O of others (dm, md, loop, a journal), and
 * critical I/O may stand in line behind the one that sleeps. Writeback's own
 * threads carry no other task's.
 */
static noinline enum fgio_line line_of_kthread(struct request_queue *q)
{
	return is_flusher(q) ? FGIO_LINE_NONCRITICAL : FGIO_LINE_CARRIER;
}

static __always_inline enum fgio_line line_of(struct request_queue *q,
					      enum fgio_class class)
{
	if (class == FGIO_CRITICAL)
		return FGIO_LINE_CRITICAL;
	if (unlikely(current->flags & PF_KTHREAD))
		return line_of_kthread(q);
	return FGIO_LINE_NONCRITICAL;
}

/*
 * Memory reclaim and swapping must not sleep for a slot: anything may be
 * waiting for memory, the owners of the slots included.
 */
static bool may_not_wait(blk_opf_t opf)
{
	return opf & REQ_SWAP || current->flags & PF_MEMALLOC;
}

static bool is_full(struct fgio_domain *domain, enum fgio_line line)
{
	const struct fgio_admission *slots = &domain->admission;
	bool about = line == FGIO_LINE_NONCRITICAL && critical_about(domain);

	return READ_ONCE(slots->admitted[line]) >=
	       fgio_admission_limit(slots, line, about);
}

void fgio_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct fgio_domain *domain = data->hctx->sched_data;
	enum fgio_line line;

	if (data->rq_flags & FGIO_RQF_CHARGED || !domain->charged ||
	    !is_on(domain->fq))
		return;
	line = line_of(data->q, fgio_class_of_opf(opf));
	/* What is charged, or looked for room, is one request: no batch. */
	data->nr_tags = 1;
	if (data->flags & BLK_MQ_REQ_NOWAIT) {
		/* One usable tag is as near to "no" as a depth can say. */
		if (is_full(domain, line))
			data->shallow_depth = 1;
		return;
	}
	if (may_not_wait(opf))
		return;
	if (unlikely(!try(domain, line)))
		line = sleep_for_slot(domain, line);
	/* The request gets its class from here; the bio has the old one. */
	if (line == FGIO_LINE_CRITICAL)
		data->cmd_flags |= FGIO_REQ_CRITICAL;
	data->rq_flags |= domain->charged;
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

void fgio_admission_wake(struct fgio_domain *domain)
{
	unsigned long flags;

	spin_lock_irqsave(&domain->lock, flags);
	wake_granted(domain);
	spin_unlock_irqrestore(&domain->lock, flags);
}

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
		fgio_admission_give_back(domain,
					 line_of(rq->q,
						 fgio_class_of_opf(rq->cmd_flags)));
}

void fgio_admission_prepare(struct fgio_slot *slot, struct request *rq)
{
	struct fgio_domain *domain = slot->domain;

	slot->charged_line = line_of(rq->q, fgio_class_of_opf(rq->cmd_flags));
	if (likely(domain->charged &&
		   (rq->rq_flags & FGIO_RQF_CHARGED) == domain->charged)) {
		rq->rq_flags &= ~FGIO_RQF_CHARGED;
		return;
	}
	fgio_admission_charge(&domain->admission, slot->charged_line);
	fgio_admission_return_charge(domain->fq, rq);
}

void fgio_admission_move(struct fgio_slot *slot, enum fgio_class class)
{
	struct fgio_domain *domain = slot->domain;

	fgio_admission_reclassify(&domain->admission, slot->charged_line,
				  (enum fgio_line)class);
	slot->charged_line = class;
	if (fgio_admission_has_waiters(&domain->admission))
		fgio_admission_wake(domain);
}

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

void fgio_admission_reconsider(struct fgio_queue_data *fq)
{
	struct fgio_domain *domain;

	if (is_on(fq))
		return;
	list_for_each_entry(domain, &fq->domains, list)
		let_all_in(domain);
}

static bool promote(struct fgio_domain *domain, struct sleeper *sleeper)
{
	if (!fgio_admission_promote(&domain->admission, &sleeper->waiter))
		return false;
	domain->promoted++;
	trace_fgio_admission_promote(domain->fq->q, sleeper->task->pid);
	return true;
}

bool fgio_admission_promote_task(struct fgio_domain *domain, u64 task)
{
	struct hlist_head *head = head_of(domain->by_task, task);
	struct sleeper *sleeper;
	bool promoted = false;
	unsigned long flags;

	if (hlist_empty(head))
		return false;
	spin_lock_irqsave(&domain->lock, flags);
	hlist_for_each_entry(sleeper, head, by_task)
		if ((u64)sleeper->task == task)
			promoted |= promote(domain, sleeper);
	if (promoted)
		wake_granted(domain);
	spin_unlock_irqrestore(&domain->lock, flags);
	return promoted;
}

static bool carries(const struct noted_bio *bio,
		    const struct fgio_target *target)
{
	if (target->kind == FGIO_TARGET_PRIVATE)
		return bio->buffer == target->object;
	if (target->kind == FGIO_TARGET_XFS_LOG)
		return bio->contents.log_write;
	return target->kind == FGIO_TARGET_PAGES &&
	       bio->contents.mapping == target->object &&
	       bio->contents.first <= target->last &&
	       bio->contents.last >= target->first;
}

/* Return: how many of a chain of sleepers carry a target. */
static unsigned int promote_chain(struct fgio_domain *domain,
				  struct hlist_head *head,
				  const struct fgio_target *target,
				  bool may_promote, unsigned int *promoted)
{
	struct sleeper *sleeper;
	unsigned int count = 0;

	hlist_for_each_entry(sleeper, head, by_object) {
		if (!carries(&sleeper->bio, target))
			continue;
		count++;
		if (may_promote)
			*promoted += promote(domain, sleeper);
	}
	return count;
}

unsigned int fgio_admission_promote_owners(struct fgio_domain *domain,
					   const struct fgio_target *target,
					   bool may_promote,
					   unsigned int *promoted)
{
	struct hlist_head *first = domain->by_object;
	struct hlist_head *end = first + ARRAY_SIZE(domain->by_object);
	unsigned int count = 0;
	unsigned long flags;

	*promoted = 0;
	/* Log writes have no object of their own: they are in any chain. */
	if (target->kind != FGIO_TARGET_XFS_LOG) {
		first = head_of(domain->by_object, target->object);
		end = first + 1;
	}
	for (; first < end; first++) {
		if (hlist_empty(first))
			continue;
		spin_lock_irqsave(&domain->lock, flags);
		count += promote_chain(domain, first, target, may_promote,
				       promoted);
		if (*promoted)
			wake_granted(domain);
		spin_unlock_irqrestore(&domain->lock, flags);
	}
	return count;
}
