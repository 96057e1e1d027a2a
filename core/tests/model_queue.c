// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The model keeps one array of all requests, each with the order in which it
 * joined its line, and finds the next one by looking at every one of them:
 * slow, and with nothing in common with lists and counters.
 */
#include "model_queue.h"

#include "../queue.h"
#include "check.h"

#define REQUESTS 24
#define MILLISECOND 1000000ULL

struct model_request {
	enum { AWAY, WAITS, SERVED } where;
	bool critical;
	bool written_off; /* too long in the device to count */
	int64_t order; /* smaller goes first */
};

/*
 * @ended: end of the last request of a direction
 * @batch, @reads_first, @writes: of the way over the disk; how often reads went
 * first, though there were writes
 * @reads_passed, @writes_in_turn: the same without one
 */
struct model_order {
	uint64_t ended[2];
	unsigned int batch;
	unsigned int reads_first;
	unsigned int reads_passed;
	unsigned int writes_in_turn;
	bool writes;
};

struct play {
	struct fgio_queue queue;
	struct fgio_request requests[REQUESTS];
	struct model_request model[REQUESTS];
	struct fgio_queue_config config;
	int64_t last_order;
	int64_t first_order;
	uint64_t now_ns;
	uint64_t critical_done_ns; /* 0: not lately */
	uint64_t release_due_ns;
	uint64_t promoted;
	uint64_t still_ns; /* withheld, and nothing moved, since; 0: something did */
	struct model_order order[2];
	bool one_class;
	bool told; /* the caller still owes a call of fgio_queue_next() */
};

static int count(const struct play *play, int where, bool critical)
{
	int total = 0;

	for (int i = 0; i < REQUESTS; i++)
		total += play->model[i].where == (typeof(play->model[i].where))where &&
			 play->model[i].critical == critical;
	return total;
}

/* The oldest of a class and direction, by the order in which they joined. */
static int oldest(const struct play *play, bool critical, bool write)
{
	int first = -1;

	for (int i = 0; i < REQUESTS; i++) {
		if (play->model[i].where != WAITS ||
		    play->model[i].critical != critical ||
		    play->requests[i].write != write)
			continue;
		if (first < 0 || play->model[i].order < play->model[first].order)
			first = i;
	}
	return first;
}

/* The reads, then the writes. */
static int first_in_line(const struct play *play, bool critical)
{
	int read = oldest(play, critical, false);

	return read < 0 ? oldest(play, critical, true) : read;
}

/* The next one upwards from where the last of its direction ended. */
static int next_on_the_way(const struct play *play, bool write)
{
	int next = -1;

	for (int i = 0; i < REQUESTS; i++) {
		if (play->model[i].where != WAITS || play->model[i].critical ||
		    play->requests[i].write != write ||
		    play->requests[i].sector < play->order[false].ended[write])
			continue;
		if (next < 0 ||
		    play->requests[i].sector < play->requests[next].sector)
			next = i;
	}
	return next;
}

static bool model_overdue(const struct play *play, int i)
{
	uint64_t expire_ms = play->requests[i].write ? 5000 : 500;

	return play->model[i].order < 0 || !play->requests[i].queued_ns ||
	       play->now_ns - play->requests[i].queued_ns >=
		       expire_ms * MILLISECOND;
}

/*
 * Two thirds for reads: after 2 * @at_a_time reads ahead of writes, @at_a_time
 * writes go.
 */
static int model_by_age(struct play *play, bool critical, unsigned int at_a_time)
{
	struct model_order *order = &play->order[critical];
	int read = oldest(play, critical, false);
	int write = oldest(play, critical, true);

	if (read < 0 || write < 0) {
		order->reads_passed = order->writes_in_turn = 0;
		return read < 0 ? write : read;
	}
	if (order->reads_passed < 2 * at_a_time) {
		order->reads_passed++;
		return read;
	}
	order->writes_in_turn++;
	if (order->writes_in_turn >= at_a_time)
		order->reads_passed = order->writes_in_turn = 0;
	return write;
}

/* Two thirds for reads; sixteen of a direction on one way over the disk. */
static int model_on_the_way(struct play *play)
{
	struct model_order *order = &play->order[false];
	int read = oldest(play, false, false);
	int write = oldest(play, false, true);
	int next = next_on_the_way(play, order->writes);
	bool turn;

	if (next >= 0 && order->batch < 16) {
		order->batch++;
	} else {
		turn = read < 0 || (write >= 0 && order->reads_first == 2);
		if (turn)
			order->reads_first = 0;
		else if (write >= 0)
			order->reads_first++;
		order->writes = turn;
		order->batch = 1;
		next = next_on_the_way(play, turn);
		if (next < 0 || model_overdue(play, turn ? write : read))
			next = turn ? write : read;
	}
	return next;
}

enum by { BY_AGE, BY_SHARE, ON_THE_WAY };

static int model_choose(struct play *play, bool critical, enum by by)
{
	int next = by == ON_THE_WAY ?
			   model_on_the_way(play) :
			   model_by_age(play, critical, by == BY_SHARE ? 16 : 1);

	play->order[critical].ended[play->requests[next].write] =
		play->requests[next].sector + play->requests[next].sectors;
	return next;
}

static bool model_critical_present(const struct play *play)
{
	return count(play, WAITS, true) || count(play, SERVED, true) ||
	       (play->critical_done_ns &&
		play->now_ns - play->critical_done_ns <
			play->config.critical_window_ns);
}

static void model_note_release(struct play *play)
{
	uint64_t due_ns = play->release_due_ns;
	uint64_t interval_ns = play->config.release_interval_ns;

	if (play->now_ns < due_ns)
		play->release_due_ns = play->now_ns + interval_ns;
	else if (due_ns + interval_ns < play->now_ns)
		play->release_due_ns = play->now_ns;
	else
		play->release_due_ns = due_ns + interval_ns;
}

static int count_limited(const struct play *play)
{
	int total = 0;

	for (int i = 0; i < REQUESTS; i++)
		total += play->model[i].where == SERVED &&
			 !play->model[i].critical &&
			 !play->model[i].written_off;
	return total;
}

/* Return: whether it was time to. */
static bool model_write_off(struct play *play)
{
	bool still = play->still_ns &&
		     play->now_ns - play->still_ns >= 1000 * MILLISECOND;

	if (still || !play->still_ns)
		play->still_ns = play->now_ns;
	for (int i = 0; still && i < REQUESTS; i++)
		play->model[i].written_off |= play->model[i].where == SERVED &&
					      !play->model[i].critical;
	return still;
}

/* The next request by the rules: an index, or -1. */
static int model_next(struct play *play, bool sweeps)
{
	bool critical = first_in_line(play, true) >= 0;
	bool noncritical = first_in_line(play, false) >= 0;
	bool room, in_turn, due;

	if (!critical && !noncritical)
		return -1;
	if (play->one_class || !model_critical_present(play)) {
		play->critical_done_ns = 0;
		if (critical)
			return model_choose(play, true, BY_AGE);
		return model_choose(play, false, sweeps ? ON_THE_WAY : BY_SHARE);
	}
	room = count_limited(play) <
	       (int)play->config.noncritical_in_device_max;
	in_turn = !critical && room;
	due = play->now_ns >= play->release_due_ns &&
	      (room || count_limited(play) <
			       count(play, SERVED, true) / FGIO_RELEASE_SHARE);
	if (noncritical && (in_turn || due)) {
		model_note_release(play);
		return model_choose(play, false, BY_AGE);
	}
	if (critical)
		return model_choose(play, true, BY_AGE);
	return model_write_off(play) ? model_next(play, sweeps) : -1;
}

static void play_insert(struct play *play, int i, uint8_t how)
{
	struct fgio_request *request = &play->requests[i];
	bool at_head = how & 2;

	if (play->model[i].where != AWAY)
		return;
	if (play->one_class)
		how &= ~1;
	request->class = how & 1 ? FGIO_CRITICAL : FGIO_NONCRITICAL;
	request->sector = (uint64_t)(how >> 2) * 8;
	request->sectors = 16;
	request->write = how & 32;
	request->queued_ns = play->now_ns;
	fgio_queue_insert(&play->queue, request, at_head);
	play->model[i] = (struct model_request){
		.where = WAITS,
		.critical = how & 1,
		.order = at_head ? --play->first_order : ++play->last_order,
	};
}

static struct fgio_request *on_the_way(struct play *play, bool write)
{
	int next = next_on_the_way(play, write);

	return next < 0 ? NULL : &play->requests[next];
}

static void play_next(struct play *play, bool sweeps)
{
	const struct fgio_sweep sweep = {
		{ on_the_way(play, false), on_the_way(play, true) }
	};
	bool timed = sweeps || fgio_queue_needs_clock(&play->queue);
	struct fgio_request *request;
	int expected;

	for (int write = 0; write < 2; write++)
		CHECK(fgio_queue_position(&play->queue, write) ==
		      play->order[false].ended[write]);
	expected = model_next(play, sweeps);
	/* If no clock is needed, none is read: the answer must not differ. */
	request = fgio_queue_next(&play->queue, timed ? play->now_ns : 0,
				  sweeps ? &sweep : NULL);
	play->told = false;
	CHECK(request == (expected < 0 ? NULL : &play->requests[expected]));
	if (request) {
		CHECK(request->state == FGIO_REQUEST_IN_DEVICE);
		play->model[expected].where = SERVED;
		play->model[expected].written_off = false;
		if (!play->model[expected].critical)
			play->still_ns = 0;
	}
}

static void play_left_device(struct play *play, int i)
{
	if (play->model[i].where != SERVED)
		return;
	play->told |= fgio_queue_left_device(&play->queue, &play->requests[i],
					     play->now_ns);
	play->model[i].where = AWAY;
	if (!play->model[i].critical)
		play->still_ns = 0;
	if (play->model[i].critical)
		play->critical_done_ns = play->now_ns;
}

static void model_promote(struct play *play, int i)
{
	play->model[i].critical = true;
	play->model[i].order = ++play->last_order;
	play->promoted++;
}

/* @i swallows @other, which waits too or was never inserted. */
static void play_absorb(struct play *play, int i, int other)
{
	struct model_request *into = &play->model[i];
	struct model_request *from = &play->model[other];

	if (i == other || into->where != WAITS || from->where == SERVED ||
	    play->requests[i].write != play->requests[other].write)
		return;
	if (from->where == AWAY) {
		play->requests[other].state = FGIO_REQUEST_IDLE;
		play->requests[other].class = from->critical;
	}
	if (from->critical && !into->critical)
		model_promote(play, i);
	if (from->where == WAITS && from->critical == into->critical &&
	    play->requests[other].queued_ns < play->requests[i].queued_ns)
		into->order = from->order;
	fgio_queue_absorb(&play->requests[i],
			  &play->requests[other]);
	from->where = AWAY;
}

static void play_promote(struct play *play, int i)
{
	bool can = play->model[i].where == WAITS && !play->model[i].critical;

	if (play->model[i].where == AWAY)
		play->requests[i].state = FGIO_REQUEST_IDLE;
	CHECK(fgio_queue_promote(&play->requests[i]) == can);
	if (can)
		model_promote(play, i);
}

static void play_promote_sector(struct play *play, uint64_t sector)
{
	struct fgio_request *request;
	int expected = -1;

	for (int i = 0; i < REQUESTS; i++) {
		const struct fgio_request *candidate = &play->requests[i];

		if (play->model[i].where != WAITS || play->model[i].critical ||
		    sector < candidate->sector ||
		    sector >= candidate->sector + candidate->sectors)
			continue;
		if (expected < 0 ||
		    candidate->write < play->requests[expected].write ||
		    (candidate->write == play->requests[expected].write &&
		     play->model[i].order < play->model[expected].order))
			expected = i;
	}
	request = fgio_hw_queue_promote_sector(&play->queue.own, sector);
	CHECK(request == (expected < 0 ? NULL : &play->requests[expected]));
	if (request)
		model_promote(play, expected);
}

static void play_configure(struct play *play, uint8_t how)
{
	play->config = (struct fgio_queue_config){
		.noncritical_in_device_max = 1 + how % 3,
		.release_interval_ns = (1 + how % 7) * MILLISECOND,
		.critical_window_ns = (how % 5) * 10 * MILLISECOND,
	};
	fgio_queue_configure(&play->queue, &play->config);
	/* A larger limit may open the way: the caller must look. */
	play->told = true;
}

static void play_one_class(struct play *play)
{
	play->one_class = !play->one_class;
	fgio_queue_set_one_class(&play->queue, play->one_class);
	play->told = true;
}

/* The lines, request by request. */
static void check_lines(struct play *play, int class)
{
	struct fgio_request *request, *next;
	struct play rest = *play;

	fgio_hw_queue_for_each(&play->queue.own, class, request, next) {
		int expected = first_in_line(&rest, class);

		CHECK(expected >= 0 && request == &play->requests[expected]);
		CHECK(!fgio_request_is_in_device(request));
		rest.model[expected].where = AWAY;
	}
	CHECK(first_in_line(&rest, class) < 0);
}

/* Must be true between any two operations. */
static void check_always(const struct play *play)
{
	bool waiting = count(play, WAITS, true) || count(play, WAITS, false);

	CHECK(play->queue.own.queued[FGIO_CRITICAL] ==
	      (uint32_t)count(play, WAITS, true));
	CHECK(play->queue.own.queued[FGIO_NONCRITICAL] ==
	      (uint32_t)count(play, WAITS, false));
	CHECK(fgio_queue_in_device(&play->queue, FGIO_NONCRITICAL) ==
	      (uint32_t)count(play, SERVED, false));
	CHECK(play->queue.own.counters.promoted == play->promoted);
	CHECK(fgio_queue_critical_present(&play->queue, play->now_ns) ==
	      model_critical_present(play));
	/* No request may be forgotten: there must be a next call. */
	if (waiting && !fgio_queue_has_work(&play->queue))
		CHECK(play->told || count(play, SERVED, false));
	if (!waiting)
		CHECK(!fgio_queue_has_work(&play->queue));
	if (play->one_class)
		CHECK(fgio_queue_has_work(&play->queue) == waiting);
}

static void play_operation(struct play *play, uint8_t operation, uint8_t value)
{
	int i = value % REQUESTS;

	switch (operation % 16) {
	case 0: case 1: case 2: case 3:
		play_insert(play, operation / 16 % REQUESTS, value);
		break;
	case 4: case 5: case 6: case 7: case 8:
		play_next(play, value & 1);
		break;
	case 9: case 10: case 11:
		play_left_device(play, i);
		break;
	case 12:
		play_absorb(play, i, operation / 16);
		break;
	case 13:
		play_promote(play, i);
		break;
	case 14:
		if (value & 1)
			play_promote_sector(play, value);
		else if (value % 16 == 0)
			play_configure(play, value / 16);
		else if (value % 16 == 2)
			play_one_class(play);
		else if (value % 16 == 4)
			check_lines(play, value / 16 % 2);
		break;
	default:
		/* As long as it takes to be overdue, now and then. */
		play->now_ns += (uint64_t)value * value *
				(operation / 16 ? 1000 : 100000);
	}
}

/* After any history, all queued requests can still go. */
static void drain(struct play *play)
{
	for (int round = 0; round < 2 * REQUESTS; round++) {
		for (int i = 0; i < REQUESTS; i++)
			play_left_device(play, i);
		play_next(play, false);
	}
	CHECK(!count(play, WAITS, true) && !count(play, WAITS, false));
}

void model_queue_play(const uint8_t *script, size_t length)
{
	struct play play = { .now_ns = 1,
			     .config = FGIO_QUEUE_CONFIG_DEFAULT };

	/* An adaptive queue's limit is for model_depth.c. */
	play.config.noncritical_in_device_max = 1;
	fgio_queue_init(&play.queue, false);
	fgio_queue_configure(&play.queue, &play.config);
	for (int i = 0; i < REQUESTS; i++)
		fgio_list_init(&play.requests[i].link);
	for (size_t at = 0; at + 1 < length; at += 2) {
		play_operation(&play, script[at], script[at + 1]);
		check_always(&play);
	}
	drain(&play);
}
