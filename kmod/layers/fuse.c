// SPDX-License-Identifier: GPL-2.0
/*
 * FUSE: waits for a request of a file system whose daemon is in user space. In
 * the way is the thread of the daemon that works on it.
 *
 *	request_wait_answer	the request's answer: lookups, reads, writes,
 *				fsyncs, whatever the task asked for itself
 *	fuse_get_req		room for a request in the background, such as
 *				reading ahead
 *	fuse_set_nowrite	the answers to all writes of a file: fsync, with
 *				the daemon's cache for writes
 *	fuse_direct_IO		the requests of direct I/O, which go out together
 *
 * Pages that are read ahead are waited for as all pages (io.c), which asks here.
 *
 * Two hooks tell of the daemon's threads, whatever it reads requests by:
 *
 *	fuse_copy_args		a thread takes a request
 *	fuse_request_end	it is answered, or given up
 *
 * All are real functions in 6.1 and 6.12. A thread counts as working on the
 * request that it took last, until that ends: exact where each thread answers
 * before it takes the next one, as those of libfuse do. A daemon may have a
 * thread that takes requests for others: it sleeps for the next one, and the
 * threads of its process are guessed that sleep for I/O or a lock of the kernel.
 *
 * Left out:
 *	direct I/O of libaio and io_uring.
 *	requests that a daemon takes through io_uring (6.14).
 *	virtiofs: its daemon is another machine's.
 */
#include <linux/bits.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "base/identity.h"
#include "base/scale.h"
#include "base/waker.h"
#include "compat/fuse.h"
#include "core/places.h"
#include "graph/found.h"
#include "graph/probe.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/fuse.h"
#include "layers/fuse_object.h"
#include "who/presence.h"

/*
 * Any of the requests before one that no thread has taken makes way for it:
 * those that work on the oldest are boosted. The oldest may never end.
 */
#define SERVERS_MAX 4

/* Processes whose threads are guessed for one wait. */
#define PROCESSES_MAX 2

/* In the detail of FGIO_WAIT_FUSE: the object's type. */
enum fuse_wait {
	FOR_REQUEST,
	FOR_ROOM,
	FOR_FILE,
};

/* --- threads that work on requests ---------------------------------------- */

/**
 * struct notes - threads of daemons, and the requests that they took last
 * @threads: identities; 0 for a free place
 * @payers: the user that each thread counts for
 * @connections: the file system's connection
 * @nodes: the file that the request is about
 * @numbers: the request, unique in its connection; 0: it has ended
 *
 * Without locks: at worst, a thread is taken to work on another request, also
 * one of another daemon that has its places here, until that ends.
 */
struct notes {
	u64 threads[FGIO_PLACES];
	u32 payers[FGIO_PLACES];
	u64 connections[FGIO_PLACES];
	u64 nodes[FGIO_PLACES];
	u64 numbers[FGIO_PLACES];
};

/* A connection's threads are in this number of sets, by thread. */
#define SETS_BITS 2
#define SETS (1U << SETS_BITS)
#define NOTES_MAX (SETS * FGIO_PLACES)

static struct notes table[1 << FGIO_FUSE_BITS];

static struct notes *notes_of(u64 connection)
{
	return &table[hash_64(connection, FGIO_FUSE_BITS - SETS_BITS)
		      << SETS_BITS];
}

/**
 * struct taken - a note
 * @thread: the thread's identity
 * @node: the file
 * @number: the request; 0: it has ended
 */
struct taken {
	u64 thread;
	u64 node;
	u64 number;
};

/* Return: whether the note is of that connection. */
static bool read_note(unsigned int index, u64 connection, struct taken *taken)
{
	const struct notes *notes = notes_of(connection) + index / FGIO_PLACES;
	unsigned int place = index % FGIO_PLACES;

	/* Pairs with note_taken(). */
	taken->number = smp_load_acquire(&notes->numbers[place]);
	taken->thread = READ_ONCE(notes->threads[place]);
	taken->node = READ_ONCE(notes->nodes[place]);
	return taken->thread &&
	       READ_ONCE(notes->connections[place]) == connection;
}

/* A thread whose request has ended gives way first, whichever user's it is. */
static unsigned int place_for_current(const struct notes *notes, u64 thread,
				      u32 payer)
{
	unsigned int place = fgio_place_of(notes->threads, thread);

	if (place == FGIO_PLACES)
		place = fgio_place_of(notes->numbers, 0);
	if (place == FGIO_PLACES)
		place = fgio_place_for(notes->threads, notes->payers, payer,
				       (u32)current->pid / SETS);
	return place;
}

static void note_taken(const struct fgio_fuse_object *request)
{
	struct notes *notes = notes_of(request->connection) +
			      (u32)current->pid % SETS;
	u64 thread = fgio_identity_of(current);
	u32 payer = fgio_payer_of(current);
	unsigned int place = place_for_current(notes, thread, payer);

	WRITE_ONCE(notes->numbers[place], 0);
	WRITE_ONCE(notes->threads[place], thread);
	WRITE_ONCE(notes->payers[place], payer);
	WRITE_ONCE(notes->connections[place], request->connection);
	WRITE_ONCE(notes->nodes[place], request->node);
	/* Pairs with read_note(). */
	smp_store_release(&notes->numbers[place], request->number);
}

static void note_ended(const struct fgio_fuse_object *request)
{
	struct notes *notes = notes_of(request->connection);
	struct taken taken;
	unsigned int i;

	for (i = 0; i < NOTES_MAX; i++)
		if (read_note(i, request->connection, &taken) &&
		    taken.number == request->number)
			cmpxchg(&notes[i / FGIO_PLACES].numbers[i % FGIO_PLACES],
				request->number, 0);
}

static void forget(void)
{
	memset(table, 0, sizeof(table));
}

/* --- hooks ----------------------------------------------------------------- */

static u64 argument(struct pt_regs *regs, unsigned int number)
{
	return regs_get_kernel_argument(regs, number);
}

/* Called for answers, too. What is copied is on the caller's stack. */
static int on_copy(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct fgio_fuse_object request;
	u64 copy = argument(regs, 0);

	if (fgio_waits_matter() &&
	    (u32)fgio_peek_word((void *)(copy + FGIO_FUSE_COPY_TO_DAEMON)) &&
	    fgio_fuse_read_request(fgio_peek_word((void *)(copy +
						FGIO_FUSE_COPY_REQUEST)),
				   &request) &&
	    request.number)
		note_taken(&request);
	return 1;
}

static int on_end(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct fgio_fuse_object request;

	if (fgio_waits_matter() &&
	    fgio_fuse_read_request(argument(regs, 0), &request) &&
	    request.number)
		note_ended(&request);
	return 1;
}

static int on_wait_for_answer(struct kretprobe_instance *instance,
			      struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_FUSE, argument(regs, 0),
			       FOR_REQUEST);
}

/* Called for each request. The mount's connection stays meanwhile. */
static int on_get_request(struct kretprobe_instance *instance,
			  struct pt_regs *regs)
{
	u64 connection;

	if (!fgio_waits_matter() ||
	    !(u8)argument(regs, FGIO_FUSE_GET_REQ_MOUNT + 1))
		return 1;
	connection = fgio_fuse_connection_of(
		argument(regs, FGIO_FUSE_GET_REQ_MOUNT));
	if (!fgio_fuse_is_blocked(connection))
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_FUSE, connection, FOR_ROOM);
}

/* Called for each fsync. */
static int on_wait_for_writes(struct kretprobe_instance *instance,
			      struct pt_regs *regs)
{
	u64 inode = argument(regs, 0);

	if (!fgio_waits_matter() || !fgio_fuse_writes(inode))
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_FUSE, inode, FOR_FILE);
}

/* The caller has the file open. */
static int on_direct(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct kiocb *iocb = (struct kiocb *)argument(regs, 0);

	if (!fgio_waits_matter() || !is_sync_kiocb(iocb))
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_FUSE,
			       (u64)file_inode(iocb->ki_filp), FOR_FILE);
}

static struct fgio_hook hooks[] = {
	FGIO_HOOK("fuse:fuse_request_end", REPLIES, on_end, NULL),
	FGIO_HOOK("fuse:fuse_copy_args", REPLIES, on_copy, NULL,
		  .ended_by = "fuse:fuse_request_end"),
	FGIO_HOOK("fuse:request_wait_answer", REPLIES, on_wait_for_answer,
		  fgio_hook_leave),
	FGIO_HOOK("fuse:fuse_get_req", REPLIES, on_get_request,
		  fgio_hook_leave),
	FGIO_HOOK("fuse:fuse_set_nowrite", REPLIES, on_wait_for_writes,
		  fgio_hook_leave),
	FGIO_HOOK("fuse:fuse_direct_IO", REPLIES, on_direct, fgio_hook_leave),
	{}
};

/* --- blockers -------------------------------------------------------------- */

/* Context: RCU. */
static void guess_others(const struct fgio_walk_step *step, u64 thread)
{
	struct task_struct *task = fgio_task_of(thread);

	if (task)
		fgio_guessed_sleepers_of(step, task, FGIO_SLEEPERS);
}

/* It may sleep for its next request, and others do what it took. */
static bool may_have_handed_over(u64 key)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	const struct task_struct *task;
	bool idles;

	rcu_read_lock();
	task = fgio_task_at(key);
	idles = task && READ_ONCE(task->__state) & TASK_INTERRUPTIBLE;
	rcu_read_unlock();
	return idles && !fgio_wait_copy_of(key, waits, NULL);
}

/* A daemon that does not answer for this time gets what a guess gets. */
static bool is_late(const struct fgio_wait *wait)
{
	return ktime_get_mono_fast_ns() - wait->since_ns >
	       fgio_waker_window_ns();
}

static void find_server(const struct fgio_walk_step *step, u64 thread,
			bool is_sure)
{
	u64 key = fgio_name_identity(thread);

	if (!key)
		return;
	if (!is_sure || is_late(step->wait))
		fgio_walk_guessed(step->walk, key);
	else
		fgio_walk_found(step->walk, key);
	if (!may_have_handed_over(key))
		return;
	rcu_read_lock();
	guess_others(step, thread);
	rcu_read_unlock();
}

/* Return: whether a thread works on the request. */
static bool find_server_of(const struct fgio_walk_step *step,
			   const struct fgio_fuse_object *request)
{
	struct taken taken;
	unsigned int i;

	for (i = 0; i < NOTES_MAX; i++) {
		if (!read_note(i, request->connection, &taken) ||
		    taken.number != request->number)
			continue;
		find_server(step, taken.thread, true);
		return true;
	}
	return false;
}

/* Adds a note to those that are sorted by number, as requests came. */
static void sort_in(struct taken *sorted, unsigned int count,
		    const struct taken *taken)
{
	unsigned int i;

	for (i = count; i && sorted[i - 1].number > taken->number; i--)
		sorted[i] = sorted[i - 1];
	sorted[i] = *taken;
}

static bool lives(const struct taken *taken)
{
	const struct task_struct *thread;

	rcu_read_lock();
	thread = fgio_task_of(taken->thread);
	rcu_read_unlock();
	return thread;
}

/*
 * The threads that work on a connection's requests; those about a file, if @node
 * is not 0. Return: whether there are any.
 */
static bool find_servers(const struct fgio_walk_step *step, u64 connection,
			 u64 node)
{
	struct taken sorted[NOTES_MAX], taken;
	unsigned int count = 0;
	unsigned int i;

	for (i = 0; i < NOTES_MAX; i++)
		if (read_note(i, connection, &taken) && taken.number &&
		    (!node || taken.node == node) && lives(&taken))
			sort_in(sorted, count++, &taken);
	for (i = 0; i < count; i++)
		find_server(step, sorted[i].thread, i < SERVERS_MAX);
	return count;
}

static bool is_among(const struct signal_struct *process,
		     const struct signal_struct *const *processes,
		     unsigned int count)
{
	while (count--)
		if (processes[count] == process)
			return true;
	return false;
}

/*
 * It is not known which thread has a request, which is not pending: guesses
 * those of the process of a thread that took requests.
 */
static void guess_process(const struct fgio_walk_step *step, u64 connection)
{
	const struct signal_struct *processes[PROCESSES_MAX];
	struct task_struct *task;
	unsigned int count = 0;
	struct taken taken;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < NOTES_MAX && count < PROCESSES_MAX; i++) {
		if (!read_note(i, connection, &taken))
			continue;
		task = fgio_task_of(taken.thread);
		if (!task || is_among(task->signal, processes, count))
			continue;
		processes[count++] = task->signal;
		fgio_guessed_sleepers_of(step, task, FGIO_SLEEPERS);
	}
	rcu_read_unlock();
}

static void find_any(const struct fgio_walk_step *step,
		     const struct fgio_fuse_object *object)
{
	if (!find_servers(step, object->connection, object->node) &&
	    !find_servers(step, object->connection, 0))
		guess_process(step, object->connection);
}

static void find_for_request(const struct fgio_walk_step *step,
			     struct fgio_fuse_object *request)
{
	if (find_server_of(step, request))
		return;
	if (!request->is_pending) {
		guess_process(step, request->connection);
		return;
	}
	request->node = 0;
	find_any(step, request);
}

/* Return: whether the wait goes on, and its object leads to a connection. */
static bool read_object(const struct fgio_walk_step *step,
			struct fgio_fuse_object *object)
{
	u64 address = step->wait->object;
	unsigned long flags;
	bool found = false;

	if (!fgio_wait_hold(step->task, step->wait->seq, &flags))
		return false;
	switch (step->wait->detail) {
	case FOR_REQUEST:
		found = fgio_fuse_read_request(address, object);
		break;
	case FOR_ROOM:
		*object = (struct fgio_fuse_object){ .connection = address };
		found = true;
		break;
	case FOR_FILE:
		found = fgio_fuse_read_inode(address, object);
		break;
	}
	fgio_wait_release(step->task, flags);
	return found;
}

/* The innermost wait is for one request, and more is known of it. */
static bool is_innermost(const struct fgio_walk_step *step)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	unsigned int count = fgio_wait_copy_of(step->task, waits, NULL);

	return count && waits[count - 1].seq == step->wait->seq;
}

static void blockers(const struct fgio_walk_step *step)
{
	struct fgio_fuse_object object;

	if (!is_innermost(step) || !read_object(step, &object))
		return;
	if (step->wait->detail == FOR_REQUEST)
		find_for_request(step, &object);
	else
		find_any(step, &object);
}

bool fgio_fuse_find_servers(const struct fgio_walk_step *step, u64 mapping)
{
	struct fgio_fuse_object object;

	if (!FGIO_FUSE_KNOWN || !fgio_mechanism_on(FGIO_MECHANISM_REPLIES) ||
	    !fgio_fuse_read_mapping(mapping, &object))
		return false;
	find_any(step, &object);
	return true;
}

const struct fgio_layer fgio_fuse_layer = {
	.name = "FUSE",
	.mechanism = FGIO_MECHANISM_REPLIES,
	.kinds = BIT_ULL(FGIO_WAIT_FUSE),
	.hooks = FGIO_FUSE_KNOWN ? hooks : NULL,
	.blockers = blockers,
	.forget = forget,
};
