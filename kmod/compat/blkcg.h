/* SPDX-License-Identifier: GPL-2.0 */
/* Differences in policies of blk-cgroup, writeback of cgroups, and the place of io.weight. */
#ifndef FGIO_COMPAT_BLKCG_H
#define FGIO_COMPAT_BLKCG_H

#include <linux/backing-dev-defs.h>
#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>

#include "compat/compat.h"

#ifdef FGIO_HAVE_BLKCG_DISK
static inline int fgio_blkcg_activate(struct request_queue *q,
				      const struct blkcg_policy *policy)
{
	return q->disk ? blkcg_activate_policy(q->disk, policy) : -ENODEV;
}

static inline void fgio_blkcg_deactivate(struct request_queue *q,
					 const struct blkcg_policy *policy)
{
	if (q->disk)
		blkcg_deactivate_policy(q->disk, policy);
}

/* The parameters of blkcg_policy.pd_alloc_fn, and the node that they name. */
#define FGIO_PD_ALLOC_PARAMETERS					\
	struct gendisk *disk, struct blkcg *blkcg, gfp_t gfp
#define FGIO_PD_ALLOC_NODE (disk->queue->node)
#else
static inline int fgio_blkcg_activate(struct request_queue *q,
				      const struct blkcg_policy *policy)
{
	return blkcg_activate_policy(q, policy);
}

static inline void fgio_blkcg_deactivate(struct request_queue *q,
					 const struct blkcg_policy *policy)
{
	blkcg_deactivate_policy(q, policy);
}

#define FGIO_PD_ALLOC_PARAMETERS					\
	gfp_t gfp, struct request_queue *q, struct blkcg *blkcg
#define FGIO_PD_ALLOC_NODE (q->node)
#endif

/*
 * io.weight as blk-iocost keeps it for a cgroup, for all devices together. @plid:
 * blk-iocost's number among the policies. Return: 0 where it keeps none. Context:
 * the cgroup stays.
 */
static inline u32 fgio_iocost_weight(struct blkcg *blkcg, int plid)
{
#ifdef FGIO_HAVE_IOCOST
	/* The scale of block/blk-iocost.c. */
	const u32 one = 1U << 16;
	struct blkcg_policy_data *cpd = READ_ONCE(blkcg->cpd[plid]);

	if (cpd)
		return READ_ONCE(container_of(cpd, struct ioc_cgrp,
					      cpd)->dfl_weight) / one;
#endif
	return 0;
}

/*
 * blk-iocost is the first policy of the kernel's own that keeps anything for each
 * cgroup, and the root's weight is never changed. Return: its number, or a
 * negative one where there is none.
 */
static inline int fgio_iocost_find(struct blkcg *root, u32 default_weight)
{
	int plid;

	for (plid = 0; plid < ARRAY_SIZE(root->cpd); plid++) {
		if (!root->cpd[plid])
			continue;
		return fgio_iocost_weight(root, plid) == default_weight ?
			       plid : -ENOENT;
	}
	return -ENOENT;
}

/*
 * The cgroup that a writeback belongs to, by the io controller. Return: NULL: the
 * disk's own, which has the pages of all that know no writeback of cgroups.
 * Context: the caller keeps @wb, and so the cgroup.
 */
static inline struct cgroup_subsys_state *
fgio_cgroup_of_wb(const struct bdi_writeback *wb)
{
#ifdef CONFIG_CGROUP_WRITEBACK
	return wb != &wb->bdi->wb ? wb->blkcg_css : NULL;
#else
	return NULL;
#endif
}

#endif /* FGIO_COMPAT_BLKCG_H */
