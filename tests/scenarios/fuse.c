// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * FUSE: what a daemon reads and writes for a request. The daemon is no
 * foreground task.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/guest/fuse.h"
#include "scenario.h"

/* Inodes of 256 bytes: the next round's is in another block. */
#define INODES_IN_BLOCK 16
/* The file that the foreground reads or writes, and that of others. */
#define OWN 0
#define OTHERS 1

static int top;
static int below[2], above[2];

/* By their folders, files are found when the mount is not to be seen any more. */
static void begin(unsigned int threads, bool hands_over)
{
	NEED(!mkdir("above", 0700));
	fuse_begin("below", "above", threads, hands_over);
	top = open("above", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	NEED(top >= 0 && !umount2("above", MNT_DETACH));
}

static void make_files(const char *kind)
{
	char name[32];
	int i;

	NEED(!mkdir("below", 0700));
	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "below/%s%d", kind, i);
		below[i] = written_file(name, 1);
	}
}

static void open_files(const char *kind)
{
	char name[32];
	int i;

	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s%d", kind, i);
		above[i] = openat(top, name, O_RDWR | O_CLOEXEC);
		NEED(above[i] >= 0);
	}
}

static void prepare(const char *kind, unsigned int threads, bool hands_over)
{
	make_files(kind);
	begin(threads, hands_over);
	open_files(kind);
}

static void prepare_cached(void)
{
	prepare("cached", 4, false);
}

static void prepare_direct(void)
{
	prepare("direct", 4, false);
}

static void prepare_odirect(void)
{
	prepare_cached();
	NEED(!fcntl(above[OWN], F_SETFL, O_DIRECT));
}

static void prepare_no_room(void)
{
	fuse.room = 1;
	prepare_cached();
}

static void prepare_cached_writes(void)
{
	fuse.writes_back = true;
	prepare("raw", 4, false);
}

static void prepare_raw(void)
{
	prepare("direct-raw", 4, false);
}

static void prepare_single(void)
{
	prepare("direct", 1, false);
}

static void prepare_handed_over(void)
{
	prepare("direct", 2, true);
}

static void forget(unsigned int round)
{
	int i;

	(void)round;
	for (i = 0; i < 2; i++) {
		forget_pages(above[i]);
		forget_pages(below[i]);
	}
}

static void read_own(unsigned int round)
{
	(void)round;
	NEED(pread(above[OWN], buffer(BLOCK), BLOCK, 0) == BLOCK);
}

static void read_others(unsigned int round)
{
	(void)round;
	about_to_wait();
	NEED(pread(above[OTHERS], buffer(BLOCK), BLOCK, 0) == BLOCK);
}

static void write_own(unsigned int round)
{
	(void)round;
	write_block(above[OWN], 0, BLOCK);
}

static void sync_written(unsigned int round)
{
	write_own(round);
	NEED(!fdatasync(above[OWN]));
}

static void change_own(unsigned int round)
{
	change(above[OWN], round);
}

static void sync_own(unsigned int round)
{
	(void)round;
	NEED(!fsync(above[OWN]));
}

static void prepare_names(void)
{
	unsigned int i, count = (rounds() + 2) * INODES_IN_BLOCK;
	struct stat found;
	char name[32];

	NEED(!mkdir("below", 0700));
	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "below/file%u", i);
		close(open_file(name, O_RDWR));
	}
	forget_names();
	/* The folder's blocks are read now; no file has this name. */
	NEED(stat("below/none", &found));
	begin(4, false);
}

static void look_at(unsigned int round)
{
	struct stat found;
	char name[32];

	snprintf(name, sizeof(name), "file%u", (round + 1) * INODES_IN_BLOCK);
	NEED(!fstatat(top, name, &found, 0));
}

#define FUSE(_name, _title, _prepare, _before, _background, _foreground)    \
	{                                                                   \
		.name = _name, .group = "fuse", .title = "FUSE: " _title,   \
		.off = "boost,replies", .rounds = 5, .prepare = _prepare,   \
		.before = _before, .background = { _background },           \
		.foreground = _foreground,                                  \
	}

const struct scenario fuse_scenarios[] = {
	FUSE("fuse-read", "a read that the daemon answers", prepare_direct,
	     forget, NULL, read_own),
	FUSE("fuse-page", "a page that the daemon reads", prepare_cached,
	     forget, NULL, read_own),
	FUSE("fuse-odirect", "direct I/O", prepare_odirect, forget, NULL,
	     read_own),
	FUSE("fuse-write", "a write that the daemon passes on at once",
	     prepare_raw, NULL, NULL, write_own),
	FUSE("fuse-writeback", "a write that the daemon gets with the fsync",
	     prepare_cached_writes, NULL, NULL, sync_written),
	FUSE("fuse-fsync", "an fsync", prepare_direct, change_own, NULL,
	     sync_own),
	FUSE("fuse-lookup", "a name that the daemon looks up", prepare_names,
	     NULL, NULL, look_at),
	FUSE("fuse-single",
	     "a read, while the daemon's one thread reads for others",
	     prepare_single, forget, read_others, read_own),
	FUSE("fuse-room",
	     "a page, while others have all room for reading ahead",
	     prepare_no_room, forget, read_others, read_own),
	FUSE("fuse-handed-over",
	     "a read that another thread than the one which took it does",
	     prepare_handed_over, forget, NULL, read_own),
	{ 0 },
};
