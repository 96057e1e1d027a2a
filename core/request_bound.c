// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "request_bound.h"

/*
 * A turn of a bound is this number of I/Os, and of times as many as may be in
 * the drive: what begins with another number in it ends soon.
 */
#define TURN_LEAST 64U
#define TURN_TIMES 4U

/*
 * Turns of both bounds in a trial: at first, and at most. They double with each
 * trial that changes nothing, until one is clear.
 */
#define ROUNDS_FIRST 4U
#define ROUNDS_MOST 16U

/*
 * More in the drive are worth having if they save one part in WORTH of the time.
 * Beyond that by one part in CLEAR, either way, the first turns decide.
 */
#define WORTH 64
#define CLEAR 8

/* Between trials, times as many I/Os as in one of a single turn of both. */
#define PAUSE_FIRST 16U
#define PAUSE_MOST_SHIFT 4U

static u32 higher(const struct fgio_request_bound *bound)
{
	return 2U << bound->low;
}

static u32 turn_length(const struct fgio_request_bound *bound)
{
	return TURN_LEAST + TURN_TIMES * higher(bound);
}

static void begin_turn(struct fgio_request_bound *bound)
{
	bound->skip = higher(bound);
	bound->left = turn_length(bound);
}

static void begin_trial(struct fgio_request_bound *bound)
{
	if (!bound->level)
		bound->upwards = true;
	if (bound->level == FGIO_BOUND_MOST)
		bound->upwards = false;
	bound->low = (u8)(bound->level - !bound->upwards);
	bound->high = !bound->upwards;
	bound->trying = true;
	bound->rounds = 0;
	for (u32 arm = 0; arm < FGIO_BOUND_ARMS; arm++) {
		bound->took_ns[arm] = 0;
		bound->count[arm] = 0;
	}
	begin_turn(bound);
}

void fgio_request_bound_init(struct fgio_request_bound *bound)
{
	*bound = (struct fgio_request_bound){
		.level = FGIO_BOUND_FIRST,
		.upwards = true,
	};
	begin_trial(bound);
}

static s64 mean_ns(const struct fgio_request_bound *bound, u32 arm)
{
	return (s64)(bound->took_ns[arm] / bound->count[arm]);
}

static void settle(struct fgio_request_bound *bound)
{
	bound->trying = false;
	/* Neither more nor fewer are better. */
	bound->settles += !bound->upwards && bound->settles < PAUSE_MOST_SHIFT;
	bound->upwards = !bound->upwards;
	bound->left = (PAUSE_FIRST * turn_length(bound)) << bound->settles;
}

/*
 * The next trial goes on in the same direction. Only a clear answer makes it
 * short again: what is due to chance must not go on.
 */
static void move(struct fgio_request_bound *bound, bool high, bool clear)
{
	bound->level = (u8)(bound->low + high);
	if (clear)
		bound->settles = 0;
	begin_trial(bound);
}

/* Both bounds had their turns. */
static void judge(struct fgio_request_bound *bound)
{
	u32 most = (u32)smaller(ROUNDS_MOST, ROUNDS_FIRST << bound->settles);
	s64 high_ns = mean_ns(bound, FGIO_BOUND_HIGH);
	/* What more in the drive save, beyond what makes them worth it. */
	s64 gain_ns = mean_ns(bound, FGIO_BOUND_LOW) - high_ns -
		      high_ns / WORTH;
	bool clear = gain_ns * CLEAR > high_ns || -gain_ns * CLEAR > high_ns;
	bool wants_high = gain_ns > 0;

	if (++bound->rounds < most && !clear)
		begin_turn(bound);
	else if (wants_high == bound->upwards)
		move(bound, wants_high, clear);
	else
		settle(bound);
}

/* The bound in force had its turn. */
static void end_turn(struct fgio_request_bound *bound)
{
	bool both;

	if (!bound->trying) {
		begin_trial(bound);
		return;
	}
	/* The level itself comes first, then the bound that is tried. */
	both = bound->high == bound->upwards;
	bound->high = !bound->high;
	if (both)
		judge(bound);
	else
		begin_turn(bound);
}

static void count(struct fgio_request_bound *bound, u64 took_ns)
{
	if (bound->skip) {
		bound->skip--;
		return;
	}
	if (bound->trying) {
		bound->took_ns[bound->high] += took_ns;
		bound->count[bound->high]++;
	}
	if (!--bound->left)
		end_turn(bound);
}

/* The drive may not be full yet when the first ones have to wait. */
static void begin_to_wait(struct fgio_request_bound *bound)
{
	bound->skip = (u32)larger(bound->skip,
				  fgio_request_bound_now(bound));
}

void fgio_request_bound_went(struct fgio_request_bound *bound, u32 waiting,
			     u64 now_ns)
{
	bound->held_ns = 0;
	if (bound->fixed)
		return;
	if (bound->last_ns)
		count(bound, beyond(now_ns, bound->last_ns));
	else if (waiting)
		begin_to_wait(bound);
	bound->last_ns = waiting ? now_ns : 0;
}
