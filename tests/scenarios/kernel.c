// SPDX-License-Identifier: Apache-2.0 OR MIT
/* The kernel's own locks, held across an I/O by fgio_test.ko. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "scenario.h"
#include "tests/kmod/fgio_test.h"

#define OFF "boost,locks"
#define BLOCKS 256

static int test;
static int file;

static void prepare_test(void)
{
	test = open(FGIO_TEST_PATH, O_RDWR | O_CLOEXEC);
	NEED(test >= 0);
	file = disk();
}

static void prepare_file(void)
{
	prepare_test();
	file = written_file("file", BLOCKS);
	forget_pages(file);
	NEED(!posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM));
}

static void hold(enum fgio_test_lock lock, int fd, uint64_t offset)
{
	struct fgio_test_hold hold = {
		.lock = lock,
		.fd = fd,
		.offset = offset,
		.buffer = (uintptr_t)buffer(BLOCK),
		.bytes = fd < 0 ? 0 : BLOCK,
	};

	NEED(ioctl(test, FGIO_TEST_HOLD, &hold) == (fd < 0 ? 0 : BLOCK));
}

static uint64_t place(unsigned int round)
{
	return file == disk() ? (uint64_t)own_place(round) :
			       (round * 7ULL + 1) * BLOCK;
}

#define LOCK(name, held, taken)                       \
	static void hold_##name(unsigned int round)   \
	{                                             \
		hold(held, file, place(round));       \
	}                                             \
						      \
	static void take_##name(unsigned int round)   \
	{                                             \
		(void)round;                          \
		hold(taken, -1, 0);                   \
	}

LOCK(mutex, FGIO_TEST_MUTEX, FGIO_TEST_MUTEX)
LOCK(semaphore, FGIO_TEST_SEMAPHORE, FGIO_TEST_SEMAPHORE)
LOCK(rwsem_write, FGIO_TEST_RWSEM_WRITE, FGIO_TEST_RWSEM_WRITE)
LOCK(rwsem_write_read, FGIO_TEST_RWSEM_WRITE, FGIO_TEST_RWSEM_READ)
LOCK(rwsem_read, FGIO_TEST_RWSEM_READ, FGIO_TEST_RWSEM_WRITE)
LOCK(percpu_write, FGIO_TEST_PERCPU_WRITE, FGIO_TEST_PERCPU_READ)

#define KERNEL(_name, _title, _prepare, _lock)                           \
	{                                                                \
		.name = _name, .group = "kernel", .title = _title,       \
		.off = OFF, .prepare = _prepare,                         \
		.background = { hold_##_lock },                          \
		.foreground = take_##_lock,                              \
	}

const struct scenario kernel_scenarios[] = {
	KERNEL("kernel-mutex", "mutex, held across a direct read",
	       prepare_test, mutex),
	KERNEL("kernel-mutex-buffered", "mutex, held across a buffered read",
	       prepare_file, mutex),
	KERNEL("kernel-semaphore", "semaphore", prepare_test, semaphore),
	KERNEL("rwsem-writer", "rw_semaphore held by a writer, for a writer",
	       prepare_test, rwsem_write),
	KERNEL("rwsem-writer-read",
	       "rw_semaphore held by a writer, for a reader",
	       prepare_test, rwsem_write_read),
	KERNEL("rwsem-reader", "rw_semaphore held by a reader, for a writer",
	       prepare_test, rwsem_read),
	KERNEL("percpu-rwsem-writer", "percpu-rwsem held by a writer",
	       prepare_test, percpu_write),
	{ 0 },
};
