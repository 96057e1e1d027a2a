/* SPDX-License-Identifier: GPL-2.0 */
/* Tasks that have a handle open in a transaction of a file system. */
#ifndef FGIO_HANDLES_H
#define FGIO_HANDLES_H

#include "graph/layer.h"

/**
 * fgio_found_by_handle() - the tasks that a transaction waits for
 * @step: the wait
 * @transaction: it takes no new handles any more
 * @named_at: where a handle, which is in journal_info, names its transaction
 *
 * Calls fgio_walk_found() for each other task that has one. All threads are
 * looked at for it, at once for a new transaction, then for a tenth of the time;
 * in between only those that were found. FGIO_HOLDERS_MAX at most, of
 * FGIO_HOLDER_SCANS transactions.
 *
 * Context: the walk's thread.
 */
void fgio_found_by_handle(const struct fgio_walk_step *step, u64 transaction,
			  size_t named_at);

#endif /* FGIO_HANDLES_H */
