// SPDX-License-Identifier: GPL-2.0
/*
 * System V semaphores (ipc/sem.c): sleeps for one, the tasks that raised it
 * lately, and the task that lowered it last.
 *
 * They serve as locks and as conditions. The task that lowers a lock holds it,
 * and raises it later; one task lowers a condition and another raises it. A
 * semaphore is a lock if the task that lowered it last is known to raise it,
 * too: then that task alone is in the way. Otherwise the tasks that raised it
 * lately are in the way, and the one that lowered it last in case it is a lock
 * that was not released yet.
 *
 * A lock may also be taken by raising it from zero: a wait for zero is for the
 * task that raised it last.
 *
 * sleep.c finds the sleepers. Acts are noted where the kernel performs the
 * operations of a call: for the caller, or for a sleeper, by the task that lets
 * it go on. No task sleeps there, so sleepers take no place among the hook's
 * calls.
 */
#include <linux/bitfield.h>
#include <linux/hash.h>
#include <linux/ipc_namespace.h>
#include <linux/nsproxy.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/sem.h>
#include <linux/uaccess.h>

#include "base/hook.h"
#include "base/waker.h"
#include "core/number.h"
#include "fgio_private.h"
#include "graph/found.h"
#include "graph/sleeper.h"
#include "graph/walk.h"
#include "layers/sysvsem.h"
#include "who/presence.h"

/* One bit of an object tells tasks that lower it from those that raise it. */
#define LOWERED BIT_ULL(63)

static u64 object_of(const struct ipc_namespace *namespace, s32 semid,
		     u16 number)
{
	u64 hash = hash_64((u64)namespace, 64);

	return (hash ^ ((u64)(u32)semid << 16 | number)) & ~LOWERED;
}

/* --- acts ------------------------------------------------------------- */

/* Passed from entry to exit. */
struct attempt {
	const struct sem_array *array;
	const struct sem_queue *call;
};

static_assert(sizeof(struct attempt) <= FGIO_HOOK_DATA);

/* int perform_atomic_semop(struct sem_array *sma, struct sem_queue *q) */
static int enter_attempt(struct kretprobe_instance *instance,
			 struct pt_regs *regs)
{
	struct attempt *attempt = (struct attempt *)instance->data;

	if (!fgio_waits_matter())
		return 1;
	attempt->array = (void *)regs_get_kernel_argument(regs, 0);
	attempt->call = (void *)regs_get_kernel_argument(regs, 1);
	return 0;
}

/*
 * A call lies on its caller's stack, and names the caller when that sleeps.
 * Context: the array is locked, so that its sleepers sleep on.
 */
static struct task_struct *caller_of(const struct sem_queue *call)
{
	return object_is_on_stack(call) ? current : call->sleeper;
}

/* A holder took its lock before it was waited for: always noted. */
static void note(struct task_struct *task, u64 object, int change)
{
	if (change < 0)
		fgio_waker_note_for(task, object | LOWERED);
	else if (change > 0)
		fgio_waker_note_for(task, object);
}

static int leave_attempt(struct kretprobe_instance *instance,
			 struct pt_regs *regs)
{
	const struct attempt *attempt = (void *)instance->data;
	const struct sem_queue *call = attempt->call;
	const struct nsproxy *proxy = current->nsproxy;
	int count, i;

	/* It has to wait, or is refused; or an exiting task undoes its own. */
	if ((int)regs_return_value(regs) || !proxy)
		return 0;
	count = min_t(int, call->nsops, FGIO_SEMOP_MAX);
	for (i = 0; i < count; i++)
		note(caller_of(call),
		     object_of(proxy->ipc_ns, attempt->array->sem_perm.id,
			       call->sops[i].sem_num),
		     call->sops[i].sem_op);
	return 0;
}

static struct fgio_hook hooks[] = {
	FGIO_HOOK("perform_atomic_semop", USER, enter_attempt, leave_attempt),
	{}
};

/* --- blockers --------------------------------------------------------- */

/**
 * struct finding - semaphores that a task may sleep for
 * @count: their number
 * @object: of each
 * @for_zero: whether the task waits for zero there
 */
struct finding {
	u32 count;
	u64 object[FGIO_SEMOP_MAX];
	bool for_zero[FGIO_SEMOP_MAX];
};

/* Return: NULL when the task is exiting. Only the address may be used. */
static const struct ipc_namespace *namespace_of(struct task_struct *task)
{
	const struct ipc_namespace *namespace = NULL;

	task_lock(task);
	if (task->nsproxy)
		namespace = task->nsproxy->ipc_ns;
	task_unlock(task);
	return namespace;
}

/* The process may have changed the operations since the call. */
static void look_around(struct task_struct *waiter,
			const struct fgio_wait *wait, void *data)
{
	const struct ipc_namespace *namespace = namespace_of(waiter);
	u32 count = FIELD_GET(FGIO_SEMOP_COUNT, wait->object);
	struct sembuf operations[FGIO_SEMOP_MAX];
	struct finding *finding = data;
	const void __user *where;
	u32 i;

	where = (void __user *)FIELD_GET(FGIO_SEMOP_ADDRESS, wait->object);
	if (copy_from_user_nofault(operations, where,
				   count * sizeof(*operations)))
		return;
	for (i = 0; i < count; i++) {
		if (operations[i].sem_op > 0 ||
		    operations[i].sem_flg & IPC_NOWAIT)
			continue;
		finding->object[finding->count] = object_of(
			namespace, wait->detail, operations[i].sem_num);
		finding->for_zero[finding->count] = !operations[i].sem_op;
		finding->count++;
	}
}

static void find(const struct fgio_walk_step *step, u64 identity)
{
	fgio_walk_found(step->walk, fgio_name_identity(identity));
}

static void ask(const struct fgio_walk_step *step, u64 object, bool for_zero)
{
	u64 raised[FGIO_WAKERS];
	unsigned int count, i;
	u64 lowered;

	fgio_watch_for(step, object);
	if (for_zero) {
		find(step, fgio_waker_last(object));
		return;
	}
	fgio_watch_for(step, object | LOWERED);
	count = fgio_waker_expected(object, raised);
	lowered = fgio_waker_last(object | LOWERED);
	find(step, lowered);
	if (is_among(lowered, raised, count))
		return;
	for (i = 0; i < count; i++)
		fgio_walk_guessed(step->walk,
				  fgio_name_identity(raised[i]));
}

static void blockers(const struct fgio_walk_step *step)
{
	struct finding finding = {};
	u32 i;

	if (!fgio_sleeper_look(step, look_around, &finding))
		return;
	for (i = 0; i < finding.count; i++)
		ask(step, finding.object[i], finding.for_zero[i]);
}

const struct fgio_layer fgio_sysvsem_layer = {
	.name = "sysvsem",
	.mechanism = FGIO_MECHANISM_USER,
	.kinds = BIT_ULL(FGIO_WAIT_SYSV_SEMAPHORE),
	.hooks = hooks,
	.blockers = blockers,
};
