/* SPDX-License-Identifier: GPL-2.0 */
/* Whether requests wait for the current task. */
#ifndef FGIO_FOREGROUND_H
#define FGIO_FOREGROUND_H

#include <linux/types.h>

/*
 * Whether an I/O priority that counts as critical is believed: all users may
 * choose best-effort level 0, so it is no way past the list of cgroups. The
 * real-time class takes a privilege. Context: any.
 */
bool fgio_ioprio_is_trusted(u16 ioprio);

/*
 * Whether requests wait for the current task itself, by its tag, its thread
 * flag or its I/O priority. Context: any.
 */
bool fgio_current_serves_requests(void);

/*
 * The same, or by what its system call is at (who/commit.h). Context: a task's.
 */
bool fgio_current_is_foreground(void);

#endif /* FGIO_FOREGROUND_H */
