/* SPDX-License-Identifier: GPL-2.0 */
/* Splits long non-critical I/O. */
#ifndef FGIO_SPLIT_H
#define FGIO_SPLIT_H

#include "graph/layer.h"

extern const struct fgio_layer fgio_split_layer;

#endif /* FGIO_SPLIT_H */
