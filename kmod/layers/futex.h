/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between sleep.c, which finds tasks that sleep in futex(2), and futex.c, which
 * finds the owners of futexes.
 *
 * A sleep's object is the hash of the futex' memory and address, known without
 * its page; its detail is the address, the shape of the memory there, and
 * whether other processes share it.
 */
#ifndef FGIO_FUTEX_H
#define FGIO_FUTEX_H

#include <linux/bits.h>
#include <linux/types.h>

#include "graph/layer.h"

struct mm_struct;

/* The type of lock or array that the memory at an address may be. */
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
 * The values of glibc's futexes while threads sleep for the lock.
 */
#define FGIO_GLIBC_CONTENDED_MUTEX 2
#define FGIO_GLIBC_CONTENDED_RWLOCK 3

/* Futexes of one futex_waitv() that are followed. */
#define FGIO_FUTEX_VECTOR_MAX 3U

#define FGIO_FUTEX_ADDRESS GENMASK_ULL(56, 0)
#define FGIO_FUTEX_COUNT GENMASK_ULL(58, 57)
#define FGIO_FUTEX_SHAPE GENMASK_ULL(62, 60)
#define FGIO_FUTEX_IS_SHARED BIT_ULL(63)

/* The object of a futex that only threads of @mm share. Context: any. */
u64 fgio_futex_object(const struct mm_struct *mm, u64 address);

extern const struct fgio_layer fgio_futex_layer;

#endif /* FGIO_FUTEX_H */
