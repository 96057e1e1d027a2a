// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The kernel's schedulers: none, and the rules of mq-deadline. */
#include "model_fleet_internal.h"

#define RUN 16
#define READ_RUNS_BEFORE_WRITES 2
#define READ_NS 500000000ULL
#define WRITE_NS 5000000000ULL

static struct io *io_at(struct fgio_list *node)
{
	return fgio_container_of(node, struct io, request.link);
}

/* The next one on the way up over the sectors, or NULL. */
static struct io *next_up(struct shard *shard, bool write)
{
	struct fgio_list *node, *fifo = &shard->fifo[write];
	struct io *next = NULL;

	for (node = fifo->next; node != fifo; node = node->next) {
		struct io *io = io_at(node);

		if (io->request.sector >= shard->position[write] &&
		    (!next || io->request.sector < next->request.sector))
			next = io;
	}
	return next;
}

static struct io *next_of_deadline(struct shard *shard, u64 now_ns)
{
	bool reads = !fgio_list_empty(&shard->fifo[false]);
	bool writes = !fgio_list_empty(&shard->fifo[true]);
	struct io *io = next_up(shard, shard->write), *up;

	if (io && shard->run < RUN) {
		shard->run++;
		return io;
	}
	if (!reads && !writes)
		return NULL;
	shard->write = !reads ||
		       (writes && shard->starved++ >= READ_RUNS_BEFORE_WRITES);
	if (shard->write)
		shard->starved = 0;
	shard->run = 1;
	io = io_at(shard->fifo[shard->write].next);
	up = next_up(shard, shard->write);
	if (up && now_ns < io->request.queued_ns +
				   (shard->write ? WRITE_NS : READ_NS))
		io = up;
	return io;
}

struct io *fleet_next_of_kernel(struct run *run, struct shard *shard)
{
	struct io *io = NULL;

	if (run->fleet->policy == FLEET_DEADLINE)
		io = next_of_deadline(shard, run->now_ns);
	else if (!fgio_list_empty(&shard->fifo[false]))
		io = io_at(shard->fifo[false].next);
	if (!io)
		return NULL;
	shard->position[io->request.write] = io->request.sector;
	fgio_list_remove(&io->request.link);
	return io;
}
