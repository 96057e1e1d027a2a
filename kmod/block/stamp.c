// SPDX-License-Identifier: GPL-2.0
/*
 * The class of each I/O, decided in the submitter's context and carried by the
 * bio from there on: at block_bio_queue (block/blk-core.c), which comes after
 * the kernel set the priority and before merging and admission.
 *
 * A bio beyond a limit of its cgroup (io.max) waits before that, and a worker
 * takes it to block_bio_queue: its class is decided at __blk_throtl_bio
 * (block/blk-throttle.c), which only bios of limited cgroups reach.
 */
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/ioprio.h>
#include <linux/iocontext.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/tracepoint.h>

#include "base/hook.h"
#include "base/mechanism.h"
#include "base/setting.h"
#include "base/tracepoint.h"
#include "base/waker.h"
#include "block/admission.h"
#include "block/awaited.h"
#include "block/flush.h"
#include "block/groups.h"
#include "block/io_target.h"
#include "block/originals.h"
#include "block/queues.h"
#include "block/stamp.h"
#include "block/upkeep.h"
#include "graph/wait.h"
#include "who/commit.h"
#include "who/foreground.h"
#include "who/presence.h"
#include "who/tag.h"

static struct tracepoint *bio_queue_tracepoint;

static bool stamp = FGIO_DEFAULT_stamp;
module_param(stamp, bool, 0644);

/*
 * Where the submitter has no I/O priority, the kernel derives one from its nice
 * value or scheduling policy, which were not set for its I/O. A priority that
 * differs from the derived one belongs to the I/O itself (io_uring, libaio).
 */
static bool ioprio_is_chosen(u16 ioprio)
{
	struct io_context *context = current->io_context;

	if (context && IOPRIO_PRIO_CLASS(context->ioprio) != IOPRIO_CLASS_NONE)
		return true;
	return ioprio != IOPRIO_PRIO_VALUE(task_nice_ioclass(current),
					   task_nice_ioprio(current));
}

/* The class by the submitter, or as decided for an upper device. */
static enum fgio_class classify(enum fgio_thread_tag tag, u16 ioprio)
{
	enum fgio_class class = fgio_classify(tag, ioprio, true);

	if (class == FGIO_NONCRITICAL || tag != FGIO_THREAD_UNTAGGED ||
	    ioprio & FGIO_IOPRIO_CRITICAL)
		return class;
	if (!fgio_ioprio_is_trusted(ioprio) || !ioprio_is_chosen(ioprio))
		return FGIO_NONCRITICAL;
	if (!(current->flags & PF_KTHREAD))
		fgio_saw_foreground_ioprio();
	return class;
}

/*
 * Record the submitter, so that it can be boosted if a foreground task later
 * waits for this I/O, or for I/O that it has yet to submit. Return: whether one
 * waits for it by now.
 */
static noinline bool note_noncritical(struct bio *bio)
{
	struct fgio_io_target target;
	u64 buffer;

	if (!in_task() || !fgio_mechanism_on(FGIO_MECHANISM_IO))
		return false;
	buffer = fgio_buffer_of_bio(bio);
	fgio_io_target_of_bio(&target, bio);
	fgio_admission_note_bio(bio, &target, buffer);
	/* An array's thread submits what others wrote: it is not in the way. */
	if (target.mapping && !target.for_others)
		fgio_waker_note(target.mapping, true);
	if (buffer)
		fgio_waker_note(buffer, true);
	return fgio_is_awaited(&target, bio);
}

/*
 * A bio that a user's task submits itself, not a driver on its behalf, has no
 * mark of fgio yet: if it has one, user space put it there.
 */
static bool marks_are_forged(void)
{
	return in_task() && !current->bio_list &&
	       !(current->flags & PF_KTHREAD);
}

static void note_critical(u64 address, struct bio *bio, void *critical)
{
	if (bio->bi_opf & FGIO_REQ_CRITICAL)
		*(bool *)critical = true;
}

/* Threads of the kernel that submit I/O for others (originals.h). */
static bool is_for_critical(const struct bio *bio)
{
	bool critical = false;
	struct fgio_originals_look look = {
		.visit = note_critical,
		.data = &critical,
	};

	return current->flags & PF_KTHREAD &&
	       fgio_originals_visit((u64)bio, bio, &look) && critical;
}

/*
 * I/O of a task that a foreground task waits for is critical, even if the task
 * is tagged as background. Such a boost ends soon: the bio is noted as if there
 * were none.
 */
static enum fgio_class decide(struct bio *bio)
{
	enum fgio_class class = classify(fgio_tag_of_current(),
					 bio->bi_ioprio);

	if (class == FGIO_CRITICAL || is_for_critical(bio))
		return FGIO_CRITICAL;
	if (!fgio_waits_matter())
		return class;
	if (note_noncritical(bio) || fgio_task_is_boosted((u64)current) ||
	    (in_task() && fgio_current_commits()))
		return FGIO_CRITICAL;
	return class;
}

/* Idempotent. Return: the class. */
static enum fgio_class stamp_bio(struct bio *bio)
{
	enum fgio_class class;
	u16 ioprio;

	if (marks_are_forged())
		bio->bi_ioprio = fgio_unmark_ioprio(bio->bi_ioprio);
	if (!READ_ONCE(stamp))
		return FGIO_NONCRITICAL;
	class = decide(bio);
	ioprio = fgio_stamp_ioprio(class, bio->bi_ioprio);
	if (ioprio != bio->bi_ioprio)
		bio->bi_ioprio = ioprio;
	if (class == FGIO_CRITICAL) {
		bio->bi_opf |= FGIO_REQ_CRITICAL;
		fgio_note_critical_to_stacked(bio);
	}
	return class;
}

/*
 * Without foreground tasks and tags, an I/O with a plain priority is
 * non-critical and stays as it is: stamp_bio() could not change it.
 */
static bool needs_no_stamp(const struct bio *bio)
{
	return !fgio_waits_matter() && !fgio_tag_count() &&
	       fgio_ioprio_is_plain(bio->bi_ioprio);
}

static void note_group(struct bio *bio)
{
	if (unlikely(fgio_slots_are_scarce()) && in_task())
		fgio_admission_note_group(fgio_group_of_bio(bio));
}

bool fgio_stamp_again(struct bio *bio)
{
	note_group(bio);
	return !needs_no_stamp(bio) && stamp_bio(bio) == FGIO_CRITICAL;
}

static void on_bio_queue(void *data, struct bio *bio)
{
	note_group(bio);
	if (likely(needs_no_stamp(bio)))
		return;
	if (fgio_queues_exist() && stamp_bio(bio) == FGIO_CRITICAL &&
	    bio->bi_opf & REQ_PREFLUSH && fgio_waits_matter())
		fgio_flush_submitted(bio);
}

/* After this the bio passes, or waits for a worker. */
static int on_throttle(struct kprobe *probe, struct pt_regs *regs)
{
	if (fgio_queues_exist())
		stamp_bio((struct bio *)regs_get_kernel_argument(regs, 0));
	return 0;
}

static struct kprobe throttle_probe = {
	.symbol_name = "__blk_throtl_bio",
	.pre_handler = on_throttle,
};
static bool throttle_attached;

void fgio_stamp_critical(struct request *rq)
{
	struct bio *bio;

	rq->cmd_flags |= FGIO_REQ_CRITICAL;
	fgio_rq_or_ioprio(rq, FGIO_IOPRIO_CRITICAL);
	__rq_for_each_bio(bio, rq) {
		bio->bi_opf |= FGIO_REQ_CRITICAL;
		bio->bi_ioprio |= FGIO_IOPRIO_CRITICAL;
	}
}

static void attach_throttle(void)
{
	int error;

	if (!IS_ENABLED(CONFIG_BLK_DEV_THROTTLING))
		return;
	error = fgio_hook_objection(throttle_probe.symbol_name);
	if (!error)
		error = register_kprobe(&throttle_probe);
	throttle_attached = !error;
	if (error)
		pr_warn("cannot attach to %s: error %d; I/O that io.max delays counts as its worker's\n",
			throttle_probe.symbol_name, error);
}

bool fgio_stamp_is_attached(void)
{
	return bio_queue_tracepoint;
}

bool fgio_stamp_init(void)
{
	struct tracepoint *tp = fgio_find_tracepoint("block_bio_queue");

	if (tp && !tracepoint_probe_register(tp, on_bio_queue, NULL))
		bio_queue_tracepoint = tp;
	if (bio_queue_tracepoint)
		attach_throttle();
	return bio_queue_tracepoint;
}

void fgio_stamp_exit(void)
{
	if (!bio_queue_tracepoint)
		return;
	if (throttle_attached)
		unregister_kprobe(&throttle_probe);
	tracepoint_probe_unregister(bio_queue_tracepoint, on_bio_queue, NULL);
	tracepoint_synchronize_unregister();
}
