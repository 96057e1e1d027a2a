/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Admission: who may take a slot of the block layer's queue, and who waits.
 *
 * A queue has a limited number of slots. Where both classes want them, each
 * has its own share and cannot take the other's, so that a flood of background
 * I/O never makes a request wait for a slot (FAST'17 paper, section 4.3). A
 * class that is alone may take all slots but a small reserve, which lets the
 * first I/O of the other class in at once.
 *
 * Waiting is first come, first served within a class. A slot is handed to a
 * waiter by whoever frees one: a woken waiter never competes again.
 *
 * Locking: the caller serialises fgio_admission_wait(), _grant*(), _promote(),
 * _resize() and _set_shares() for one admission. fgio_admission_try(),
 * _charge(), _release(), _reclassify() and _limit() may run at any time, in any
 * context, beside them and beside each other, but for _resize(), which wants no
 * slot to be taken. Nothing here sleeps, allocates or loops.
 *
 * Why nobody waits in vain although slots are taken and given back without a
 * lock. Who lines up says so in @waiting first, then looks for room
 * (fgio_admission_grant()); who gives a slot back counts down @admitted first,
 * then looks at @waiting. Both are full barriers: either the waiter sees the
 * room, or the other sees the waiter and calls fgio_admission_grant() itself.
 *
 * Why nobody overtakes and no limit is exceeded. Who takes a slot counts up
 * @admitted first, then looks at @waiting, at the other class and at the limit,
 * and gives the slot back where it was not entitled to it. So of two that take
 * the last slot, or of one in each class that both found the other absent, at
 * most one keeps it; and of one that takes a slot and one that lines up, either
 * the first sees the second and steps back, or the second counts the first. A
 * waiter that is granted a slot is charged before it leaves the line, so that
 * there is no gap in between. Who steps back may have made another one wait for
 * nothing, and so looks at @waiting as after any slot given back.
 */
#ifndef FGIO_CORE_ADMISSION_H
#define FGIO_CORE_ADMISSION_H

#include "atomic.h"
#include "class.h"
#include "list.h"
#include "types.h"

#define FGIO_ADMISSION_SLOTS_DEFAULT 128

/**
 * struct fgio_waiter - somebody who waits for a slot, embedded in the caller's
 *	own
 * @link: position among the waiters of its class
 * @class: enum fgio_class
 * @granted: the slot is charged to it: it may go on
 */
struct fgio_waiter {
	struct fgio_list link;
	u8 class;
	bool granted;
};

/**
 * struct fgio_admission - the slots of one queue
 * @total: slots there are
 * @wanted: shares asked for by the administrator
 * @share: shares in force: @wanted, cut in proportion where @total is smaller
 * @reserve: slots that a class that is alone leaves free
 * @admitted: slots taken, per class; may exceed a limit by what was charged
 *	with fgio_admission_charge()
 * @granted: slots taken since the beginning, per class
 * @waiting: how many wait, per class
 * @waiters: who waits, per class
 */
struct fgio_admission {
	u32 total;
	u32 wanted[FGIO_CLASSES];
	u32 share[FGIO_CLASSES];
	u32 reserve;
	u32 admitted[FGIO_CLASSES];
	u64 granted[FGIO_CLASSES];
	u32 waiting[FGIO_CLASSES];
	struct fgio_list waiters[FGIO_CLASSES];
};

/* @total: slots of the queue, at least 2. Shares are the default ones. */
void fgio_admission_init(struct fgio_admission *admission, u32 total);

/* The queue has another number of slots now, at least 2. */
void fgio_admission_resize(struct fgio_admission *admission, u32 total);

/* The administrator wants other shares, each at least 1. */
void fgio_admission_set_shares(struct fgio_admission *admission, u32 critical,
			       u32 noncritical);

/**
 * fgio_admission_limit() - slots that a class may have now
 * @admission: the slots
 * @class: the class
 * @other_about: whether I/O of the other class is about, beyond what holds a
 *	slot or waits for one
 */
u32 fgio_admission_limit(const struct fgio_admission *admission,
			 enum fgio_class class, bool other_about);

/**
 * fgio_admission_try() - take a slot if there is one for this class
 *
 * Return: whether a slot was charged. Never when somebody of the same class
 * waits already: they were first. Where it says no, call fgio_admission_wait(),
 * or fgio_admission_grant() until NULL when somebody waits.
 */
bool fgio_admission_try(struct fgio_admission *admission,
			enum fgio_class class, bool other_about);

/* Takes a slot without asking: for who must not wait. */
void fgio_admission_charge(struct fgio_admission *admission,
			   enum fgio_class class);

/*
 * Lines up for a slot. Call fgio_admission_grant() until NULL afterwards: it may
 * be the turn of this very waiter.
 */
void fgio_admission_wait(struct fgio_admission *admission,
			 struct fgio_waiter *waiter, enum fgio_class class);

/*
 * Gives a slot back. Call fgio_admission_grant() until NULL afterwards when
 * fgio_admission_somebody_waits().
 */
void fgio_admission_release(struct fgio_admission *admission,
			    enum fgio_class class);

/*
 * A request turned out to be of the other class: its slot goes with it. Call
 * fgio_admission_grant() until NULL afterwards when
 * fgio_admission_somebody_waits().
 */
void fgio_admission_reclassify(struct fgio_admission *admission,
			       enum fgio_class from, enum fgio_class to);

/**
 * fgio_admission_grant() - hand a free slot to who waited longest
 * @admission: the slots
 * @critical_about: whether critical I/O is about
 *
 * Return: a waiter that was charged and must be woken, critical ones first,
 * or NULL when nobody waits or nobody's class has room.
 */
struct fgio_waiter *fgio_admission_grant(struct fgio_admission *admission,
					 bool critical_about);

/*
 * Hands a slot to who waited longest, critical ones first, whatever the limits.
 * Return: as fgio_admission_grant(), NULL when nobody waits.
 */
struct fgio_waiter *
fgio_admission_grant_anyway(struct fgio_admission *admission);

/**
 * fgio_admission_promote() - a waiter became critical
 *
 * It lines up behind the critical waiters. Call fgio_admission_grant() until
 * NULL afterwards. Return: whether it moved; false when it was critical, or
 * granted, already.
 */
bool fgio_admission_promote(struct fgio_admission *admission,
			    struct fgio_waiter *waiter);

static inline bool
fgio_admission_somebody_waits(const struct fgio_admission *admission)
{
	return fgio_load(&admission->waiting[FGIO_NONCRITICAL]) ||
	       fgio_load(&admission->waiting[FGIO_CRITICAL]);
}

#endif /* FGIO_CORE_ADMISSION_H */
