// SPDX-License-Identifier: GPL-2.0
/*
 * The writers' room of each disk that is shared (core/room.h): its division among
 * groups, as they are looked at, and what a writer may have of it.
 *
 * Groups that dirty pages have a second place in the hierarchy of groups.c, among
 * those that do so, from which their parts come.
 */
#include <linux/backing-dev.h>
#include <linux/bio.h>
#include <linux/cgroup.h>
#include <linux/rculist.h>
#include <linux/timekeeping.h>
#include <linux/vmstat.h>

#include "base/setting.h"
#include "block/group.h"
#include "block/queues.h"
#include "block/room.h"
#include "uapi/fgio.h"

static unsigned int room_percent = FGIO_DEFAULT_dirty_room_percent;
FGIO_NUMBER_PARAM(dirty_room_percent, &room_percent);

/*
 * The kernel also excludes totalreserve_pages, which modules cannot read: about 1 %
 * of memory, of which a part counts.
 */
u64 fgio_dirtyable_pages(void)
{
	return global_zone_page_state(NR_FREE_PAGES) +
	       global_node_page_state(NR_INACTIVE_FILE) +
	       global_node_page_state(NR_ACTIVE_FILE);
}

u64 fgio_dirty_pages(void)
{
	return global_node_page_state(NR_FILE_DIRTY) +
	       global_node_page_state(NR_WRITEBACK);
}

/* --- its division --------------------------------------------------------- */

/* Pages of all groups that count are no others' pages. */
static u64 room_of(struct fgio_queue_data *fq, u64 held)
{
	u64 dirty = fgio_dirty_pages();

	if (!fq->shared)
		return 0;
	return fgio_room_pages(READ_ONCE(room_percent), fgio_dirtyable_pages(),
			       dirty - min(dirty, held));
}

/* Return: pages of groups that dirty some. Context: under RCU and look_lock. */
static u64 find_dirtying(struct fgio_queue_data *fq, u64 now_ns)
{
	struct fgio_share_tree *tree = &fq->dirty_tree;
	struct fgio_group *group;
	u64 held = 0;
	bool dirties;

	fgio_share_tree_begin(tree);
	list_for_each_entry_rcu(group, &fq->groups, link) {
		dirties = fgio_room_dirties(&group->room, now_ns);
		if (READ_ONCE(group->offline))
			fgio_share_node_leave(&group->dirty_node);
		else
			fgio_share_node_facts(tree, &group->dirty_node,
					      group->node.weight,
					      FGIO_SHARES_SCALE_ONE, dirties);
		if (dirties)
			held += fgio_room_held(&group->room);
	}
	list_for_each_entry_rcu(group, &fq->groups, link)
		fgio_share_node_count(&group->dirty_node);
	return held;
}

static void lend_room(struct fgio_queue_data *fq)
{
	unsigned int rounds = FGIO_ROOM_ROUNDS;
	struct fgio_group *group;
	bool lent = true;

	while (lent && rounds--) {
		lent = false;
		list_for_each_entry_rcu(group, &fq->groups, link)
			lent |= fgio_room_lend(&fq->room, &group->room);
	}
}

/* Whether no group dirties pages, nor had a part when the last look ended. */
static bool is_room_unused(const struct fgio_queue_data *fq, u64 now_ns)
{
	return !fq->room.groups &&
	       now_ns - min(now_ns, READ_ONCE(fq->dirtied_ns)) >
		       FGIO_ROOM_MEMORY_NS;
}

/* A group that came since the first pass takes part from the next look on. */
void fgio_divide_room(struct fgio_queue_data *fq)
{
	u64 now_ns = ktime_get_ns();
	struct fgio_group *group;
	u64 held;

	if (is_room_unused(fq, now_ns)) {
		fgio_room_begin(&fq->room, room_of(fq, 0));
		return;
	}
	held = find_dirtying(fq, now_ns);
	fgio_room_begin(&fq->room, room_of(fq, held));
	list_for_each_entry_rcu(group, &fq->groups, link) {
		fgio_share_node_settle(&fq->dirty_tree, &group->dirty_node);
		fgio_room_count(&fq->room, &group->room, group->dirty_node.own,
				now_ns);
	}
	lend_room(fq);
	list_for_each_entry_rcu(group, &fq->groups, link)
		fgio_room_settle(&fq->room, &group->room);
}

/* --- what a writer may have ----------------------------------------------- */

/*
 * Return: the shared queue of a writer; NULL: it has no limit, as the root has none,
 * nor writers of whose cgroup the disk knows no pages. Context: under RCU, as long as
 * the queue is used.
 */
static struct fgio_queue_data *shared_queue(struct bdi_writeback *wb,
					    const struct request_queue *q)
{
	struct cgroup_subsys_state *css = fgio_cgroup_of_wb(wb);
	struct fgio_queue_data *fq = NULL;

	if (q && css && css->parent)
		fq = fgio_queue_find(q);
	return fq && READ_ONCE(fq->shared) && READ_ONCE(fq->room.pages) ?
		       fq : NULL;
}

/* Its line is shared by all writers to the disk, so it is written rarely. */
static void note_dirtied(struct fgio_queue_data *fq, u64 now_ns)
{
	u64 noted_ns = READ_ONCE(fq->dirtied_ns);

	if (now_ns - min(now_ns, noted_ns) > FGIO_ROOM_QUIET_NS)
		WRITE_ONCE(fq->dirtied_ns, now_ns);
}

/* Context: under RCU. */
static struct fgio_group *group_of_wb(struct fgio_queue_data *fq,
				      const struct bdi_writeback *wb)
{
	return fgio_group_of_css(fq, fgio_cgroup_of_wb(wb));
}

u64 fgio_room_of_writer(struct bdi_writeback *wb, const struct request_queue *q,
			u64 held)
{
	u64 limit = FGIO_ROOM_UNLIMITED;
	struct fgio_queue_data *fq;
	struct fgio_group *group;
	u64 now_ns;
	u32 weight;

	rcu_read_lock();
	fq = shared_queue(wb, q);
	group = fq ? group_of_wb(fq, wb) : NULL;
	if (group) {
		now_ns = ktime_get_mono_fast_ns();
		note_dirtied(fq, now_ns);
		weight = READ_ONCE(group->dirty_node.own);
		fgio_room_dirty(&fq->room, &group->room, weight, held, now_ns);
		limit = fgio_room_limit(&fq->room, &group->room, weight);
	}
	rcu_read_unlock();
	return limit;
}

bool fgio_writer_may_go(struct bdi_writeback *wb, const struct request_queue *q,
			u64 limit, u64 held)
{
	struct fgio_queue_data *fq;
	struct fgio_group *group;
	bool may = true;

	if (limit == FGIO_ROOM_UNLIMITED)
		return true;
	rcu_read_lock();
	fq = shared_queue(wb, q);
	group = fq ? group_of_wb(fq, wb) : NULL;
	if (group)
		may = fgio_room_may_go(&group->room, limit, held,
				       ktime_get_mono_fast_ns());
	rcu_read_unlock();
	return may;
}

bool fgio_writer_lacks_group(struct bdi_writeback *wb, const struct request_queue *q)
{
	struct fgio_queue_data *fq;
	bool lack;

	rcu_read_lock();
	fq = shared_queue(wb, q);
	lack = fq && !group_of_wb(fq, wb);
	rcu_read_unlock();
	return lack;
}

/*
 * blk-cgroup makes what a cgroup needs on a disk for its first bio there. This
 * one goes nowhere. A queue that is found has its disk: it leaves the elevator
 * first, and waits for RCU.
 */
void fgio_make_writers_group(struct bdi_writeback *wb, const struct request_queue *q)
{
	struct fgio_queue_data *fq;
	struct bio bio;

	rcu_read_lock();
	fq = shared_queue(wb, q);
	if (fq && fq->q->disk && !group_of_wb(fq, wb)) {
		bio_init(&bio, fq->q->disk->part0, NULL, 0, 0);
		bio_associate_blkg_from_css(&bio, fgio_cgroup_of_wb(wb));
		bio_uninit(&bio);
	}
	rcu_read_unlock();
}
