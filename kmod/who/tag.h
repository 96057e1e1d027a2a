/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of threads that have a tag or a thread flag, or that declared a
 * wait.
 */
#ifndef FGIO_TAG_H
#define FGIO_TAG_H

#include <linux/hash.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "base/scale.h"
#include "core/class.h"
#include "core/trust.h"
#include "who/uring.h"

struct fgio_served;
struct fgio_thread_flags;

/* Protects the counts of tags and of trust. Taken with interrupts on. */
extern spinlock_t fgio_tags_lock;

extern unsigned int fgio_tag_entries;

/* Threads that have an entry. Context: any. */
static inline unsigned int fgio_tag_count(void)
{
	return READ_ONCE(fgio_tag_entries);
}

/* The table, by fgio_tag_index(); tag.c's but for the question below. */
extern struct hlist_head fgio_tags[1 << FGIO_TAG_BITS];

static inline unsigned int fgio_tag_index(const struct task_struct *task)
{
	return hash_long((unsigned long)task, FGIO_TAG_BITS);
}

/*
 * Whether any task is in the same bucket of the table: few threads that have no
 * entry pass. Context: any.
 */
static inline bool fgio_tag_may_have(const struct task_struct *task)
{
	return !hlist_empty(&fgio_tags[fgio_tag_index(task)]);
}

/* The slow path of fgio_tag_of(). Context: any. */
enum fgio_thread_tag fgio_tag_look_up(struct task_struct *task);

/* Each I/O asks; mostly the count or the bucket suffices. Context: any. */
static inline enum fgio_thread_tag fgio_tag_of(struct task_struct *task)
{
	return fgio_tag_count() && fgio_tag_may_have(task) ?
		       fgio_tag_look_up(task) : FGIO_THREAD_UNTAGGED;
}

/* A thread of io_uring has the tag of the thread that it acts for. */
static inline enum fgio_thread_tag fgio_tag_of_current(void)
{
	if (unlikely(current->flags & PF_IO_WORKER) && fgio_tag_count())
		return fgio_uring_tag_of(current);
	return fgio_tag_of(current);
}

/*
 * The user's request that a foreground thread serves, by its flag. @task: its
 * address, which is compared alone. Return: false: it names none, or is not
 * foreground. Context: any.
 */
bool fgio_tag_request_of(u64 task, struct fgio_served *served);

/**
 * fgio_tag_thread() - tag a thread, or take its tag away
 * @task: the thread; the caller holds a reference
 * @tag: FGIO_THREAD_UNTAGGED takes the tag away
 *
 * Return: 0, -ESRCH when the thread is exiting, -ENOSPC when the table is
 * full, -EACCES and -EDQUOT as fgio_trust_claim(), -ENOMEM, -EOPNOTSUPP when
 * ends of threads are not seen, with which their tags would have to go.
 * Context: may sleep.
 */
int fgio_tag_thread(struct task_struct *task, enum fgio_thread_tag tag);

/**
 * fgio_tag_tie() - give the current thread a thread flag
 * @flags: the flags of a file that the caller holds
 * @index: number of the flag, within @flags
 *
 * It replaces the flag that the thread had. A thread may have a flag when it
 * may tag itself foreground: through the flag it can become so at any moment.
 *
 * Return: 0, -EINVAL when the flags are not mapped, or as fgio_tag_thread().
 * Context: may sleep.
 */
int fgio_tag_tie(struct fgio_thread_flags *flags, u32 index);

/* The current thread has no thread flag any more. Context: may sleep. */
void fgio_tag_untie_current(void);

/*
 * No thread has one of @flags any more, unless they were mapped again
 * meanwhile. Context: may sleep.
 */
void fgio_tag_untie_all(struct fgio_thread_flags *flags);

/**
 * fgio_tag_declare() - the current thread declares a wait
 *
 * The thread counts from its first declared wait until the thread ends: threads
 * declare waits again and again, and the charge must not cost more than the
 * wait.
 *
 * Return: 0 or as fgio_tag_thread(). Context: may sleep.
 */
int fgio_tag_declare(void);

/*
 * The administrator lists other cgroups. Threads in the table stay there and
 * count in the cgroups where they are now. Context: may sleep.
 */
void fgio_tag_relist(const struct fgio_trust_list *list);

/* The size of the table. */
unsigned int fgio_tag_max(void);

/*
 * Calls @visit for each thread that has a class now, by tag or flag, under RCU:
 * @visit must not sleep, and the task may be exiting. Return: the number of
 * visits.
 */
unsigned int fgio_tag_list(void (*visit)(struct task_struct *task,
					 enum fgio_thread_tag tag, void *data),
			   void *data);

/* Whether ends of threads are seen, without which there are no tags. */
bool fgio_tag_is_attached(void);

/*
 * @ends is called in each thread that ends, in sched_process_exit. Return:
 * whether tags can be used.
 */
bool fgio_tag_init(void (*ends)(void));

/* No task sets or reads tags any more; the list of cgroups may still be set. */
void fgio_tag_exit(void);

#endif /* FGIO_TAG_H */
