// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "base_latency.h"
#include "depth_constants.h"
#include "number.h"

static u64 off_by(u64 took_ns, u64 known_ns)
{
	u64 off_ns = larger(took_ns, known_ns) - smaller(took_ns, known_ns);

	return smaller(off_ns, BASE_OFF_MOST * known_ns);
}

/* Of so few that half may be tails, the lower one of the middle. */
static u64 first_median(const struct fgio_base_latency *base)
{
	u64 lower_ns = base->first_ns[(base->count - 1) / 2];
	u64 upper_ns = base->first_ns[base->count / 2];

	return base->count > BASE_CERTAIN / 2 ? (lower_ns + upper_ns) / 2 :
						lower_ns;
}

/*
 * A drive that is late once in thirty may be so the first time: the first I/Os
 * are kept in order, and their median is exact.
 */
static void learn_first(struct fgio_base_latency *base, u64 took_ns)
{
	u32 at = base->count++;
	u64 known_ns, off_ns = 0;

	for (; at && base->first_ns[at - 1] > took_ns; at--)
		base->first_ns[at] = base->first_ns[at - 1];
	base->first_ns[at] = (u32)took_ns;
	known_ns = first_median(base);
	for (u32 i = 0; i < base->count; i++)
		off_ns += off_by(base->first_ns[i], known_ns);
	if (base->count == 1)
		off_ns = known_ns / BASE_DEVIATION_SHARE;
	base->deviation_ns = (u32)(off_ns / base->count);
	fgio_store(&base->known_ns, (u32)known_ns);
}

/* A median: a few I/Os that took long for other reasons do not move it far. */
void fgio_base_latency_learn(struct fgio_base_latency *base, u64 took_ns)
{
	u64 known_ns = base->known_ns;
	u64 step_ns;

	took_ns = larger(1, smaller(took_ns, BASE_MOST_NS));
	base->fresh += base->fresh < BASE_FRESH;
	if (base->count < BASE_CERTAIN) {
		learn_first(base, took_ns);
		return;
	}
	step_ns = smaller(known_ns / BASE_STEP + 1, off_by(took_ns, known_ns));
	fgio_store(&base->known_ns,
		   (u32)(took_ns > known_ns ? known_ns + step_ns :
					      known_ns - step_ns));
	base->deviation_ns -= base->deviation_ns / BASE_DEVIATION_SPAN;
	base->deviation_ns +=
		(u32)(off_by(took_ns, known_ns) / BASE_DEVIATION_SPAN);
}

u64 fgio_base_latency_slack_ns(const struct fgio_base_latency *base)
{
	return larger(base->known_ns / BASE_SLACK_LEAST_SHARE,
		      smaller(BASE_SLACK_DEVIATIONS * base->deviation_ns,
			      BASE_SLACK_MOST * base->known_ns));
}
