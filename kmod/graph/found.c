// SPDX-License-Identifier: GPL-2.0
/* Ways to find blockers that several layers share. */
#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "base/foreign.h"
#include "base/identity.h"
#include "base/waker.h"
#include "graph/found.h"
#include "graph/walk.h"

/* Flags in the low bits of a mutex's owner word: kernel/locking/mutex.c. */
#define OWNER_FLAGS 0x7UL

/* Threads of a process that are looked at. */
#define THREADS_MAX 256
/* Threads that one walk looks at: a task may have processes of many. */
#define LOOKS_MAX 8192

u64 fgio_name_identity(u64 identity)
{
	struct task_struct *task;
	u64 key = 0;

	rcu_read_lock();
	task = fgio_live_task_of(identity);
	if (task)
		key = fgio_walk_name(task);
	rcu_read_unlock();
	return key;
}

u64 fgio_mutex_holder(const struct mutex *mutex)
{
	u64 owner = fgio_peek_word(&mutex->owner) & ~OWNER_FLAGS;

	return fgio_walk_name((const struct task_struct *)owner);
}

void fgio_watch_for(const struct fgio_walk_step *step, u64 object)
{
	struct task_struct *task;

	rcu_read_lock();
	task = fgio_task_at(step->task);
	fgio_waker_watch(object, task ?: current);
	rcu_read_unlock();
}

void fgio_found_by_history(const struct fgio_walk_step *step, u64 object,
			   bool (*counts)(u64 task))
{
	u64 identities[FGIO_WAKERS];
	unsigned int count, i;
	u64 task;

	count = fgio_waker_list(object, fgio_waker_window_ns(), identities);
	for (i = 0; i < count; i++) {
		task = fgio_name_identity(identities[i]);
		if (counts && !counts(task))
			continue;
		fgio_walk_found(step->walk, task);
	}
}

bool fgio_guessed_by_history(const struct fgio_walk_step *step, u64 object)
{
	u64 identities[FGIO_WAKERS];
	unsigned int count, i;
	bool any = false;
	u64 task;

	count = fgio_waker_expected(object, identities);
	for (i = 0; i < count; i++) {
		task = fgio_name_identity(identities[i]);
		fgio_walk_guessed(step->walk, task);
		any |= task;
	}
	return any;
}

/* For the walk's thread alone. */
static struct {
	u32 walk;
	unsigned int count;
} looks;

/* Return: whether this walk may look at one more thread. */
static bool may_look(const struct fgio_walk_step *step)
{
	if (looks.walk != step->walk->number) {
		looks.walk = step->walk->number;
		looks.count = 0;
	}
	return looks.count++ < LOOKS_MAX;
}

void fgio_guessed_sleepers_of(const struct fgio_walk_step *step,
			      struct task_struct *thread, unsigned int most)
{
	unsigned int looked_at = 0, found = 0;
	struct task_struct *each;

	for_each_thread(thread, each) {
		if (looked_at++ == THREADS_MAX || found == most ||
		    !may_look(step))
			return;
		if (!fgio_sleeps_uninterruptibly(each))
			continue;
		fgio_walk_guessed(step->walk, fgio_walk_name(each));
		found++;
	}
}

u32 fgio_found_by_looks(struct fgio_looks *looks, u64 key)
{
	return fgio_looks_ask(looks, key, ktime_get_ns());
}

/* Of what a look finds: it differs where that does, nearly always. */
static u64 mark;

void fgio_look_found(u64 what)
{
	mark = hash_64(mark ^ what, 64);
}

/* Return: whether it found others than the last one for this key. */
static bool make_look(struct fgio_look *look, u32 place, fgio_make_look_fn *make)
{
	u64 before = look->mark;

	mark = 0;
	rcu_read_lock();
	make(place, look->key);
	rcu_read_unlock();
	look->mark = mark;
	return mark && mark != before;
}

bool fgio_make_looks(struct fgio_looks *looks, fgio_make_look_fn *make)
{
	u32 place = fgio_looks_begin(looks, ktime_get_ns());
	bool found = false;

	while (place != FGIO_LOOKS_NONE) {
		found |= make_look(&looks->look[place], place, make);
		place = fgio_looks_made(looks, place, ktime_get_ns());
	}
	return found;
}
