// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The model keeps each request's rank as three numbers, level, time and order of
 * insertion, and finds the next one by comparing all of them. Times are counted
 * from a base shortly before ids wrap, in numbers that do not.
 *
 * With shares, which group has the turn is model_shares' matter: the model
 * follows, and says which request of that group goes.
 */
#include "model_request_order.h"

#include "../queue.h"
#include "check.h"

#define REQUESTS 32
#define USERS 8
#define GROUPS 2
#define WAYS 4
#define SETS 256
#define MILLISECOND 1000000ULL

/* Three seconds before ids wrap. */
#define BASE_NS (((1ULL << 40) - 3000) * MILLISECOND)
#define UNITS_PER_MS ((__int128)1 << 24)

/*
 * @group: that it is charged to; 0 without shares
 * @memo: what it was told of its user's request; NULL: it has none
 * @position: in the FIFO; smaller is older
 * @level, @time, @number: its rank, the least first
 */
struct model_io {
	enum { AWAY, WAITS, SERVED } where;
	int user; /* -1: none */
	int group;
	bool write;
	bool alone; /* it is ranked when another request's comes */
	bool ranked;
	bool heavy;
	bool counts; /* in the drive, and not written off */
	struct model_memo *memo;
	int position;
	int level;
	__int128 time;
	int number;
	u64 queued_ns;
};

/* What a request had. @user: -1: it is free. @used: number of its last use */
struct model_memo {
	int user;
	unsigned int served, used, queued, size;
};

struct play {
	struct fgio_queue queue;
	struct fgio_request_order by_request;
	struct fgio_request requests[REQUESTS];
	struct model_io model[REQUESTS];
	struct fgio_shares shares;
	struct fgio_share_group groups[GROUPS];
	bool shared;
	bool few; /* most I/O is of one user's request */
	u64 id[USERS];
	struct model_memo memo[SETS][WAYS];
	unsigned int uses, heavy_x16, typical_x16[8];
	unsigned int policy;
	u64 now_ns;
	u64 real_ns;
	int first_position, last_position, numbers;
	unsigned int reads_passed[GROUPS];
	unsigned int passed;
	unsigned int light_went[2];
	bool alone_bounds; /* a full drive holds back the request that is alone */
	u64 aged, clamped, foreign, forgotten;
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

static bool in_line(const struct play *play, int i, int group, bool write)
{
	return play->model[i].where == WAITS && play->model[i].write == write &&
	       play->model[i].group == group;
}

static int oldest(const struct play *play, int group, bool write)
{
	int first = -1;

	for (int i = 0; i < REQUESTS; i++)
		if (in_line(play, i, group, write) &&
		    (first < 0 ||
		     play->model[i].position < play->model[first].position))
			first = i;
	return first;
}

static int ranked(const struct play *play, int group, bool write, int heavy)
{
	int count = 0;

	for (int i = 0; i < REQUESTS; i++)
		count += in_line(play, i, group, write) && play->model[i].ranked &&
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

static int least(const struct play *play, int group, bool write, bool heavy)
{
	int first = -1;

	for (int i = 0; i < REQUESTS; i++)
		if (in_line(play, i, group, write) && play->model[i].ranked &&
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

/* ---- what requests had ---- */

static struct model_memo *set_of(struct play *play, int user)
{
	return play->memo[(play->id[user] * 0x9e3779b97f4a7c15ULL) >> 32 &
			  (SETS - 1)];
}

static void model_learn(struct play *play, const struct model_memo *memo)
{
	unsigned int step = 1 + play->heavy_x16 / 64;

	if (memo->user < 0 || !memo->served)
		return;
	play->typical_x16[memo->size] += 16 * memo->served / 8 -
					 play->typical_x16[memo->size] / 8;
	if (16 * memo->served > play->heavy_x16)
		play->heavy_x16 += 4 * step;
	else if (play->heavy_x16 - step > 16 * 4)
		play->heavy_x16 -= step;
	else
		play->heavy_x16 = 16 * 4;
}

/* Whether @other is the better one to do without. */
static bool is_staler(const struct model_memo *other,
		      const struct model_memo *one)
{
	if (!one->queued != !other->queued)
		return one->queued;
	return other->used < one->used;
}

static struct model_memo *model_remember(struct play *play, int user,
					 unsigned int parts)
{
	struct model_memo *set = set_of(play, user), *memo = set;

	for (int i = 0; i < WAYS; i++) {
		if (set[i].user == user) {
			set[i].used = ++play->uses;
			return &set[i];
		}
		if (is_staler(&set[i], memo))
			memo = &set[i];
	}
	play->forgotten += memo->queued > 0;
	model_learn(play, memo);
	*memo = (struct model_memo){
		.user = user,
		.used = ++play->uses,
		.size = parts == 2,
	};
	return memo;
}

/* NULL: it was forgotten, or it has none. */
static struct model_memo *memo_of(const struct model_io *io)
{
	return io->memo && io->memo->user == io->user ? io->memo : NULL;
}

static unsigned int outstanding(const struct play *play)
{
	unsigned int count = 0;

	for (int set = 0; set < SETS; set++)
		for (int i = 0; i < WAYS; i++)
			count += play->memo[set][i].queued > 0;
	return count;
}

/* ---- ranks ---- */

static unsigned int weight(const struct play *play,
			   const struct model_memo *memo)
{
	return 16 * memo->served / play->heavy_x16;
}

static int level_of(const struct play *play, const struct model_memo *memo)
{
	unsigned int work = 0;
	int level = 0;

	if (play->policy == FGIO_BY_BATCH)
		return !memo || !memo->served;
	if (memo && play->policy == FGIO_BY_LIMITED)
		work = weight(play, memo) / 2;
	if (memo && play->policy == FGIO_BY_BOTTLENECK)
		work = memo->served + 1;
	if (memo && play->policy == FGIO_BY_BOTTLENECK &&
	    work < play->typical_x16[memo->size] / 16)
		work = play->typical_x16[memo->size] / 16;
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
	io->memo = NULL;
	if (!known && !ranked(play, io->group, io->write, -1))
		return;
	if (known) {
		io->memo = model_remember(play, io->user,
					  play->requests[i].rank.parts);
		io->memo->queued++;
	}
	if (play->policy == FGIO_BY_SLACK)
		time += (deadline_ms < 60000 ? deadline_ms : 60000) *
			UNITS_PER_MS;
	io->ranked = true;
	io->heavy = known && play->policy == FGIO_BY_LIMITED &&
		    weight(play, io->memo) >= 2;
	io->level = level_of(play, io->memo);
	io->time = time;
	io->number = ++play->numbers;
}

/* It loses its place. */
static void model_leave(struct model_io *io)
{
	struct model_memo *memo = memo_of(io);

	if (io->ranked && memo && memo->queued)
		memo->queued--;
	io->alone = false;
	io->ranked = false;
}

static unsigned int in_drive(const struct play *play)
{
	unsigned int count = 0;

	for (int i = 0; i < REQUESTS; i++)
		count += play->model[i].counts;
	return count;
}

static int count_alone(const struct play *play)
{
	int count = 0;

	for (int i = 0; i < REQUESTS; i++)
		count += play->model[i].where == WAITS && play->model[i].alone;
	return count;
}

/* Another request's I/O comes: those of one that was alone are ranked in turn. */
static void model_rank_alone(struct play *play)
{
	while (count_alone(play)) {
		int first = -1;

		for (int i = 0; i < REQUESTS; i++)
			if (play->model[i].where == WAITS &&
			    play->model[i].alone &&
			    (first < 0 ||
			     play->model[i].write < play->model[first].write ||
			     (play->model[i].write == play->model[first].write &&
			      play->model[i].position <
				      play->model[first].position)))
				first = i;
		model_rank(play, first);
	}
}

/* Whether all that is queued is of its request, and of its group. */
static bool is_alone(const struct play *play, int i)
{
	const struct model_io *io = &play->model[i];

	if (play->requests[i].rank.deadline_ms)
		return false;
	for (int j = 0; j < REQUESTS; j++)
		if (j != i && play->model[j].where == WAITS &&
		    (!play->model[j].alone || play->model[j].user != io->user ||
		     play->model[j].group != io->group))
			return false;
	return true;
}

/*
 * It joins the end of its line. @again: it was in another one, so it is not the
 * only one.
 */
static void model_add(struct play *play, int i, bool again)
{
	struct model_io *io = &play->model[i];
	int others = count_alone(play);
	__int128 time;
	bool known;

	io->position = ++play->last_position;
	known = believe(play, io, &time);
	if (io->user >= 0 && play->policy != FGIO_BY_NONE && !again) {
		play->foreign += !known;
		play->clamped += known && time != claimed(play->id[io->user]);
	}
	if (known && is_alone(play, i) && (!again || others)) {
		if (!others) {
			play->light_went[false] = 0;
			play->light_went[true] = 0;
		}
		play->alone_bounds = others || in_drive(play) >= play->bound;
		io->alone = true;
	} else {
		model_rank_alone(play);
		model_rank(play, i);
	}
	io->where = WAITS;
}

/* As many of a request's I/Os as follow it by rank count as begun with it. */
static void model_begin(struct play *play, int i)
{
	struct model_io *io = &play->model[i];
	int next;

	if (play->policy != FGIO_BY_BATCH || memo_of(io)->served ||
	    least(play, io->group, io->write, io->heavy) != i)
		return;
	io->where = SERVED;
	while ((next = least(play, io->group, io->write, io->heavy)) >= 0) {
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
static int model_next_of(struct play *play, int group, bool write)
{
	int next = oldest(play, group, write);
	struct model_io *io = &play->model[next];
	bool light = ranked(play, group, write, false);
	bool heavy = ranked(play, group, write, true);
	bool aged = play->passed >= 3 &&
		    play->now_ns >= io->queued_ns + 500 * MILLISECOND;

	if (io->alone && needs_work(play))
		model_remember(play, io->user,
			       play->requests[next].rank.parts)
			->served++;
	if (!io->ranked)
		return next;
	if (!aged)
		next = least(play, group, write,
			     light && heavy ? play->light_went[write] >= 3 : !light);
	io = &play->model[next];
	play->aged += aged;
	play->passed = aged ? 0 : play->passed + 1;
	if (!aged && !io->heavy && heavy)
		play->light_went[write]++;
	else if (!aged)
		play->light_went[write] = 0;
	if (memo_of(io) && needs_work(play)) {
		memo_of(io)->used = ++play->uses;
		model_begin(play, next);
		memo_of(io)->served++;
	}
	return next;
}

/* Of all groups and both directions. */
static unsigned int all_ranked(const struct play *play)
{
	unsigned int count = 0;

	for (int i = 0; i < REQUESTS; i++)
		count += play->model[i].where == WAITS && play->model[i].ranked;
	return count;
}

/* Whether the drive has enough, as far as it is not stuck. */
static bool is_full(struct play *play)
{
	bool bounds = all_ranked(play) ||
		      (count_alone(play) && play->alone_bounds);

	if (in_drive(play) < play->bound || !bounds)
		return false;
	if (!play->held_ns)
		play->held_ns = play->now_ns;
	if (play->now_ns < play->held_ns + 100 * MILLISECOND)
		return true;
	for (int i = 0; i < REQUESTS; i++)
		play->model[i].counts = false;
	return false;
}

static bool holds(const struct play *play, int group)
{
	return oldest(play, group, false) >= 0 || oldest(play, group, true) >= 0;
}

/* Two reads, then a write. */
static int model_next(struct play *play, int group)
{
	bool reads = oldest(play, group, false) >= 0;
	bool writes = oldest(play, group, true) >= 0;
	unsigned int *passed = &play->reads_passed[group];
	bool write = !reads || (writes && *passed >= 2);

	if (reads && writes && !write)
		(*passed)++;
	else
		*passed = 0;
	return model_next_of(play, group, write);
}

/* ---- operations ---- */

static void insert(struct play *play, struct fgio_request *request, int group,
		   bool at_head)
{
	if (play->shared)
		fgio_queue_insert_of(&play->queue, request, &play->groups[group],
				     at_head);
	else
		fgio_queue_insert(&play->queue, request, at_head);
}

static void play_insert(struct play *play, int i, uint8_t how)
{
	struct fgio_request *request = &play->requests[i];
	struct model_io *io = &play->model[i];
	bool at_head = how >> 4 == 15;

	if (io->where != AWAY)
		return;
	*io = (struct model_io){
		.user = play->few && how % 16 ? 0 : how % (USERS + 1) - 1,
		.group = play->shared && how % 7 < 2,
		.write = how & 64,
		.queued_ns = at_head ? 0 : play->now_ns,
	};
	*request = (struct fgio_request){
		.class = how & 32 ? FGIO_CRITICAL : FGIO_NONCRITICAL,
		.write = io->write,
		.sectors = 8,
		.queued_ns = play->now_ns,
		.rank.id = io->user < 0 ? 0 : play->id[io->user],
		/* Two of three have none: those may be alone. */
		.rank.deadline_ms = how % 3 ? 0 : how * 7 % 5 * 1000,
		.rank.parts = how % 3,
	};
	if (at_head)
		request->class = FGIO_CRITICAL;
	fgio_list_init(&request->link);
	insert(play, request, io->group, at_head);
	/* Without I/O of the other class, whose rules are model_queue's. */
	if (request->class == FGIO_NONCRITICAL)
		CHECK(fgio_queue_promote(request));
	if (!at_head) {
		model_add(play, i, false);
		return;
	}
	model_rank_alone(play);
	io->where = WAITS;
	io->position = --play->first_position;
}

/* It is charged to the other group: it is ranked there, at the tail. */
static void play_recharge(struct play *play, int i)
{
	struct model_io *io = &play->model[i];

	if (!play->shared || io->where == AWAY)
		return;
	fgio_shares_recharge(&play->requests[i], &play->groups[!io->group],
			     play->now_ns);
	if (io->where == SERVED)
		return;
	model_leave(io);
	io->where = AWAY;
	io->group = !io->group;
	model_add(play, i, true);
}

/* The clock is set: what is queued keeps its rank. */
static void play_set_clock(struct play *play, uint8_t how)
{
	static const int64_t step_ms[] = { 1, -1, 300, -300, 1500, -1500 };

	/* Never before the time at which the queue's clock began. */
	play->real_ns = (u64)((int64_t)play->real_ns +
			      step_ms[how % ARRAY_SIZE(step_ms)] *
				      (int64_t)MILLISECOND);
	fgio_request_order_set_clock(&play->by_request, play->real_ns);
}

static void expect_nothing(struct play *play)
{
	u64 retry_ns = fgio_queue_retry_ns(&play->queue);

	CHECK(!fgio_queue_has_work(&play->queue));
	/* What waits has a time at which it goes, whatever the drive does. */
	if (fgio_queue_holds_requests(&play->queue))
		CHECK(retry_ns > play->now_ns &&
		      retry_ns <= play->now_ns + FGIO_BOUND_STILL_NS);
}

static void play_next(struct play *play)
{
	bool timed = fgio_queue_needs_clock(&play->queue);
	bool holds_any = holds(play, 0) || holds(play, 1);
	bool full = holds_any && is_full(play);
	struct fgio_request *request = fgio_queue_next(
		&play->queue, timed ? play->now_ns : 0, NULL);
	int expected, group;

	if (!request) {
		/* A group may have to wait for its turn. */
		CHECK(full || !holds_any || play->shared);
		expect_nothing(play);
		return;
	}
	CHECK(!full && holds_any);
	group = play->model[request - play->requests].group;
	expected = model_next(play, group);
	CHECK(request == &play->requests[expected]);
	model_leave(&play->model[expected]);
	play->model[expected].where = SERVED;
	play->model[expected].counts = true;
	play->held_ns = 0;
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
	if (!play->shared)
		CHECK(fgio_queue_has_work(&play->queue) ==
		      fgio_queue_holds_requests(&play->queue));
	play->model[i].where = AWAY;
	play->model[i].counts = false;
}

/* It comes to the other's place. */
static void model_absorb(struct model_io *into, const struct model_io *from)
{
	into->position = from->position;
	into->queued_ns = from->queued_ns;
	if (!from->ranked && !from->alone) {
		model_leave(into);
	} else if (from->ranked && goes_before(from, into)) {
		into->level = from->level;
		into->time = from->time;
		into->number = from->number;
	}
}

/* All that is queued goes, and completes. */
static void play_all(struct play *play)
{
	for (int i = 0; i < 2 * REQUESTS; i++) {
		play_next(play);
		play_left_device(play, i % REQUESTS);
	}
}

static void play_absorb(struct play *play, int i, int other)
{
	struct model_io *into = &play->model[i], *from = &play->model[other];

	if (i == other || into->where != WAITS || from->where != WAITS ||
	    into->write != from->write)
		return;
	fgio_queue_absorb(&play->requests[i], &play->requests[other]);
	from->where = AWAY;
	if (from->group == into->group && from->queued_ns < into->queued_ns &&
	    (!from->ranked || into->ranked))
		model_absorb(into, from);
	model_leave(from);
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

/* Counters with which all memos are in one set: more requests than ways. */
static void draw_colliding(struct play *play)
{
	for (int user = 0; user < USERS; user++)
		while (play->id[user] && set_of(play, user) != play->memo[0])
			play->id[user] += USERS;
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
		if (value % 4 == 1)
			play_recharge(play, i);
		if (value % 16 == 2)
			play_set_clock(play, value / 16);
		if (value % 16 == 3)
			play_all(play);
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
	CHECK(play->by_request.ranked == all_ranked(play));
	CHECK(play->by_request.alone.count == (u32)count_alone(play));
	CHECK(play->by_request.requests == outstanding(play));
	CHECK(play->by_request.aged == play->aged);
	CHECK(play->by_request.forgotten == play->forgotten);
	CHECK(play->by_request.clamped == play->clamped);
	CHECK(play->by_request.foreign == play->foreign);
}

static void drain(struct play *play)
{
	/* Without shares, though nothing of what is in the drive completes. */
	for (int round = 0; round < 4 * REQUESTS; round++) {
		play_next(play);
		play->now_ns += 60 * MILLISECOND;
		/* With shares, a drive that takes 60 ms for each has two at a time. */
		for (int i = 0; play->shared && i < REQUESTS; i++)
			play_left_device(play, i);
	}
	for (int i = 0; i < REQUESTS; i++) {
		CHECK(play->model[i].where != WAITS);
		play_left_device(play, i);
	}
	CHECK(!play->by_request.ranked && !play->by_request.requests);
}

static void begin_shares(struct play *play)
{
	fgio_shares_init(&play->shares, false);
	for (int group = 0; group < GROUPS; group++)
		fgio_share_group_init(&play->groups[group],
				      fgio_shares_weight(100));
	fgio_queue_set_shares(&play->queue, &play->shares);
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
	play.heavy_x16 = 16 * 4;
	for (int i = 0; i < SETS * WAYS; i++)
		play.memo[i / WAYS][i % WAYS].user = -1;
	play.shared = length && script[0] & 128;
	play.few = length && script[0] & 32;
	if (play.shared)
		begin_shares(&play);
	fgio_request_order_init(&play.by_request, play.policy);
	play.by_request.bound.fixed = play.bound;
	fgio_request_order_set_clock(&play.by_request, play.real_ns);
	fgio_hw_queue_set_request_order(&play.queue.own, &play.by_request);
	for (int user = 0; user < USERS; user++)
		play.id[user] = draw_id(&play, user,
					length > 1 ? (uint8_t)(script[1] * (user + 1)) : 0);
	if (length && script[0] & 64)
		draw_colliding(&play);
	for (size_t at = 2; at + 1 < length; at += 2) {
		play_operation(&play, script[at], script[at + 1]);
		check_always(&play);
	}
	drain(&play);
}
