/* SPDX-License-Identifier: GPL-2.0 */
/* Sleeps in futex(2) and semop(2), for which no function is hooked. */
#ifndef FGIO_SLEEP_H
#define FGIO_SLEEP_H

#include "graph/layer.h"

/* Finds the sleeps; futex.c and sysvsem.c have the layers of their kinds. */
extern const struct fgio_layer fgio_sleep_layer;

#endif /* FGIO_SLEEP_H */
