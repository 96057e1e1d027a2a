/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between sleep.c, which finds out that a task sleeps in futex(2), and futex.c,
 * which knows what futexes are.
 *
 * A sleep's object is what is known of the futex without its page; its detail
 * is the address, what may be there, and whether other processes share it.
 */
#ifndef FGIO_FUTEX_H
#define FGIO_FUTEX_H

#include <linux/bits.h>
#include <linux/types.h>

#include "graph/layer.h"

struct mm_struct;

/* What the memory at an address may be; found out in the order of danger. */
enum fgio_futex_shape {
	FGIO_SHAPE_NONE,
	FGIO_SHAPE_MUTEX,
	FGIO_SHAPE_RWLOCK,
	FGIO_SHAPE_OWNER_WORD,
	FGIO_SHAPE_JOIN,
	/* An array of struct futex_waitv, FGIO_FUTEX_COUNT of them. */
	FGIO_SHAPE_VECTOR,
};

/*
 * What glibc's locks hold while threads sleep for them: two values of futexes.
 */
#define FGIO_GLIBC_CONTENDED_MUTEX 2
#define FGIO_GLIBC_CONTENDED_RWLOCK 3

/* Futexes of one futex_waitv() that are followed. */
#define FGIO_FUTEX_VECTOR_MAX 3U

#define FGIO_FUTEX_ADDRESS GENMASK_ULL(56, 0)
#define FGIO_FUTEX_COUNT GENMASK_ULL(58, 57)
#define FGIO_FUTEX_SHAPE GENMASK_ULL(62, 60)
#define FGIO_FUTEX_IS_SHARED BIT_ULL(63)

/* What a thread of a memory knows an address by. Context: any. */
u64 fgio_futex_object(const struct mm_struct *mm, u64 address);

extern const struct fgio_layer fgio_futex_layer;

#endif /* FGIO_FUTEX_H */
