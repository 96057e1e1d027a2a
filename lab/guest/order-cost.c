// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Cost of an I/O of a user's request: time for each.
 *
 *	order-cost DISK without|with IOS DEPTH
 *
 * Reads 4 KiB at random, DEPTH at once, each time in a section of its own: of no
 * request, or of a new one.
 *
 * Prints "IOS NANOSECONDS".
 */
#define _GNU_SOURCE
#include <stdbool.h>

#include "lab/guest/direct-reads.h"
#include "lib/include/fgio.h"

static bool with_id;

static void read_some(long depth)
{
	struct fgio_user_request request = { 0 };
	static uint32_t place = 1;

	if (with_id)
		request.id = fgio_request_new();
	fgio_request_begin_as(&request);
	submit_reads(depth, &place);
	fgio_request_end();
	await_reads(depth);
}

int main(int argc, char **argv)
{
	long ios, depth, done;
	uint64_t begin;

	if (argc != 5)
		return 2;
	with_id = !strcmp(argv[2], "with");
	ios = atol(argv[3]);
	depth = atol(argv[4]);
	prepare_reads(argv[1], depth);
	read_some(depth);
	begin = now_ns();
	for (done = 0; done < ios; done += depth)
		read_some(depth);
	printf("%ld %llu\n", done, (unsigned long long)(now_ns() - begin));
	return 0;
}
