/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Thread flags ("words" in uapi/fgio.h): memory in which a thread sets whether
 * requests wait for it now.
 */
#ifndef FGIO_THREAD_FLAG_H
#define FGIO_THREAD_FLAG_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/rcupdate.h>

#include "core/class.h"
#include "uapi/fgio.h"

struct file;
struct inode;
struct user_struct;
struct vm_area_struct;

/**
 * struct fgio_thread_flags - the thread flags of one open file of /dev/fgio
 * @flag: the flags, which user space writes at any time
 * @bytes: their size, whole pages
 * @maps: the number of their maps now
 * @tied: entries of threads that have one of them; tag.c's, under its lock
 * @user: the user that is charged for the memory, or NULL: CAP_IPC_LOCK
 * @rcu: frees them
 *
 * The last map goes before the file does, and takes the ties with it. A reader
 * that got a tie under RCU before that may use it to the end: freeing waits for
 * RCU.
 */
struct fgio_thread_flags {
	const struct fgio_word *flag;
	size_t bytes;
	atomic_t maps;
	struct hlist_head tied;
	struct user_struct *user;
	struct rcu_head rcu;
};

/*
 * The class in a flag, which may hold any value: FGIO_THREAD_UNTAGGED for
 * values that are no class. Context: any.
 */
static inline enum fgio_thread_tag
fgio_thread_flag_class(const struct fgio_word *flag)
{
	switch (READ_ONCE(flag->class)) {
	case FGIO_TAG_FOREGROUND:
		return FGIO_THREAD_FOREGROUND;
	case FGIO_TAG_BACKGROUND:
		return FGIO_THREAD_BACKGROUND;
	default:
		return FGIO_THREAD_UNTAGGED;
	}
}

/**
 * struct fgio_served - the user's request that a thread serves; claims of the
 *	thread
 * @id: see uapi/fgio_request.h; not 0
 * @deadline_ms: as in struct fgio_word
 * @parts: the same
 */
struct fgio_served {
	u64 id;
	u32 deadline_ms;
	u32 parts;
};

/* Return: whether a flag names a request. Context: any. */
static inline bool fgio_thread_flag_request(const struct fgio_word *flag,
					    struct fgio_served *served)
{
	served->id = READ_ONCE(flag->request);
	served->deadline_ms = READ_ONCE(flag->deadline_ms);
	served->parts = READ_ONCE(flag->parts);
	return served->id;
}

/* The operations of /dev/fgio's file: its flags come with the first map. */
int fgio_thread_flags_open(struct inode *inode, struct file *file);
int fgio_thread_flags_release(struct inode *inode, struct file *file);
int fgio_thread_flags_mmap(struct file *file, struct vm_area_struct *vma);

/* FGIO_IOC_SET_WORD. Context: ioctl. */
int fgio_thread_flags_set(struct file *file, const struct fgio_word_slot *slot);

/* FGIO_IOC_TIE_WORD: the flag at an address of the caller's. Context: ioctl. */
int fgio_thread_flags_tie_at(u64 address);

#endif /* FGIO_THREAD_FLAG_H */
