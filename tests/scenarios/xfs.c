// SPDX-License-Identifier: Apache-2.0 OR MIT
/* XFS: its log, and its buffers. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/guest/ring.h"
#include "scenario.h"

#define OFF "boost,journal"
/* Inodes are allocated in chunks of this size: one buffer holds all or half. */
#define INODES_IN_CHUNK 64

static int file[2];

static void prepare(void)
{
	file[0] = written_file("file0", 1);
	file[1] = written_file("file1", 1);
}

static void sync_file0(unsigned int round)
{
	change_and_sync(file[0], round);
}

static void sync_file1(unsigned int round)
{
	change_and_sync(file[1], round);
}

static void sync_file1_by_ring(unsigned int round)
{
	change(file[1], round);
	ring_do(IORING_OP_FSYNC, file[1], NULL, 0, 0);
}

static void name_inode(char name[32], unsigned int number)
{
	snprintf(name, 32, "inode%u", number);
}

static void prepare_inodes(void)
{
	unsigned int i;
	char name[32];

	for (i = 0; i < (rounds() + 2) * INODES_IN_CHUNK; i++) {
		name_inode(name, i);
		close(open_file(name, O_RDWR));
	}
	forget_inodes("xfs");
}

static void look_at(unsigned int number)
{
	struct stat found;
	char name[32];

	name_inode(name, number);
	NEED(!stat(name, &found));
}

static void look_at_first(unsigned int round)
{
	look_at((round + 1) * INODES_IN_CHUNK);
}

static void look_at_second(unsigned int round)
{
	look_at((round + 1) * INODES_IN_CHUNK + 1);
}

#define XFS(_name, _title, _prepare, _background, _foreground)            \
	{                                                                 \
		.name = _name, .group = "xfs", .title = _title,           \
		.off = OFF, .rounds = 5, .prepare = _prepare,             \
		.background = { _background }, .foreground = _foreground, \
	}

const struct scenario xfs_scenarios[] = {
	XFS("xfs-log", "XFS: fsync, while the log is written for others",
	    prepare, sync_file0, sync_file1),
	{
		.name = "xfs-uring-fsync", .group = "xfs",
		.title = "XFS, io_uring: fsync, while the log is written for "
			 "others",
		.off = "boost,uring", .rounds = 5, .prepare = prepare,
		.background = { sync_file0 }, .foreground = sync_file1_by_ring,
	},
	XFS("xfs-buffer", "XFS: looking at an inode whose neighbour is read",
	    prepare_inodes, look_at_first, look_at_second),
	{ 0 },
};
