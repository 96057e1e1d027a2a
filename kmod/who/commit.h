/* SPDX-License-Identifier: GPL-2.0 */
/* Files that foreground tasks sync: writes to them are foreground work, too. */
#ifndef FGIO_COMMIT_H
#define FGIO_COMMIT_H

#include <linux/types.h>

struct address_space;

/*
 * The current task, which serves requests, waits for pages of a file to be
 * written. The file is noted when the task's system call is for it. Context: a
 * hook's.
 */
void fgio_commit_note(const struct address_space *mapping);

/*
 * Whether the current task's system call writes or syncs a file that foreground
 * tasks synced within helper_window_ms. Context: a task's; may be a hook's.
 */
bool fgio_current_commits(void);

#endif /* FGIO_COMMIT_H */
