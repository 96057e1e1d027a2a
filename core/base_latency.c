// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "base_latency.h"
#include "number.h"

/* How far off one I/O counts, and what the slack is, at most: in medians. */
#define OFF_MOST 4ULL
#define SLACK_MOST 2ULL

/* A median: few I/Os that took long for other reasons do not move it far. */
void fgio_base_latency_learn(struct fgio_base_latency *base, u64 took_ns)
{
	u64 known_ns = base->known_ns;
	u64 off_ns = larger(took_ns, known_ns) - smaller(took_ns, known_ns);
	bool certain = base->count >= FGIO_BASE_LATENCY_CERTAIN;
	u64 step_ns = known_ns / (certain ? 32 : 8) + 1;

	base->count += !certain;
	base->fresh += base->fresh < FGIO_BASE_LATENCY_FRESH;
	if (!known_ns) {
		fgio_store(&base->known_ns, (u32)took_ns);
		base->deviation_ns = (u32)(took_ns / 8);
		return;
	}
	step_ns = smaller(step_ns, off_ns);
	fgio_store(&base->known_ns,
		   (u32)(took_ns > known_ns ? known_ns + step_ns :
					      known_ns - step_ns));
	base->deviation_ns -= base->deviation_ns / 16;
	base->deviation_ns += (u32)(smaller(off_ns, OFF_MOST * known_ns) / 16);
}

u64 fgio_base_latency_slack_ns(const struct fgio_base_latency *base)
{
	return larger(base->known_ns / 8,
		      smaller(3ULL * base->deviation_ns,
			      SLACK_MOST * base->known_ns));
}
