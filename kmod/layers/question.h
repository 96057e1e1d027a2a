/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Questions: what foreground tasks ask other tasks of this host, which no task may
 * have answered yet. The one that was asked will.
 */
#ifndef FGIO_QUESTION_H
#define FGIO_QUESTION_H

#include "graph/layer.h"

struct task_struct;

/*
 * The current task wakes @task. Noted where it is foreground, and sends a message or
 * signals a condition. Context: the locks of a wake-up are held, interrupts are off.
 */
void fgio_question_note(struct task_struct *task);

/*
 * The identity of the task that was woken by what was sent over a socket last,
 * within helper_window_ms; 0: of none. @file: its address. Context: any.
 */
u64 fgio_question_asked(u64 file);

/**
 * fgio_question_find() - guesses the tasks that a waiting task has asked
 * @step: its wait, for a message or a condition
 * @known: others are guessed, or found: only those that it asked last
 *
 * Context: the walk's thread.
 */
void fgio_question_find(const struct fgio_walk_step *step, bool known);

int fgio_question_init(void);

#endif /* FGIO_QUESTION_H */
