/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loop devices (drivers/block/loop.c): workers of the kernel read and write a file
 * for what is in the device's queue, one request after the other, and sync the
 * file for flushes. A device has a worker for each cgroup that uses it.
 */
#ifndef FGIO_BLOCK_LOOP_H
#define FGIO_BLOCK_LOOP_H

#include <linux/types.h>

struct bio;
struct fgio_originals_look;

/* Whether loop devices were in use while hooks were attached. Context: any. */
bool fgio_loops_are_used(void);
void fgio_loops_note_used(bool used);

/*
 * A task waits for the workers of a loop device. From now on for some
 * milliseconds, what they submit is critical, and what the journal of the file
 * system below does: the device syncs its file several times for one commit of the
 * file system above, each time in a commit below. Context: the walk's thread.
 */
void fgio_loop_note_awaited(u64 loop);

/* Whether one is awaited. Context: any. */
bool fgio_loops_are_awaited(void);

/*
 * Whether a bio of the current task, which is submitting it, is such I/O. Not for
 * bios that have originals: these say what is critical. Context: the submitter's.
 */
bool fgio_loop_awaits(const struct bio *bio);

/*
 * As fgio_originals_visit(), for direct I/O of a loop device: the bios of the
 * request for which it reads or writes a file. Return: whether it is some.
 */
bool fgio_loop_visit(u64 address, const struct bio *bio,
		     struct fgio_originals_look *look);

/*
 * The struct loop_device of a block device, or 0 where that is none of a loop
 * device. It may be gone, and the result is compared and never followed. Context:
 * any; reads without faults.
 */
u64 fgio_loop_of(u64 device);

/* Whether a work_struct, which may be gone, is of a loop device. Context: any. */
bool fgio_work_is_of_loop(u64 work, u64 loop);

#endif /* FGIO_BLOCK_LOOP_H */
