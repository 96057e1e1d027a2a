/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A ring of io_uring, by system calls alone, for programs that run in guests.
 * When something fails, the program ends with a message.
 */
#ifndef RING_H
#define RING_H

#include <errno.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_ENTRIES 8
/* It takes all of a processor until then. */
#define RING_POLLER_IDLE_MS 10
#define RING_NEED(condition) ring_need(condition, #condition)

static inline void ring_need(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "io_uring: %s: %s\n", what, strerror(errno));
	_exit(1);
}

struct ring {
	int file;
	/* Of io_uring_enter(2): the file or its number, and flags. */
	int entered;
	unsigned int enter_flags;
	/* Of each operation. */
	unsigned char flags;
	_Atomic unsigned int *submit_tail;
	unsigned int *submit_mask;
	unsigned int *submit_array;
	_Atomic unsigned int *complete_head;
	_Atomic unsigned int *complete_tail;
	unsigned int *complete_mask;
	struct io_uring_sqe *submissions;
	struct io_uring_cqe *completions;
};

static inline void *ring_map(int file, size_t bytes, off_t place)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_POPULATE, file, place);

	RING_NEED(memory != MAP_FAILED);
	return memory;
}

/* With @polled, a thread of the kernel polls the submission queue. */
static inline struct ring *ring_new(bool polled)
{
	struct io_uring_params set = {
		.flags = polled ? IORING_SETUP_SQPOLL : 0,
		.sq_thread_idle = RING_POLLER_IDLE_MS,
	};
	struct ring *ring = calloc(1, sizeof(*ring));
	char *submit, *complete;

	RING_NEED(ring);
	ring->enter_flags = polled ? IORING_ENTER_SQ_WAKEUP : 0;
	ring->file = syscall(SYS_io_uring_setup, RING_ENTRIES, &set);
	RING_NEED(ring->file >= 0);
	ring->entered = ring->file;
	submit = ring_map(ring->file, set.sq_off.array + set.sq_entries * 4,
			  IORING_OFF_SQ_RING);
	complete = ring_map(ring->file,
			    set.cq_off.cqes + set.cq_entries *
						      sizeof(struct io_uring_cqe),
			    IORING_OFF_CQ_RING);
	ring->submissions = ring_map(ring->file,
				     set.sq_entries *
					     sizeof(struct io_uring_sqe),
				     IORING_OFF_SQES);
	ring->submit_tail = (void *)(submit + set.sq_off.tail);
	ring->submit_mask = (void *)(submit + set.sq_off.ring_mask);
	ring->submit_array = (void *)(submit + set.sq_off.array);
	ring->complete_head = (void *)(complete + set.cq_off.head);
	ring->complete_tail = (void *)(complete + set.cq_off.tail);
	ring->complete_mask = (void *)(complete + set.cq_off.ring_mask);
	ring->completions = (void *)(complete + set.cq_off.cqes);
	return ring;
}

/* From now on, workers execute all that is submitted (IOSQE_ASYNC). */
static inline void ring_leave_to_workers(struct ring *ring)
{
	ring->flags = IOSQE_ASYNC;
}

/* The calling thread, and no other, enters the ring by number. */
static inline void ring_register(struct ring *ring)
{
	struct io_uring_rsrc_update number = { .offset = -1U,
					       .data = ring->file };

	RING_NEED(syscall(SYS_io_uring_register, ring->file,
			  IORING_REGISTER_RING_FDS, &number, 1) == 1);
	ring->entered = number.offset;
	ring->enter_flags |= IORING_ENTER_REGISTERED_RING;
}

static inline void ring_enter(struct ring *ring, unsigned int submitted,
			      unsigned int wait)
{
	unsigned int flags = ring->enter_flags |
			     (wait ? IORING_ENTER_GETEVENTS : 0);
	int done = syscall(SYS_io_uring_enter, ring->entered, submitted, wait,
			   flags, NULL, 0);

	RING_NEED(done == (int)submitted || (done < 0 && errno == EINTR));
}

/*
 * Submits an operation (IORING_OP_*) that is to give @bytes as its result, and
 * waits until @wait operations are complete. Threads that share a ring take
 * turns.
 */
static inline void ring_submit_and_wait(struct ring *ring, int operation,
					int file, void *data, size_t bytes,
					off_t place, unsigned int wait)
{
	unsigned int tail = *ring->submit_tail;
	unsigned int index = tail & *ring->submit_mask;
	struct io_uring_sqe *entry = &ring->submissions[index];

	memset(entry, 0, sizeof(*entry));
	entry->opcode = operation;
	entry->flags = ring->flags;
	entry->fd = file;
	entry->addr = (uintptr_t)data;
	entry->len = data ? bytes : 0;
	entry->off = place;
	entry->user_data = bytes;
	ring->submit_array[index] = index;
	*ring->submit_tail = tail + 1;
	ring_enter(ring, 1, wait);
}

static inline void ring_submit(struct ring *ring, int operation, int file,
			       void *data, size_t bytes, off_t place)
{
	ring_submit_and_wait(ring, operation, file, data, bytes, place, 0);
}

/* Takes @count completions of whichever thread's operations. */
static inline void ring_wait(struct ring *ring, unsigned int count)
{
	const struct io_uring_cqe *entry;
	unsigned int head, i;

	while (*ring->complete_tail - *ring->complete_head < count)
		ring_enter(ring, 0, count);
	head = *ring->complete_head;
	for (i = 0; i < count; i++) {
		entry = &ring->completions[(head + i) & *ring->complete_mask];
		errno = entry->res < 0 ? -entry->res : 0;
		RING_NEED(entry->res == (int)entry->user_data);
	}
	*ring->complete_head = head + count;
}

/* Does an operation through a ring of the calling thread. */
static inline void ring_do(int operation, int file, void *data, size_t bytes,
			   off_t place)
{
	static __thread struct ring *own;

	if (!own)
		own = ring_new(false);
	ring_submit_and_wait(own, operation, file, data, bytes, place, 1);
	ring_wait(own, 1);
}

static inline void ring_do_polled(int operation, int file, void *data,
				  size_t bytes, off_t place)
{
	static __thread struct ring *own;

	if (!own)
		own = ring_new(true);
	ring_submit_and_wait(own, operation, file, data, bytes, place, 1);
	ring_wait(own, 1);
}

#endif /* RING_H */
