/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How long walks over the wait graph pause after one another.
 *
 * Walks take at most a tenth of a CPU, however large the graph is. Where many
 * tasks wait for their own I/O or for each other, and all of it is critical, walks
 * find nothing to do. Such walks are to take a fortieth: what they took beyond that
 * is remembered, and above a bound pauses are longer, but no longer than the
 * interval. Hosts whose walks are rare do not come to that.
 *
 * Locking: the caller serialises. Nothing here sleeps, allocates or loops.
 */
#ifndef FGIO_CORE_WALK_PAUSE_H
#define FGIO_CORE_WALK_PAUSE_H

#include "number.h"
#include "types.h"

/* A pause in times of the walk before it. */
#define FGIO_PAUSE_SHARE 10
#define FGIO_PAUSE_SHARE_IN_VAIN 40
/* What walks in vain may take beyond their share. */
#define FGIO_PAUSE_VAIN_NS 2000000ULL

/**
 * struct fgio_walk_pause - what is remembered of walks; all zero at first
 * @vain_ns: time that those in vain took beyond their share; to twice the bound
 * @ended_ns: when the last walk ended
 */
struct fgio_walk_pause {
	u64 vain_ns;
	u64 ended_ns;
};

/**
 * fgio_walk_pause_after() - a walk ended
 * @pause: of all walks
 * @took_ns: its duration
 * @helped: it made something critical that was not
 * @interval_ns: between walks while a wait lasts
 * @now_ns: the time
 *
 * Return: the pause, in ns.
 */
static inline u64 fgio_walk_pause_after(struct fgio_walk_pause *pause,
					u64 took_ns, bool helped,
					u64 interval_ns, u64 now_ns)
{
	u64 since_ns = beyond(now_ns, pause->ended_ns);
	u64 least_ns = took_ns * FGIO_PAUSE_SHARE;
	u64 vain_ns = beyond(pause->vain_ns,
			     since_ns / FGIO_PAUSE_SHARE_IN_VAIN);

	if (!helped)
		vain_ns = smaller(vain_ns + took_ns, 2 * FGIO_PAUSE_VAIN_NS);
	pause->vain_ns = vain_ns;
	pause->ended_ns = now_ns;
	if (helped || vain_ns < FGIO_PAUSE_VAIN_NS)
		return least_ns;
	return larger(least_ns, smaller(took_ns * FGIO_PAUSE_SHARE_IN_VAIN,
					interval_ns));
}

#endif /* FGIO_CORE_WALK_PAUSE_H */
