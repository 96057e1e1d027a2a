// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Writes through rings of io_uring: rings HOW DISK
 * Submits 16 direct writes of 4 KiB as a foreground thread and 16 as another
 * one, with HOW:
 *
 *	beside	two threads of one process, each with workers of its own
 *	after	one thread, foreground for the first half: the same workers
 *	polled	as beside; a thread of the kernel submits for each ring
 *	named	as after; the workers have the tag foreground of their own then
 *
 * Or, until it is killed, processes that come and go: rings mortal FILE
 * Their threads, foreground or not, read, write and sync the file through rings
 * of their own and one that they share, polled or not, and mostly end in the
 * middle of it. Begins with a line "seed N" (from $SEED, or random).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "lab/guest/ring.h"
#include "mortals.h"
#include "uapi/fgio.h"

#define BLOCK 4096
#define WRITES 16
#define PAGES 512
#define ALIVE 3
#define THREADS 3
/* Fewer than there are entries of a ring that two threads share. */
#define OPERATIONS 4
#define NEED(condition) RING_NEED(condition)

static int device = -1;
static int disk_file = -1;
static bool polled;

static void tag(pid_t tid, unsigned int class)
{
	struct fgio_tag tag = { .tid = tid, .class = class };

	NEED(!ioctl(device, FGIO_IOC_SET_TAG, &tag));
}

static void write_some(struct ring *ring, unsigned int count)
{
	static char block[BLOCK] __attribute__((aligned(BLOCK)));
	static unsigned int next;

	while (count--) {
		/* Apart, so that nothing merges. */
		ring_submit(ring, IORING_OP_WRITE, disk_file, block, BLOCK,
			    8LL * BLOCK * next++);
		ring_wait(ring, 1);
	}
}

static struct ring *own_ring(void)
{
	struct ring *ring = ring_new(polled);

	if (!polled)
		ring_leave_to_workers(ring);
	return ring;
}

static void *write_as_foreground(void *unused)
{
	tag(0, FGIO_TAG_FOREGROUND);
	write_some(own_ring(), WRITES);
	return unused;
}

static void *write_as_another(void *unused)
{
	write_some(own_ring(), WRITES);
	return unused;
}

static bool is_worker(const char *tid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", tid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	return !strncmp(name, "iou-wrk-", 8);
}

static void tag_workers(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int count = 0;
	struct dirent *task;

	NEED(tasks);
	while ((task = readdir(tasks)))
		if (is_worker(task->d_name)) {
			tag(atoi(task->d_name), FGIO_TAG_FOREGROUND);
			count++;
		}
	closedir(tasks);
	NEED(count);
}

static void in_thread(void *(*function)(void *))
{
	pthread_t thread;

	NEED(!pthread_create(&thread, NULL, function, NULL));
	NEED(!pthread_join(thread, NULL));
}

static void write_with_tagged_workers(void)
{
	struct ring *ring = own_ring();
	/* On a busy host another one may come, without the tag. */
	unsigned int most[] = { 1, 1 };

	NEED(!syscall(SYS_io_uring_register, ring->file,
		      IORING_REGISTER_IOWQ_MAX_WORKERS, most, 2));
	tag(0, FGIO_TAG_FOREGROUND);
	write_some(ring, WRITES);
	tag(0, FGIO_TAG_NONE);
	tag_workers();
	write_some(ring, WRITES);
}

static void write_before_and_after(void)
{
	struct ring *ring = own_ring();

	tag(0, FGIO_TAG_FOREGROUND);
	write_some(ring, WRITES);
	tag(0, FGIO_TAG_NONE);
	write_some(ring, WRITES);
}

/* --- processes that come and go ------------------------------------------- */

static const char *path;
static struct ring *common;
static pthread_mutex_t common_lock = PTHREAD_MUTEX_INITIALIZER;

static void do_anything(struct ring *ring, unsigned int *state, int file)
{
	static __thread char block[BLOCK];
	off_t place = (off_t)(rand_r(state) % PAGES) * BLOCK;

	switch (rand_r(state) % 4) {
	case 0:
		ring_submit(ring, IORING_OP_FSYNC, file, NULL, 0, 0);
		break;
	case 1:
		ring_submit(ring, IORING_OP_WRITE, file, block, 100, place);
		break;
	default:
		posix_fadvise(file, place, BLOCK, POSIX_FADV_DONTNEED);
		ring_submit(ring, IORING_OP_READ, file, block, BLOCK, place);
	}
}

static void *live(void *argument)
{
	unsigned int state = (uintptr_t)argument, i;
	int file = open(path, O_RDWR | O_CLOEXEC);
	struct ring *own;

	NEED(file >= 0);
	if (rand_r(&state) % 2)
		try_to_tag();
	own = ring_new(!(rand_r(&state) % 4));
	for (i = 0; i < OPERATIONS; i++)
		do_anything(own, &state, file);
	pthread_mutex_lock(&common_lock);
	do_anything(common, &state, file);
	pthread_mutex_unlock(&common_lock);
	if (rand_r(&state) % 2)
		ring_enter(own, 0, OPERATIONS);
	if (rand_r(&state) % 4 == 0)
		_exit(0);
	return NULL;
}

static void live_and_die(unsigned int seed)
{
	pthread_t threads[THREADS];
	unsigned int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	common = ring_new(false);
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
	};

	NEED(argc == 3);
	path = argv[2];
	disk_file = open(argv[2], O_RDWR | O_DIRECT | O_CLOEXEC);
	NEED(disk_file >= 0);
	if (!strcmp(argv[1], "mortal"))
		come_and_go(&mortals);
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	NEED(device >= 0);
	polled = !strcmp(argv[1], "polled");
	if (!strcmp(argv[1], "after")) {
		write_before_and_after();
	} else if (!strcmp(argv[1], "named")) {
		write_with_tagged_workers();
	} else {
		in_thread(write_as_foreground);
		in_thread(write_as_another);
	}
	return 0;
}
