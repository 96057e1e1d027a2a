// SPDX-License-Identifier: GPL-2.0 OR MIT
/* libFuzzer: fair shares against their model. */
#include "../tests/model_shares.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	model_shares_play(data, size, NULL);
	model_shares_heap_play(data, size);
	return 0;
}
