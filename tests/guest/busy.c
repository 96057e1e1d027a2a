// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A busy system: busy SECONDS
 *
 * 200 background threads take locks, append to shared files and sync their own.
 * A few foreground threads share some locks with some of them, and sync as
 * well; others ask servers, further background threads, for what takes an I/O,
 * and sleep for the reply. Prints the boosts granted meanwhile, in microseconds of boosted task
 * time, and the part of it that served no wait:
 *
 *	boosted US in_vain US boosts N left N
 *
 * Files are in the current folder.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "lab/guest/loopback.h"
#include "uapi/fgio.h"

#define LOCKERS 80
#define APPENDERS 60
#define SYNCERS 60
#define FOREGROUND 4
#define CLIENTS 4
#define SERVERS 8
/* Foreground threads take the last few locks as well. */
#define LOCKS 30
#define SHARED_LOCKS 4
#define SHARED_FILES 10
#define BLOCK 4096

static pthread_mutex_t locks[LOCKS];
static _Atomic bool over;
static int device;

static void check(bool condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	_exit(1);
}

static void pause_us(unsigned int us)
{
	struct timespec time = { .tv_sec = us / 1000000,
				 .tv_nsec = us % 1000000 * 1000 };

	nanosleep(&time, NULL);
}

static int open_numbered(const char *kind, unsigned int number, int flags)
{
	char name[32];
	int file;

	snprintf(name, sizeof(name), "%s%u", kind, number);
	file = open(name, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600);
	check(file >= 0, name);
	return file;
}

static void write_block(int file, unsigned int number)
{
	static char block[BLOCK] __attribute__((aligned(BLOCK)));

	check(pwrite(file, block, BLOCK, (off_t)number * BLOCK) == BLOCK,
	      "pwrite");
}

static void *locker(void *argument)
{
	unsigned int number = (uintptr_t)argument, seed = number;
	int file = open_numbered("locker", number, O_DIRECT);

	while (!over) {
		pthread_mutex_t *lock = &locks[rand_r(&seed) % LOCKS];

		pthread_mutex_lock(lock);
		write_block(file, rand_r(&seed) % 16);
		pthread_mutex_unlock(lock);
		pause_us(20000 + rand_r(&seed) % 60000);
	}
	return NULL;
}

static void *appender(void *argument)
{
	unsigned int number = (uintptr_t)argument, seed = number, block = 0;
	int file = open_numbered("shared", number % SHARED_FILES, 0);

	while (!over) {
		write_block(file, number / SHARED_FILES * 256 + block++ % 256);
		pause_us(5000 + rand_r(&seed) % 20000);
	}
	return NULL;
}

static void *syncer(void *argument)
{
	unsigned int number = (uintptr_t)argument, seed = number;
	int file = open_numbered("syncer", number, 0);

	while (!over) {
		write_block(file, rand_r(&seed) % 64);
		fsync(file);
		pause_us(20000 + rand_r(&seed) % 100000);
	}
	return NULL;
}

static void *foreground(void *argument)
{
	struct fgio_tag tag = { .tid = 0, .class = FGIO_TAG_FOREGROUND };
	unsigned int number = (uintptr_t)argument, seed = number;
	int file = open_numbered("foreground", number, 0);

	check(!ioctl(device, FGIO_IOC_SET_TAG, &tag), "tag");
	while (!over) {
		pthread_mutex_t *lock =
			&locks[LOCKS - 1 - rand_r(&seed) % SHARED_LOCKS];

		pthread_mutex_lock(lock);
		pthread_mutex_unlock(lock);
		write_block(file, rand_r(&seed) % 64);
		if (rand_r(&seed) % 4 == 0)
			fdatasync(file);
		pause_us(5000 + rand_r(&seed) % 10000);
	}
	return NULL;
}

/* Requests are numbers of clients; this one ends the server. */
#define LAST CLIENTS

static int requests[SERVERS][2];
static int replies[CLIENTS][2];

static void send_byte(int file, unsigned char byte)
{
	check(write(file, &byte, 1) == 1, "write");
}

static unsigned char receive_byte(int file)
{
	unsigned char byte;

	check(read(file, &byte, 1) == 1, "read");
	return byte;
}

static void *server(void *argument)
{
	unsigned int number = (uintptr_t)argument, seed = number;
	int file = open_numbered("server", number, 0);
	unsigned char client;

	while ((client = receive_byte(requests[number][0])) != LAST) {
		write_block(file, rand_r(&seed) % 64);
		fdatasync(file);
		send_byte(replies[client][1], client);
	}
	return NULL;
}

static void *client(void *argument)
{
	struct fgio_tag tag = { .tid = 0, .class = FGIO_TAG_FOREGROUND };
	unsigned int number = (uintptr_t)argument, seed = number;

	check(!ioctl(device, FGIO_IOC_SET_TAG, &tag), "tag");
	while (!over) {
		send_byte(requests[rand_r(&seed) % SERVERS][1], number);
		receive_byte(replies[number][0]);
		pause_us(5000 + rand_r(&seed) % 50000);
	}
	return NULL;
}

/* Half of the clients are told over TCP. */
static void open_channels(void)
{
	unsigned int i;

	for (i = 0; i < SERVERS; i++)
		check(!pipe(requests[i]), "pipe");
	for (i = 0; i < CLIENTS; i++)
		if (i % 2)
			loopback_connect(replies[i]);
		else
			check(!pipe(replies[i]), "pipe");
}

static pthread_t begin(void *(*function)(void *), unsigned int number)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	check(!pthread_create(&thread, &attributes, function,
			      (void *)(uintptr_t)number),
	      "pthread_create");
	pthread_attr_destroy(&attributes);
	return thread;
}

static struct fgio_state state(void)
{
	struct fgio_state now = { 0 };

	check(!ioctl(device, FGIO_IOC_STATE, &now), "state");
	return now;
}

int main(int argc, char **argv)
{
	static const struct {
		void *(*function)(void *);
		unsigned int count;
	} kinds[] = { { locker, LOCKERS },
		      { appender, APPENDERS },
		      { syncer, SYNCERS },
		      { foreground, FOREGROUND },
		      { client, CLIENTS },
		      { server, SERVERS } };
	pthread_t threads[LOCKERS + APPENDERS + SYNCERS + FOREGROUND +
			  CLIENTS + SERVERS];
	struct fgio_state before, after;
	unsigned int kind, i, count = 0;

	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	check(device >= 0, FGIO_DEVICE_PATH);
	for (i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	open_channels();
	before = state();
	for (kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
		for (i = 0; i < kinds[kind].count; i++)
			threads[count++] = begin(kinds[kind].function, i);
	pause_us(1000000 * (argc > 1 ? atoi(argv[1]) : 5));
	over = true;
	for (i = 0; i < count - SERVERS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < SERVERS; i++)
		send_byte(requests[i][1], LAST);
	for (i = count - SERVERS; i < count; i++)
		pthread_join(threads[i], NULL);
	/* Two walks: the boosts of the last wait are over. */
	pause_us(10000);
	after = state();
	printf("boosted %llu in_vain %llu boosts %llu left %u\n",
	       (after.boosted_ns - before.boosted_ns) / 1000,
	       (after.boosted_in_vain_ns - before.boosted_in_vain_ns) / 1000,
	       after.boosts - before.boosts, after.boosted);
	return 0;
}
