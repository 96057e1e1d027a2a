// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Small durable writes beside any other load, and how long they take.
 *
 *	durable fsync|sync DIRECTORY SEED [foreground]
 *
 * Two threads each write 4 to 16 KiB every 50 ms and call fsync: one over a
 * file that exists, one at the end of a file that grows. With `sync`, a third
 * one calls syncfs every half second instead of both. A late thread leaves out
 * the writes that it missed. Another one counts dirty pages. Runs until killed.
 *
 * Prints, in microseconds of the wall clock and KiB:
 *
 *	overwrite|append|sync BEGIN END
 *	dirty TIME DIRTY_AND_WRITEBACK
 *
 * With `foreground`, the writing threads are foreground tasks.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lab/guest/program.h"

#define BLOCK 4096
#define BLOCKS_MAX 4
#define FILE_BLOCKS 4096
#define PERIOD_US 50000
#define SYNC_US 500000
#define LOOK_US 20000

static const char zeroes[BLOCK * BLOCKS_MAX];
static bool is_foreground;
static unsigned int seed;

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Until the next multiple of a period after an offset. */
static void sleep_until_next(uint64_t period_us, uint64_t offset_us)
{
	uint64_t next_us = (now_us() / period_us + 1) * period_us + offset_us;
	struct timespec next = {
		.tv_sec = next_us / 1000000,
		.tv_nsec = next_us % 1000000 * 1000,
	};

	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &next, NULL);
}

static void tag_thread(void)
{
	if (is_foreground)
		tag_foreground();
}

static int open_file(const char *name)
{
	int file = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (file < 0)
		stop(name);
	return file;
}

static void write_durably(int file, size_t bytes, off_t place)
{
	if (pwrite(file, zeroes, bytes, place) != (ssize_t)bytes || fsync(file))
		stop("write");
}

static void record(const char *what, uint64_t begin_us)
{
	printf("%s %llu %llu\n", what, (unsigned long long)begin_us,
	       (unsigned long long)now_us());
}

static void timed_write(const char *what, int file, size_t bytes, off_t place)
{
	uint64_t begin_us = now_us();

	write_durably(file, bytes, place);
	record(what, begin_us);
}

static void *overwrite(void *unused)
{
	int file = open_file("overwritten");
	unsigned int state = seed, block;

	for (block = 0; block < FILE_BLOCKS; block += BLOCKS_MAX)
		if (pwrite(file, zeroes, sizeof(zeroes), (off_t)block * BLOCK) < 0)
			stop("write");
	write_durably(file, BLOCK, 0);
	tag_thread();
	for (;;) {
		sleep_until_next(PERIOD_US, 0);
		block = rand_r(&state) % (FILE_BLOCKS - BLOCKS_MAX);
		timed_write("overwrite", file,
			    BLOCK * (1 + rand_r(&state) % BLOCKS_MAX),
			    (off_t)block * BLOCK);
	}
	return unused;
}

static void *append(void *unused)
{
	int file = open_file("appended");
	unsigned int state = seed + 1;
	off_t end = 0;
	size_t bytes;

	tag_thread();
	for (;;) {
		sleep_until_next(PERIOD_US, PERIOD_US / 2);
		bytes = BLOCK * (1 + rand_r(&state) % BLOCKS_MAX);
		timed_write("append", file, bytes, end);
		end += bytes;
	}
	return unused;
}

static void *sync_all(void *unused)
{
	int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t begin_us;

	tag_thread();
	for (;;) {
		sleep_until_next(SYNC_US, 0);
		begin_us = now_us();
		if (syncfs(folder))
			stop("syncfs");
		record("sync", begin_us);
	}
	return unused;
}

static unsigned long figure_of(const char *text, const char *name)
{
	const char *found = strstr(text, name);

	return found ? strtoul(found + strlen(name), NULL, 10) : 0;
}

static void look(int meminfo)
{
	char text[4096];
	ssize_t bytes = pread(meminfo, text, sizeof(text) - 1, 0);

	if (bytes < 0)
		stop("/proc/meminfo");
	text[bytes] = 0;
	printf("dirty %llu %lu\n", (unsigned long long)now_us(),
	       figure_of(text, "\nDirty:") + figure_of(text, "\nWriteback:"));
}

static void start(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		stop("pthread_create");
}

int main(int count, char **arguments)
{
	int meminfo = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);

	if (count < 4 || chdir(arguments[2]))
		return fprintf(stderr, "durable fsync|sync DIRECTORY SEED [foreground]\n"), 2;
	seed = atoi(arguments[3]);
	is_foreground = count > 4 && !strcmp(arguments[4], "foreground");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(arguments[1], "sync")) {
		start(sync_all);
	} else {
		start(overwrite);
		start(append);
	}
	for (;;) {
		look(meminfo);
		sleep_until_next(LOOK_US, 0);
	}
}
