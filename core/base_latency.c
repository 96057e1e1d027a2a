// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "base_latency.h"
#include "depth_constants.h"
#include "number.h"

/* A median: a few I/Os that took long for other reasons do not move it far. */
void fgio_base_latency_learn(struct fgio_base_latency *base, u64 took_ns)
{
	u64 known_ns = base->known_ns;
	u64 off_ns = larger(took_ns, known_ns) - smaller(took_ns, known_ns);
	bool certain = base->count >= BASE_CERTAIN;
	u64 step_ns = known_ns / (certain ? BASE_STEP : BASE_STEP_FIRST) + 1;

	base->count += !certain;
	base->fresh += base->fresh < BASE_FRESH;
	if (!known_ns) {
		fgio_store(&base->known_ns, (u32)took_ns);
		base->deviation_ns = (u32)(took_ns / BASE_DEVIATION_SHARE);
		return;
	}
	step_ns = smaller(step_ns, off_ns);
	fgio_store(&base->known_ns,
		   (u32)(took_ns > known_ns ? known_ns + step_ns :
					      known_ns - step_ns));
	off_ns = smaller(off_ns, BASE_OFF_MOST * known_ns);
	base->deviation_ns -= base->deviation_ns / BASE_DEVIATION_SPAN;
	base->deviation_ns += (u32)(off_ns / BASE_DEVIATION_SPAN);
}

u64 fgio_base_latency_slack_ns(const struct fgio_base_latency *base)
{
	return larger(base->known_ns / BASE_SLACK_LEAST_SHARE,
		      smaller(BASE_SLACK_DEVIATIONS * base->deviation_ns,
			      BASE_SLACK_MOST * base->known_ns));
}
