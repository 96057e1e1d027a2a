/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Plays a script of operations on admission by group against a plain model. */
#ifndef FGIO_CORE_TESTS_MODEL_ADMISSION_GROUPS_H
#define FGIO_CORE_TESTS_MODEL_ADMISSION_GROUPS_H

#include <stddef.h>
#include <stdint.h>

/* Three bytes for each operation. Aborts where they disagree. */
void model_admission_groups_play(const uint8_t *script, size_t length);

#endif /* FGIO_CORE_TESTS_MODEL_ADMISSION_GROUPS_H */
