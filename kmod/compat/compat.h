/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the kernels that fgio runs on. What differs in the
 * shape of types and functions is found in the target kernel's BTF and comes
 * as FGIO_HAVE_* from fgio_private.h; nothing else asks for versions.
 */
#ifndef FGIO_COMPAT_H
#define FGIO_COMPAT_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/cgroup.h>
#include <linux/ftrace.h>
#include <linux/hrtimer.h>
#include <linux/ioprio.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/version.h>
#include <asm/syscall.h>
#include <uapi/linux/audit.h>
#include <uapi/linux/futex.h>

#ifdef CONFIG_IA32_EMULATION
#include <asm/unistd_32_ia32.h>
#endif

#include "fgio_private.h"

/*
 * Set for requests that passed prepare_request, whose elv fields are ours. In
 * 6.1 the fields of flushes share their memory with the flush machinery, and
 * only RQF_ELVPRIV tells them apart.
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

/* What drivers will read, on 6.12 from each bio as it becomes the first. */
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
 * 6.1 turns wbt on again only when no elevator's BFQ flag says otherwise, and
 * has no such flag for others.
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

/* Where in the swap area a folio of the swap cache lies. */
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
 * @level_max, so that the path has a bound. What has no room is left out.
 * Context: under RCU.
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

/* Whether a number is that of futex(2) or futex_time64(2) of such a process. */
static inline bool fgio_is_compat_futex(int number)
{
#ifdef CONFIG_IA32_EMULATION
	return number == __NR_ia32_futex || number == __NR_ia32_futex_time64;
#else
	return false;
#endif
}

/* An argument of a function that ftrace reports without all registers. */
static inline unsigned long fgio_ftrace_argument(struct ftrace_regs *regs,
						 unsigned int number)
{
#ifdef ftrace_regs_get_argument
	return ftrace_regs_get_argument(regs, number);
#else
	return regs_get_kernel_argument(&regs->regs, number);
#endif
}

/* Before 6.4 such workers are kernel threads, or say PF_IO_WORKER. */
#ifndef PF_USER_WORKER
#define PF_USER_WORKER 0
#endif

#endif /* FGIO_COMPAT_H */
