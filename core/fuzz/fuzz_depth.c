// SPDX-License-Identifier: GPL-2.0 OR MIT
/* libFuzzer: the queue that learns the drive's depth, in front of any drive. */
#include "../tests/model_depth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	model_depth_play(data, size);
	return 0;
}
