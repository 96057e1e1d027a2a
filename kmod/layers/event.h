/* SPDX-License-Identifier: GPL-2.0 */
/* Waits for a program that handles events of the kernel. */
#ifndef FGIO_EVENT_H
#define FGIO_EVENT_H

#include "graph/layer.h"

extern const struct fgio_layer fgio_event_layer;

#endif /* FGIO_EVENT_H */
