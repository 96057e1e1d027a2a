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
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "lab/guest/ring.h"
#include "uapi/fgio.h"

#define BLOCK 4096
#define WRITES 16
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

int main(int argc, char **argv)
{
	NEED(argc == 3);
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	disk_file = open(argv[2], O_RDWR | O_DIRECT | O_CLOEXEC);
	NEED(device >= 0 && disk_file >= 0);
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
