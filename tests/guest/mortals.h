/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Processes that come and go until the program is killed, for tests in which
 * what the module looks at may be gone at any moment.
 */
#ifndef MORTALS_H
#define MORTALS_H

#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "uapi/fgio.h"

/* The module may be absent at the moment: it must not be held by an open file. */
static inline void try_to_tag(void)
{
	struct fgio_tag tag = { .class = FGIO_TAG_FOREGROUND };
	int file = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	if (file < 0)
		return;
	if (ioctl(file, FGIO_IOC_SET_TAG, &tag))
		err(1, "tag");
	close(file);
}

/**
 * struct mortals - the processes
 * @live_and_die: what each does; it does not return
 * @alive: their number at a time
 * @seeds: numbers that each takes, from the one that it is called with
 * @may_be_killed: a process may end by a signal, too
 */
struct mortals {
	void (*live_and_die)(unsigned int seed);
	unsigned int alive;
	unsigned int seeds;
	bool may_be_killed;
};

static inline bool died_well(const struct mortals *mortals, int status)
{
	return WIFEXITED(status) ? !WEXITSTATUS(status) :
				   mortals->may_be_killed && WIFSIGNALED(status);
}

/*
 * Begins with a line "seed N": $SEED, or a random number. The clock of a guest
 * begins at the same time in each boot.
 */
static inline void come_and_go(const struct mortals *mortals)
{
	const char *given = getenv("SEED");
	unsigned int alive = 0;
	unsigned int seed;
	int status;
	pid_t child;

	if (given)
		seed = strtoul(given, NULL, 10);
	else if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		err(1, "getrandom");
	printf("seed %u\n", seed);
	fflush(stdout);
	for (;; seed += mortals->seeds) {
		child = fork();
		if (child < 0)
			err(1, "fork");
		if (!child)
			mortals->live_and_die(seed);
		if (++alive < mortals->alive)
			continue;
		if (wait(&status) < 0)
			err(1, "wait");
		if (!died_well(mortals, status))
			errx(1, "a process ended with status %#x", status);
		alive--;
	}
}

#endif /* MORTALS_H */
