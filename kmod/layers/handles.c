// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that have a handle open in a transaction: jbd2 and btrfs. All threads are
 * looked at for it, after a walk has promoted what it found; the next walk begins
 * at once. A transaction that is waited for takes no new handles but reserved
 * ones, so what a look found nearly always only shrinks.
 */
#include <linux/bits.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

#include "base/foreign.h"
#include "base/identity.h"
#include "base/scale.h"
#include "core/looks.h"
#include "graph/found.h"
#include "graph/walk.h"
#include "layers/handles.h"

struct holder {
	u64 task;
	pid_t tid;
};

/**
 * struct scan - tasks with open handles in one transaction
 * @count: length of @holders
 * @holders: the tasks
 */
struct scan {
	unsigned int count;
	struct holder holders[FGIO_HOLDERS_MAX];
};

/* By key_of(). All for the walk's thread alone. */
static struct fgio_look look[FGIO_HOLDER_SCANS];
static struct fgio_looks looks = { .look = look, .count = FGIO_HOLDER_SCANS };
static struct scan scans[FGIO_HOLDER_SCANS];

/*
 * The low bits of a transaction's address are free for the word of a handle that
 * names it. Return: 0 if there is no such address.
 */
#define WORD_BITS GENMASK(2, 0)

static u64 key_of(u64 transaction, size_t named_at)
{
	u64 word = named_at / sizeof(u64);

	if (!transaction || transaction & WORD_BITS || word > WORD_BITS)
		return 0;
	return transaction | word;
}

/*
 * journal_info of a running task changes at any time, and its handle may be
 * gone: it is read without faults, and compared only. The types that other file
 * systems keep there do not lead to the transaction.
 */
static bool has_handle(const struct task_struct *task, u64 key)
{
	const u64 *handle = READ_ONCE(task->journal_info);

	return handle && fgio_peek_word(handle + (key & WORD_BITS)) ==
				 (key & ~WORD_BITS);
}

/* Adds to an empty scan. Context: RCU. */
static void look_at_threads(struct scan *scan, u64 key)
{
	struct task_struct *process, *task;

	for_each_process_thread(process, task) {
		if (likely(!READ_ONCE(task->journal_info)) ||
		    !has_handle(task, key))
			continue;
		fgio_look_found((u64)task);
		scan->holders[scan->count++] = (struct holder){
			.task = (u64)task,
			.tid = task->pid,
		};
		if (scan->count == FGIO_HOLDERS_MAX)
			return;
	}
}

static void make(u32 place, u64 key)
{
	scans[place].count = 0;
	look_at_threads(&scans[place], key);
}

bool fgio_look_for_handles(void)
{
	return fgio_make_looks(&looks, make);
}

/* Context: RCU. Return: whether the task lives and still has its handle. */
static bool still_holds(const struct holder *holder, u64 key)
{
	const struct task_struct *task = fgio_thread_of(holder->tid);

	if ((u64)task != holder->task || !has_handle(task, key))
		return false;
	fgio_walk_name(task);
	return true;
}

void fgio_found_by_handle(const struct fgio_walk_step *step, u64 transaction,
			  size_t named_at)
{
	u64 key = key_of(transaction, named_at);
	const struct scan *scan;
	unsigned int i;
	bool holds;
	u32 place;

	place = key ? fgio_found_by_looks(&looks, key) : FGIO_LOOKS_NONE;
	if (place == FGIO_LOOKS_NONE)
		return;
	scan = &scans[place];
	for (i = 0; i < scan->count; i++) {
		if (scan->holders[i].task == step->task)
			continue;
		rcu_read_lock();
		holds = still_holds(&scan->holders[i], key);
		rcu_read_unlock();
		if (holds)
			fgio_walk_found(step->walk, scan->holders[i].task);
	}
}
