// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The model knows the state and the arrival time of each thread, and counts
 * them anew for every question.
 */
#include "model_admission.h"

#include "../admission.h"
#include "check.h"

#define THREADS 40

struct model_thread {
	enum { OUTSIDE, LINED_UP, ADMITTED } where;
	int line;
	uint64_t came;
};

struct play {
	struct fgio_admission admission;
	struct fgio_waiter waiters[THREADS];
	struct model_thread threads[THREADS];
	uint64_t clock;
	bool critical_present;
};

static uint32_t count(const struct play *play, int where, int line)
{
	uint32_t total = 0;

	for (int i = 0; i < THREADS; i++)
		total += (int)play->threads[i].where == where &&
			 play->threads[i].line == line;
	return total;
}

static bool present(const struct play *play, int line)
{
	return count(play, ADMITTED, line) || count(play, LINED_UP, line);
}

static int64_t at_least(int64_t least, int64_t value)
{
	return value > least ? value : least;
}

static int64_t model_limit(const struct play *play, int line)
{
	const struct fgio_admission *admission = &play->admission;
	int64_t reserve = admission->reserve;
	int64_t alone = (int64_t)admission->total - reserve;
	bool carriers = present(play, FGIO_LINE_CARRIER);
	bool noncritical = present(play, FGIO_LINE_NONCRITICAL);
	bool critical = present(play, FGIO_LINE_CRITICAL);

	if (line == FGIO_LINE_CARRIER)
		return at_least(reserve,
				alone - count(play, ADMITTED, FGIO_CRITICAL) -
					count(play, ADMITTED,
					      FGIO_NONCRITICAL));
	if (line == FGIO_LINE_CRITICAL)
		return carriers || noncritical ?
			       admission->share[FGIO_CRITICAL] :
			       alone;
	if (carriers)
		return at_least(1, admission->share[FGIO_NONCRITICAL] -
					   reserve);
	return critical || play->critical_present ?
		       admission->share[FGIO_NONCRITICAL] :
		       alone;
}

static bool model_room(const struct play *play, int line)
{
	return count(play, ADMITTED, line) < model_limit(play, line);
}

static int model_first(const struct play *play, int line)
{
	int first = -1;

	for (int i = 0; i < THREADS; i++)
		if (play->threads[i].where == LINED_UP &&
		    play->threads[i].line == line &&
		    (first < 0 ||
		     play->threads[i].came < play->threads[first].came))
			first = i;
	return first;
}

static const int order[] = { FGIO_LINE_CRITICAL, FGIO_LINE_CARRIER,
			     FGIO_LINE_NONCRITICAL };

static int model_grant(const struct play *play, bool anyway)
{
	for (int i = 0; i < FGIO_LINES; i++) {
		int first = model_first(play, order[i]);

		if (first >= 0 && (anyway || model_room(play, order[i])))
			return first;
	}
	return -1;
}

static void grant_all(struct play *play)
{
	for (;;) {
		int expected = model_grant(play, false);
		struct fgio_waiter *waiter = fgio_admission_grant(
			&play->admission, play->critical_present);

		CHECK(waiter ==
		      (expected < 0 ? NULL : &play->waiters[expected]));
		if (!waiter)
			return;
		CHECK(waiter->granted);
		play->threads[expected].where = ADMITTED;
	}
}

static void enter(struct play *play, int i, int line, bool force)
{
	struct model_thread *thread = &play->threads[i];
	bool free;

	if (thread->where != OUTSIDE)
		return;
	free = !count(play, LINED_UP, line) && model_room(play, line);
	thread->line = line;
	thread->came = ++play->clock;
	if (force) {
		fgio_admission_charge(&play->admission, line);
		thread->where = ADMITTED;
		return;
	}
	CHECK(fgio_admission_try(&play->admission, line,
				 line == FGIO_LINE_NONCRITICAL &&
					 play->critical_present) == free);
	thread->where = free ? ADMITTED : LINED_UP;
	if (free)
		return;
	fgio_admission_wait(&play->admission, &play->waiters[i], line);
	grant_all(play);
}

static void leave(struct play *play, int i)
{
	if (play->threads[i].where != ADMITTED)
		return;
	play->threads[i].where = OUTSIDE;
	fgio_admission_release(&play->admission, play->threads[i].line);
	grant_all(play);
}

static void promote(struct play *play, int i)
{
	struct model_thread *thread = &play->threads[i];
	bool can = thread->where == LINED_UP &&
		   thread->line != FGIO_LINE_CRITICAL;

	if (thread->where == OUTSIDE)
		return;
	play->waiters[i].granted = thread->where == ADMITTED;
	CHECK(fgio_admission_promote(&play->admission, &play->waiters[i]) ==
	      can);
	if (can) {
		thread->line = FGIO_LINE_CRITICAL;
		thread->came = ++play->clock;
	}
	grant_all(play);
}

static void reclassify(struct play *play, int i)
{
	struct model_thread *thread = &play->threads[i];
	int to = thread->line == FGIO_LINE_CRITICAL ? FGIO_LINE_NONCRITICAL :
						      FGIO_LINE_CRITICAL;

	if (thread->where != ADMITTED)
		return;
	fgio_admission_reclassify(&play->admission, thread->line, to);
	thread->line = to;
	grant_all(play);
}

static void grant_anyway(struct play *play)
{
	int expected = model_grant(play, true);

	CHECK(fgio_admission_grant_anyway(&play->admission) ==
	      (expected < 0 ? NULL : &play->waiters[expected]));
	if (expected < 0)
		return;
	CHECK(play->waiters[expected].granted);
	play->threads[expected].where = ADMITTED;
	grant_all(play);
}

static void resize(struct play *play, uint8_t how)
{
	if (how & 1)
		fgio_admission_resize(&play->admission, 2 + how % 62);
	else
		fgio_admission_set_shares(&play->admission, 1 + how % 16,
					  1 + how / 16);
	grant_all(play);
}

static void check_always(const struct play *play)
{
	const struct fgio_admission *admission = &play->admission;

	for (int line = 0; line < FGIO_LINES; line++) {
		CHECK(admission->admitted[line] ==
		      count(play, ADMITTED, line));
		CHECK(admission->waiting[line] ==
		      count(play, LINED_UP, line));
		/* A release wakes waiters: one must be to come. */
		if (admission->waiting[line])
			CHECK(admission->admitted[line]);
	}
	CHECK(admission->share[0] >= 1 && admission->share[1] >= 1);
	CHECK(admission->reserve >= 1);
	CHECK(admission->share[0] + admission->share[1] <= admission->total);
}

static void play_operation(struct play *play, uint8_t operation, uint8_t value)
{
	int i = value % THREADS;
	int line = operation / 16 % FGIO_LINES;

	switch (operation % 16) {
	case 0: case 1: case 2: case 3: case 4: case 5:
		enter(play, i, line, false);
		break;
	case 6:
		enter(play, i, line, true);
		break;
	case 7: case 8: case 9: case 10:
		leave(play, i);
		break;
	case 11:
		promote(play, i);
		break;
	case 12:
		reclassify(play, i);
		break;
	case 13:
		resize(play, value);
		break;
	case 14:
		if (value % 16 == 0)
			grant_anyway(play);
		break;
	default:
		play->critical_present = value & 1;
	}
}

void model_admission_play(const uint8_t *script, size_t length)
{
	struct play play = { .clock = 0 };

	fgio_admission_init(&play.admission, 16);
	fgio_admission_set_shares(&play.admission, 4, 4);
	for (size_t at = 0; at + 1 < length; at += 2) {
		play_operation(&play, script[at], script[at + 1]);
		check_always(&play);
	}
	/* After any history, every waiter gets in when all others leave. */
	for (int round = 0; round < 2 * THREADS; round++)
		for (int i = 0; i < THREADS; i++)
			leave(&play, i);
	CHECK(!fgio_admission_has_waiters(&play.admission));
}
