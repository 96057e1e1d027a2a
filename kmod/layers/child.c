// SPDX-License-Identifier: GPL-2.0
/*
 * Waits for the end of a process. It is known exactly where the call names it,
 * by its id or a pidfd, and where the waiter has one child. Of several children,
 * those are in the way that sleep for I/O or a lock of the kernel: a guess, as for
 * the first message over a pipe (reply.c). A parent in vfork(2) waits for the child
 * that has its memory.
 *
 * Of a process with several threads, the threads that sleep so.
 *
 * Children are searched for among all processes, after a walk has promoted what
 * it found; the next walk begins at once. Of more parents than there are
 * searches, some have to wait for their turn.
 *
 * Left out:
 *	pidfds under epoll(7): mostly one of many files of a loop that waits for
 *		requests, and not for its child.
 *	children of a process group alone (wait4() of a negative id): taken for
 *		any child.
 */
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "base/foreign.h"
#include "base/identity.h"
#include "base/scale.h"
#include "compat/compat.h"
#include "core/looks.h"
#include "graph/found.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/child.h"
#include "who/trust.h"

pid_t fgio_child_of_file(struct task_struct *task, u32 fd)
{
	const struct pid *pid;
	pid_t tid;

	pid = fgio_pid_of_file((const struct file *)fgio_file_at(task, fd));
	return pid && !get_kernel_nofault(tid, &pid->numbers[0].nr) ? tid : 0;
}

/* Context: RCU. */
static bool is_child(struct task_struct *task, struct task_struct *waiter)
{
	return same_thread_group(rcu_dereference(task->real_parent), waiter);
}

/*
 * The thread that a process consists of, or those of its threads that sleep.
 * Context: RCU.
 */
static void find_threads(const struct fgio_walk_step *step,
			 struct task_struct *child)
{
	if (thread_group_empty(child))
		fgio_walk_found(step->walk, fgio_walk_name(child));
	else
		fgio_guessed_sleepers_of(step, child, FGIO_SLEEPERS);
}

void fgio_child_find(const struct fgio_walk_step *step, pid_t tid)
{
	struct task_struct *waiter, *task;

	rcu_read_lock();
	waiter = fgio_task_at(step->task);
	task = fgio_thread_of(tid);
	if (waiter && task &&
	    (is_child(task, waiter) || fgio_may_lend(waiter, task)))
		find_threads(step, task);
	rcu_read_unlock();
}

static void find_by_id(const struct fgio_walk_step *step,
		       struct task_struct *waiter, pid_t tid)
{
	struct pid_namespace *namespace = task_active_pid_ns(waiter);
	struct task_struct *child = NULL;

	if (namespace)
		child = pid_task(find_pid_ns(tid, namespace), PIDTYPE_PID);
	if (child && is_child(child, waiter))
		find_threads(step, child);
}

/**
 * struct search - the children of one process
 * @count: length of @tids
 * @tids: in the initial pid namespace
 */
struct search {
	unsigned int count;
	pid_t tids[FGIO_CHILDREN];
};

/*
 * By id of the parent; of the thread, with FGIO_CHILD_VFORKED, for such a child. All
 * for the walk's thread alone.
 */
static struct fgio_look look[FGIO_CHILD_SEARCHES];
static struct fgio_looks looks = { .look = look, .count = FGIO_CHILD_SEARCHES };
static struct search searches[FGIO_CHILD_SEARCHES];

/* Context: RCU. The parent of a child by vfork(2) is the thread that waits. */
static bool is_sought(struct task_struct *process, struct task_struct *waiter,
		      u64 key)
{
	if (!(key & FGIO_CHILD_VFORKED))
		return is_child(process, waiter);
	return rcu_dereference(process->real_parent) == waiter &&
	       READ_ONCE(process->vfork_done);
}

/* Adds to an empty search. Context: RCU. The kernel's own lists need a lock. */
static void look_at_processes(struct search *search, struct task_struct *waiter,
			      u64 key)
{
	struct task_struct *process;

	for_each_process(process) {
		/* Threads may outlive the first one. */
		if (!is_sought(process, waiter, key) ||
		    (process->exit_state && thread_group_empty(process)))
			continue;
		fgio_look_found((u64)process);
		search->tids[search->count++] = process->pid;
		if (search->count == FGIO_CHILDREN)
			return;
	}
}

static void make(u32 place, u64 key)
{
	struct task_struct *waiter = fgio_thread_of((pid_t)lower_32_bits(key));

	searches[place].count = 0;
	if (waiter)
		look_at_processes(&searches[place], waiter, key);
}

/* To look at all processes takes too long for a walk. */
static bool look_for_children(void)
{
	return fgio_make_looks(&looks, make);
}

/*
 * Of several children the one that ends first is not known. One with many threads
 * that do I/O is not likely to: their I/O would only be in the way of the others'.
 */
#define SLEEPERS_EACH 2

/* @exactly: one alone is in the way, whatever it does. Context: RCU. */
static void find_any(const struct fgio_walk_step *step,
		     struct task_struct *waiter, u64 vforked, bool exactly)
{
	u64 key = vforked | (u32)(vforked ? waiter->pid : waiter->tgid);
	u32 place = fgio_found_by_looks(&looks, key);
	const struct search *search;
	struct task_struct *child;
	unsigned int i;

	if (place == FGIO_LOOKS_NONE)
		return;
	search = &searches[place];
	for (i = 0; i < search->count; i++) {
		child = fgio_thread_of(search->tids[i]);
		if (!child || !is_sought(child, waiter, key))
			continue;
		if (exactly && search->count == 1)
			find_threads(step, child);
		else
			fgio_guessed_sleepers_of(step, child, SLEEPERS_EACH);
	}
}

static void blockers(const struct fgio_walk_step *step)
{
	pid_t tid = lower_32_bits(step->wait->detail);
	struct task_struct *waiter;

	if (step->wait->detail & FGIO_CHILD_BY_FILE) {
		fgio_child_find(step, tid);
		return;
	}
	rcu_read_lock();
	waiter = fgio_task_at(step->task);
	if (waiter && tid)
		find_by_id(step, waiter, tid);
	else if (waiter)
		find_any(step, waiter, step->wait->detail & FGIO_CHILD_VFORKED,
			 true);
	rcu_read_unlock();
}

void fgio_child_guess(const struct fgio_walk_step *step)
{
	struct task_struct *waiter;

	rcu_read_lock();
	waiter = fgio_task_at(step->task);
	/* Few threads have forked: for others, no process is looked at. */
	if (waiter && !list_empty_careful(&waiter->children))
		find_any(step, waiter, 0, false);
	rcu_read_unlock();
}

const struct fgio_layer fgio_child_layer = {
	.name = "child",
	.mechanism = FGIO_MECHANISM_REPLIES,
	.kinds = BIT_ULL(FGIO_WAIT_CHILD),
	.blockers = blockers,
	.look_further = look_for_children,
};
