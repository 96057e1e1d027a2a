// SPDX-License-Identifier: Apache-2.0 OR MIT
/* The journal of ext4: transactions, handles, and buffers between the two. */
#define _GNU_SOURCE
#include <endian.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab/guest/ring.h"
#include "scenario.h"

#define OFF "boost,journal"
#ifndef EXT4_IOC_CHECKPOINT
#define EXT4_IOC_CHECKPOINT _IOW('f', 43, __u32)
#endif
/* Inodes of 256 bytes. */
#define INODES_IN_BLOCK 16
#define BLOCKS_MAX 16
#define APPENDED_PAGES 16
/* More than a log of 8 MiB lets writeback reserve credits for at once. */
#define SPARSE_PAGES 48
/* Documentation/filesystems/ext4/globals.rst */
#define SUPERBLOCK 1024

/*
 * Files by inode block. To change the mode of one takes a handle, and when its
 * block is not in the cache, reads it with the handle open.
 */
static int inodes[BLOCKS_MAX][INODES_IN_BLOCK];
static int other[3];
static int appended;
static int sparse;
static int block_device;

static void forget_metadata(void)
{
	__u32 flags = 0;
	int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	NEED(folder >= 0 && !syncfs(folder));
	NEED(!ioctl(folder, EXT4_IOC_CHECKPOINT, &flags));
	NEED(!ioctl(block_device, BLKFLSBUF, 0));
	close(folder);
}

static void make_inodes(void)
{
	unsigned int wanted = (rounds() + 2) * INODES_IN_BLOCK;
	unsigned long first = 0;
	struct stat stat;
	unsigned int i;
	char name[32];

	for (i = 0; i < wanted; i++) {
		unsigned long block;
		int file;

		snprintf(name, sizeof(name), "inode%u", i);
		file = open_file(name, O_RDWR);
		NEED(!fstat(file, &stat));
		block = (stat.st_ino - 1) / INODES_IN_BLOCK;
		first = first ? first : block;
		if (block - first < BLOCKS_MAX)
			inodes[block - first]
			      [(stat.st_ino - 1) % INODES_IN_BLOCK] = file;
	}
	/* The first and the last block may be shared with other files. */
	for (i = 0; i < rounds(); i++)
		NEED(inodes[i + 1][0] && inodes[i + 1][1]);
}

static void prepare(void)
{
	unsigned int i;
	char name[32];

	block_device = open(getenv("FILES_ON"), O_RDWR | O_CLOEXEC);
	NEED(block_device >= 0);
	make_inodes();
	appended = open_file("appended", O_RDWR);
	forget_metadata();
	/* Changed once, so that their blocks are in the cache. */
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "other%u", i);
		other[i] = written_file(name, 1);
	}
}

static void prepare_cached(void)
{
	unsigned int i;

	prepare();
	for (i = 0; i < rounds(); i++)
		NEED(!fchmod(inodes[i + 1][1], 0600));
	NEED(!fsync(other[0]));
}

static void change_uncached(unsigned int round)
{
	change(inodes[round + 1][0], round);
}

static void sync_other0(unsigned int round)
{
	change_and_sync(other[0], round);
}

static void change_other1(unsigned int round)
{
	change(other[1], round);
}

static void sync_other1(unsigned int round)
{
	change_and_sync(other[1], round);
}

static void write_other1(unsigned int round)
{
	(void)round;
	write_block(other[1], 0, 100);
}

static void write_other1_by_ring(unsigned int round)
{
	(void)round;
	ring_do(IORING_OP_WRITE, other[1], buffer(BLOCK), 100, 0);
}

/* New blocks: the transaction that gives them to the file awaits their data. */
static void append(unsigned int round)
{
	off_t place = (off_t)round * APPENDED_PAGES * BLOCK;
	unsigned int i;

	for (i = 0; i < APPENDED_PAGES; i++)
		write_block(appended, round * APPENDED_PAGES + i, BLOCK);
	NEED(!sync_file_range(appended, place, APPENDED_PAGES * BLOCK,
			      SYNC_FILE_RANGE_WRITE));
}

static void prepare_sparse(void)
{
	prepare();
	sparse = open_file("sparse", O_RDWR);
}

/*
 * Pages that are no neighbours: each is an extent of its own. Those of the last
 * round are on the disk: they would return their credits before long.
 */
static void dirty_sparse(unsigned int round)
{
	unsigned int i;

	NEED(!sync_file_range(sparse, 0, 0,
			      SYNC_FILE_RANGE_WAIT_BEFORE |
				      SYNC_FILE_RANGE_WRITE |
				      SYNC_FILE_RANGE_WAIT_AFTER));
	for (i = 0; i < SPARSE_PAGES; i++)
		write_block(sparse, 2 * (round * SPARSE_PAGES + i), BLOCK);
}

static void write_sparse(unsigned int round)
{
	(void)round;
	NEED(!sync_file_range(sparse, 0, 0, SYNC_FILE_RANGE_WRITE));
}

/* A block that has none on the disk yet: written with credits in reserve. */
static void append_and_write(unsigned int round)
{
	write_block(appended, round, BLOCK);
	NEED(!sync_file_range(appended, (off_t)round * BLOCK, BLOCK,
			      SYNC_FILE_RANGE_WRITE));
}

static void write_and_sync(unsigned int round)
{
	(void)round;
	write_block(other[1], 0, BLOCK);
	change_other1(round);
	NEED(!fsync(other[1]));
}

static int file_below;

static void prepare_below(void)
{
	prepare();
	file_below = open(getenv("FILE_BELOW"), O_RDWR | O_CLOEXEC);
	NEED(file_below >= 0);
}

/* The next flush of the loop device has to commit the journal below it. */
static void change_file_below(unsigned int round)
{
	change(file_below, round);
}

static void sync_other1_by_ring(unsigned int round)
{
	change_other1(round);
	ring_do(IORING_OP_FSYNC, other[1], NULL, 0, 0);
}

static void sync_other1_by_polled_ring(unsigned int round)
{
	change_other1(round);
	ring_do_polled(IORING_OP_FSYNC, other[1], NULL, 0, 0);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static aio_context_t collected;

static void prepare_collected(void)
{
	prepare();
	NEED(!syscall(SYS_io_setup, RING_ENTRIES, &collected));
}

/* A worker of the kernel executes it. */
static void submit_sync(unsigned int round)
{
	struct iocb call = {
		.aio_lio_opcode = IOCB_CMD_FSYNC,
		.aio_fildes = other[0],
	};
	struct iocb *calls[] = { &call };

	change(other[0], round);
	NEED(syscall(SYS_io_submit, collected, 1, calls) == 1);
}

static void collect(unsigned int round)
{
	struct io_event event;

	(void)round;
	NEED(syscall(SYS_io_getevents, collected, 1, 1, &event, NULL) == 1);
	NEED(!event.res);
}

/* Through a ring that the thread registered, as liburing does. */
static void sync_other0_with_mutex(unsigned int round)
{
	static struct ring *ring;

	if (!ring) {
		ring = ring_new(false);
		ring_register(ring);
	}
	pthread_mutex_lock(&mutex);
	change(other[0], round);
	about_to_wait();
	ring_submit_and_wait(ring, IORING_OP_FSYNC, other[0], NULL, 0, 0, 1);
	ring_wait(ring, 1);
	pthread_mutex_unlock(&mutex);
}

static void take_mutex(unsigned int round)
{
	(void)round;
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

/* Two inodes of one block: one is being journalled, the other changed. */
static void sync_neighbour(unsigned int round)
{
	change_and_sync(inodes[round + 1][0], round);
}

static void change_neighbour(unsigned int round)
{
	change(inodes[round + 1][1], round);
}

static void dirty_neighbour(unsigned int round)
{
	change_and_sync(inodes[round + 1][0], round);
}

static uint32_t number_at(off_t place)
{
	uint32_t number;

	NEED(pread(block_device, &number, sizeof(number), place) ==
	     sizeof(number));
	return le32toh(number);
}

/* The place of an inode on the disk, from the superblock and its group's entry. */
static off_t place_of_inode(unsigned long inode)
{
	uint32_t in_group = number_at(SUPERBLOCK + 0x28);
	uint32_t entry_bytes = number_at(SUPERBLOCK + 0xfc) >> 16;
	unsigned long group = (inode - 1) / in_group;
	off_t entry = BLOCK + group * (entry_bytes ? entry_bytes : 32);

	return (off_t)number_at(entry + 8) * BLOCK +
	       (inode - 1) % in_group / INODES_IN_BLOCK * BLOCK;
}

static void write_metadata(unsigned int round)
{
	struct stat stat;

	NEED(!fstat(inodes[round + 1][0], &stat));
	NEED(!sync_file_range(block_device, place_of_inode(stat.st_ino), BLOCK,
			      SYNC_FILE_RANGE_WRITE |
				      SYNC_FILE_RANGE_WAIT_AFTER));
}

#define IN_GROUP(_group, _name, _title, _off, _prepare, _foreground, ...) \
	{                                                             \
		.name = _name, .group = _group, .title = _title,      \
		.off = _off, .rounds = 5,                             \
		.prepare = _prepare, .foreground = _foreground,       \
		__VA_ARGS__                                           \
	}

#define JOURNAL(_name, ...) IN_GROUP("journal", _name, __VA_ARGS__)

/* What a file system waits for on a device above the disk. */
#define COMMITS_ON(_group, _device)                                           \
	IN_GROUP(_group, _group "-ordered-data",                              \
		 "fsync, with new data of others to be written, on " _device, \
		 OFF, prepare, write_and_sync, .background = { append }),     \
	IN_GROUP(_group, _group "-other-commit",                              \
		 "fsync, while the journal commits for others, on " _device,  \
		 OFF, prepare, sync_other1, .background = { sync_other0 },    \
		 .journal = 1)

#define WRITTEN_BUFFER_ON(_group, _device)                                    \
	IN_GROUP(_group, _group "-written-buffer",                            \
		 "changing metadata that is being written back, on " _device, \
		 "boost,io", prepare_cached, change_neighbour,                \
		 .before = dirty_neighbour, .background = { write_metadata })

const struct scenario journal_scenarios[] = {
	JOURNAL("ordered-data", "fsync, with new data of others to be written",
		OFF, prepare, write_and_sync, .background = { append }),
	JOURNAL("locked-transaction", "handle, while the transaction is locked",
		OFF, prepare, change_other1,
		.background = { change_uncached, sync_other0 }, .journal = 2),
	JOURNAL("open-handle", "fsync, with a handle of others open", OFF,
		prepare, sync_other1, .background = { change_uncached }),
	JOURNAL("other-commit", "fsync, while the journal commits for others",
		OFF, prepare, sync_other1, .background = { sync_other0 },
		.journal = 1),
	JOURNAL("uring-fsync",
		"io_uring: fsync, while the journal commits for others",
		"boost,uring", prepare, sync_other1_by_ring,
		.background = { sync_other0 }, .journal = 1),
	JOURNAL("aio-fsync",
		"libaio: completion of an fsync that another thread submitted",
		"boost,io", prepare_collected, collect,
		.background = { submit_sync }, .journal = 1),
	JOURNAL("uring-polled-fsync",
		"io_uring, polled: fsync, while the journal commits for others",
		"boost,uring", prepare, sync_other1_by_polled_ring,
		.background = { sync_other0 }, .journal = 1),
	JOURNAL("uring-locked-transaction",
		"io_uring: write that begins a handle, while the transaction "
		"is locked",
		"boost,uring", prepare, write_other1_by_ring,
		.background = { change_uncached, sync_other0 }, .journal = 2),
	JOURNAL("uring-mutex", "mutex, held across an fsync through io_uring",
		"boost,uring", prepare, take_mutex,
		.background = { sync_other0_with_mutex }, .journal = 1),
	JOURNAL("journalled-buffer",
		"changing metadata that is being journalled",
		OFF, prepare_cached, change_neighbour,
		.background = { sync_neighbour }, .journal = 1),
	JOURNAL("written-buffer",
		"changing metadata that is being written back",
		"boost,io", prepare_cached, change_neighbour,
		.before = dirty_neighbour, .background = { write_metadata }),
	JOURNAL("four-steps",
		"inode lock, whose holder awaits a transaction, that awaits a "
		"handle, whose holder sleeps in admission",
		OFF, prepare, write_other1,
		.background = { change_uncached, sync_other0, change_other1 },
		.journal = 2),
	IN_GROUP("small-log", "reserved-credits",
		 "write of a new block, while others have reserved all credits "
		 "of the journal", OFF, prepare_sparse, append_and_write,
		 .flood = FLOOD_QUEUED, .before = dirty_sparse, .background = { write_sparse }),
	IN_GROUP("fast", "fast-commit", "fsync, during a fast commit of others",
		 OFF, prepare, sync_other1, .background = { sync_other0 }),
	IN_GROUP("dm", "dm-ordered-data",
		 "fsync, with new data of others to be written, on dm-linear",
		 OFF, prepare, write_and_sync, .background = { append }),
	COMMITS_ON("raid1", "md raid1"),
	WRITTEN_BUFFER_ON("raid1", "md raid1"),
	WRITTEN_BUFFER_ON("raid5", "md raid5"),
	COMMITS_ON("crypt", "dm-crypt"),
	WRITTEN_BUFFER_ON("crypt", "dm-crypt"),
	COMMITS_ON("thin", "a thin volume"),
	WRITTEN_BUFFER_ON("thin", "a thin volume"),
	IN_GROUP("mirror", "mirror-ordered-data",
		 "fsync, with new data of others to be written, on a mirror of "
		 "LVM", OFF, prepare, write_and_sync, .background = { append }),
	WRITTEN_BUFFER_ON("dm", "dm-linear"),
	COMMITS_ON("loop", "a loop device with direct I/O"),
	WRITTEN_BUFFER_ON("loop", "a loop device with direct I/O"),
	COMMITS_ON("loop-cached", "a loop device"),
	IN_GROUP("loop", "loop-commit-below",
		 "fsync on a loop device with direct I/O whose file has changed",
		 OFF, prepare_below, sync_other1, .before = change_file_below),
	{ 0 },
};
