// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Dirty pages: background writers fill the cache, the foreground waits for room in it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <fcntl.h>
#include <unistd.h>

#include "scenario.h"

/* All fillers together: far beyond the kernel's dirty limit. */
#define PAGES_FILLED 16384
#define PAGES_HELD 512
#define PAGES_WRITTEN 1024
#define PAGES_AT_ONCE 64

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int file;

static void prepare_held(void)
{
	file = written_file("file", PAGES_HELD * rounds());
}

static void prepare_written(void)
{
	file = written_file("file", PAGES_WRITTEN * rounds());
}

static void write_pages(int fd, unsigned int from, unsigned int pages)
{
	size_t bytes = (size_t)pages * BLOCK;

	NEED(pwrite(fd, buffer(bytes), bytes, (off_t)from * BLOCK) ==
	     (ssize_t)bytes);
}

/* Writes as fast as it may, over and over. */
static void fill(unsigned int number)
{
	unsigned int page;
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "filler%u", number);
	fd = open_file(name, O_RDWR);
	for (page = 0;; page = (page + PAGES_AT_ONCE) % PAGES_FILLED)
		write_pages(fd, page, PAGES_AT_ONCE);
}

static void hold_and_write(unsigned int round)
{
	NEED(!pthread_mutex_lock(&mutex));
	about_to_wait();
	write_pages(file, round * PAGES_HELD, PAGES_HELD);
	NEED(!pthread_mutex_unlock(&mutex));
}

static void take(unsigned int round)
{
	(void)round;
	NEED(!pthread_mutex_lock(&mutex));
	NEED(!pthread_mutex_unlock(&mutex));
}

static void write_some(unsigned int round)
{
	write_pages(file, round * PAGES_WRITTEN, PAGES_WRITTEN);
}

const struct scenario cache_scenarios[] = {
	{
		.name = "dirty-limit-holder",
		.group = "file",
		.title = "the holder of a mutex is parked at the dirty limit",
		.off = "boost",
		.rounds = 4,
		.settle_ms = 300,
		.prepare = prepare_held,
		.load = fill,
		.loads = 1,
		.background = { hold_and_write },
		.foreground = take,
	},
	{
		.name = "page-cache",
		.group = "cache",
		.title = "writing, while others fill the page cache",
		.off = "boost,pagecache",
		.flood = FLOOD_NONE,
		.rounds = 6,
		.settle_ms = 1000,
		.prepare = prepare_written,
		.load = fill,
		.loads = 6,
		.foreground = write_some,
	},
	{ 0 },
};
