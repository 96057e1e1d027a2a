// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Locks and leases of files by processes that come and go, until it is killed:
 * file_locks FILE
 * Their threads, foreground or not, lock ranges and all of the file in each
 * way, share open files with children, and mostly end with locks held. Begins
 * with a line "seed N" (from $SEED, or random).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "mortals.h"

#define ALIVE 4
#define THREADS 2
#define OPERATIONS 6
#define BYTES 8
#define HELD_US 3000
/* A deadlock of flock ends with the process: it is killed after this time. */
#define LIFE_MS 100
#define NEED(condition) need(condition, #condition)

static const char *path;

static void need(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "file_locks: %s: %s\n", what, strerror(errno));
	_exit(1);
}

/*
 * Refused where it would be a deadlock of processes, and of a file that is open
 * for reading alone.
 */
static void lock_range(int file, int command, unsigned int *state)
{
	struct flock range = {
		.l_type = rand_r(state) % 3,
		.l_whence = rand_r(state) % 2 ? SEEK_SET : SEEK_END,
		.l_start = rand_r(state) % BYTES,
		.l_len = rand_r(state) % BYTES,
	};

	NEED(!fcntl(file, command, &range) || errno == EDEADLK ||
	     errno == EINTR || errno == EBADF || errno == EAGAIN);
}

/* Each may be refused; the sleep then counts as a wait for the lock. */
static void try_lock(int file, int operation, unsigned int *state)
{
	if (rand_r(state) % 2)
		NEED(!flock(file, operation | LOCK_NB) || errno == EWOULDBLOCK);
	else
		lock_range(file, rand_r(state) % 2 ? F_SETLK : F_OFD_SETLK,
			   state);
	usleep(rand_r(state) % HELD_US);
}

static void do_anything(int file, unsigned int *state)
{
	static const int operations[] = { LOCK_SH, LOCK_EX, LOCK_UN };

	switch (rand_r(state) % 8) {
	case 0:
	case 1:
		NEED(!flock(file, operations[rand_r(state) % 3]) ||
		     errno == EINTR);
		break;
	case 2:
		lock_range(file, F_SETLKW, state);
		break;
	case 3:
		lock_range(file, F_OFD_SETLKW, state);
		break;
	case 4:
		/* Refused while others have the file open for writing. */
		fcntl(file, F_SETLEASE, rand_r(state) % 2 ? F_RDLCK : F_UNLCK);
		break;
	case 5:
	case 6:
		try_lock(file, operations[rand_r(state) % 3], state);
		break;
	default:
		close(open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
		NEED(pread(file, (char[1]){ 0 }, 1, 0) >= 0);
		usleep(rand_r(state) % HELD_US);
	}
}

static void *live(void *argument)
{
	unsigned int state = (uintptr_t)argument, i;
	int file = open(path, (rand_r(&state) % 4 ? O_RDWR : O_RDONLY) |
				      O_NONBLOCK);

	/* Another process has a lease. */
	if (file < 0)
		return NULL;
	if (rand_r(&state) % 2)
		try_to_tag();
	for (i = 0; i < OPERATIONS; i++)
		do_anything(file, &state);
	if (rand_r(&state) % 4 == 0)
		_exit(0);
	if (rand_r(&state) % 2)
		close(file);
	return NULL;
}

/* In a child that has the parent's open files, too. */
static void share(unsigned int *state)
{
	int file = open(path, O_RDWR | O_NONBLOCK);
	pid_t child;

	if (file < 0)
		return;
	child = fork();
	NEED(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		do_anything(file, state);
		_exit(0);
	}
	if (rand_r(state) % 2)
		do_anything(file, state);
}

static void live_and_die(unsigned int seed)
{
	struct itimerspec life = { .it_value.tv_nsec = LIFE_MS * 1000000L };
	struct sigevent killed = { .sigev_notify = SIGEV_SIGNAL,
				   .sigev_signo = SIGKILL };
	pthread_t threads[THREADS];
	unsigned int state = seed, i;
	timer_t timer;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGIO, SIG_IGN);
	NEED(!timer_create(CLOCK_MONOTONIC, &killed, &timer));
	NEED(!timer_settime(timer, 0, &life, NULL));
	if (rand_r(&state) % 2)
		share(&state);
	for (i = 0; i < THREADS; i++)
		NEED(!pthread_create(&threads[i], NULL, live,
				     (void *)(uintptr_t)(seed + i)));
	for (i = 0; i < THREADS; i++)
		NEED(!pthread_join(threads[i], NULL));
	_exit(0);
}

int main(int argc, char **argv)
{
	const struct mortals mortals = {
		.live_and_die = live_and_die,
		.alive = ALIVE,
		.seeds = THREADS,
		.may_be_killed = true,
	};

	NEED(argc == 2);
	path = argv[1];
	come_and_go(&mortals);
}
