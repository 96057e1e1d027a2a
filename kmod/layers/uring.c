// SPDX-License-Identifier: GPL-2.0
/*
 * Waits for completions of io_uring: the requests of the ring that are under
 * way, whichever thread submitted them.
 *
 *	io_read		a buffered read, whose request waits for a locked page
 *			by a callback: no task waits for that page
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
 * Left out:
 *	rings that another process shares: its workers are not looked for.
 *	rings that are polled (IORING_SETUP_IOPOLL): their tasks do not sleep,
 *		and direct I/O has its submitter's class.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/io_uring_types.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <uapi/linux/io_uring.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "base/identity.h"
#include "base/scale.h"
#include "block/io_target.h"
#include "compat/compat.h"
#include "core/looks.h"
#include "graph/found.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/io.h"
#include "layers/reply.h"
#include "layers/uring.h"
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
	return file ? fgio_kernel_word(file + offsetof(struct file,
						       private_data)) :
		      0;
}

/* --- reads by callback --------------------------------------------------- */

/**
 * struct read_set - requests that read, issued last for some of the rings
 * @last: place of the last one
 * @requests: their addresses, which are gone or used again by now, or 0
 *
 * Without locks or atomic operations: at worst a request is forgotten.
 */
struct read_set {
	u32 last;
	u64 requests[FGIO_URING_READS];
};

static struct read_set read_sets[1 << FGIO_URING_SET_BITS];

static struct read_set *set_of(u64 ring)
{
	return &read_sets[hash_64(ring, FGIO_URING_SET_BITS)];
}

/*
 * Called for reads of all threads, each a few thousand instructions long. To
 * find out whether the thread matters would take longer than to note it.
 */
static void on_read(unsigned long function, unsigned long caller,
		    struct ftrace_ops *operations, struct ftrace_regs *regs)
{
	u64 request = fgio_ftrace_argument(regs, 0);
	struct read_set *set;
	u32 place;

	set = set_of((u64)((const struct io_kiocb *)request)->ctx);
	place = (READ_ONCE(set->last) + 1) % FGIO_URING_READS;
	WRITE_ONCE(set->last, place);
	WRITE_ONCE(set->requests[place], request);
}

static struct fgio_hook hooks[] = {
	FGIO_LOOK("io_read", URING, on_read),
	{}
};

static bool is_read(u64 request)
{
	u8 opcode;

	if (get_kernel_nofault(opcode,
			       &((const struct io_kiocb *)request)->opcode))
		return false;
	return opcode == IORING_OP_READ || opcode == IORING_OP_READV ||
	       opcode == IORING_OP_READ_FIXED;
}

/*
 * The page for which a request waits. All of a request that waits by callback
 * leads back to it: one that is done, or whose memory is used for another one,
 * is not taken for it.
 *
 * The data of a request that was something else before may be words of its
 * submitter's choice, so they must not lead to the registers of a device.
 *
 * Return: the folio, or NULL.
 */
static const struct folio *awaited_folio(u64 request, u64 ring)
{
	const struct wait_page_queue *queue;
	struct wait_page_queue wait;
	struct kiocb read;

	/* The data of a read or write request begin with its kiocb. */
	static_assert(sizeof(read) <= sizeof(struct io_cmd_data));
	if (!request || fgio_uring_ring_of(request) != ring ||
	    !is_read(request) ||
	    copy_from_kernel_nofault(&read, (const void *)request,
				     sizeof(read)) ||
	    !(read.ki_flags & IOCB_WAITQ))
		return NULL;
	queue = read.ki_waitq;
	if (!fgio_copy_kernel(&wait, (u64)queue, sizeof(wait)) ||
	    (u64)wait.wait.private != request ||
	    wait.wait.entry.next == &queue->wait.entry ||
	    !fgio_is_page(&wait.folio->page))
		return NULL;
	return wait.folio;
}

/* A copy of the folio is looked at, since it may be gone by now. */
static void want_folio(const struct fgio_walk_step *step,
		       const struct folio *folio)
{
	struct folio copy;
	u64 mapping, first;

	/* A tail page is no folio: the memory is another's by now. */
	if (copy_from_kernel_nofault(&copy, folio, sizeof(copy)) ||
	    PageTail(&copy.page))
		return;
	mapping = fgio_mapping_of_folio(&copy, &first);
	if (mapping)
		fgio_wanted_add(step, FGIO_WANTED_PAGES, mapping, first,
				first + folio_nr_pages(&copy) - 1);
}

static void want_pages(const struct fgio_walk_step *step)
{
	const struct read_set *set = set_of(step->wait->object);
	const struct folio *folio;
	unsigned int i;

	for (i = 0; i < FGIO_URING_READS; i++) {
		folio = awaited_folio(READ_ONCE(set->requests[i]),
				      step->wait->object);
		if (folio)
			want_folio(step, folio);
	}
}

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
static void find_workers(const struct fgio_walk_step *step,
			 struct task_struct *waiter)
{
	u32 place = fgio_found_by_looks(&looks, waiter->tgid);
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
			struct task_struct *waiter)
{
	struct task_struct *poller;

	poller = fgio_task_at(fgio_uring_poller_of(step->wait->object));
	if (poller && poller->flags & PF_IO_WORKER &&
	    same_thread_group(poller, waiter) &&
	    fgio_uring_tag_of(poller) != FGIO_THREAD_FOREGROUND)
		fgio_walk_found(step->walk, fgio_walk_name(poller));
}

static void blockers(const struct fgio_walk_step *step)
{
	struct task_struct *waiter;

	want_pages(step);
	fgio_io_want_context(step, step->wait->object);
	fgio_reply_find(step);
	rcu_read_lock();
	waiter = fgio_task_at(step->task);
	if (waiter) {
		find_workers(step, waiter);
		find_poller(step, waiter);
	}
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
