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
 * The mapping that has the pages of a file; in overlayfs, that of the file
 * below. Context: may sleep; the caller holds the file.
 */
struct address_space *fgio_mapping_of_file(const struct file *file);

/*
 * Whether a device is under fgio. The caller's own file keeps the disk alive.
 */
bool fgio_wb_is_ours(struct bdi_writeback *wb);

/*
 * Starts writeback of dirty pages of a file, as the flusher does, from the page
 * where the last call stopped. Return: pages that were submitted. Context: may
 * sleep.
 */
u64 fgio_write_mapping(struct address_space *mapping, u64 pages);

extern const struct fgio_layer fgio_pagecache_layer;

int fgio_pagecache_init(void);
void fgio_pagecache_exit(void);

#endif /* FGIO_PAGECACHE_H */
