// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Polled reads that are never reaped: polled DISK COUNT
 * Submits COUNT direct reads of 4 KiB through an io_uring that polls, says
 * "submitted COUNT", and sleeps until it is killed: the requests stay in the device.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCK 4096
#define MOST 8
/* Reads side by side would become one request. */
#define APART (1024 * 1024)

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *map(int ring, size_t length, off_t offset)
{
	void *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
			offset);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

int main(int argc, char **argv)
{
	struct io_uring_params params = { .flags = IORING_SETUP_IOPOLL };
	int ring = (int)syscall(SYS_io_uring_setup, MOST, &params);
	unsigned int count = argc == 3 ? (unsigned int)atoi(argv[2]) : 0;
	struct io_uring_sqe *entries;
	unsigned int *tail, *array;
	char *queue;
	void *buffer;
	int disk;

	if (!count || count > MOST)
		return 2;
	disk = open(argv[1], O_RDONLY | O_DIRECT);
	if (ring < 0 || disk < 0 || posix_memalign(&buffer, BLOCK, BLOCK * MOST))
		die(argv[1]);
	queue = map(ring, params.sq_off.array + MOST * sizeof(*array), IORING_OFF_SQ_RING);
	entries = map(ring, MOST * sizeof(*entries), IORING_OFF_SQES);
	tail = (unsigned int *)(queue + params.sq_off.tail);
	array = (unsigned int *)(queue + params.sq_off.array);
	for (unsigned int i = 0; i < count; i++) {
		entries[i] = (struct io_uring_sqe){
			.opcode = IORING_OP_READ,
			.fd = disk,
			.addr = (uint64_t)buffer + i * BLOCK,
			.len = BLOCK,
			.off = (uint64_t)i * APART,
		};
		array[i] = i;
	}
	__atomic_store_n(tail, *tail + count, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, count, 0, 0, NULL, 0) != count)
		die("io_uring_enter");
	printf("submitted %u\n", count);
	fflush(stdout);
	for (;;)
		pause();
}
