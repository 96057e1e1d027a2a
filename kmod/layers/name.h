/* SPDX-License-Identifier: GPL-2.0 */
/* Waits for names that are looked up, and for inodes that are read. */
#ifndef FGIO_NAME_H
#define FGIO_NAME_H

#include "graph/layer.h"

extern const struct fgio_layer fgio_name_layer;

#endif /* FGIO_NAME_H */
