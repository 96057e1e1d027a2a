/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Questions: what foreground tasks send to other tasks of this host. Over a new
 * connection no task has answered yet; the one that was asked will.
 */
#ifndef FGIO_QUESTION_H
#define FGIO_QUESTION_H

#include <linux/types.h>

struct task_struct;

/*
 * The current task wakes @task. Noted where it is foreground, and connects to or
 * sends over a socket. Context: the locks of a wake-up are held, interrupts are off.
 */
void fgio_question_note(const struct task_struct *task);

/*
 * The identity of the task that was woken by what was sent over a socket last,
 * within helper_window_ms; 0: of none. @file: its address. Context: any.
 */
u64 fgio_question_asked(u64 file);

#endif /* FGIO_QUESTION_H */
