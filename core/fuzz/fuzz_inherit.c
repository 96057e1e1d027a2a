// SPDX-License-Identifier: GPL-2.0 OR MIT
/* libFuzzer: the wait graph against its model. */
#include "../tests/model_inherit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model_inherit_seen seen = { 0 };

	model_inherit_play(data, size, &seen);
	return 0;
}
