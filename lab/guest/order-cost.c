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
#include <linux/aio_abi.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "lab/guest/program.h"
#include "lib/include/fgio.h"

#define BLOCK 4096
#define BLOCKS (1U << 18)
#define MOST 64

static aio_context_t context;
static struct iocb blocks[MOST];
static struct iocb *all[MOST];
static bool with_id;

static void read_some(long depth)
{
	struct fgio_user_request request = { 0 };
	struct io_event events[MOST];
	static uint32_t place = 1;
	long i;

	for (i = 0; i < depth; i++) {
		place = place * 1664525 + 1013904223;
		blocks[i].aio_offset = (int64_t)(place % BLOCKS) * BLOCK;
	}
	if (with_id)
		request.id = fgio_request_new();
	fgio_request_begin_as(&request);
	if (syscall(SYS_io_submit, context, depth, all) != depth)
		stop("io_submit");
	fgio_request_end();
	if (syscall(SYS_io_getevents, context, depth, MOST, events, NULL) != depth)
		stop("io_getevents");
	for (i = 0; i < depth; i++)
		if (events[i].res != BLOCK)
			stop("read");
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	long ios, depth, done;
	uint64_t begin;
	int disk, i;

	if (argc != 5)
		return 2;
	disk = open(argv[1], O_RDONLY | O_DIRECT);
	if (disk < 0)
		stop(argv[1]);
	with_id = !strcmp(argv[2], "with");
	ios = atol(argv[3]);
	depth = atol(argv[4]);
	if (depth < 1 || depth > MOST || syscall(SYS_io_setup, MOST, &context))
		stop("io_setup");
	for (i = 0; i < MOST; i++) {
		blocks[i] = (struct iocb){
			.aio_lio_opcode = IOCB_CMD_PREAD,
			.aio_fildes = (uint32_t)disk,
			.aio_buf = (uintptr_t)aligned_alloc(BLOCK, BLOCK),
			.aio_nbytes = BLOCK,
		};
		all[i] = &blocks[i];
	}
	read_some(depth);
	begin = now_ns();
	for (done = 0; done < ios; done += depth)
		read_some(depth);
	printf("%ld %llu\n", done, (unsigned long long)(now_ns() - begin));
	return 0;
}
