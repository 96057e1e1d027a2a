// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Nothing but waiting for each other: how many rounds in a time?
 *
 *	contend MODE SECONDS [foreground]
 *
 * pingpong	two threads hand a POSIX semaphore to and fro: a futex wait and
 *		a wake each round
 * pipe		the same with a byte through two pipes
 * socket	the same with a byte through two pairs of UNIX sockets
 * epoll		the same with two eventfds, each under epoll
 * mutex	four threads take a pthread mutex in turn and give up the CPU
 *		while they hold it, so that the others must sleep
 * inode	four threads write to one file of a memory file system, whose inode
 *		lock is the kernel's rw_semaphore
 * files	four threads each make and remove a file of their own in /files: on
 *		XFS, locks of its buffers that are mostly free
 * ring		four threads each read a page of /files/read that is in the
 *		cache, through a ring of their own
 * worker	the same, executed by a worker of io_uring that has to wake up
 * names		four threads each look up a name that a memory file system does not
 *		have, and does not remember: no lookup is shorter
 * scan		one thread looks at files of ext4 as a backup does, names and
 *		inodes not in memory, their blocks in the cache: time of the
 *		looks alone
 *
 * Prints "ROUNDS NANOSECONDS". With `foreground`, the threads are foreground
 * tasks.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lab/guest/program.h"
#include "lab/guest/ring.h"

#define THREADS 4
#define BYTES 65536
#define PAGE 4096
#define SCANNED 512
#define NS_PER_S 1000000000ULL

static atomic_bool over;
static atomic_ulong rounds;
static bool is_foreground;

static void tag_thread(void)
{
	if (is_foreground)
		tag_foreground();
}

static sem_t to, fro;

static void *echo(void *unused)
{
	tag_thread();
	while (!over) {
		sem_wait(&to);
		sem_post(&fro);
	}
	/* It may have come to call() to wait once more before this. */
	sem_post(&fro);
	return unused;
}

static void *call(void *unused)
{
	tag_thread();
	while (!over) {
		sem_post(&to);
		sem_wait(&fro);
		rounds++;
	}
	sem_post(&to);
	return unused;
}

/* The ends of two channels: [0] is there to read from, [1] to write to. */
static int there[2], back[2];
static bool by_epoll;

static int watched(int file)
{
	struct epoll_event wanted = { .events = EPOLLIN };
	int watch = epoll_create1(0);

	if (watch < 0 || epoll_ctl(watch, EPOLL_CTL_ADD, file, &wanted))
		stop("epoll");
	return watch;
}

static void send_to(int file)
{
	uint64_t one = 1;

	if (write(file, &one, sizeof(one)) != sizeof(one))
		stop("write");
}

static void receive(int file, int watch)
{
	struct epoll_event found;
	uint64_t count;

	if (by_epoll && epoll_wait(watch, &found, 1, -1) != 1)
		stop("epoll_wait");
	if (read(file, &count, sizeof(count)) != sizeof(count))
		stop("read");
}

static void *echo_bytes(void *unused)
{
	int watch = by_epoll ? watched(there[0]) : -1;

	tag_thread();
	while (!over) {
		receive(there[0], watch);
		send_to(back[1]);
	}
	send_to(back[1]);
	return unused;
}

static void *call_bytes(void *unused)
{
	int watch = by_epoll ? watched(back[0]) : -1;

	tag_thread();
	while (!over) {
		send_to(there[1]);
		receive(back[0], watch);
		rounds++;
	}
	send_to(there[1]);
	return unused;
}

static void open_channels(const char *mode)
{
	if (!strcmp(mode, "pipe")) {
		if (pipe(there) || pipe(back))
			stop("pipe");
	} else if (!strcmp(mode, "socket")) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, there) ||
		    socketpair(AF_UNIX, SOCK_STREAM, 0, back))
			stop("socketpair");
	} else {
		by_epoll = true;
		there[0] = there[1] = eventfd(0, 0);
		back[0] = back[1] = eventfd(0, 0);
	}
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *take_mutex(void *unused)
{
	tag_thread();
	while (!over) {
		pthread_mutex_lock(&mutex);
		sched_yield();
		pthread_mutex_unlock(&mutex);
		rounds++;
	}
	return unused;
}

static int file;

static void *write_file(void *unused)
{
	static const char bytes[BYTES];

	tag_thread();
	while (!over) {
		if (pwrite(file, bytes, BYTES, 0) != BYTES)
			stop("write");
		rounds++;
	}
	return unused;
}

static atomic_uint makers;

static void *make_file(void *unused)
{
	char name[32];
	int made;

	tag_thread();
	snprintf(name, sizeof(name), "/files/%u", makers++);
	while (!over) {
		made = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
		if (made < 0 || close(made) || unlink(name))
			stop("a file");
		rounds++;
	}
	return unused;
}

static int page_file;
static bool by_worker;

static void open_page(void)
{
	static const char bytes[PAGE];

	page_file = open("/files/read", O_RDWR | O_CREAT, 0600);
	if (page_file < 0 || pwrite(page_file, bytes, PAGE, 0) != PAGE)
		stop("/files/read");
}

static void *read_page(void *unused)
{
	struct ring *ring = ring_new(false);
	char bytes[PAGE];

	tag_thread();
	if (by_worker)
		ring_leave_to_workers(ring);
	while (!over) {
		ring_submit_and_wait(ring, IORING_OP_READ, page_file, bytes,
				     PAGE, 0, 1);
		ring_wait(ring, 1);
		rounds++;
	}
	return unused;
}

static void *look_up_none(void *unused)
{
	struct stat found;

	tag_thread();
	while (!over) {
		if (!stat("/dev/shm/none", &found))
			stop("/dev/shm/none");
		rounds++;
	}
	return unused;
}

/* Of names and inodes; blocks stay. */
static void forget_names(void)
{
	int caches = open("/proc/sys/vm/drop_caches", O_WRONLY);

	if (caches < 0 || write(caches, "2", 1) != 1)
		stop("drop_caches");
	close(caches);
}

static uint64_t look_at_files_ns(void)
{
	uint64_t begin = now_ns();
	struct stat found;
	unsigned int i;
	char name[32];

	for (i = 0; i < SCANNED; i++) {
		snprintf(name, sizeof(name), "/scanned/%u", i);
		if (stat(name, &found))
			stop(name);
	}
	return now_ns() - begin;
}

static void make_scanned(void)
{
	unsigned int i;
	char name[32];

	if (mkdir("/scanned", 0700) && errno != EEXIST)
		stop("/scanned");
	for (i = 0; i < SCANNED; i++) {
		snprintf(name, sizeof(name), "/scanned/%u", i);
		close(open(name, O_WRONLY | O_CREAT, 0600));
	}
	sync();
	look_at_files_ns();
}

static void measure_scan(unsigned int seconds)
{
	uint64_t spent = 0;

	make_scanned();
	tag_thread();
	while (spent < seconds * NS_PER_S) {
		forget_names();
		spent += look_at_files_ns();
		rounds += SCANNED;
	}
	printf("%lu %llu\n", rounds, (unsigned long long)spent);
}

static void measure(void *(*const run[])(void *), unsigned int count,
		    unsigned int seconds)
{
	pthread_t threads[THREADS];
	uint64_t begin, first;
	unsigned int i;

	for (i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run[i], NULL))
			stop("pthread_create");
	usleep(100000);
	first = rounds;
	begin = now_ns();
	sleep(seconds);
	printf("%lu %llu\n", rounds - first,
	       (unsigned long long)(now_ns() - begin));
	over = true;
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void measure_reads(void *(*const run[])(void *), bool worker,
			  unsigned int seconds)
{
	by_worker = worker;
	open_page();
	measure(run, THREADS, seconds);
}

static void measure_bytes(const char *mode, unsigned int seconds)
{
	static void *(*const run[])(void *) = { echo_bytes, call_bytes };

	open_channels(mode);
	measure(run, 2, seconds);
}

int main(int count, char **arguments)
{
	static void *(*const pingpong[])(void *) = { echo, call };
	static void *(*const mutexes[])(void *) = { take_mutex, take_mutex,
						    take_mutex, take_mutex };
	static void *(*const files[])(void *) = { write_file, write_file,
						  write_file, write_file };
	static void *(*const makes[])(void *) = { make_file, make_file,
						  make_file, make_file };
	static void *(*const reads[])(void *) = { read_page, read_page,
						  read_page, read_page };
	static void *(*const looks[])(void *) = { look_up_none, look_up_none,
						  look_up_none, look_up_none };
	const char *mode = count > 2 ? arguments[1] : "";
	unsigned int seconds = count > 2 ? atoi(arguments[2]) : 0;

	is_foreground = count > 3 && !strcmp(arguments[3], "foreground");
	sem_init(&to, 0, 0);
	sem_init(&fro, 0, 0);
	file = open("/dev/shm/contend", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (file < 0)
		stop("/dev/shm/contend");
	if (!strcmp(mode, "pingpong"))
		measure(pingpong, 2, seconds);
	else if (!strcmp(mode, "pipe") || !strcmp(mode, "socket") ||
		 !strcmp(mode, "epoll"))
		measure_bytes(mode, seconds);
	else if (!strcmp(mode, "mutex"))
		measure(mutexes, THREADS, seconds);
	else if (!strcmp(mode, "inode"))
		measure(files, THREADS, seconds);
	else if (!strcmp(mode, "files"))
		measure(makes, THREADS, seconds);
	else if (!strcmp(mode, "ring") || !strcmp(mode, "worker"))
		measure_reads(reads, !strcmp(mode, "worker"), seconds);
	else if (!strcmp(mode, "names"))
		measure(looks, THREADS, seconds);
	else if (!strcmp(mode, "scan"))
		measure_scan(seconds);
	else
		return fprintf(stderr,
			       "contend MODE SECONDS [foreground]\n"), 2;
	return 0;
}
