/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The class of an I/O: whether a request is waiting for it. */
#ifndef FGIO_CORE_CLASS_H
#define FGIO_CORE_CLASS_H

#include "types.h"

enum fgio_class {
	FGIO_NONCRITICAL = 0,
	FGIO_CRITICAL = 1,
};

#define FGIO_CLASSES 2

/* The tag of the thread that submits an I/O. */
enum fgio_thread_tag {
	FGIO_THREAD_UNTAGGED,
	FGIO_THREAD_FOREGROUND,
	FGIO_THREAD_BACKGROUND,
};

/*
 * Layout of an I/O priority (include/uapi/linux/ioprio.h): class in bits
 * 15:13, hint in 12:3 (data on 6.1), level in 2:0. The two highest hint bits
 * are fgio's: no kernel gives them a meaning (command duration limits use
 * hints 1 to 7), they travel with every clone of a bio, and the block layer
 * never merges I/Os whose priorities differ.
 */
#define FGIO_IOPRIO_CLASS_SHIFT 13
#define FGIO_IOPRIO_CLASS_REALTIME 1
#define FGIO_IOPRIO_CLASS_BEST_EFFORT 2
#define FGIO_IOPRIO_LEVEL_MASK 0x7

#define FGIO_IOPRIO_CRITICAL (1U << 12)
#define FGIO_IOPRIO_NONCRITICAL (1U << 11)
#define FGIO_IOPRIO_OTHER_HINTS 0x7f8

/**
 * fgio_classify() - the class of an I/O when it is submitted
 * @tag: tag of the submitting thread
 * @ioprio: priority that the I/O carries
 * @ioprio_chosen: whether that priority was chosen; false if the kernel derived
 *	it from the thread's nice value or scheduling policy
 *
 * A class decided higher in a stack of devices stands. Then the tag counts;
 * then a chosen priority: the real-time class and level 0 of the best-effort
 * class are critical. All else is non-critical: no task is known to wait for it
 * (FAST'17 paper, section 4.1).
 *
 * Context: any, takes no lock.
 */
static inline enum fgio_class
fgio_classify(enum fgio_thread_tag tag, u16 ioprio, bool ioprio_chosen)
{
	unsigned int ioprio_class = ioprio >> FGIO_IOPRIO_CLASS_SHIFT;
	unsigned int level = ioprio & FGIO_IOPRIO_LEVEL_MASK;

	if (ioprio & FGIO_IOPRIO_CRITICAL)
		return FGIO_CRITICAL;
	if (ioprio & FGIO_IOPRIO_NONCRITICAL)
		return FGIO_NONCRITICAL;
	if (tag != FGIO_THREAD_UNTAGGED)
		return tag == FGIO_THREAD_FOREGROUND ? FGIO_CRITICAL :
						       FGIO_NONCRITICAL;
	if (!ioprio_chosen)
		return FGIO_NONCRITICAL;
	if (ioprio_class == FGIO_IOPRIO_CLASS_REALTIME)
		return FGIO_CRITICAL;
	if (ioprio_class == FGIO_IOPRIO_CLASS_BEST_EFFORT && level == 0)
		return FGIO_CRITICAL;
	return FGIO_NONCRITICAL;
}

/**
 * fgio_stamp_ioprio() - the priority that tells lower layers the class
 * @class: the class of the I/O
 * @ioprio: priority that the I/O carries
 *
 * Critical I/O is marked. Non-critical I/O is marked only if its priority alone
 * would make it critical: a worker that submits it later, on behalf of
 * blk-throttle or of a device above, knows neither the tag nor the nice value
 * of the thread that issued it. Any other priority is left as it is.
 */
static inline u16 fgio_stamp_ioprio(enum fgio_class class, u16 ioprio)
{
	if (class == FGIO_CRITICAL)
		return (u16)(ioprio | FGIO_IOPRIO_CRITICAL);
	if (fgio_classify(FGIO_THREAD_UNTAGGED, ioprio, true) == FGIO_CRITICAL)
		return (u16)(ioprio | FGIO_IOPRIO_NONCRITICAL);
	return ioprio;
}

/*
 * Whether a priority makes nothing critical and carries no mark: only the
 * submitting thread tells the class of such an I/O. Context: any.
 */
static inline bool fgio_ioprio_is_plain(u16 ioprio)
{
	return !(ioprio & (FGIO_IOPRIO_CRITICAL | FGIO_IOPRIO_NONCRITICAL)) &&
	       fgio_classify(FGIO_THREAD_UNTAGGED, ioprio, true) ==
		       FGIO_NONCRITICAL;
}

/*
 * A priority without fgio's marks: user space may set any hint bits (since
 * 6.5), and must not decide by them. Context: any.
 */
static inline u16 fgio_unmark_ioprio(u16 ioprio)
{
	return (u16)(ioprio & ~(FGIO_IOPRIO_CRITICAL |
				FGIO_IOPRIO_NONCRITICAL));
}

/**
 * fgio_drive_hints() - the priority with the hints that drivers understand
 * @ioprio: priority that the I/O carries
 *
 * Drivers read the whole hint as a number: a mark of fgio would invalidate a
 * command duration limit (1 to 7). Without another hint, a mark does no harm
 * and stays. Context: any.
 */
static inline u16 fgio_drive_hints(u16 ioprio)
{
	return ioprio & FGIO_IOPRIO_OTHER_HINTS ? fgio_unmark_ioprio(ioprio) :
						  ioprio;
}

/* Whether this priority takes privilege to choose. Context: any. */
static inline bool fgio_ioprio_is_privileged(u16 ioprio)
{
	return ioprio >> FGIO_IOPRIO_CLASS_SHIFT == FGIO_IOPRIO_CLASS_REALTIME;
}

#endif /* FGIO_CORE_CLASS_H */
