// SPDX-License-Identifier: Apache-2.0 OR MIT
/* A file's lock, and its pages while their I/O is under way. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab/guest/ring.h"
#include "scenario.h"

#define PAGES 1024
#define READAHEAD_PAGES 32

static int file;
static int direct;
static const volatile char *mapped;

static void prepare_file(void)
{
	file = written_file("file", PAGES);
	direct = open_file("file", O_RDWR | O_DIRECT);
}

/* The first page stays: the foreground writes to it. */
static void prepare_uncached(void)
{
	prepare_file();
	forget_pages(file);
	write_block(file, 0, BLOCK);
	NEED(!fsync(file));
}

/* The ends of rounds are apart: what one reads ahead is not the next one's. */
static unsigned int page_of(unsigned int round)
{
	return (round + 1) * 2 * READAHEAD_PAGES;
}

/* A direct write beyond the end holds the file's lock until it is through. */
static void append_directly(unsigned int round)
{
	off_t place = (off_t)(PAGES + round) * BLOCK;

	NEED(pwrite(direct, buffer(BLOCK), BLOCK, place) == BLOCK);
}

static void read_directly(unsigned int round)
{
	off_t place = (off_t)page_of(round) * BLOCK;

	NEED(pread(direct, buffer(BLOCK), BLOCK, place) == BLOCK);
}

/* A write of a part of a page reads the rest of it with the lock held. */
static void write_partly(unsigned int round)
{
	write_block(file, page_of(round), 100);
}

static void write_first_page(unsigned int round)
{
	(void)round;
	write_block(file, 0, 100);
}

/* Of another page than the first reader. */
static void read_directly_too(unsigned int round)
{
	off_t place = ((off_t)page_of(round) + 1) * BLOCK;

	NEED(pread(direct, buffer(BLOCK), BLOCK, place) == BLOCK);
}

/* XFS locks the file for buffered reads, too. */
static void read_buffered(unsigned int round)
{
	off_t place = (off_t)page_of(round) * BLOCK;

	NEED(pread(file, buffer(BLOCK), BLOCK, place) == BLOCK);
}

static void read_buffered_too(unsigned int round)
{
	off_t place = ((off_t)page_of(round) + READAHEAD_PAGES) * BLOCK;

	NEED(pread(file, buffer(BLOCK), BLOCK, place) == BLOCK);
}

static void prepare_random(void)
{
	prepare_uncached();
	NEED(!posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM));
}

static void write_directly(unsigned int round)
{
	off_t place = (off_t)page_of(round) * BLOCK;

	NEED(pwrite(direct, buffer(BLOCK), BLOCK, place) == BLOCK);
}

/* ---- pages ---- */

static void write_back_page(unsigned int round)
{
	off_t place = (off_t)page_of(round) * BLOCK;

	write_block(file, page_of(round), BLOCK);
	NEED(!sync_file_range(file, place, BLOCK, SYNC_FILE_RANGE_WRITE));
}

static void rewrite_page(unsigned int round)
{
	write_block(file, page_of(round), 100);
}

static void sync_data(unsigned int round)
{
	(void)round;
	NEED(!fdatasync(file));
}

static void write_and_sync_data(unsigned int round)
{
	write_block(file, page_of(round), BLOCK);
	sync_data(round);
}

static void cut_off(unsigned int round)
{
	(void)round;
	NEED(!ftruncate(file, (off_t)page_of(round) * BLOCK + 100));
}

/* From the end to the begin, since each round cuts off the pages behind. */
static void write_back_from_end(unsigned int round)
{
	write_back_page(rounds() - round);
}

static void cut_off_from_end(unsigned int round)
{
	cut_off(rounds() - round);
}

static void read_ahead(unsigned int round)
{
	off_t place = (off_t)page_of(round) * BLOCK;

	NEED(!posix_fadvise(file, place, READAHEAD_PAGES * BLOCK,
			    POSIX_FADV_WILLNEED));
}

static void read_page(unsigned int round)
{
	off_t place = (off_t)(page_of(round) + 1) * BLOCK;

	NEED(pread(file, buffer(BLOCK), BLOCK, place) == BLOCK);
}

static void prepare_mapping(void)
{
	prepare_uncached();
	mapped = mmap(NULL, PAGES * BLOCK, PROT_READ, MAP_SHARED, file, 0);
	NEED(mapped != MAP_FAILED);
	NEED(!madvise((void *)mapped, PAGES * BLOCK, MADV_RANDOM));
}

static void touch_page(unsigned int round)
{
	(void)mapped[(page_of(round) + 1) * BLOCK];
}

/* ---- through io_uring ---- */

static struct ring *common;

static void prepare_common(void)
{
	prepare_uncached();
	common = ring_new(false);
}

static void read_page_by_ring(unsigned int round)
{
	off_t place = (off_t)(page_of(round) + 1) * BLOCK;

	ring_do(IORING_OP_READ, file, buffer(BLOCK), BLOCK, place);
}

static int watch;

static void prepare_watched(void)
{
	prepare_common();
	watch = watch_for_input(common->file);
}

static void read_page_by_watched_ring(unsigned int round)
{
	off_t place = (off_t)(page_of(round) + 1) * BLOCK;
	struct epoll_event found;

	ring_submit(common, IORING_OP_READ, file, buffer(BLOCK), BLOCK, place);
	while (epoll_wait(watch, &found, 1, -1) != 1)
		NEED(errno == EINTR);
	ring_wait(common, 1);
}

static void write_first_page_by_ring(unsigned int round)
{
	(void)round;
	ring_do(IORING_OP_WRITE, file, buffer(BLOCK), 100, 0);
}

/* Does not wait for it: a worker reads the page with the file's lock held. */
static void write_partly_by_common_ring(unsigned int round)
{
	ring_submit(common, IORING_OP_WRITE, file, buffer(BLOCK), 100,
		    (off_t)page_of(round) * BLOCK);
}

/* Its task waits for the ring, and has no lock. Pages are cut off behind it. */
static void write_by_ring_before_cut(unsigned int round)
{
	off_t place = (off_t)(page_of(rounds() - round) - 1) * BLOCK;

	about_to_wait();
	ring_do(IORING_OP_WRITE, direct, buffer(BLOCK), BLOCK, place);
}

/* Writes to one file are executed one by one. */
static void write_first_page_by_common_ring(unsigned int round)
{
	(void)round;
	ring_submit(common, IORING_OP_WRITE, file, buffer(BLOCK), 100, 0);
	ring_wait(common, 2);
}

/* What another process has submitted. */
static void collect_from_common_ring(unsigned int round)
{
	(void)round;
	ring_wait(common, 1);
}

/* The thread that polls the ring submits the write. */
static void write_disk_by_polled_ring(unsigned int round)
{
	ring_do_polled(IORING_OP_WRITE, disk(), buffer(BLOCK), BLOCK,
		       own_place(round));
}

/* ---- direct I/O that one thread submits and another one collects ---- */

static aio_context_t collected;

static void prepare_collected(void)
{
	prepare_uncached();
	common = ring_new(false);
	NEED(!syscall(SYS_io_setup, RING_ENTRIES, &collected));
}

/* The call may be over before the I/O is complete. */
static void submit(int operation, int to, off_t place)
{
	struct iocb call = {
		.aio_lio_opcode = operation,
		.aio_fildes = to,
		.aio_buf = (uintptr_t)buffer(BLOCK),
		.aio_nbytes = BLOCK,
		.aio_offset = place,
	};
	struct iocb *calls[] = { &call };

	NEED(syscall(SYS_io_submit, collected, 1, calls) == 1);
}

static void submit_read(unsigned int round)
{
	submit(IOCB_CMD_PREAD, direct, (off_t)page_of(round) * BLOCK);
}

static void submit_write(unsigned int round)
{
	submit(IOCB_CMD_PWRITE, direct, (off_t)page_of(round) * BLOCK);
}

static void submit_disk_read(unsigned int round)
{
	submit(IOCB_CMD_PREAD, disk(), own_place(round));
}

static void submit_disk_write(unsigned int round)
{
	submit(IOCB_CMD_PWRITE, disk(), own_place(round));
}

static void collect(unsigned int round)
{
	struct io_event event;

	(void)round;
	NEED(syscall(SYS_io_getevents, collected, 1, 1, &event, NULL) == 1);
	NEED(event.res == BLOCK);
}

static void submit_read_to_ring(unsigned int round)
{
	ring_submit(common, IORING_OP_READ, direct, buffer(BLOCK), BLOCK,
		    (off_t)page_of(round) * BLOCK);
}

static void submit_write_to_ring(unsigned int round)
{
	ring_submit(common, IORING_OP_WRITE, direct, buffer(BLOCK), BLOCK,
		    (off_t)page_of(round) * BLOCK);
}

static void collect_from_ring(unsigned int round)
{
	(void)round;
	ring_wait(common, 1);
}

/* ---- what a volume has to make room for, or to copy, before it is written ---- */

#define FRESH_BYTES (64 * 1024)

static int volume;
static int used;

static void prepare_volume(void)
{
	volume = open(getenv("FILES_ON"), O_RDWR | O_DIRECT | O_CLOEXEC);
	NEED(volume >= 0);
	/* Each condition of a scenario is a process of its own. */
	used = open_file("../used", O_RDWR | O_APPEND);
}

/* Each from the end of the volume on, beyond the file system, and never the same. */
static void write_fresh(unsigned int round)
{
	off_t end = lseek(volume, 0, SEEK_END);

	(void)round;
	NEED(write(used, "", 1) == 1);
	NEED(pwrite(volume, buffer(BLOCK), BLOCK,
		    end - lseek(used, 0, SEEK_END) * FRESH_BYTES) == BLOCK);
}

#define SCENARIO(_group, _name, _title, _off, _prepare, _background,           \
		 _foreground)                                                  \
	{                                                                      \
		.name = _name, .group = _group, .title = _title, .off = _off,  \
		.prepare = _prepare,                                           \
		.background = { _background }, .foreground = _foreground,      \
	}

#define QUEUED(_name, _title, _off, _background, _foreground)                  \
	{                                                                      \
		.name = _name, .group = "file", .title = _title, .off = _off,  \
		.flood = FLOOD_QUEUED, .prepare = prepare_collected,           \
		.background = { _background }, .foreground = _foreground,      \
	}

#define AIO_COLLECT_ON(_group, _device)                                       \
	SCENARIO(_group, _group "-aio-collect",                               \
		 "libaio: completion of a direct read that another thread "   \
		 "submitted, on " _device, "boost,io", prepare_collected,     \
		 submit_read, collect)

/* What waits for I/O of others, on a device above the disk. */
#define REWRITE_ON(_group, _device)                                           \
	SCENARIO(_group, _group "-rewrite",                                   \
		 "rewriting a page under writeback, on " _device, "boost,io", \
		 prepare_file, write_back_page, rewrite_page)

#define ON_DEVICE(_group, _device)                                            \
	REWRITE_ON(_group, _device),                                          \
	SCENARIO(_group, _group "-readahead",                                 \
		 "reading a page that readahead holds, on " _device,          \
		 "boost,io", prepare_uncached, read_ahead, read_page),        \
	AIO_COLLECT_ON(_group, _device)

const struct scenario file_scenarios[] = {
	SCENARIO("file", "inode-lock", "inode lock, held by a direct append",
		      "boost,locks", prepare_file, append_directly,
		      write_first_page),
	SCENARIO("file", "inode-lock-shared",
		 "inode lock, held by a direct read",
		      "boost,locks", prepare_uncached, read_directly,
		      write_first_page),
	{
		.name = "inode-lock-readers",
		.group = "file",
		.title = "inode lock, held by two direct reads",
		.off = "boost,locks",
		.prepare = prepare_uncached,
		.background = { read_directly, read_directly_too },
		.foreground = write_first_page,
	},
	{
		.name = "direct-io",
		.group = "file",
		.title = "cutting off a file while a direct write is queued",
		.off = "boost,io",
		.flood = FLOOD_QUEUED,
		.prepare = prepare_uncached,
		.background = { write_by_ring_before_cut },
		.foreground = cut_off_from_end,
	},
	SCENARIO("file", "inode-lock-partial-write",
		      "inode lock, held by a buffered write that has to read",
		      "boost,locks", prepare_uncached, write_partly,
		      write_first_page),
	SCENARIO("file", "rewrite", "rewriting a page under writeback",
		      "boost,io", prepare_file, write_back_page, rewrite_page),
	SCENARIO("file", "fdatasync", "fdatasync of a page under writeback",
		      "boost,io", prepare_file, write_back_page, sync_data),
	SCENARIO("file", "truncate", "cutting off a page under writeback",
		      "boost,io", prepare_file, write_back_from_end,
		      cut_off_from_end),
	SCENARIO("file", "readahead", "reading a page that readahead holds",
		      "boost,io", prepare_uncached, read_ahead, read_page),
	SCENARIO("file", "fault", "page fault on a page that readahead holds",
		      "boost,io", prepare_mapping, read_ahead, touch_page),
	SCENARIO("file", "uring-read",
		 "io_uring: reading a page that readahead holds",
		 "boost,uring", prepare_uncached, read_ahead,
		 read_page_by_ring),
	SCENARIO("file", "uring-epoll",
		 "io_uring: reading a page that readahead holds, with the ring "
		 "under epoll", "boost,uring", prepare_watched, read_ahead,
		 read_page_by_watched_ring),
	SCENARIO("file", "uring-write",
		 "io_uring: write, inode lock held by a direct append",
		 "boost,uring", prepare_file, append_directly,
		 write_first_page_by_ring),
	SCENARIO("file", "uring-write-behind",
		 "io_uring: write behind that of another thread, which has to "
		 "read, on one ring",
		 "boost,uring", prepare_common, write_partly_by_common_ring,
		 write_first_page_by_common_ring),
	{
		.name = "uring-shared",
		.group = "file",
		.title = "io_uring: completion of a write of another process, which "
			 "has to read, on one ring",
		.off = "boost,uring",
		.processes = true,
		.prepare = prepare_common,
		.background = { write_partly_by_common_ring },
		.foreground = collect_from_common_ring,
	},
	SCENARIO("file", "uring-polled",
		 "io_uring: direct write that the ring's thread submits",
		 "boost,uring", prepare_file, NULL, write_disk_by_polled_ring),
	SCENARIO("file", "uring-collect",
		 "io_uring: completion of a direct read that another thread "
		 "submitted", "boost,uring", prepare_collected,
		 submit_read_to_ring, collect_from_ring),
	QUEUED("uring-collect-queued",
	       "io_uring: completion of a direct write that another thread "
	       "submitted, and that is queued", "boost,uring",
	       submit_write_to_ring, collect_from_ring),
	SCENARIO("file", "aio-collect",
		 "libaio: completion of a direct read that another thread "
		 "submitted", "boost,io", prepare_collected, submit_read,
		 collect),
	QUEUED("aio-collect-queued",
	       "libaio: completion of a direct write that another thread "
	       "submitted, and that is queued", "boost,io", submit_write,
	       collect),
	SCENARIO("file", "aio-disk",
		 "libaio: completion of a read of the block device that "
		 "another thread submitted", "boost,io", prepare_collected,
		 submit_disk_read, collect),
	QUEUED("aio-disk-queued",
	       "libaio: completion of a write to the block device that "
	       "another thread submitted, and that is queued", "boost,io",
	       submit_disk_write, collect),
	ON_DEVICE("dm", "dm-linear"),
	ON_DEVICE("raid1", "md raid1"),
	SCENARIO("raid5", "raid5-write",
		 "direct write on md raid5, whose thread reads and writes for "
		 "it", "boost,stamp", prepare_file, NULL, write_directly),
	ON_DEVICE("raid5", "md raid5"),
	ON_DEVICE("crypt", "dm-crypt"),
	ON_DEVICE("thin", "a thin volume"),
	SCENARIO("thin", "thin-fresh",
		 "direct write to a block of a thin volume that has none yet",
		 "boost,io", prepare_volume, NULL, write_fresh),
	ON_DEVICE("mirror", "a mirror of LVM"),
	SCENARIO("mirror", "mirror-fresh",
		 "direct write to a region of a mirror that is marked first",
		 "boost,io", prepare_volume, NULL, write_fresh),
	ON_DEVICE("snapshot", "a volume with a snapshot"),
	SCENARIO("snapshot", "snapshot-fresh",
		 "direct write to a chunk that is copied to a snapshot first",
		 "boost,io", prepare_volume, NULL, write_fresh),
	AIO_COLLECT_ON("overlay", "overlayfs"),
	SCENARIO("overlay", "overlay-uring-collect",
		 "io_uring: completion of a direct read that another thread "
		 "submitted, on overlayfs", "boost,uring", prepare_collected,
		 submit_read_to_ring, collect_from_ring),
	REWRITE_ON("loop", "a loop device with direct I/O"),
	SCENARIO("loop", "loop-write",
		 "direct write on a loop device with direct I/O",
		 "boost,stamp,io", prepare_file, NULL, write_directly),
	{
		.name = "loop-aio-collect",
		.group = "loop",
		.title = "libaio: completion of a direct write that another "
			 "thread submitted, on a loop device with direct I/O",
		.off = "boost,io",
		.flood = FLOOD_QUEUED,
		.prepare = prepare_collected,
		.background = { submit_write },
		.foreground = collect,
	},
	SCENARIO("loop-cached", "loop-cached-sync",
		 "write and fdatasync on a loop device, whose file is cached",
		 "boost,io", prepare_file, NULL, write_and_sync_data),
	ON_DEVICE("btrfs", "btrfs"),
	SCENARIO("btrfs", "btrfs-inode-lock",
		 "btrfs: inode lock, held by a buffered write that has to read",
		 "boost,locks", prepare_uncached, write_partly,
		 write_first_page),
	SCENARIO("xfs", "xfs-inode-lock",
		 "XFS: inode lock, held by a direct read",
		 "boost,locks", prepare_uncached, read_directly,
		 write_first_page),
	{
		.name = "xfs-inode-lock-readers",
		.group = "xfs",
		.title = "XFS: inode lock, held by two buffered reads",
		.off = "boost,locks",
		.prepare = prepare_random,
		.background = { read_buffered, read_buffered_too },
		.foreground = write_first_page,
	},
	SCENARIO("xfs", "xfs-rewrite", "XFS: rewriting a page under writeback",
		 "boost,io", prepare_file, write_back_page, rewrite_page),
	SCENARIO("xfs", "xfs-readahead",
		 "XFS: reading a page that readahead holds", "boost,io",
		 prepare_uncached, read_ahead, read_page),
	SCENARIO("xfs", "xfs-uring-read",
		 "XFS, io_uring: reading a page that readahead holds",
		 "boost,uring", prepare_uncached, read_ahead,
		 read_page_by_ring),
	SCENARIO("xfs", "xfs-uring-write",
		 "XFS, io_uring: write, inode lock held by a direct read",
		 "boost,uring", prepare_uncached, read_directly,
		 write_first_page_by_ring),
	{ 0 },
};
