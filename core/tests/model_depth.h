/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef FGIO_CORE_TESTS_MODEL_DEPTH_H
#define FGIO_CORE_TESTS_MODEL_DEPTH_H

#include <stddef.h>
#include <stdint.h>

/*
 * Plays a script of requests, completions and passing time on an adaptive
 * queue; no drive, however erratic, may stop it.
 */
void model_depth_play(const uint8_t *script, size_t length);

#endif
