// SPDX-License-Identifier: GPL-2.0
/*
 * Hints: a thread says that it waits for another one (FGIO_IOC_WAIT_FOR), for
 * locks that the kernel cannot see.
 *
 * A hint is the outermost wait of the thread that gave it, and lasts over
 * system calls: waits inside of them nest in it, and the walk follows all of
 * them. It ends with the thread, as all waits do. Of the other thread it keeps
 * the identity: when that thread has ended, the hint leads nowhere.
 */
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "base/identity.h"
#include "graph/found.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/declared_wait.h"
#include "who/presence.h"
#include "who/tag.h"
#include "who/trust.h"

/* Return: the thread with a reference, or NULL. */
static struct task_struct *find_living_thread(pid_t tid)
{
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(find_vpid(tid), PIDTYPE_PID);
	if (task && READ_ONCE(task->flags) & PF_EXITING)
		task = NULL;
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	return task;
}

/*
 * A hint costs its thread nothing, not even a wait: so it is charged to its
 * user, and gives way first where waits have no room (core/inherit.h).
 *
 * Waits are forgotten when the last foreground task went, and are not recorded
 * after that: here, a hint that was given at that very moment must not stay.
 */
static int wait_for_thread(const struct task_struct *task)
{
	int error;
	u32 seq;

	if (!fgio_waits_matter())
		return 0;
	error = fgio_tag_declare();
	if (error)
		return error;
	fgio_wait_leave_kind(FGIO_WAIT_THREAD);
	seq = fgio_wait_enter(FGIO_WAIT_THREAD, (u64)task,
			      fgio_identity_of(task));
	if (!fgio_waits_matter())
		fgio_wait_leave(seq);
	return 0;
}

/*
 * A hint lasts until its thread says otherwise, or ends. Where ends are not
 * seen it would outlive the thread, and the walk reads the waiter.
 *
 * While there are no foreground tasks a hint is accepted and has no effect: its
 * thread has to give it again when it next waits, as for all waits.
 */
int fgio_declared_wait_set(pid_t tid)
{
	struct task_struct *task;
	int error = 0;

	if (!fgio_tag_is_attached())
		return -EOPNOTSUPP;
	if (!tid) {
		fgio_wait_leave_kind(FGIO_WAIT_THREAD);
		return 0;
	}
	task = find_living_thread(tid);
	if (!task)
		return -ESRCH;
	if (task == current)
		error = -EINVAL;
	else if (!fgio_may_tag(task))
		error = -EPERM;
	if (!error)
		error = wait_for_thread(task);
	put_task_struct(task);
	return error;
}

static void blockers(const struct fgio_walk_step *step)
{
	fgio_walk_found(step->walk, fgio_name_identity(step->wait->detail));
}

const struct fgio_layer fgio_declared_wait_layer = {
	.name = "declared wait",
	.mechanism = FGIO_MECHANISM_USER,
	.kinds = BIT_ULL(FGIO_WAIT_THREAD),
	.blockers = blockers,
};
