/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How fast a drive takes what it is given: what goes to it is work, in ns of its time,
 * a size times the pace, which is learnt. The work fills a bucket, which drains by one
 * ns in each. docs/depth.md says how the pace is found.
 *
 * Locking: the caller serialises all calls for one struct. Nothing here sleeps,
 * allocates or loops.
 */
#ifndef FGIO_CORE_SERVICE_COST_H
#define FGIO_CORE_SERVICE_COST_H

#include "types.h"

/**
 * struct fgio_service_cost - the limit of a drive, as far as it is known
 * @per_unit: ns << FGIO_COST_SHIFT for each unit of size
 * @at_limit: what it was set to when the limit was met last
 * @busy_until_ns: when the bucket is empty
 * @sent: size of what went in the interval
 * @owed_ns: work in the bucket when that began
 * @span_ns: time since the limit was met in which all that the drive takes was wanted
 * @span_sent: size of what went meanwhile
 * @pressed: intervals of these in which the drive was pressed
 * @spent: intervals in a row that left nothing of the pace
 * @confirmed: times in a row that the limit was met where it was known to be
 * @times_met: there, with a calm between; counted to 2
 */
struct fgio_service_cost {
	u64 per_unit;
	u64 at_limit;
	u64 busy_until_ns;
	u64 sent;
	u64 owed_ns;
	u64 span_ns;
	u64 span_sent;
	u32 pressed;
	u32 spent;
	u32 confirmed;
	u8 times_met;
};

#define FGIO_COST_SHIFT 10

/* @size_ns: what a request of @size takes at first. */
void fgio_cost_init(struct fgio_service_cost *cost, u64 size, u64 size_ns);

/* What so much costs, in ns of the drive's time. */
static inline u64 fgio_cost_work(const struct fgio_service_cost *cost, u64 size)
{
	return size * cost->per_unit >> FGIO_COST_SHIFT;
}

/* In the interval, at the pace that it has now. */
static inline u64 fgio_cost_work_sent(const struct fgio_service_cost *cost)
{
	return fgio_cost_work(cost, cost->sent);
}

/* So much goes to the drive. */
void fgio_cost_charge(struct fgio_service_cost *cost, u64 size, u64 now_ns);

/* The drive has work that is not of what was sent: @work_ns more from @begin_ns on. */
void fgio_cost_fill(struct fgio_service_cost *cost, u64 begin_ns, u64 work_ns,
		    u64 now_ns);

/* Twice as fast. */
void fgio_cost_halve(struct fgio_service_cost *cost, u64 now_ns);

/* Half as fast; what went before counts no more. */
void fgio_cost_double(struct fgio_service_cost *cost);

/* It is taken to be at the limit. */
void fgio_cost_settle(struct fgio_service_cost *cost);

/**
 * fgio_cost_count() - an interval ends
 * @cost: the limit of the drive
 * @length_ns: of the interval
 * @wanted: all that the drive takes of this was wanted in it
 * @now_ns: the time
 */
void fgio_cost_count(struct fgio_service_cost *cost, u64 length_ns, bool wanted,
		     u64 now_ns);

/**
 * struct fgio_cost_met - the limit was met
 * @length_ns: of the interval in which it was
 * @found_ns: work in the drive that was not known of
 * @hidden_ns: work that may be in the drive's caches
 * @rotates: it is a disk
 */
struct fgio_cost_met {
	u64 length_ns;
	u64 found_ns;
	u64 hidden_ns;
	bool rotates;
};

void fgio_cost_raise(struct fgio_service_cost *cost,
		     const struct fgio_cost_met *met);

/*
 * What was sent took as long as at @shown, at least. Return: whether that is news. One
 * time tells little: it becomes no more than four times as slow.
 */
bool fgio_cost_raise_to(struct fgio_service_cost *cost, u64 shown);

/* The drive was pressed for an interval, and its limit was not met. */
void fgio_cost_lower(struct fgio_service_cost *cost, bool rotates);

/* Whether it is faster than the limit that was met. */
bool fgio_cost_is_below_limit(const struct fgio_service_cost *cost);

/* Whether it is so much faster that the drive cannot be the same. */
bool fgio_cost_is_far_below_limit(const struct fgio_service_cost *cost);

/* The next interval. */
void fgio_cost_begin(struct fgio_service_cost *cost, u64 now_ns);

#endif /* FGIO_CORE_SERVICE_COST_H */
