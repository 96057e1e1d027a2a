// SPDX-License-Identifier: GPL-2.0
/* Tasks that have a handle open in a transaction: jbd2 and btrfs. */
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

#include "base/foreign.h"
#include "base/identity.h"
#include "base/scale.h"
#include "graph/found.h"
#include "graph/walk.h"
#include "layers/handles.h"

struct holder {
	u64 task;
	pid_t tid;
};

/**
 * struct scan - tasks with open handles in a transaction that is waited for
 * @transaction: the transaction
 * @named_at: where handles name it
 * @next_ns: earliest time of the next scan; until then @holders are checked
 * @count: length of @holders
 * @holders: the tasks
 */
struct scan {
	u64 transaction;
	size_t named_at;
	u64 next_ns;
	unsigned int count;
	struct holder holders[FGIO_HOLDERS_MAX];
};

/* For the walk's thread alone. */
static struct scan scans[FGIO_HOLDER_SCANS];

/*
 * journal_info of a running task changes at any time, and its handle may be
 * gone: it is read without faults, and compared only. The types that other file
 * systems keep there do not lead to the transaction.
 */
static bool has_handle(const struct task_struct *task, const struct scan *scan)
{
	const void *handle = READ_ONCE(task->journal_info);

	return handle &&
	       fgio_peek_word(handle + scan->named_at) == scan->transaction;
}

/* Context: RCU. */
static void scan_threads(struct scan *scan)
{
	struct task_struct *process, *task;

	scan->count = 0;
	for_each_process_thread(process, task) {
		if (likely(!READ_ONCE(task->journal_info)) ||
		    !has_handle(task, scan))
			continue;
		scan->holders[scan->count++] = (struct holder){
			.task = (u64)task,
			.tid = task->pid,
		};
		if (scan->count == FGIO_HOLDERS_MAX)
			return;
	}
}

/* Context: RCU. Return: whether the task lives and still has its handle. */
static bool still_holds(const struct holder *holder, const struct scan *scan)
{
	const struct task_struct *task = fgio_thread_of(holder->tid);

	if ((u64)task != holder->task || !has_handle(task, scan))
		return false;
	fgio_walk_name(task);
	return true;
}

/* The scan for a transaction, or the oldest one, reset for it. */
static struct scan *scan_of(u64 transaction, size_t named_at)
{
	struct scan *oldest = scans;
	struct scan *scan;

	for (scan = scans; scan < scans + FGIO_HOLDER_SCANS; scan++) {
		if (scan->transaction == transaction &&
		    scan->named_at == named_at)
			return scan;
		if (scan->next_ns < oldest->next_ns)
			oldest = scan;
	}
	*oldest = (struct scan){
		.transaction = transaction,
		.named_at = named_at,
	};
	return oldest;
}

/*
 * A transaction that is waited for takes no new handles but reserved ones, so
 * the result of an old scan nearly always only shrinks.
 */
static void update_scan(struct scan *scan)
{
	u64 began_ns = ktime_get_ns();

	if (began_ns < scan->next_ns)
		return;
	rcu_read_lock();
	scan_threads(scan);
	rcu_read_unlock();
	scan->next_ns = fgio_next_look_ns(began_ns);
}

void fgio_found_by_handle(const struct fgio_walk_step *step, u64 transaction,
			  size_t named_at)
{
	struct scan *scan;
	unsigned int i;
	bool holds;

	if (!transaction)
		return;
	scan = scan_of(transaction, named_at);
	update_scan(scan);
	for (i = 0; i < scan->count; i++) {
		if (scan->holders[i].task == step->task)
			continue;
		rcu_read_lock();
		holds = still_holds(&scan->holders[i], scan);
		rcu_read_unlock();
		if (holds)
			fgio_walk_found(step->walk, scan->holders[i].task);
	}
}
