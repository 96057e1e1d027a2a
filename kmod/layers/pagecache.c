// SPDX-License-Identifier: GPL-2.0
/*
 * Room in the page cache. The kernel makes all writers wait alike when much is
 * dirty, and in the middle of a write, with the file locked. Here non-critical
 * writers wait much earlier (core/dirty.c says when), and at the boundary of
 * the system call, where no lock of the kernel is held: a parked task
 * keeps no other from an inode or a journal. Critical writers meet the kernel's
 * limit alone.
 *
 * Where cgroups share a disk by weight, non-critical writers of each wait in the
 * same way beyond their part of a larger room (core/room.h), also without
 * foreground tasks. So a light cgroup does not begin with as many dirty pages as a
 * heavy one, whose writing would take it many times as long.
 *
 * A parked task also writes back, as the flusher would much later, with its own
 * non-critical I/O. So dirty pages need not reach the age at which the flusher
 * starts.
 *
 * A device here is a bdi_writeback: a disk, or the part of it that one cgroup
 * writes to. Its speed is the kernel's measurement (wb->avg_write_bandwidth,
 * mm/page-writeback.c): smoothed over some seconds, and lower while foreground
 * I/O takes its share, as it should be.
 *
 * task_work_add() is exported by Debian's kernels, not by others; there this
 * mechanism stays off.
 */
#include <linux/backing-dev.h>
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <linux/writeback.h>

#include <asm/syscall.h>
#include <asm/unistd.h>

#include "base/hook.h"
#include "base/mechanism.h"
#include "base/scale.h"
#include "base/setting.h"
#include "block/queues.h"
#include "block/room.h"
#include "compat/compat.h"
#include "core/dirty.h"
#include "core/room.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/pagecache.h"
#include "who/presence.h"

/* Dirty inodes that are searched for a file system to be written. */
#define SCAN_MAX 256
/* The most pages after which a task that was parked is checked again. */
#define POLL_PAGES 64

static struct fgio_dirty_config config = {
	.percent = FGIO_DEFAULT_dirty_limit_percent,
	.milliseconds = FGIO_DEFAULT_dirty_limit_ms,
	.park_max_ms = FGIO_DEFAULT_dirty_park_max_ms,
};

FGIO_NUMBER_PARAM(dirty_limit_percent, &config.percent);
FGIO_NUMBER_PARAM(dirty_limit_ms, &config.milliseconds);
FGIO_NUMBER_PARAM(dirty_park_max_ms, &config.park_max_ms);

/**
 * struct writer - a task that is parked, or will be at the end of its call
 * @work: runs at_boundary() there
 * @node: in its bucket
 * @task: the task
 * @wb: the device that it wrote to; referenced
 * @queue: of its disk, which may be gone; NULL: none
 * @pages: pages that it dirtied, as far as the kernel counted
 * @promoted: it became critical
 * @recorded: its wait is recorded, for foreground tasks
 */
struct writer {
	struct callback_head work;
	struct hlist_node node;
	struct task_struct *task;
	struct bdi_writeback *wb;
	const struct request_queue *queue;
	unsigned long pages;
	bool promoted;
	bool recorded;
};

/* Taken in a hook, thus raw; a leaf but for the scheduler's own locks. */
static struct bucket {
	raw_spinlock_t lock;
	struct hlist_head writers;
} buckets[1 << FGIO_WRITER_BITS];

/* The number of writers: the module must not go before they end. */
static atomic_t pending;
static bool stopping;

/**
 * struct cleaner - has the flusher write to one device, by hash
 * @work: runs in @workqueue
 * @wb: the device; referenced
 * @pages: the number of pages to write
 */
static struct cleaner {
	struct work_struct work;
	struct bdi_writeback *wb;
	u64 pages;
} cleaners[BITS_PER_LONG];

static struct workqueue_struct *workqueue;
/* Cleaners that run, or whose device a parked writer writes to. */
static unsigned long writing;

static atomic64_t parked_ns;
static atomic64_t promoted_writers;

static struct bucket *bucket_of(u64 task)
{
	return &buckets[hash_64(task, FGIO_WRITER_BITS)];
}

static struct writer *find_writer(struct bucket *bucket, u64 task)
{
	struct writer *writer;

	lockdep_assert_held(&bucket->lock);
	hlist_for_each_entry(writer, &bucket->writers, node)
		if ((u64)writer->task == task)
			return writer;
	return NULL;
}

/*
 * A writer is in its bucket as long as its task cannot go away. Return: whether
 * it was parked.
 */
static bool let_go(u64 task)
{
	struct bucket *bucket = bucket_of(task);
	struct writer *writer;
	bool was_parked;

	raw_spin_lock(&bucket->lock);
	writer = find_writer(bucket, task);
	was_parked = writer && !writer->promoted;
	if (was_parked) {
		WRITE_ONCE(writer->promoted, true);
		atomic64_inc(&promoted_writers);
		wake_up_process(writer->task);
	}
	raw_spin_unlock(&bucket->lock);
	return was_parked;
}

/* Foreground tasks themselves, the first links, are never parked. */
static void release(const struct fgio_walk *walk)
{
	u32 count = min(walk->count, FGIO_LINKS_MAX);
	u32 link;

	for (link = 0; link < count && atomic_read(&pending); link++)
		if (walk->links[link].depth && let_go(walk->links[link].task))
			fgio_walk_note_action(link, FGIO_BLAME_PROMOTED_WRITER);
}

void fgio_pagecache_totals(u64 *parked, u64 *promoted)
{
	*parked = atomic64_read(&parked_ns);
	*promoted = atomic64_read(&promoted_writers);
}

/* --- Dirty pages and the limit ----------------------------------------- */

static u64 pages_of(struct bdi_writeback *wb, enum wb_stat_item item,
		    bool exactly)
{
	return exactly ? wb_stat_sum(wb, item) : wb_stat(wb, item);
}

static struct fgio_dirty_sample take_sample(struct bdi_writeback *wb,
					    bool exactly)
{
	struct fgio_dirty_sample sample = {
		.dirty = pages_of(wb, WB_RECLAIMABLE, exactly),
		.writeback = pages_of(wb, WB_WRITEBACK, exactly),
		.others = fgio_dirty_pages(),
		.dirtyable = fgio_dirtyable_pages(),
		.bandwidth = READ_ONCE(wb->avg_write_bandwidth),
	};

	sample.others -= min(sample.others, sample.dirty + sample.writeback);
	return sample;
}

/*
 * struct limits - pages that a task's device may have, and those of its cgroup
 * @all: for foreground tasks' sake
 * @room: by weight
 */
struct limits {
	u64 all;
	u64 room;
};

static u64 held_of(const struct fgio_dirty_sample *sample)
{
	return sample->dirty + sample->writeback;
}

static struct limits limits_of(struct bdi_writeback *wb,
			       const struct request_queue *queue,
			       const struct fgio_dirty_sample *sample)
{
	return (struct limits){
		.all = fgio_waits_matter() ?
			       fgio_dirty_limit(&config, sample) :
			       FGIO_ROOM_UNLIMITED,
		.room = fgio_room_of_writer(wb, queue, held_of(sample)),
	};
}

/* Sums over CPUs are read where their error matters, as the kernel does. */
static u64 limit_of(struct bdi_writeback *wb, const struct request_queue *queue,
		    struct fgio_dirty_sample *sample)
{
	struct limits limits;

	*sample = take_sample(wb, false);
	limits = limits_of(wb, queue, sample);
	if (min(limits.all, limits.room) < 2 * wb_stat_error()) {
		*sample = take_sample(wb, true);
		limits = limits_of(wb, queue, sample);
	}
	if (fgio_writer_may_go(wb, queue, limits.room, held_of(sample)))
		return limits.all;
	return min(limits.all, limits.room);
}

static bool may_go(struct bdi_writeback *wb, const struct request_queue *queue)
{
	struct fgio_dirty_sample sample;
	u64 limit = limit_of(wb, queue, &sample);

	return fgio_dirty_next(limit, &sample) == FGIO_DIRTY_GO;
}

/* --- Writing back ----------------------------------------------------- */

/*
 * The file system may wait for locks of pages and for its journal, but not for
 * I/O, except for a slot of the block layer's queue.
 */
static u64 write_mapping(struct address_space *mapping, u64 pages)
{
	struct writeback_control control = {
		.sync_mode = WB_SYNC_NONE,
		.nr_to_write = pages,
		.range_end = LLONG_MAX,
		.range_cyclic = 1,
	};

	filemap_fdatawrite_wbc(mapping, &control);
	return pages - clamp_t(s64, control.nr_to_write, 0, pages);
}

/*
 * A file of overlayfs has no pages of its own: they belong to the one below,
 * which it keeps as long as it is open.
 */
static struct address_space *mapping_of_file(const struct file *file)
{
	const struct dentry *dentry = file->f_path.dentry;
	const struct inode *below;

	if (!(READ_ONCE(dentry->d_flags) & DCACHE_OP_REAL))
		return file->f_mapping;
	below = d_real_inode(dentry);
	return below ? below->i_mapping : file->f_mapping;
}

/* The argument that is the file to which a system call writes, or -1. */
static int written_argument(void)
{
	if (in_compat_syscall())
		return -1;
	switch (syscall_get_nr(current, task_pt_regs(current))) {
	case __NR_write:
	case __NR_pwrite64:
	case __NR_writev:
	case __NR_pwritev:
	case __NR_pwritev2:
	case __NR_fallocate:
	case __NR_ftruncate:
	case __NR_sendfile:
		return 0;
	case __NR_splice:
	case __NR_copy_file_range:
		return 2;
	default:
		return -1;
	}
}

/*
 * The registers still hold the call that is about to return. Its file keeps
 * the file system mounted, which a reference to the inode alone would not.
 * Another thread may have closed it and opened another file by that number:
 * then that file is written.
 */
static u64 write_own(struct bdi_writeback *wb, u64 pages)
{
	int argument = written_argument();
	struct address_space *mapping;
	unsigned long arguments[6];
	struct file *file;
	u64 written = 0;

	if (argument < 0)
		return 0;
	syscall_get_arguments(current, task_pt_regs(current), arguments);
	file = fget(arguments[argument]);
	if (!file)
		return 0;
	mapping = mapping_of_file(file);
	if (inode_to_bdi(mapping->host) == wb->bdi)
		written = write_mapping(mapping, pages);
	fput(file);
	return written;
}

/*
 * Held for reading, as by the flusher, s_umount keeps the file system mounted,
 * and keeps a freeze from beginning: so dropping the last reference to an inode
 * under it cannot wait for a thaw, which would wait for s_umount.
 */
static bool enter_superblock(struct super_block *sb)
{
	if (!down_read_trylock(&sb->s_umount))
		return false;
	if (sb->s_root && sb->s_flags & SB_BORN && sb->s_flags & SB_ACTIVE &&
	    READ_ONCE(sb->s_writers.frozen) == SB_UNFROZEN)
		return true;
	up_read(&sb->s_umount);
	return false;
}

static bool is_dirty_device(const struct inode *inode)
{
	return S_ISBLK(inode->i_mode) &&
	       mapping_tagged(inode->i_mapping, PAGECACHE_TAG_DIRTY);
}

/*
 * A file of a file system on this device, or the device itself with dirty
 * pages: referenced, its superblock entered. Inodes in the list cannot go away
 * while it is locked.
 */
static struct inode *find_inode(struct bdi_writeback *wb)
{
	struct inode *inode, *found = NULL;
	unsigned int seen = 0;

	spin_lock(&wb->list_lock);
	list_for_each_entry(inode, &wb->b_dirty, i_io_list) {
		if (seen++ == SCAN_MAX)
			break;
		if ((inode->i_sb->s_bdi != wb->bdi && !is_dirty_device(inode)) ||
		    !enter_superblock(inode->i_sb))
			continue;
		found = igrab(inode);
		if (found)
			break;
		up_read(&inode->i_sb->s_umount);
	}
	spin_unlock(&wb->list_lock);
	return found;
}

/*
 * The flusher takes the oldest files first, and waits until they are submitted.
 * Metadata that a journal is done with belongs to the device, not to the file
 * system. It is written when the files did not suffice.
 */
static void write_superblock(struct bdi_writeback *wb, struct super_block *sb,
			     u64 pages)
{
	u64 before = wb_stat_sum(wb, WB_RECLAIMABLE);
	u64 written;

	writeback_inodes_sb_nr(sb, pages, WB_REASON_BACKGROUND);
	written = before - min_t(u64, before, wb_stat_sum(wb, WB_RECLAIMABLE));
	if (written < pages && sb->s_bdev)
		write_mapping(fgio_bdev_mapping(sb->s_bdev), pages - written);
}

static void get_wb(struct bdi_writeback *wb)
{
	bdi_get(wb->bdi);
	wb_get(wb);
}

static void put_wb(struct bdi_writeback *wb)
{
	struct backing_dev_info *bdi = wb->bdi;

	wb_put(wb);
	bdi_put(bdi);
}

static void clean(struct work_struct *work)
{
	struct cleaner *cleaner = container_of(work, struct cleaner, work);
	struct inode *inode = find_inode(cleaner->wb);
	struct super_block *sb;

	if (inode) {
		sb = inode->i_sb;
		if (S_ISBLK(inode->i_mode))
			write_mapping(inode->i_mapping, cleaner->pages);
		else
			write_superblock(cleaner->wb, sb, cleaner->pages);
		iput(inode);
		up_read(&sb->s_umount);
	}
	put_wb(cleaner->wb);
	clear_bit_unlock(cleaner - cleaners, &writing);
}

/*
 * One task at a time for each device, so that parked writers do not all start
 * the same writeback at once. A writer writes its own file itself. For many
 * small files, and where the registers do not give the file (a page fault), the
 * flusher is called, from a thread that may wait for it.
 *
 * Return: whether pages were submitted by now.
 */
static bool write_back(struct bdi_writeback *wb, u64 pages)
{
	struct cleaner *cleaner = &cleaners[hash_ptr(wb, ilog2(BITS_PER_LONG))];
	struct blk_plug plug;
	u64 written;

	if (test_and_set_bit_lock(cleaner - cleaners, &writing))
		return false;
	blk_start_plug(&plug);
	written = write_own(wb, pages);
	blk_finish_plug(&plug);
	if (written >= pages) {
		clear_bit_unlock(cleaner - cleaners, &writing);
		return true;
	}
	get_wb(wb);
	cleaner->wb = wb;
	cleaner->pages = pages - written;
	queue_work(workqueue, &cleaner->work);
	return written;
}

/* --- At the boundary of the system call ------------------------------- */

/*
 * Any signal ends the wait: nothing is lost, the call has done its work. So does
 * the first foreground task, which cannot see waits that were not recorded, and
 * the end of the last one.
 */
static bool must_stay(struct writer *writer)
{
	return !READ_ONCE(stopping) && !READ_ONCE(writer->promoted) &&
	       !signal_pending(current) &&
	       fgio_mechanism_on(FGIO_MECHANISM_PAGECACHE) &&
	       fgio_waits_matter() == writer->recorded &&
	       !fgio_current_is_critical();
}

static void sleep_for(struct writer *writer, u64 pause_ns)
{
	ktime_t pause = ns_to_ktime(pause_ns);

	set_current_state(TASK_INTERRUPTIBLE);
	if (must_stay(writer))
		schedule_hrtimeout_range(&pause, pause_ns / 4,
					 HRTIMER_MODE_REL);
	__set_current_state(TASK_RUNNING);
}

/*
 * A writer that only its cgroup's part of the room holds may stay for as long as
 * one far above the dirty limit: time by the speed of the device would let light
 * cgroups go beyond their parts for the seconds that their speed takes to learn.
 */
static u64 longest_stay_ns(const struct writer *writer, u64 limit,
			   const struct fgio_dirty_sample *sample)
{
	if (!writer->recorded ||
	    fgio_dirty_next(fgio_dirty_limit(&config, sample), sample) ==
		    FGIO_DIRTY_GO)
		return (u64)READ_ONCE(config.park_max_ms) *
		       FGIO_DIRTY_PARK_FACTOR * NSEC_PER_MSEC;
	return fgio_dirty_park_ns(&config, limit, sample, writer->pages);
}

static void stay(struct writer *writer, u64 since_ns)
{
	struct bdi_writeback *wb = writer->wb;
	struct fgio_dirty_sample sample;
	enum fgio_dirty_action action;
	u64 limit;

	while (must_stay(writer)) {
		limit = limit_of(wb, writer->queue, &sample);
		action = fgio_dirty_next(limit, &sample);
		if (action == FGIO_DIRTY_GO ||
		    ktime_get_ns() - since_ns >=
			    longest_stay_ns(writer, limit, &sample))
			break;
		if (action == FGIO_DIRTY_WRITE &&
		    write_back(wb, fgio_dirty_batch(limit, &sample)))
			continue;
		sleep_for(writer, fgio_dirty_pause_ns(limit, &sample));
	}
}

/* nr_dirtied_pause: pages between two checks of a writer by the kernel. */
static void park(struct writer *writer)
{
	u64 since_ns;
	u32 seq = 0;

	fgio_make_writers_group(writer->wb, writer->queue);
	writer->recorded = fgio_waits_matter();
	if (!must_stay(writer) || may_go(writer->wb, writer->queue))
		return;
	since_ns = ktime_get_ns();
	if (writer->recorded)
		seq = fgio_wait_enter(FGIO_WAIT_DIRTY, (u64)writer->wb->bdi, 0);
	stay(writer, since_ns);
	fgio_wait_leave(seq);
	atomic64_add(ktime_get_ns() - since_ns, &parked_ns);
	current->nr_dirtied_pause = min(current->nr_dirtied_pause, POLL_PAGES);
}

/*
 * Once the writer is not counted any more, the module may go when all tasks
 * have left its code: fgio_pagecache_exit() waits for that, too.
 */
static void drop_writer(struct writer *writer)
{
	struct bucket *bucket = bucket_of((u64)current);

	raw_spin_lock(&bucket->lock);
	hlist_del(&writer->node);
	raw_spin_unlock(&bucket->lock);
	put_wb(writer->wb);
	kfree(writer);
	if (atomic_dec_and_test(&pending))
		wake_up_var(&pending);
}

/* Context: the task's, about to return to user space or to exit. */
static void at_boundary(struct callback_head *work)
{
	struct writer *writer = container_of(work, struct writer, work);

	if (!(current->flags & PF_EXITING))
		park(writer);
	drop_writer(writer);
}

/* --- In the middle of a write ----------------------------------------- */

bool fgio_wb_is_ours(struct bdi_writeback *wb)
{
	struct device *owner = READ_ONCE(wb->bdi->owner);
	struct gendisk *disk;

	/* Network, FUSE, btrfs: their disks are not known here. */
	if (!owner)
		return false;
	disk = dev_to_disk(owner);
	/* Stacked: most likely on fgio's disks, if there are any. */
	if (disk->fops->submit_bio)
		return fgio_queues_exist();
	return fgio_schedules(disk->queue);
}
FGIO_EXPORT(fgio_wb_is_ours);

/* The same for all 32-bit system calls of x86. */
#define COMPAT_IOCTL 54

/*
 * A driver may run task work long before the boundary: KVM does so each time
 * that a guest is about to run, inside of KVM_RUN and with the vCPU locked. A
 * guest whose memory is a file dirties its pages there.
 */
static bool is_in_driver(void)
{
	int call = syscall_get_nr(current, task_pt_regs(current));

	return call == (in_compat_syscall() ? COMPAT_IOCTL : __NR_ioctl);
}

/*
 * False for tasks that do not return to user space, must not be held up (memory
 * reclaim, loop and NFS servers, a ring's workers), or asked not to wait.
 */
static bool can_be_parked(unsigned int flags)
{
	return !(current->flags &
		 (PF_KTHREAD | PF_USER_WORKER | PF_IO_WORKER | PF_EXITING |
		  PF_MEMALLOC | PF_LOCAL_THROTTLE)) &&
	       !(flags & BDP_ASYNC) && !is_in_driver() &&
	       !fgio_current_is_critical();
}

bool fgio_may_be_parked(unsigned int flags)
{
	return fgio_waits_matter() && can_be_parked(flags);
}
FGIO_EXPORT(fgio_may_be_parked);

/* Only a task itself adds its writer: none comes between the two calls. */
static bool has_writer(unsigned long pages)
{
	struct bucket *bucket = bucket_of((u64)current);
	struct writer *found;

	raw_spin_lock(&bucket->lock);
	found = find_writer(bucket, (u64)current);
	if (found)
		found->pages += pages;
	raw_spin_unlock(&bucket->lock);
	return found;
}

static void add_writer(struct writer *writer)
{
	struct bucket *bucket = bucket_of((u64)current);

	raw_spin_lock(&bucket->lock);
	hlist_add_head(&writer->node, &bucket->writers);
	raw_spin_unlock(&bucket->lock);
}

#ifdef FGIO_HAVE_TASK_WORK_ADD

/*
 * Allocating is allowed: this is never called by the allocator, and in no
 * interrupt. Without memory the writer goes on, as without fgio. Adding fails
 * for tasks that exit alone, which do not get here.
 */
static void park_at_boundary(struct bdi_writeback *wb,
			     const struct request_queue *queue,
			     unsigned long pages)
{
	struct writer *writer = kzalloc(sizeof(*writer),
					GFP_NOWAIT | __GFP_NOWARN);

	if (!writer)
		return;
	if (!wb_tryget(wb)) {
		kfree(writer);
		return;
	}
	bdi_get(wb->bdi);
	writer->task = current;
	writer->wb = wb;
	writer->queue = queue;
	writer->pages = pages;
	init_task_work(&writer->work, at_boundary);
	atomic_inc(&pending);
	add_writer(writer);
	if (WARN_ON_ONCE(task_work_add(current, &writer->work, TWA_RESUME)))
		drop_writer(writer);
}

/* Context: as fgio_wb_is_ours(). That of a stacked device is not under fgio. */
static const struct request_queue *queue_of(struct bdi_writeback *wb)
{
	struct device *owner = READ_ONCE(wb->bdi->owner);

	return owner ? dev_to_disk(owner)->queue : NULL;
}

static void consider(struct bdi_writeback *wb, unsigned long pages,
		     unsigned int flags)
{
	const struct request_queue *queue;

	if (!can_be_parked(flags) || !fgio_wb_is_ours(wb))
		return;
	queue = queue_of(wb);
	/* Its cgroup dirties pages, and counts, until the call ends. */
	if (has_writer(pages)) {
		fgio_room_of_writer(wb, queue,
				    pages_of(wb, WB_RECLAIMABLE, false) +
					    pages_of(wb, WB_WRITEBACK, false));
		return;
	}
	if (!may_go(wb, queue) || fgio_writer_lacks_group(wb, queue))
		park_at_boundary(wb, queue, pages);
}

static int on_balance_dirty_pages(struct kretprobe_instance *instance,
				  struct pt_regs *regs)
{
	struct bdi_writeback *wb = (void *)regs_get_kernel_argument(regs, 0);
	unsigned long pages = regs_get_kernel_argument(regs, 1);
	unsigned int flags = regs_get_kernel_argument(regs, 2);

	consider(wb, pages, flags);
	return 1;
}

/* Called for each page or folio: checks as often as the kernel does. */
static int on_ratelimited(struct kretprobe_instance *instance,
			  struct pt_regs *regs)
{
	struct address_space *mapping =
		(void *)regs_get_kernel_argument(regs, 0);
	unsigned int flags = regs_get_kernel_argument(regs, 1);

	if (current->nr_dirtied >= current->nr_dirtied_pause)
		consider(&inode_to_bdi(mapping->host)->wb,
			 current->nr_dirtied, flags);
	return 1;
}

#endif

static struct fgio_hook hooks[] = {
#ifdef FGIO_HAVE_TASK_WORK_ADD
	FGIO_HOOK("balance_dirty_pages", PAGECACHE, on_balance_dirty_pages,
		  NULL, .for_tenants = true),
	/* Exported, so never inlined; of cgroups' writeback it knows nothing. */
	FGIO_HOOK("balance_dirty_pages_ratelimited_flags", PAGECACHE,
		  on_ratelimited, NULL, .fallback = true),
#else
	/* No such function: the list of hooks shows it with its reason. */
	FGIO_HOOK("task_work_add is not exported", PAGECACHE, NULL, NULL),
#endif
	{}
};

const struct fgio_layer fgio_pagecache_layer = {
	.name = "pagecache",
	.mechanism = FGIO_MECHANISM_PAGECACHE,
	.hooks = hooks,
	.release = release,
};

int fgio_pagecache_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(buckets); i++)
		raw_spin_lock_init(&buckets[i].lock);
	for (i = 0; i < ARRAY_SIZE(cleaners); i++)
		INIT_WORK(&cleaners[i].work, clean);
	workqueue = alloc_workqueue("fgio_pagecache", WQ_UNBOUND, 0);
	return workqueue ? 0 : -ENOMEM;
}

static void wake_all(void)
{
	struct writer *writer;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(buckets); i++) {
		raw_spin_lock(&buckets[i].lock);
		hlist_for_each_entry(writer, &buckets[i].writers, node)
			wake_up_process(writer->task);
		raw_spin_unlock(&buckets[i].lock);
	}
}

/*
 * The hook is gone: no writer comes any more. A task in a long system call
 * keeps its writer until the call ends: no exported function removes task work.
 */
void fgio_pagecache_exit(void)
{
	WRITE_ONCE(stopping, true);
	wake_all();
	wait_var_event(&pending, !atomic_read(&pending));
	synchronize_rcu_tasks();
	destroy_workqueue(workqueue);
}
