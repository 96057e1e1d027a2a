// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * fgio with the drive's own hardware queues, as kmod/block/hw_queue.c has it:
 * core's queue of each under a lock of its own, and what they share under the
 * device's, which is the inner one. Nothing is merged.
 */
#include <stdlib.h>

#include "../hw_queue.h"
#include "clock.h"
#include "lock.h"
#include "policy.h"

struct hardware_queue {
	struct bench_lock lock __attribute__((aligned(64)));
	u64 dispatched_bytes[FGIO_CLASSES];
	struct fgio_hw_queue hw;
};

struct many_queues {
	struct bench_lock lock __attribute__((aligned(64)));
	u64 retry_at_ns;
	struct fgio_queue queue;
	struct fgio_hw_queue **hw;
	struct hardware_queue *queues;
};

static void *make(u32 cpus, u32 queues)
{
	struct many_queues *many = bench_allocate(sizeof(*many));

	(void)cpus;
	many->hw = bench_allocate(queues * sizeof(*many->hw));
	many->queues = bench_allocate(queues * sizeof(*many->queues));
	bench_lock_init(&many->lock, BENCH_DEVICE_LOCK);
	fgio_queue_init(&many->queue, false);
	for (u32 i = 0; i < queues; i++) {
		bench_lock_init(&many->queues[i].lock, BENCH_QUEUE_LOCK);
		many->hw[i] = &many->queues[i].hw;
		fgio_hw_queue_init(many->hw[i], &many->queue, i);
	}
	fgio_queue_set_hw(&many->queue, many->hw, queues);
	return many;
}

static void destroy(void *state)
{
	struct many_queues *many = state;

	free(many->hw);
	free(many->queues);
	free(many);
}

static void insert_one(struct hardware_queue *queue, struct bench_io *io)
{
	struct fgio_request *request = &io->request;

	request->class = io->critical ? FGIO_CRITICAL : FGIO_NONCRITICAL;
	request->sector = io->sector;
	request->sectors = io->sectors;
	request->write = io->write;
	request->queued_ns = io->start_ns;
	if (io->critical)
		fgio_queue_saw_critical_at(queue->hw.queue, io->start_ns);
	fgio_hw_queue_insert(&queue->hw, request, false);
}

static void insert(void *state, u32 index, struct bench_io **ios, u32 count)
{
	struct many_queues *many = state;
	struct hardware_queue *queue = &many->queues[index];

	bench_lock(&queue->lock);
	for (u32 i = 0; i < count; i++)
		insert_one(queue, ios[i]);
	bench_unlock(&queue->lock);
}

static bool has_work(void *state, u32 index)
{
	struct many_queues *many = state;

	return fgio_hw_queue_has_work(&many->queues[index].hw);
}

/* As *@retry_ns of dispatch(). */
static u64 retry_later(struct many_queues *many, u64 now_ns)
{
	u64 retry_ns = fgio_queue_retry_ns(&many->queue);

	if (!retry_ns)
		return 0;
	/* Another queue may go. */
	if (retry_ns <= now_ns)
		return BENCH_AT_ONCE;
	if (many->retry_at_ns && many->retry_at_ns <= retry_ns &&
	    many->retry_at_ns > now_ns)
		return 0;
	many->retry_at_ns = retry_ns;
	return retry_ns;
}

static struct fgio_request *ask(struct many_queues *many,
				struct hardware_queue *queue, u64 now_ns,
				u64 *retry_ns)
{
	struct fgio_request *request;

	bench_lock(&many->lock);
	request = fgio_hw_queue_ask(&queue->hw, now_ns);
	*retry_ns = retry_later(many, now_ns);
	bench_unlock(&many->lock);
	return request;
}

static void tell(struct many_queues *many, struct hardware_queue *queue,
		 struct fgio_request *request, u64 now_ns)
{
	if (!fgio_hw_queue_tells(&queue->hw, request, now_ns))
		return;
	if (!bench_trylock(&many->lock)) {
		fgio_hw_queue_does_not_tell(&queue->hw, request, now_ns);
		return;
	}
	fgio_hw_queue_tell(&queue->hw, request, now_ns);
	bench_unlock(&many->lock);
}

static struct bench_io *next(struct many_queues *many,
			     struct hardware_queue *queue, u64 *retry_ns)
{
	u64 now_ns = fgio_hw_queue_needs_clock(&queue->hw) ? bench_now_ns() :
							      0;
	struct fgio_request *request = fgio_hw_queue_next(&queue->hw, now_ns);
	struct bench_io *io;

	if (request)
		tell(many, queue, request, now_ns);
	else if (fgio_hw_queue_must_ask(&queue->hw))
		request = ask(many, queue, now_ns ?: bench_now_ns(), retry_ns);
	if (!request)
		return NULL;
	io = fgio_container_of(request, struct bench_io, request);
	queue->dispatched_bytes[request->class] += io->sectors * 512;
	return io;
}

static struct bench_io *dispatch(void *state, u32 index, u64 *retry_ns)
{
	struct many_queues *many = state;
	struct hardware_queue *queue = &many->queues[index];
	struct bench_io *io;

	*retry_ns = 0;
	bench_lock(&queue->lock);
	io = next(many, queue, retry_ns);
	bench_unlock(&queue->lock);
	return io;
}

static u32 queue_in_turn(struct many_queues *many, u64 now_ns)
{
	const struct fgio_hw_queue *hw =
		fgio_queue_turn(&many->queue, now_ns);

	return hw ? hw->index : BENCH_ALL_QUEUES;
}

static u32 completed(void *state, struct bench_io *io, u64 now_ns)
{
	struct many_queues *many = state;

	return fgio_queue_left_device(&many->queue, &io->request, now_ns) ?
		       queue_in_turn(many, now_ns) :
		       BENCH_NO_QUEUE;
}

static u32 retry(void *state, u64 now_ns)
{
	struct many_queues *many = state;

	fgio_queue_retry(&many->queue);
	return queue_in_turn(many, now_ns);
}

const struct bench_policy bench_many_queues = {
	.name = "fgio, many queues",
	.learns_ns = BENCH_FGIO_LEARNS_NS,
	.turn_ns = FGIO_TURN_NS,
	.make = make,
	.destroy = destroy,
	.insert = insert,
	.has_work = has_work,
	.dispatch = dispatch,
	.completed = completed,
	.retry = retry,
};
