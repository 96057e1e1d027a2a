// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 *	ycsb-draws COUNT KEYS SEED		a line for each draw: rank and key
 *	ycsb-draws COUNT KEYS SEED RATE	a line for each request: when it is due in us, 1 for an update
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lab/guest/ycsb.h"

int main(int argc, char **argv)
{
	uint64_t keys = atol(argv[2]), rank;
	double rate = argc > 4 ? atof(argv[4]) : 0;
	struct ycsb load = ycsb_start(rate, 0.5, keys, atol(argv[3]));
	struct ycsb_request request;

	for (long i = 0; i < atol(argv[1]); i++) {
		if (rate) {
			request = ycsb_next(&load);
			printf("%.0f %d\n", request.due_us, request.is_update);
		} else {
			rank = ycsb_rank(&load);
			printf("%" PRIu64 " %" PRIu64 "\n", rank, ycsb_scramble(rank, keys));
		}
	}
	return 0;
}
