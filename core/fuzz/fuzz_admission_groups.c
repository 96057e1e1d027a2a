// SPDX-License-Identifier: GPL-2.0 OR MIT
/* libFuzzer: admission by group against its model. */
#include "../tests/model_admission_groups.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	model_admission_groups_play(data, size);
	return 0;
}
