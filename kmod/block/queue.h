/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types that the files of block/ share: a request queue under the elevator, its
 * tag sets, and the slot of each tag. An I/O passes the files in this order:
 *
 *	stamp.c      the class of each I/O, at block_bio_queue
 *	split.c      the longest that a request may be, as it is made
 *	admission.c  waiting for a slot, at limit_depth
 *	elevator.c   merging, order, and dispatch to the device
 *	hw_queue.c   the same for a device with many hardware queues
 *	request_order.c  which user's request it serves
 *	drive.c      hardware priority, where the drive has it
 *
 * io_target.c finds the pages and buffers that it carries, promote.c makes it
 * critical later, flush.c sees flushes, which bypass the elevator. queues.c
 * lists the queues, lifetime.c makes and removes them.
 */
#ifndef FGIO_BLOCK_QUEUE_H
#define FGIO_BLOCK_QUEUE_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "base/scale.h"
#include "block/io_target.h"
#include "compat/compat.h"
#include "core/admission.h"
#include "core/admission_groups.h"
#include "core/class.h"
#include "core/drive.h"
#include "core/hw_queue.h"
#include "core/queue.h"
#include "core/room.h"
#include "core/shares_tree.h"
#include "core/watchdog.h"
#include "uapi/fgio.h"

/*
 * The class travels from block_bio_queue to limit_depth and insert in a bit of
 * bi_opf that no kernel uses (the build checks that), and across stacked
 * devices, some of which build bi_opf anew, in bi_ioprio.
 */
#define FGIO_REQ_CRITICAL ((__force blk_opf_t)(1U << 31))

static inline enum fgio_class fgio_class_of_opf(blk_opf_t opf)
{
	return opf & FGIO_REQ_CRITICAL ? FGIO_CRITICAL : FGIO_NONCRITICAL;
}

/*
 * In rq_flags between limit_depth and prepare_request, and never outside:
 * number from 1 of the tag set that charged a slot for this allocation; 0 when
 * none did. The block layer may move an allocation to another hardware queue
 * while it sleeps for a tag. The build checks that the bits are unused.
 */
#define FGIO_RQF_CHARGED_SHIFT 24
#define FGIO_CHARGED_MAX 127U
#define FGIO_RQF_CHARGED \
	((__force req_flags_t)(FGIO_CHARGED_MAX << FGIO_RQF_CHARGED_SHIFT))

/**
 * struct fgio_slot - the request of one scheduler tag
 * @request: core's view of it
 * @rq: the request that has the tag now
 * @tag_set: the tag set that the slot belongs to
 * @submitter: the task that allocated it; a number, not to be followed
 * @by_daemon: the submitter is a kernel thread, but not the flusher
 * @target: the I/O target, under the queue's lock; known while it is queued
 *	after a walk asked, and in the device while foreground tasks exist
 * @wanted: used by promote.c under the queue's lock
 * @passed: it did not wait for its group's turn, and is in the drive
 * @charged_line: the enum fgio_line to which the slot is charged
 * @place: the place of the group to which it is charged, if slots are divided
 *	among groups; FGIO_ADMISSION_UNCOUNTED: to none; FGIO_ADMISSION_NOWHERE:
 *	it was given back, which an interrupt may do at any time
 * @ioprio_replaced: the request carries the drive's priority, not its own
 * @ioprio: its own, while @ioprio_replaced
 */
struct fgio_slot {
	struct fgio_request request;
	struct request *rq;
	struct fgio_tag_set *tag_set;
	u64 submitter;
	bool by_daemon;
	struct fgio_io_target target;
	bool wanted;
	bool passed;
	u8 charged_line;
	u32 place;
	bool ioprio_replaced;
	u16 ioprio;
};

/**
 * struct fgio_hw - a hardware queue of a device whose requests are queued for
 *	each of them (hw_queue.c)
 * @fq: the device's
 * @hctx: the hardware context
 * @lock: protects the members below, and what its requests' slots say of them;
 *	never taken in interrupt context; the device's lock nests in it
 * @unscheduled: as in fgio_queue_data
 * @dispatched_bytes: as in fgio_queue_data
 * @queue: core's view of it
 */
struct fgio_hw {
	struct fgio_queue_data *fq;
	struct blk_mq_hw_ctx *hctx;

	spinlock_t lock ____cacheline_aligned_in_smp;
	struct list_head unscheduled;
	u64 dispatched_bytes[FGIO_CLASSES];
	struct fgio_hw_queue queue;
};

/**
 * struct fgio_tag_set - one set of scheduler tags: its admission, its slots
 * @fq: queue that it belongs to
 * @hw: the hardware queue that it belongs to; NULL: the device's lock protects
 *	all requests
 * @own_hw: the same, whether or not hardware queues are used now (share.c)
 * @list: in fgio_queue_data.tag_sets
 * @users: hardware contexts that share the tags
 * @charged: its mark in rq_flags of charged allocations, see FGIO_RQF_CHARGED;
 *	0 when numbers ran out: then no task waits for its slots
 * @slot_count: length of @slots; tags beyond it pass unscheduled
 * @slots: one for each tag; replaced under fgio_slots_lock()
 * @watchdog: whether its I/O moves; the watchdog's own, as is the next one
 * @sample: what this look found
 * @groups: memory for @admission's groups; NULL before the queue was shared
 * @lock: protects the members below; irqsave, since completions take it
 * @admission: decides which tasks may take a tag; slots are taken and released
 *	without the lock, see core/admission.h, unless they are counted by group
 * @waited_ns: time slept in admission, per class
 * @promoted: sleepers that became critical
 * @by_task: tasks that sleep in admission
 * @by_object: the same, by file or buffer
 */
struct fgio_tag_set {
	struct fgio_queue_data *fq;
	struct fgio_hw *hw;
	struct fgio_hw *own_hw;
	struct list_head list;
	unsigned int users;
	req_flags_t charged;
	unsigned int slot_count;
	struct fgio_slot *slots;
	struct fgio_watchdog watchdog;
	struct fgio_watchdog_sample sample;
	struct fgio_admission_groups *groups;

	spinlock_t lock ____cacheline_aligned_in_smp;
	struct fgio_admission admission;
	u64 waited_ns[FGIO_CLASSES];
	u64 promoted;
	struct hlist_head by_task[1 << FGIO_SLEEPER_BITS];
	struct hlist_head by_object[1 << FGIO_SLEEPER_BITS];
};

/**
 * struct fgio_trip - a trip of the watchdog
 * @at_ns: its time, CLOCK_REALTIME
 * @reason: the I/O that did not move; ends with a NUL
 */
struct fgio_trip {
	u64 at_ns;
	char reason[sizeof_field(struct fgio_state, watchdog_reason)];
};

/**
 * struct fgio_queue_data - a request queue under the elevator
 * @q: the request queue
 * @list: in the list of all such queues
 * @tag_sets: its tag sets
 * @hw: its hardware queues; NULL: requests are in one queue for all
 * @all_hw: the same, whether or not they are used now (share.c)
 * @hw_queues: core's view of them
 * @has_groups: its cgroups are followed (groups.c)
 * @groups: those that have used it
 * @groups_closed: no more come
 * @look: looks at their weights
 * @look_lock: held meanwhile; protects @group_tree and what @groups say of it
 * @group_tree: what the last look found
 * @dirty_tree: the same of groups that dirty pages, and...
 * @room: ...what it found of their room
 * @dirtied_ns: when a task of a group last dirtied pages, to a quarter of a second
 * @shared: whether @shares are on; the worker's of @look, as is the next one
 * @own_weights_ns: when a cgroup was last seen with a weight of its own; for the
 *	look alone
 * @drain_after_ns: its requests are not waited for before this time
 * @counters: its files in debugfs; NULL: none
 * @watchdog: whether I/O moves; the watchdog's own, as are the next two
 * @let_through: the watchdog tripped, see fgio_lets_through()
 * @trip: the time and the reason
 * @critical_slots: share of admission asked for
 * @noncritical_slots: share of admission asked for
 * @drive_priority: the drive serves the real-time class first
 * @split: pieces that were cut off long I/Os (split.c)
 * @retry_timer: runs the queue at the time that core set
 * @turn_timer: runs all hardware queues if the one that has the turn is late
 * @lock: protects the members below; never taken in interrupt context
 * @retry_at_ns: the time for which @retry_timer was set
 * @sort: queued requests by sector, per class and direction, for merging and
 *	for sweeping over a rotating disk
 * @unscheduled: requests without a slot, swapping that would be withheld, and
 *	metadata that passes others; they go first
 * @merged: bios and requests merged into queued requests, per class
 * @dispatched_bytes: bytes dispatched to the device, per class
 * @hardware_priority_sent: requests that the drive got with its priority
 * @recharged: requests charged to the group of a task that waits for them
 * @passed: requests of metadata that did not wait for their group's turn
 * @passing: those of them that are in the drive
 * @with_id: critical requests queued that had a request id
 * @told_time_ns: when the order of users' requests was last told the time
 * @decided_tick: the tick of the clock at which shares last decided at a time
 * @sweep: the next requests on an arm's way; look_ahead()'s own
 * @queue: core's view of it
 * @drive: core's view of the drive, while @drive_priority is set
 * @shares: core's view of its groups
 */
struct fgio_queue_data {
	struct request_queue *q;
	struct list_head list;
	struct list_head tag_sets;
	struct fgio_hw *hw;
	struct fgio_hw *all_hw;
	struct fgio_hw_queue **hw_queues;
	bool has_groups;
	struct list_head groups;
	bool groups_closed;
	struct delayed_work look;
	struct mutex look_lock;
	struct fgio_share_tree group_tree;
	struct fgio_share_tree dirty_tree;
	struct fgio_room room;
	u64 dirtied_ns;
	bool shared;
	u64 own_weights_ns;
	u64 drain_after_ns;
	struct counters_file *counters;
	struct fgio_watchdog_device watchdog;
	bool let_through;
	struct fgio_trip trip;
	u32 critical_slots;
	u32 noncritical_slots;
	bool drive_priority;
	atomic64_t split;
	struct hrtimer retry_timer;
	struct hrtimer turn_timer;

	spinlock_t lock ____cacheline_aligned_in_smp;
	u64 retry_at_ns;
	struct rb_root sort[FGIO_CLASSES][FGIO_DIRECTIONS];
	struct list_head unscheduled;
	u64 merged[FGIO_CLASSES];
	u64 dispatched_bytes[FGIO_CLASSES];
	u64 hardware_priority_sent;
	u64 recharged;
	u64 passed;
	atomic_t passing;
	u64 with_id;
	u64 told_time_ns;
	u64 decided_tick;
	struct fgio_sweep sweep;
	struct fgio_queue queue;
	struct fgio_drive drive;
	struct fgio_shares shares;
};

/*
 * Whether all I/O of a queue passes, as if no foreground task existed: its
 * watchdog tripped. Context: any.
 */
static inline bool fgio_lets_through(const struct fgio_queue_data *fq)
{
	return READ_ONCE(fq->let_through);
}

/* The lock under which requests of a tag set are queued and dispatched. */
static inline spinlock_t *fgio_slots_lock(struct fgio_tag_set *tag_set)
{
	return tag_set->hw ? &tag_set->hw->lock : &tag_set->fq->lock;
}

#endif /* FGIO_BLOCK_QUEUE_H */
