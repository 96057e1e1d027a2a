// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A drive without a scheduler, as blk-mq has it while the drive takes what it
 * is given: a plugged batch goes to the driver at once, in the order in which
 * it was submitted. CPUs share nothing, and there is no lock to take.
 */
#include <stdlib.h>

#include "policy.h"

static void *make(u32 cpus, u32 queues)
{
	(void)cpus;
	(void)queues;
	return bench_allocate(1);
}

static void insert(void *state, u32 queue, struct bench_io **ios, u32 count)
{
	(void)state;
	(void)queue;
	for (u32 i = 0; i < count; i++)
		bench_issue(ios[i]);
}

static bool has_work(void *state, u32 queue)
{
	(void)state;
	(void)queue;
	return false;
}

static struct bench_io *dispatch(void *state, u32 queue, u64 *retry_ns)
{
	(void)state;
	(void)queue;
	*retry_ns = 0;
	return NULL;
}

static u32 completed(void *state, struct bench_io *io, u64 now_ns)
{
	(void)state;
	(void)io;
	(void)now_ns;
	return BENCH_NO_QUEUE;
}

static u32 retry(void *state, u64 now_ns)
{
	(void)state;
	(void)now_ns;
	return BENCH_NO_QUEUE;
}

const struct bench_policy bench_none = {
	.name = "none",
	.make = make,
	.destroy = free,
	.insert = insert,
	.has_work = has_work,
	.dispatch = dispatch,
	.completed = completed,
	.retry = retry,
};
