// SPDX-License-Identifier: GPL-2.0
/*
 * Flushes of a drive's volatile cache that foreground tasks wait for: bios with
 * REQ_PREFLUSH, of blkdev_issue_flush() or with the record of a journal's
 * commit. They bypass every elevator, so core's queue is notified. stamp.c sees
 * them begin:
 *
 *	block_rq_complete	their end; before that, the ends of the
 *				parts into which the block layer splits
 *				them
 *
 * Left out: the record of a commit that was submitted before a task was known
 * to wait for it.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "base/hook.h"
#include "base/mechanism.h"
#include "base/scale.h"
#include "block/elevator.h"
#include "block/flush.h"
#include "block/queues.h"

/* The bio is not followed, only compared. */
struct pending_flush {
	const struct bio *bio;
	u64 task;
	u64 began_ns;
	struct fgio_flush flush;
};

/*
 * Two flushes may share a place: then the end of the first one is not seen, and
 * the queue takes it to be over after the usual duration of a flush.
 */
static struct pending_flush pending[1 << FGIO_FLUSH_BITS];
static DEFINE_SPINLOCK(pending_lock);

/* Ends may stay unseen: one that began longer ago does not count as pending. */
#define PENDING_NS NSEC_PER_SEC

static void keep(const struct bio *bio, const struct fgio_flush *flush)
{
	unsigned long flags;

	spin_lock_irqsave(&pending_lock, flags);
	pending[hash_ptr(bio, FGIO_FLUSH_BITS)] = (struct pending_flush){
		.bio = bio,
		.task = (u64)current,
		.began_ns = ktime_get_ns(),
		.flush = *flush,
	};
	spin_unlock_irqrestore(&pending_lock, flags);
}

static bool take(const struct bio *bio, struct fgio_flush *flush)
{
	struct pending_flush *place = &pending[hash_ptr(bio, FGIO_FLUSH_BITS)];
	unsigned long flags;
	bool found;

	spin_lock_irqsave(&pending_lock, flags);
	found = place->bio == bio;
	if (found) {
		*flush = place->flush;
		place->bio = NULL;
	}
	spin_unlock_irqrestore(&pending_lock, flags);
	return found;
}

/* Return: whether its end is to be passed to the queue. */
static bool begins(const struct request_queue *q, struct fgio_flush *flush,
		   bool commits)
{
	struct fgio_queue_data *fq;

	rcu_read_lock();
	fq = fgio_queue_find(q);
	if (fq)
		fgio_queue_flush_begins(&fq->queue, flush, commits,
					ktime_get_ns());
	rcu_read_unlock();
	return fq;
}

/* The elevator may have changed meanwhile. */
static void ends(const struct request_queue *q, const struct fgio_flush *flush)
{
	struct fgio_queue_data *fq;
	u64 now_ns;

	rcu_read_lock();
	fq = fgio_queue_find(q);
	now_ns = ktime_get_ns();
	if (fq && fgio_queue_flush_ends(&fq->queue, flush, now_ns))
		fgio_elevator_run(fq, now_ns);
	rcu_read_unlock();
}

void fgio_flush_submitted(struct bio *bio)
{
	struct fgio_flush flush;

	if (fgio_mechanism_on(FGIO_MECHANISM_IO) &&
	    begins(bdev_get_queue(bio->bi_bdev), &flush, bio_has_data(bio)))
		keep(bio, &flush);
}

bool fgio_flush_is_pending(u64 task)
{
	u64 now_ns = ktime_get_ns();
	const struct pending_flush *flush;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&pending_lock, flags);
	for (flush = pending; flush < pending + ARRAY_SIZE(pending); flush++)
		found |= flush->bio && flush->task == task &&
			 now_ns - flush->began_ns < PENDING_NS;
	spin_unlock_irqrestore(&pending_lock, flags);
	return found;
}

static noinline void flush_completed(struct request *rq)
{
	struct fgio_flush flush;

	if (!(rq->rq_flags & RQF_FLUSH_SEQ) && take(rq->bio, &flush))
		ends(rq->q, &flush);
}

/* Called for every request of the system. Context: any. */
static void on_request_complete(void *data, struct request *rq,
				blk_status_t error, unsigned int bytes)
{
	const blk_opf_t flags = REQ_PREFLUSH | FGIO_REQ_CRITICAL;

	if (rq->bio && (rq->bio->bi_opf & flags) == flags)
		flush_completed(rq);
}

static struct fgio_hook hooks[] = {
	{
		.name = "block_rq_complete",
		.mechanism = FGIO_MECHANISM_IO,
		.tracepoint = on_request_complete,
	},
	{}
};

const struct fgio_layer fgio_flush_layer = {
	.name = "flush",
	.mechanism = FGIO_MECHANISM_IO,
	.hooks = hooks,
};
