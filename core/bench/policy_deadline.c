// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The rules of mq-deadline, written anew from what it does: one lock for the
 * device, under which batches are inserted and requests go one by one; for each
 * of three priority levels and each direction a FIFO and a tree by sector; runs
 * of 16 in the order of sectors, reads before writes but for two runs, and the
 * oldest request once its deadline has passed. Each level counts what came,
 * went and completed, since a level goes only when those above it have nothing
 * in the queue or in the drive. Each bio looks for a request to be merged with
 * before it is plugged, each request once more when it is inserted.
 *
 * Zoned drives are left out, and all I/O is of the middle level, as it is
 * unless priorities were chosen.
 */
#include <stdlib.h>

#include "by_end.h"
#include "clock.h"
#include "lock.h"
#include "policy.h"

#define LEVELS 3
#define LEVEL_OF_ALL 1
#define RUN 16
#define READ_RUNS_BEFORE_WRITES 2
#define READ_NS 500000000ULL
#define WRITE_NS 5000000000ULL
#define LEVEL_AGES_NS 10000000000ULL

/* @completed: beside the lock; the others under it */
struct level {
	struct fgio_list at_head;
	struct bench_tree by_sector[2];
	struct fgio_list fifo[2];
	u64 position[2];
	u32 inserted;
	u32 dispatched;
	u32 completed;
};

struct deadline {
	struct level levels[LEVELS];
	bool write; /* direction of the run under way */
	u32 run;
	u32 starved;
	struct bench_lock lock;
	struct bench_by_end by_end __attribute__((aligned(64)));
};

static void *make(u32 cpus, u32 queues)
{
	struct deadline *deadline = bench_allocate(sizeof(*deadline));

	(void)cpus;
	(void)queues;
	bench_lock_init(&deadline->lock, BENCH_DEVICE_LOCK);
	for (u32 i = 0; i < LEVELS; i++) {
		fgio_list_init(&deadline->levels[i].at_head);
		fgio_list_init(&deadline->levels[i].fifo[false]);
		fgio_list_init(&deadline->levels[i].fifo[true]);
	}
	return deadline;
}

static bool would_grow(struct deadline *deadline, const struct bench_io *io)
{
	struct level *level = &deadline->levels[LEVEL_OF_ALL];
	struct bench_node *node;
	u64 end = bench_end_of(io);

	if (bench_by_end_find(&deadline->by_end, io->sector))
		return true;
	node = bench_tree_at_or_after(&level->by_sector[io->write], end);
	return node && node->key == end;
}

static bool look_up(void *state, u32 queue, const struct bench_io *io)
{
	struct deadline *deadline = state;
	bool grows;

	(void)queue;
	bench_lock(&deadline->lock);
	grows = would_grow(deadline, io);
	bench_unlock(&deadline->lock);
	return grows;
}

static void insert_one(struct deadline *deadline, struct bench_io *io,
		       u64 now_ns)
{
	struct level *level = &deadline->levels[LEVEL_OF_ALL];

	level->inserted++;
	if (bench_by_end_find(&deadline->by_end, io->sector))
		return;
	io->by_sector.key = io->sector;
	bench_tree_add(&level->by_sector[io->write], &io->by_sector);
	bench_by_end_add(&deadline->by_end, io);
	io->expires_ns = now_ns + (io->write ? WRITE_NS : READ_NS);
	fgio_list_add_tail(&level->fifo[io->write], &io->fifo);
}

static void insert(void *state, u32 queue, struct bench_io **ios, u32 count)
{
	struct deadline *deadline = state;
	u64 now_ns = bench_coarse_ns();

	(void)queue;
	bench_lock(&deadline->lock);
	for (u32 i = 0; i < count; i++)
		insert_one(deadline, ios[i], now_ns);
	bench_unlock(&deadline->lock);
}

static bool list_holds(const struct fgio_list *list)
{
	return fgio_load(&list->next) != list;
}

static bool level_holds(const struct level *level)
{
	return list_holds(&level->at_head) || list_holds(&level->fifo[false]) ||
	       list_holds(&level->fifo[true]);
}

static bool has_work(void *state, u32 queue)
{
	struct deadline *deadline = state;

	(void)queue;
	for (u32 i = 0; i < LEVELS; i++)
		if (level_holds(&deadline->levels[i]))
			return true;
	return false;
}

static struct bench_io *oldest(const struct level *level, bool write)
{
	if (fgio_list_empty(&level->fifo[write]))
		return NULL;
	return fgio_container_of(level->fifo[write].next, struct bench_io,
				 fifo);
}

/* The next one on the way up. */
static struct bench_io *next_up(const struct level *level, bool write)
{
	struct bench_node *node;

	if (fgio_list_empty(&level->fifo[write]))
		return NULL;
	node = bench_tree_at_or_after(&level->by_sector[write],
				      level->position[write]);
	return node ? fgio_container_of(node, struct bench_io, by_sector) :
		      NULL;
}

static struct bench_io *take(struct deadline *deadline, struct level *level,
			     struct bench_io *io)
{
	deadline->run++;
	level->position[io->write] = io->sector;
	level->dispatched++;
	fgio_list_remove(&io->fifo);
	bench_tree_remove(&level->by_sector[io->write], &io->by_sector);
	bench_by_end_remove(&deadline->by_end, io);
	return io;
}

/* A new run: which direction, and where it begins. */
static struct bench_io *begin_run(struct deadline *deadline,
				  struct level *level, u64 now_ns)
{
	bool reads = !fgio_list_empty(&level->fifo[false]);
	bool writes = !fgio_list_empty(&level->fifo[true]);
	bool write = !reads;
	struct bench_io *io, *up;

	if (reads && writes &&
	    deadline->starved++ >= READ_RUNS_BEFORE_WRITES)
		write = true;
	if (!reads && !writes)
		return NULL;
	if (write)
		deadline->starved = 0;
	io = oldest(level, write);
	up = next_up(level, write);
	if (up && now_ns < io->expires_ns)
		io = up;
	deadline->write = write;
	deadline->run = 0;
	return io;
}

static struct bench_io *next_of(struct deadline *deadline, struct level *level,
				u64 now_ns)
{
	struct bench_io *io = next_up(level, deadline->write);

	if (!io || deadline->run >= RUN)
		io = begin_run(deadline, level, now_ns);
	return io ? take(deadline, level, io) : NULL;
}

/* Queued, or in the drive. */
static u32 pending(const struct level *level)
{
	return level->inserted - fgio_load(&level->completed);
}

static u32 levels_in_use(const struct deadline *deadline)
{
	u32 count = 0;

	for (u32 i = 0; i < LEVELS; i++)
		count += pending(&deadline->levels[i]) != 0;
	return count;
}

/* A lower level whose oldest request has waited too long goes first. */
static struct bench_io *next_aged(struct deadline *deadline, u64 now_ns)
{
	if (levels_in_use(deadline) < 2)
		return NULL;
	for (u32 i = 1; i < LEVELS; i++) {
		struct level *level = &deadline->levels[i];
		struct bench_io *io = oldest(level, false) ?:
					      oldest(level, true);

		if (io && now_ns >= io->expires_ns + LEVEL_AGES_NS)
			return take(deadline, level, io);
	}
	return NULL;
}

static struct bench_io *next(struct deadline *deadline, u64 now_ns)
{
	struct bench_io *io = next_aged(deadline, now_ns);

	for (u32 i = 0; i < LEVELS && !io; i++) {
		struct level *level = &deadline->levels[i];

		io = next_of(deadline, level, now_ns);
		if (pending(level))
			break;
	}
	return io;
}

static struct bench_io *dispatch(void *state, u32 queue, u64 *retry_ns)
{
	struct deadline *deadline = state;
	u64 now_ns = bench_coarse_ns();
	struct bench_io *io;

	(void)queue;
	*retry_ns = 0;
	bench_lock(&deadline->lock);
	io = next(deadline, now_ns);
	bench_unlock(&deadline->lock);
	return io;
}

static u32 completed(void *state, struct bench_io *io, u64 now_ns)
{
	struct deadline *deadline = state;

	(void)io;
	(void)now_ns;
	fgio_add(&deadline->levels[LEVEL_OF_ALL].completed, 1);
	return BENCH_NO_QUEUE;
}

static u32 retry(void *state, u64 now_ns)
{
	(void)state;
	(void)now_ns;
	return BENCH_NO_QUEUE;
}

const struct bench_policy bench_deadline = {
	.name = "mq-deadline",
	.make = make,
	.destroy = free,
	.look_up = look_up,
	.insert = insert,
	.has_work = has_work,
	.dispatch = dispatch,
	.completed = completed,
	.retry = retry,
};
