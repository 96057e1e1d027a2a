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

#include "lab/guest/program.h"

#define ROUNDS 100
#define ROUND_MS 10
#define READS_MS 5
#define BLOCK 4096
#define BLOCKS 256

/* Or ends the program. */
#define NEED(condition)                   \
	do {                              \
		if (!(condition))         \
			stop(#condition); \
	} while (0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int device, disk, question[2], answer[2];
static int watch, watched;
static bool reads;

static void send_byte(int file)
{
	NEED(write(file, "", 1) == 1);
}

static void take_byte(int file)
{
	char byte;

	NEED(read(file, &byte, 1) == 1);
}

static void read_for_a_while(void)
{
	static char block[BLOCK] __attribute__((aligned(BLOCK)));
	uint64_t until = now_ns() + READS_MS * 1000000;
	unsigned int seed = until;

	while (reads && now_ns() < until)
		NEED(pread(disk, block, BLOCK,
			   (off_t)(rand_r(&seed) % BLOCKS) * BLOCK) == BLOCK);
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
		NEED(read(watch, event, sizeof(event)) > 0);
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
	usleep((READS_MS + 1) * 1000);
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

	NEED(!ioctl(device, FGIO_IOC_STATE, &state));
	return state.boosts;
}

static void await_message(void)
{
	struct pollfd wanted = { .fd = answer[0], .events = POLLIN };

	NEED(!poll(&wanted, 1, ROUND_MS));
}

static void *be_foreground(void *argument)
{
	int round;

	tag_foreground();
	for (round = 0; round < ROUNDS; round++) {
		wake(argument);
		await_message();
	}
	return NULL;
}

static void begin(void *(*run)(void *), void *argument, pthread_t *thread)
{
	NEED(!pthread_create(thread, NULL, run, argument));
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
	NEED(device >= 0 && disk >= 0);
	NEED(!pipe(question) && !pipe(answer));
	watched = open("watched", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	watch = inotify_init1(IN_CLOEXEC);
	NEED(watched >= 0 && watch >= 0);
	NEED(inotify_add_watch(watch, "watched", IN_MODIFY) >= 0);
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
