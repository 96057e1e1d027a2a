/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How long each kind of I/O takes in a quiet drive: the measure of what it waits for
 * there. All times are ns.
 */
#ifndef FGIO_CORE_BASE_LATENCY_H
#define FGIO_CORE_BASE_LATENCY_H

#include "number.h"
#include "types.h"

/*
 * A kind is a direction and a size, to a factor of two: 4 KiB to 8 MiB; or a flush; or
 * that of a commit.
 */
#define FGIO_KIND_SIZES 12
#define FGIO_KIND_FLUSH (2 * FGIO_KIND_SIZES)
#define FGIO_KINDS (FGIO_KIND_FLUSH + 2)

/**
 * struct fgio_base_latency - that of a kind; all zero: nothing is known
 * @known_ns: the median; 0: not known. It may be read at any time
 * @deviation_ns: the mean distance of single I/Os from it
 * @count: I/Os learnt from, up to BASE_CERTAIN
 * @fresh: of these, since they were forgotten to be so, up to BASE_FRESH
 */
struct fgio_base_latency {
	u32 known_ns;
	u32 deviation_ns;
	u32 count;
	u32 fresh;
};

static inline u8 fgio_kind_of(u32 sectors, bool write)
{
	u32 size = 31 - (u32)__builtin_clz(sectors / 8 | 1);

	return (u8)(smaller(size, FGIO_KIND_SIZES - 1) +
		    (write ? FGIO_KIND_SIZES : 0));
}

/* The least length of reads of a kind. */
static inline u64 fgio_kind_read_bytes(u8 kind)
{
	return kind ? 4096ULL << kind : 0;
}

/* One took so long in a quiet drive. The caller serialises. */
void fgio_base_latency_learn(struct fgio_base_latency *base, u64 took_ns);

/* By how much one may be longer without having waited; @base is known. */
u64 fgio_base_latency_slack_ns(const struct fgio_base_latency *base);

#endif /* FGIO_CORE_BASE_LATENCY_H */
