// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "questions.h"

/* The place of a task, else a new one, else that of the oldest question. */
static u32 place_of(struct fgio_questions *questions, u64 asked)
{
	u32 i;

	for (i = 0; i < questions->count; i++)
		if (questions->of[i].asked == asked)
			return i;
	if (questions->count < FGIO_QUESTIONS)
		questions->count++;
	return questions->count - 1;
}

void fgio_questions_note(struct fgio_questions *questions, u64 asker,
			 const struct fgio_question *question)
{
	u32 i;

	if (questions->asker != asker)
		questions->count = 0;
	questions->asker = asker;
	for (i = place_of(questions, question->asked); i; i--)
		questions->of[i] = questions->of[i - 1];
	questions->of[0] = *question;
}

static bool counts(const struct fgio_question *question, u64 sleeps, bool known,
		   u64 since_ns)
{
	/* A count that was read before the task asked is of an older sleep. */
	u64 later = sleeps - question->sleeps;

	return later >= 1 && later <= (known ? 1 : 1 + FGIO_QUESTION_SLEEPS) &&
	       question->at_ns >= since_ns;
}

u32 fgio_questions_list(const struct fgio_questions *questions, u64 asker,
			u64 sleeps, bool known, u64 since_ns,
			struct fgio_question list[FGIO_QUESTIONS])
{
	u32 count = 0;
	u32 i;

	if (questions->asker != asker)
		return 0;
	for (i = 0; i < questions->count; i++)
		if (counts(&questions->of[i], sleeps, known, since_ns))
			list[count++] = questions->of[i];
	return count;
}
