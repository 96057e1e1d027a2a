/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between the supported kernels. Differences in types and
 * prototypes are found in the target kernel's BTF and come as FGIO_HAVE_* from
 * fgio_private.h; only this file tests versions.
 */
#ifndef FGIO_COMPAT_H
#define FGIO_COMPAT_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/dcache.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/hrtimer.h>
#include <linux/ioprio.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <asm/syscall.h>
#include <uapi/linux/audit.h>
#include <uapi/linux/futex.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#include <linux/filelock.h>
#else
#include <linux/fs.h>
#endif

#ifdef CONFIG_IA32_EMULATION
#include <asm/unistd_32_ia32.h>
#endif

#include "fgio_private.h"

/*
 * Set for requests that passed prepare_request, whose elv fields are fgio's. In
 * 6.1 these fields share their memory with those of flushes, and only
 * RQF_ELVPRIV tells them apart.
 */
#ifdef RQF_ELVPRIV
#define FGIO_RQF_OURS RQF_ELVPRIV
#else
#define FGIO_RQF_OURS RQF_USE_SCHED
#endif

#ifdef FGIO_HAVE_BLK_INSERT_T
#define fgio_insert_flags_t blk_insert_t
#define fgio_insert_at_head(flags) (!!((flags) & BLK_MQ_INSERT_AT_HEAD))
#else
#define fgio_insert_flags_t bool
#define fgio_insert_at_head(flags) (flags)
#endif

static inline u16 fgio_rq_ioprio(const struct request *rq)
{
#ifdef FGIO_HAVE_RQ_IOPRIO
	return rq->ioprio;
#else
	return rq->bio ? rq->bio->bi_ioprio : 0;
#endif
}

/* Sets the priority that drivers read; 6.12: from the bio that is first. */
static inline void fgio_rq_set_ioprio(struct request *rq, u16 ioprio)
{
#ifdef FGIO_HAVE_RQ_IOPRIO
	rq->ioprio = ioprio;
#else
	struct bio *bio;

	__rq_for_each_bio(bio, rq)
		bio->bi_ioprio = ioprio;
#endif
}

static inline void fgio_rq_or_ioprio(struct request *rq, u16 bits)
{
#ifdef FGIO_HAVE_RQ_IOPRIO
	rq->ioprio |= bits;
#endif
}

#ifdef FGIO_HAVE_WBT_DISK
#define fgio_wbt_disable(q) wbt_disable_default((q)->disk)
#define fgio_wbt_enable(q) wbt_enable_default((q)->disk)
#else
#define fgio_wbt_disable(q) wbt_disable_default(q)
#define fgio_wbt_enable(q) wbt_enable_default(q)
#endif

/*
 * 6.1 keeps wbt off for the flag of BFQ alone, and has none for other
 * elevators.
 */
static inline void fgio_mark_wbt_unwanted(struct elevator_queue *eq, bool yes)
{
#ifdef FGIO_HAVE_WBT_DISK
	if (yes)
		set_bit(ELEVATOR_FLAG_DISABLE_WBT, &eq->flags);
	else
		clear_bit(ELEVATOR_FLAG_DISABLE_WBT, &eq->flags);
#endif
}

static inline void
fgio_hrtimer_setup(struct hrtimer *timer,
		   enum hrtimer_restart (*function)(struct hrtimer *timer))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer->function = function;
#endif
}

static inline void fgio_vm_flags_mod(struct vm_area_struct *vma,
				     unsigned long set, unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/* The place in the swap area of a folio in the swap cache. */
static inline swp_entry_t fgio_swap_entry(struct folio *folio)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	return folio->swap;
#else
	return (swp_entry_t){ .val = (unsigned long)folio_get_private(folio) };
#endif
}

/* Whether a bio carries the pages of a program's buffer; false before 6.5. */
static inline bool fgio_bio_is_direct(struct bio *bio)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return bio_flagged(bio, BIO_PAGE_PINNED);
#else
	return false;
#endif
}

/*
 * What a pidfd stands for; NULL for other files, and for one that is gone.
 * Reads without faulting.
 */
static inline const struct pid *fgio_pid_of_file(const struct file *file)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	struct super_block *super;
	struct inode *inode;
	unsigned long magic;
	void *pid;

	if (!file || get_kernel_nofault(inode, &file->f_inode) || !inode ||
	    get_kernel_nofault(super, &inode->i_sb) || !super ||
	    get_kernel_nofault(magic, &super->s_magic) ||
	    magic != PID_FS_MAGIC ||
	    get_kernel_nofault(pid, &inode->i_private))
		return NULL;
	return pid;
#else
	static const char name[] = "[pidfd]";
	struct super_block *super;
	struct dentry *dentry;
	char found[sizeof(name)];
	unsigned long magic;
	void *pid;

	if (!file || get_kernel_nofault(dentry, &file->f_path.dentry) ||
	    !dentry ||
	    copy_from_kernel_nofault(found, dentry->d_iname, sizeof(found)) ||
	    memcmp(found, name, sizeof(name)) ||
	    get_kernel_nofault(super, &dentry->d_sb) || !super ||
	    get_kernel_nofault(magic, &super->s_magic) ||
	    magic != ANON_INODE_FS_MAGIC ||
	    get_kernel_nofault(pid, &file->private_data))
		return NULL;
	return pid;
#endif
}

static inline struct address_space *
fgio_bdev_mapping(const struct block_device *bdev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	return bdev->bd_mapping;
#else
	return bdev->bd_inode->i_mapping;
#endif
}

/*
 * The path of a task's cgroup in the unified hierarchy, or of its ancestor at
 * @level_max, so that the path has a bound. A path that is longer than @bytes
 * is cut. Context: under RCU.
 */
static inline void fgio_cgroup_path(struct task_struct *task, int level_max,
				    char *path, size_t bytes)
{
#ifdef CONFIG_CGROUPS
	struct cgroup *cgroup = task_dfl_cgroup(task);

	if (cgroup->level > level_max)
		cgroup = cgroup_ancestor(cgroup, level_max);
	cgroup_path(cgroup, path, bytes);
#else
	strscpy(path, "/", bytes);
#endif
}

/* FLAGS_SHARED of kernel/futex/futex.h; futex_wait(2) (6.7) moved it. */
#ifdef FUTEX2_SIZE_MASK
#define FGIO_FUTEX_SHARED 0x10U
#else
#define FGIO_FUTEX_SHARED 0x01U
#endif

/* Whether a task is in a system call of 32-bit processes. */
static inline bool fgio_is_compat_call(struct task_struct *task)
{
#ifdef CONFIG_X86_64
	return syscall_get_arch(task) != AUDIT_ARCH_X86_64;
#else
	return false;
#endif
}

/* Whether a 32-bit system call is futex(2) or futex_time64(2). */
static inline bool fgio_is_compat_futex(int number)
{
#ifdef CONFIG_IA32_EMULATION
	return number == __NR_ia32_futex || number == __NR_ia32_futex_time64;
#else
	return false;
#endif
}

/*
 * The part of a sleeping task's stack that is in use: only as addresses, which
 * are to be read without faults. Return: whether there is one. Context: RCU;
 * the task may wake up meanwhile.
 */
static inline bool fgio_stack_of_sleeper(const struct task_struct *task,
					 const unsigned long **begin,
					 const unsigned long **end)
{
#ifdef CONFIG_X86_64
	unsigned long stack = (unsigned long)READ_ONCE(task->stack);
	unsigned long top = READ_ONCE(task->thread.sp);

	*begin = (const unsigned long *)top;
	*end = (const unsigned long *)(stack + THREAD_SIZE);
	return stack && top > stack && top < stack + THREAD_SIZE &&
	       IS_ALIGNED(top, sizeof(long));
#else
	return false;
#endif
}

/*
 * What locks of files and leases have in common: since 6.9 a struct of its own,
 * which both begin with; before, both are one struct.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#define fgio_file_lock_core file_lock_core
#define fgio_file_lease file_lease
#define fgio_file_lock_core_of(lock) (&(lock)->c)
#define fgio_file_lock_of(core) container_of(core, struct file_lock, c)
#define fgio_lock_member(name) flc_##name
#else
#define fgio_file_lock_core file_lock
#define fgio_file_lease file_lock
#define fgio_file_lock_core_of(lock) (lock)
#define fgio_file_lock_of(core) (core)
#define fgio_lock_member(name) fl_##name
#endif

/* The io_uring of a task, whose memory it is; NULL: none. */
static inline const struct io_uring_task *
fgio_uring_of_task(const struct task_struct *task)
{
#ifdef CONFIG_IO_URING
	return READ_ONCE(task->io_uring);
#else
	return NULL;
#endif
}

/*
 * Where fs/iomap keeps the kiocb of direct I/O, in the private struct that its
 * bios have as bi_private; NULL: not known for this kernel.
 */
static inline const void *fgio_iomap_dio_iocb_place(const void *dio)
{
#ifdef FGIO_IOMAP_DIO_IOCB
	return dio + FGIO_IOMAP_DIO_IOCB;
#else
	return NULL;
#endif
}

/* The context of userfaultfd(2) that handles the faults of an area, or 0. */
static inline u64 fgio_userfaultfd_of(const struct vm_area_struct *area)
{
#ifdef CONFIG_USERFAULTFD
	return (u64)area->vm_userfaultfd_ctx.ctx;
#else
	return 0;
#endif
}

/* An argument of a function, from the registers that ftrace saves. */
static inline unsigned long fgio_ftrace_argument(struct ftrace_regs *regs,
						 unsigned int number)
{
#ifdef ftrace_regs_get_argument
	return ftrace_regs_get_argument(regs, number);
#else
	return regs_get_kernel_argument(&regs->regs, number);
#endif
}

/*
 * Replaces the fourth argument of a function. On x86-64 alone: there, ftrace
 * gives back the registers that hold arguments, whether or not it saved all.
 */
static inline void fgio_ftrace_set_fourth(struct ftrace_regs *regs,
					  unsigned long value)
{
#if !defined(CONFIG_X86_64)
	WARN_ON_ONCE(1);
#elif defined(arch_ftrace_regs)
	arch_ftrace_regs(regs)->regs.cx = value;
#else
	regs->regs.cx = value;
#endif
}

/* From 6.11 on, a bio may have to stay in one piece. */
#ifdef REQ_ATOMIC
#define FGIO_REQ_ATOMIC REQ_ATOMIC
#else
#define FGIO_REQ_ATOMIC ((__force blk_opf_t)0)
#endif

/*
 * For the lab's modules alone (kmod/lab): no interface of the product. From
 * 6.13 on, a namespace is a string.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define FGIO_EXPORT(symbol) EXPORT_SYMBOL_NS_GPL(symbol, "FGIO")
#define FGIO_IMPORT() MODULE_IMPORT_NS("FGIO")
#else
#define FGIO_EXPORT(symbol) EXPORT_SYMBOL_NS_GPL(symbol, FGIO)
#define FGIO_IMPORT() MODULE_IMPORT_NS(FGIO)
#endif

/* Before 6.4, user workers are kernel threads or have PF_IO_WORKER. */
#ifndef PF_USER_WORKER
#define PF_USER_WORKER 0
#endif

#endif /* FGIO_COMPAT_H */
