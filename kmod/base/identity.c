// SPDX-License-Identifier: GPL-2.0
/* Identities of tasks, and the users to which they are charged. */
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/user_namespace.h>

#include "base/identity.h"

u64 fgio_identity_of(const struct task_struct *task)
{
	return (u64)task->pid << 32 | lower_32_bits(task->start_time);
}

struct task_struct *fgio_thread_of(pid_t tid)
{
	return pid_task(find_pid_ns(tid, &init_pid_ns), PIDTYPE_PID);
}

struct task_struct *fgio_task_of(u64 identity)
{
	struct task_struct *task = fgio_thread_of(identity >> 32);

	return task && fgio_identity_of(task) == identity ? task : NULL;
}

struct task_struct *fgio_live_task_of(u64 identity)
{
	struct task_struct *task = fgio_task_of(identity);

	return task && !READ_ONCE(task->exit_state) ? task : NULL;
}

kuid_t fgio_payer_uid(struct task_struct *task)
{
	const struct user_namespace *namespace;
	const struct cred *cred;
	kuid_t uid;

	rcu_read_lock();
	cred = __task_cred(task);
	uid = cred->uid;
	namespace = cred->user_ns;
	for (; namespace != &init_user_ns; namespace = namespace->parent)
		uid = namespace->owner;
	rcu_read_unlock();
	return uid;
}

u32 fgio_payer_of(struct task_struct *task)
{
	if (task->flags & PF_KTHREAD)
		return __kuid_val(INVALID_UID);
	return __kuid_val(fgio_payer_uid(task));
}
