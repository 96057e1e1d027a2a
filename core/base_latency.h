/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Base latency: how long each kind of I/O takes in a quiet drive, one without
 * non-critical I/O. Longer is a wait. All times are ns.
 */
#ifndef FGIO_CORE_BASE_LATENCY_H
#define FGIO_CORE_BASE_LATENCY_H

#include "number.h"
#include "types.h"

/*
 * A kind is a direction and a size class (powers of two, 4 KiB to 8 MiB), a
 * flush, or the flush of a journal commit.
 */
#define FGIO_KIND_SIZES 12
#define FGIO_KIND_FLUSH (2 * FGIO_KIND_SIZES)
#define FGIO_KINDS (FGIO_KIND_FLUSH + 2)

/* I/Os after which a base latency is certain. */
#define BASE_CERTAIN 8

/**
 * struct fgio_base_latency - of one kind; all zero: nothing is known
 * @known_ns: the median; 0: not known. Safe to read at any time
 * @deviation_ns: mean distance of single I/Os from it
 * @count: I/Os learnt from, up to BASE_CERTAIN
 * @fresh: I/Os learnt from since the last look began, up to BASE_FRESH
 * @first_ns: what the first of them took, in rising order
 */
struct fgio_base_latency {
	u32 known_ns;
	u32 deviation_ns;
	u32 count;
	u32 fresh;
	u32 first_ns[BASE_CERTAIN];
};

static inline u8 fgio_kind_of(u32 sectors, bool write)
{
	u32 size = 31 - (u32)__builtin_clz(sectors / 8 | 1);

	return (u8)(smaller(size, FGIO_KIND_SIZES - 1) +
		    (write ? FGIO_KIND_SIZES : 0));
}

/* Least length of the reads of a kind, in bytes. */
static inline u64 fgio_kind_read_bytes(u8 kind)
{
	return kind ? 4096ULL << kind : 0;
}

/* An I/O took @took_ns in a quiet drive. The caller serialises. */
void fgio_base_latency_learn(struct fgio_base_latency *base, u64 took_ns);

/* How much longer an I/O may take without having waited; @base is known. */
u64 fgio_base_latency_slack_ns(const struct fgio_base_latency *base);

#endif /* FGIO_CORE_BASE_LATENCY_H */
