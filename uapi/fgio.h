/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The contract between the fgio module and user space: /dev/fgio.
 *
 * A *tag* says what the I/O of one thread is worth. Tags belong to a thread,
 * not to a process: they are not inherited by fork() or pthread_create(), they
 * survive execve(), and they end with the thread. A thread without a tag is
 * judged by its I/O priority (see docs/classes.md).
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

#define FGIO_DEVICE_PATH "/dev/fgio"

/* Raised when a call changes its meaning; new calls do not raise it. */
#define FGIO_ABI_VERSION 1

/* Values of fgio_tag.class. */
enum fgio_tag_class {
	/* No tag: the thread's I/O priority decides. */
	FGIO_TAG_NONE = 0,
	/* Requests wait for this thread: its I/O is critical. */
	FGIO_TAG_FOREGROUND = 1,
	/* Nobody waits for this thread, whatever its I/O priority says. */
	FGIO_TAG_BACKGROUND = 2,
};

/* Bits of fgio_info.hooks_expected and fgio_info.hooks_live. */
#define FGIO_HOOK_BLOCK_BIO_QUEUE    (1U << 0) /* classes reach the block layer */
#define FGIO_HOOK_SCHED_PROCESS_EXIT (1U << 1) /* tags end with their thread */

/**
 * struct fgio_info - what the module is and which of its hooks are live
 * @abi: FGIO_ABI_VERSION of the module
 * @hooks_expected: hooks this module has on this kernel
 * @hooks_live: the ones that attached
 * @tags: threads tagged now
 * @tags_max: threads that can be tagged at once
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

#define FGIO_IOC_MAGIC 0xF6

/* No permission needed. */
#define FGIO_IOC_INFO _IOR(FGIO_IOC_MAGIC, 0, struct fgio_info)

/*
 * Sets (or, with FGIO_TAG_NONE, clears) a thread's tag. A thread of another
 * user needs CAP_SYS_NICE, as with ioprio_set(2).
 * EINVAL: no such class, or tid below 0. ESRCH: no such thread. EPERM.
 * ENOSPC: tags_max threads are tagged already. EOPNOTSUPP: the module could
 * not attach FGIO_HOOK_SCHED_PROCESS_EXIT.
 */
#define FGIO_IOC_SET_TAG _IOW(FGIO_IOC_MAGIC, 1, struct fgio_tag)

/* Reads a thread's tag. ESRCH: no such thread. No permission needed. */
#define FGIO_IOC_GET_TAG _IOWR(FGIO_IOC_MAGIC, 2, struct fgio_tag)

/* Lists tags, in no order. EINVAL: capacity too large. No permission needed. */
#define FGIO_IOC_LIST_TAGS _IOWR(FGIO_IOC_MAGIC, 3, struct fgio_tag_list)

/*
 * Promotes what is queued at a sector. Needs CAP_SYS_ADMIN. ENODEV: no such
 * disk, or its queue is not under the fgio elevator.
 */
#define FGIO_IOC_PROMOTE _IOWR(FGIO_IOC_MAGIC, 4, struct fgio_promote)

#endif /* _UAPI_FGIO_H */
