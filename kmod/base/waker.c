// SPDX-License-Identifier: GPL-2.0
/*
 * The table of tasks that acted on an object lately: the locks around
 * core/history.c.
 *
 * A condition has no owner, but the tasks that signalled it lately are likely
 * to signal it again. A counting lock does not name its holder, but the last
 * taker may be it.
 *
 * The table outlives the tasks in it. It therefore holds identities (thread id
 * and start time), not addresses: the identity of an ended task leads to no
 * task, and never to another one. No cleanup is needed when a task ends.
 */
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "base/identity.h"
#include "base/scale.h"
#include "base/setting.h"
#include "base/waker.h"

/* Leaf locks, like those of graph/wait.c and for the same reasons. */
struct fgio_waker_set *fgio_waker_sets __read_mostly;

static unsigned int helper_window_ms = FGIO_DEFAULT_helper_window_ms;
FGIO_NUMBER_PARAM(helper_window_ms, &helper_window_ms);

void fgio_waker_watch(u64 object, struct task_struct *task)
{
	struct fgio_waker_set *locked = fgio_waker_set_of(object);
	u32 payer = fgio_payer_of(task);
	unsigned long flags;

	raw_spin_lock_irqsave(&locked->lock, flags);
	fgio_history_watch(&locked->set, object, payer,
			   ktime_get_mono_fast_ns());
	raw_spin_unlock_irqrestore(&locked->lock, flags);
}

/* Exiting tasks never act again; skip them. */
static void note(struct fgio_waker_set *locked, u64 object,
		 struct task_struct *task, bool always)
{
	u32 payer = fgio_payer_of(task);
	unsigned long flags;

	if (task->flags & PF_EXITING)
		return;
	raw_spin_lock_irqsave(&locked->lock, flags);
	fgio_history_note(&locked->set, object, fgio_identity_of(task), payer,
			  ktime_get_mono_fast_ns(), !always);
	raw_spin_unlock_irqrestore(&locked->lock, flags);
}

void fgio_waker_note(u64 object, bool always)
{
	struct fgio_waker_set *locked = fgio_waker_set_of(object);

	if (always || fgio_history_remembered(&locked->set, object))
		note(locked, object, current, always);
}

void fgio_waker_note_for(struct task_struct *task, u64 object)
{
	note(fgio_waker_set_of(object), object, task, true);
}

typedef unsigned int (*of_history)(struct fgio_history_set *set, u64 object,
				   u64 now_ns, u64 window_ns, u64 *tasks);

static unsigned int list(of_history wakers, u64 object, u64 window_ns,
			 u64 identities[FGIO_WAKERS])
{
	struct fgio_waker_set *locked = fgio_waker_set_of(object);
	unsigned long flags;
	unsigned int count;

	raw_spin_lock_irqsave(&locked->lock, flags);
	count = wakers(&locked->set, object, ktime_get_mono_fast_ns(),
		       window_ns, identities);
	raw_spin_unlock_irqrestore(&locked->lock, flags);
	return count;
}

unsigned int fgio_waker_list(u64 object, u64 window_ns,
			     u64 identities[FGIO_WAKERS])
{
	return list(fgio_history_wakers, object, window_ns, identities);
}

unsigned int fgio_waker_expected(u64 object, u64 identities[FGIO_WAKERS])
{
	return list(fgio_history_expected, object, fgio_waker_window_ns(),
		    identities);
}

u64 fgio_waker_window_ns(void)
{
	return (u64)READ_ONCE(helper_window_ms) * NSEC_PER_MSEC;
}

u64 fgio_waker_last(u64 object)
{
	u64 identities[FGIO_WAKERS];

	if (!fgio_waker_list(object, U64_MAX, identities))
		return 0;
	return identities[0];
}

u32 fgio_waker_unwatched(void)
{
	u32 sum = 0;
	unsigned int index;

	for (index = 0; index < 1U << FGIO_WAKER_SET_BITS; index++)
		sum += READ_ONCE(fgio_waker_sets[index].set.unwatched);
	return sum;
}

int fgio_waker_init(void)
{
	unsigned int index;

	fgio_waker_sets = vzalloc(sizeof(*fgio_waker_sets)
				  << FGIO_WAKER_SET_BITS);
	if (!fgio_waker_sets)
		return -ENOMEM;
	for (index = 0; index < 1U << FGIO_WAKER_SET_BITS; index++)
		raw_spin_lock_init(&fgio_waker_sets[index].lock);
	return 0;
}

/* No hook is attached any more, and the walk has ended. */
void fgio_waker_exit(void)
{
	vfree(fgio_waker_sets);
}
