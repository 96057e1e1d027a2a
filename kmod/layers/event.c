// SPDX-License-Identifier: GPL-2.0
/*
 * Events that a program in user space handles while the task that met one waits:
 * a virus scanner lets a file be opened, a pager fetches a page.
 *
 *	fanotify_handle_event	the answer to an event that asks for permission
 *	handle_userfault	a page that is missing, or may not be written
 *	userfaultfd_event_wait_completion
 *				a change of the memory that the program is to
 *				know of: munmap(2), fork(2)
 *
 * In the way are the program's threads that read events, but for those that sleep
 * for the next one. Which of them has the event of a task is not known.
 *
 *	fanotify_read		a thread takes events, or sleeps for the next
 *	userfaultfd_read(_iter)
 *	fanotify_release	the program's file is closed
 *	userfaultfd_release
 *
 * All are real functions in 6.1 and 6.12; fanotify_get_response(), where tasks
 * sleep for answers, is inlined in both.
 *
 * A thread that sleeps in fanotify_read() is found as an event comes, however long
 * it has slept. Faults are mostly read after poll(2) told of one.
 *
 * Left out:
 *	a program whose threads all wait for another one, over a socket.
 *	page faults of a virtual machine that KVM has workers wait for.
 */
#include <linux/fs.h>
#include <linux/fsnotify_backend.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>

#include "base/hook.h"
#include "compat/compat.h"
#include "graph/probe.h"
#include "layers/event.h"
#include "layers/server.h"
#include "who/presence.h"

/* Threads looked at that sleep for the next event of a program. */
#define READERS_MAX 8

/* Events have no numbers. */
static void note_reader(struct task_struct *thread, u64 program)
{
	fgio_server_took(thread, program, 0, ktime_get_mono_fast_ns());
}

static int wait_for(struct kretprobe_instance *instance, u64 program)
{
	return fgio_hook_enter(instance, FGIO_WAIT_EVENT, program, 0);
}

static void on_release(unsigned long function, unsigned long caller,
		       struct ftrace_ops *operations, struct ftrace_regs *regs)
{
	const struct file *file = (void *)fgio_ftrace_argument(regs, 1);

	fgio_server_closed((u64)file->private_data);
}

/* --- fanotify -------------------------------------------------------------- */

/*
 * Those that sleep for events, of which one takes the one that comes. A thread
 * takes its entry out of the queue before it can end.
 */
static void note_sleeping_readers(struct fsnotify_group *group)
{
	struct wait_queue_head *queue = &group->notification_waitq;
	struct wait_queue_entry *entry;
	unsigned int count = 0;
	unsigned long flags;

	/* Where the lock is held, they may go unnoted until they read again. */
	if (!spin_trylock_irqsave(&queue->lock, flags))
		return;
	list_for_each_entry(entry, &queue->head, entry) {
		if (count++ == READERS_MAX)
			break;
		/* As fanotify_read() sleeps; those of poll(2) are no tasks. */
		if (entry->func == woken_wake_function)
			note_reader(entry->private, (u64)group);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
}

/* Called for all events that a program wants to know of. */
static int on_event(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct fsnotify_group *group;

	group = (struct fsnotify_group *)regs_get_kernel_argument(regs, 0);
	if (!fgio_waits_matter() ||
	    !(regs_get_kernel_argument(regs, 1) & ALL_FSNOTIFY_PERM_EVENTS))
		return 1;
	note_sleeping_readers(group);
	return wait_for(instance, (u64)group);
}

/* The caller has the file of the group open. */
static void on_read_events(unsigned long function, unsigned long caller,
			   struct ftrace_ops *operations,
			   struct ftrace_regs *regs)
{
	const struct file *file = (void *)fgio_ftrace_argument(regs, 0);
	const struct fsnotify_group *group = file->private_data;

	/* Those of the lowest priority, 0, cannot be asked for permission. */
	if (fgio_waits_matter() && group->priority)
		note_reader(current, (u64)group);
}

/* --- userfaultfd ----------------------------------------------------------- */

/* The fault keeps its area, and that the context. */
static int on_fault(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	const struct vm_fault *fault;

	fault = (const struct vm_fault *)regs_get_kernel_argument(regs, 0);
	if (!fgio_waits_matter())
		return 1;
	return wait_for(instance, fgio_userfaultfd_of(fault->vma));
}

static int on_change(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return wait_for(instance, regs_get_kernel_argument(regs, 0));
}

/* The caller has the file open. */
static void note_reader_of_faults(const struct file *file)
{
	if (fgio_waits_matter())
		note_reader(current, (u64)file->private_data);
}

static void on_read_faults(unsigned long function, unsigned long caller,
			   struct ftrace_ops *operations,
			   struct ftrace_regs *regs)
{
	note_reader_of_faults((void *)fgio_ftrace_argument(regs, 0));
}

static void on_read_faults_iter(unsigned long function, unsigned long caller,
				struct ftrace_ops *operations,
				struct ftrace_regs *regs)
{
	const struct kiocb *iocb = (void *)fgio_ftrace_argument(regs, 0);

	note_reader_of_faults(iocb->ki_filp);
}

/* Kernels are built without fanotify's permissions, or without userfaultfd. */
static struct fgio_hook hooks[] = {
	FGIO_LOOK("fanotify_release", REPLIES, on_release, .optional = true),
	FGIO_LOOK("fanotify_read", REPLIES, on_read_events, .optional = true),
	FGIO_HOOK("fanotify_handle_event", REPLIES, on_event, fgio_hook_leave,
		  .optional = true),
	FGIO_LOOK("userfaultfd_release", REPLIES, on_release, .optional = true),
	FGIO_LOOK("userfaultfd_read_iter", REPLIES, on_read_faults_iter,
		  .optional = true),
	FGIO_LOOK("userfaultfd_read", REPLIES, on_read_faults,
		  .optional = true, .fallback = true),
	FGIO_HOOK("handle_userfault", REPLIES, on_fault, fgio_hook_leave,
		  .optional = true),
	FGIO_HOOK("userfaultfd_event_wait_completion", REPLIES, on_change,
		  fgio_hook_leave, .optional = true),
	{}
};

/* --- blockers -------------------------------------------------------------- */

/* One may take events for others, which handle them. */
static void blockers(const struct fgio_walk_step *step)
{
	u64 program = step->wait->object;

	if (!fgio_servers_find_at_work(step, program))
		fgio_servers_guess(step, program);
}

const struct fgio_layer fgio_event_layer = {
	.name = "events",
	.mechanism = FGIO_MECHANISM_REPLIES,
	.kinds = BIT_ULL(FGIO_WAIT_EVENT),
	.hooks = hooks,
	.blockers = blockers,
	.forget = fgio_servers_forget,
};
