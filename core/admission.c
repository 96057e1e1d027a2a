// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "admission.h"

/* One slot in so many stays free for the class that is not there yet. */
#define RESERVE_FRACTION 16

static enum fgio_class other_class(enum fgio_class class)
{
	return class == FGIO_CRITICAL ? FGIO_NONCRITICAL : FGIO_CRITICAL;
}

static u32 at_least_one(u32 value)
{
	return value ? value : 1;
}

static void set_shares(struct fgio_admission *admission, u32 critical,
		       u32 noncritical)
{
	fgio_store(&admission->share[FGIO_CRITICAL], critical);
	fgio_store(&admission->share[FGIO_NONCRITICAL], noncritical);
}

static void divide_slots(struct fgio_admission *admission)
{
	u64 critical = admission->wanted[FGIO_CRITICAL];
	u64 wanted = critical + admission->wanted[FGIO_NONCRITICAL];
	u32 total = admission->total;

	admission->reserve = at_least_one(total / RESERVE_FRACTION);
	if (wanted <= total) {
		set_shares(admission, (u32)critical,
			   admission->wanted[FGIO_NONCRITICAL]);
		return;
	}
	critical = at_least_one((u32)(critical * total / wanted));
	if (critical >= total)
		critical = total - 1;
	set_shares(admission, (u32)critical, total - (u32)critical);
}

void fgio_admission_init(struct fgio_admission *admission, u32 total)
{
	*admission = (struct fgio_admission){
		.total = total,
		.wanted = { FGIO_ADMISSION_SLOTS_DEFAULT,
			    FGIO_ADMISSION_SLOTS_DEFAULT },
	};
	fgio_list_init(&admission->waiters[FGIO_NONCRITICAL]);
	fgio_list_init(&admission->waiters[FGIO_CRITICAL]);
	divide_slots(admission);
}

void fgio_admission_resize(struct fgio_admission *admission, u32 total)
{
	admission->total = total;
	divide_slots(admission);
}

void fgio_admission_set_shares(struct fgio_admission *admission, u32 critical,
			       u32 noncritical)
{
	admission->wanted[FGIO_CRITICAL] = critical;
	admission->wanted[FGIO_NONCRITICAL] = noncritical;
	divide_slots(admission);
}

u32 fgio_admission_limit(const struct fgio_admission *admission,
			 enum fgio_class class, bool other_about)
{
	enum fgio_class other = other_class(class);

	if (other_about || fgio_load(&admission->admitted[other]) ||
	    fgio_load(&admission->waiting[other]))
		return fgio_load(&admission->share[class]);
	return admission->total - admission->reserve;
}

static bool has_room(const struct fgio_admission *admission,
		     enum fgio_class class, bool other_about)
{
	return fgio_load(&admission->admitted[class]) <
	       fgio_admission_limit(admission, class, other_about);
}

/* Return: slots taken by the class now, this one included. */
static u32 charge(struct fgio_admission *admission, enum fgio_class class)
{
	fgio_add(&admission->granted[class], 1);
	return fgio_add(&admission->admitted[class], 1);
}

void fgio_admission_charge(struct fgio_admission *admission,
			   enum fgio_class class)
{
	charge(admission, class);
}

bool fgio_admission_try(struct fgio_admission *admission,
			enum fgio_class class, bool other_about)
{
	u32 taken;

	/* Who has no chance shall not make others step back. */
	if (fgio_load(&admission->waiting[class]) ||
	    !has_room(admission, class, other_about))
		return false;
	taken = charge(admission, class);
	if (!fgio_load(&admission->waiting[class]) &&
	    taken <= fgio_admission_limit(admission, class, other_about))
		return true;
	fgio_sub(&admission->granted[class], 1);
	fgio_sub(&admission->admitted[class], 1);
	return false;
}

void fgio_admission_wait(struct fgio_admission *admission,
			 struct fgio_waiter *waiter, enum fgio_class class)
{
	waiter->class = class;
	waiter->granted = false;
	fgio_list_add_tail(&admission->waiters[class], &waiter->link);
	fgio_add(&admission->waiting[class], 1);
}

void fgio_admission_release(struct fgio_admission *admission,
			    enum fgio_class class)
{
	fgio_sub(&admission->admitted[class], 1);
}

void fgio_admission_reclassify(struct fgio_admission *admission,
			       enum fgio_class from, enum fgio_class to)
{
	fgio_add(&admission->admitted[to], 1);
	fgio_sub(&admission->admitted[from], 1);
}

static void stop_waiting(struct fgio_admission *admission,
			 struct fgio_waiter *waiter)
{
	fgio_list_remove(&waiter->link);
	fgio_sub(&admission->waiting[waiter->class], 1);
}

static struct fgio_waiter *grant_first(struct fgio_admission *admission,
				       enum fgio_class class)
{
	struct fgio_waiter *waiter;

	if (!admission->waiting[class])
		return NULL;
	waiter = fgio_container_of(admission->waiters[class].next,
				   struct fgio_waiter, link);
	charge(admission, class);
	stop_waiting(admission, waiter);
	waiter->granted = true;
	return waiter;
}

static struct fgio_waiter *grant_class(struct fgio_admission *admission,
				       enum fgio_class class, bool other_about)
{
	if (!has_room(admission, class, other_about))
		return NULL;
	return grant_first(admission, class);
}

struct fgio_waiter *
fgio_admission_grant_anyway(struct fgio_admission *admission)
{
	struct fgio_waiter *waiter = grant_first(admission, FGIO_CRITICAL);

	return waiter ? waiter : grant_first(admission, FGIO_NONCRITICAL);
}

struct fgio_waiter *fgio_admission_grant(struct fgio_admission *admission,
					 bool critical_about)
{
	struct fgio_waiter *waiter;

	waiter = grant_class(admission, FGIO_CRITICAL, false);
	if (waiter)
		return waiter;
	return grant_class(admission, FGIO_NONCRITICAL, critical_about);
}

bool fgio_admission_promote(struct fgio_admission *admission,
			    struct fgio_waiter *waiter)
{
	if (waiter->granted || waiter->class == FGIO_CRITICAL)
		return false;
	stop_waiting(admission, waiter);
	fgio_admission_wait(admission, waiter, FGIO_CRITICAL);
	return true;
}
