// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Processes and threads that come and go, at a rate.
 *
 *	churn start RATE SECONDS PROGRAM [ARGUMENT...]
 *	churn fork RATE SECONDS RECORD TITLE
 *	churn thread RATE SECONDS RECORD NAME
 *	churn watch RECORD
 *	churn
 *
 * start	executes PROGRAM by vfork and exec
 * fork		starts children, each of which makes TITLE of its arguments 0 to
 *		40 ms later, as servers do that fork for each client
 * thread	starts threads, each of which calls itself NAME
 * watch	does the following, from the begin of main()
 *
 * Without arguments it ends at once. Each child, each thread and `watch` look
 * at their own tag from when their title or name can be seen, and end when they
 * are foreground, or after a second. RECORD gets a line of each: when that was
 * (us of the monotonic clock), and how long it took (ns; -1: not in a second).
 *
 * Starts are due at equal intervals; late ones are made up for. start, fork
 * and thread print "STARTS NANOSECONDS LATEST", LATEST being how late the latest
 * was, in ns.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "lab/guest/program.h"

#define NS_PER_S 1000000000ULL
#define NS_PER_MS 1000000ULL
#define LOOK_NS 200000
#define PATIENCE_NS NS_PER_S
#define TITLE_DELAYS_MS 41

static int device = -1, record = -1;
static char **arguments;
static int argument_count;

static void sleep_until(uint64_t due_ns)
{
	struct timespec due = { due_ns / NS_PER_S, due_ns % NS_PER_S };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL))
		;
}

static void open_files(const char *path)
{
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (device < 0)
		stop(FGIO_DEVICE_PATH);
	record = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (record < 0)
		stop(path);
}

static int is_foreground(void)
{
	struct fgio_tag tag = {};

	if (ioctl(device, FGIO_IOC_GET_TAG, &tag))
		stop(FGIO_DEVICE_PATH);
	return tag.class == FGIO_TAG_FOREGROUND;
}

/* Notes how long it takes from `since` until the calling thread is foreground. */
static void watch(uint64_t since)
{
	int64_t took = -1;
	uint64_t now;

	for (now = since; now < since + PATIENCE_NS; now = now_ns()) {
		if (is_foreground()) {
			took = now_ns() - since;
			break;
		}
		sleep_until(now + LOOK_NS);
	}
	dprintf(record, "%llu %lld\n", (unsigned long long)(now_ns() / 1000),
		(long long)took);
}

/* One more start; `nth` counts them. */
typedef void (*start_fn)(unsigned int nth);

static void repeat(start_fn start, unsigned int rate, unsigned int seconds)
{
	uint64_t begin = now_ns(), latest = 0;
	unsigned int nth;

	for (nth = 0; nth < rate * seconds; nth++) {
		uint64_t due = begin + nth * NS_PER_S / rate, late;

		sleep_until(due);
		late = now_ns() - due;
		if (late > latest)
			latest = late;
		start(nth);
	}
	printf("%u %llu %llu\n", nth, (unsigned long long)(now_ns() - begin),
	       (unsigned long long)latest);
}

static void start_program(unsigned int nth)
{
	pid_t pid;

	(void)nth;
	errno = posix_spawn(&pid, arguments[4], NULL, NULL, arguments + 4, environ);
	if (errno)
		stop(arguments[4]);
}

/* The title is no longer than the arguments, which it is one of. */
static void set_title(const char *title)
{
	char *begin = arguments[0], *last = arguments[argument_count - 1];
	size_t room = last + strlen(last) - begin;
	char text[256];

	snprintf(text, sizeof(text), "%s", title);
	memset(begin, 0, room);
	memcpy(begin, text, strlen(text));
}

static void start_child(unsigned int nth)
{
	pid_t pid = fork();

	if (pid < 0)
		stop("fork");
	if (pid)
		return;
	sleep_until(now_ns() + nth * 7 % TITLE_DELAYS_MS * NS_PER_MS);
	set_title(arguments[5]);
	watch(now_ns());
	_exit(0);
}

static void *be_thread(void *unused)
{
	prctl(PR_SET_NAME, arguments[5]);
	watch(now_ns());
	return unused;
}

static void start_thread(unsigned int nth)
{
	pthread_t thread;

	(void)nth;
	errno = pthread_create(&thread, NULL, be_thread, NULL);
	if (errno)
		stop("pthread_create");
	pthread_detach(thread);
}

static int usage(void)
{
	fprintf(stderr, "churn start RATE SECONDS PROGRAM [ARGUMENT...]\n"
			"churn fork RATE SECONDS RECORD TITLE\n"
			"churn thread RATE SECONDS RECORD NAME\n"
			"churn watch RECORD\n");
	return 2;
}

int main(int count, char **values)
{
	uint64_t begin = now_ns();
	const char *what = count > 1 ? values[1] : "";
	start_fn start = NULL;

	if (count == 1)
		return 0;
	arguments = values;
	argument_count = count;
	if (count == 3 && !strcmp(what, "watch")) {
		open_files(values[2]);
		watch(begin);
		return 0;
	}
	if (count >= 5 && !strcmp(what, "start"))
		start = start_program;
	else if (count == 6 && !strcmp(what, "fork"))
		start = start_child;
	else if (count == 6 && !strcmp(what, "thread"))
		start = start_thread;
	if (!start)
		return usage();
	if (start != start_program)
		open_files(values[4]);
	/* Children leave nothing to be waited for. */
	signal(SIGCHLD, SIG_IGN);
	repeat(start, atoi(values[2]), atoi(values[3]));
	/* The last threads are still at it. */
	sleep_until(now_ns() + 2 * PATIENCE_NS);
	return 0;
}
