// SPDX-License-Identifier: Apache-2.0 OR MIT
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fgio.h>

#include "labels.h"
#include "uapi/fgio.h"

#define TASKS "/proc/self/task"

/* How the names of the server's background threads begin. */
static const char *const workers[] = { "bio_", "jemalloc_bg", NULL };

static enum label now = LABEL_NONE;

static void begin(enum label label)
{
	if (label == LABEL_FOREGROUND)
		fgio_foreground_begin();
	else if (label == LABEL_BACKGROUND)
		fgio_background_begin();
	now = label;
}

void label_self(enum label label)
{
	if (label == now)
		return;
	if (now == LABEL_FOREGROUND)
		fgio_foreground_end();
	else if (now == LABEL_BACKGROUND)
		fgio_background_end();
	begin(label);
}

void label_child(enum label label)
{
	begin(label);
}

static bool is_worker(const char *tid)
{
	char path[sizeof(TASKS) + 32], name[17] = "";
	FILE *file;

	snprintf(path, sizeof(path), TASKS "/%.16s/comm", tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	for (const char *const *worker = workers; *worker; worker++)
		if (!strncmp(name, *worker, strlen(*worker)))
			return true;
	return false;
}

static bool set_tag(int device, const char *tid, enum label label)
{
	static const __u32 classes[] = {
		[LABEL_NONE] = FGIO_TAG_NONE,
		[LABEL_FOREGROUND] = FGIO_TAG_FOREGROUND,
		[LABEL_BACKGROUND] = FGIO_TAG_BACKGROUND,
	};
	struct fgio_tag tag = { .tid = atoi(tid), .class = classes[label] };

	return ioctl(device, FGIO_IOC_SET_TAG, &tag) == 0;
}

static int tag_all(int device, DIR *tasks, enum label label)
{
	const struct dirent *task;
	int tagged = 0;

	while ((task = readdir(tasks)))
		if (task->d_name[0] != '.' && is_worker(task->d_name))
			tagged += set_tag(device, task->d_name, label);
	return tagged;
}

int label_workers(enum label label)
{
	int device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC), tagged = 0;
	DIR *tasks;

	if (device < 0)
		return 0;
	tasks = opendir(TASKS);
	if (tasks) {
		tagged = tag_all(device, tasks, label);
		closedir(tasks);
	}
	close(device);
	return tagged;
}
