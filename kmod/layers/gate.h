/* SPDX-License-Identifier: GPL-2.0 */
/* The gate at the system call, for comparison alone. */
#ifndef FGIO_LAYERS_GATE_H
#define FGIO_LAYERS_GATE_H

#include "graph/layer.h"

/* Hooks alone: follows no wait. */
extern const struct fgio_layer fgio_gate_layer;

/* No hook is attached any more. */
void fgio_gate_exit(void);

#endif /* FGIO_LAYERS_GATE_H */
