// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Reads that must not wait: nowait DISK COUNT [plain|nowait] [KIB]
 * Submits COUNT direct reads of KIB (default: 4), one io_submit() each, with
 * RWF_NOWAIT unless "plain". Prints "slowest_ms GOOD AGAIN": the longest io_submit() and
 * how the reads ended. Every one of them must end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define ALIGNMENT 4096
#define MOST 256

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

int main(int argc, char **argv)
{
	static struct io_event events[MOST];
	static struct iocb blocks[MOST];
	int count = argc > 2 ? atoi(argv[2]) : 0;
	int plain = argc > 3 && !strcmp(argv[3], "plain");
	size_t length = argc > 4 ? (size_t)atoi(argv[4]) << 10 : 4096;
	long good = 0, again = 0, ended = 0, submitted = 0;
	double slowest = 0;
	aio_context_t context = 0;
	char *buffer;
	int file, i;

	if (count < 1 || count > MOST || !length)
		return 2;
	file = open(argv[1], O_RDONLY | O_DIRECT);
	buffer = aligned_alloc(ALIGNMENT, length * MOST);
	if (file < 0 || !buffer || syscall(SYS_io_setup, MOST, &context))
		die("nowait: cannot begin");
	for (i = 0; i < count; i++) {
		struct iocb *block = &blocks[i];
		double begin = now_ms();

		*block = (struct iocb){
			.aio_lio_opcode = IOCB_CMD_PREAD,
			.aio_fildes = (unsigned int)file,
			.aio_buf = (uintptr_t)(buffer + length * (size_t)i),
			.aio_nbytes = length,
			.aio_offset = (long long)length * i,
			.aio_rw_flags = plain ? 0 : RWF_NOWAIT,
		};
		if (syscall(SYS_io_submit, context, 1, &block) == 1)
			submitted++;
		else if (errno == EAGAIN)
			again++;
		else
			die("nowait: io_submit");
		if (now_ms() - begin > slowest)
			slowest = now_ms() - begin;
	}
	while (ended < submitted) {
		long got = syscall(SYS_io_getevents, context, 1, MOST, events, NULL);

		if (got < 1)
			die("nowait: io_getevents");
		for (i = 0; i < got; i++) {
			if (events[i].res == (long long)length)
				good++;
			else if (events[i].res == -EAGAIN)
				again++;
			else
				return fprintf(stderr, "nowait: result %lld\n",
					       (long long)events[i].res), 1;
		}
		ended += got;
	}
	printf("%.0f %ld %ld\n", slowest, good, again);
	return 0;
}
