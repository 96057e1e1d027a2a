// SPDX-License-Identifier: GPL-2.0
/*
 * Telling the drive. What it has been given it serves in an order of its own,
 * by position for instance, unless a command says that it is urgent. Drivers
 * make such commands of the real-time class, where the drive has them and its
 * own knob (device/ncq_prio_enable) is on. queue/iosched/drive_priority says
 * that it is; until then no class is told.
 *
 * Drivers also take the hint of a priority for a number, and must not find marks
 * of fgio in it: a request with another hint goes out without them.
 *
 * The class is that of the request, in the drivers' hands: it is given as the
 * request leaves the queue, promoted or not, and taken back when it returns.
 * Merging has its own idea of which priorities go together and must not see it.
 */
#include <linux/module.h>

#include "block/drive.h"

static bool drive_priority = true;
module_param(drive_priority, bool, 0644);
MODULE_PARM_DESC(drive_priority, "drives that have a priority command get it with critical requests (Y)");

static bool may_hurry(struct fgio_queue_data *fq, u64 now_ns)
{
	bool others = fgio_queue_in_device(&fq->queue, FGIO_NONCRITICAL);

	return fgio_drive_may_hurry(&fq->drive, others, now_ns);
}

/* Return: the priority of a request of @class for a drive that has such. */
static u16 urge(struct fgio_queue_data *fq, enum fgio_class class, u16 ioprio,
		u64 now_ns)
{
	bool urgent;

	if (!READ_ONCE(drive_priority) || fgio_lets_through(fq))
		return ioprio;
	if (class == FGIO_NONCRITICAL)
		fgio_drive_moved(&fq->drive, now_ns);
	urgent = class == FGIO_CRITICAL && may_hurry(fq, now_ns);
	fq->hardware_priority_sent += urgent;
	return fgio_drive_ioprio(urgent, ioprio);
}

void fgio_drive_set_priority(struct fgio_queue_data *fq, struct fgio_slot *slot,
			     enum fgio_class class, u64 now_ns)
{
	u16 ioprio = fgio_rq_ioprio(slot->rq);
	u16 sent = ioprio;

	lockdep_assert_held(&fq->lock);
	if (READ_ONCE(fq->drive_priority))
		sent = urge(fq, class, ioprio, now_ns);
	sent = fgio_drive_hints(sent);
	if (sent == ioprio)
		return;
	slot->ioprio = ioprio;
	slot->ioprio_replaced = true;
	fgio_rq_set_ioprio(slot->rq, sent);
}

void fgio_drive_restore_priority(struct fgio_slot *slot)
{
	if (!slot->ioprio_replaced)
		return;
	slot->ioprio_replaced = false;
	fgio_rq_set_ioprio(slot->rq, slot->ioprio);
}
