// SPDX-License-Identifier: GPL-2.0
/*
 * Waits for completions of io_uring: the requests of the ring that are under
 * way, whichever thread submitted them.
 *
 *	io_read		a buffered read, which may wait by a callback
 *			(uring_read.c)
 *
 * In the way of a ring are its direct I/O, the workers that execute its
 * requests, the thread that polls its submission queue, and the I/O of such
 * pages. Workers of a foreground thread are foreground tasks themselves meanwhile
 * (who/uring.c): their waits are roots of the walk, and need nothing from here.
 * The workers of other threads are in the way where threads share a ring (writes
 * to one file are executed one by one), or where a foreground task waits for the
 * thread that waits for its ring. Where a request waits for a message, as from a
 * socket, the task that sends it is in the way (reply.c).
 *
 * The processes of workers are those of the threads that submit to the ring, which
 * names them, and the waiting one.
 *
 * Left out:
 *	submitters beyond the eight that came to the ring last.
 *	rings that are polled (IORING_SETUP_IOPOLL): their tasks do not sleep,
 *		and direct I/O has its submitter's class.
 */
#include <linux/fs.h>
#include <linux/io_uring_types.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <uapi/linux/io_uring.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "base/identity.h"
#include "base/scale.h"
#include "compat/compat.h"
#include "core/looks.h"
#include "core/number.h"
#include "graph/found.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/io.h"
#include "layers/reply.h"
#include "layers/uring.h"
#include "layers/uring_read.h"
#include "who/uring.h"

/* --- the ring of a call -------------------------------------------------- */

static u64 registered_file_at(const struct task_struct *task, u32 index)
{
	const struct io_uring_task *own = fgio_uring_of_task(task);

	if (!own || index >= IO_RINGFD_REG_MAX)
		return 0;
	return fgio_kernel_word((u64)&own->registered_rings[index]);
}

u64 fgio_uring_of_call(struct task_struct *task, u32 fd, u32 flags)
{
	u64 file;

	if (!fgio_mechanism_on(FGIO_MECHANISM_URING))
		return 0;
	if (flags & IORING_ENTER_REGISTERED_RING)
		file = registered_file_at(task, fd);
	else
		file = fgio_file_at(task, fd);
	return fgio_word_of(file, offsetof(struct file, private_data));
}

static struct fgio_hook hooks[] = {
	FGIO_LOOK("io_read", URING, fgio_on_uring_read, .alone = true),
	{}
};

/* --- workers --------------------------------------------------------------- */

struct busy_worker {
	u64 task;
	u64 ring;
	pid_t tid;
};

/**
 * struct search - the busy workers of one process
 * @count: length of @workers
 * @workers: in the order of its threads
 */
struct search {
	unsigned int count;
	struct busy_worker workers[FGIO_URING_WORKERS];
};

/* By process. All for the walk's thread alone. */
static struct fgio_look look[FGIO_URING_SEARCHES];
static struct fgio_looks looks = { .look = look, .count = FGIO_URING_SEARCHES };
static struct search searches[FGIO_URING_SEARCHES];

static u64 ring_of_worker(const struct task_struct *thread)
{
	u64 request = fgio_uring_request_of(thread);

	return request ? fgio_uring_ring_of(request) : 0;
}

/* Adds to an empty search. Context: RCU. */
static void look_at_threads(struct search *search, struct task_struct *process)
{
	struct task_struct *thread;
	u64 ring;

	for_each_thread(process, thread) {
		ring = ring_of_worker(thread);
		if (!ring)
			continue;
		fgio_look_found((u64)thread ^ ring);
		search->workers[search->count++] = (struct busy_worker){
			.task = (u64)thread,
			.ring = ring,
			.tid = thread->pid,
		};
		if (search->count == FGIO_URING_WORKERS)
			return;
	}
}

static void make(u32 place, u64 key)
{
	struct task_struct *process = fgio_thread_of((pid_t)key);

	searches[place].count = 0;
	if (process)
		look_at_threads(&searches[place], process);
}

/* A process may have more threads than there is time for in a walk. */
static bool look_for_workers(void)
{
	return fgio_make_looks(&looks, make);
}

/* Context: RCU. Return: whether the worker lives and still is at that ring. */
static bool still_executes(const struct busy_worker *worker)
{
	const struct task_struct *thread = fgio_thread_of(worker->tid);

	return (u64)thread == worker->task &&
	       ring_of_worker(thread) == worker->ring;
}

/* Context: RCU. */
static void find_workers(const struct fgio_walk_step *step, pid_t process)
{
	u32 place = fgio_found_by_looks(&looks, process);
	const struct busy_worker *worker;
	const struct search *search;

	if (place == FGIO_LOOKS_NONE)
		return;
	search = &searches[place];
	for (worker = search->workers; worker < search->workers + search->count;
	     worker++)
		if (worker->ring == step->wait->object &&
		    still_executes(worker))
			fgio_walk_found(step->walk,
					fgio_walk_name((void *)worker->task));
}

/* One whose owner is foreground is critical by itself. Context: RCU. */
static void find_poller(const struct fgio_walk_step *step,
			struct task_struct *thread)
{
	struct task_struct *poller;

	poller = fgio_task_at(fgio_uring_poller_of(step->wait->object));
	if (poller && poller->flags & PF_IO_WORKER &&
	    same_thread_group(poller, thread) &&
	    fgio_uring_tag_of(poller) != FGIO_THREAD_FOREGROUND)
		fgio_walk_found(step->walk, fgio_walk_name(poller));
}

/* A thread that is alone in its process has no workers. Context: RCU. */
static void find_threads(const struct fgio_walk_step *step,
			 struct task_struct *thread)
{
	if (thread_group_empty(thread))
		return;
	find_workers(step, thread->tgid);
	find_poller(step, thread);
}

/* Each process is asked once. Context: RCU. */
static void find_in_processes(const struct fgio_walk_step *step,
			      struct task_struct *waiter)
{
	u64 processes[FGIO_URING_SUBMITTERS + 1] = { waiter->tgid };
	u64 threads[FGIO_URING_SUBMITTERS];
	unsigned int count, i, asked = 1;
	struct task_struct *thread;

	find_threads(step, waiter);
	count = fgio_uring_submitters_of(step->wait->object, threads);
	for (i = 0; i < count; i++) {
		thread = fgio_task_at(threads[i]);
		if (!thread || is_among(thread->tgid, processes, asked))
			continue;
		processes[asked++] = thread->tgid;
		find_threads(step, thread);
	}
}

static void blockers(const struct fgio_walk_step *step)
{
	struct task_struct *waiter;

	fgio_uring_want_pages(step, step->wait->object);
	fgio_io_want_context(step, step->wait->object);
	fgio_reply_find(step);
	rcu_read_lock();
	waiter = fgio_task_at(step->task);
	if (waiter)
		find_in_processes(step, waiter);
	rcu_read_unlock();
}

/* A ring without I/O is idle, or has requests that are no direct I/O. */
static void not_found(struct fgio_walk *walk, const struct fgio_wanted *wanted)
{
	if (wanted->kind != FGIO_WANTED_CONTEXT)
		fgio_io_not_found(walk, wanted);
}

const struct fgio_layer fgio_uring_layer = {
	.name = "uring",
	.mechanism = FGIO_MECHANISM_URING,
	.kinds = BIT_ULL(FGIO_WAIT_URING),
	.hooks = hooks,
	.blockers = blockers,
	.look_further = look_for_workers,
	.not_found = not_found,
};
