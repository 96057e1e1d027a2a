// SPDX-License-Identifier: Apache-2.0 OR MIT
/* btrfs: its log, transactions, and leaves of its trees. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lab/guest/ring.h"
#include "scenario.h"

/*
 * More than a leaf of 16 KiB holds of inodes. A folder is read ahead by 256 KiB,
 * and its inodes follow it in the tree: the first ones are not looked at.
 */
#define INODES_APART 256
#define INODES_READ_AHEAD 4096

static int file[2];
static int labelled;

static void prepare(void)
{
	file[0] = written_file("file0", 1);
	file[1] = written_file("file1", 1);
	labelled = written_file("labelled", 1);
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

/* A whole transaction, by the task that asks for it. */
static void commit(unsigned int round)
{
	change(file[0], round);
	NEED(!syncfs(file[0]));
}

/* Clean pages alone, with those of the trees; inodes and names stay. */
static void forget_trees(unsigned int round)
{
	int caches = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	(void)round;
	NEED(caches >= 0 && !syncfs(file[0]));
	NEED(write(caches, "1", 1) == 1);
	close(caches);
}

/* Its place in the tree is looked for with a handle open. */
static void label(unsigned int round)
{
	NEED(!fsetxattr(labelled, "user.round", &round, sizeof(round), 0));
}

static void name_inode(char name[32], unsigned int number)
{
	snprintf(name, 32, "inode%u", number);
}

/* Names that are not there are looked up without I/O from now on, too. */
static void look_for_others(void)
{
	unsigned int i;
	char name[32];

	for (i = 0; i < INODES_READ_AHEAD; i++) {
		snprintf(name, sizeof(name), "none%u", i);
		NEED(access(name, F_OK));
	}
}

static void prepare_inodes(void)
{
	unsigned int i;
	char name[32];
	unsigned int count = INODES_READ_AHEAD + (rounds() + 2) * INODES_APART;

	for (i = 0; i < count; i++) {
		name_inode(name, i);
		close(open_file(name, O_RDWR));
	}
	forget_inodes("btrfs");
	look_for_others();
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
	look_at(INODES_READ_AHEAD + (round + 1) * INODES_APART);
}

static void look_at_second(unsigned int round)
{
	look_at(INODES_READ_AHEAD + (round + 1) * INODES_APART + 1);
}

#define BTRFS(_name, _title, _off, _prepare, _background, _foreground, ...) \
	{                                                                   \
		.name = _name, .group = "btrfs", .title = "btrfs: " _title, \
		.off = _off, .rounds = 5, .prepare = _prepare,              \
		.background = { _background }, .foreground = _foreground,   \
		__VA_ARGS__                                                 \
	}

const struct scenario btrfs_scenarios[] = {
	BTRFS("btrfs-fsync", "fsync of a task's own", "boost,stamp", prepare,
	      NULL, sync_file1),
	BTRFS("btrfs-log", "fsync, while the log is written for others",
	      "boost,journal", prepare, sync_file0, sync_file1),
	BTRFS("btrfs-uring-fsync",
	      "fsync through io_uring, while the log is written for others",
	      "boost,uring", prepare, sync_file0, sync_file1_by_ring),
	BTRFS("btrfs-fsync-commit", "fsync, while a transaction is committed",
	      "boost,journal", prepare, commit, sync_file1),
	BTRFS("btrfs-handle", "a commit, with a handle of others open",
	      "boost,journal", prepare, label, commit, .before = forget_trees),
	BTRFS("btrfs-leaf", "looking at an inode whose neighbour is read",
	      "boost,io", prepare_inodes, look_at_first, look_at_second),
	{ 0 },
};
