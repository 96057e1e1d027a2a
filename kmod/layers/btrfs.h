/* SPDX-License-Identifier: GPL-2.0 */
/* btrfs: its transactions and logs, extents to be completed, and its trees. */
#ifndef FGIO_BTRFS_H
#define FGIO_BTRFS_H

#include "graph/layer.h"

extern const struct fgio_layer fgio_btrfs_layer;
extern const struct fgio_layer fgio_btrfs_extent_layer;

#endif /* FGIO_BTRFS_H */
