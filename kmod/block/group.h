/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What groups.c and room.c know of a cgroup on a queue. No other file looks
 * inside, but that each request finds its group inline (groups.h).
 */
#ifndef FGIO_GROUP_H
#define FGIO_GROUP_H

#include "compat/blkcg.h"
#include "core/room.h"
#include "core/shares.h"
#include "core/shares_tree.h"

struct fgio_queue_data;

/**
 * struct fgio_group - a cgroup on a queue
 * @pd: blk-cgroup's part
 * @link: in fgio_queue_data.groups, parents first; read under RCU
 * @reap: in reapable, once blk-cgroup let go of it
 * @rcu: frees it
 * @fq: the queue; NULL: it belongs to none. Written under groups_lock
 * @offline: the cgroup is gone: @pd.blkg may be gone, too
 * @number: those that come later have a greater one
 * @cgroup: the cgroup's id
 * @parent_cgroup: its parent's; 0: it is the root
 * @node: its place in the hierarchy, under the queue's look_lock, as is the next
 *	one. The parent's stays while this one is online
 * @seen: requests that it had dispatched at the last look
 * @scale: what its weight counts for...
 * @scale_until: ...before this time, in jiffies. Both under the queue's look_lock
 * @share: core's part
 * @dirty_node: as @node, among groups that dirty pages
 * @room: its part of the room
 */
struct fgio_group {
	struct blkg_policy_data pd;
	struct list_head link;
	struct list_head reap;
	struct rcu_head rcu;
	struct fgio_queue_data *fq;
	bool offline;
	u64 number;
	u64 cgroup;
	u64 parent_cgroup;
	struct fgio_share_node node;
	u64 seen;
	u32 scale;
	u64 scale_until;

	struct fgio_share_group share;
	struct fgio_share_node dirty_node;
	struct fgio_room_group room;
};

/* Its number is the place of @pd. */
extern struct blkcg_policy fgio_groups_policy;

static inline struct fgio_group *fgio_group_of_pd(struct blkg_policy_data *pd)
{
	return container_of(pd, struct fgio_group, pd);
}

/* @blkg: may be NULL, as what is returned may. */
static inline struct blkg_policy_data *fgio_pd_of(struct blkcg_gq *blkg)
{
	return blkg ? READ_ONCE(blkg->pd[fgio_groups_policy.plid]) : NULL;
}

/*
 * Return: NULL: the queue has none of the cgroup. Context: under RCU, which keeps
 * it; the caller keeps @css.
 */
struct fgio_group *fgio_group_of_css(struct fgio_queue_data *fq,
				     struct cgroup_subsys_state *css);

#endif /* FGIO_GROUP_H */
