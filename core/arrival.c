// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "arrival.h"
#include "depth_constants.h"
#include "number.h"

/*
 * The longest and the shortest pause may be chance: the second of each counts.
 * Computed on demand, since critical I/O comes far more often than a prediction
 * is asked for.
 */
static void sum_up(struct fgio_arrival *arrival)
{
	u32 least[2] = { ~0U, ~0U }, most[2] = { 0, 0 };

	if (arrival->summed == arrival->pauses ||
	    arrival->pauses < FGIO_ARRIVAL_PAUSES)
		return;
	arrival->summed = arrival->pauses;
	for (u32 i = 0; i < FGIO_ARRIVAL_PAUSES; i++) {
		u32 pause = arrival->pause_ns[i];

		if (pause < least[0]) {
			least[1] = least[0];
			least[0] = pause;
		} else if (pause < least[1]) {
			least[1] = pause;
		}
		if (pause > most[0]) {
			most[1] = most[0];
			most[0] = pause;
		} else if (pause > most[1]) {
			most[1] = pause;
		}
	}
	arrival->least_ns = least[1];
	arrival->most_ns = most[1];
}

void fgio_arrival_came(struct fgio_arrival *arrival, u64 pause_ns)
{
	u32 at = arrival->pauses++ % FGIO_ARRIVAL_PAUSES;

	arrival->pause_ns[at] = (u32)smaller(pause_ns, 2 * ARRIVAL_LONGEST_NS);
}

static u64 late(const struct fgio_arrival *arrival, u64 since_ns)
{
	u64 most_ns = arrival->most_ns;

	return since_ns + most_ns + most_ns / ARRIVAL_LATE_SHARE +
	       ARRIVAL_LATE_NS;
}

bool fgio_arrival_next(struct fgio_arrival *arrival, u64 since_ns,
		       u64 work_ns, u64 *done_ns, u64 *late_ns)
{
	u64 margin_ns = arrival->margin_ns;
	u64 least_ns, most_ns;

	sum_up(arrival);
	least_ns = arrival->least_ns;
	most_ns = arrival->most_ns;
	if (!least_ns || least_ns > ARRIVAL_LONGEST_NS ||
	    least_ns < ARRIVAL_WORTH_FACTOR * work_ns ||
	    most_ns - least_ns + margin_ns > least_ns / ARRIVAL_ALIKE_SHARE)
		return false;
	*done_ns = since_ns + least_ns - margin_ns;
	*late_ns = late(arrival, since_ns);
	return true;
}

bool fgio_arrival_soon(struct fgio_arrival *arrival, u64 since_ns,
		       u64 work_ns, u64 *late_ns)
{
	sum_up(arrival);
	if (arrival->pauses < FGIO_ARRIVAL_PAUSES ||
	    (u64)arrival->most_ns * ARRIVAL_WORTH_FACTOR > work_ns)
		return false;
	*late_ns = late(arrival, since_ns);
	return true;
}

void fgio_arrival_judge(struct fgio_arrival *arrival, u64 excess_ns,
			u64 known_ns)
{
	u64 margin_ns = arrival->margin_ns;
	u64 margin_least_ns, least_ns;

	sum_up(arrival);
	least_ns = arrival->least_ns;
	margin_least_ns = smaller(2 * known_ns,
				  least_ns / ARRIVAL_MARGIN_LEAST_SHARE);
	if (excess_ns)
		margin_ns = smaller(margin_ns + excess_ns / 2,
				    least_ns / ARRIVAL_MARGIN_MOST_SHARE);
	else
		margin_ns = larger(margin_ns - margin_ns / ARRIVAL_MARGIN_STEP,
				   margin_least_ns);
	arrival->margin_ns = margin_ns;
}
