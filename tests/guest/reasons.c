// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Lets a foreground thread wait, and prints what fgio says of it:
 *	reasons WAIT DISK	"REASON N" lines, N of the ROUNDS waits
 *
 *	io		a mutex; its holder reads the disk
 *	running		a mutex; its holder computes
 *	asleep		a mutex; its holder sleeps
 *	unseen		a mutex; its holder waits in vfork(2) for its child
 *	chain		a mutex; its holder waits for a mutex, whose holder reads
 *	condition	a futex that no task wakes
 *	page		a page of the disk that another thread reads
 *	read		a read of its own
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "uapi/fgio.h"

#define ROUNDS 8
#define HELD_MS 40
#define BLOCK 4096
/* Far apart, so that no read is ahead of another one. */
#define STRIDE (256 * BLOCK)
/* Waits that are blamed are longer than this. */
#define LONG_NS 10000000
#define ENTRIES 4096

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static int direct, cached;
static _Atomic int held;
static unsigned int place;

static void pause_ms(unsigned int ms)
{
	struct timespec time = { .tv_nsec = ms * 1000000L };

	nanosleep(&time, NULL);
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void read_block(int file)
{
	static __thread void *buffer;

	if (!buffer && posix_memalign(&buffer, BLOCK, BLOCK))
		err(1, "memory");
	if (pread(file, buffer, BLOCK, (off_t)place * STRIDE) != BLOCK)
		err(1, "read");
}

static void compute(void)
{
	uint64_t end = now_ns() + HELD_MS * 1000000ULL;

	while (now_ns() < end)
		;
}

static void wait_for_child(void)
{
	pid_t pid = vfork();

	if (!pid) {
		struct timespec time = { .tv_nsec = HELD_MS * 1000000L };

		syscall(SYS_nanosleep, &time, NULL);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		err(1, "vfork");
}

static void hold(const char *what)
{
	if (!strcmp(what, "io"))
		read_block(direct);
	else if (!strcmp(what, "running"))
		compute();
	else if (!strcmp(what, "asleep"))
		pause_ms(HELD_MS);
	else if (!strcmp(what, "unseen"))
		wait_for_child();
	else if (!strcmp(what, "chain")) {
		pthread_mutex_lock(&inner);
		pthread_mutex_unlock(&inner);
	} else if (!strcmp(what, "page"))
		read_block(cached);
}

static void *hold_inner(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&inner);
	held++;
	read_block(direct);
	pthread_mutex_unlock(&inner);
	return NULL;
}

static void *hold_mutex(void *what)
{
	pthread_mutex_lock(&mutex);
	held++;
	hold(what);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void start(pthread_t *thread, void *(*function)(void *), void *argument)
{
	int before = held;

	if (pthread_create(thread, NULL, function, argument))
		err(1, "thread");
	while (held == before)
		pause_ms(1);
}

static void wait_once(const char *what)
{
	struct timespec limit = { .tv_nsec = HELD_MS * 1000000L };

	if (!strcmp(what, "condition")) {
		static uint32_t word = 5;

		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, word, &limit,
			NULL, 0);
		return;
	}
	if (!strcmp(what, "page") || !strcmp(what, "read")) {
		read_block(!strcmp(what, "page") ? cached : direct);
		return;
	}
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void one_round(char *what)
{
	bool is_chain = !strcmp(what, "chain");
	bool has_holder = strcmp(what, "condition") && strcmp(what, "read");
	pthread_t holder, other;

	place++;
	if (is_chain)
		start(&other, hold_inner, NULL);
	if (has_holder)
		start(&holder, hold_mutex, what);
	/* The holder comes to sleep, where it does. */
	pause_ms(2);
	wait_once(what);
	if (has_holder)
		pthread_join(holder, NULL);
	if (is_chain)
		pthread_join(other, NULL);
}

#define REASON_NAME(name, value, id, label) [value] = id,

static const char *const names[] = { FGIO_REASON_LIST(REASON_NAME) };

static void say_reasons(int device)
{
	static struct fgio_blame_entry entries[ENTRIES];
	struct fgio_blame blame = {
		.entries = (uintptr_t)entries,
		.capacity = ENTRIES,
	};
	unsigned int counts[FGIO_REASONS] = { 0 };
	unsigned int i;

	if (ioctl(device, FGIO_IOC_BLAME, &blame))
		err(1, "blame");
	for (i = 0; i < blame.count; i++)
		if (entries[i].tid == gettid() &&
		    entries[i].waited_ns > LONG_NS &&
		    entries[i].reason < FGIO_REASONS)
			counts[entries[i].reason]++;
	for (i = 0; i < FGIO_REASONS; i++)
		if (counts[i])
			printf("%s %u\n", names[i], counts[i]);
}

int main(int argc, char **argv)
{
	struct fgio_tag tag = { .class = FGIO_TAG_FOREGROUND };
	int device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	unsigned int round;

	if (argc != 3)
		return 2;
	direct = open(argv[2], O_RDONLY | O_DIRECT | O_CLOEXEC);
	cached = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (device < 0 || direct < 0 || cached < 0)
		err(1, "open");
	posix_fadvise(cached, 0, 0, POSIX_FADV_RANDOM);
	posix_fadvise(cached, 0, 0, POSIX_FADV_DONTNEED);
	if (ioctl(device, FGIO_IOC_SET_TAG, &tag))
		err(1, "tag");
	/* Hooks are attached one after the other. */
	sleep(2);
	for (round = 0; round < ROUNDS; round++)
		one_round(argv[1]);
	say_reasons(device);
	return 0;
}
