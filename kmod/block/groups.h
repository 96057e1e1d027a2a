/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The groups of core/shares.h: cgroups, of which the block layer knows to which
 * one each bio belongs. A policy of blk-cgroup keeps a struct for each pair of
 * cgroup and queue under the elevator.
 */
#ifndef FGIO_GROUPS_H
#define FGIO_GROUPS_H

#include "block/group.h"
#include "block/queue.h"

/**
 * fgio_group_of() - the group to which a request is charged
 * @fq: its queue
 * @rq: a request with bios
 *
 * Return: NULL for a request of no group. Context: the queue's lock is held;
 * the group stays as long as the request is not told to core as having left.
 */
static inline struct fgio_share_group *fgio_group_of(struct fgio_queue_data *fq,
						     struct request *rq)
{
	struct blkcg_gq *blkg = rq->bio ? rq->bio->bi_blkg : NULL;
	struct blkg_policy_data *pd = fgio_pd_of(blkg);

	if (!pd || READ_ONCE(fgio_group_of_pd(pd)->fq) != fq)
		return NULL;
	return &fgio_group_of_pd(pd)->share;
}

/* The same of a bio, of whichever queue. Context: any, while the bio stays. */
struct fgio_share_group *fgio_group_of_bio(const struct bio *bio);

/**
 * fgio_group_of_waiter() - the group of a task that waits for I/O
 * @fq: the queue of the I/O
 * @task: the key of the task, which may be gone
 *
 * Return: NULL if it cannot be told, or the task's cgroup has not used the queue
 * yet. Context: the queue's lock is held, under which the group stays; it stays
 * as long as a request is charged to it.
 */
struct fgio_share_group *fgio_group_of_waiter(struct fgio_queue_data *fq,
					      u64 task);

/* Before other files find the queue. Context: any. */
void fgio_groups_init_queue(struct fgio_queue_data *fq);

/*
 * A queue comes under the elevator, or leaves it without requests. Context: as
 * for init_sched and exit_sched.
 */
void fgio_groups_add_queue(struct fgio_queue_data *fq);
void fgio_groups_remove_queue(struct fgio_queue_data *fq);

/*
 * The queue is to be shared no longer: core forgets its groups. Context: it has
 * no request, and gets none; may sleep.
 */
void fgio_groups_stop_sharing(struct fgio_queue_data *fq);

/**
 * fgio_groups_list() - the cgroups that have used a disk
 * @disk: the whole disk
 * @list: FGIO_IOC_SHARES: all but the address
 * @shares: memory for @list->capacity of them
 *
 * Return: 0; -ENODEV: no such disk is under the elevator. Context: may sleep.
 */
int fgio_groups_list(dev_t disk, struct fgio_share_list *list,
		     struct fgio_share *shares);

/**
 * fgio_groups_scale() - what the weight of a cgroup counts for
 * @scale: FGIO_IOC_SCALE_SHARE, within its bounds
 *
 * Return: 0; -ENOENT: no disk under the elevator knows the cgroup. Context: may
 * sleep.
 */
int fgio_groups_scale(const struct fgio_share_scale *scale);

/* Return: 0. Without the policy there are no shares, which is logged. */
int fgio_groups_init(void);
void fgio_groups_exit(void);

#endif /* FGIO_GROUPS_H */
