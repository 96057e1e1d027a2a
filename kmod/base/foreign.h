/* SPDX-License-Identifier: GPL-2.0 */
/* Reads of objects that belong to others and may be freed by now. */
#ifndef FGIO_FOREIGN_H
#define FGIO_FOREIGN_H

#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/types.h>

struct fdtable;
struct file;
struct task_struct;

/* Below, a PC has its display's memory and ROMs; the kernel uses none of it. */
#define FGIO_MEMORY_BEGIN SZ_1M

/*
 * Whether an address is in the memory that the kernel has mapped for itself, as
 * all that it allocates at once is: not the registers or the memory of a device.
 */
static inline bool fgio_is_memory(const void *address)
{
	return virt_addr_valid(address) && __pa(address) >= FGIO_MEMORY_BEGIN &&
	       !is_zone_device_page(virt_to_page(address));
}

/* Whether an address is that of a struct page of some memory. */
static inline bool fgio_is_page(const struct page *page)
{
	return IS_ENABLED(CONFIG_SPARSEMEM_VMEMMAP) && page >= vmemmap &&
	       IS_ALIGNED((u64)page - (u64)vmemmap, sizeof(*page)) &&
	       pfn_valid(page_to_pfn(page));
}

/*
 * The task whose task_struct is at an address; NULL when no living thread has
 * its task_struct there. The memory may hold anything. Context: RCU, which
 * keeps the task; any lock may be held.
 */
struct task_struct *fgio_task_at(u64 address);

/*
 * Reads a word at any address. Return: 0 when it cannot be read. Context: any.
 */
u64 fgio_peek_word(const void *address);

/*
 * The same where the address may lead anywhere, also to the registers of a
 * device, which must not be read: in the kernel's own memory alone.
 */
u64 fgio_kernel_word(u64 address);

/* A word of such an object. @object: 0: there is none, and the word is 0. */
static inline u64 fgio_word_of(u64 object, size_t offset)
{
	return object ? fgio_kernel_word(object + offset) : 0;
}

/* The same for an object. Return: whether it was copied. */
bool fgio_copy_kernel(void *to, u64 address, size_t bytes);

/* What is asked of the table of a task's open files. Must not sleep. */
typedef u64 fgio_files_fn(const struct fdtable *table, u64 argument);

/*
 * Asks the table of the files that a task has open. The task is current, or
 * lives under RCU. Return: the answer; 0 when the task has no files, or they are
 * in use just now: then a later walk may ask again. Context: any but NMI; locks
 * may be held, since none is waited for.
 */
u64 fgio_ask_files(struct task_struct *task, fgio_files_fn *ask, u64 argument);

/*
 * The address of the file that a task has open as @fd, or 0, as
 * fgio_ask_files(). Context: the same.
 */
u64 fgio_file_at(struct task_struct *task, u32 fd);

/*
 * The mode of a file's inode; the file may be gone. Return: whether it could be read.
 * Context: any.
 */
bool fgio_file_mode(const struct file *file, umode_t *mode);

/*
 * Whether a task sleeps for I/O or a lock of the kernel; idle threads of the
 * kernel do not. Context: any; the task exists.
 */
bool fgio_sleeps_uninterruptibly(const struct task_struct *task);

/*
 * Numbers an interruptible sleep among those of its task: the count of the
 * task's context switches, with FGIO_SEQ_OUTSIDE. Return: 0 when the task does
 * not sleep interruptibly, or is gone. Context: any but NMI; the task need not
 * exist.
 */
u32 fgio_sleep_seq(const struct task_struct *task);

/*
 * Whether a task is still in the sleep with that number. A new task in the
 * memory of an ended one may have the same number by accident; it is then taken
 * for the sleeper until the next walk. Context: as fgio_sleep_seq().
 */
bool fgio_sleep_goes_on(u64 task, u32 seq);

#endif /* FGIO_FOREIGN_H */
