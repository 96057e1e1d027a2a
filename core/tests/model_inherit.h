/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Plays a script of waits, owners, exits and walks on the wait graph and on a
 * plain model of it side by side, and aborts where they differ. The property
 * test feeds it random scripts, libFuzzer any script that reaches new code.
 *
 * The graph is held to:
 *
 * - A boost is void once the wait of its root, or that of its waiter, has
 *   ended, and has a true reason until then.
 * - After a walk, each task that a waiting foreground task can reach over at
 *   most depth_max steps is boosted, and no other.
 * - Counts are exact. A wait or boost is refused only if it does not fit. The
 *   nodes worth least give way, the oldest first: never a foreground task that
 *   waits, nor a boosted task that does, and a boost only for a foreground
 *   task's wait.
 * - The same script gives the same results, whatever the memory held before.
 */
#ifndef FGIO_CORE_TESTS_MODEL_INHERIT_H
#define FGIO_CORE_TESTS_MODEL_INHERIT_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct model_inherit_seen - events, so that a test can tell whether its
 *	scripts reach what they are for
 * @exact_walks: walks after which exactly the reachable tasks were boosted
 * @loose_walks: walks that met a bound or a change of the graph: only reachable
 *	tasks were boosted, and not all of them
 * @steps_max: longest chain
 * @nested: waits within waits
 * @refused_waits: waits that did not fit
 * @refused_boosts: boosts that did not fit
 * @evictions: boosts that gave way to waits of foreground tasks
 * @given_way: tasks that waited and gave way to waits or boosts
 * @overflows: tasks that did not fit into a walk
 * @cuts: tasks that were not followed because of the cap
 */
struct model_inherit_seen {
	unsigned long exact_walks;
	unsigned long loose_walks;
	unsigned long steps_max;
	unsigned long nested;
	unsigned long refused_waits;
	unsigned long refused_boosts;
	unsigned long evictions;
	unsigned long given_way;
	unsigned long overflows;
	unsigned long cuts;
};

/*
 * Any bytes are a valid script. Aborts with a message on a difference. Adds to
 * @seen.
 */
void model_inherit_play(const uint8_t *script, size_t length,
			struct model_inherit_seen *seen);

#endif
