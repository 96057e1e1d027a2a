// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "arms.h"
#include "depth_constants.h"
#include "number.h"

static void add(u32 *mean, u32 *seen, u32 times)
{
	*seen += *seen < ARMS_SPAN;
	*mean = *mean - *mean / *seen + times / *seen;
}

void fgio_arms_note(struct fgio_arms *arms, bool beside, u64 took_ns,
		    u64 known_ns)
{
	u32 times = (u32)(smaller(took_ns, ARMS_TIMES_MOST * known_ns) *
			  FGIO_ARMS_ONE / known_ns);

	if (beside)
		add(&arms->beside, &arms->seen_beside, times);
	else
		add(&arms->alone, &arms->seen_alone, times);
	if (arms->seen_beside >= ARMS_LEAST && arms->seen_alone >= ARMS_LEAST)
		arms->several =
			arms->beside < arms->alone + arms->alone / ARMS_SHARE;
}
