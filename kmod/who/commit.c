// SPDX-License-Identifier: GPL-2.0
/*
 * Files that commits go to. Databases sync their log under a lock of their own,
 * whichever task needs it on disk: a checkpointer before it writes a page, a
 * backup as it begins. All commits wait for that task meanwhile, on an
 * ownerless semaphore that the syncing task may never have posted.
 *
 * But committing tasks sync the same file all the time. A task that writes to
 * or syncs a file that foreground tasks synced lately is therefore foreground
 * itself until its system call has returned.
 *
 * The registers of the system call give its number and its file, so nothing is
 * recorded per task, and nothing has to be undone. A worker of io_uring has no
 * system call: its request gives both.
 */
#include <linux/compat.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include <asm/syscall.h>
#include <asm/unistd.h>

#include "base/mechanism.h"
#include "base/waker.h"
#include "compat/compat.h"
#include "who/commit.h"
#include "who/presence.h"
#include "who/uring.h"

/* Keeps these wakers apart from those of waits for objects, most of which are even. */
#define SYNCED 1ULL

/* Time of the last sync of any file by a foreground task; 0 for never. */
static u64 synced_ns;

static bool has_system_call(void)
{
	return !in_compat_syscall() &&
	       !(current->flags & (PF_KTHREAD | PF_USER_WORKER | PF_IO_WORKER));
}

/* All of them have the file as their first argument. */
static bool writes_or_syncs(int call)
{
	switch (call) {
	case __NR_fsync:
	case __NR_fdatasync:
	case __NR_write:
	case __NR_pwrite64:
	case __NR_writev:
	case __NR_pwritev:
	case __NR_pwritev2:
		return true;
	default:
		return false;
	}
}

/*
 * Looks the file up now and takes no reference, since a hook may not drop the
 * last one: under RCU its memory stays that of a file. Another thread may have
 * closed it and opened another file by that number, which is then taken for it.
 */
static u64 mapping_of_file(unsigned int number)
{
	struct files_struct *files = current->files;
	const struct file *file = NULL;
	u64 mapping = 0;

	rcu_read_lock();
	if (files)
		file = files_lookup_fd_raw(files, number);
	if (file)
		mapping = (u64)READ_ONCE(file->f_mapping);
	rcu_read_unlock();
	return mapping;
}

/* Return: the file that the current task writes or syncs; 0: none. */
static u64 mapping_of_call(void)
{
	unsigned long arguments[6];
	struct pt_regs *call;

	if (current->flags & PF_IO_WORKER)
		return fgio_uring_file_of_current();
	if (!has_system_call())
		return 0;
	call = task_pt_regs(current);
	if (!writes_or_syncs(syscall_get_nr(current, call)))
		return 0;
	syscall_get_arguments(current, call, arguments);
	return mapping_of_file(arguments[0]);
}

/*
 * A file that was synced may be deleted by now, and the next file that is made
 * gets its memory, mostly with the same inode number: its generation tells them
 * apart. Return: 0 for a file that is gone.
 */
static u64 key_of(u64 of_file)
{
	const struct address_space *mapping = (const void *)of_file;
	struct inode *inode;
	unsigned long number;
	u32 generation;

	if (!mapping || get_kernel_nofault(inode, &mapping->host) ||
	    get_kernel_nofault(number, &inode->i_ino) ||
	    get_kernel_nofault(generation, &inode->i_generation))
		return 0;
	return (of_file ^ number ^ (u64)generation << 32) | SYNCED;
}

static bool was_synced_within(u64 mapping, u64 window_ns)
{
	u64 identities[FGIO_WAKERS];
	u64 key = key_of(mapping);

	return key && fgio_waker_list(key, window_ns, identities);
}

/*
 * Whether a file is in overlayfs, where pages belong to the file below. The
 * file may be closed by now.
 */
static bool is_overlay(u64 of_call)
{
	const struct address_space *mapping = (const void *)of_call;
	struct super_block *sb;
	struct inode *inode;
	unsigned long magic;

	return mapping && !get_kernel_nofault(inode, &mapping->host) &&
	       !get_kernel_nofault(sb, &inode->i_sb) &&
	       !get_kernel_nofault(magic, &sb->s_magic) &&
	       magic == OVERLAYFS_SUPER_MAGIC;
}

static void note_synced(u64 mapping)
{
	u64 key = key_of(mapping);

	if (!key)
		return;
	fgio_waker_watch(key, current);
	fgio_waker_note(key, false);
}

/*
 * In overlayfs both files are noted, since others may write to either. The task
 * waits for @mapping, the file below that of its system call.
 */
void fgio_commit_note(const struct address_space *mapping)
{
	u64 of_call;

	if (!fgio_mechanism_on(FGIO_MECHANISM_COMMITS))
		return;
	of_call = mapping_of_call();
	if (of_call != (u64)mapping && !is_overlay(of_call))
		return;
	note_synced((u64)mapping);
	if (of_call != (u64)mapping)
		note_synced(of_call);
	WRITE_ONCE(synced_ns, ktime_get_mono_fast_ns());
}

bool fgio_current_commits(void)
{
	u64 window_ns = fgio_waker_window_ns();
	u64 last_ns = READ_ONCE(synced_ns);
	u64 mapping;

	if (!last_ns || !fgio_mechanism_on(FGIO_MECHANISM_COMMITS) ||
	    !fgio_waits_matter() || !fgio_may_boost() ||
	    ktime_get_mono_fast_ns() - last_ns > window_ns)
		return false;
	mapping = mapping_of_call();
	return mapping && was_synced_within(mapping, window_ns);
}
