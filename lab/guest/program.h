/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Shared by the programs of experiments. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "uapi/fgio.h"

/* Ends the program: a call failed, errno says why. */
static inline void stop(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(errno));
	exit(1);
}

/* The calling thread is a foreground task from now on. */
static inline void tag_foreground(void)
{
	struct fgio_tag tag = { .class = FGIO_TAG_FOREGROUND };
	int device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	if (device < 0 || ioctl(device, FGIO_IOC_SET_TAG, &tag))
		stop(FGIO_DEVICE_PATH);
	close(device);
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif /* PROGRAM_H */
