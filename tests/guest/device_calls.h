/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* For programs that call /dev/fgio and check its answers. */
#ifndef DEVICE_CALLS_H
#define DEVICE_CALLS_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "uapi/fgio.h"

#define FIRST_USER 65534

/* The open /dev/fgio. */
static int device;

#define CHECK(what, condition)                                            \
	do {                                                              \
		if (!(condition)) {                                       \
			printf("line %d: %s: %s is false (errno %s)\n",   \
			       __LINE__, what, #condition,                \
			       strerrorname_np(errno));                   \
			fflush(stdout);                                   \
			_exit(1);                                         \
		}                                                         \
	} while (0)

/* The call fails, and with this error. */
#define FAILS_WITH(error, call)                                           \
	do {                                                              \
		errno = 0;                                                \
		CHECK("must fail with " #error, (call) == -1);            \
		CHECK("must fail with " #error, errno == (error));        \
	} while (0)

static inline int set_tag(pid_t tid, __u32 class)
{
	struct fgio_tag tag = { .tid = tid, .class = class };

	return ioctl(device, FGIO_IOC_SET_TAG, &tag);
}

/* Return: the class, or -1. */
static inline int get_tag(pid_t tid)
{
	struct fgio_tag tag = { .tid = tid, .class = 77 };

	if (ioctl(device, FGIO_IOC_GET_TAG, &tag))
		return -1;
	CHECK("the thread id comes back as it was", tag.tid == tid);
	return (int)tag.class;
}

static inline struct fgio_info info(void)
{
	struct fgio_info info;

	memset(&info, 0xff, sizeof(info));
	CHECK("info", !ioctl(device, FGIO_IOC_INFO, &info));
	return info;
}

static inline void wait_for_tags(unsigned int wanted)
{
	int tries;

	for (tries = 0; tries < 1000 && info().tags != wanted; tries++)
		usleep(10000);
	CHECK("tags end with their threads", info().tags == wanted);
}

/*
 * Makes the caller, a child of parent, end with the thread that forked it. If that ended
 * before, no signal comes any more, and a waiting child would keep the module in use for
 * ever. A change of user id clears this: call become() before.
 */
static inline void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

/* Runs a function in a child and expects it to exit with a status. */
static inline void in_child(void (*function)(void), int status)
{
	int got;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		function();
		_exit(status);
	}
	CHECK("fork", child > 0);
	CHECK("wait", waitpid(child, &got, 0) == child);
	CHECK("the child succeeded", WIFEXITED(got) && WEXITSTATUS(got) == status);
}

/* A case of such a program: its name, and its number of arguments. */
struct device_case {
	const char *name;
	void (*function)(char **arguments);
	int arguments;
};

/* Runs the case that a command line names. Return: the program's exit status. */
static inline int run_case(const struct device_case *cases, size_t count,
			   int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < count; i++) {
		if (strcmp(argv[1], cases[i].name))
			continue;
		CHECK("number of arguments", argc - 2 == cases[i].arguments);
		cases[i].function(argv + 2);
		return 0;
	}
	fprintf(stderr, "%s: which case?\n", argv[0]);
	return 2;
}

#define RUN_CASE(cases, argc, argv) \
	run_case(cases, sizeof(cases) / sizeof((cases)[0]), argc, argv)

static inline void become(uid_t uid)
{
	CHECK("setgid", !setresgid(uid, uid, uid));
	CHECK("setuid", !setresuid(uid, uid, uid));
}

#endif
