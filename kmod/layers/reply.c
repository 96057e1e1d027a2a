// SPDX-License-Identifier: GPL-2.0
/*
 * Replies: waits of foreground tasks for a pipe, a socket whose other end is on
 * this host or that has none, an eventfd, a message queue, or epoll(7).
 *
 * All these wait queues end in one place: a task wakes another.
 *
 *	sched_waking	a task that wakes a foreground task which sleeps for a
 *			reply, or an expected one: the waker of what that sleeps
 *			for
 *
 * Wakers are guesses, as those of conditions (futex.c), with the same window:
 * what woke the task lately is likely to wake it again. Not noted are
 * interrupts (timers, drives, the network; but what a task sends to its own host
 * counts as its own act, delivery.c), threads of the kernel, tasks that exit and
 * foreground tasks, which need no help.
 *
 * A first answer is that of a task that the question woke (question.c), or over a
 * pipe that of a child (child.c).
 *
 * A task in the middle of a chain, which the walk finds asleep for a reply, is
 * *expected* to be woken: the task that wakes it is noted, too, though it is not
 * foreground. So the second wait through a chain of servers is followed.
 *
 * A foreground task may sleep here for minutes, until a client sends something.
 * After the window no waker counts any more: the wait is forgotten, and the
 * next one is recorded again. The task that ends it is noted all the same,
 * as for an expected one: a slow answer is learnt, too.
 *
 * Left out:
 *	sockets that lead to other hosts: what wakes the task is an interrupt.
 *	the device of FUSE: what wakes the task is a client that has a request.
 */
#include <linux/bitfield.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/kdev_t.h>
#include <linux/major.h>
#include <linux/miscdevice.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "base/scale.h"
#include "base/waker.h"
#include "graph/found.h"
#include "graph/sleeper.h"
#include "graph/wait.h"
#include "layers/child.h"
#include "layers/delivery.h"
#include "layers/io.h"
#include "layers/question.h"
#include "layers/reply.h"
#include "layers/uring_read.h"
#include "who/foreground.h"
#include "who/presence.h"
#include "who/uring.h"

/* Requests come from there: a client that has one is in the way of none. */
static bool is_fuse_device(const struct file *file)
{
	const struct inode *inode;
	dev_t number;

	inode = (const void *)fgio_kernel_word((u64)&file->f_inode);
	return inode && !get_kernel_nofault(number, &inode->i_rdev) &&
	       number == MKDEV(MISC_MAJOR, FUSE_MINOR);
}

/* A socket that leads to another host, or the device of FUSE. */
static bool is_left_out(const struct file *file)
{
	umode_t mode;

	if (!fgio_file_mode(file, &mode))
		return false;
	if (S_ISCHR(mode))
		return is_fuse_device(file);
	return S_ISSOCK(mode) && !fgio_socket_is_local(file);
}

u64 fgio_reply_object(struct task_struct *task, u32 fd)
{
	u64 file = fgio_file_at(task, fd);

	return file && !is_left_out((const struct file *)file) ? file : 0;
}

/* --- tasks that are expected to be woken ---------------------------------- */

/**
 * struct expected - a task in the middle of a chain that sleeps for a reply
 * @task: its key; compared, never followed
 * @object: what it sleeps for
 * @seq: which of its sleeps: a timer may end this one, and another task the next
 *
 * Without locks or atomic operations: at worst a task is noted as the waker of
 * another object that is waited for.
 */
struct expected {
	u64 task;
	u64 object;
	u32 seq;
};

static struct expected expected[1 << FGIO_EXPECTED_BITS];

static struct expected *expected_of(u64 task)
{
	return &expected[hash_64(task, FGIO_EXPECTED_BITS)];
}

static void expect(u64 task, u64 object, u32 seq)
{
	struct expected *place = expected_of(task);

	WRITE_ONCE(place->task, 0);
	WRITE_ONCE(place->object, object);
	WRITE_ONCE(place->seq, seq);
	/* Pairs with take_expected(), which reads the task first. */
	smp_store_release(&place->task, task);
}

static bool is_expected(u64 task)
{
	/* Pairs with expect(). */
	return smp_load_acquire(&expected_of(task)->task) == task;
}

/*
 * Return: what an expected task sleeps for; 0 for other tasks. It is not
 * expected any more.
 */
static u64 take_expected(u64 task)
{
	struct expected *place = expected_of(task);
	u64 object;

	if (!is_expected(task))
		return 0;
	object = READ_ONCE(place->object);
	if (!fgio_sleep_goes_on(task, READ_ONCE(place->seq)))
		object = 0;
	WRITE_ONCE(place->task, 0);
	return object;
}

/* --- wakers ---------------------------------------------------------------- */

/* A worker that executes a request of the ring is found by it (uring.c). */
static bool is_worker_of(u64 ring)
{
	return current->flags & PF_IO_WORKER &&
	       fgio_uring_ring_of(fgio_uring_request_of(current)) == ring;
}

static void note_waker(u64 object)
{
	if (!(current->flags & (PF_KTHREAD | PF_EXITING)) &&
	    fgio_waker_remembers(object) && !is_worker_of(object) &&
	    !fgio_current_serves_requests())
		fgio_waker_note(object, false);
}

/* Interrupts, and other softirqs, have nothing to do with current. */
static bool is_current_waker(void)
{
	return in_task() || fgio_delivers_for_current();
}

/*
 * False: the current task asks others nothing. True also of threads that have
 * another tag or an I/O priority, and of a few others.
 */
static bool may_ask(void)
{
	return fgio_may_serve_requests(current) &&
	       !(current->flags & PF_IO_WORKER);
}

/*
 * Foreground tasks that are asked need no help. Context: the locks of a wake-up
 * are held, interrupts are off: as on_sched_switch().
 */
static noinline void wake(struct task_struct *task)
{
	u64 awaited, object;

	if (task == current || !fgio_waits_matter() || !is_current_waker())
		return;
	awaited = fgio_sleep_reply(task);
	object = awaited ?: take_expected((u64)task);
	if (object)
		note_waker(object);
	if (!awaited && may_ask())
		fgio_question_note(task);
}

/* Called for each wake-up of any task: nearly all of them end here. */
static void on_sched_waking(void *data, struct task_struct *task)
{
	if (unlikely(fgio_wait_may_be_root(task) || is_expected((u64)task) ||
		     may_ask()))
		wake(task);
}

static struct fgio_hook hooks[] = {
	{
		.name = "sched_waking",
		.mechanism = FGIO_MECHANISM_REPLIES,
		.tracepoint = on_sched_waking,
	},
	{
		.name = "netif_rx",
		.mechanism = FGIO_MECHANISM_REPLIES,
		.tracepoint = fgio_on_netif_rx,
	},
	{}
};

static bool is_old(const struct fgio_wait *wait)
{
	return ktime_get_mono_fast_ns() - wait->since_ns >
	       fgio_waker_window_ns();
}

/* --- files that poll(2) waits for ------------------------------------------ */

struct polled {
	pid_t tids[FGIO_POLLED_MAX];
	unsigned int count;
	/* The other files, but for those beyond FGIO_POLLED_MAX. */
	u64 files[FGIO_POLLED_MAX];
	unsigned int file_count;
	bool others;
};

/* Context: fgio_sleeper_look()'s. */
static void look_at_polled(struct task_struct *waiter,
			   const struct fgio_wait *wait, void *data)
{
	struct polled *polled = data;
	struct pollfd files[FGIO_POLLED_MAX];
	u32 count = FIELD_GET(FGIO_POLLED_COUNT, wait->detail);
	const void __user *array =
		(void __user *)(wait->detail & FGIO_POLLED_ADDRESS);
	pid_t tid;
	u32 i;

	if (copy_from_user_nofault(files, array, count * sizeof(*files)))
		return;
	polled->others = count == FGIO_POLLED_MAX;
	rcu_read_lock();
	for (i = 0; i < count; i++) {
		tid = fgio_child_of_file(waiter, files[i].fd);
		if (tid)
			polled->tids[polled->count++] = tid;
		else if (files[i].fd >= 0)
			polled->files[polled->file_count++] =
				fgio_file_at(waiter, files[i].fd);
	}
	rcu_read_unlock();
	polled->others |= polled->file_count;
}

/* --- blockers --------------------------------------------------------------- */

/* Return: whether a task was asked over it, and lives. */
static bool find_asked(const struct fgio_walk_step *step, u64 file)
{
	u64 task = fgio_name_identity(fgio_question_asked(file));

	fgio_walk_guessed(step->walk, task);
	return task;
}

/* Return: whether all of them are pidfds, so that no waker has to be learnt. */
static bool find_polled(const struct fgio_walk_step *step)
{
	struct polled polled = {};
	unsigned int i;

	if (!FIELD_GET(FGIO_POLLED_COUNT, step->wait->detail) ||
	    !fgio_sleeper_look(step, look_at_polled, &polled))
		return false;
	for (i = 0; i < polled.count; i++)
		fgio_child_find(step, polled.tids[i]);
	for (i = 0; i < polled.file_count; i++)
		find_asked(step, polled.files[i]);
	return polled.count && !polled.others;
}

/*
 * A pipe that the task itself reads: a child that has the other end from its birth
 * was asked nothing, and has sent nothing yet, as with popen(3).
 */
static bool may_lead_to_child(const struct fgio_walk_step *step)
{
	const struct fgio_wait *wait = step->wait;
	umode_t mode;

	/* Several files, or none, are waited for by the thread. */
	return wait->kind == FGIO_WAIT_REPLY &&
	       !(wait->seq & FGIO_SEQ_OUTSIDE) && wait->object != step->task &&
	       fgio_file_mode((const struct file *)wait->object, &mode) &&
	       S_ISFIFO(mode);
}

static void find_wakers(const struct fgio_walk_step *step)
{
	const struct fgio_wait *wait = step->wait;
	bool known;

	if (wait->seq & FGIO_SEQ_OUTSIDE)
		expect(step->task, wait->object, wait->seq);
	fgio_watch_for(step, wait->object);
	known = fgio_guessed_by_history(step, wait->object);
	known |= find_asked(step, wait->object);
	fgio_question_find(step, known);
	if (!known && may_lead_to_child(step))
		fgio_child_guess(step);
}

void fgio_reply_find(const struct fgio_walk_step *step)
{
	if (fgio_mechanism_on(FGIO_MECHANISM_REPLIES))
		find_wakers(step);
}

static void forget(const struct fgio_walk_step *step)
{
	const struct task_struct *task;
	u32 seq = 0;

	rcu_read_lock();
	task = fgio_task_at(step->task);
	if (task)
		seq = fgio_sleep_seq(task);
	rcu_read_unlock();
	/* Else it is in another sleep by now, whose number this is. */
	if (seq && fgio_wait_is_on(step->task, step->wait->seq))
		expect(step->task, step->wait->object, seq);
	fgio_wait_drop(step->task, step->wait->seq);
}

static void blockers(const struct fgio_walk_step *step)
{
	const struct fgio_wait *wait = step->wait;
	u64 identities[FGIO_WAKERS];

	if (find_polled(step))
		return;
	/* What it waits for may tell of a ring's completions. */
	fgio_uring_want_own_pages(step);
	if (!(wait->seq & FGIO_SEQ_OUTSIDE) && is_old(wait) &&
	    !fgio_waker_list(wait->object, fgio_waker_window_ns(), identities))
		forget(step);
	else
		find_wakers(step);
}

const struct fgio_layer fgio_reply_layer = {
	.name = "reply",
	.mechanism = FGIO_MECHANISM_REPLIES,
	.kinds = BIT_ULL(FGIO_WAIT_REPLY),
	.hooks = hooks,
	.blockers = blockers,
	.not_found = fgio_io_not_found,
};
