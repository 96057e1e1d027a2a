/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Whom a task asked lately: the tasks that it woke by a message or a condition.
 * Those are guesses of which task it waits for, where history has none: an object
 * that is new (a connection, a future), or a pool whose threads answer in turn.
 *
 *	in the sleep right after the question	they count in any case
 *	in the FGIO_QUESTION_SLEEPS after that	where nothing else is known
 *
 * and for a time at most. One that is back where it slept when it was asked has
 * done what it was asked for, or never will: that is for the caller to see.
 *
 * Tasks are opaque numbers, never dereferenced; zero is none. Locking: the caller
 * serialises the calls for one struct. Nothing here sleeps or allocates.
 */
#ifndef FGIO_CORE_QUESTIONS_H
#define FGIO_CORE_QUESTIONS_H

#include "types.h"

/* A task that asks more at a time waits for the last of them. */
#define FGIO_QUESTIONS 8U
/* One for each of them, and for a lock on the way. */
#define FGIO_QUESTION_SLEEPS FGIO_QUESTIONS

/**
 * struct fgio_question - a task that was asked
 * @asked: the task
 * @at_ns: when
 * @sleeps: how often the one that asked had gone to sleep by then
 * @place: where @asked slept, any number
 */
struct fgio_question {
	u64 asked;
	u64 at_ns;
	u64 sleeps;
	u64 place;
};

/**
 * struct fgio_questions - those of one task
 * @asker: the task; 0: none
 * @count: length of @of
 * @of: the last one first; each task once
 */
struct fgio_questions {
	u64 asker;
	u32 count;
	struct fgio_question of[FGIO_QUESTIONS];
};

/**
 * fgio_questions_note() - a task asks another one
 * @questions: of this task, or of another one, which are forgotten then
 * @asker: the task
 * @question: whom it asks, and when
 */
void fgio_questions_note(struct fgio_questions *questions, u64 asker,
			 const struct fgio_question *question);

/**
 * fgio_questions_list() - whom a sleeping task may wait for
 * @questions: of this task, or of another one
 * @asker: the task
 * @sleeps: how often it has gone to sleep, this sleep included
 * @known: others are likely to end this sleep
 * @since_ns: only those that were asked since then
 * @list: out: the last one first
 *
 * Return: their number.
 */
u32 fgio_questions_list(const struct fgio_questions *questions, u64 asker,
			u64 sleeps, bool known, u64 since_ns,
			struct fgio_question list[FGIO_QUESTIONS]);

#endif /* FGIO_CORE_QUESTIONS_H */
