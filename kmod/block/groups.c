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
 * or not. The same worker looks at them, and hands them to core/shares_tree.h,
 * which flattens the hierarchy. A weight may count for more or less than that,
 * for a time (fgiod cache says so: core/cache_hits.h).
 */
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/atomic.h>
#include <linux/cgroup.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/radix-tree.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "base/foreign.h"
#include "base/setting.h"
#include "block/group.h"
#include "block/groups.h"
#include "block/queues.h"
#include "block/room.h"
#include "block/share.h"
#include "compat/blkcg.h"
#include "compat/compat.h"
#include "core/shares_tree.h"
#include "uapi/fgio.h"

/* Time between looks at weights: while shares are off, and on. */
#define LOOK_OFF_MS 1000U
#define LOOK_ON_MS 50U

/* A disk stays shared for this time after the last weight. */
#define LINGER_NS (10ULL * NSEC_PER_SEC)

/* Of the worker's time, looks may take this part. */
#define LOOK_SHARE 50U

/* Values of the parameter shares: off, by weights (see look()), always. */
#define SHARES_OFF 0U
#define SHARES_ALWAYS 2U

/* A group that has requests is tried again after this time. */
#define REAP_AGAIN_MS 20U

static unsigned int shares = FGIO_DEFAULT_shares;
FGIO_NUMBER_PARAM(shares, &shares);

static bool registered;

/* Memory may wait for the I/O of the queues: it has a rescuer. */
static struct workqueue_struct *worker;

/* Protects lists of groups; irqsave, as q->queue_lock, in which it nests. */
static DEFINE_SPINLOCK(groups_lock);
static LIST_HEAD(reapable);
static u64 last_number;

static atomic_t group_count = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(none_left);

/*
 * One at a time looks at groups that were let go of: a queue that goes waits
 * until no other has a group of it.
 */
static DEFINE_MUTEX(reap_lock);

static void reap(struct work_struct *unused);
static DECLARE_WORK(reap_work, reap);
static DECLARE_DELAYED_WORK(reap_again, reap);

/* --- weights -------------------------------------------------------------- */

/* blk-iocost's part of a cgroup; negative: the kernel has none. */
static int iocost_plid = -ENOENT;

/* Context: under RCU; the group is online. */
static u32 weight_of(const struct fgio_group *group)
{
	u32 weight = iocost_plid < 0 ? 0 :
		fgio_iocost_weight(group->pd.blkg->blkcg, iocost_plid);

	return weight ? clamp(weight, FGIO_SHARES_WEIGHT_LEAST,
			      FGIO_SHARES_WEIGHT_MOST) :
			FGIO_SHARES_WEIGHT_DEFAULT;
}

/* Context: look_lock is held. */
static u32 scale_of(const struct fgio_group *group)
{
	return time_before64(get_jiffies_64(), group->scale_until) ?
		       group->scale : FGIO_SHARES_SCALE_ONE;
}

/* --- the policy's operations ---------------------------------------------- */

static struct blkg_policy_data *alloc_group(FGIO_PD_ALLOC_PARAMETERS)
{
	struct fgio_group *group = kzalloc_node(sizeof(*group), gfp,
						FGIO_PD_ALLOC_NODE);

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

static u64 cgroup_of(const struct blkcg_gq *blkg)
{
	return blkg ? cgroup_id(blkg->blkcg->css.cgroup) : 0;
}

/*
 * blk-cgroup may have allocated the group while the queue was under the
 * elevator, and use it when it no longer is: then it belongs to no queue.
 * Context: q->queue_lock is held, interrupts are off.
 */
static void init_group(struct blkg_policy_data *pd)
{
	struct fgio_group *group = fgio_group_of_pd(pd);
	struct blkg_policy_data *parent = fgio_pd_of(pd->blkg->parent);
	struct fgio_group *above = parent ? fgio_group_of_pd(parent) : NULL;
	struct fgio_queue_data *fq;

	fgio_share_node_init(&group->node,
			     above ? &above->node : NULL, weight_of(group));
	fgio_share_node_init(&group->dirty_node,
			     above ? &above->dirty_node : NULL,
			     group->node.weight);
	fgio_share_group_init(&group->share, group->node.own);
	group->cgroup = cgroup_of(pd->blkg);
	group->parent_cgroup = cgroup_of(pd->blkg->parent);
	rcu_read_lock();
	fq = fgio_queue_find(pd->blkg->q);
	spin_lock(&groups_lock);
	if (fq && !fq->groups_closed) {
		WRITE_ONCE(group->fq, fq);
		group->number = ++last_number;
		list_add_tail_rcu(&group->link, &fq->groups);
	}
	spin_unlock(&groups_lock);
	rcu_read_unlock();
}

/* Context: as init_group(). */
static void offline_group(struct blkg_policy_data *pd)
{
	WRITE_ONCE(fgio_group_of_pd(pd)->offline, true);
}

/* Context: any; q->queue_lock may be held. */
static void let_go(struct blkg_policy_data *pd)
{
	struct fgio_group *group = fgio_group_of_pd(pd);
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

struct blkcg_policy fgio_groups_policy = {
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
	bool all_freed;

	mutex_lock(&reap_lock);
	all_freed = reap_groups();
	mutex_unlock(&reap_lock);
	if (!all_freed)
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

static void take_facts(struct fgio_share_tree *tree, struct fgio_group *group)
{
	if (READ_ONCE(group->offline))
		fgio_share_node_leave(&group->node);
	else
		fgio_share_node_facts(tree, &group->node, weight_of(group),
				      scale_of(group), asks(group));
}

/* Return: whether the weight of a group that asks changed. */
static bool apply(struct fgio_queue_data *fq, struct fgio_group *group)
{
	if (group->node.own == group->share.weight)
		return false;
	spin_lock(&fq->lock);
	fgio_share_group_set_weight(&group->share, group->node.own);
	spin_unlock(&fq->lock);
	return group->node.asks;
}

/* Requests withheld under the old weights may go under the new ones. */
static void run_queue(struct fgio_queue_data *fq)
{
	fgio_queue_retry(&fq->queue);
	blk_mq_run_hw_queues(fq->q, true);
}

/*
 * Parents are first in the list. A group that came since the first pass takes
 * part from the next look on.
 * Return: whether some group has a weight of its own. Context: under RCU and
 * look_lock.
 */
static bool look_at_groups(struct fgio_queue_data *fq)
{
	struct fgio_share_tree *tree = &fq->group_tree;
	struct fgio_group *group;
	bool changed = false;

	fgio_share_tree_begin(tree);
	list_for_each_entry_rcu(group, &fq->groups, link)
		take_facts(tree, group);
	list_for_each_entry_rcu(group, &fq->groups, link)
		fgio_share_node_count(&group->node);
	list_for_each_entry_rcu(group, &fq->groups, link) {
		if (!group->node.present)
			continue;
		fgio_share_node_settle(tree, &group->node);
		changed |= apply(fq, group);
	}
	if (changed && fq->shared)
		run_queue(fq);
	return tree->own_weights;
}

/* Time until the next look, when one took @took_ns. */
static unsigned long pause_after(const struct fgio_queue_data *fq, u64 took_ns)
{
	u64 least_ms = READ_ONCE(fq->shared) ? LOOK_ON_MS : LOOK_OFF_MS;

	return msecs_to_jiffies(max(least_ms, took_ns * LOOK_SHARE /
						      NSEC_PER_MSEC));
}

/*
 * A cgroup that has never used the disk does not make it shared. Jobs with a
 * weight come and go, and a user may change weights all the time, but the disk
 * has to be drained each time that it is shared no more.
 */
static bool wants_shares(struct fgio_queue_data *fq, bool own_weights)
{
	unsigned int mode = READ_ONCE(shares);
	u64 now_ns = ktime_get_ns();

	if (own_weights)
		fq->own_weights_ns = now_ns;
	if (fq->shared && now_ns - fq->own_weights_ns < LINGER_NS)
		own_weights = true;
	return mode == SHARES_ALWAYS || (mode != SHARES_OFF && own_weights);
}

static void look(struct work_struct *work)
{
	struct fgio_queue_data *fq = container_of(to_delayed_work(work),
						  struct fgio_queue_data, look);
	u64 since_ns = ktime_get_ns();
	bool own_weights;

	mutex_lock(&fq->look_lock);
	rcu_read_lock();
	own_weights = look_at_groups(fq);
	if (fq->shared || fq->room.pages)
		fgio_divide_room(fq);
	rcu_read_unlock();
	mutex_unlock(&fq->look_lock);
	queue_delayed_work(worker, &fq->look,
			   pause_after(fq, ktime_get_ns() - since_ns));
	fgio_share_switch(fq, wants_shares(fq, own_weights) &&
				      !fgio_lets_through(fq));
}

/* --- queues --------------------------------------------------------------- */

struct fgio_group *fgio_group_of_css(struct fgio_queue_data *fq,
				     struct cgroup_subsys_state *css)
{
	struct blkcg *blkcg = container_of(css, struct blkcg, css);
	struct blkcg_gq *blkg = radix_tree_lookup(&blkcg->blkg_tree, fq->q->id);
	struct blkg_policy_data *pd;
	struct fgio_group *group;

	pd = blkg && blkg->q == fq->q ? fgio_pd_of(blkg) : NULL;
	group = pd ? fgio_group_of_pd(pd) : NULL;
	return group && READ_ONCE(group->fq) == fq ? group : NULL;
}

/*
 * A group that is let go of is marked as offline before the worker looks, under
 * the queue's lock, whether it has requests: one that is not marked stays.
 */
struct fgio_share_group *fgio_group_of_waiter(struct fgio_queue_data *fq,
					      u64 task)
{
	struct fgio_group *group = NULL;
	struct task_struct *waiter;

	lockdep_assert_held(&fq->lock);
	rcu_read_lock();
	waiter = fgio_task_at(task);
	if (waiter)
		group = fgio_group_of_css(fq, task_css(waiter, io_cgrp_id));
	if (group && READ_ONCE(group->offline))
		group = NULL;
	rcu_read_unlock();
	return group ? &group->share : NULL;
}

struct fgio_share_group *fgio_group_of_bio(const struct bio *bio)
{
	struct blkg_policy_data *pd = fgio_pd_of(bio->bi_blkg);

	return pd ? &fgio_group_of_pd(pd)->share : NULL;
}

void fgio_groups_init_queue(struct fgio_queue_data *fq)
{
	INIT_LIST_HEAD(&fq->groups);
	INIT_DELAYED_WORK(&fq->look, look);
	mutex_init(&fq->look_lock);
}

void fgio_groups_add_queue(struct fgio_queue_data *fq)
{
	int error;

	if (!registered || READ_ONCE(shares) == SHARES_OFF)
		return;
	error = fgio_blkcg_activate(fq->q, &fgio_groups_policy);
	if (error) {
		pr_warn_ratelimited("no shares: the block layer's cgroups cannot be followed: error %d\n",
				    error);
		return;
	}
	WRITE_ONCE(fq->has_groups, true);
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
	fgio_share_remove_queue(fq);
	spin_lock_irq(&groups_lock);
	fq->groups_closed = true;
	spin_unlock_irq(&groups_lock);
	fgio_blkcg_deactivate(fq->q, &fgio_groups_policy);
	/* First: what is let go of afterwards has no queue to be reaped from. */
	spin_lock_irq(&groups_lock);
	orphan_groups(fq);
	spin_unlock_irq(&groups_lock);
	reap_now();
	synchronize_rcu();
}

/* --- the listing ---------------------------------------------------------- */

struct listing {
	dev_t disk;
	struct fgio_share_list *list;
	struct fgio_share *shares;
	bool found;
};

/* Context: under RCU and look_lock. */
static void describe(struct fgio_queue_data *fq, struct fgio_group *group,
		     struct fgio_share *entry)
{
	const struct fgio_share_group *share = &group->share;

	*entry = (struct fgio_share){
		.cgroup = group->cgroup,
		.parent = group->parent_cgroup,
		.weight = group->node.weight,
		.guarantee = fgio_share_node_guarantee(&fq->group_tree,
						       &group->node),
		.flags = group->node.asks ? FGIO_SHARE_ASKS : 0,
		.scale = group->node.scale,
	};
	spin_lock(&fq->lock);
	entry->requests = share->counters.dispatched;
	entry->sectors = share->counters.sectors;
	entry->drive_ns = share->counters.charged_ns;
	entry->held = share->counters.held;
	entry->lag_ns = fgio_shares_lag_ns(share);
	entry->queued = share->queued[FGIO_CRITICAL] +
			share->queued[FGIO_NONCRITICAL];
	entry->in_drive = READ_ONCE(share->in_device);
	spin_unlock(&fq->lock);
}

/* Groups are in the order of their numbers. Context: as describe(). */
static void list_groups(struct fgio_queue_data *fq,
			struct fgio_share_list *list, struct fgio_share *shares)
{
	struct fgio_group *group;

	list_for_each_entry_rcu(group, &fq->groups, link) {
		if (list->count == list->capacity)
			return;
		if (group->number <= list->cursor ||
		    READ_ONCE(group->offline))
			continue;
		describe(fq, group, &shares[list->count++]);
		list->cursor = group->number;
	}
}

static void list_queue(struct fgio_queue_data *fq, void *data)
{
	struct listing *listing = data;
	struct fgio_share_list *list = listing->list;

	if (!fq->q->disk || disk_devt(fq->q->disk) != listing->disk)
		return;
	listing->found = true;
	mutex_lock(&fq->look_lock);
	list->state = (READ_ONCE(fq->has_groups) ? FGIO_SHARES_FOLLOWED : 0) |
		      (READ_ONCE(fq->shared) ? FGIO_SHARES_ON : 0);
	list->groups = fq->group_tree.groups;
	list->asking = fq->group_tree.asking;
	rcu_read_lock();
	list_groups(fq, list, listing->shares);
	rcu_read_unlock();
	mutex_unlock(&fq->look_lock);
}

int fgio_groups_list(dev_t disk, struct fgio_share_list *list,
		     struct fgio_share *shares)
{
	struct listing listing = {
		.disk = disk,
		.list = list,
		.shares = shares,
	};

	list->count = 0;
	fgio_visit_queues(list_queue, &listing);
	return listing.found ? 0 : -ENODEV;
}

/* --- scales --------------------------------------------------------------- */

struct scaling {
	const struct fgio_share_scale *scale;
	bool found;
};

static void scale_on_queue(struct fgio_queue_data *fq, void *data)
{
	struct scaling *scaling = data;
	const struct fgio_share_scale *scale = scaling->scale;
	struct fgio_group *group;

	mutex_lock(&fq->look_lock);
	rcu_read_lock();
	list_for_each_entry_rcu(group, &fq->groups, link) {
		if (group->cgroup != scale->cgroup)
			continue;
		group->scale = scale->scale;
		group->scale_until = get_jiffies_64() +
				     msecs_to_jiffies(scale->hold_ms);
		scaling->found = true;
	}
	rcu_read_unlock();
	mutex_unlock(&fq->look_lock);
}

int fgio_groups_scale(const struct fgio_share_scale *scale)
{
	struct scaling scaling = { .scale = scale };

	fgio_visit_queues(scale_on_queue, &scaling);
	return scaling.found ? 0 : -ENOENT;
}

int fgio_groups_init(void)
{
	int error;

	worker = alloc_workqueue("fgio_groups", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!worker)
		return -ENOMEM;
	error = blkcg_policy_register(&fgio_groups_policy);
	registered = !error;
	if (error)
		pr_warn("no shares: the block layer takes no more policies: error %d\n",
			error);
	else
		iocost_plid = fgio_iocost_find(container_of(blkcg_root_css,
							    struct blkcg, css),
					       FGIO_SHARES_WEIGHT_DEFAULT);
	return 0;
}

void fgio_groups_exit(void)
{
	wait_event(none_left, !atomic_read(&group_count));
	if (registered)
		blkcg_policy_unregister(&fgio_groups_policy);
	/* The last free_group() may still be in its last instructions. */
	synchronize_rcu_tasks();
	destroy_workqueue(worker);
}
