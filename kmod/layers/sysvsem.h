/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between sleep.c, which finds tasks that sleep in semop(2), and sysvsem.c,
 * which finds the semaphores.
 *
 * A sleep's object is the address of the operations in the task's memory, with
 * the number of them that are read; its detail is the set's number.
 */
#ifndef FGIO_SYSVSEM_H
#define FGIO_SYSVSEM_H

#include <linux/bits.h>

#include "graph/layer.h"

/* Operations of one call that are read; more than one is rare. */
#define FGIO_SEMOP_MAX 8U

#define FGIO_SEMOP_ADDRESS GENMASK_ULL(56, 0)
#define FGIO_SEMOP_COUNT GENMASK_ULL(60, 57)

extern const struct fgio_layer fgio_sysvsem_layer;

#endif /* FGIO_SYSVSEM_H */
