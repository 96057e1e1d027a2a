// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "reason.h"

/* The task waits, as far as is recorded, and nothing was found. */
static enum fgio_reason reason_of_wait(u32 facts)
{
	if (facts & FGIO_FACT_OFF)
		return FGIO_REASON_OFF;
	if (facts & FGIO_FACT_NO_HOOK)
		return FGIO_REASON_HOOK;
	if (facts & FGIO_FACT_IO_LOST)
		return FGIO_REASON_IO;
	return FGIO_REASON_OWNER;
}

static enum fgio_reason reason_of_sleep(u32 facts)
{
	if (facts & FGIO_FACT_IO_SLEEP)
		return FGIO_REASON_IO;
	return facts & FGIO_FACT_INTERRUPTIBLE ? FGIO_REASON_ASLEEP :
						 FGIO_REASON_UNSEEN;
}

/*
 * A task may have I/O in flight, asynchronously, and wait for a lock: its I/O
 * counts where it sleeps for I/O, or for a reason that is not recorded.
 */
static bool waits_for_own_io(u32 facts)
{
	return facts & FGIO_FACT_OWN_IO &&
	       (facts & FGIO_FACT_IO_SLEEP || !(facts & FGIO_FACT_WAITS));
}

enum fgio_reason fgio_reason_of(u32 facts)
{
	if (facts & FGIO_FACT_IO)
		return facts & FGIO_FACT_IO_TURN ? FGIO_REASON_SHARE :
						   FGIO_REASON_NONE;
	if (waits_for_own_io(facts))
		return facts & FGIO_FACT_OWN_IO_TURN ? FGIO_REASON_SHARE :
						       FGIO_REASON_NONE;
	if (facts & FGIO_FACT_FULL)
		return FGIO_REASON_FULL;
	if (facts & FGIO_FACT_RUNS)
		return FGIO_REASON_RUNNING;
	if (facts & FGIO_FACT_CUT)
		return FGIO_REASON_DEPTH;
	return facts & FGIO_FACT_WAITS ? reason_of_wait(facts) :
					 reason_of_sleep(facts);
}

/* How long each reason would have held if the wait ended now. */
static u64 held_ns(const struct fgio_reason_times *times, u32 reason,
		   u64 now_ns)
{
	u64 held = times->held_ns[reason];

	/* The clocks of two processors may differ by a little. */
	if (reason == times->last && now_ns > times->since_ns)
		held += now_ns - times->since_ns;
	return held;
}

void fgio_reason_begin(struct fgio_reason_times *times, u64 since_ns,
		       enum fgio_reason reason)
{
	*times = (struct fgio_reason_times){
		.since_ns = since_ns,
		.last = (u8)reason,
	};
}

void fgio_reason_saw(struct fgio_reason_times *times, u64 now_ns,
		     enum fgio_reason reason)
{
	times->held_ns[times->last] = held_ns(times, times->last, now_ns);
	times->since_ns = now_ns;
	times->last = (u8)reason;
}

enum fgio_reason fgio_reason_longest(const struct fgio_reason_times *times,
				     u64 now_ns)
{
	u32 longest = 0;
	u32 i;

	for (i = 1; i < FGIO_REASONS; i++)
		if (held_ns(times, i, now_ns) > held_ns(times, longest, now_ns))
			longest = i;
	return (enum fgio_reason)longest;
}
