// SPDX-License-Identifier: GPL-2.0 OR MIT
/* libFuzzer: the order of users' requests against its model. */
#include "../tests/model_request_order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	model_request_order_play(data, size);
	return 0;
}
