// SPDX-License-Identifier: GPL-2.0
/*
 * Replies: waits of foreground tasks for a pipe, a socket whose other end is on
 * this host, an eventfd, a message queue, or epoll(7).
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
 * Nobody has woken the task from a wait for this object yet: then the tasks that it
 * woke itself just before it fell asleep are guessed. A client sends its first
 * question over a new connection, and waits for the server that this woke.
 *
 * A task in the middle of a chain, which the walk finds asleep for a reply, is
 * *expected* to be woken: the task that wakes it is noted, too, though it is not
 * foreground. So the second wait through a chain of servers is followed.
 *
 * A foreground task may sleep here for minutes, until a client sends something.
 * After the window no waker counts any more: the wait is forgotten, and the
 * next one is recorded again.
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
#include "compat/compat.h"
#include "graph/found.h"
#include "graph/sleeper.h"
#include "graph/wait.h"
#include "layers/child.h"
#include "layers/delivery.h"
#include "layers/reply.h"
#include "who/foreground.h"
#include "who/presence.h"
#include "who/uring.h"

/* Requests come from there: a client that has one is in the way of none. */
static bool is_fuse_device(const struct inode *inode)
{
	dev_t number;

	return !get_kernel_nofault(number, &inode->i_rdev) &&
	       number == MKDEV(MISC_MAJOR, FUSE_MINOR);
}

/* A socket that leads to another host, or the device of FUSE. */
static bool is_left_out(const struct file *file)
{
	const struct inode *inode;
	umode_t mode;

	inode = (const void *)fgio_kernel_word((u64)&file->f_inode);
	if (!inode || get_kernel_nofault(mode, &inode->i_mode))
		return false;
	if (S_ISCHR(mode))
		return is_fuse_device(inode);
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

/* The object of what a task asks others. Tasks are aligned. */
static u64 questions_of(u64 task)
{
	return task | 1;
}

/*
 * Tasks that sleep for a lock of the kernel, and io_uring's, are asked nothing.
 * Foreground tasks need no help.
 */
static bool may_be_asked(const struct task_struct *task)
{
	return READ_ONCE(task->__state) & TASK_INTERRUPTIBLE &&
	       !(READ_ONCE(task->flags) &
		 (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) &&
	       !fgio_wait_may_be_root(task);
}

static void note_asked(struct task_struct *task)
{
	if (may_be_asked(task) && fgio_current_serves_requests())
		fgio_waker_note_asked(task, questions_of((u64)current));
}

/* Interrupts, and other softirqs, have nothing to do with current. */
static bool is_current_waker(void)
{
	return in_task() || fgio_delivers_for_current();
}

/*
 * Context: the locks of a wake-up are held, interrupts are off: as
 * on_sched_switch().
 */
static noinline void wake(struct task_struct *task)
{
	u64 object;

	if (!fgio_waits_matter() || !is_current_waker())
		return;
	object = fgio_sleep_reply(task) ?: take_expected((u64)task);
	if (task == current)
		return;
	if (object)
		note_waker(object);
	if (unlikely(fgio_may_serve_requests(current)))
		note_asked(task);
}

/* Called for each wake-up of any task: nearly all of them end here. */
static void on_sched_waking(void *data, struct task_struct *task)
{
	if (unlikely(fgio_wait_may_be_root(task) || is_expected((u64)task) ||
		     fgio_may_serve_requests(current)))
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
	/* There may be files that are no pidfds. */
	bool others;
	/* There may be files that lead to other hosts. */
	bool leads_away;
};

static void look_at_other(struct task_struct *waiter, u32 fd,
			  struct polled *polled)
{
	polled->others = true;
	if (!fgio_reply_object(waiter, fd))
		polled->leads_away = true;
}

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

	polled->leads_away = true;
	if (copy_from_user_nofault(files, array, count * sizeof(*files)))
		return;
	polled->leads_away = count == FGIO_POLLED_MAX;
	polled->others = count == FGIO_POLLED_MAX;
	rcu_read_lock();
	for (i = 0; i < count; i++) {
		tid = fgio_child_of_file(waiter, files[i].fd);
		if (tid)
			polled->tids[polled->count++] = tid;
		else if (files[i].fd >= 0)
			look_at_other(waiter, files[i].fd, polled);
	}
	rcu_read_unlock();
}

static void find_polled(const struct fgio_walk_step *step,
			struct polled *polled)
{
	unsigned int i;

	if (!FIELD_GET(FGIO_POLLED_COUNT, step->wait->detail))
		return;
	if (!fgio_sleeper_look(step, look_at_polled, polled))
		polled->leads_away = true;
	for (i = 0; i < polled->count; i++)
		fgio_child_find(step, polled->tids[i]);
}

/* --- blockers --------------------------------------------------------------- */

static bool find_wakers(const struct fgio_walk_step *step)
{
	const struct fgio_wait *wait = step->wait;

	if (wait->seq & FGIO_SEQ_OUTSIDE)
		expect(step->task, wait->object, wait->seq);
	fgio_watch_for(step, wait->object);
	return fgio_guessed_by_history(step, wait->object);
}

/* A question, and the wait for its answer, follow each other. */
#define QUESTION_NS (10 * NSEC_PER_MSEC)

static void find_asked(const struct fgio_walk_step *step)
{
	const struct fgio_wait *wait = step->wait;
	u64 slept_ns = ktime_get_mono_fast_ns() - wait->since_ns;

	if (!(wait->seq & FGIO_SEQ_OUTSIDE) &&
	    wait->detail & FGIO_REPLY_TO_QUESTION)
		fgio_guessed_since(step, questions_of(step->task),
				   slept_ns + QUESTION_NS);
}

void fgio_reply_find(const struct fgio_walk_step *step)
{
	if (fgio_mechanism_on(FGIO_MECHANISM_REPLIES))
		find_wakers(step);
}

/* Return: whether it is time to forget a wait for which nobody is known. */
static bool is_forgotten(const struct fgio_walk_step *step)
{
	const struct fgio_wait *wait = step->wait;
	u64 identities[FGIO_WAKERS];

	return !(wait->seq & FGIO_SEQ_OUTSIDE) && is_old(wait) &&
	       !fgio_waker_list(wait->object, fgio_waker_window_ns(),
				identities);
}

static void blockers(const struct fgio_walk_step *step)
{
	const struct fgio_wait *wait = step->wait;
	struct polled polled = {};

	find_polled(step, &polled);
	if (polled.count && !polled.others)
		return;
	if (is_forgotten(step))
		fgio_wait_drop(step->task, wait->seq);
	else if (!find_wakers(step) && !polled.leads_away)
		find_asked(step);
}

const struct fgio_layer fgio_reply_layer = {
	.name = "reply",
	.mechanism = FGIO_MECHANISM_REPLIES,
	.kinds = BIT_ULL(FGIO_WAIT_REPLY),
	.hooks = hooks,
	.blockers = blockers,
};
