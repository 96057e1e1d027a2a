// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "admission.h"
#include "admission_groups.h"

/* One slot in 16 stays free for the class that is not there yet. */
#define RESERVE_FRACTION 16

static u32 at_least_one(u32 value)
{
	return value ? value : 1;
}

static u32 slots_left(u32 slots, u32 taken)
{
	return slots > taken ? slots - taken : 0;
}

/* Slots for a line that is alone. */
static u32 alone_limit(const struct fgio_admission *admission)
{
	return admission->total - admission->reserve;
}

/* The non-critical share while carriers are there. */
static u32 beside_carriers(const struct fgio_admission *admission, u32 share)
{
	return at_least_one(slots_left(share, admission->reserve));
}

static void set_sure(struct fgio_admission *admission, enum fgio_line line,
		     u32 least)
{
	u32 alone = alone_limit(admission);

	fgio_store(&admission->sure[line], least < alone ? least : alone);
}

static void set_shares(struct fgio_admission *admission, u32 critical,
		       u32 noncritical)
{
	fgio_store(&admission->share[FGIO_CRITICAL], critical);
	fgio_store(&admission->share[FGIO_NONCRITICAL], noncritical);
	set_sure(admission, FGIO_LINE_CRITICAL, critical);
	set_sure(admission, FGIO_LINE_NONCRITICAL,
		 beside_carriers(admission, noncritical));
	set_sure(admission, FGIO_LINE_CARRIER, admission->reserve);
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
	unsigned int line;

	*admission = (struct fgio_admission){
		.total = total,
		.wanted = { FGIO_ADMISSION_SLOTS_DEFAULT,
			    FGIO_ADMISSION_SLOTS_DEFAULT },
	};
	for (line = 0; line < FGIO_LINES; line++)
		fgio_list_init(&admission->waiters[line]);
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
	if (admission->groups)
		fgio_admission_rekey_groups(admission);
}

/* Whether a line holds slots or waits for some. */
static bool is_there(const struct fgio_admission *admission,
		     enum fgio_line line)
{
	return fgio_load(&admission->admitted[line]) ||
	       fgio_load(&admission->waiting[line]);
}

static u32 critical_limit(const struct fgio_admission *admission,
			  bool noncritical_present)
{
	if (noncritical_present || is_there(admission, FGIO_LINE_NONCRITICAL) ||
	    is_there(admission, FGIO_LINE_CARRIER))
		return fgio_load(&admission->share[FGIO_CRITICAL]);
	return alone_limit(admission);
}

static u32 noncritical_limit(const struct fgio_admission *admission,
			     bool critical_present)
{
	u32 share = fgio_load(&admission->share[FGIO_NONCRITICAL]);

	if (is_there(admission, FGIO_LINE_CARRIER))
		return beside_carriers(admission, share);
	if (critical_present || is_there(admission, FGIO_LINE_CRITICAL))
		return share;
	return alone_limit(admission);
}

static u32 carrier_limit(const struct fgio_admission *admission)
{
	u32 others = fgio_load(&admission->admitted[FGIO_LINE_CRITICAL]) +
		     fgio_load(&admission->admitted[FGIO_LINE_NONCRITICAL]);
	u32 left = slots_left(alone_limit(admission), others);

	return left > admission->reserve ? left : admission->reserve;
}

u32 fgio_admission_limit(const struct fgio_admission *admission,
			 enum fgio_line line, bool other_present)
{
	switch (line) {
	case FGIO_LINE_CRITICAL:
		return critical_limit(admission, other_present);
	case FGIO_LINE_NONCRITICAL:
		return noncritical_limit(admission, other_present);
	default:
		return carrier_limit(admission);
	}
}

static bool has_room(const struct fgio_admission *admission,
		     enum fgio_line line, bool other_present)
{
	return fgio_load(&admission->admitted[line]) <
	       fgio_admission_limit(admission, line, other_present);
}

bool fgio_admission_try(struct fgio_admission *admission,
			enum fgio_line line, bool other_present)
{
	u32 taken;

	if (fgio_admission_is_sure(admission, line))
		return fgio_admission_try_sure(admission, line);
	/* A task without a chance must not make others step back. */
	if (fgio_load(&admission->waiting[line]) ||
	    !has_room(admission, line, other_present))
		return false;
	taken = fgio_admission_charge(admission, line);
	if (!fgio_load(&admission->waiting[line]) &&
	    taken <= fgio_admission_limit(admission, line, other_present))
		return true;
	fgio_admission_step_back(admission, line);
	return false;
}

void fgio_admission_step_back(struct fgio_admission *admission,
			      enum fgio_line line)
{
	fgio_sub(&admission->granted[line], 1);
	fgio_sub(&admission->admitted[line], 1);
}

void fgio_admission_wait(struct fgio_admission *admission,
			 struct fgio_waiter *waiter, enum fgio_line line)
{
	waiter->line = (u8)line;
	waiter->granted = false;
	fgio_list_add_tail(&admission->waiters[line], &waiter->link);
	fgio_add(&admission->waiting[line], 1);
}

void fgio_admission_reclassify(struct fgio_admission *admission,
			       enum fgio_line from, enum fgio_line to)
{
	fgio_add(&admission->admitted[to], 1);
	fgio_sub(&admission->admitted[from], 1);
}

static void stop_waiting(struct fgio_admission *admission,
			 struct fgio_waiter *waiter)
{
	fgio_list_remove(&waiter->link);
	fgio_sub(&admission->waiting[waiter->line], 1);
}

static struct fgio_waiter *grant_first(struct fgio_admission *admission,
				       enum fgio_line line)
{
	struct fgio_waiter *waiter;

	if (!admission->waiting[line])
		return NULL;
	waiter = fgio_container_of(admission->waiters[line].next,
				   struct fgio_waiter, link);
	fgio_admission_charge(admission, line);
	stop_waiting(admission, waiter);
	waiter->granted = true;
	return waiter;
}

/* Carriers come before the others: critical I/O may be behind them. */
static const enum fgio_line grant_order[FGIO_LINES] = {
	FGIO_LINE_CRITICAL,
	FGIO_LINE_CARRIER,
	FGIO_LINE_NONCRITICAL,
};

struct fgio_waiter *
fgio_admission_grant_anyway(struct fgio_admission *admission)
{
	struct fgio_waiter *waiter = NULL;
	unsigned int i;

	if (admission->groups)
		return fgio_admission_grant_any_group(admission) ?:
			       grant_first(admission, FGIO_LINE_CARRIER);
	for (i = 0; i < FGIO_LINES && !waiter; i++)
		waiter = grant_first(admission, grant_order[i]);
	return waiter;
}

static struct fgio_waiter *grant_by_group(struct fgio_admission *admission,
					  bool critical_present)
{
	struct fgio_waiter *waiter = NULL;

	fgio_admission_critical_is(admission, critical_present);
	if (has_room(admission, FGIO_LINE_CARRIER, false))
		waiter = grant_first(admission, FGIO_LINE_CARRIER);
	return waiter ?: fgio_admission_grant_by_group(admission);
}

struct fgio_waiter *fgio_admission_grant(struct fgio_admission *admission,
					 bool critical_present)
{
	struct fgio_waiter *waiter = NULL;
	unsigned int i;

	if (admission->groups)
		return grant_by_group(admission, critical_present);
	for (i = 0; i < FGIO_LINES && !waiter; i++) {
		enum fgio_line line = grant_order[i];
		bool present = line == FGIO_LINE_NONCRITICAL &&
			       critical_present;

		if (has_room(admission, line, present))
			waiter = grant_first(admission, line);
	}
	return waiter;
}

bool fgio_admission_promote(struct fgio_admission *admission,
			    struct fgio_waiter *waiter)
{
	if (admission->groups)
		return fgio_admission_promote_to(admission, waiter,
						 waiter->place);
	if (waiter->granted || waiter->line == FGIO_LINE_CRITICAL)
		return false;
	stop_waiting(admission, waiter);
	fgio_admission_wait(admission, waiter, FGIO_LINE_CRITICAL);
	return true;
}
