/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the bench asks of a policy: the calls that blk-mq makes into a scheduler
 * for each I/O, in the same order and with the same locks held, none.
 *
 * Several CPUs call at once, each for the hardware queue that blk-mq would give
 * it. A policy has no state but what make() returned.
 */
#ifndef FGIO_BENCH_POLICY_H
#define FGIO_BENCH_POLICY_H

#include "../request.h"
#include "../types.h"
#include "tree.h"

enum bench_io_state {
	BENCH_IO_IDLE,
	BENCH_IO_SUBMITTED,
	BENCH_IO_IN_DEVICE,
};

/**
 * struct bench_io - an I/O, laid out as struct request is: what all policies
 *	read on one line, what sorts and merges on the next, fgio's own part
 *	behind
 * @fifo: position in a policy's FIFO
 * @sector: first sector
 * @start_ns: when it was submitted
 * @expires_ns: mq-deadline's deadline
 * @sectors: length
 * @cpu: the CPU that submitted it
 * @queue: the hardware queue of that CPU
 * @state: enum bench_io_state, the machine's own
 * @write: it is no read
 * @critical: its submitter is foreground
 * @due_ns: when the drive is done with it, the machine's own
 * @next_done: the next one that is done, the machine's own
 * @by_end_next: in the hash by last sector, for merging
 * @by_end_from: the pointer to it there; NULL: it is not there
 * @by_sector: in the tree by first sector, for merging and sweeps
 * @request: core's view of it
 */
struct bench_io {
	struct fgio_list fifo __attribute__((aligned(64)));
	u64 sector;
	u64 start_ns;
	u64 expires_ns;
	u32 sectors;
	u16 cpu;
	u16 queue;
	u8 state;
	bool write;
	bool critical;
	u64 due_ns;

	struct bench_io *by_end_next __attribute__((aligned(64)));
	struct bench_io **by_end_from;
	struct bench_node by_sector;
	struct bench_io *next_done;

	struct fgio_request request __attribute__((aligned(64)));
};

/*
 * Answers of completed() and retry(): the hardware queue to run, or one of
 * these. A queue runs on a CPU that it serves.
 */
#define BENCH_NO_QUEUE UINT32_MAX
#define BENCH_THIS_CPUS_QUEUE (UINT32_MAX - 1)
#define BENCH_ALL_QUEUES (UINT32_MAX - 2)

/* Instead of a time: call retry() now. */
#define BENCH_AT_ONCE 1

/**
 * struct bench_policy - a scheduler's rules
 * @name: for tables and options
 * @turn_ns: when completed() or retry() named a queue, retry() is called again
 *	after this time; 0: it is not
 * @learns_ns: time that it takes to learn what the drive does where a part of
 *	the I/O is critical; figures are taken after that
 * @make: its state for a number of CPUs and hardware queues
 * @destroy: frees that
 * @look_up: looks for a queued I/O that one of @sectors at @sector could be
 *	merged with, before it is plugged. NULL: there is no such search.
 *	Return: whether it found one
 * @insert: queues a plugged batch, or sends it by bench_issue()
 * @has_work: whether dispatch() could return an I/O; no lock
 * @dispatch: the next I/O for the drive, or NULL; *@retry_ns is the time for
 *	which the caller sets a timer, 0, or BENCH_AT_ONCE
 * @completed: the drive is done with an I/O. Return: the queue to run
 * @retry: the timer has fired. Return: the queue to run
 */
struct bench_policy {
	const char *name;
	u64 turn_ns;
	u64 learns_ns;
	void *(*make)(u32 cpus, u32 queues);
	void (*destroy)(void *state);
	bool (*look_up)(void *state, u32 queue, const struct bench_io *io);
	void (*insert)(void *state, u32 queue, struct bench_io **ios,
		       u32 count);
	bool (*has_work)(void *state, u32 queue);
	struct bench_io *(*dispatch)(void *state, u32 queue, u64 *retry_ns);
	u32 (*completed)(void *state, struct bench_io *io, u64 now_ns);
	u32 (*retry)(void *state, u64 now_ns);
};

/*
 * For @learns_ns: from the first cost of fgio's depth to that of any drive. Of
 * 400 seeds on eight CPUs and four queues, 380 had 85 % of the drive within
 * 0.6 s, and the last within 0.9 s.
 */
#define BENCH_FGIO_LEARNS_NS 1500000000ULL

extern const struct bench_policy bench_none;
extern const struct bench_policy bench_deadline;
extern const struct bench_policy bench_one_queue;
extern const struct bench_policy bench_many_queues;

/* The policies that this tree has, in the order of tables; ends with NULL. */
extern const struct bench_policy *const bench_policies[];

/* NULL: there is none of that name. */
const struct bench_policy *bench_policy_by_name(const char *name);

/* The drive gets an I/O. Context: any CPU, no lock held. */
void bench_issue(struct bench_io *io);

/* Zeroed, at the begin of a cache line; free() frees it. Ends the program. */
void *bench_allocate(size_t bytes);

#endif /* FGIO_BENCH_POLICY_H */
