// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Names and inodes that are not in memory. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenario.h"

#define OFF "boost,locks"
#ifndef EXT4_IOC_CHECKPOINT
#define EXT4_IOC_CHECKPOINT _IOW('f', 43, __u32)
#endif
/* Inodes of 256 bytes: the next round's is in another block. */
#define INODES_IN_BLOCK 16

static void name_file(char text[32], const char *kind, unsigned int round)
{
	snprintf(text, 32, "%s%u", kind, (round + 1) * INODES_IN_BLOCK);
}

void forget_names(void)
{
	int device = open(getenv("FILES_ON"), O_RDWR | O_CLOEXEC);
	int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int caches = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	__u32 flags = 0;

	NEED(device >= 0 && folder >= 0 && caches >= 0);
	NEED(!syncfs(folder));
	NEED(!ioctl(folder, EXT4_IOC_CHECKPOINT, &flags));
	NEED(write(caches, "2", 1) == 1);
	NEED(!ioctl(device, BLKFLSBUF, 0));
	close(device);
	close(folder);
	close(caches);
}

static void prepare(void)
{
	char file[32], link_name[32];
	struct stat found;
	unsigned int i;

	for (i = 0; i < (rounds() + 2) * INODES_IN_BLOCK; i++) {
		snprintf(file, sizeof(file), "file%u", i);
		snprintf(link_name, sizeof(link_name), "link%u", i);
		close(open_file(file, O_RDWR));
		NEED(!link(file, link_name));
	}
	forget_names();
	/* The folder's blocks are read now; no file has this name. */
	NEED(stat("none", &found));
}

static void look_at(const char *kind, unsigned int round)
{
	struct stat found;
	char text[32];

	name_file(text, kind, round);
	NEED(!stat(text, &found));
}

static void look_at_file(unsigned int round)
{
	look_at("file", round);
}

static void look_at_link(unsigned int round)
{
	look_at("link", round);
}

#define NAME(_name, _title, _foreground)                                \
	{                                                               \
		.name = _name, .group = "file", .title = _title,        \
		.off = OFF, .rounds = 5, .prepare = prepare,            \
		.background = { look_at_file }, .foreground = _foreground, \
	}

const struct scenario name_scenarios[] = {
	NAME("name-lookup", "looking up a name that another task looks up",
	     look_at_file),
	NAME("inode-read", "looking at an inode that another task reads, by "
	     "another name", look_at_link),
	{ 0 },
};
