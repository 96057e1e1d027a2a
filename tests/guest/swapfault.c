// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A foreground thread faults on a page that another thread is swapping in:
 *
 *	swapfault out		writes some MiB of memory to swap, and ends
 *	swapfault RECLAIM	swaps a page out, says so, and waits for a line.
 *				Then both threads read it; it prints the
 *				milliseconds that the second one took, or ends
 *				with 1 when that takes longer than LIMIT_S
 *
 * The first thread has no tag; the second tags itself before. RECLAIM is the
 * memory.reclaim of the program's own cgroup: madvise(2) alone leaves what it
 * wrote in the swap cache.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "uapi/fgio.h"

#define BYTES (4UL << 20)
#define LIMIT_S 8

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

static volatile unsigned char *memory;
static atomic_int tagged, may_read, ended;

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void *read_untagged(void *unused)
{
	(void)unused;
	(void)memory[0];
	return NULL;
}

static void *read_tagged(void *unused)
{
	struct fgio_tag tag = { .class = FGIO_TAG_FOREGROUND };
	int device = open("/dev/fgio", O_RDWR);
	double begin;

	(void)unused;
	if (device < 0 || ioctl(device, FGIO_IOC_SET_TAG, &tag))
		die("swapfault: cannot tag");
	tagged = 1;
	while (!may_read)
		usleep(1000);
	begin = now_ms();
	(void)memory[0];
	printf("%.0f\n", now_ms() - begin);
	ended = 1;
	return NULL;
}

static void swap_out(void)
{
	memset((void *)memory, 7, BYTES);
	if (madvise((void *)memory, BYTES, MADV_PAGEOUT))
		die("swapfault: madvise");
}

/* Until the kernel says that the page is not in memory. */
static void leave_swap_cache(const char *reclaim)
{
	int file = open(reclaim, O_WRONLY);
	unsigned char resident = 1;
	int tries;

	if (file < 0)
		die(reclaim);
	for (tries = 0; resident & 1 && tries < 200; tries++) {
		/* It fails when there is less than that. */
		(void)!write(file, "4M", 2);
		usleep(20000);
		if (mincore((void *)memory, 4096, &resident))
			die("swapfault: mincore");
	}
	if (resident & 1) {
		fprintf(stderr, "swapfault: the page stays\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	pthread_t first, second;
	int waited;

	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("swapfault: mmap");
	if (argc != 2)
		return 2;
	swap_out();
	if (!strcmp(argv[1], "out"))
		return 0;
	leave_swap_cache(argv[1]);
	/* Waits are followed when the tag is there. */
	pthread_create(&second, NULL, read_tagged, NULL);
	while (!tagged)
		usleep(1000);
	/* The test sets the fault that keeps the read queued meanwhile. */
	printf("out\n");
	fflush(stdout);
	getchar();
	pthread_create(&first, NULL, read_untagged, NULL);
	sleep(1);
	may_read = 1;
	for (waited = 0; !ended && waited < LIMIT_S * 10; waited++)
		usleep(100000);
	fflush(stdout);
	/* Stuck threads end when the test lets their read go. */
	_exit(!ended);
}
