// SPDX-License-Identifier: GPL-2.0
/*
 * System V semaphores (ipc/sem.c): who sleeps for one, who raised it lately,
 * and who lowered it last.
 *
 * They serve as locks and as conditions. Whoever lowers a lock holds it, and
 * raises it later; whoever raises a condition is another task than who lowers
 * it. Which of the two a semaphore is shows in whether who lowered it last is
 * known to raise it, too: then that task is in the way, and nobody else.
 * Otherwise those are who raised it lately, and who lowered it last in case it
 * is a lock that was not released yet.
 *
 * A lock may also be one that is raised from zero to be taken: who waits for
 * zero waits for who raised it last.
 */
#include <linux/hash.h>
#include <linux/ipc_namespace.h>
#include <linux/nsproxy.h>
#include <linux/sem.h>

#include "helper.h"
#include "inherit.h"

/* Operations of one call that are looked at; more than one is rare. */
#define OPERATIONS_MAX 8U
/* Semaphores of one call that are waited for: waits do not nest deeper. */
#define WAITS_MAX 2U

/* One bit of an object tells those who lower it from those who raise it. */
#define LOWERED BIT_ULL(63)

/* What entry leaves for exit. The operations lie in the caller's frame. */
struct pending_call {
	u32 seqs[WAITS_MAX];
	s32 semid;
	const struct sembuf *operations;
	u32 count;
};

static_assert(sizeof(struct pending_call) <= FGIO_HOOK_DATA);

static u64 object_of(s32 semid, u16 number)
{
	u64 namespace = hash_64((u64)current->nsproxy->ipc_ns, 64);

	return (namespace ^ ((u64)(u32)semid << 16 | number)) & ~LOWERED;
}

static u32 begin_wait(s32 semid, const struct sembuf *operation)
{
	u64 object = object_of(semid, operation->sem_num);

	if (fgio_current_is_foreground()) {
		fgio_helper_watch(object);
		fgio_helper_watch(object | LOWERED);
	}
	return fgio_wait_enter(FGIO_WAIT_SYSV_SEMAPHORE, object,
			       !operation->sem_op);
}

/* Each ends by itself: there may have been no room for the one around it. */
static void begin_waits(struct pending_call *call)
{
	unsigned int waits = 0;
	unsigned int i;

	for (i = 0; i < call->count && waits < WAITS_MAX; i++) {
		if (call->operations[i].sem_op > 0 ||
		    call->operations[i].sem_flg & IPC_NOWAIT)
			continue;
		call->seqs[waits++] = begin_wait(call->semid,
						 &call->operations[i]);
	}
}

/*
 * long __do_semtimedop(int semid, struct sembuf *sops, unsigned nsops,
 *			const struct timespec64 *timeout,
 *			struct ipc_namespace *ns)
 */
static int enter_semtimedop(struct kretprobe_instance *instance,
			    struct pt_regs *regs)
{
	struct pending_call *call = (struct pending_call *)instance->data;

	if (!fgio_waits_matter())
		return 1;
	memset(call->seqs, 0, sizeof(call->seqs));
	call->semid = regs_get_kernel_argument(regs, 0);
	call->operations = (void *)regs_get_kernel_argument(regs, 1);
	call->count = min_t(u32, regs_get_kernel_argument(regs, 2),
			    OPERATIONS_MAX);
	begin_waits(call);
	return 0;
}

/* Who holds a lock took it before somebody waited for it: always noted. */
static void note(s32 semid, const struct sembuf *operation)
{
	u64 object = object_of(semid, operation->sem_num);

	if (operation->sem_op < 0)
		fgio_helper_note(object | LOWERED, true);
	else if (operation->sem_op > 0)
		fgio_helper_note(object, true);
}

static int leave_semtimedop(struct kretprobe_instance *instance,
			    struct pt_regs *regs)
{
	const struct pending_call *call = (void *)instance->data;
	unsigned int i;

	for (i = WAITS_MAX; i > 0; i--)
		fgio_wait_leave(call->seqs[i - 1]);
	if ((int)regs_return_value(regs))
		return 0;
	for (i = 0; i < call->count; i++)
		note(call->semid, &call->operations[i]);
	return 0;
}

struct fgio_hook fgio_sysvsem_hooks[] = {
	FGIO_HOOK("__do_semtimedop", USER, enter_semtimedop, leave_semtimedop),
	{}
};

static bool is_among(u64 identity, const u64 *identities, unsigned int count)
{
	while (count)
		if (identities[--count] == identity)
			return true;
	return false;
}

static void find(const struct fgio_walk_step *step, u64 identity)
{
	fgio_walk_found(step->walk, fgio_walk_name_identity(identity));
}

void fgio_sysvsem_blockers(const struct fgio_walk_step *step)
{
	bool for_zero = step->wait->detail;
	u64 object = step->wait->object;
	u64 raised[FGIO_HELPERS];
	unsigned int count, i;
	u64 lowered;

	fgio_helper_watch(object);
	if (for_zero) {
		find(step, fgio_helper_last(object));
		return;
	}
	count = fgio_helper_list(object, fgio_helper_window_ns(), raised);
	lowered = fgio_helper_last(object | LOWERED);
	find(step, lowered);
	if (is_among(lowered, raised, count))
		return;
	for (i = 0; i < count; i++)
		fgio_walk_guessed(step->walk,
				  fgio_walk_name_identity(raised[i]));
}
