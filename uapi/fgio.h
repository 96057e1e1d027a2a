/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The contract between the fgio module and user space: /dev/fgio.
 *
 * A *tag* is the class of one thread's I/O. Tags belong to a thread,
 * not to a process: they are not inherited by fork() or pthread_create(), they
 * survive execve(), and they end with the thread. A thread without a tag is
 * judged by its I/O priority (see docs/classes.md).
 *
 * A *thread flag* (struct fgio_word) says the same while a section of code runs:
 * memory that the thread writes without a system call, and that the module reads
 * when the thread submits I/O or waits.
 *
 * Every structure is passed by pointer and has the same layout for 32-bit and
 * 64-bit callers. Reserved fields must be zero: the module answers EINVAL when
 * they are not, so that they can be given a meaning later.
 *
 * All calls may sleep. None of them does I/O.
 */
#ifndef _UAPI_FGIO_H
#define _UAPI_FGIO_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "fgio_reason.h"
#include "fgio_request.h"

#define FGIO_DEVICE_PATH "/dev/fgio"

/* Raised when a call changes its meaning; new calls do not raise it. */
#define FGIO_ABI_VERSION 1

/* Values of fgio_tag.class and fgio_word.class. */
enum fgio_tag_class {
	/* No tag: the thread's I/O priority decides. */
	FGIO_TAG_NONE = 0,
	/* Requests wait for this thread: its I/O is critical. */
	FGIO_TAG_FOREGROUND = 1,
	/* No request waits for this thread, whatever its I/O priority says. */
	FGIO_TAG_BACKGROUND = 2,
};

/* Bits of fgio_info.hooks_expected and fgio_info.hooks_live. */
#define FGIO_HOOK_BLOCK_BIO_QUEUE    (1U << 0) /* classes reach the block layer */
#define FGIO_HOOK_SCHED_PROCESS_EXIT (1U << 1) /* tags end with their thread */

/**
 * struct fgio_info - the module's version, limits and live hooks
 * @abi: FGIO_ABI_VERSION of the module
 * @hooks_expected: hooks this module has on this kernel
 * @hooks_live: the ones that attached
 * @tags: threads now that are tagged, have a thread flag, or have declared a
 *	wait
 * @tags_max: the most there can be at once
 * @queues: block device queues under the fgio elevator now
 * @reserved: zero
 * @version: module version, a string that ends with a NUL
 */
struct fgio_info {
	__u32 abi;
	__u32 hooks_expected;
	__u32 hooks_live;
	__u32 tags;
	__u32 tags_max;
	__u32 queues;
	__u32 reserved[2];
	char version[32];
};

/**
 * struct fgio_tag - the tag of one thread
 * @tid: thread id in the caller's pid namespace; 0 is the calling thread
 * @class: enum fgio_tag_class
 */
struct fgio_tag {
	__s32 tid;
	__u32 class;
};

/**
 * struct fgio_tag_list - the tags that exist
 * @tags: user address of an array of struct fgio_tag
 * @capacity: in: length of the array, at most 1,048,576
 * @count: out: tags visible from the caller's pid namespace; when it is larger
 *	than @capacity, only @capacity of them were written
 */
struct fgio_tag_list {
	__u64 tags;
	__u32 capacity;
	__u32 count;
};

/**
 * struct fgio_promote - move a queued I/O to the critical side
 * @sector: a sector (512 bytes) that the I/O covers, counted from the start of
 *	the whole disk
 * @major: of the whole disk
 * @minor: of the whole disk
 * @promoted: out: requests moved; 0 when none is queued there
 * @reserved: zero
 */
struct fgio_promote {
	__u64 sector;
	__u32 major;
	__u32 minor;
	__u32 promoted;
	__u32 reserved;
};

/**
 * struct fgio_rearm - take up work again on one disk
 * @major: of the whole disk
 * @minor: of the whole disk
 * @tripped: out: 1 when the watchdog had tripped for it, else 0
 * @reserved: zero
 */
struct fgio_rearm {
	__u32 major;
	__u32 minor;
	__u32 tripped;
	__u32 reserved;
};

/*
 * Kinds of waits of foreground threads: the values of fgio_blame_entry.kind and
 * fgio_blame_step.kind: X(NAME, value, name for programs, name for people).
 * The tools read this list when they are built. A value, once released, keeps
 * its meaning; new kinds are added at the end.
 */
#define FGIO_WAIT_KIND_LIST(X)						\
	X(NONE, 0, "none", "nothing known")				\
	X(MUTEX, 1, "mutex", "mutex")					\
	X(RWSEM_READ, 2, "rwsem-read", "inode/rw lock (read)")		\
	X(RWSEM_WRITE, 3, "rwsem-write", "inode/rw lock (write)")	\
	X(SEMAPHORE, 4, "semaphore", "semaphore")			\
	X(PERCPU_RWSEM, 5, "percpu-rwsem", "per-CPU rw lock")		\
	X(JOURNAL_COMMIT, 6, "journal-commit", "journal commit")	\
	X(JOURNAL_LOCKED, 7, "journal-locked", "locked transaction")	\
	X(JOURNAL_UPDATES, 8, "journal-updates", "open journal handles") \
	X(JOURNAL_SPACE, 9, "journal-space", "room in the journal")	\
	X(JOURNAL_FAST, 10, "journal-fast", "fast commit")		\
	X(JOURNAL_SHADOW, 11, "journal-shadow", "buffer being journalled") \
	X(XFS_LOG, 12, "xfs-log", "XFS log")				\
	X(XFS_BUFFER, 13, "xfs-buffer", "XFS buffer")			\
	X(PAGE_LOCK, 14, "page-lock", "page lock")			\
	X(PAGE_WRITEBACK, 15, "page-writeback", "page under writeback")	\
	X(BUFFER, 16, "buffer", "buffer I/O")				\
	X(FILE_WRITEBACK, 17, "file-writeback", "writeback of the file") \
	X(FUTEX, 18, "futex", "user lock")				\
	X(CONDITION, 19, "condition", "user condition")			\
	X(SYSV_SEMAPHORE, 20, "sysv-semaphore", "System V semaphore")	\
	X(THREAD, 21, "thread", "thread named by hint")			\
	X(ADMISSION, 22, "admission", "slot of the queue")		\
	X(DIRTY, 23, "dirty", "dirty limit")				\
	X(IO, 24, "io", "device I/O")					\
	X(URING, 25, "uring", "request of io_uring")			\
	X(FILE_LOCK, 26, "file-lock", "lock of a file")			\
	X(LEASE, 27, "lease", "lease of a file")			\
	X(DIRECT_IO, 28, "direct-io", "direct I/O of the file")		\
	X(REPLY, 29, "reply", "message of another task")		\
	X(CHILD, 30, "child", "end of a child")				\
	X(JOURNAL_RESERVED, 31, "journal-reserved", "reserved journal credits") \
	X(NAME, 32, "name", "name being looked up")			\
	X(INODE, 33, "inode", "inode being read")			\
	X(AIO, 34, "aio", "completion of libaio")			\
	X(BTRFS_COMMIT, 35, "btrfs-commit", "btrfs transaction")	\
	X(BTRFS_LOG, 36, "btrfs-log", "btrfs log")			\
	X(BTRFS_EXTENT, 37, "btrfs-extent", "extent being completed")	\
	X(FUSE, 38, "fuse", "answer of a FUSE daemon")			\
	X(EVENT, 39, "event", "handler of an event")

#define FGIO_WAIT_KIND_VALUE(name, value, id, label) FGIO_WAIT_##name = value,

enum fgio_wait_kind {
	FGIO_WAIT_KIND_LIST(FGIO_WAIT_KIND_VALUE)
	FGIO_WAIT_KINDS,
};

#undef FGIO_WAIT_KIND_VALUE

/**
 * struct fgio_wait_for - the calling thread waits for another
 * @tid: the thread in the caller's pid namespace that it waits for; 0 ends the
 *	hint
 * @reserved: zero
 */
struct fgio_wait_for {
	__s32 tid;
	__u32 reserved;
};

/* Bits of fgio_hook.state. */
#define FGIO_HOOK_WORKS    (1U << 0) /* it could be attached when last tried */
#define FGIO_HOOK_ATTACHED (1U << 1) /* it is attached now */
#define FGIO_HOOK_OPTIONAL (1U << 2) /* some kernels do not have it */

/**
 * struct fgio_hook_state - a place in the kernel where the module looks on
 * @name: function or tracepoint, ends with a NUL
 * @mechanism: name of the switch that it serves, ends with a NUL
 * @state: FGIO_HOOK_* bits
 * @error: positive error number why it cannot be attached, or 0
 * @missed: calls that were missed because too many tasks were inside
 */
struct fgio_hook_state {
	char name[48];
	char mechanism[16];
	__u32 state;
	__u32 error;
	__u64 missed;
};

/**
 * struct fgio_hook_list - the hooks of this module
 * @hooks: user address of an array of struct fgio_hook_state
 * @capacity: in: length of the array
 * @count: out: hooks there are; at most @capacity of them were written
 */
struct fgio_hook_list {
	__u64 hooks;
	__u32 capacity;
	__u32 count;
};

/**
 * struct fgio_state - what inheritance and the watchdog do; totals since the
 *	module was loaded unless said otherwise
 * @foreground_waiting: foreground tasks that wait now
 * @boosted: tasks that are boosted now
 * @walks: walks over the wait graph
 * @walk_ns: time that they took
 * @boosts: leases granted, renewals not counted
 * @boosted_ns: task time under a boost, as walks see it: a boost that ended before
 *	one came is not in it
 * @boosted_in_vain_ns: the part of it that served no wait, at most
 * @promoted_requests: queued requests made critical
 * @promoted_sleepers: tasks made critical that slept for a slot
 * @promoted_writers: tasks let go that were parked at the dirty limit
 * @parked_ns: time that writers were parked there
 * @waits_lost: waits that were not recorded, or were given up for others,
 *	because tables were full
 * @walk_overflows: tasks that a walk had no room for
 * @blame_lost: entries of the blame ring that were overwritten, read or not
 * @watchdog_tripped: disks for which the watchdog tripped, whose I/O is all let
 *	through
 * @watches_lost: conditions and semaphores that foreground tasks wait for,
 *	pushed out of the history of wakers by others of the kind; wraps
 * @watchdog_at_ns: when the first of these disks tripped, CLOCK_REALTIME
 * @watchdog_reason: why that one did, ends with a NUL
 */
struct fgio_state {
	__u32 foreground_waiting;
	__u32 boosted;
	__u64 walks;
	__u64 walk_ns;
	__u64 boosts;
	__u64 boosted_ns;
	__u64 boosted_in_vain_ns;
	__u64 promoted_requests;
	__u64 promoted_sleepers;
	__u64 promoted_writers;
	__u64 parked_ns;
	__u64 waits_lost;
	__u64 walk_overflows;
	__u64 blame_lost;
	__u32 watchdog_tripped;
	__u32 watches_lost;
	__u64 watchdog_at_ns;
	char watchdog_reason[128];
};

#define FGIO_BLAME_STEPS 8

/**
 * struct fgio_blame_step - a task on the way from a wait to its cause
 * @tid: thread in the initial pid namespace; 0 when it is not known
 * @kind: what this task itself waited for, enum fgio_wait_kind; FGIO_WAIT_NONE
 *	when it was running, or waited for something that is not followed
 * @comm: its name, ends with a NUL
 */
struct fgio_blame_step {
	__s32 tid;
	__u32 kind;
	char comm[16];
};

/* Bits of fgio_blame_entry.actions: the module's actions for the wait. */
#define FGIO_BLAME_BOOSTED           (1U << 0) /* a task on the way */
#define FGIO_BLAME_PROMOTED_REQUEST  (1U << 1)
#define FGIO_BLAME_PROMOTED_SLEEPER  (1U << 2)
#define FGIO_BLAME_PROMOTED_WRITER   (1U << 3)

/**
 * struct fgio_blame_entry - a wait of a foreground task beyond the threshold
 * @end_ns: when it ended, CLOCK_MONOTONIC
 * @waited_ns: how long it took
 * @object: number of the awaited object, which means nothing but equality
 * @request: id of the request that the task served by its thread flag, see
 *	fgio_request.h; 0: none
 * @deadline_ms: with @request: as in struct fgio_word
 * @parts: the same
 * @tid: the task that waited, thread in the initial pid namespace
 * @kind: kind of its wait, enum fgio_wait_kind
 * @inner_kind: kind of wait of the last task of the chain, as far as it is
 *	known; else of the task's own last wait
 * @actions: FGIO_BLAME_* bits
 * @steps: length of @step
 * @reason: why nothing is known beyond the last step, or beyond the wait itself
 *	where there is none, enum fgio_reason
 * @comm: name of the task that waited, ends with a NUL
 * @step: the longest chain seen: the task that was waited for, the task it
 *	waited for, and so on
 */
struct fgio_blame_entry {
	__u64 end_ns;
	__u64 waited_ns;
	__u64 object;
	__u64 request;
	__u32 deadline_ms;
	__u32 parts;
	__s32 tid;
	__u32 kind;
	__u32 inner_kind;
	__u32 actions;
	__u32 steps;
	__u32 reason;
	char comm[16];
	struct fgio_blame_step step[FGIO_BLAME_STEPS];
};

/* Room for reasons to come. */
#define FGIO_REASONS_ROOM 32

/**
 * struct fgio_reasons - waits of foreground tasks beyond the threshold, by why
 *	nothing is known beyond their last step; totals since the module was
 *	loaded
 * @waits: their number, by enum fgio_reason; zero beyond FGIO_REASONS
 * @waited_ns: the time that they took
 */
struct fgio_reasons {
	__u64 waits[FGIO_REASONS_ROOM];
	__u64 waited_ns[FGIO_REASONS_ROOM];
};

/**
 * struct fgio_blame - read what foreground tasks waited for
 * @cursor: in: where to go on, 0 for the oldest there is; out: where to go on
 *	next time
 * @entries: user address of an array of struct fgio_blame_entry
 * @capacity: in: length of the array, at most 65,536
 * @count: out: entries written
 * @lost: out: entries between the two cursors that were overwritten
 */
struct fgio_blame {
	__u64 cursor;
	__u64 entries;
	__u32 capacity;
	__u32 count;
	__u64 lost;
};

/*
 * Thread flags: an open file of /dev/fgio can be mapped by mmap(2), at offset
 * 0, with MAP_SHARED, readable or writable or both, opened for reading and
 * writing. The map is an array of struct fgio_word, zero at first. The first
 * map of a file, rounded up to pages, says how many there are; later ones may
 * be as large or smaller.
 * EINVAL: larger than FGIO_WORDS_BYTES_MAX, or than the first; another offset;
 * not shared; not opened for writing. EPERM: executable. ENOMEM: no memory, or
 * more than RLIMIT_MEMLOCK allows the user (CAP_IPC_LOCK lifts that).
 *
 * Children of fork(2) do not get the map, and are not tied to its flags. The
 * ties of threads go with the last map of a file (munmap(2), execve(2), exit(2)):
 * what is left in the flags then counts for no thread.
 */
#define FGIO_WORDS_BYTES_MAX (1U << 20)

/**
 * struct fgio_word - a thread flag: the class of the section of code that runs
 * @class: enum fgio_tag_class; with FGIO_TAG_NONE, or a number that is no class,
 *	the thread's tag decides. Written by the thread itself, at any time, as
 *	one aligned store. It holds for I/O that is submitted and for waits that
 *	begin from then on.
 * @reserved: zero
 * @request: id of the request that the section serves, see
 *	fgio_request.h; 0 for none
 * @deadline_ms: with @request: when its user wants the answer, in milliseconds
 *	after its arrival; 0: unknown
 * @parts: with @request: sub-requests that it has, on all servers together; 0:
 *	unknown
 * @reserved_more: zero
 *
 * As long as a cache line, so that threads do not disturb each other.
 */
struct fgio_word {
	__u32 class;
	__u32 reserved;
	__u64 request;
	__u32 deadline_ms;
	__u32 parts;
	__u64 reserved_more[5];
};

/* Bits of fgio_word_slot.flags. */
#define FGIO_WORD_CLEAR (1U << 0) /* the thread has no flag any more */

/**
 * struct fgio_word_slot - which flag is the calling thread's
 * @index: of the file's flags, from 0; ignored with FGIO_WORD_CLEAR
 * @flags: FGIO_WORD_* bits
 */
struct fgio_word_slot {
	__u32 index;
	__u32 flags;
};

/**
 * struct fgio_word_at - which flag is the calling thread's
 * @address: of a struct fgio_word in a map that the calling process has
 */
struct fgio_word_at {
	__u64 address;
};

/* Bits of fgio_share.flags. */
#define FGIO_SHARE_ASKS (1U << 0) /* its tasks have I/O, or had it lately */

/**
 * struct fgio_share - a cgroup's share of a disk
 * @cgroup: its id: the inode number of its folder in a cgroup file system. The
 *	root's folder has the id 1
 * @parent: id of its parent; 0: it is the root
 * @requests: sent to the disk by its tasks, or because they waited for them
 * @sectors: their length, in 512 bytes
 * @drive_ns: time of the disk that it was charged for them
 * @held: times that it had less than its guarantee and others were held back
 * @lag_ns: time of the disk that it is behind its guarantee now, as if it had the
 *	disk alone; 0: it is not
 * @weight: as users set it, 1 to 10,000
 * @guarantee: its part of the disk's time, in millionths, while those cgroups do
 *	I/O that did it lately; if it did none, the part that it would have
 * @queued: its requests in the scheduler's queue now
 * @in_drive: its requests in the disk now
 * @flags: FGIO_SHARE_* bits
 * @scale: what its weight counts for, in parts of 1,024; @guarantee has it
 *
 * Requests, sectors, times and counts are totals since it first used the disk
 * under fgio, for the time in which the disk was shared.
 */
struct fgio_share {
	__u64 cgroup;
	__u64 parent;
	__u64 requests;
	__u64 sectors;
	__u64 drive_ns;
	__u64 held;
	__u64 lag_ns;
	__u32 weight;
	__u32 guarantee;
	__u32 queued;
	__u32 in_drive;
	__u32 flags;
	__u32 scale;
};

/* Most entries of one call of FGIO_IOC_SHARES. */
#define FGIO_SHARES_AT_ONCE 512U

/* Bits of fgio_share_list.state. */
#define FGIO_SHARES_FOLLOWED (1U << 0) /* its cgroups are known */
#define FGIO_SHARES_ON       (1U << 1) /* it is shared by weight now */

/**
 * struct fgio_share_list - the cgroups that have used a disk
 * @cursor: in: 0 at first; out: where to go on
 * @shares: user address of an array of struct fgio_share
 * @capacity: in: length of the array, at most FGIO_SHARES_AT_ONCE; 0 for the
 *	state alone
 * @count: out: entries written; fewer than @capacity: these were the last
 * @major: of the whole disk
 * @minor: of the whole disk
 * @state: out: FGIO_SHARES_* bits
 * @groups: out: cgroups there were at the last look; 50 ms ago, or a second
 *	while the disk is not shared
 * @asking: out: those of them that had I/O since the look before it
 * @reserved: zero
 */
struct fgio_share_list {
	__u64 cursor;
	__u64 shares;
	__u32 capacity;
	__u32 count;
	__u32 major;
	__u32 minor;
	__u32 state;
	__u32 groups;
	__u32 asking;
	__u32 reserved;
};

/* What a weight may count for, in parts of 1,024; and the longest it may do so. */
#define FGIO_SCALE_LEAST      256U
#define FGIO_SCALE_MOST       4096U
#define FGIO_SCALE_HOLD_MS_MAX 60000U

/**
 * struct fgio_share_scale - what the weight of a cgroup counts for
 * @cgroup: its id, as in struct fgio_share
 * @scale: in parts of 1,024, FGIO_SCALE_LEAST to FGIO_SCALE_MOST
 * @hold_ms: after this time the weight counts for itself again, unless it has been
 *	said again; 1 to FGIO_SCALE_HOLD_MS_MAX
 */
struct fgio_share_scale {
	__u64 cgroup;
	__u32 scale;
	__u32 hold_ms;
};

#define FGIO_IOC_MAGIC 0xF6

/* No permission needed. */
#define FGIO_IOC_INFO _IOR(FGIO_IOC_MAGIC, 0, struct fgio_info)

/*
 * Sets (or, with FGIO_TAG_NONE, clears) a thread's tag. A thread of another
 * user needs CAP_SYS_NICE, as with ioprio_set(2). For callers without it
 * the administrator's limits hold (docs/trust.md): EACCES: foreground,
 * and the thread is in none of the listed cgroups. EDQUOT: the thread's user has
 * as many foreground threads as it may, or half of tags_max threads of any
 * class, or a listed cgroup has as many foreground threads as it may.
 * EINVAL: no such class, or tid below 0. ESRCH: no such thread. EPERM.
 * ENOSPC: tags_max threads are tagged, or have a flag, already. EOPNOTSUPP: the
 * module could not attach FGIO_HOOK_SCHED_PROCESS_EXIT.
 */
#define FGIO_IOC_SET_TAG _IOW(FGIO_IOC_MAGIC, 1, struct fgio_tag)

/*
 * Reads a thread's class now: that of its flag, if it has one, else that of its
 * tag. ESRCH: no such thread. No permission needed.
 */
#define FGIO_IOC_GET_TAG _IOWR(FGIO_IOC_MAGIC, 2, struct fgio_tag)

/*
 * Lists the threads that have a class now, by tag or flag, in no order. EINVAL:
 * capacity too large. No permission needed.
 */
#define FGIO_IOC_LIST_TAGS _IOWR(FGIO_IOC_MAGIC, 3, struct fgio_tag_list)

/*
 * Promotes the I/O that is queued at a sector. Needs CAP_SYS_ADMIN. ENODEV: no such
 * disk, or its queue is not under the fgio elevator.
 */
#define FGIO_IOC_PROMOTE _IOWR(FGIO_IOC_MAGIC, 4, struct fgio_promote)

/*
 * Says that the calling thread waits for another one, for locks that the
 * kernel cannot see. It holds until it is ended, or either thread ends. Waiting
 * threads that requests wait for lend their class to the thread they wait for.
 * A thread of another user needs CAP_SYS_NICE. EINVAL: tid below 0, or the
 * calling thread itself. ESRCH: no such thread. EPERM. EOPNOTSUPP: the module
 * could not attach FGIO_HOOK_SCHED_PROCESS_EXIT.
 *
 * While foreground tasks exist a thread counts from its first such call until
 * it ends, toward tags_max and toward its user's limits (docs/trust.md). EDQUOT:
 * the user has as many such threads as it may have foreground threads, or half
 * of tags_max threads of any kind; CAP_SYS_NICE is exempt. ENOSPC: tags_max
 * threads count already. What the thread declared before then holds on.
 */
#define FGIO_IOC_WAIT_FOR _IOW(FGIO_IOC_MAGIC, 5, struct fgio_wait_for)

/* Lists hooks. No permission needed. */
#define FGIO_IOC_HOOKS _IOWR(FGIO_IOC_MAGIC, 6, struct fgio_hook_list)

/* No permission needed. */
#define FGIO_IOC_STATE _IOR(FGIO_IOC_MAGIC, 7, struct fgio_state)

/*
 * Takes up work again on all disks for which the watchdog tripped. Needs
 * CAP_SYS_ADMIN.
 */
#define FGIO_IOC_REARM _IO(FGIO_IOC_MAGIC, 8)

/*
 * Reads the blame ring. Needs CAP_SYS_ADMIN, since it names threads of all
 * users. EINVAL: capacity too large. Never waits.
 */
#define FGIO_IOC_BLAME _IOWR(FGIO_IOC_MAGIC, 9, struct fgio_blame)

/*
 * Ties the calling thread to a word of this file, instead of the one it had,
 * until it says otherwise, it ends, or the last map of the file goes. As long
 * as a thread has a word it counts as a possible foreground task: waits are
 * followed, and it counts toward tags_max and as a foreground thread. It needs
 * what it takes to tag oneself foreground. EINVAL: no such word or flag, or the
 * words are not mapped. EACCES, EDQUOT, ENOSPC and EOPNOTSUPP: as for
 * FGIO_IOC_SET_TAG.
 */
#define FGIO_IOC_SET_WORD _IOW(FGIO_IOC_MAGIC, 10, struct fgio_word_slot)

/*
 * The same by address, through any open file of the device: for programs that
 * may close files behind the back of the code that opened them, so that a
 * number means another open file. The map keeps the file. EINVAL: no word of a
 * map is there. Else as FGIO_IOC_SET_WORD.
 */
#define FGIO_IOC_TIE_WORD _IOW(FGIO_IOC_MAGIC, 11, struct fgio_word_at)

/*
 * The same as FGIO_IOC_REARM for one disk; others stay as they are. Does nothing
 * where the watchdog has not tripped. Needs CAP_SYS_ADMIN. ENODEV: no such disk,
 * or its queue is not under the fgio elevator.
 */
#define FGIO_IOC_REARM_DISK _IOWR(FGIO_IOC_MAGIC, 12, struct fgio_rearm)

/*
 * Lists the cgroups that have used a disk, in the order in which they came, a part
 * of them at a call. Cgroups that come or go between two calls may be listed or
 * not; all others are listed once. Needs CAP_SYS_NICE, since a call holds up the
 * looks at weights while it lasts. EINVAL: capacity too large. ENODEV: no such disk, or its queue is
 * not under the fgio elevator.
 */
#define FGIO_IOC_SHARES _IOWR(FGIO_IOC_MAGIC, 13, struct fgio_share_list)

/* No permission needed: names no task. */
#define FGIO_IOC_REASONS _IOR(FGIO_IOC_MAGIC, 14, struct fgio_reasons)

/*
 * Lets the weight of a cgroup count for more or less than users set it, on all
 * disks that it has used, within 100 ms. Groups below it share what it has as
 * before. A disk is shared or not as without it. Needs CAP_SYS_NICE. EINVAL: not
 * within the bounds. ENOENT: the cgroup has used no disk that is under fgio.
 */
#define FGIO_IOC_SCALE_SHARE _IOW(FGIO_IOC_MAGIC, 15, struct fgio_share_scale)

#endif /* _UAPI_FGIO_H */
