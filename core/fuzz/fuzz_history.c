// SPDX-License-Identifier: GPL-2.0 OR MIT
/* libFuzzer: the history of wakers against its model. */
#include "../tests/model_history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	model_history_play(data, size);
	return 0;
}
