// SPDX-License-Identifier: GPL-2.0
/*
 * The groups of core/shares.h. blk-cgroup (block/blk-cgroup.c) allocates one
 * for each pair of cgroup and queue, when the cgroup does its first I/O there,
 * and lets go of it when the cgroup has gone and its bios have completed, or
 * the queue leaves the elevator.
 *
 * A group that was let go of may still have requests: those of which the bios
 * have just completed, and those that it pays for because a task of it waits
 * for them. A worker frees it when it has none.
 *
 * Before 6.3, blk-cgroup lets go of some groups after their queue has left the
 * elevator, or has another one: they belong to no queue then, and the module
 * waits for them before it unregisters the policy.
 *
 * Weights are those of io.weight, which blk-iocost keeps for each cgroup, used
 * or not. The same worker looks at them, and flattens the hierarchy: a cgroup
 * has its part of its parent's, among those of its siblings that did I/O since
 * the last look.
 */
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/atomic.h>
#include <linux/blk-cgroup.h>
#include <linux/cgroup.h>
#include <linux/module.h>
#include <linux/radix-tree.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "base/foreign.h"
#include "base/setting.h"
#include "block/groups.h"
#include "block/queues.h"
#include "block/share.h"
#include "compat/compat.h"

/* Time between looks at weights: while shares are off, and on. */
#define LOOK_OFF_MS 1000U
#define LOOK_ON_MS 50U

/* Of the worker's time, looks may take this part. */
#define LOOK_SHARE 50U

/* A group that has requests is tried again after this time. */
#define REAP_AGAIN_MS 20U

/* How blk-iocost scales weights (block/blk-iocost.c). */
#define IOCOST_WEIGHT_ONE (1U << 16)

/**
 * struct fgio_group - a cgroup on a queue
 * @pd: blk-cgroup's part
 * @link: in fgio_queue_data.groups, parents first; read under RCU
 * @reap: in reapable, once blk-cgroup let go of it
 * @rcu: frees it
 * @fq: the queue; NULL: it belongs to none. Written under groups_lock
 * @parent: the group of its parent on the queue, or NULL; it stays while this
 *	one is online
 * @offline: the cgroup is gone: @pd.blkg may be gone, too
 * @weight: io.weight
 * @part: weight in core
 * @siblings: sum of the weights of its children that ask, and its own
 * @online: it was at the last look; else @parent may be gone
 * @asks: it did I/O since the last look
 * @counted: it is in its parent's @siblings
 * @seen: requests that it had dispatched at the last look
 * @share: core's part
 */
struct fgio_group {
	struct blkg_policy_data pd;
	struct list_head link;
	struct list_head reap;
	struct rcu_head rcu;
	struct fgio_queue_data *fq;
	struct fgio_group *parent;
	bool offline;

	/* The worker's own. */
	u32 weight;
	u32 part;
	u64 siblings;
	bool online;
	bool asks;
	bool counted;
	u64 seen;

	struct fgio_share_group share;
};

static unsigned int shares = FGIO_DEFAULT_shares;
FGIO_NUMBER_PARAM(shares, &shares);

static struct blkcg_policy policy;
static bool registered;

/* Memory may wait for the I/O of the queues: it has a rescuer. */
static struct workqueue_struct *worker;

/* Protects lists of groups; irqsave, as q->queue_lock, in which it nests. */
static DEFINE_SPINLOCK(groups_lock);
static LIST_HEAD(reapable);

static atomic_t group_count = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(none_left);

static void reap(struct work_struct *unused);
static DECLARE_WORK(reap_work, reap);
static DECLARE_DELAYED_WORK(reap_again, reap);

static struct fgio_group *group_of(struct blkg_policy_data *pd)
{
	return container_of(pd, struct fgio_group, pd);
}

static struct blkg_policy_data *pd_of(struct blkcg_gq *blkg)
{
	return blkg ? READ_ONCE(blkg->pd[policy.plid]) : NULL;
}

/* --- weights -------------------------------------------------------------- */

#ifdef FGIO_HAVE_IOCOST
/*
 * blk-iocost's part of a cgroup, found once by the root's: it is the first
 * policy of the kernel's own that keeps anything for each cgroup.
 */
static int iocost_plid = -1;

static u32 iocost_weight(struct blkcg *blkcg, int plid)
{
	struct blkcg_policy_data *cpd = READ_ONCE(blkcg->cpd[plid]);
	u32 weight;

	if (!cpd)
		return 0;
	weight = READ_ONCE(container_of(cpd, struct ioc_cgrp, cpd)->dfl_weight);
	return weight / IOCOST_WEIGHT_ONE;
}

static void find_iocost(struct blkcg *root)
{
	int plid;

	for (plid = 0; plid < ARRAY_SIZE(root->cpd); plid++) {
		if (!root->cpd[plid])
			continue;
		if (iocost_weight(root, plid) == FGIO_SHARES_WEIGHT_DEFAULT)
			iocost_plid = plid;
		return;
	}
}

/* Context: under RCU; the group is online. */
static u32 weight_of(const struct fgio_group *group)
{
	u32 weight = iocost_plid < 0 ? 0 :
		iocost_weight(group->pd.blkg->blkcg, iocost_plid);

	return weight ? clamp(weight, FGIO_SHARES_WEIGHT_LEAST,
			      FGIO_SHARES_WEIGHT_MOST) :
			FGIO_SHARES_WEIGHT_DEFAULT;
}
#else
static void find_iocost(struct blkcg *root)
{
}

static u32 weight_of(const struct fgio_group *group)
{
	return FGIO_SHARES_WEIGHT_DEFAULT;
}
#endif

/*
 * The weight in core of a group and all below it. @more: what its parent's
 * @siblings lack. The parts of groups below the root do not depend on others:
 * one that begins to ask has its weight at once.
 */
static u32 part_of(const struct fgio_group *group, u32 more)
{
	const struct fgio_group *parent = group->parent;

	if (!parent || !parent->parent)
		return fgio_shares_weight(group->weight);
	return fgio_shares_flatten(parent->part, group->weight,
				   parent->siblings + more);
}

/* --- the policy's operations ---------------------------------------------- */

static struct blkg_policy_data *new_group(gfp_t gfp, int node)
{
	struct fgio_group *group = kzalloc_node(sizeof(*group), gfp, node);

	if (!group)
		return NULL;
	atomic_inc(&group_count);
	INIT_LIST_HEAD(&group->link);
	return &group->pd;
}

static void free_group(struct fgio_group *group)
{
	kfree_rcu(group, rcu);
	if (atomic_dec_and_test(&group_count))
		wake_up(&none_left);
}

#ifdef FGIO_HAVE_BLKCG_DISK
static struct blkg_policy_data *alloc_group(struct gendisk *disk,
					    struct blkcg *blkcg, gfp_t gfp)
{
	return new_group(gfp, disk->queue->node);
}
#else
static struct blkg_policy_data *
alloc_group(gfp_t gfp, struct request_queue *q, struct blkcg *blkcg)
{
	return new_group(gfp, q->node);
}
#endif

/*
 * blk-cgroup may have allocated the group while the queue was under the
 * elevator, and use it when it no longer is: then it belongs to no queue.
 * Context: q->queue_lock is held, interrupts are off.
 */
static void init_group(struct blkg_policy_data *pd)
{
	struct fgio_group *group = group_of(pd);
	struct blkg_policy_data *parent = pd_of(pd->blkg->parent);
	struct fgio_queue_data *fq;

	group->parent = parent ? group_of(parent) : NULL;
	group->weight = weight_of(group);
	group->part = part_of(group, group->weight);
	fgio_share_group_init(&group->share, group->part);
	rcu_read_lock();
	fq = fgio_queue_find(pd->blkg->q);
	spin_lock(&groups_lock);
	if (fq && !fq->groups_closed) {
		WRITE_ONCE(group->fq, fq);
		list_add_tail_rcu(&group->link, &fq->groups);
	}
	spin_unlock(&groups_lock);
	rcu_read_unlock();
}

/* Context: as init_group(). */
static void offline_group(struct blkg_policy_data *pd)
{
	WRITE_ONCE(group_of(pd)->offline, true);
}

/* Context: any; q->queue_lock may be held. */
static void let_go(struct blkg_policy_data *pd)
{
	struct fgio_group *group = group_of(pd);
	unsigned long flags;
	bool orphan;

	WRITE_ONCE(group->offline, true);
	spin_lock_irqsave(&groups_lock, flags);
	orphan = !group->fq;
	if (!orphan) {
		list_del_rcu(&group->link);
		list_add_tail(&group->reap, &reapable);
	}
	spin_unlock_irqrestore(&groups_lock, flags);
	if (orphan)
		free_group(group);
	else
		queue_work(worker, &reap_work);
}

static struct blkcg_policy policy = {
	.pd_alloc_fn = alloc_group,
	.pd_init_fn = init_group,
	.pd_offline_fn = offline_group,
	.pd_free_fn = let_go,
};

/* --- freeing groups ------------------------------------------------------- */

/* Return: whether it has requests, and stays. */
static bool is_needed(struct fgio_group *group)
{
	struct fgio_queue_data *fq = group->fq;
	bool busy;

	spin_lock(&fq->lock);
	busy = fgio_share_group_is_busy(&group->share);
	if (!busy)
		fgio_share_group_remove(&group->share);
	spin_unlock(&fq->lock);
	return busy;
}

static struct fgio_group *next_reapable(struct list_head *groups)
{
	struct fgio_group *group;

	spin_lock_irq(&groups_lock);
	group = list_first_entry_or_null(groups, struct fgio_group, reap);
	if (group)
		list_del_init(&group->reap);
	spin_unlock_irq(&groups_lock);
	return group;
}

static void put_back(struct list_head *needed)
{
	spin_lock_irq(&groups_lock);
	list_splice(needed, &reapable);
	spin_unlock_irq(&groups_lock);
}

/*
 * The queues stay, since their removal waits for this. Return: whether none is
 * left.
 */
static bool reap_groups(void)
{
	struct fgio_group *group;
	LIST_HEAD(needed);

	while ((group = next_reapable(&reapable))) {
		if (is_needed(group))
			list_add_tail(&group->reap, &needed);
		else
			free_group(group);
		cond_resched();
	}
	if (list_empty(&needed))
		return true;
	put_back(&needed);
	return false;
}

static void reap(struct work_struct *unused)
{
	if (!reap_groups())
		queue_delayed_work(worker, &reap_again,
				   msecs_to_jiffies(REAP_AGAIN_MS));
}

/*
 * The queue whose groups matter has no request, so none of them is left. Does
 * not wait for a worker to begin, which may take memory, and so this queue.
 */
static void reap_now(void)
{
	cancel_work_sync(&reap_work);
	cancel_delayed_work_sync(&reap_again);
	reap(NULL);
}

/* --- looking at weights --------------------------------------------------- */

/* Whether it did I/O since the last look, or has some. */
static bool asks(struct fgio_group *group)
{
	u64 seen = READ_ONCE(group->share.counters.dispatched);
	bool yes = seen != group->seen ||
		   fgio_share_group_is_busy(&group->share);

	group->seen = seen;
	return yes;
}

/* Return: whether the group has a weight of its own. */
static bool look_at(struct fgio_group *group)
{
	group->online = !READ_ONCE(group->offline);
	if (!group->online)
		return false;
	group->weight = weight_of(group);
	group->asks = asks(group);
	group->counted = false;
	/* Its own tasks are one more child. */
	group->siblings = group->asks ? group->weight : 0;
	return group->parent && group->weight != FGIO_SHARES_WEIGHT_DEFAULT;
}

/* Each group is counted once, with all above it. */
static void count_in_parents(struct fgio_group *group)
{
	while (group->parent && !group->counted) {
		group->counted = true;
		group->parent->siblings += group->weight;
		group = group->parent;
	}
}

/*
 * Its parent has its part already. The root's own tasks are one of its children.
 * Return: whether its weight changed.
 */
static bool set_part(struct fgio_queue_data *fq, struct fgio_group *group)
{
	u32 own;

	group->part = part_of(group, group->asks ? 0 : group->weight);
	own = group->parent ? fgio_shares_flatten(group->part, group->weight,
						  group->siblings) :
			      group->part;
	if (!group->asks || own == group->share.weight)
		return false;
	spin_lock(&fq->lock);
	fgio_share_group_set_weight(&group->share, own);
	spin_unlock(&fq->lock);
	return true;
}

/* Requests withheld under the old weights may go under the new ones. */
static void run_queue(struct fgio_queue_data *fq)
{
	fgio_queue_retry(&fq->queue);
	blk_mq_run_hw_queues(fq->q, true);
}

/* Return: whether some group has a weight of its own. Context: under RCU. */
static bool look_at_groups(struct fgio_queue_data *fq)
{
	struct fgio_group *group;
	bool differ = false;
	bool changed = false;

	list_for_each_entry_rcu(group, &fq->groups, link)
		differ |= look_at(group);
	if (!differ)
		return false;
	list_for_each_entry_rcu(group, &fq->groups, link)
		if (group->online && group->asks)
			count_in_parents(group);
	list_for_each_entry_rcu(group, &fq->groups, link)
		if (group->online)
			changed |= set_part(fq, group);
	if (changed && fq->shared)
		run_queue(fq);
	return true;
}

/* Time until the next look, when one took @took_ns. */
static unsigned long pause_after(const struct fgio_queue_data *fq, u64 took_ns)
{
	u64 least_ms = READ_ONCE(fq->shared) ? LOOK_ON_MS : LOOK_OFF_MS;

	return msecs_to_jiffies(max(least_ms, took_ns * LOOK_SHARE /
						      NSEC_PER_MSEC));
}

static void look(struct work_struct *work)
{
	struct fgio_queue_data *fq = container_of(to_delayed_work(work),
						  struct fgio_queue_data, look);
	u64 since_ns = ktime_get_ns();
	bool on;

	rcu_read_lock();
	on = look_at_groups(fq);
	rcu_read_unlock();
	queue_delayed_work(worker, &fq->look,
			   pause_after(fq, ktime_get_ns() - since_ns));
	fgio_share_switch(fq, on && READ_ONCE(shares) &&
				      !fgio_lets_through(fq));
}

/* --- queues --------------------------------------------------------------- */

struct fgio_share_group *fgio_group_of(struct fgio_queue_data *fq,
				       struct request *rq)
{
	struct blkcg_gq *blkg = rq->bio ? rq->bio->bi_blkg : NULL;
	struct blkg_policy_data *pd = pd_of(blkg);

	if (!pd || READ_ONCE(group_of(pd)->fq) != fq)
		return NULL;
	return &group_of(pd)->share;
}

/* Context: under RCU. */
static struct blkcg_gq *blkg_of(struct request_queue *q, u64 key)
{
	struct task_struct *task = fgio_task_at(key);
	struct cgroup_subsys_state *css;
	struct blkcg_gq *blkg;

	if (!task)
		return NULL;
	css = task_css(task, io_cgrp_id);
	blkg = radix_tree_lookup(&container_of(css, struct blkcg, css)->blkg_tree,
				 q->id);
	return blkg && blkg->q == q ? blkg : NULL;
}

/*
 * A group that is let go of is marked as offline before the worker looks, under
 * the queue's lock, whether it has requests: one that is not marked stays.
 */
struct fgio_share_group *fgio_group_of_waiter(struct fgio_queue_data *fq,
					      u64 task)
{
	struct fgio_share_group *found = NULL;
	struct blkg_policy_data *pd;

	lockdep_assert_held(&fq->lock);
	rcu_read_lock();
	pd = pd_of(blkg_of(fq->q, task));
	if (pd && READ_ONCE(group_of(pd)->fq) == fq &&
	    !READ_ONCE(group_of(pd)->offline))
		found = &group_of(pd)->share;
	rcu_read_unlock();
	return found;
}

struct fgio_share_group *fgio_group_of_bio(const struct bio *bio)
{
	struct blkg_policy_data *pd = pd_of(bio->bi_blkg);

	return pd ? &group_of(pd)->share : NULL;
}

#ifdef FGIO_HAVE_BLKCG_DISK
static int activate(struct request_queue *q)
{
	return q->disk ? blkcg_activate_policy(q->disk, &policy) : -ENODEV;
}

static void deactivate(struct request_queue *q)
{
	if (q->disk)
		blkcg_deactivate_policy(q->disk, &policy);
}
#else
static int activate(struct request_queue *q)
{
	return blkcg_activate_policy(q, &policy);
}

static void deactivate(struct request_queue *q)
{
	blkcg_deactivate_policy(q, &policy);
}
#endif

void fgio_groups_add_queue(struct fgio_queue_data *fq)
{
	int error;

	INIT_LIST_HEAD(&fq->groups);
	INIT_DELAYED_WORK(&fq->look, look);
	if (!registered || !READ_ONCE(shares))
		return;
	error = activate(fq->q);
	if (error) {
		pr_warn_ratelimited("no shares: the block layer's cgroups cannot be followed: error %d\n",
				    error);
		return;
	}
	fq->has_groups = true;
	queue_delayed_work(worker, &fq->look, msecs_to_jiffies(LOOK_OFF_MS));
}

void fgio_groups_stop_sharing(struct fgio_queue_data *fq)
{
	struct fgio_group *group;

	rcu_read_lock();
	list_for_each_entry_rcu(group, &fq->groups, link) {
		spin_lock(&fq->lock);
		fgio_share_group_remove(&group->share);
		spin_unlock(&fq->lock);
	}
	rcu_read_unlock();
	reap_now();
}

/* Groups of the queue of which blk-cgroup has not let go yet. */
static void orphan_groups(struct fgio_queue_data *fq)
{
	struct fgio_group *group, *next;

	list_for_each_entry_safe(group, next, &fq->groups, link) {
		list_del_rcu(&group->link);
		WRITE_ONCE(group->offline, true);
		WRITE_ONCE(group->fq, NULL);
	}
}

void fgio_groups_remove_queue(struct fgio_queue_data *fq)
{
	if (!fq->has_groups)
		return;
	cancel_delayed_work_sync(&fq->look);
	spin_lock_irq(&groups_lock);
	fq->groups_closed = true;
	spin_unlock_irq(&groups_lock);
	deactivate(fq->q);
	reap_now();
	spin_lock_irq(&groups_lock);
	orphan_groups(fq);
	spin_unlock_irq(&groups_lock);
	synchronize_rcu();
}

int fgio_groups_init(void)
{
	int error;

	worker = alloc_workqueue("fgio_groups", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!worker)
		return -ENOMEM;
	error = blkcg_policy_register(&policy);
	registered = !error;
	if (error)
		pr_warn("no shares: the block layer takes no more policies: error %d\n",
			error);
	else
		find_iocost(container_of(blkcg_root_css, struct blkcg, css));
	return 0;
}

void fgio_groups_exit(void)
{
	wait_event(none_left, !atomic_read(&group_count));
	if (registered)
		blkcg_policy_unregister(&policy);
	destroy_workqueue(worker);
}
