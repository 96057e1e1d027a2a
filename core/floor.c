// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "floor.h"
#include "number.h"

/* How far off one I/O counts, and what the slack is, at most: in medians. */
#define OFF_MOST 4ULL
#define SLACK_MOST 2ULL

/* A median: few I/Os that took long for other reasons do not move it far. */
void fgio_floor_learn(struct fgio_floor *floor, u64 took_ns)
{
	u64 known_ns = floor->known_ns;
	u64 off_ns = larger(took_ns, known_ns) - smaller(took_ns, known_ns);
	u64 step_ns = known_ns / (floor->count < FGIO_FLOOR_CERTAIN ? 8 : 32) + 1;

	floor->count += floor->count < FGIO_FLOOR_CERTAIN;
	floor->fresh += floor->fresh < FGIO_FLOOR_FRESH;
	if (!known_ns) {
		fgio_store(&floor->known_ns, (u32)took_ns);
		floor->deviation_ns = (u32)(took_ns / 8);
		return;
	}
	step_ns = smaller(step_ns, off_ns);
	fgio_store(&floor->known_ns,
		   (u32)(took_ns > known_ns ? known_ns + step_ns :
					      known_ns - step_ns));
	floor->deviation_ns -= floor->deviation_ns / 16;
	floor->deviation_ns += (u32)(smaller(off_ns, OFF_MOST * known_ns) / 16);
}

u64 fgio_floor_slack_ns(const struct fgio_floor *floor)
{
	return larger(floor->known_ns / 8,
		      smaller(3ULL * floor->deviation_ns,
			      SLACK_MOST * floor->known_ns));
}
