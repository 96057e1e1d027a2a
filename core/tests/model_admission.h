/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Plays a script of operations on the admission counters and on a plain model
 * of them side by side, and aborts where they differ.
 */
#ifndef FGIO_CORE_TESTS_MODEL_ADMISSION_H
#define FGIO_CORE_TESTS_MODEL_ADMISSION_H

#include <stddef.h>
#include <stdint.h>

/* Any bytes are a valid script. Aborts with a message on a difference. */
void model_admission_play(const uint8_t *script, size_t length);

#endif
