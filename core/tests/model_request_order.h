/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Plays a script of operations on a queue with an order of users' requests, and
 * on a plain model of it beside that, and aborts where a rule is broken. The
 * property test feeds it random scripts, libFuzzer any script that reaches new
 * code.
 */
#ifndef FGIO_CORE_TESTS_MODEL_REQUEST_ORDER_H
#define FGIO_CORE_TESTS_MODEL_REQUEST_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Any bytes are a valid script. Aborts with a message on a difference. */
void model_request_order_play(const uint8_t *script, size_t length);

#endif
