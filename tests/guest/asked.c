// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Which threads count as asked: asked OTHER
 *
 * A foreground thread wakes another one in each of 100 rounds, and then sleeps for
 * a message that does not come within 10 ms. The one that it woke:
 *
 *	server	reads from the disk for half as long: it may be what answers
 *	logger	takes a line from a pipe, and sleeps for the next one
 *	watcher	is told that a file was written (inotify), and reads as the server
 *	lock	waited for a mutex, which it has now, and reads as the server
 *
 * Prints the boosts that were granted meanwhile:
 *
 *	boosts N
 *
 * The disk is DISK of the environment, and its begin is read.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "uapi/fgio.h"

#define ROUNDS 100
#define ROUND_MS 10
#define READS_MS 5
#define BLOCK 4096
#define BLOCKS 256

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int device, disk, question[2], answer[2];
static int watch, watched;
static bool reads;

static void check(bool condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	_exit(1);
}

static void pause_us(unsigned int us)
{
	struct timespec time = { .tv_nsec = us * 1000L };

	nanosleep(&time, NULL);
}

static void send_byte(int file)
{
	check(write(file, "", 1) == 1, "write");
}

static void take_byte(int file)
{
	char byte;

	check(read(file, &byte, 1) == 1, "read");
}

static uint64_t now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000ULL + time.tv_nsec / 1000;
}

static void read_for_a_while(void)
{
	static char block[BLOCK] __attribute__((aligned(BLOCK)));
	uint64_t until = now_us() + READS_MS * 1000;
	unsigned int seed = until;

	while (reads && now_us() < until)
		check(pread(disk, block, BLOCK,
			    (off_t)(rand_r(&seed) % BLOCKS) * BLOCK) == BLOCK,
		      "pread");
}

static void *serve(void *argument)
{
	(void)argument;
	for (;;) {
		take_byte(question[0]);
		read_for_a_while();
	}
	return NULL;
}

static void *watch_file(void *argument)
{
	char event[BLOCK];

	(void)argument;
	for (;;) {
		check(read(watch, event, sizeof(event)) > 0, "inotify");
		read_for_a_while();
	}
	return NULL;
}

static void *lock(void *argument)
{
	(void)argument;
	for (;;) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		read_for_a_while();
	}
	return NULL;
}

/* The other one sleeps for the mutex by then. */
static void let_lock(void)
{
	pthread_mutex_lock(&mutex);
	pause_us((READS_MS + 1) * 1000);
	pthread_mutex_unlock(&mutex);
}

static void wake(const char *who)
{
	if (!strcmp(who, "watcher"))
		send_byte(watched);
	else if (!strcmp(who, "lock"))
		let_lock();
	else
		send_byte(question[1]);
}

static uint64_t boosts(void)
{
	struct fgio_state state;

	check(!ioctl(device, FGIO_IOC_STATE, &state), "state");
	return state.boosts;
}

static void await_message(void)
{
	struct pollfd wanted = { .fd = answer[0], .events = POLLIN };

	check(!poll(&wanted, 1, ROUND_MS), "poll");
}

static void *be_foreground(void *argument)
{
	struct fgio_tag tag = { .tid = 0, .class = FGIO_TAG_FOREGROUND };
	int round;

	check(!ioctl(device, FGIO_IOC_SET_TAG, &tag), "tag");
	for (round = 0; round < ROUNDS; round++) {
		wake(argument);
		await_message();
	}
	return NULL;
}

static void begin(void *(*run)(void *), void *argument, pthread_t *thread)
{
	check(!pthread_create(thread, NULL, run, argument), "thread");
}

static void begin_one(const char *who)
{
	pthread_t thread;

	reads = strcmp(who, "logger");
	if (!strcmp(who, "watcher"))
		begin(watch_file, NULL, &thread);
	else if (!strcmp(who, "lock"))
		begin(lock, NULL, &thread);
	else
		begin(serve, NULL, &thread);
}

static void open_files(void)
{
	device = open("/dev/fgio", O_RDWR | O_CLOEXEC);
	disk = open(getenv("DISK"), O_RDONLY | O_DIRECT | O_CLOEXEC);
	check(device >= 0 && disk >= 0, "open");
	check(!pipe(question) && !pipe(answer), "pipe");
	watched = open("watched", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	watch = inotify_init1(IN_CLOEXEC);
	check(watched >= 0 && watch >= 0 &&
		      inotify_add_watch(watch, "watched", IN_MODIFY) >= 0,
	      "watch");
}

int main(int count, char **arguments)
{
	pthread_t thread;
	uint64_t before;

	if (count != 2) {
		fprintf(stderr, "asked: one of server, logger, watcher, lock\n");
		return 2;
	}
	open_files();
	begin_one(arguments[1]);
	before = boosts();
	begin(be_foreground, arguments[1], &thread);
	pthread_join(thread, NULL);
	printf("boosts %llu\n", (unsigned long long)(boosts() - before));
	return 0;
}
