// SPDX-License-Identifier: GPL-2.0
/*
 * Thread flags ("words" in uapi/fgio.h, which has the contract): memory in
 * which a thread sets, without a system call, whether requests wait for it now.
 * tag.c knows the flag of each thread and reads it.
 *
 * The memory is the kernel's own and always resident, so that it can be read in
 * any context. It belongs to an open file and is charged to the mapping task:
 * to the memory cgroup, and to RLIMIT_MEMLOCK as all memory that cannot be
 * paged out. Any value that user space writes there is one of three classes.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat/compat.h"
#include "who/tag.h"
#include "who/thread_flag.h"

int fgio_thread_flags_open(struct inode *inode, struct file *file)
{
	/* misc_open() left the miscdevice there. */
	file->private_data = NULL;
	return nonseekable_open(inode, file);
}

/* Charges the user's limit of locked memory. Return: 0 or -ENOMEM. */
static int charge(struct fgio_thread_flags *flags)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	unsigned long pages = flags->bytes >> PAGE_SHIFT;
	struct user_struct *user;

	if (capable(CAP_IPC_LOCK))
		return 0;
	user = get_uid(current_user());
	if (atomic_long_add_return(pages, &user->locked_vm) > limit) {
		atomic_long_sub(pages, &user->locked_vm);
		free_uid(user);
		return -ENOMEM;
	}
	flags->user = user;
	return 0;
}

static void uncharge(struct fgio_thread_flags *flags)
{
	if (!flags->user)
		return;
	atomic_long_sub(flags->bytes >> PAGE_SHIFT, &flags->user->locked_vm);
	free_uid(flags->user);
}

static void free_flags(struct rcu_head *rcu)
{
	struct fgio_thread_flags *flags =
		container_of(rcu, struct fgio_thread_flags, rcu);

	vfree(flags->flag);
	kfree(flags);
}

static struct fgio_thread_flags *make_flags(size_t bytes)
{
	struct fgio_thread_flags *flags;
	int error;

	flags = kzalloc(sizeof(*flags), GFP_KERNEL_ACCOUNT);
	if (!flags)
		return ERR_PTR(-ENOMEM);
	flags->bytes = bytes;
	error = charge(flags);
	if (error) {
		kfree(flags);
		return ERR_PTR(error);
	}
	flags->flag = __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!flags->flag) {
		uncharge(flags);
		kfree(flags);
		return ERR_PTR(-ENOMEM);
	}
	return flags;
}

static struct fgio_thread_flags *flags_of(struct file *file)
{
	/* Pairs with cmpxchg() in obtain_flags(): the flags are complete. */
	return smp_load_acquire(&file->private_data);
}

/* The file's flags. The first map allocates them; its size is their number. */
static struct fgio_thread_flags *obtain_flags(struct file *file, size_t bytes)
{
	struct fgio_thread_flags *flags = flags_of(file);
	struct fgio_thread_flags *new;

	if (flags)
		return flags;
	new = make_flags(bytes);
	if (IS_ERR(new))
		return new;
	/* The file may be open in several processes that map it at once. */
	flags = cmpxchg(&file->private_data, NULL, new);
	if (!flags)
		return new;
	uncharge(new);
	free_flags(&new->rcu);
	return flags;
}

/* The last reference to the file is gone: nothing is mapped, no thread tied. */
int fgio_thread_flags_release(struct inode *inode, struct file *file)
{
	struct fgio_thread_flags *flags = file->private_data;

	if (!flags)
		return 0;
	uncharge(flags);
	call_rcu(&flags->rcu, free_flags);
	return 0;
}

static void open_map(struct vm_area_struct *vma)
{
	struct fgio_thread_flags *flags = vma->vm_private_data;

	atomic_inc(&flags->maps);
}

/*
 * The last map takes the threads' ties with it: after execve(2) or munmap(2) no
 * code could change the flags any more.
 */
static void close_map(struct vm_area_struct *vma)
{
	struct fgio_thread_flags *flags = vma->vm_private_data;

	if (atomic_dec_and_test(&flags->maps))
		fgio_tag_untie_all(flags);
}

static const struct vm_operations_struct map_operations = {
	.open = open_map,
	.close = close_map,
};

static int insert_pages(const struct fgio_thread_flags *flags,
			struct vm_area_struct *vma)
{
	unsigned long at = vma->vm_start;
	const void *from = flags->flag;
	int error;

	for (; at < vma->vm_end; at += PAGE_SIZE, from += PAGE_SIZE) {
		error = vm_insert_page(vma, at, vmalloc_to_page(from));
		if (error)
			return error;
	}
	return 0;
}

/*
 * Refuses maps that cannot change the flags: private ones, and those of a file
 * that is open for reading alone, which lack VM_SHARED, too.
 */
int fgio_thread_flags_mmap(struct file *file, struct vm_area_struct *vma)
{
	size_t bytes = vma->vm_end - vma->vm_start;
	struct fgio_thread_flags *flags;
	int error;

	if (vma->vm_pgoff || bytes > FGIO_WORDS_BYTES_MAX ||
	    !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	flags = obtain_flags(file, bytes);
	if (IS_ERR(flags))
		return PTR_ERR(flags);
	if (bytes > flags->bytes)
		return -EINVAL;
	fgio_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
			  VM_MAYEXEC);
	error = insert_pages(flags, vma);
	if (error)
		return error;
	vma->vm_private_data = flags;
	vma->vm_ops = &map_operations;
	atomic_inc(&flags->maps);
	return 0;
}

int fgio_thread_flags_set(struct file *file, const struct fgio_word_slot *slot)
{
	struct fgio_thread_flags *flags = flags_of(file);

	if (slot->flags & ~FGIO_WORD_CLEAR)
		return -EINVAL;
	if (slot->flags & FGIO_WORD_CLEAR) {
		fgio_tag_untie_current();
		return 0;
	}
	if (!flags || slot->index >= flags->bytes / sizeof(struct fgio_word))
		return -EINVAL;
	return fgio_tag_tie(flags, slot->index);
}

/*
 * The file of the map that holds an address of the current process, with a
 * reference; NULL when there is none. @offset: out: bytes from the first flag.
 */
static struct file *file_of_map(u64 address, u64 *offset)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	struct file *file = NULL;

	mmap_read_lock(mm);
	vma = vma_lookup(mm, address);
	if (vma && vma->vm_ops == &map_operations) {
		file = get_file(vma->vm_file);
		*offset = address - vma->vm_start +
			  ((u64)vma->vm_pgoff << PAGE_SHIFT);
	}
	mmap_read_unlock(mm);
	return file;
}

/*
 * The map may go as soon as mmap_lock is released; then fgio_tag_tie() finds
 * that the flags are not mapped.
 */
int fgio_thread_flags_tie_at(u64 address)
{
	int error = -EINVAL;
	struct file *file;
	u64 offset;

	file = file_of_map(address, &offset);
	if (!file)
		return error;
	if (offset % sizeof(struct fgio_word) == 0)
		error = fgio_tag_tie(flags_of(file),
				     offset / sizeof(struct fgio_word));
	fput(file);
	return error;
}
