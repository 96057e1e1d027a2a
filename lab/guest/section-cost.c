// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Cost of declaring the begin and the end of a request: time for each pair.
 *
 *	section-cost nothing|section|request|tag|ioprio PAIRS
 *
 * nothing	the loop alone
 * section	fgio_foreground_begin() and fgio_foreground_end()
 * request	fgio_request_begin() and fgio_request_end()
 * tag		FGIO_IOC_SET_TAG, twice
 * ioprio	ioprio_set(2), twice
 *
 * Prints "PAIRS NANOSECONDS". The first pair, which sets the thread up, is not
 * counted.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lab/guest/program.h"
#include "lib/include/fgio.h"

#define BEST_EFFORT_0 (2 << 13)
#define BEST_EFFORT_4 (2 << 13 | 4)

static int device = -1;

static void nothing(uint64_t pair)
{
	__asm__ volatile("" : : "r"(pair));
}

static void section(uint64_t pair)
{
	(void)pair;
	fgio_foreground_begin();
	fgio_foreground_end();
}

static void request(uint64_t pair)
{
	fgio_request_begin(pair);
	fgio_request_end();
}

static void set_tag(uint32_t class)
{
	struct fgio_tag tag = { .class = class };

	if (ioctl(device, FGIO_IOC_SET_TAG, &tag))
		stop(FGIO_DEVICE_PATH);
}

static void tag(uint64_t pair)
{
	(void)pair;
	set_tag(FGIO_TAG_FOREGROUND);
	set_tag(FGIO_TAG_NONE);
}

static void ioprio(uint64_t pair)
{
	(void)pair;
	if (syscall(SYS_ioprio_set, 1, 0, BEST_EFFORT_0) ||
	    syscall(SYS_ioprio_set, 1, 0, BEST_EFFORT_4))
		stop("ioprio_set");
}

static const struct {
	const char *name;
	void (*function)(uint64_t pair);
} ways[] = {
	{ "nothing", nothing }, { "section", section }, { "request", request },
	{ "tag", tag },		{ "ioprio", ioprio },
};

static void measure(void (*function)(uint64_t pair), uint64_t pairs)
{
	uint64_t begin, pair;

	function(0);
	begin = now_ns();
	for (pair = 1; pair <= pairs; pair++)
		function(pair);
	printf("%llu %llu\n", (unsigned long long)pairs,
	       (unsigned long long)(now_ns() - begin));
}

int main(int argc, char **argv)
{
	unsigned int i;

	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	for (i = 0; argc == 3 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name))
			continue;
		measure(ways[i].function, strtoull(argv[2], NULL, 10));
		return 0;
	}
	fprintf(stderr, "section-cost: how, and how often?\n");
	return 2;
}
