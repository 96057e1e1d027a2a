/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The service cost of a drive: drive time per unit of size, which is learnt.
 * Dispatching a request adds its size times the cost to a bucket, which drains
 * by one ns per ns. docs/depth.md explains how the cost is found.
 *
 * Functions are called fgio_cost_*. A lower cost means that more requests go.
 *
 * Locking: the caller serialises all calls for one struct. Nothing here sleeps,
 * allocates or loops.
 */
#ifndef FGIO_CORE_SERVICE_COST_H
#define FGIO_CORE_SERVICE_COST_H

#include "types.h"

/**
 * struct fgio_service_cost - the cost, and what is known of its limit
 * @per_unit: ns << FGIO_COST_SHIFT for each unit of size
 * @at_limit: the cost at the last limit
 * @busy_until_ns: time at which the bucket is empty
 * @sent: size dispatched in this interval
 * @owed_ns: work in the bucket at its begin
 * @span_ns: time since the last limit with demand for all that the drive takes
 * @span_sent: size dispatched in that time
 * @pressed: intervals since the last limit in which the drive was pressed
 * @spent: intervals in a row that used all of the drive at this cost
 * @confirmed: limits in a row at the same cost
 * @times_met: limits met there with intervals between them; counted to 2
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

/* The first cost: @size_ns for a request of @size. */
void fgio_cost_init(struct fgio_service_cost *cost, u64 size, u64 size_ns);

/* Work of @size, in ns of drive time. */
static inline u64 fgio_cost_work(const struct fgio_service_cost *cost, u64 size)
{
	return size * cost->per_unit >> FGIO_COST_SHIFT;
}

/* Work dispatched in the interval, at the present cost. */
static inline u64 fgio_cost_work_sent(const struct fgio_service_cost *cost)
{
	return fgio_cost_work(cost, cost->sent);
}

/* A request of @size goes to the drive. */
void fgio_cost_charge(struct fgio_service_cost *cost, u64 size, u64 now_ns);

/* Adds @work_ns from @begin_ns on that no dispatched request accounts for. */
void fgio_cost_fill(struct fgio_service_cost *cost, u64 begin_ns, u64 work_ns,
		    u64 now_ns);

/* Lowers the cost to half, and the bucket's content with it. */
void fgio_cost_halve(struct fgio_service_cost *cost, u64 now_ns);

/* Raises the cost to twice, and forgets what was dispatched before. */
void fgio_cost_double(struct fgio_service_cost *cost);

/* Takes the present cost for the limit's. */
void fgio_cost_settle(struct fgio_service_cost *cost);

/**
 * fgio_cost_count() - an interval ends
 * @cost: of the drive
 * @length_ns: of the interval
 * @wanted: it had demand for all that the drive takes
 * @now_ns: the time
 */
void fgio_cost_count(struct fgio_service_cost *cost, u64 length_ns, bool wanted,
		     u64 now_ns);

/**
 * struct fgio_cost_met - the drive's limit was met
 * @length_ns: of the interval in which it was
 * @found_ns: unaccounted work found in the drive
 * @hidden_ns: work that the drive's caches may hide
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
 * Raises the cost to @shown at least, and to four times its value at most,
 * since one time may be chance. Return: whether it was lower.
 */
bool fgio_cost_raise_to(struct fgio_service_cost *cost, u64 shown);

/* The drive was pressed for an interval, and its limit was not met. */
void fgio_cost_lower(struct fgio_service_cost *cost, bool rotates);

/* Whether the cost is below that of the last limit. */
bool fgio_cost_is_below_limit(const struct fgio_service_cost *cost);

/* Whether it is too far below for the same drive. */
bool fgio_cost_is_far_below_limit(const struct fgio_service_cost *cost);

/* Begins an interval. */
void fgio_cost_begin(struct fgio_service_cost *cost, u64 now_ns);

#endif /* FGIO_CORE_SERVICE_COST_H */
