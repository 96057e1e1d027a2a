/* SPDX-License-Identifier: GPL-2.0 */
/* Whether requests wait for the current task. */
#ifndef FGIO_FOREGROUND_H
#define FGIO_FOREGROUND_H

#include <linux/sched.h>
#include <linux/types.h>

#include "who/tag.h"

/*
 * Whether a critical I/O priority counts. All users may choose best-effort
 * level 0, so it does not count while cgroups are listed. The real-time class
 * takes a privilege and always counts. Context: any.
 */
bool fgio_ioprio_is_trusted(u16 ioprio);

/*
 * Whether requests wait for the current task itself, by its tag, its thread
 * flag or its I/O priority. Context: any.
 */
bool fgio_current_serves_requests(void);

/*
 * False: fgio_current_serves_requests() is not true of a thread when it is
 * current. True also of threads that set an I/O priority, of workers of io_uring,
 * and of a few others. Context: any.
 */
static inline bool fgio_may_serve_requests(const struct task_struct *task)
{
	return fgio_tag_may_have(task) || task->io_context ||
	       task->flags & PF_IO_WORKER;
}

/*
 * Whether that is true of the current task, or its system call writes or syncs a
 * file that foreground tasks sync (who/commit.h). Context: a task's.
 */
bool fgio_current_is_foreground(void);

#endif /* FGIO_FOREGROUND_H */
