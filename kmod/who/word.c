// SPDX-License-Identifier: GPL-2.0
/*
 * Section words: memory in which a thread says whether requests wait for it at
 * the moment, without a system call. uapi/fgio.h has the contract; tag.c knows
 * which thread has which word, and reads it.
 *
 * The memory is the kernel's own and always there, so that it can be read in
 * any context. It belongs to an open file and is charged to the mapping task:
 * to the memory cgroup, and to RLIMIT_MEMLOCK as all memory that cannot be
 * paged out. What user space writes there is never more than one of three
 * classes.
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
#include "who/word.h"

int fgio_words_open(struct inode *inode, struct file *file)
{
	/* It points to the miscdevice. */
	file->private_data = NULL;
	return nonseekable_open(inode, file);
}

/* Takes from what the user may lock in memory. Return: 0 or -ENOMEM. */
static int charge(struct fgio_words *words)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	unsigned long pages = words->bytes >> PAGE_SHIFT;
	struct user_struct *user;

	if (capable(CAP_IPC_LOCK))
		return 0;
	user = get_uid(current_user());
	if (atomic_long_add_return(pages, &user->locked_vm) > limit) {
		atomic_long_sub(pages, &user->locked_vm);
		free_uid(user);
		return -ENOMEM;
	}
	words->user = user;
	return 0;
}

static void uncharge(struct fgio_words *words)
{
	if (!words->user)
		return;
	atomic_long_sub(words->bytes >> PAGE_SHIFT, &words->user->locked_vm);
	free_uid(words->user);
}

static void free_words(struct rcu_head *rcu)
{
	struct fgio_words *words = container_of(rcu, struct fgio_words, rcu);

	vfree(words->word);
	kfree(words);
}

static struct fgio_words *make_words(size_t bytes)
{
	struct fgio_words *words = kzalloc(sizeof(*words), GFP_KERNEL_ACCOUNT);
	int error;

	if (!words)
		return ERR_PTR(-ENOMEM);
	words->bytes = bytes;
	error = charge(words);
	if (error) {
		kfree(words);
		return ERR_PTR(error);
	}
	words->word = __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!words->word) {
		uncharge(words);
		kfree(words);
		return ERR_PTR(-ENOMEM);
	}
	return words;
}

static struct fgio_words *words_of(struct file *file)
{
	/* Pairs with cmpxchg() in obtain_words(): they are complete. */
	return smp_load_acquire(&file->private_data);
}

/* The file's words. The first map makes them, and says how many there are. */
static struct fgio_words *obtain_words(struct file *file, size_t bytes)
{
	struct fgio_words *words = words_of(file);
	struct fgio_words *new;

	if (words)
		return words;
	new = make_words(bytes);
	if (IS_ERR(new))
		return new;
	/* The file may be open in several processes that map it at once. */
	words = cmpxchg(&file->private_data, NULL, new);
	if (!words)
		return new;
	uncharge(new);
	free_words(&new->rcu);
	return words;
}

/* The last reference to the file is gone: nothing is mapped, no thread tied. */
int fgio_words_release(struct inode *inode, struct file *file)
{
	struct fgio_words *words = file->private_data;

	if (!words)
		return 0;
	uncharge(words);
	call_rcu(&words->rcu, free_words);
	return 0;
}

static void open_map(struct vm_area_struct *vma)
{
	struct fgio_words *words = vma->vm_private_data;

	atomic_inc(&words->maps);
}

/*
 * With the last map go the threads' ties: after execve(2), or when the memory
 * was given up, words would stand for ever as they were.
 */
static void close_map(struct vm_area_struct *vma)
{
	struct fgio_words *words = vma->vm_private_data;

	if (atomic_dec_and_test(&words->maps))
		fgio_tag_untie_all(words);
}

static const struct vm_operations_struct map_operations = {
	.open = open_map,
	.close = close_map,
};

static int insert_pages(const struct fgio_words *words,
			struct vm_area_struct *vma)
{
	unsigned long at = vma->vm_start;
	const void *from = words->word;
	int error;

	for (; at < vma->vm_end; at += PAGE_SIZE, from += PAGE_SIZE) {
		error = vm_insert_page(vma, at, vmalloc_to_page(from));
		if (error)
			return error;
	}
	return 0;
}

/* A private map would not be seen by the module, nor one that is only read. */
int fgio_words_mmap(struct file *file, struct vm_area_struct *vma)
{
	size_t bytes = vma->vm_end - vma->vm_start;
	struct fgio_words *words;
	int error;

	if (vma->vm_pgoff || bytes > FGIO_WORDS_BYTES_MAX ||
	    !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	words = obtain_words(file, bytes);
	if (IS_ERR(words))
		return PTR_ERR(words);
	if (bytes > words->bytes)
		return -EINVAL;
	fgio_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
			  VM_MAYEXEC);
	error = insert_pages(words, vma);
	if (error)
		return error;
	vma->vm_private_data = words;
	vma->vm_ops = &map_operations;
	atomic_inc(&words->maps);
	return 0;
}

int fgio_words_set(struct file *file, const struct fgio_word_slot *slot)
{
	struct fgio_words *words = words_of(file);

	if (slot->flags & ~FGIO_WORD_CLEAR)
		return -EINVAL;
	if (slot->flags & FGIO_WORD_CLEAR) {
		fgio_tag_untie_current();
		return 0;
	}
	if (!words || slot->index >= words->bytes / sizeof(struct fgio_word))
		return -EINVAL;
	return fgio_tag_tie(words, slot->index);
}

/*
 * The file of the map that an address of the current process is in, with a
 * reference, and how far from its first word that is; NULL when there is none.
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
 * The map may go as soon as its lock is released; then fgio_tag_tie() finds
 * that the words are not mapped.
 */
int fgio_words_tie_at(u64 address)
{
	int error = -EINVAL;
	struct file *file;
	u64 offset;

	file = file_of_map(address, &offset);
	if (!file)
		return error;
	if (offset % sizeof(struct fgio_word) == 0)
		error = fgio_tag_tie(words_of(file),
				     offset / sizeof(struct fgio_word));
	fput(file);
	return error;
}
