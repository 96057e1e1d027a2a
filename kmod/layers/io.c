// SPDX-License-Identifier: GPL-2.0
/*
 * Outstanding I/O: waits for a page, a buffer or a range of a file.
 *
 *	folio_wait_bit_common		a page that is locked or under writeback
 *					(all such waits come through here)
 *	__filemap_fdatawait_range	a range of a file to be written: fsync,
 *					and journals that write data first
 *	out_of_line_wait_on_bit(_lock)	a buffer that is locked, or journalled
 *	inode_wait_for_writeback and	a file that a task is submitting
 *	its kin
 *	inode_dio_wait			all direct I/O on a file: truncation
 *	md_write_start			an array's first write after a pause:
 *					its superblocks
 *	bitmap_unplug and its kin	an array's bitmap, which is written
 *					before data
 *	io_schedule(_timeout)		a foreground task in a wait that no
 *					other hook records: for blame, and for
 *					its own direct I/O that is held back
 *
 * promote.c looks for the I/O, in the queues and where tasks wait for a slot.
 * If it is in neither, nor in the device, it has yet to be submitted, by a task
 * that submitted I/O of that file or buffer lately; or it is done, and a worker
 * has yet to account for it before the page's writeback ends:
 *
 *	ext4_convert_unwritten_extents	such a worker, for extents that were
 *	xfs_end_ioend			allocated ahead of their data; it
 *					may wait for locks and the journal
 *
 * Or a stacked device holds it back, until it has copied what is to be written, or
 * has noted where it goes (upkeep.h). Or it is in the queue of a loop device
 * (loop.c).
 *
 * A buffer is identified by its address alone, since other subsystems wait for
 * bits in the same way: it is compared with bi_private, and at most read as if it
 * might be anything.
 *
 * Left out:
 *	wb_wait_for_completion (sync(2)): for all of a disk's dirty data.
 *	submit_bio_wait: for I/O that is never queued (flush.c), or that has
 *		its submitter's class.
 *	PG_private_2: of network file systems.
 */
#include <linux/buffer_head.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/iomap.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>

#include "base/foreign.h"
#include "base/scale.h"
#include "base/waker.h"
#include "block/awaited.h"
#include "block/flush.h"
#include "block/io_target.h"
#include "block/upkeep.h"
#include "compat/md.h"
#include "core/reason.h"
#include "graph/found.h"
#include "graph/probe.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/fuse.h"
#include "layers/io.h"
#include "layers/journal.h"
#include "layers/loop.h"
#include "who/commit.h"
#include "who/foreground.h"
#include "who/presence.h"

/* In the detail of waits for a page: its index, and above it its order. */
#define ORDER_SHIFT 56
#define INDEX_MASK ((1ULL << ORDER_SHIFT) - 1)

/*
 * In the detail of a wait for a device: the stacked or loop device that may hold
 * back what the task waits for.
 *
 * In the detail of waits for a range: the first page above, the last below.
 * Ranges beyond 2^32 pages (16 TiB) are taken to reach to the end.
 */
#define FIRST_SHIFT 32
#define BEYOND U32_MAX

/* The same: a wait for the task that writes the file, not for pages. */
#define BEING_WRITTEN ((u64)BEYOND << FIRST_SHIFT)

/* Contexts and tasks' own I/O that a walk looks for: others need places, too. */
#define TURNS_MAX (FGIO_WANTED_MAX / 4)
#define UPKEEP_MAX 16

static u8 kind_of_page_bit(int bit)
{
	switch (bit) {
	case PG_locked:
		return FGIO_WAIT_PAGE_LOCK;
	case PG_writeback:
		return FGIO_WAIT_PAGE_WRITEBACK;
	default:
		return FGIO_WAIT_NONE;
	}
}

/*
 * The caller still has a reference to the folio. A page that is neither in a
 * file nor in a swap area gets an object for which no I/O is found.
 */
static int on_wait_page(struct kretprobe_instance *instance,
			struct pt_regs *regs)
{
	u64 object, detail, index = 0;
	struct folio *folio;
	u8 kind;

	if (!fgio_waits_matter())
		return 1;
	kind = kind_of_page_bit(regs_get_kernel_argument(regs, 1));
	if (kind == FGIO_WAIT_NONE)
		return 1;
	folio = (struct folio *)regs_get_kernel_argument(regs, 0);
	object = fgio_mapping_of_folio(folio, &index);
	if (!object)
		object = (u64)folio | PAGE_MAPPING_FLAGS;
	detail = (index & INDEX_MASK) |
		 (u64)folio_order(folio) << ORDER_SHIFT;
	return fgio_hook_enter(instance, kind, object, detail);
}

int fgio_io_wait_for_pages(struct kretprobe_instance *instance, u64 mapping,
			   u64 first, u64 pages)
{
	u64 order = ilog2(roundup_pow_of_two(pages));

	if (!mapping)
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_PAGE_LOCK, mapping,
			       (first & INDEX_MASK) | order << ORDER_SHIFT);
}

static u64 page_at(loff_t byte)
{
	return min_t(u64, (u64)max_t(loff_t, byte, 0) >> PAGE_SHIFT, BEYOND);
}

/* Called even without writeback. The caller holds the file. */
static int on_wait_range(struct kretprobe_instance *instance,
			 struct pt_regs *regs)
{
	struct address_space *mapping;
	u64 first, last;

	if (!fgio_waits_matter())
		return 1;
	mapping = (struct address_space *)regs_get_kernel_argument(regs, 0);
	if (!mapping_tagged(mapping, PAGECACHE_TAG_WRITEBACK))
		return 1;
	if (fgio_current_serves_requests())
		fgio_commit_note(mapping);
	first = page_at(regs_get_kernel_argument(regs, 1));
	last = page_at(regs_get_kernel_argument(regs, 2));
	if (first > last)
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_FILE_WRITEBACK, (u64)mapping,
			       first << FIRST_SHIFT | last);
}

/* Waits for buffers use bit_wait_io, waits for other bits rarely do. */
static int on_wait_bit(struct kretprobe_instance *instance,
		       struct pt_regs *regs)
{
	int bit;
	u64 journal;

	if (!fgio_waits_matter() ||
	    regs_get_kernel_argument(regs, 2) != (unsigned long)bit_wait_io)
		return 1;
	bit = regs_get_kernel_argument(regs, 1);
	if (bit == BH_Lock)
		return fgio_hook_enter(instance, FGIO_WAIT_BUFFER,
				       regs_get_kernel_argument(regs, 0), 0);
	journal = fgio_journal_of_shadow(bit);
	if (!journal)
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_JOURNAL_SHADOW, journal, 0);
}

/* Context: the inode's i_lock may be held. One of them calls another. */
static int on_wait_inode(struct kretprobe_instance *instance,
			 struct pt_regs *regs)
{
	const struct inode *inode;
	u64 mapping;

	if (!fgio_waits_matter())
		return 1;
	inode = (const struct inode *)regs_get_kernel_argument(regs, 0);
	mapping = (u64)inode->i_mapping;
	if (!(READ_ONCE(inode->i_state) & I_SYNC) || fgio_wait_has(mapping))
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_FILE_WRITEBACK, mapping,
			       BEING_WRITTEN);
}

/* Called even without direct I/O. Context: the inode is locked. */
static int on_wait_direct(struct kretprobe_instance *instance,
			  struct pt_regs *regs)
{
	const struct inode *inode;

	if (!fgio_waits_matter())
		return 1;
	inode = (const struct inode *)regs_get_kernel_argument(regs, 0);
	if (!atomic_read(&inode->i_dio_count))
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_DIRECT_IO,
			       (u64)inode->i_mapping, 0);
}

static void note_worker(const struct inode *inode)
{
	fgio_waker_note((u64)inode->i_mapping, true);
}

/* With each extent, a reservation in the journal ends (journal.c). */
static int on_ext4_convert(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	const struct inode *inode;

	if (!fgio_waits_matter())
		return 1;
	inode = (const struct inode *)regs_get_kernel_argument(regs, 1);
	note_worker(inode);
	fgio_waker_note((u64)inode->i_sb->s_bdev, true);
	return 1;
}

static int on_xfs_end(struct kretprobe_instance *instance,
		      struct pt_regs *regs)
{
	const struct iomap_ioend *done;

	if (!fgio_waits_matter())
		return 1;
	done = (const struct iomap_ioend *)regs_get_kernel_argument(regs, 0);
	note_worker(done->io_inode);
	return 1;
}

/* The caller has the array open. */
static int on_array_write(struct kretprobe_instance *instance,
			  struct pt_regs *regs)
{
	const void *array;
	const struct bio *bio;

	if (!fgio_waits_matter())
		return 1;
	array = (const void *)regs_get_kernel_argument(regs, 0);
	bio = (const struct bio *)regs_get_kernel_argument(regs, 1);
	if (!op_is_write(bio_op(bio)) || !fgio_array_awaits_superblock(array))
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_IO, (u64)array, 0);
}

/* Also called where nothing is to be written. The caller has the array open. */
static int on_array_bitmap(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_IO,
			       regs_get_kernel_argument(regs, 0), 0);
}

/* Most tasks that come here are in a recorded wait. */
static int on_io_schedule(struct kretprobe_instance *instance,
			  struct pt_regs *regs)
{
	if (!fgio_waits_matter() || fgio_wait_has_any() ||
	    !fgio_current_is_foreground())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_IO, 0,
			       fgio_gave_critical_to_stacked());
}

static struct fgio_hook hooks[] = {
	FGIO_HOOK("folio_wait_bit_common", IO, on_wait_page, fgio_hook_leave),
	FGIO_HOOK("__filemap_fdatawait_range", IO, on_wait_range,
		  fgio_hook_leave),
	FGIO_HOOK("out_of_line_wait_on_bit", IO, on_wait_bit, fgio_hook_leave),
	FGIO_HOOK("out_of_line_wait_on_bit_lock", IO, on_wait_bit,
		  fgio_hook_leave),
	FGIO_HOOK("inode_wait_for_writeback", IO, on_wait_inode,
		  fgio_hook_leave),
	/* 6.1 only; later kernels have one function for both. */
	FGIO_HOOK("__inode_wait_for_writeback", IO, on_wait_inode,
		  fgio_hook_leave, .optional = true),
	FGIO_HOOK("inode_sleep_on_writeback", IO, on_wait_inode,
		  fgio_hook_leave),
	FGIO_HOOK("inode_dio_wait", IO, on_wait_direct, fgio_hook_leave),
	FGIO_HOOK("ext4:ext4_convert_unwritten_extents", IO, on_ext4_convert,
		  NULL),
	FGIO_HOOK("xfs:xfs_end_ioend", IO, on_xfs_end, NULL),
	FGIO_HOOK("md_mod:md_write_start", IO, on_array_write, fgio_hook_leave),
	FGIO_HOOK("md_mod:bitmap_unplug", IO, on_array_bitmap, fgio_hook_leave,
		  .optional = true),
	/* 6.1 */
	FGIO_HOOK("md_mod:md_bitmap_unplug", IO, on_array_bitmap,
		  fgio_hook_leave, .optional = true),
	FGIO_HOOK("io_schedule", BLAME, on_io_schedule, fgio_hook_leave),
	FGIO_HOOK("io_schedule_timeout", BLAME, on_io_schedule,
		  fgio_hook_leave),
	{}
};

static void want_page(const struct fgio_walk_step *step)
{
	u64 first = step->wait->detail & INDEX_MASK;
	u64 pages = 1ULL << (step->wait->detail >> ORDER_SHIFT);

	if (step->wait->object & PAGE_MAPPING_FLAGS)
		return;
	fgio_wanted_add(step, FGIO_WANTED_PAGES, step->wait->object, first,
			first + pages - 1);
}

static void want_range(const struct fgio_walk_step *step)
{
	u64 first = step->wait->detail >> FIRST_SHIFT;
	u64 last = step->wait->detail & BEYOND;

	fgio_wanted_add(step, FGIO_WANTED_PAGES, step->wait->object, first,
			last == BEYOND ? U64_MAX : last);
}

/*
 * A running task submits the I/O that it prepared, or waits, before the next
 * walk: a boost would mostly be in vain. Once boosted, a task stays so until the
 * I/O is found.
 */
bool fgio_io_holds_up(u64 task)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];

	return task && (fgio_wait_copy_of(task, waits, NULL) ||
			fgio_task_is_boosted(task));
}

/* For the walk's thread alone: what walk @number was asked for. */
static struct {
	u32 number;
	unsigned int count;
	unsigned int apart;
} turns = { .apart = 1 };

/*
 * @context: 0 where a task sleeps for its own I/O alone.
 *
 * Tasks that sleep for contexts, or for their own I/O, are as many as they like,
 * and need no help for it. When there are more of them than places, they take
 * turns by chance, which no number of walks between the turns of foreground tasks
 * can be in step with.
 */
static bool has_turn(const struct fgio_walk_step *step, u64 context)
{
	u32 number = step->walk->number;

	if (turns.number != number) {
		turns.apart = turns.count / TURNS_MAX + 1;
		turns.number = number;
		turns.count = 0;
	}
	turns.count++;
	return hash_64((context ^ step->task) + number * GOLDEN_RATIO_64, 16) %
		       turns.apart ==
	       0;
}

static void want_own(const struct fgio_walk_step *step)
{
	if (!step->wait->detail)
		fgio_walk_note_fact(step->link, FGIO_FACT_IO_LOST);
	else if (has_turn(step, 0))
		fgio_wanted_add(step, FGIO_WANTED_OWN, step->task, 0, 0);
}

/* A guess does not justify all upkeep of all devices. */
static void want_upkeep(const struct fgio_walk_step *step)
{
	static u32 number;
	static unsigned int count;

	if (step->walk->links[step->link].guess)
		return;
	fgio_awaited_note_upkeep();
	if (number != step->walk->number)
		count = 0;
	number = step->walk->number;
	/* What one wants is the same for all: the others are for blame. */
	if (count++ < UPKEEP_MAX)
		fgio_wanted_add(step, FGIO_WANTED_UPKEEP, 0, 0, 0);
}

static void blockers(const struct fgio_walk_step *step)
{
	switch (step->wait->kind) {
	case FGIO_WAIT_IO:
		if (step->wait->object)
			want_upkeep(step);
		else
			want_own(step);
		break;
	case FGIO_WAIT_PAGE_LOCK:
	case FGIO_WAIT_PAGE_WRITEBACK:
		want_page(step);
		break;
	case FGIO_WAIT_BUFFER:
		fgio_wanted_add(step, FGIO_WANTED_PRIVATE, step->wait->object,
				0, 0);
		break;
	case FGIO_WAIT_DIRECT_IO:
		fgio_wanted_add(step, FGIO_WANTED_DIRECT, step->wait->object,
				0, 0);
		break;
	case FGIO_WAIT_FILE_WRITEBACK:
		if (step->wait->detail == BEING_WRITTEN)
			fgio_found_by_history(step, step->wait->object,
					      fgio_io_holds_up);
		else
			want_range(step);
		break;
	}
}

/* A task that is being woken does not. */
static bool sleeps(u64 key)
{
	struct task_struct *task;
	bool is_asleep;

	rcu_read_lock();
	task = fgio_task_at(key);
	is_asleep = task && READ_ONCE(task->__state) & TASK_NORMAL;
	rcu_read_unlock();
	return is_asleep;
}

/* As mapping_tagged(), for a file that may be gone. */
static bool is_under_writeback(const struct address_space *mapping)
{
	gfp_t flags;

	return !get_kernel_nofault(flags, &mapping->i_pages.xa_flags) &&
	       flags & XA_FLAGS_MARK(PAGECACHE_TAG_WRITEBACK);
}

/*
 * Whether a task still waits for I/O. I/O that is done is not found either, and
 * its waiter may have yet to run.
 */
static bool is_outstanding(u64 task, const struct fgio_wanted *wanted)
{
	unsigned long flags;
	bool waits;

	if (!fgio_wait_hold(task, wanted->wait.seq, &flags))
		return false;
	waits = sleeps(task);
	if (wanted->wait.kind == FGIO_WAIT_FILE_WRITEBACK)
		waits &= is_under_writeback((const struct address_space *)
						    wanted->object);
	fgio_wait_release(task, flags);
	return waits;
}

/* The block device that I/O is for, or 0 where that is not known. */
static u64 device_of(const struct fgio_wanted *wanted)
{
	if (wanted->kind == FGIO_WANTED_PAGES ||
	    wanted->kind == FGIO_WANTED_DIRECT)
		return fgio_file_system_of(wanted->object);
	if (wanted->kind == FGIO_WANTED_OWN)
		return wanted->wait.detail;
	/* May be none: other subsystems wait for bits in the same way. */
	if (wanted->wait.kind == FGIO_WAIT_BUFFER)
		return fgio_kernel_word(
			wanted->object + offsetof(struct buffer_head, b_bdev));
	return 0;
}

/*
 * Whether a stacked device may hold I/O back that is in no queue. A flush is in
 * none either, and a journal waits for that of its commit by a buffer.
 */
static bool may_be_held_back(u64 task, u64 device)
{
	return fgio_is_stacked(device) && !fgio_flush_is_pending(task);
}

void fgio_io_not_found(struct fgio_walk *walk,
		       const struct fgio_wanted *wanted)
{
	struct fgio_walk_step step = {
		.walk = walk,
		.link = wanted->link,
		.task = walk->links[wanted->link].task,
		.wait = &wanted->wait,
	};
	u64 device;

	if (!is_outstanding(step.task, wanted))
		return;
	fgio_walk_note_fact(step.link, FGIO_FACT_IO_LOST);
	if (wanted->kind == FGIO_WANTED_UPKEEP)
		return;
	device = device_of(wanted);
	if (may_be_held_back(step.task, device))
		want_upkeep(&step);
	/* No task: sets the wait for which tasks are found below. */
	fgio_walk_found_from(walk, step.link, step.wait, 0);
	fgio_loop_find_workers(&step, device);
	if (wanted->kind == FGIO_WANTED_OWN)
		return;
	/* Pages of FUSE are no device's: its daemon reads and writes them. */
	if (wanted->kind == FGIO_WANTED_PAGES &&
	    fgio_fuse_find_servers(&step, wanted->object))
		return;
	fgio_found_by_history(&step, wanted->object, fgio_io_holds_up);
}

void fgio_io_want_context(const struct fgio_walk_step *step, u64 context)
{
	if (context && has_turn(step, context))
		fgio_wanted_add(step, FGIO_WANTED_CONTEXT, context, 0, 0);
}

const struct fgio_layer fgio_io_layer = {
	.name = "io",
	.mechanism = FGIO_MECHANISM_IO,
	.kinds = FGIO_WAIT_RANGE(FGIO_WAIT_PAGE_LOCK,
				 FGIO_WAIT_FILE_WRITEBACK) |
		 BIT_ULL(FGIO_WAIT_DIRECT_IO) | BIT_ULL(FGIO_WAIT_IO),
	.hooks = hooks,
	.blockers = blockers,
	.not_found = fgio_io_not_found,
};
