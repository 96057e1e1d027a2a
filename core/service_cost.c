// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "depth_constants.h"
#include "number.h"
#include "service_cost.h"

void fgio_cost_init(struct fgio_service_cost *cost, u64 size, u64 size_ns)
{
	*cost = (struct fgio_service_cost){
		.per_unit = (size_ns << FGIO_COST_SHIFT) / size,
	};
}

void fgio_cost_charge(struct fgio_service_cost *cost, u64 size, u64 now_ns)
{
	u64 work_ns = fgio_cost_work(cost, size);
	u64 credit_ns = larger(CREDIT_NS, 2 * work_ns);

	cost->sent += size;
	fgio_cost_fill(cost, beyond(now_ns, credit_ns), work_ns, now_ns);
}

void fgio_cost_fill(struct fgio_service_cost *cost, u64 begin_ns, u64 work_ns,
		    u64 now_ns)
{
	cost->busy_until_ns =
		smaller(larger(cost->busy_until_ns, begin_ns) + work_ns,
			now_ns + BUCKET_MOST_NS);
}

/* The bucket was filled at twice the new cost. */
void fgio_cost_halve(struct fgio_service_cost *cost, u64 now_ns)
{
	cost->per_unit -= cost->per_unit / 2;
	cost->per_unit = larger(cost->per_unit, COST_LEAST);
	cost->busy_until_ns -= beyond(cost->busy_until_ns, now_ns) / 2;
}

void fgio_cost_double(struct fgio_service_cost *cost)
{
	cost->per_unit = smaller(2 * cost->per_unit, COST_MOST);
	cost->sent = 0;
}

void fgio_cost_settle(struct fgio_service_cost *cost)
{
	cost->at_limit = cost->per_unit;
}

bool fgio_cost_is_below_limit(const struct fgio_service_cost *cost)
{
	return cost->per_unit <
	       cost->at_limit - cost->at_limit / COST_BELOW_SHARE;
}

bool fgio_cost_is_far_below_limit(const struct fgio_service_cost *cost)
{
	return cost->per_unit <
	       cost->at_limit - cost->at_limit / CONFIRMED_SHARE;
}

/* Only time with demand shows what the drive can do. */
static void count_span(struct fgio_service_cost *cost, u64 length_ns,
		       bool wanted)
{
	if (!wanted) {
		cost->span_ns = 0;
		cost->span_sent = 0;
		return;
	}
	cost->span_ns += length_ns;
	cost->span_sent += cost->sent;
}

/* In bursts, an interval works off what the one before dispatched. */
static void count_spent(struct fgio_service_cost *cost, u64 length_ns,
			u64 now_ns)
{
	u64 work_ns = cost->owed_ns + fgio_cost_work_sent(cost);
	u64 done_ns = beyond(work_ns, beyond(cost->busy_until_ns, now_ns));

	if (done_ns > length_ns - length_ns / SPENT_SHARE)
		cost->spent++;
	else
		cost->spent = 0;
}

void fgio_cost_count(struct fgio_service_cost *cost, u64 length_ns, bool wanted,
		     u64 now_ns)
{
	count_span(cost, length_ns, wanted);
	count_spent(cost, length_ns, now_ns);
}

void fgio_cost_begin(struct fgio_service_cost *cost, u64 now_ns)
{
	cost->owed_ns = beyond(cost->busy_until_ns, now_ns);
	cost->sent = 0;
}

/*
 * Each time the limit is met, a critical I/O may have to wait. The more certain
 * the limit, the later it is looked for; on a disk later still, since a look
 * costs most there.
 */
static u32 patience(const struct fgio_service_cost *cost, bool rotates)
{
	return cost->confirmed *
	       (rotates ? CONFIRMED_AFTER_DISK : CONFIRMED_AFTER);
}

/* Since the last limit; 0: nothing was dispatched. */
static u64 cost_of_span(const struct fgio_service_cost *cost)
{
	return cost->span_sent ?
		       (cost->span_ns << FGIO_COST_SHIFT) / cost->span_sent : 0;
}

/*
 * Between two times at which its cache was full, a disk did what was
 * dispatched.
 */
static u64 cost_of_disk(struct fgio_service_cost *cost)
{
	u64 done = cost_of_span(cost);
	u64 kept = DISK_FORGETS_SHARE - 1;

	cost->span_ns = kept * cost->span_ns / DISK_FORGETS_SHARE;
	cost->span_sent = kept * cost->span_sent / DISK_FORGETS_SHARE;
	return done;
}

/*
 * Work since the last limit that exceeds the known cost may be in the drive's
 * caches. If they can hold that much, the drive has not changed.
 */
static u64 cost_of_same_drive(struct fgio_service_cost *cost, u64 hidden_ns)
{
	u64 done = cost_of_span(cost);
	u64 known_ns = cost->span_sent * cost->at_limit >> FGIO_COST_SHIFT;
	bool same = known_ns < cost->span_ns + hidden_ns;

	cost->span_ns = 0;
	cost->span_sent = 0;
	if (!same || cost->pressed <= PRESS_AFTER + patience(cost, false))
		return 0;
	return smaller(done, cost->at_limit);
}

static void confirm(struct fgio_service_cost *cost, u64 met_at)
{
	u64 limit = cost->at_limit;
	u64 off = larger(met_at, limit) - smaller(met_at, limit);

	if (off >= limit / MOVED_SHARE)
		cost->times_met = 0;
	if (off >= limit / CONFIRMED_SHARE)
		cost->confirmed = 0;
	else if (cost->pressed > UNSURE_AFTER &&
		 cost->confirmed < CONFIRMED_MOST)
		cost->confirmed++;
	if (cost->pressed > UNSURE_AFTER && cost->times_met < 2)
		cost->times_met++;
}

static void set_limit(struct fgio_service_cost *cost, u64 limit)
{
	confirm(cost, limit);
	cost->per_unit = smaller(limit + limit / COST_MARGIN_SHARE, COST_MOST);
	cost->at_limit = smaller(limit, COST_MOST);
	cost->pressed = 0;
}

bool fgio_cost_raise_to(struct fgio_service_cost *cost, u64 shown)
{
	if (shown <= cost->per_unit)
		return false;
	set_limit(cost, smaller(shown, (COST_FOUND_MOST + 1) * cost->per_unit));
	return true;
}

void fgio_cost_raise(struct fgio_service_cost *cost,
		     const struct fgio_cost_met *met)
{
	u64 length_ns = met->length_ns;
	u64 sent_ns = smaller(fgio_cost_work_sent(cost), length_ns);
	u64 found_ns = smaller(met->found_ns, COST_FOUND_MOST * sent_ns);
	u64 raised = cost->per_unit + cost->per_unit * found_ns / length_ns;

	/* The drive can do at least what it did. */
	if (cost->sent)
		raised = smaller(raised,
				 larger(cost->per_unit,
					(length_ns << FGIO_COST_SHIFT) /
						cost->sent));
	raised = larger(raised, met->rotates ?
				cost_of_disk(cost) :
				cost_of_same_drive(cost, met->hidden_ns));
	set_limit(cost, raised);
}

/*
 * Small steps to a little below the cost of the last limit. If that is not met
 * again for long, the drive has become faster.
 */
void fgio_cost_lower(struct fgio_service_cost *cost, bool rotates)
{
	u32 pressed = cost->pressed++;
	u32 later = patience(cost, rotates);
	bool unsure = cost->times_met < 2 && cost->spent >= SPENT_LEAST;

	if (pressed < (unsure ? UNSURE_AFTER : TRY_AFTER + later))
		return;
	if (cost->per_unit > cost->at_limit - cost->at_limit / COST_NEAR_SHARE)
		cost->per_unit -= cost->per_unit /
				  (unsure ? COST_UNSURE_NEAR_STEP :
					    COST_NEAR_STEP);
	else if (unsure)
		cost->per_unit -= cost->per_unit / COST_UNSURE_STEP;
	else if (pressed > RACE_AFTER + later && !rotates)
		cost->per_unit -= cost->per_unit / COST_RACE_STEP;
	else if (pressed > PRESS_AFTER + later)
		cost->per_unit -= cost->per_unit / COST_PRESS_STEP;
	cost->per_unit = larger(cost->per_unit, COST_LEAST);
}
