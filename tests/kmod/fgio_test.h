/* SPDX-License-Identifier: GPL-2.0 */
/* The calls of fgio_test.ko, through /dev/fgio_test. */
#ifndef FGIO_TEST_H
#define FGIO_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FGIO_TEST_PATH "/dev/fgio_test"

/* One lock of each kind. Those of an rw_semaphore kind share it. */
enum fgio_test_lock {
	FGIO_TEST_MUTEX,
	FGIO_TEST_SEMAPHORE,
	FGIO_TEST_RWSEM_WRITE,
	FGIO_TEST_RWSEM_READ,
	FGIO_TEST_PERCPU_WRITE,
	FGIO_TEST_PERCPU_READ,
	FGIO_TEST_LOCKS,
};

/**
 * struct fgio_test_hold - take a lock, do I/O, release the lock
 * @lock: enum fgio_test_lock
 * @fd: file to read from while the lock is held; -1 to read nothing
 * @offset: in the file, in bytes
 * @buffer: user address of the memory to read to
 * @bytes: length of the read
 * @reserved: zero
 */
struct fgio_test_hold {
	__u32 lock;
	__s32 fd;
	__u64 offset;
	__u64 buffer;
	__u32 bytes;
	__u32 reserved;
};

/* Returns the bytes that were read. */
#define FGIO_TEST_HOLD _IOW(0xF7, 0, struct fgio_test_hold)

/* Writes to the file instead, through the page cache and without a lock. */
#define FGIO_TEST_DIRTY _IOW(0xF7, 1, struct fgio_test_hold)

#endif
