/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Plays a script on a set of the wakers' history and on a plain model of it
 * side by side, and aborts where they differ. The property test feeds it random
 * scripts, libFuzzer any script that reaches new code.
 */
#ifndef FGIO_CORE_TESTS_MODEL_HISTORY_H
#define FGIO_CORE_TESTS_MODEL_HISTORY_H

#include <stddef.h>
#include <stdint.h>

/* Any bytes are a valid script. Aborts with a message on a difference. */
void model_history_play(const uint8_t *script, size_t length);

#endif
