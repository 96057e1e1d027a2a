/* SPDX-License-Identifier: GPL-2.0 */
/* Room in the page cache: writers that are parked, and writeback. */
#ifndef FGIO_PAGECACHE_H
#define FGIO_PAGECACHE_H

#include "graph/layer.h"

struct address_space;
struct bdi_writeback;
struct file;

/* Totals for FGIO_IOC_STATE. */
void fgio_pagecache_totals(u64 *parked_ns, u64 *promoted);

/*
 * Whether the current task may be held up at the boundary of its system call.
 * @flags: BDP_* of its write, or 0
 */
bool fgio_may_be_parked(unsigned int flags);

/*
 * Where the pages of a file are: of overlayfs, in the file below. Context: may
 * sleep; the caller holds the file.
 */
struct address_space *fgio_mapping_of_file(const struct file *file);

/*
 * Whether a device is under fgio. Reads what the caller's own file keeps alive:
 * the disk cannot go meanwhile.
 */
bool fgio_wb_is_ours(struct bdi_writeback *wb);

/*
 * Starts writing pages of a file back, as the flusher does: what is dirty, from
 * where the last one stopped. Return: pages that were submitted. Context: may
 * sleep.
 */
u64 fgio_write_mapping(struct address_space *mapping, u64 pages);

extern const struct fgio_layer fgio_pagecache_layer;

int fgio_pagecache_init(void);
void fgio_pagecache_exit(void);

#endif /* FGIO_PAGECACHE_H */
