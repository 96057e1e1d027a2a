/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Admission: which tasks may take a slot of the block layer's queue, and which
 * wait.
 *
 * A queue has a limited number of slots. When both classes want them, each has
 * its own share and cannot take the other's, so that a flood of background I/O
 * never makes a request wait for a slot (FAST'17 paper, section 4.3). A class
 * that is alone may take all slots but a small reserve, which lets the first
 * I/O of the other class in at once.
 *
 * Carriers are threads that submit the I/O of others, non-critical I/O here,
 * while critical I/O may stand in line behind it: those of a stacked driver or
 * a journal. No share binds them. They wait only when the others and they
 * themselves leave no more than the reserve, since beyond that they would wait
 * for a tag, and take it from critical I/O. A reserve is theirs in any case;
 * the non-critical share is cut by it while carriers are there. So there are
 * three lines.
 *
 * Waiting is first come, first served within a line. The task that frees a slot
 * hands it to a waiter: a woken waiter never competes again.
 *
 * Slots may be divided among groups as well (admission_groups.h).
 *
 * Locking: the caller serialises fgio_admission_wait(), _grant*(), _promote(),
 * _resize() and _set_shares() for one admission. fgio_admission_try(),
 * _charge(), _release(), _reclassify() and _limit() may run at any time, in any
 * context, beside them and beside each other, except beside _resize(), which
 * needs all slots to be free. Nothing here sleeps, allocates or loops.
 *
 * No wakeup is lost although slots are taken and given back without a lock. A
 * task that lines up counts up @waiting first, then looks for room
 * (fgio_admission_grant()); a task that gives a slot back counts down @admitted
 * first, then looks at @waiting. Both are full barriers: either the waiter sees
 * the room, or the other sees the waiter and calls fgio_admission_grant()
 * itself.
 *
 * No task overtakes, and no limit is exceeded. A task that takes a slot first
 * counts up @admitted, then looks at @waiting, at the other lines and at the
 * limit, and gives the slot back if it is not entitled to it. So of two that
 * take the last slot, or of one in each line that both found the other absent,
 * at most one keeps it. Of one that takes a slot and one that lines up, either
 * the first sees the second and steps back, or the second counts the first. A
 * waiter is charged for its slot before it leaves the line, so that there is no
 * gap in between. A task that steps back may have made another one wait in
 * vain, and so looks at @waiting as after any slot given back.
 */
#ifndef FGIO_CORE_ADMISSION_H
#define FGIO_CORE_ADMISSION_H

#include "atomic.h"
#include "class.h"
#include "list.h"
#include "types.h"

#define FGIO_ADMISSION_SLOTS_DEFAULT 128

/* The line in which a slot is charged, and in which a task waits for one. */
enum fgio_line {
	FGIO_LINE_NONCRITICAL = FGIO_NONCRITICAL,
	FGIO_LINE_CRITICAL = FGIO_CRITICAL,
	FGIO_LINE_CARRIER, /* non-critical, of a carrier */
	FGIO_LINES,
};

static inline enum fgio_class fgio_class_of_line(enum fgio_line line)
{
	return line == FGIO_LINE_CRITICAL ? FGIO_CRITICAL : FGIO_NONCRITICAL;
}

struct fgio_admission_groups;

/**
 * struct fgio_waiter - a task that waits for a slot, embedded in the caller's
 *	own
 * @link: position among the waiters of its line
 * @line: enum fgio_line
 * @place: see admission_groups.h
 * @granted: the slot is charged to it: it may go on
 */
struct fgio_waiter {
	struct fgio_list link;
	u8 line;
	u8 place;
	bool granted;
};

/**
 * struct fgio_admission - the slots of one queue
 * @total: number of slots
 * @wanted: shares asked for by the administrator
 * @share: shares in force: @wanted, cut in proportion if @total is smaller
 * @sure: slots that a line may have in any case: the least that its limit can
 *	be
 * @reserve: slots that a class that is alone leaves free, and that carriers may
 *	have in any case
 * @admitted: slots taken, per line; may exceed a limit by those charged with
 *	fgio_admission_charge()
 * @granted: total slots taken, per line
 * @waiting: tasks that wait, per line
 * @waiters: the tasks, per line
 * @groups: slots are divided among groups as well; NULL: they are not
 */
struct fgio_admission {
	u32 total;
	u32 wanted[FGIO_CLASSES];
	u32 share[FGIO_CLASSES];
	u32 sure[FGIO_LINES];
	u32 reserve;
	u32 admitted[FGIO_LINES];
	u64 granted[FGIO_LINES];
	u32 waiting[FGIO_LINES];
	struct fgio_list waiters[FGIO_LINES];
	struct fgio_admission_groups *groups;
};

/* @total: slots of the queue, at least 2. Shares are the default ones. */
void fgio_admission_init(struct fgio_admission *admission, u32 total);

/* The queue now has @total slots, at least 2. */
void fgio_admission_resize(struct fgio_admission *admission, u32 total);

/* The administrator sets other shares, each at least 1. */
void fgio_admission_set_shares(struct fgio_admission *admission, u32 critical,
			       u32 noncritical);

/**
 * fgio_admission_limit() - slots that a line may have now
 * @admission: the slots
 * @line: the line
 * @other_present: whether I/O of the other class is there, beyond what holds a
 *	slot or waits for one
 */
u32 fgio_admission_limit(const struct fgio_admission *admission,
			 enum fgio_line line, bool other_present);

/**
 * fgio_admission_try() - take a slot if there is one for this line
 * @admission: the slots
 * @line: the line
 * @other_present: as for fgio_admission_limit()
 *
 * Return: whether a slot was charged. Never while a task of the same line
 * waits: it was first. If false, call fgio_admission_wait(), or
 * fgio_admission_grant() until NULL if a task waits.
 */
bool fgio_admission_try(struct fgio_admission *admission,
			enum fgio_line line, bool other_present);

/*
 * Takes a slot unconditionally: for tasks that must not wait. Return: slots
 * that the line has taken now, this one included.
 */
static inline u32 fgio_admission_charge(struct fgio_admission *admission,
					enum fgio_line line)
{
	fgio_add(&admission->granted[line], 1);
	return fgio_add(&admission->admitted[line], 1);
}

/*
 * Undoes fgio_admission_charge() for a task that was not entitled to the slot.
 */
void fgio_admission_step_back(struct fgio_admission *admission,
			      enum fgio_line line);

/*
 * Whether a line has few enough slots that no limit matters, whichever other
 * I/O is present: then fgio_admission_try_sure() does the same as
 * fgio_admission_try(). Nearly every I/O goes this way, so it is inline.
 */
static inline bool
fgio_admission_is_sure(const struct fgio_admission *admission,
		       enum fgio_line line)
{
	return fgio_load(&admission->admitted[line]) <
	       fgio_load(&admission->sure[line]);
}

/*
 * Whether a line may take @count slots at once, without looking for each of
 * them: it is far from all limits, so that several CPUs may do so at a time.
 */
static inline bool
fgio_admission_has_plenty(const struct fgio_admission *admission,
			  enum fgio_line line, u32 count)
{
	return !fgio_load(&admission->waiting[line]) &&
	       fgio_load(&admission->admitted[line]) + count <=
		       fgio_load(&admission->sure[line]) / 2;
}

static inline bool fgio_admission_try_sure(struct fgio_admission *admission,
					   enum fgio_line line)
{
	u32 taken;

	if (fgio_load(&admission->waiting[line]))
		return false;
	taken = fgio_admission_charge(admission, line);
	if (!fgio_load(&admission->waiting[line]) &&
	    taken <= fgio_load(&admission->sure[line]))
		return true;
	fgio_admission_step_back(admission, line);
	return false;
}

/*
 * Lines up for a slot. Call fgio_admission_grant() until NULL afterwards: it
 * may be this waiter's turn.
 */
void fgio_admission_wait(struct fgio_admission *admission,
			 struct fgio_waiter *waiter, enum fgio_line line);

/*
 * Gives a slot back. If fgio_admission_has_waiters(), call
 * fgio_admission_grant() until NULL afterwards.
 */
static inline void fgio_admission_release(struct fgio_admission *admission,
					  enum fgio_line line)
{
	fgio_sub(&admission->admitted[line], 1);
}

/*
 * A request turned out to be of another line: its slot moves with it. If
 * fgio_admission_has_waiters(), call fgio_admission_grant() until NULL
 * afterwards.
 */
void fgio_admission_reclassify(struct fgio_admission *admission,
			       enum fgio_line from, enum fgio_line to);

/**
 * fgio_admission_grant() - hand a free slot to the longest waiter
 * @admission: the slots
 * @critical_present: whether critical I/O is present
 *
 * Return: a waiter that was charged and must be woken, critical ones first and
 * carriers next, or NULL if none waits or no line with waiters has room.
 */
struct fgio_waiter *fgio_admission_grant(struct fgio_admission *admission,
					 bool critical_present);

/*
 * Hands a slot to the longest waiter, critical ones first, whatever the limits.
 * Return: as fgio_admission_grant(), NULL if no task waits.
 */
struct fgio_waiter *
fgio_admission_grant_anyway(struct fgio_admission *admission);

/**
 * fgio_admission_promote() - a waiter became critical
 * @admission: the slots
 * @waiter: the waiter
 *
 * It lines up behind the critical waiters. Call fgio_admission_grant() until
 * NULL afterwards. Return: whether it moved; false if it was critical, or
 * granted, already.
 */
bool fgio_admission_promote(struct fgio_admission *admission,
			    struct fgio_waiter *waiter);

static inline bool
fgio_admission_has_waiters(const struct fgio_admission *admission)
{
	return fgio_load(&admission->waiting[FGIO_LINE_NONCRITICAL]) ||
	       fgio_load(&admission->waiting[FGIO_LINE_CRITICAL]) ||
	       fgio_load(&admission->waiting[FGIO_LINE_CARRIER]);
}

#endif /* FGIO_CORE_ADMISSION_H */
