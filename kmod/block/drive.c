// SPDX-License-Identifier: GPL-2.0
/*
 * Hardware priority. A drive serves its commands in an order of its own, by
 * position for instance, unless a command is marked as urgent. Drivers mark
 * requests of the real-time class, where the drive has such commands and its
 * own knob (device/ncq_prio_enable) is on. queue/iosched/drive_priority is set
 * when it is; until then requests keep their I/O priority.
 *
 * Drivers also read the hint of an I/O priority as a number, and must not find
 * marks of fgio in it: a request with another hint goes out without them.
 *
 * The request's I/O priority is replaced as the request leaves the queue,
 * promoted or not, and restored when the driver gives it back: merging compares
 * priorities by rules of its own and must not see the drive's.
 */
#include <linux/module.h>

#include "base/setting.h"
#include "block/drive.h"

static bool drive_priority = FGIO_DEFAULT_drive_priority;
module_param(drive_priority, bool, 0644);

static bool may_hurry(struct fgio_queue_data *fq, u64 now_ns)
{
	bool others = fgio_queue_in_device(&fq->queue, FGIO_NONCRITICAL);

	return fgio_drive_may_hurry(&fq->drive, others, now_ns);
}

/* Return: the I/O priority of a request for a drive with hardware priority. */
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
