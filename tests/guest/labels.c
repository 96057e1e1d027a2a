// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Prints the threads that have a class now: a line "TID foreground|background" each.
 *
 *	labels [MS]	every MS milliseconds, until SIGTERM
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "uapi/fgio.h"

#define CAPACITY 4096

static volatile sig_atomic_t ends;

static void end(int signal)
{
	(void)signal;
	ends = 1;
}

static void print(int device)
{
	static struct fgio_tag tags[CAPACITY];
	struct fgio_tag_list list = { .tags = (uintptr_t)tags, .capacity = CAPACITY };

	if (ioctl(device, FGIO_IOC_LIST_TAGS, &list)) {
		perror("labels: the threads that have a class");
		exit(1);
	}
	for (__u32 i = 0; i < list.count && i < CAPACITY; i++)
		printf("%d %s\n", tags[i].tid,
		       tags[i].class == FGIO_TAG_FOREGROUND ? "foreground" : "background");
}

int main(int count, char **words)
{
	int device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	if (device < 0) {
		perror("labels: " FGIO_DEVICE_PATH);
		return 1;
	}
	signal(SIGTERM, end);
	print(device);
	while (count > 1 && !ends) {
		usleep(atoi(words[1]) * 1000);
		print(device);
	}
	return 0;
}
