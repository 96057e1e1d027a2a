/* SPDX-License-Identifier: GPL-2.0 */
/* Sleeps in futex(2) and semop(2), which no function is hooked for. */
#ifndef FGIO_SLEEP_H
#define FGIO_SLEEP_H

#include "graph/layer.h"

/* It finds waits; futex.c and sysvsem.c answer for their kinds. */
extern const struct fgio_layer fgio_sleep_layer;

#endif /* FGIO_SLEEP_H */
