// SPDX-License-Identifier: GPL-2.0
/*
 * Declared waits: a thread declares that it waits for another one
 * (FGIO_IOC_WAIT_FOR), for locks that the kernel cannot see.
 *
 * A declared wait is the outermost wait of its thread, and lasts over system
 * calls: waits inside of them nest in it, and the walk follows all of them. It
 * ends with the thread, as all waits do. It keeps the identity of the other
 * thread: when that thread has ended, the wait has no blocker.
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
 * A declared wait costs its thread nothing, not even time: so it is charged to
 * the thread's user, and gives way first where waits have no room
 * (core/inherit.h).
 *
 * When the last foreground task goes, waits are forgotten, and none is recorded
 * from then on: a wait that is declared at that very moment must not stay.
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
 * A declared wait lasts until its thread withdraws it, or ends. Where ends of
 * threads are not seen it would outlive the thread, and the walk reads the
 * waiter: so it is refused.
 *
 * While there are no foreground tasks a declared wait is accepted and has no
 * effect: its thread has to declare the next one anew, as for all waits.
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
