// SPDX-License-Identifier: GPL-2.0
/*
 * Loop devices: I/O that is in the queue of such a device, and in no queue of
 * fgio, waits for workers of the kernel (block/loop.h). Waits for I/O are io.c's,
 * which asks here.
 *
 *	loop_process_work	a worker begins with requests
 *	lo_rw_aio		it reads or writes for one of them: for workers
 *				that began before hooks were attached
 *
 * A worker counts while it executes work of the device, and no longer.
 */
#include <linux/hash.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "base/identity.h"
#include "base/kworker.h"
#include "base/scale.h"
#include "block/loop.h"
#include "compat/loop.h"
#include "graph/alarm.h"
#include "graph/found.h"
#include "layers/loop.h"
#include "who/presence.h"

/* Identities of workers that had requests of loop devices lately. */
static u64 workers[1 << FGIO_LOOP_BITS];

/* Called for each request. Walks come soon, not with the next interval. */
static int on_request(struct kretprobe_instance *instance,
		      struct pt_regs *regs)
{
	u64 *place, identity;

	if (!fgio_waits_matter() || !(current->flags & PF_WQ_WORKER))
		return 1;
	fgio_loops_note_used(true);
	identity = fgio_identity_of(current);
	place = &workers[hash_64(identity, FGIO_LOOP_BITS)];
	if (READ_ONCE(*place) != identity)
		WRITE_ONCE(*place, identity);
	if (fgio_loops_are_awaited())
		fgio_alarm_soon();
	return 1;
}

static struct fgio_hook hooks[] = {
	FGIO_HOOK("loop:loop_process_work", IO, on_request, NULL),
	FGIO_HOOK("loop:lo_rw_aio", IO, on_request, NULL,
		  .may_be_clone = true),
	{}
};

static bool works_for(u64 identity, u64 loop)
{
	const struct task_struct *task;
	bool it_does;

	rcu_read_lock();
	task = fgio_task_of(identity);
	it_does = task && fgio_work_is_of_loop(fgio_work_of(task), loop);
	rcu_read_unlock();
	return it_does;
}

void fgio_loop_find_workers(const struct fgio_walk_step *step, u64 device)
{
	u64 identity, loop = fgio_loop_of(device);
	unsigned int i;

	if (!loop)
		return;
	/* A guess does not justify the I/O of others. */
	if (!step->walk->links[step->link].guess)
		fgio_loop_note_awaited(loop);
	for (i = 0; i < ARRAY_SIZE(workers); i++) {
		identity = READ_ONCE(workers[i]);
		if (identity && works_for(identity, loop))
			fgio_walk_found(step->walk,
					fgio_name_identity(identity));
	}
}

static void forget(void)
{
	memset(workers, 0, sizeof(workers));
	fgio_loops_note_used(false);
}

const struct fgio_layer fgio_loop_layer = {
	.name = "loop",
	.mechanism = FGIO_MECHANISM_IO,
	.hooks = FGIO_LOOP_KNOWN ? hooks : NULL,
	.forget = forget,
};
