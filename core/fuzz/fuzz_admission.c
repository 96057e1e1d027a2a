// SPDX-License-Identifier: GPL-2.0 OR MIT
/* libFuzzer: admission counters against their model. */
#include "../tests/model_admission.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	model_admission_play(data, size);
	return 0;
}
