// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "gate.h"

#define MILLISECOND 1000000ULL

static bool is_clean(const struct fgio_gate_sample *sample)
{
	return sample->dirty + sample->writeback <= FGIO_GATE_LITTLE;
}

/* The device gets the next batch before it is done with the last one. */
static enum fgio_gate_action clean_first(const struct fgio_gate_sample *sample)
{
	if (!sample->sync || is_clean(sample))
		return FGIO_GATE_GO;
	if (sample->dirty && sample->writeback <= FGIO_GATE_BATCH / 2)
		return FGIO_GATE_WRITE;
	return FGIO_GATE_WAIT;
}

enum fgio_gate_action fgio_gate_next(enum fgio_gate gate,
				     const struct fgio_gate_sample *sample)
{
	if (sample->waited_ns >= FGIO_GATE_WAIT_MAX_NS)
		return FGIO_GATE_GO;
	if (gate == FGIO_GATE_DEADLINE)
		return clean_first(sample);
	return sample->critical ? FGIO_GATE_WAIT : FGIO_GATE_GO;
}

/* Critical I/O comes and goes faster than a batch is written. */
u64 fgio_gate_pause_ns(enum fgio_gate gate)
{
	return gate == FGIO_GATE_PRIORITY ? MILLISECOND / 2 : 2 * MILLISECOND;
}
