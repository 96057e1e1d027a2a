/* SPDX-License-Identifier: GPL-2.0 */
/* jbd2, the journal of ext4 and ocfs2. */
#ifndef FGIO_JOURNAL_H
#define FGIO_JOURNAL_H

#include "graph/layer.h"

/*
 * The journal that the current task waits for when it waits for a @bit of a
 * buffer. Return: 0 unless that is BH_Shadow. Context: a hook's.
 */
u64 fgio_journal_of_shadow(int bit);

extern const struct fgio_layer fgio_journal_layer;

#endif /* FGIO_JOURNAL_H */
