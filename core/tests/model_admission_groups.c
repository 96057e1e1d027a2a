// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The model knows of each thread where it is, its line, its group's key and its
 * place, and counts them anew for every question. Of places it knows the key,
 * the weight and since when it is idle.
 */
#include "model_admission_groups.h"

#include "../admission_groups.h"
#include "check.h"

#define THREADS 256
#define PLACES FGIO_ADMISSION_GROUPS
#define KEYS 250

struct model_thread {
	enum { OUTSIDE, LINED_UP, ADMITTED } where;
	int line;
	int place;
	uint64_t came;
};

struct model_place {
	uint64_t key;
	uint32_t weight;
	uint64_t idle_since;
	bool foreground;
};

struct tally {
	uint32_t of_line[3][FGIO_LINES];
	uint32_t at[3][FGIO_CLASSES][PLACES];
	bool active[PLACES];
	double weights;
};

struct play {
	struct fgio_admission admission;
	struct fgio_admission_groups groups;
	struct fgio_waiter waiters[THREADS];
	struct model_thread threads[THREADS];
	struct model_place places[PLACES];
	struct tally tally;
	uint64_t clock;
	bool critical_present;
};

/* Anew, after each change of a thread. */
static void recount(struct play *play)
{
	struct tally *tally = &play->tally;

	*tally = (struct tally){ .weights = 0 };
	for (int i = 0; i < THREADS; i++) {
		const struct model_thread *thread = &play->threads[i];

		tally->of_line[thread->where][thread->line]++;
		if (thread->line != FGIO_LINE_CARRIER)
			tally->at[thread->where][thread->line][thread->place]++;
	}
	for (int i = 0; i < (int)PLACES; i++)
		for (int class = 0; class < FGIO_CLASSES; class++)
			tally->active[i] |= tally->at[LINED_UP][class][i] ||
					    tally->at[ADMITTED][class][i];
	for (int i = 0; i < (int)PLACES; i++)
		if (tally->active[i])
			tally->weights += play->places[i].weight;
}

static uint32_t in_line(const struct play *play, int where, int line)
{
	return play->tally.of_line[where][line];
}

static uint32_t at(const struct play *play, int where, int class, int place)
{
	return play->tally.at[where][class][place];
}

static uint32_t taken(const struct play *play)
{
	return in_line(play, ADMITTED, 0) + in_line(play, ADMITTED, 1) +
	       in_line(play, ADMITTED, 2);
}

static bool active(const struct play *play, int place)
{
	return play->tally.active[place];
}

static double weights(const struct play *play, int with)
{
	return play->tally.weights +
	       (active(play, with) ? 0 : play->places[with].weight);
}

static bool beside(const struct play *play, int place, int class)
{
	return at(play, ADMITTED, !class, place) ||
	       at(play, LINED_UP, !class, place) ||
	       (class == FGIO_NONCRITICAL && play->places[place].foreground);
}

/* What a class has for its weight, and how exact the code's figure is. */
static double has(const struct play *play, int place, int class)
{
	double held = at(play, ADMITTED, class, place);
	double both = (double)play->admission.share[0] +
		      play->admission.share[1];

	if (beside(play, place, class))
		held = held * both / play->admission.share[class];
	return held / play->places[place].weight;
}

static double error(const struct play *play, int place)
{
	double both = (double)play->admission.share[0] +
		      play->admission.share[1];

	return (2 + both / play->places[place].weight) / (1 << 30);
}

static double divided(const struct play *play)
{
	double slots = play->admission.total - play->admission.reserve;

	if (in_line(play, ADMITTED, FGIO_LINE_CARRIER) ||
	    in_line(play, LINED_UP, FGIO_LINE_CARRIER))
		slots -= play->admission.reserve;
	return slots < 1 ? 1 : slots;
}

enum answer { NO, YES, UNSURE };

static enum answer may_take(const struct play *play, int place, int class)
{
	double due = divided(play) / weights(play, place);
	double got = has(play, place, class);
	uint32_t slots = taken(play);
	bool below = slots < play->admission.total;
	bool beyond = slots < play->admission.total - play->admission.reserve &&
		      (class == FGIO_CRITICAL || !beside(play, place, class));

	if (below == beyond)
		return below ? YES : NO;
	if (got > due - error(play, place) && got < due + error(play, place))
		return UNSURE;
	return got < due ? (below ? YES : NO) : (beyond ? YES : NO);
}

static bool carrier_may(const struct play *play)
{
	uint32_t others = in_line(play, ADMITTED, FGIO_CRITICAL) +
			  in_line(play, ADMITTED, FGIO_NONCRITICAL);
	uint32_t carriers = in_line(play, ADMITTED, FGIO_LINE_CARRIER);

	return carriers < play->admission.reserve ||
	       carriers + others <
		       play->admission.total - play->admission.reserve;
}

static int first(const struct play *play, int line, int place)
{
	int found = -1;

	for (int i = 0; i < THREADS; i++)
		if (play->threads[i].where == LINED_UP &&
		    play->threads[i].line == line &&
		    (place < 0 || play->threads[i].place == place) &&
		    (found < 0 ||
		     play->threads[i].came < play->threads[found].came))
			found = i;
	return found;
}

/* As the code does with each change of a place. */
static void note(struct play *play, int place, bool charged_critical)
{
	struct model_place *model = &play->places[place];

	if (charged_critical)
		model->foreground = true;
	else if (!play->critical_present)
		model->foreground = false;
}

static void note_idle(struct play *play, int place)
{
	if (!active(play, place))
		play->places[place].idle_since = ++play->clock;
}

static void check_grant(const struct play *play, int granted)
{
	const struct model_thread *thread = &play->threads[granted];
	double got;

	if (thread->line == FGIO_LINE_CARRIER) {
		CHECK(carrier_may(play));
		CHECK(first(play, FGIO_LINE_CARRIER, -1) == granted);
		return;
	}
	CHECK(!carrier_may(play) || first(play, FGIO_LINE_CARRIER, -1) < 0);
	CHECK(may_take(play, thread->place, thread->line) != NO);
	CHECK(first(play, thread->line, thread->place) == granted);
	if (thread->line == FGIO_NONCRITICAL)
		CHECK(first(play, FGIO_CRITICAL, thread->place) < 0 ||
		      may_take(play, thread->place, FGIO_CRITICAL) != YES);
	/* None that may go has less of what it is due. */
	got = has(play, thread->place, thread->line);
	if (thread->line == FGIO_CRITICAL &&
	    first(play, FGIO_NONCRITICAL, thread->place) >= 0 &&
	    may_take(play, thread->place, FGIO_NONCRITICAL) != NO &&
	    has(play, thread->place, FGIO_NONCRITICAL) < got)
		got = has(play, thread->place, FGIO_NONCRITICAL);
	for (int i = 0; i < THREADS; i++) {
		const struct model_thread *other = &play->threads[i];

		if (other->where != LINED_UP ||
		    other->line == FGIO_LINE_CARRIER ||
		    may_take(play, other->place, other->line) != YES)
			continue;
		CHECK(has(play, other->place, other->line) >=
		      got - error(play, thread->place) -
			      error(play, other->place));
	}
}

static void check_no_grant(const struct play *play)
{
	CHECK(first(play, FGIO_LINE_CARRIER, -1) < 0 || !carrier_may(play));
	for (int i = 0; i < THREADS; i++) {
		const struct model_thread *thread = &play->threads[i];

		if (thread->where == LINED_UP &&
		    thread->line != FGIO_LINE_CARRIER)
			CHECK(may_take(play, thread->place, thread->line) !=
			      YES);
	}
}

static void got_in(struct play *play, int i)
{
	struct model_thread *thread = &play->threads[i];

	CHECK(play->waiters[i].granted);
	thread->where = ADMITTED;
	recount(play);
	if (thread->line != FGIO_LINE_CARRIER)
		note(play, thread->place, thread->line == FGIO_CRITICAL);
}

static void grant_all(struct play *play)
{
	struct fgio_waiter *waiter;

	while ((waiter = fgio_admission_grant(&play->admission,
					      play->critical_present))) {
		int i = (int)(waiter - play->waiters);

		check_grant(play, i);
		got_in(play, i);
	}
	check_no_grant(play);
}

static int place_of(struct play *play, uint64_t key, uint32_t weight)
{
	int own = FGIO_ADMISSION_REST, longest = -1, place;

	for (int i = 1; i < (int)PLACES; i++) {
		if (key && play->places[i].key == key)
			own = i;
		if (!active(play, i) &&
		    (longest < 0 || play->places[i].idle_since <
					    play->places[longest].idle_since))
			longest = i;
	}
	if (key && !own && longest >= 0) {
		own = longest;
		play->places[own] = (struct model_place){
			.key = key,
			.idle_since = ++play->clock,
		};
	}
	if (!own && !key)
		weight = FGIO_ADMISSION_WEIGHT_DEFAULT;
	place = fgio_admission_place_of(&play->admission, key, weight);
	CHECK(place == own);
	if (own || !active(play, own) || weight > play->places[own].weight)
		play->places[own].weight = weight;
	recount(play);
	return own;
}

static void enter(struct play *play, int i, int line, int place, bool force)
{
	struct model_thread *thread = &play->threads[i];
	enum answer free;
	bool admitted;

	free = line == FGIO_LINE_CARRIER ?
		       (first(play, line, -1) < 0 && carrier_may(play) ? YES :
									 NO) :
	       first(play, line, place) >= 0 ? NO :
					       may_take(play, place, line);
	if (force) {
		fgio_admission_charge_for(&play->admission,
					  (enum fgio_line)line, (u8)place);
		admitted = true;
	} else {
		admitted = fgio_admission_try_for(&play->admission,
						  (enum fgio_line)line,
						  (u8)place);
		CHECK(free == UNSURE || admitted == (free == YES));
	}
	thread->line = line;
	thread->place = place;
	thread->came = ++play->clock;
	thread->where = admitted ? ADMITTED : LINED_UP;
	if (!admitted)
		fgio_admission_wait_for(&play->admission, &play->waiters[i],
					(enum fgio_line)line, (u8)place);
	recount(play);
	if (line != FGIO_LINE_CARRIER)
		note(play, place, admitted && line == FGIO_CRITICAL);
	grant_all(play);
}

static void leave(struct play *play, int i)
{
	struct model_thread *thread = &play->threads[i];

	if (thread->where != ADMITTED)
		return;
	thread->where = OUTSIDE;
	recount(play);
	fgio_admission_release_for(&play->admission,
				   (enum fgio_line)thread->line,
				   (u8)thread->place);
	if (thread->line != FGIO_LINE_CARRIER) {
		note(play, thread->place, false);
		note_idle(play, thread->place);
	}
	grant_all(play);
}

/* A request turns out to be of another class, or another group pays. */
static void move(struct play *play, int i, int line, int place)
{
	struct model_thread *thread = &play->threads[i];
	int from = thread->place, was = thread->line;

	if (thread->where != ADMITTED)
		return;
	fgio_admission_move_to(&play->admission, (enum fgio_line)was, (u8)from,
			       (enum fgio_line)line, (u8)place);
	thread->line = line;
	thread->place = place;
	recount(play);
	if (line != FGIO_LINE_CARRIER)
		note(play, place, line == FGIO_CRITICAL);
	if (was != FGIO_LINE_CARRIER) {
		note(play, from, false);
		note_idle(play, from);
	}
	grant_all(play);
}

static void promote(struct play *play, int i, int place)
{
	struct model_thread *thread = &play->threads[i];
	bool can = thread->where == LINED_UP &&
		   thread->line != FGIO_LINE_CRITICAL;
	int from = thread->place, was = thread->line;

	if (thread->where == OUTSIDE)
		return;
	play->waiters[i].granted = thread->where == ADMITTED;
	CHECK(fgio_admission_promote_to(&play->admission, &play->waiters[i],
					(u8)place) == can);
	if (can) {
		thread->line = FGIO_LINE_CRITICAL;
		thread->place = place;
		thread->came = ++play->clock;
		recount(play);
		if (was != FGIO_LINE_CARRIER) {
			note(play, from, false);
			note_idle(play, from);
		}
		note(play, place, false);
	}
	grant_all(play);
}

/*
 * While the place is in use, a place of idle ones may be taken by another key:
 * only those in use are compared.
 */
static void check_always(const struct play *play)
{
	const struct fgio_admission *admission = &play->admission;
	double sum = 0;

	for (int line = 0; line < FGIO_LINES; line++) {
		CHECK(admission->admitted[line] ==
		      in_line(play, ADMITTED, line));
		CHECK(admission->waiting[line] ==
		      in_line(play, LINED_UP, line));
	}
	for (int i = 0; i < (int)PLACES; i++) {
		const struct fgio_admission_group *group =
			&play->groups.groups[i];

		CHECK(group->key == play->places[i].key);
		CHECK(group->weight == play->places[i].weight);
		for (int class = 0; class < FGIO_CLASSES; class++) {
			CHECK(group->held[class] ==
			      at(play, ADMITTED, class, i));
			CHECK(group->waiting[class] ==
			      at(play, LINED_UP, class, i));
			/* A release wakes waiters: one must be to come. */
			if (group->waiting[class])
				CHECK(taken(play));
		}
		if (active(play, i))
			sum += play->places[i].weight;
	}
	CHECK((double)play->groups.weights == sum);
}

static uint32_t weight_of(uint8_t value)
{
	static const uint32_t some[] = { 1, 64, 6400, 19200, 640000 };

	return some[value % 5];
}

/* All slots are free: the number of slots may change. */
static void resize(struct play *play, uint8_t how)
{
	if (how & 1) {
		fgio_admission_set_shares(&play->admission, 1 + how % 16,
					  1 + how / 16);
		grant_all(play);
		return;
	}
	if (taken(play) || in_line(play, LINED_UP, 0) ||
	    in_line(play, LINED_UP, 1) || in_line(play, LINED_UP, 2))
		return;
	fgio_admission_resize(&play->admission, 2 + how % 62);
}

static void play_operation(struct play *play, uint8_t operation, uint8_t value,
			   uint8_t more)
{
	int i = value % THREADS;
	int line = operation / 16 % 4 % FGIO_LINES;
	uint64_t key = more < 4 ? 0 : more % (operation & 128 ? KEYS : 8);

	switch (operation % 16) {
	case 0: case 1: case 2: case 3: case 4: case 5:
		if (play->threads[i].where == OUTSIDE)
			enter(play, i, line,
			      place_of(play, key, weight_of(more)), false);
		break;
	case 6:
		if (play->threads[i].where == OUTSIDE)
			enter(play, i, line,
			      place_of(play, key, weight_of(more)),
			      value % 16 == 0);
		break;
	case 7: case 8: case 9: case 10:
		for (int k = 0; k < 1 + more % 16; k++)
			leave(play, (i + k) % THREADS);
		break;
	case 11:
		promote(play, i, place_of(play, key, weight_of(value)));
		break;
	case 12:
		move(play, i, line, place_of(play, key, weight_of(value)));
		break;
	case 13:
		resize(play, value);
		break;
	case 14:
		/* A weight changes while its group waits. */
		place_of(play, key, weight_of(value));
		grant_all(play);
		break;
	default:
		play->critical_present = value & 1;
		fgio_admission_critical_is(&play->admission,
					   play->critical_present);
	}
}

void model_admission_groups_play(const uint8_t *script, size_t length)
{
	static struct play play;

	play = (struct play){ .clock = PLACES };
	fgio_admission_init(&play.admission, 2 + (length ? script[0] % 62 : 0));
	fgio_admission_set_shares(&play.admission, 4, 4);
	fgio_admission_use_groups(&play.admission, &play.groups);
	for (int i = 0; i < (int)PLACES; i++)
		play.places[i] = (struct model_place){
			.weight = FGIO_ADMISSION_WEIGHT_DEFAULT,
			.idle_since = (uint64_t)i,
		};
	for (size_t i = 1; i + 2 < length; i += 3) {
		play_operation(&play, script[i], script[i + 1],
			       script[i + 2]);
		check_always(&play);
	}
	/* After any history, every waiter gets in when all others leave. */
	for (int round = 0; round < 2 * THREADS; round++)
		for (int i = 0; i < THREADS; i++)
			leave(&play, i);
	CHECK(!fgio_admission_has_waiters(&play.admission));
}
