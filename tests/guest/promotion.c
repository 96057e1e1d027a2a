// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The time of the last of many background writes: promotion DISK COUNT
 * [promote]. Submits COUNT direct writes of 4 KiB, then one more (block
 * COUNT + 1), which is promoted on request, and prints "PROMOTED MILLISECONDS"
 * when that one has completed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "uapi/fgio.h"

#define BLOCK 4096
#define SECTORS (BLOCK / 512)
#define MOST 512

static int disk;
static char *buffer;
static aio_context_t context;

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Every other block, so that no two writes merge. */
static long long offset_of(int number)
{
	return (long long)number * 2 * BLOCK;
}

static void submit(struct iocb *block, int number)
{
	*block = (struct iocb){
		.aio_data = (uint64_t)number,
		.aio_lio_opcode = IOCB_CMD_PWRITE,
		.aio_fildes = (unsigned int)disk,
		.aio_buf = (uintptr_t)buffer,
		.aio_nbytes = BLOCK,
		.aio_offset = offset_of(number),
	};
	if (syscall(SYS_io_submit, context, 1, &block) != 1)
		die("promotion: io_submit");
}

static unsigned int promote(const char *path, int number)
{
	struct fgio_promote request = { .sector = (uint64_t)offset_of(number) / 512 + 3 };
	int device = open(FGIO_DEVICE_PATH, O_RDWR);
	struct stat status;

	if (device < 0 || stat(path, &status))
		die("promotion");
	request.major = major(status.st_rdev);
	request.minor = minor(status.st_rdev);
	if (ioctl(device, FGIO_IOC_PROMOTE, &request))
		die("promotion: FGIO_IOC_PROMOTE");
	return request.promoted;
}

int main(int argc, char **argv)
{
	static struct iocb blocks[MOST];
	static struct io_event events[MOST];
	unsigned int promoted = 0;
	double begin, last_ms = 0;
	int count = argc > 2 ? atoi(argv[2]) : 0, ended = 0, i;

	if (count < 1 || count >= MOST)
		return 2;
	disk = open(argv[1], O_RDWR | O_DIRECT);
	buffer = aligned_alloc(BLOCK, BLOCK);
	if (disk < 0 || !buffer || syscall(SYS_io_setup, MOST, &context))
		die("promotion: cannot begin");
	memset(buffer, 'p', BLOCK);
	for (i = 0; i < count; i++)
		submit(&blocks[i], i);
	begin = now_ms();
	submit(&blocks[count], count);
	if (argc > 3)
		promoted = promote(argv[1], count);
	while (ended <= count) {
		long got = syscall(SYS_io_getevents, context, 1, MOST, events, NULL);

		if (got < 1)
			die("promotion: io_getevents");
		for (i = 0; i < got; i++) {
			if (events[i].res != BLOCK)
				return fprintf(stderr, "promotion: a write failed\n"), 1;
			if (events[i].data == (uint64_t)count)
				last_ms = now_ms() - begin;
		}
		ended += (int)got;
	}
	printf("%u %.0f\n", promoted, last_ms);
	return 0;
}
