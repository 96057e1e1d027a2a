/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the module share. An I/O meets them in this order:
 *
 *	tag.c        who is a foreground task
 *	word.c       the memory in which threads say so themselves
 *	trust.c      who may become one, and how many
 *	stamp.c      the class of each I/O, at block_bio_queue
 *	admission.c  waiting for a slot, at limit_depth
 *	elevator.c   merging, order, and what the device gets
 *	flush.c      what passes it: flushes that somebody waits for
 *	contents.c   which pages and buffers it carries
 *	promote.c    making it critical when somebody turns out to wait for it
 *	drive.c      telling the drive, where it wants to know
 *
 * device.c is /dev/fgio, tunables.c is queue/iosched/, counters.c is debugfs,
 * hook.c finds tracepoints by name, main.c loads and unloads it all.
 */
#ifndef FGIO_H
#define FGIO_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "compat/compat.h"
#include "core/admission.h"
#include "core/class.h"
#include "core/drive.h"
#include "core/queue.h"
#include "core/watchdog.h"

#include "uapi/fgio.h"

#define FGIO_VERSION "0.1.0"

struct fgio_target;
struct tracepoint;

/*
 * The class travels from block_bio_queue to limit_depth and insert in a bit of
 * bi_opf that no kernel uses (the build checks that), and across stacked
 * devices, some of which build bi_opf anew, in bi_ioprio.
 */
#define FGIO_REQ_CRITICAL ((__force blk_opf_t)(1U << 31))

/*
 * In rq_flags between limit_depth and prepare_request, and never outside: which
 * domain charged a slot for this allocation, by its number from 1; 0 when none
 * did. The block layer may move an allocation to another hardware queue while
 * it sleeps for a tag. The build checks that the bits are unused.
 */
#define FGIO_RQF_CHARGED_SHIFT 24
#define FGIO_CHARGED_MAX 127U
#define FGIO_RQF_CHARGED \
	((__force req_flags_t)(FGIO_CHARGED_MAX << FGIO_RQF_CHARGED_SHIFT))

/* The largest buffer of a file system: a block of XFS. */
#define FGIO_BUFFER_BYTES_MAX 65536

/**
 * struct fgio_contents - which pages and buffers an I/O carries, in short
 * @mapping: file of the first page that has one, or 0; a number, not to be
 *	followed
 * @first: lowest index of a page of that file
 * @last: highest index
 * @privates: a bit for each bi_private, see fgio_private_bit()
 * @several: pages of other files are there, too
 * @log_write: it may write an XFS log
 * @known: whether all this was looked up
 */
struct fgio_contents {
	u64 mapping;
	u64 first;
	u64 last;
	u64 privates;
	bool several;
	bool log_write;
	bool known;
};

/* Different ones may share a bit. */
static inline u64 fgio_private_bit(u64 bi_private)
{
	return 1ULL << hash_64(bi_private, 6);
}

/**
 * struct fgio_slot - what fgio knows of one scheduler tag's request
 * @request: core's view of it
 * @rq: the request that has the tag now
 * @domain: where its slot is charged
 * @submitter: the task that allocated it; a number, not to be followed
 * @by_daemon: that is a kernel thread, but not the flusher
 * @contents: what it carries, for the queue's lock; known while it is queued
 *	when somebody asked, and in the device when foreground tasks are about
 * @wanted: used by promote.c under the queue's lock
 * @charged_line: enum fgio_line that the slot is charged to
 * @told_drive: the request carries what drive.c tells the drive...
 * @ioprio: ...instead of this
 */
struct fgio_slot {
	struct fgio_request request;
	struct request *rq;
	struct fgio_domain *domain;
	u64 submitter;
	bool by_daemon;
	struct fgio_contents contents;
	bool wanted;
	u8 charged_line;
	bool told_drive;
	u16 ioprio;
};

/* Hash of who sleeps for a slot: by task, and by what it wants to submit. */
#define FGIO_SLEEPER_BITS 6

/**
 * struct fgio_domain - one set of scheduler tags: its admission, its slots
 * @fq: queue that it belongs to
 * @list: in fgio_queue_data.domains
 * @users: hardware contexts that share the tags
 * @charged: mark in rq_flags of what it charged, see FGIO_RQF_CHARGED; 0 when
 *	numbers ran out: then nobody waits for its slots
 * @slot_count: length of @slots; tags beyond it pass unscheduled
 * @slots: one for each tag; replaced under the queue's lock
 * @lock: protects what follows; irqsave, since completions take it
 * @admission: who may take a tag; slots are taken and given back without the
 *	lock, see core/admission.h
 * @waited_ns: time slept in admission, per class
 * @promoted: sleepers that became critical
 * @by_task: who sleeps in admission
 * @by_object: the same, by file or buffer
 */
struct fgio_domain {
	struct fgio_queue_data *fq;
	struct list_head list;
	unsigned int users;
	req_flags_t charged;
	unsigned int slot_count;
	struct fgio_slot *slots;

	spinlock_t lock ____cacheline_aligned_in_smp;
	struct fgio_admission admission;
	u64 waited_ns[FGIO_CLASSES];
	u64 promoted;
	struct hlist_head by_task[1 << FGIO_SLEEPER_BITS];
	struct hlist_head by_object[1 << FGIO_SLEEPER_BITS];
};

/**
 * struct fgio_trip - what made the watchdog trip
 * @at_ns: when, CLOCK_REALTIME
 * @reason: what stood still, ends with a NUL
 */
struct fgio_trip {
	u64 at_ns;
	char reason[sizeof_field(struct fgio_state, watchdog_reason)];
};

/**
 * struct fgio_queue_data - a request queue under the elevator
 * @q: the request queue
 * @list: in the list of all such queues
 * @domains: its fgio_domain's
 * @counters: its files in debugfs; NULL: none
 * @watchdog: whether I/O moves; the watchdog's own, as are the next two
 * @let_through: the watchdog tripped, see fgio_lets_through()
 * @trip: when, and why
 * @critical_slots: share of admission asked for
 * @noncritical_slots: share of admission asked for
 * @drive_priority: the drive serves the real-time class first
 * @retry_timer: runs the queue when core wants to be asked again
 * @lock: protects what follows; never taken in interrupt context
 * @retry_at_ns: when @retry_timer was to fire
 * @sort: queued requests by sector, per class and direction, for merging and
 *	for sweeping over a rotating disk
 * @unscheduled: requests without a slot, and swapping that would be withheld;
 *	they go first
 * @merged: bios and requests merged into queued requests, per class
 * @told_drive: requests that went to it with that class
 * @sweep: what comes next on an arm's way; look_ahead()'s own
 * @queue: core's view of it
 * @drive: core's view of the drive, while @drive_priority is set
 */
struct fgio_queue_data {
	struct request_queue *q;
	struct list_head list;
	struct list_head domains;
	struct counters_file *counters;
	struct fgio_watchdog watchdog;
	bool let_through;
	struct fgio_trip trip;
	u32 critical_slots;
	u32 noncritical_slots;
	bool drive_priority;
	struct hrtimer retry_timer;

	spinlock_t lock ____cacheline_aligned_in_smp;
	u64 retry_at_ns;
	struct rb_root sort[FGIO_CLASSES][FGIO_DIRECTIONS];
	struct list_head unscheduled;
	u64 merged[FGIO_CLASSES];
	u64 dispatched_bytes[FGIO_CLASSES];
	u64 told_drive;
	struct fgio_sweep sweep;
	struct fgio_queue queue;
	struct fgio_drive drive;
};

/* tag.c */
extern unsigned int fgio_tags_set;

/* Threads that have an entry: a tag, a word, or a declared wait. Context: any. */
static inline unsigned int fgio_tag_count(void)
{
	return READ_ONCE(fgio_tags_set);
}

enum fgio_thread_tag fgio_tag_look_up(struct task_struct *task);

/* All threads ask, at each sleep: for nearly all, this is all. Context: any. */
static inline enum fgio_thread_tag fgio_tag_of(struct task_struct *task)
{
	return fgio_tag_count() ? fgio_tag_look_up(task) :
				  FGIO_THREAD_UNTAGGED;
}

static inline enum fgio_thread_tag fgio_tag_of_current(void)
{
	return fgio_tag_of(current);
}

int fgio_tag_set(struct task_struct *task, enum fgio_thread_tag tag);
unsigned int fgio_foreground_count(void);
unsigned int fgio_tag_max(void);
unsigned int fgio_tag_list(void (*visit)(struct task_struct *task,
					 enum fgio_thread_tag tag, void *data),
			   void *data);
bool fgio_tag_init(void);
void fgio_tag_exit(void);

/* stamp.c */
bool fgio_ioprio_is_trusted(u16 ioprio);
bool fgio_stamp_init(void);
void fgio_stamp_exit(void);
void fgio_stamp_critical(struct request *rq);

static inline enum fgio_class fgio_class_of_opf(blk_opf_t opf)
{
	return opf & FGIO_REQ_CRITICAL ? FGIO_CRITICAL : FGIO_NONCRITICAL;
}

/* admission.c */
void fgio_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data);
void fgio_admission_prepare(struct fgio_slot *slot, struct request *rq);
void fgio_admission_move(struct fgio_slot *slot, enum fgio_class class);
void fgio_admission_wake(struct fgio_domain *domain);
void fgio_admission_return_charge(struct fgio_queue_data *fq,
				  struct request *rq);
void fgio_admission_configure(struct fgio_queue_data *fq);
void fgio_admission_reconsider(struct fgio_queue_data *fq);
void fgio_admission_note_bio(const struct fgio_contents *contents, u64 buffer);
bool fgio_admission_promote_task(struct fgio_domain *domain, u64 task);
unsigned int fgio_admission_promote_owners(struct fgio_domain *domain,
					   const struct fgio_target *target,
					   bool may_promote,
					   unsigned int *promoted);

/*
 * The class is known for good: a plug may have allocated the request for a bio
 * of the other class, and promotion changes it.
 */
static inline void fgio_admission_settle(struct fgio_slot *slot,
					 enum fgio_class class)
{
	if (unlikely(fgio_class_of_line(slot->charged_line) != class))
		fgio_admission_move(slot, class);
}

/* Context: any, interrupts included. */
static inline void fgio_admission_give_back(struct fgio_domain *domain,
					    enum fgio_line line)
{
	fgio_admission_release(&domain->admission, line);
	if (unlikely(fgio_admission_has_waiters(&domain->admission)))
		fgio_admission_wake(domain);
}

static inline void fgio_admission_finish(struct fgio_slot *slot)
{
	fgio_admission_give_back(slot->domain, slot->charged_line);
}

/* elevator.c */
extern struct mutex fgio_queues_lock;
int fgio_elevator_init(void);
void fgio_elevator_exit(void);
bool fgio_queues_exist(void);
unsigned int fgio_queue_count(void);
int fgio_promote_sector(dev_t disk, sector_t sector, u32 *promoted);
void fgio_visit_queues(void (*visit)(struct fgio_queue_data *fq));
typedef void fgio_slot_visit_t(struct fgio_queue_data *fq,
			       struct fgio_slot *slot, unsigned int tag);
void fgio_visit_slots(struct fgio_queue_data *fq, fgio_slot_visit_t *visit);
bool fgio_schedules(const struct request_queue *q);
bool fgio_elevator_flush_begins(const struct request_queue *q,
				struct fgio_flush *flush, bool commits);
void fgio_elevator_flush_ends(const struct request_queue *q,
			      const struct fgio_flush *flush);
bool fgio_elevator_promote(struct fgio_queue_data *fq, struct fgio_slot *slot);
void fgio_queue_reconsider(struct fgio_queue_data *fq);
void fgio_queues_reconsider(void);
u64 fgio_critical_outstanding(void);

/* drive.c */
void fgio_drive_tell(struct fgio_queue_data *fq, struct fgio_slot *slot,
		     enum fgio_class class, u64 now_ns);

/* Whether fgio_drive_tell() has anything to do. */
static inline bool fgio_drive_listens(const struct fgio_queue_data *fq,
				      const struct request *rq)
{
	return READ_ONCE(fq->drive_priority) ||
	       fgio_rq_ioprio(rq) & FGIO_IOPRIO_OTHER_HINTS;
}

void fgio_drive_forget(struct fgio_slot *slot);

/* contents.c */
void fgio_contents_of_bio(struct fgio_contents *contents, struct bio *bio);
void fgio_contents_of_request(struct fgio_contents *contents,
			      struct request *rq);
u64 fgio_buffer_of_bio(struct bio *bio);
u64 fgio_mapping_of_folio(struct folio *folio, u64 *index);

/* tunables.c */

extern struct elv_fs_entry fgio_tunables[];

/* counters.c */
struct dentry *fgio_counters_root(void);
int fgio_counters_init(void);
void fgio_counters_exit(void);
void fgio_counters_add_queue(struct fgio_queue_data *fq);
void fgio_counters_remove_queue(struct fgio_queue_data *fq);

/* device.c */
bool fgio_may_tag(struct task_struct *task);
bool fgio_may_lend(struct task_struct *waiter, struct task_struct *owner);
int fgio_device_init(void);
void fgio_device_exit(void);

/* watchdog.c */
void fgio_watchdog_queue_came(void);

/*
 * Whether all I/O of a queue passes, as if no foreground task existed.
 * Context: any.
 */
static inline bool fgio_lets_through(const struct fgio_queue_data *fq)
{
	return READ_ONCE(fq->let_through);
}

/* hook.c */
struct tracepoint *fgio_find_tracepoint(const char *name);

/* main.c */
u32 fgio_hooks_live(void);

#endif /* FGIO_H */
