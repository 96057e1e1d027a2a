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

/*
 * Any bytes are a valid script. Aborts with a message on a difference. Return:
 * how many requests were dispatched without a look at the clock.
 */
unsigned int model_shares_play(const uint8_t *script, size_t length);

/* The same for the heap alone. */
void model_shares_heap_play(const uint8_t *script, size_t length);

#endif
