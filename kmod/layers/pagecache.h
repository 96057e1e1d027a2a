/* SPDX-License-Identifier: GPL-2.0 */
/* Room in the page cache: writers that are parked, and writeback. */
#ifndef FGIO_PAGECACHE_H
#define FGIO_PAGECACHE_H

#include "graph/layer.h"

struct bdi_writeback;

/* Totals for FGIO_IOC_STATE. */
void fgio_pagecache_totals(u64 *parked_ns, u64 *promoted);

/*
 * Whether the current task may be held up at the boundary of its system call.
 * @flags: BDP_* of its write, or 0. Exported for lab/, as the next one.
 */
bool fgio_may_be_parked(unsigned int flags);

/*
 * Whether a device is under fgio. The caller's own file keeps the disk alive.
 */
bool fgio_wb_is_ours(struct bdi_writeback *wb);

extern const struct fgio_layer fgio_pagecache_layer;

int fgio_pagecache_init(void);
void fgio_pagecache_exit(void);

#endif /* FGIO_PAGECACHE_H */
