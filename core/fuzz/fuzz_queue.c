// SPDX-License-Identifier: GPL-2.0 OR MIT
/* libFuzzer: the two-class queue against its model. */
#include "../tests/model_queue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	model_queue_play(data, size);
	return 0;
}
