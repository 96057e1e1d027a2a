// SPDX-License-Identifier: GPL-2.0
/*
 * Readers of an rw_semaphore that are asleep (kernel/locking/rwsem.c). The lock
 * counts its readers; it records the last one that came, which may be gone.
 *
 * A reader is going to release the lock, so it keeps the lock's address, or that
 * of the object which the lock is part of (an inode, an mm_struct). While it
 * sleeps, that is on its stack. All threads that sleep uninterruptibly are
 * looked at; one whose stack has such an address, and that does not wait for the
 * lock itself, is likely to hold it, and at least at work on that object. So it
 * gets what a guess gets.
 *
 * A reader that runs is not found: it comes to sleep or to release the lock
 * before long. To look at all threads takes long, so it is done after a walk has
 * promoted what it found, and the next walk begins at once.
 */
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "base/identity.h"
#include "base/scale.h"
#include "compat/compat.h"
#include "core/looks.h"
#include "graph/found.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/lock_readers.h"

/* Stacks that one scan reads, in about 5 microseconds each. */
#define STACKS_MAX 1024
/* A lock lies at most this far from the begin of its object, in bytes. */
#define OBJECT_BYTES 512
/* Words of a stack that are read at a time, and times. */
#define CHUNK 64
#define CHUNKS_MAX 16

/**
 * struct scan - the sleeping readers of one lock
 * @count: length of @readers
 * @readers: identities
 */
struct scan {
	unsigned int count;
	u64 readers[FGIO_LOCK_READERS];
};

/* By address of the lock. All for the walk's thread alone. */
static struct fgio_look look[FGIO_LOCK_SCANS];
static struct fgio_looks looks = { .look = look, .count = FGIO_LOCK_SCANS };
static struct scan scans[FGIO_LOCK_SCANS];

static bool has_address(const unsigned long *words, unsigned int count,
			u64 lock)
{
	while (count--)
		if (lock - words[count] <= OBJECT_BYTES)
			return true;
	return false;
}

/* The task may wake up meanwhile, and its stack be any memory, or none. */
static bool has_on_stack(const struct task_struct *task, u64 lock)
{
	const unsigned long *at, *end;
	unsigned long words[CHUNK];
	unsigned int chunk, count;

	if (!fgio_stack_of_sleeper(task, &at, &end))
		return false;
	for (chunk = 0; chunk < CHUNKS_MAX && at < end; chunk++) {
		count = min_t(unsigned long, CHUNK, end - at);
		if (copy_from_kernel_nofault(words, at, count * sizeof(*at)))
			return false;
		if (has_address(words, count, lock))
			return true;
		at += count;
	}
	return false;
}

static bool waits_for(u64 task, u64 lock)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	unsigned int count = fgio_wait_copy_of(task, waits, NULL);

	while (count)
		if (waits[--count].object == lock)
			return true;
	return false;
}

/* Adds to an empty scan. Context: RCU. */
static void look_at_threads(struct scan *scan, u64 lock)
{
	struct task_struct *process, *task;
	unsigned int stacks = 0;

	for_each_process_thread(process, task) {
		if (likely(!fgio_sleeps_uninterruptibly(task)))
			continue;
		if (stacks++ == STACKS_MAX ||
		    scan->count == FGIO_LOCK_READERS)
			return;
		if (!has_on_stack(task, lock) || waits_for((u64)task, lock))
			continue;
		fgio_look_found((u64)task);
		scan->readers[scan->count++] = fgio_identity_of(task);
	}
}

void fgio_lock_guess_readers(const struct fgio_walk_step *step, u64 known)
{
	u32 place = fgio_found_by_looks(&looks, step->wait->object);
	const struct scan *scan;
	unsigned int i;
	u64 task;

	if (place == FGIO_LOOKS_NONE)
		return;
	scan = &scans[place];
	for (i = 0; i < scan->count; i++) {
		task = fgio_name_identity(scan->readers[i]);
		if (task != known)
			fgio_walk_guessed(step->walk, task);
	}
}

static void make(u32 place, u64 lock)
{
	scans[place].count = 0;
	look_at_threads(&scans[place], lock);
}

bool fgio_lock_look_for_readers(void)
{
	return fgio_make_looks(&looks, make);
}
