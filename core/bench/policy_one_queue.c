// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * fgio with one queue for the device, as kmod/block/elevator.c has it: core's
 * queue, and the tree and the hash for merging, under one lock. The drive does
 * not rotate, so no sweep is asked for.
 */
#include <stdlib.h>

#include "../queue.h"
#include "by_end.h"
#include "clock.h"
#include "lock.h"
#include "policy.h"

/* As RETRY_SOON_NS of the elevator. */
#define RETRY_SOON_NS 100000000ULL

struct one_queue {
	struct bench_lock lock __attribute__((aligned(64)));
	u64 retry_at_ns;
	struct bench_tree by_sector[FGIO_CLASSES][FGIO_DIRECTIONS];
	struct bench_by_end by_end;
	u64 dispatched_bytes[FGIO_CLASSES];
	struct fgio_queue queue;
};

static void *make(u32 cpus, u32 queues)
{
	struct one_queue *one = bench_allocate(sizeof(*one));

	(void)cpus;
	(void)queues;
	bench_lock_init(&one->lock, BENCH_DEVICE_LOCK);
	fgio_queue_init(&one->queue, false);
	return one;
}

static struct bench_io *io_of(struct fgio_request *request)
{
	return fgio_container_of(request, struct bench_io, request);
}

static struct bench_tree *tree_of(struct one_queue *one,
				  const struct bench_io *io)
{
	return &one->by_sector[io->request.class][io->write];
}

static bool would_grow(struct one_queue *one, const struct bench_io *io)
{
	struct bench_tree *tree = &one->by_sector[io->critical][io->write];
	struct bench_node *node;
	u64 end = bench_end_of(io);

	if (bench_by_end_find(&one->by_end, io->sector))
		return true;
	node = bench_tree_at_or_after(tree, end);
	return node && node->key == end;
}

static bool look_up(void *state, u32 queue, const struct bench_io *io)
{
	struct one_queue *one = state;
	bool grows;

	(void)queue;
	if (!fgio_queue_holds_requests(&one->queue))
		return false;
	bench_lock(&one->lock);
	grows = would_grow(one, io);
	bench_unlock(&one->lock);
	return grows;
}

static void insert_one(struct one_queue *one, struct bench_io *io)
{
	struct fgio_request *request = &io->request;

	request->class = io->critical ? FGIO_CRITICAL : FGIO_NONCRITICAL;
	if (fgio_queue_holds_requests(&one->queue) &&
	    bench_by_end_find(&one->by_end, io->sector))
		return;
	request->sector = io->sector;
	request->sectors = io->sectors;
	request->write = io->write;
	request->queued_ns = io->start_ns;
	fgio_queue_insert(&one->queue, request, false);
	io->by_sector.key = io->sector;
	bench_tree_add(tree_of(one, io), &io->by_sector);
	bench_by_end_add(&one->by_end, io);
}

static void insert(void *state, u32 queue, struct bench_io **ios, u32 count)
{
	struct one_queue *one = state;

	(void)queue;
	bench_lock(&one->lock);
	for (u32 i = 0; i < count; i++)
		insert_one(one, ios[i]);
	bench_unlock(&one->lock);
}

static bool has_work(void *state, u32 queue)
{
	struct one_queue *one = state;

	(void)queue;
	return fgio_queue_has_work(&one->queue);
}

/* The time for which a timer is to be set, or 0: it stands. */
static u64 retry_later(struct one_queue *one, u64 now_ns)
{
	u64 retry_ns = fgio_queue_retry_ns(&one->queue);

	if (!retry_ns)
		return 0;
	if (one->retry_at_ns && one->retry_at_ns <= retry_ns &&
	    one->retry_at_ns >= now_ns + RETRY_SOON_NS)
		return 0;
	one->retry_at_ns = retry_ns;
	return retry_ns;
}

static struct bench_io *next(struct one_queue *one, u64 *retry_ns)
{
	u64 now_ns = fgio_queue_needs_clock(&one->queue) ? bench_now_ns() : 0;
	struct fgio_request *request;
	struct bench_io *io;

	*retry_ns = 0;
	request = fgio_queue_next(&one->queue, now_ns, NULL);
	if (!request) {
		*retry_ns = retry_later(one, now_ns);
		return NULL;
	}
	io = io_of(request);
	one->dispatched_bytes[request->class] += io->sectors * 512;
	bench_tree_remove(tree_of(one, io), &io->by_sector);
	bench_by_end_remove(&one->by_end, io);
	return io;
}

static struct bench_io *dispatch(void *state, u32 queue, u64 *retry_ns)
{
	struct one_queue *one = state;
	struct bench_io *io;

	(void)queue;
	bench_lock(&one->lock);
	io = next(one, retry_ns);
	bench_unlock(&one->lock);
	return io;
}

static u32 completed(void *state, struct bench_io *io, u64 now_ns)
{
	struct one_queue *one = state;

	return fgio_queue_left_device(&one->queue, &io->request, now_ns) ?
		       BENCH_THIS_CPUS_QUEUE :
		       BENCH_NO_QUEUE;
}

static u32 retry(void *state, u64 now_ns)
{
	struct one_queue *one = state;

	(void)now_ns;
	fgio_queue_retry(&one->queue);
	return BENCH_THIS_CPUS_QUEUE;
}

const struct bench_policy bench_one_queue = {
	.name = "fgio, one queue",
	.learns_ns = BENCH_FGIO_LEARNS_NS,
	.make = make,
	.destroy = free,
	.look_up = look_up,
	.insert = insert,
	.has_work = has_work,
	.dispatch = dispatch,
	.completed = completed,
	.retry = retry,
};
