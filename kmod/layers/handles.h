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
 * Calls fgio_walk_found() for each other task that has one: those that the last
 * look for this transaction found, FGIO_HOLDERS_MAX at most. The first look is
 * made after the walk.
 *
 * Context: the walk's thread.
 */
void fgio_found_by_handle(const struct fgio_walk_step *step, u64 transaction,
			  size_t named_at);

/* The look_further() of all layers that ask by handle: one of them has it. */
bool fgio_look_for_handles(void);

#endif /* FGIO_HANDLES_H */
