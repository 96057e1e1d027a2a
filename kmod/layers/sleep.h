/* SPDX-License-Identifier: GPL-2.0 */
/* Sleeps in system calls, for which no function is hooked. */
#ifndef FGIO_SLEEP_H
#define FGIO_SLEEP_H

#include "graph/layer.h"

/* Finds the sleeps; the layers of their kinds are in other files. */
extern const struct fgio_layer fgio_sleep_layer;

#endif /* FGIO_SLEEP_H */
