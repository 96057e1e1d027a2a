// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The model keeps each request's rank as three numbers, level, time and order of
 * insertion, and finds the next one by comparing all of them. Times are counted
 * from a base shortly before ids wrap, in numbers that do not.
 */
#include "model_request_order.h"

#include "../queue.h"
#include "check.h"

#define REQUESTS 32
#define USERS 8
#define MILLISECOND 1000000ULL

/* Three seconds before ids wrap. */
#define BASE_NS (((1ULL << 40) - 3000) * MILLISECOND)
#define UNITS_PER_MS ((__int128)1 << 24)

/*
 * @position: in the FIFO; smaller is older
 * @level, @time, @number: its rank, the least first
 */
struct model_io {
	enum { AWAY, WAITS, SERVED } where;
	int user; /* -1: none */
	bool write;
	bool alone; /* it goes at once, or is ranked when another comes */
	bool ranked;
	bool known; /* its id was believed when it was ranked */
	bool heavy;
	bool counts; /* in the drive, and not written off */
	int position;
	int level;
	__int128 time;
	int number;
	u64 queued_ns;
};

struct play {
	struct fgio_queue queue;
	struct fgio_request_order by_request;
	struct fgio_request requests[REQUESTS];
	struct model_io model[REQUESTS];
	u64 id[USERS];
	unsigned int served[USERS];
	unsigned int policy;
	u64 now_ns;
	u64 real_ns;
	int first_position, last_position, numbers;
	unsigned int reads_passed;
	unsigned int passed;
	unsigned int light_went[2];
	u64 aged;
	unsigned int bound;
	u64 held_ns; /* 0: none is held back */
};

/* A point in time, in units of ids since BASE_NS. */
static __int128 time_of(u64 since_1970_ns)
{
	return (__int128)since_1970_ns * UNITS_PER_MS / (__int128)MILLISECOND -
	       (__int128)BASE_NS * UNITS_PER_MS / (__int128)MILLISECOND;
}

static __int128 arrival_of(const struct play *play, const struct model_io *io)
{
	return time_of(io->queued_ns + play->real_ns);
}

/* The claim, as near as the base as it can be meant. */
static __int128 claimed(u64 id)
{
	return (int64_t)(id - (u64)((__int128)BASE_NS * UNITS_PER_MS /
				    (__int128)MILLISECOND));
}

static bool in_line(const struct play *play, int i, bool write)
{
	return play->model[i].where == WAITS && play->model[i].write == write;
}

static int oldest(const struct play *play, bool write)
{
	int first = -1;

	for (int i = 0; i < REQUESTS; i++)
		if (in_line(play, i, write) &&
		    (first < 0 ||
		     play->model[i].position < play->model[first].position))
			first = i;
	return first;
}

static int ranked(const struct play *play, bool write, int heavy)
{
	int count = 0;

	for (int i = 0; i < REQUESTS; i++)
		count += in_line(play, i, write) && play->model[i].ranked &&
			 (heavy < 0 || play->model[i].heavy == heavy);
	return count;
}

static bool goes_before(const struct model_io *one, const struct model_io *other)
{
	if (one->level != other->level)
		return one->level < other->level;
	if (one->time != other->time)
		return one->time < other->time;
	return one->number < other->number;
}

static int least(const struct play *play, bool write, bool heavy)
{
	int first = -1;

	for (int i = 0; i < REQUESTS; i++)
		if (in_line(play, i, write) && play->model[i].ranked &&
		    play->model[i].heavy == heavy &&
		    (first < 0 ||
		     goes_before(&play->model[i], &play->model[first])))
			first = i;
	return first;
}

/* Return: false: the claim is none. */
static bool believe(const struct play *play, const struct model_io *io,
		    __int128 *time)
{
	__int128 now = arrival_of(play, io), ahead;

	if (io->user < 0 || !play->id[io->user] ||
	    play->policy == FGIO_BY_NONE)
		return false;
	ahead = claimed(play->id[io->user]) - now;
	if (ahead > 600000 * UNITS_PER_MS || ahead < -600000 * UNITS_PER_MS)
		return false;
	if (ahead < -1000 * UNITS_PER_MS)
		ahead = -1000 * UNITS_PER_MS;
	if (ahead > 1000 * UNITS_PER_MS)
		ahead = 1000 * UNITS_PER_MS;
	*time = now + ahead;
	return true;
}

static int level_of(const struct play *play, bool known, int user)
{
	unsigned int work = known ? play->served[user] + 1 : 1;
	int level = 0;

	if (play->policy == FGIO_BY_BATCH)
		return !known || !play->served[user];
	if (play->policy == FGIO_BY_LIMITED)
		work = known ? play->served[user] / 8 : 0;
	else if (play->policy != FGIO_BY_BOTTLENECK)
		work = 0;
	while (work >>= 1)
		level++;
	return level > 15 ? 15 : level;
}

static bool needs_work(const struct play *play)
{
	return play->policy == FGIO_BY_BATCH ||
	       play->policy == FGIO_BY_LIMITED ||
	       play->policy == FGIO_BY_BOTTLENECK;
}

static void model_rank(struct play *play, int i)
{
	struct model_io *io = &play->model[i];
	u32 deadline_ms = play->requests[i].rank.deadline_ms ?: 100;
	__int128 time = arrival_of(play, io);
	bool known = believe(play, io, &time);

	io->alone = false;
	if (!known && !ranked(play, io->write, -1))
		return;
	if (play->policy == FGIO_BY_SLACK)
		time += (deadline_ms < 60000 ? deadline_ms : 60000) *
			UNITS_PER_MS;
	io->ranked = true;
	io->known = known;
	io->heavy = known && play->policy == FGIO_BY_LIMITED &&
		    play->served[io->user] >= 8;
	io->level = level_of(play, known, io->user);
	io->time = time;
	io->number = ++play->numbers;
}

static unsigned int in_drive(const struct play *play)
{
	unsigned int count = 0;

	for (int i = 0; i < REQUESTS; i++)
		count += play->model[i].counts;
	return count;
}

/* Another one comes. */
static void model_rank_alone(struct play *play)
{
	for (int i = 0; i < REQUESTS; i++)
		if (play->model[i].where == WAITS && play->model[i].alone)
			model_rank(play, i);
}

/* It joins the end of its line. */
static void model_add(struct play *play, int i)
{
	struct model_io *io = &play->model[i];
	bool others = oldest(play, false) >= 0 || oldest(play, true) >= 0;
	__int128 time;

	model_rank_alone(play);
	io->where = WAITS;
	io->position = ++play->last_position;
	if (!others && believe(play, io, &time) &&
	    !play->requests[i].rank.deadline_ms &&
	    in_drive(play) < play->bound)
		io->alone = true;
	else
		model_rank(play, i);
}

/* As many of a request's I/Os as follow it by rank count as begun with it. */
static void model_begin(struct play *play, int i)
{
	struct model_io *io = &play->model[i];
	int next;

	if (play->policy != FGIO_BY_BATCH || play->served[io->user] ||
	    least(play, io->write, io->heavy) != i)
		return;
	io->where = SERVED;
	while ((next = least(play, io->write, io->heavy)) >= 0) {
		struct model_io *following = &play->model[next];

		if (following->level != io->level ||
		    following->time != io->time || following->user != io->user)
			break;
		/* Out of sight until all are found. */
		following->level = -100;
		following->where = AWAY;
	}
	for (int j = 0; j < REQUESTS; j++) {
		if (play->model[j].level != -100)
			continue;
		play->model[j].level = io->level - 1;
		play->model[j].where = WAITS;
	}
}

/* The next one of a direction. */
static int model_next_of(struct play *play, bool write)
{
	int next = oldest(play, write);
	struct model_io *io = &play->model[next];
	bool light = ranked(play, write, false), heavy = ranked(play, write, true);
	bool aged = play->passed >= 3 &&
		    play->now_ns >= io->queued_ns + 500 * MILLISECOND;

	if (io->alone) {
		play->light_went[write] = 0;
		play->served[io->user] += needs_work(play);
	}
	if (!io->ranked)
		return next;
	if (!aged)
		next = least(play, write,
			     light && heavy ? play->light_went[write] >= 3 : !light);
	io = &play->model[next];
	play->aged += aged;
	play->passed = aged ? 0 : play->passed + 1;
	if (!aged && !io->heavy && heavy)
		play->light_went[write]++;
	else if (!aged)
		play->light_went[write] = 0;
	if (io->known && needs_work(play)) {
		model_begin(play, next);
		play->served[io->user]++;
	}
	return next;
}

/* Whether the drive has enough, as far as it is not stuck. */
static bool is_full(struct play *play)
{
	if (in_drive(play) < play->bound ||
	    !(ranked(play, false, -1) + ranked(play, true, -1)))
		return false;
	if (!play->held_ns)
		play->held_ns = play->now_ns;
	if (play->now_ns < play->held_ns + 100 * MILLISECOND)
		return true;
	for (int i = 0; i < REQUESTS; i++)
		play->model[i].counts = false;
	return false;
}

/* Two reads, then a write. */
static int model_next(struct play *play)
{
	bool reads = oldest(play, false) >= 0, writes = oldest(play, true) >= 0;
	bool write = !reads || (writes && play->reads_passed >= 2);

	if (!reads && !writes)
		return -1;
	if (is_full(play))
		return -1;
	if (reads && writes && !write)
		play->reads_passed++;
	else
		play->reads_passed = 0;
	return model_next_of(play, write);
}

/* ---- operations ---- */

static void play_insert(struct play *play, int i, uint8_t how)
{
	struct fgio_request *request = &play->requests[i];
	struct model_io *io = &play->model[i];
	bool at_head = how >> 4 == 15;

	if (io->where != AWAY)
		return;
	*io = (struct model_io){
		.user = how % (USERS + 1) - 1,
		.write = how & 64,
		.queued_ns = at_head ? 0 : play->now_ns,
	};
	*request = (struct fgio_request){
		.class = how & 32 ? FGIO_CRITICAL : FGIO_NONCRITICAL,
		.write = io->write,
		.sectors = 8,
		.queued_ns = play->now_ns,
		.rank.id = io->user < 0 ? 0 : play->id[io->user],
		.rank.deadline_ms = how * 7 % 5 * 1000,
		.rank.parts = how % 3,
	};
	if (at_head)
		request->class = FGIO_CRITICAL;
	fgio_list_init(&request->link);
	fgio_queue_insert(&play->queue, request, at_head);
	/* Without I/O of the other class, whose rules are model_queue's. */
	if (request->class == FGIO_NONCRITICAL)
		CHECK(fgio_queue_promote(request));
	if (!at_head) {
		model_add(play, i);
		return;
	}
	model_rank_alone(play);
	io->where = WAITS;
	io->position = --play->first_position;
}

static void play_next(struct play *play)
{
	int expected = model_next(play);
	bool timed = fgio_queue_needs_clock(&play->queue);
	struct fgio_request *request = fgio_queue_next(
		&play->queue, timed ? play->now_ns : 0, NULL);

	CHECK(request == (expected < 0 ? NULL : &play->requests[expected]));
	if (expected >= 0) {
		play->model[expected].where = SERVED;
		play->model[expected].counts = true;
		play->held_ns = 0;
		return;
	}
	CHECK(!fgio_queue_has_work(&play->queue));
	/* What waits has a time at which it goes, whatever the drive does. */
	if (fgio_queue_holds_requests(&play->queue))
		CHECK(fgio_queue_retry_ns(&play->queue) > play->now_ns &&
		      fgio_queue_retry_ns(&play->queue) <=
			      play->now_ns + FGIO_BOUND_STILL_NS);
}

static void play_left_device(struct play *play, int i)
{
	bool held, runs;

	if (play->model[i].where != SERVED)
		return;
	held = play->queue.critical_held;
	runs = fgio_queue_left_device(&play->queue, &play->requests[i],
				      play->now_ns);
	CHECK(runs || !held);
	CHECK(fgio_queue_has_work(&play->queue) ==
	      fgio_queue_holds_requests(&play->queue));
	play->model[i].where = AWAY;
	play->model[i].counts = false;
}

static void play_absorb(struct play *play, int i, int other)
{
	struct model_io *into = &play->model[i], *from = &play->model[other];

	if (i == other || into->where != WAITS || from->where != WAITS ||
	    into->write != from->write)
		return;
	fgio_queue_absorb(&play->requests[i], &play->requests[other]);
	from->where = AWAY;
	if (from->queued_ns >= into->queued_ns || (from->ranked && !into->ranked))
		return;
	into->position = from->position;
	into->queued_ns = from->queued_ns;
	if (!from->ranked) {
		into->ranked = false;
	} else if (goes_before(from, into)) {
		into->level = from->level;
		into->time = from->time;
		into->number = from->number;
	}
}

/* Near the time of the begin, early, late, or beyond what an id may be. */
static u64 draw_id(const struct play *play, int user, uint8_t how)
{
	static const int64_t off_ms[] = { 0,    -3,     20,      -400,
					  900,  -1500,  2000,    -599000,
					  5000, 700000, -700000, 1LL << 39 };
	u64 now = (play->now_ns + play->real_ns) / MILLISECOND << 24;

	return now + ((u64)off_ms[how % ARRAY_SIZE(off_ms)] << 24) + (u64)user;
}

static void play_operation(struct play *play, uint8_t operation, uint8_t value)
{
	int i = operation / 8 % REQUESTS;

	switch (operation % 8) {
	case 0: case 1: case 2:
		play_insert(play, i, value);
		break;
	case 3: case 4:
		play_next(play);
		break;
	case 5:
		play_left_device(play, value % REQUESTS);
		break;
	case 6:
		play_absorb(play, i, value % REQUESTS);
		break;
	default:
		if (value % 16 == 0) {
			play->policy = value / 16 % FGIO_REQUEST_POLICIES;
			fgio_request_order_set_policy(&play->by_request,
						      play->policy);
		}
		play->now_ns += (u64)value * value * (value & 3 ? 100 : 10000);
	}
}

static void check_always(const struct play *play)
{
	CHECK(play->by_request.ranked ==
	      (u32)(ranked(play, false, -1) + ranked(play, true, -1)));
	CHECK(play->by_request.aged == play->aged);
	CHECK(!play->by_request.forgotten);
}

static void drain(struct play *play)
{
	/* Nothing of what is in the drive completes. */
	for (int round = 0; round < 4 * REQUESTS; round++) {
		play_next(play);
		play->now_ns += 60 * MILLISECOND;
	}
	for (int i = 0; i < REQUESTS; i++) {
		CHECK(play->model[i].where != WAITS);
		play_left_device(play, i);
	}
	CHECK(!play->by_request.ranked);
}

void model_request_order_play(const uint8_t *script, size_t length)
{
	static struct play play;
	const struct fgio_queue_config config = {
		.noncritical_in_device_max = 1,
		.release_interval_ns = MILLISECOND,
		.critical_window_ns = 10 * MILLISECOND,
	};

	play = (struct play){ .now_ns = 1, .real_ns = BASE_NS };
	fgio_queue_init(&play.queue, false);
	fgio_queue_configure(&play.queue, &config);
	play.bound = length > 1 && script[1] % 16 ? script[1] % 16 : 1000;
	play.policy = length ? script[0] % FGIO_REQUEST_POLICIES : 0;
	fgio_request_order_init(&play.by_request, play.policy);
	play.by_request.bound.fixed = play.bound;
	fgio_request_order_set_clock(&play.by_request, play.real_ns);
	fgio_hw_queue_set_request_order(&play.queue.own, &play.by_request);
	for (int user = 0; user < USERS; user++)
		play.id[user] = draw_id(&play, user,
					length > 1 ? (uint8_t)(script[1] * (user + 1)) : 0);
	for (size_t at = 2; at + 1 < length; at += 2) {
		play_operation(&play, script[at], script[at + 1]);
		check_always(&play);
	}
	drain(&play);
}
