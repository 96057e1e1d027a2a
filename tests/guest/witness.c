// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Watches the processes of a program, and the class that the kernel has for each:
 *
 *	witness COMMAND MS	looks every MS, until SIGTERM
 *
 * Then a line for each title that a process had: PID, ms from the first to the last look that found
 * it with that title, ms from the first one to the first that found it with a class, or -1, that
 * class or "none", and the title.
 */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "uapi/fgio.h"

#define CAPACITY 4096
#define SEEN_MAX 65536
#define TITLE_SIZE 120

struct seen {
	int pid;
	double first_ms, last_ms, labelled_ms;
	unsigned int class;
	char title[TITLE_SIZE];
};

static struct seen seen[SEEN_MAX];
static unsigned int seen_count;
static struct fgio_tag tags[CAPACITY];
static unsigned int tag_count;
static volatile sig_atomic_t ends;

static void end(int signal)
{
	(void)signal;
	ends = 1;
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

/* Reads a small file of a process; false when the process has gone. */
static int read_of(int pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	length = read(file, text, size - 1);
	close(file);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	for (ssize_t i = 0; i < length; i++)
		if (text[i] == '\n' || (!text[i] && i + 1 < length))
			text[i] = ' ';
	while (length && text[length - 1] == ' ')
		text[--length] = '\0';
	return length > 0;
}

static unsigned int class_of(int pid)
{
	for (unsigned int i = 0; i < tag_count; i++)
		if (tags[i].tid == pid)
			return tags[i].class;
	return FGIO_TAG_NONE;
}

/* The last entry is the most likely one: pids grow. */
static struct seen *entry(int pid, const char *title, double now)
{
	struct seen *one;

	for (unsigned int i = seen_count; i-- > 0;)
		if (seen[i].pid == pid && !strcmp(seen[i].title, title))
			return &seen[i];
	if (seen_count == SEEN_MAX)
		errx(1, "more than %d titles", SEEN_MAX);
	one = &seen[seen_count++];
	*one = (struct seen){ .pid = pid, .first_ms = now, .labelled_ms = -1 };
	strncpy(one->title, title, sizeof(one->title) - 1);
	return one;
}

static void look(int device, const char *command)
{
	struct fgio_tag_list list = { .tags = (uintptr_t)tags, .capacity = CAPACITY };
	DIR *processes = opendir("/proc");
	struct dirent *each;

	if (!processes)
		err(1, "/proc");
	if (ioctl(device, FGIO_IOC_LIST_TAGS, &list))
		err(1, "the threads that have a class");
	tag_count = list.count < CAPACITY ? list.count : CAPACITY;
	while ((each = readdir(processes))) {
		int pid = atoi(each->d_name);
		char comm[32], title[TITLE_SIZE];
		struct seen *one;
		double now;

		if (pid <= 0 || !read_of(pid, "comm", comm, sizeof(comm)) ||
		    strcmp(comm, command) || !read_of(pid, "cmdline", title, sizeof(title)))
			continue;
		now = now_ms();
		one = entry(pid, title, now);
		one->last_ms = now;
		if (one->labelled_ms < 0 && class_of(pid) != FGIO_TAG_NONE) {
			one->labelled_ms = now;
			one->class = class_of(pid);
		}
	}
	closedir(processes);
}

int main(int count, char **words)
{
	static const char *const names[] = { "none", "foreground", "background" };
	struct sigaction action = { .sa_handler = end };
	int device;

	if (count != 3)
		errx(2, "witness COMMAND MS");
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (device < 0)
		err(1, FGIO_DEVICE_PATH);
	sigaction(SIGTERM, &action, NULL);
	while (!ends) {
		look(device, words[1]);
		usleep(atoi(words[2]) * 1000);
	}
	for (unsigned int i = 0; i < seen_count; i++) {
		struct seen *one = &seen[i];
		double after = one->labelled_ms < 0 ? -1 : one->labelled_ms - one->first_ms;

		printf("%d %.1f %.1f %s %s\n", one->pid, one->last_ms - one->first_ms, after,
		       names[one->class], one->title);
	}
	return 0;
}
