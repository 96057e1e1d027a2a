// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Locks and leases of files, held across an I/O by other files or processes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

#define OFF "boost,file_locks"
#define NAME "lock"
#define RETRY_US 500

/* Of each thread, opened when it first needs it: a lock belongs to it. */
static int own_file(void)
{
	static __thread int file = -1;

	if (file < 0)
		file = open_file(NAME, O_RDWR);
	return file;
}

static void lock_file(int operation)
{
	while (flock(own_file(), operation))
		NEED(errno == EINTR);
}

static void hold(int operation, unsigned int place)
{
	lock_file(operation);
	read_disk(place);
	lock_file(LOCK_UN);
}

static void hold_flock(unsigned int round)
{
	hold(LOCK_EX, round);
}

static void hold_shared(unsigned int round)
{
	hold(LOCK_SH, 2 * round);
}

static void hold_shared_too(unsigned int round)
{
	hold(LOCK_SH, 2 * round + 1);
}

static void take_flock(unsigned int round)
{
	(void)round;
	lock_file(LOCK_EX);
	lock_file(LOCK_UN);
}

/* As a shell with flock(1): a child locks the file, and ends. */
static void hold_inherited(unsigned int round)
{
	pid_t child;

	own_file();
	child = fork();
	NEED(child >= 0);
	if (!child) {
		lock_file(LOCK_EX);
		_exit(0);
	}
	while (waitpid(child, NULL, 0) < 0)
		NEED(errno == EINTR);
	read_disk(round);
	lock_file(LOCK_UN);
}

static void try_flock(unsigned int round)
{
	(void)round;
	while (flock(own_file(), LOCK_EX | LOCK_NB)) {
		NEED(errno == EWOULDBLOCK);
		pause_us(RETRY_US);
	}
	lock_file(LOCK_UN);
}

static void set_range(int command, int type, off_t begin, off_t length)
{
	struct flock range = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = begin,
		.l_len = length,
	};

	while (fcntl(own_file(), command, &range))
		NEED(errno == EINTR);
}

static void hold_range(unsigned int round)
{
	set_range(F_SETLKW, F_WRLCK, 100, 10);
	read_disk(round);
	set_range(F_SETLKW, F_UNLCK, 100, 10);
}

static void take_range(unsigned int round)
{
	(void)round;
	set_range(F_SETLKW, F_WRLCK, 105, 100);
	set_range(F_SETLKW, F_UNLCK, 105, 100);
}

/* As SQLite: the range is tried again after a while. */
static void try_range(unsigned int round)
{
	struct flock range = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = 105,
		.l_len = 100,
	};

	(void)round;
	while (fcntl(own_file(), F_SETLK, &range)) {
		NEED(errno == EAGAIN || errno == EACCES);
		pause_us(RETRY_US);
	}
	set_range(F_SETLKW, F_UNLCK, 105, 100);
}

static void hold_open_range(unsigned int round)
{
	set_range(F_OFD_SETLKW, F_WRLCK, 100, 10);
	read_disk(round);
	set_range(F_OFD_SETLKW, F_UNLCK, 100, 10);
}

static void take_open_range(unsigned int round)
{
	(void)round;
	set_range(F_OFD_SETLKW, F_RDLCK, 105, 100);
	set_range(F_OFD_SETLKW, F_UNLCK, 105, 100);
}

/* The second process holds a lock, too, and waits for that of the first. */
static void hold_second(unsigned int round)
{
	(void)round;
	set_range(F_SETLKW, F_WRLCK, 300, 1);
	about_to_wait();
	set_range(F_SETLKW, F_WRLCK, 100, 1);
	set_range(F_SETLKW, F_UNLCK, 0, 0);
}

static void take_second(unsigned int round)
{
	(void)round;
	set_range(F_SETLKW, F_WRLCK, 300, 1);
	set_range(F_SETLKW, F_UNLCK, 0, 0);
}

/* The kernel sends SIGIO to the holder of a lease that another open breaks. */
static void hold_lease(unsigned int round)
{
	sigset_t signals;
	int file = open_file(NAME, O_RDONLY);

	sigemptyset(&signals);
	sigaddset(&signals, SIGIO);
	NEED(!sigprocmask(SIG_BLOCK, &signals, NULL));
	NEED(!fcntl(file, F_SETLEASE, F_RDLCK));
	about_to_wait();
	while (sigwaitinfo(&signals, NULL) < 0)
		NEED(errno == EINTR);
	read_disk(round);
	NEED(!fcntl(file, F_SETLEASE, F_UNLCK));
	close(file);
}

static void break_lease(unsigned int round)
{
	(void)round;
	close(open_file(NAME, O_WRONLY));
}

#define LOCK(_name, _title, _foreground, ...)                             \
	{                                                                 \
		.name = _name, .group = "file-locks", .title = _title,    \
		.off = OFF, .processes = true,                            \
		.foreground = _foreground, .background = { __VA_ARGS__ }, \
	}

const struct scenario file_lock_scenarios[] = {
	LOCK("flock", "flock, held across a read", take_flock, hold_flock),
	LOCK("flock-shared", "flock, shared by two processes that read",
	     take_flock, hold_shared, hold_shared_too),
	LOCK("flock-inherited",
	     "flock, taken by a child that has ended, as flock(1) does",
	     take_flock, hold_inherited),
	{
		.name = "flock-threads",
		.group = "file-locks",
		.title = "flock, held by another thread of the process",
		.off = OFF,
		.background = { hold_flock },
		.foreground = take_flock,
	},
	LOCK("posix-lock", "POSIX lock of a range, held across a read",
	     take_range, hold_range),
	LOCK("posix-lock-chain",
	     "POSIX lock, held by a process that waits for another",
	     take_second, hold_range, hold_second),
	LOCK("ofd-lock", "lock of an open file, held across a read",
	     take_open_range, hold_open_range),
	LOCK("flock-retried", "flock, tried again until the holder has read",
	     try_flock, hold_flock),
	LOCK("posix-lock-retried",
	     "POSIX lock of a range, tried again, as SQLite does", try_range,
	     hold_range),
	LOCK("lease", "lease of a file, given up after a read", break_lease,
	     hold_lease),
	{ 0 },
};
