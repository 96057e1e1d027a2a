/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Plays a script of operations on the queue with fair shares, and on a plain
 * model of it beside that, and aborts where a rule is broken. The property test
 * feeds it random scripts, libFuzzer any script that reaches new code.
 */
#ifndef FGIO_CORE_TESTS_MODEL_SHARES_H
#define FGIO_CORE_TESTS_MODEL_SHARES_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct model_shares_seen - what was checked
 * @untimed: requests dispatched without a look at the clock
 * @beside_waiting: requests dispatched in turns of reads while writes waited
 */
struct model_shares_seen {
	unsigned int untimed;
	unsigned int beside_waiting;
};

/*
 * Any bytes are a valid script. Aborts with a message on a difference. @seen:
 * adds to it; NULL: not asked for.
 */
void model_shares_play(const uint8_t *script, size_t length,
		       struct model_shares_seen *seen);

/* The same for the heap alone. */
void model_shares_heap_play(const uint8_t *script, size_t length);

#endif
