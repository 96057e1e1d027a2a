/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Queued I/Os by their last sector, as the block layer keeps them for back
 * merges: a hash of 64 chains, and the last I/O that could grow. The caller
 * serialises all calls.
 */
#ifndef FGIO_BENCH_BY_END_H
#define FGIO_BENCH_BY_END_H

#include "policy.h"

#define BENCH_END_BITS 6

struct bench_by_end {
	struct bench_io *last;
	struct bench_io *chain[1 << BENCH_END_BITS];
};

static inline struct bench_io **bench_end_chain(struct bench_by_end *by_end,
						u64 end)
{
	u64 mixed = end * 0x9e3779b97f4a7c15ULL;

	return &by_end->chain[mixed >> (64 - BENCH_END_BITS)];
}

static inline u64 bench_end_of(const struct bench_io *io)
{
	return io->sector + io->sectors;
}

static inline void bench_by_end_add(struct bench_by_end *by_end,
				    struct bench_io *io)
{
	struct bench_io **chain = bench_end_chain(by_end, bench_end_of(io));

	io->by_end_next = *chain;
	if (*chain)
		(*chain)->by_end_from = &io->by_end_next;
	io->by_end_from = chain;
	*chain = io;
	if (!by_end->last)
		by_end->last = io;
}

static inline void bench_by_end_remove(struct bench_by_end *by_end,
				       struct bench_io *io)
{
	*io->by_end_from = io->by_end_next;
	if (io->by_end_next)
		io->by_end_next->by_end_from = io->by_end_from;
	io->by_end_from = NULL;
	if (by_end->last == io)
		by_end->last = NULL;
}

/* A queued I/O that ends where @sector is, or NULL. */
static inline struct bench_io *bench_by_end_find(struct bench_by_end *by_end,
						 u64 sector)
{
	struct bench_io *io = by_end->last;

	if (io && bench_end_of(io) == sector)
		return io;
	for (io = *bench_end_chain(by_end, sector); io; io = io->by_end_next)
		if (bench_end_of(io) == sector)
			return io;
	return NULL;
}

#endif /* FGIO_BENCH_BY_END_H */
