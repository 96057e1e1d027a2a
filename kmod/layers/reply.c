// SPDX-License-Identifier: GPL-2.0
/*
 * Replies: waits of foreground tasks for a pipe, a UNIX socket, an eventfd, a
 * message queue, epoll(7) or the end of a child.
 *
 * All these wait queues end in one place: a task wakes another.
 *
 *	sched_waking	a task that wakes a foreground task which sleeps for a
 *			reply: the waker of what that sleeps for
 *
 * Wakers are guesses, as those of conditions (futex.c), with the same window:
 * what woke the task lately is likely to wake it again. Not noted are
 * interrupts (timers, drives, the network), threads of the kernel, tasks that
 * exit and foreground tasks, which need no help.
 *
 * A child that is waited for by its thread id is known exactly.
 *
 * A foreground task may sleep here for minutes, until a client sends something.
 * After the window no waker counts any more: the wait is forgotten, and the
 * next one is recorded again.
 *
 * Left out:
 *	sockets of the network: what wakes the task is an interrupt.
 *	tasks that are not foreground, in the middle of a chain: nothing is
 *		noted while they sleep.
 */
#include <linux/fs.h>
#include <linux/net.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/socket.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "base/waker.h"
#include "graph/found.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/reply.h"
#include "who/foreground.h"
#include "who/presence.h"

static bool is_of_network(const struct file *file)
{
	const struct proto_ops *operations;
	const struct socket *socket;
	const struct inode *inode;
	umode_t mode;
	int family;

	inode = (const void *)fgio_peek_word(&file->f_inode);
	if (!inode || get_kernel_nofault(mode, &inode->i_mode) ||
	    !S_ISSOCK(mode))
		return false;
	socket = (const void *)fgio_peek_word(&file->private_data);
	operations = socket ? (const void *)fgio_peek_word(&socket->ops) : NULL;
	return !operations ||
	       get_kernel_nofault(family, &operations->family) ||
	       family != AF_UNIX;
}

u64 fgio_reply_object(const struct task_struct *task, u32 fd)
{
	u64 file = fgio_file_at(task, fd);

	return file && !is_of_network((const struct file *)file) ? file : 0;
}

/*
 * Context: the locks of a wake-up are held, interrupts are off: as
 * on_sched_switch().
 */
static noinline void note_waker(u64 object)
{
	if (!(current->flags & (PF_KTHREAD | PF_EXITING)) &&
	    fgio_waker_remembers(object) && !fgio_current_serves_requests())
		fgio_waker_note(object, false);
}

/* Called for each wake-up of any task. */
static void on_sched_waking(void *data, struct task_struct *task)
{
	u64 object;

	if (!fgio_waits_matter() || !in_task())
		return;
	object = fgio_sleep_reply(task);
	if (object && task != current)
		note_waker(object);
}

static struct fgio_hook hooks[] = {
	{
		.name = "sched_waking",
		.mechanism = FGIO_MECHANISM_REPLIES,
		.tracepoint = on_sched_waking,
	},
	{}
};

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
		fgio_guessed_sleepers_of(step, child);
}

static void find_child(const struct fgio_walk_step *step)
{
	struct pid_namespace *namespace;
	struct task_struct *waiter, *child = NULL;

	rcu_read_lock();
	waiter = fgio_task_at(step->task);
	namespace = waiter ? task_active_pid_ns(waiter) : NULL;
	if (namespace)
		child = pid_task(find_pid_ns(step->wait->detail, namespace),
				 PIDTYPE_PID);
	if (child && same_thread_group(rcu_dereference(child->real_parent),
				       waiter))
		find_threads(step, child);
	rcu_read_unlock();
}

static bool is_old(const struct fgio_wait *wait)
{
	return ktime_get_mono_fast_ns() - wait->since_ns >
	       fgio_waker_window_ns();
}

static void find_wakers(const struct fgio_walk_step *step)
{
	u64 identities[FGIO_WAKERS];
	u64 object = step->wait->object;

	/* Nothing is noted for a task that is not foreground. */
	if (step->wait->seq & FGIO_SEQ_OUTSIDE)
		return;
	if (is_old(step->wait) &&
	    !fgio_waker_list(object, fgio_waker_window_ns(), identities)) {
		fgio_wait_drop(step->task, step->wait->seq);
		return;
	}
	fgio_watch_for(step, object);
	fgio_guessed_by_history(step, object);
}

static void blockers(const struct fgio_walk_step *step)
{
	if (step->wait->kind == FGIO_WAIT_CHILD)
		find_child(step);
	else
		find_wakers(step);
}

const struct fgio_layer fgio_reply_layer = {
	.name = "reply",
	.mechanism = FGIO_MECHANISM_REPLIES,
	.kinds = FGIO_WAIT_RANGE(FGIO_WAIT_REPLY, FGIO_WAIT_CHILD),
	.hooks = hooks,
	.blockers = blockers,
};
