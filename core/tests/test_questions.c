// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Whom a task asked lately, beside a list of all questions that were ever asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../number.h"
#include "../questions.h"
#include "check.h"

#define ASKER 7
#define OTHER 8
#define STEPS 20000
#define TASKS 12

/* The last question to each task. */
struct model {
	u64 asker;
	struct fgio_question of[TASKS];
};

static void model_note(struct model *model, u64 asker,
		       const struct fgio_question *question)
{
	if (model->asker != asker)
		*model = (struct model){ .asker = asker };
	model->of[question->asked - 1] = *question;
}

/* Each question has a time of its own. */
static bool is_among_last(const struct model *model,
			  const struct fgio_question *question)
{
	u32 later = 0;

	for (u32 i = 0; i < TASKS; i++)
		later += model->of[i].at_ns > question->at_ns;
	return later < FGIO_QUESTIONS;
}

static bool model_counts(const struct model *model,
			 const struct fgio_question *question, u64 sleeps,
			 bool known, u64 since_ns)
{
	if (!question->asked || question->at_ns < since_ns ||
	    !is_among_last(model, question) || sleeps <= question->sleeps)
		return false;
	return sleeps == question->sleeps + 1 ||
	       (!known &&
		sleeps <= question->sleeps + 1 + FGIO_QUESTION_SLEEPS);
}

static bool is_same(const struct fgio_question *one,
		    const struct fgio_question *other)
{
	return one->asked == other->asked && one->at_ns == other->at_ns &&
	       one->sleeps == other->sleeps && one->place == other->place;
}

static void check_list(const struct fgio_questions *questions,
		       const struct model *model, u64 asker, u64 sleeps,
		       bool known, u64 since_ns)
{
	struct fgio_question list[FGIO_QUESTIONS];
	u32 count = fgio_questions_list(questions, asker, sleeps, known,
					since_ns, list);
	u32 expected = 0;

	for (u32 i = 0; i < TASKS; i++)
		expected += model->asker == asker &&
			    model_counts(model, &model->of[i], sleeps, known,
					 since_ns);
	assert_int_equal(count, expected);
	for (u32 i = 0; i < count; i++) {
		assert_true(is_same(&list[i], &model->of[list[i].asked - 1]));
		assert_true(model_counts(model, &list[i], sleeps, known,
					 since_ns));
		assert_true(!i || list[i - 1].at_ns > list[i].at_ns);
	}
}

static void test_questions_are_those_of_a_plain_list(void **state)
{
	uint64_t random = fresh_seed("questions");
	struct fgio_questions questions = {};
	struct model model = {};
	u64 sleeps = 0;

	(void)state;
	for (u64 now = 1; now < STEPS; now++) {
		u64 asker = next_random(&random) % 64 ? ASKER : OTHER;
		u64 ago = next_random(&random) % 32;
		struct fgio_question question = {
			.asked = 1 + next_random(&random) % TASKS,
			.at_ns = now,
			.sleeps = sleeps += next_random(&random) % 3 == 0,
			.place = next_random(&random),
		};

		if (next_random(&random) % 2) {
			fgio_questions_note(&questions, asker, &question);
			model_note(&model, asker, &question);
		}
		/* Also by a count that was read before the question. */
		check_list(&questions, &model, asker,
			   beyond(sleeps + next_random(&random) % 4, 1),
			   next_random(&random) % 2, beyond(now, ago));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_questions_are_those_of_a_plain_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
