// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "pace.h"

#define MICROSECOND 1000ULL

/* So much for each unit, at least and at most. */
#define PACE_FASTEST 1024ULL
#define PACE_SLOWEST (250 * MICROSECOND << FGIO_PACE_SHIFT)

/* Late calls do not cost throughput: so much is made good. */
#define CREDIT_NS (50 * MICROSECOND)

/* The pace stays so much slower than the limit that was met. */
#define MARGIN_SHARE 32
/* It is beyond the limit when it is so much faster. */
#define BEYOND_SHARE 64

/* After the limit was met, intervals until the pace is tried; until it is pressed. */
#define CALM_TRY 8
#define CALM_PRESS 32
#define CALM_RACE 48
/* As long as it was met once, which may have been for any reason. */
#define CALM_UNSURE 2
/* It moved when it is met so much of it away from where it was known to be. */
#define MOVED_SHARE 4
/* So many more for each time in a row that the limit was where it was known to be. */
#define CALM_CONFIRMED 8
#define CALM_CONFIRMED_DISK 40
#define CONFIRMED_MOST 2
/* It is there when it differs by less. */
#define CONFIRMED_SHARE 8

/* It is spent when no more than so much of it was left in so many intervals. */
#define SPENT_SHARE 8
#define SPENT_LEAST 4

/* What was sent took so much longer at most: who sent little, learns little. */
#define FOUND_MOST 3

void fgio_pace_init(struct fgio_pace *pace, u64 size, u64 size_ns)
{
	*pace = (struct fgio_pace){
		.pace = (size_ns << FGIO_PACE_SHIFT) / size,
	};
}

void fgio_pace_send(struct fgio_pace *pace, u64 size, u64 now_ns)
{
	u64 work_ns = fgio_pace_work(pace, size);
	u64 credit_ns = larger(CREDIT_NS, 2 * work_ns);

	pace->sent += size;
	fgio_pace_fill(pace, beyond(now_ns, credit_ns), work_ns, now_ns);
}

void fgio_pace_fill(struct fgio_pace *pace, u64 begin_ns, u64 work_ns,
		    u64 now_ns)
{
	pace->busy_until_ns =
		smaller(larger(pace->busy_until_ns, begin_ns) + work_ns,
			now_ns + FGIO_PACE_BUSY_MOST_NS);
}

/* What is in the bucket went in at half the pace. */
void fgio_pace_race(struct fgio_pace *pace, u64 now_ns)
{
	pace->pace = larger(pace->pace - pace->pace / 2, PACE_FASTEST);
	pace->busy_until_ns -= beyond(pace->busy_until_ns, now_ns) / 2;
}

void fgio_pace_brake(struct fgio_pace *pace)
{
	pace->pace = smaller(2 * pace->pace, PACE_SLOWEST);
	pace->sent = 0;
}

void fgio_pace_settle(struct fgio_pace *pace)
{
	pace->at_limit = pace->pace;
}

bool fgio_pace_is_beyond(const struct fgio_pace *pace)
{
	return pace->pace < pace->at_limit - pace->at_limit / BEYOND_SHARE;
}

bool fgio_pace_is_elsewhere(const struct fgio_pace *pace)
{
	return pace->pace < pace->at_limit - pace->at_limit / CONFIRMED_SHARE;
}

/* Only time in which more would have gone tells what the drive can do. */
static void count_span(struct fgio_pace *pace, u64 length_ns, bool wanted)
{
	if (!wanted) {
		pace->span_ns = 0;
		pace->span_sent = 0;
		return;
	}
	pace->span_ns += length_ns;
	pace->span_sent += pace->sent;
}

/* In bursts, an interval works off what the one before was given. */
static void count_spent(struct fgio_pace *pace, u64 length_ns, u64 now_ns)
{
	u64 work_ns = pace->owed_ns + fgio_pace_work_sent(pace);
	u64 done_ns = beyond(work_ns, beyond(pace->busy_until_ns, now_ns));

	if (done_ns > length_ns - length_ns / SPENT_SHARE)
		pace->spent++;
	else
		pace->spent = 0;
}

void fgio_pace_count(struct fgio_pace *pace, u64 length_ns, bool wanted,
		     u64 now_ns)
{
	count_span(pace, length_ns, wanted);
	count_spent(pace, length_ns, now_ns);
}

void fgio_pace_begin(struct fgio_pace *pace, u64 now_ns)
{
	pace->owed_ns = beyond(pace->busy_until_ns, now_ns);
	pace->sent = 0;
}

/*
 * Each time that the limit is met, a critical I/O may have to wait. The surer it is
 * where it is, the later it is looked for; from a disk, later still, since there it
 * costs most.
 */
static u32 patience(const struct fgio_pace *pace, bool rotates)
{
	return pace->confirmed *
	       (rotates ? CALM_CONFIRMED_DISK : CALM_CONFIRMED);
}

/* Since the limit was met last; 0: nothing was sent. */
static u64 pace_of_span(const struct fgio_pace *pace)
{
	return pace->span_sent ?
		       (pace->span_ns << FGIO_PACE_SHIFT) / pace->span_sent : 0;
}

/* Between two times at which its cache was full, a disk did just what went. */
static u64 pace_of_disk(struct fgio_pace *pace)
{
	u64 done = pace_of_span(pace);

	pace->span_ns = 3 * pace->span_ns / 4;
	pace->span_sent = 3 * pace->span_sent / 4;
	return done;
}

/*
 * What the drive took since the limit was met last, beyond the pace it was known
 * by, may have gone to its caches. Where they could hold that much, it is the
 * drive it was.
 */
static u64 pace_of_same_drive(struct fgio_pace *pace, u64 hidden_ns)
{
	u64 done = pace_of_span(pace);
	u64 known_ns = pace->span_sent * pace->at_limit >> FGIO_PACE_SHIFT;
	bool same = known_ns < pace->span_ns + hidden_ns;

	pace->span_ns = 0;
	pace->span_sent = 0;
	if (!same || pace->calm <= CALM_PRESS + patience(pace, false))
		return 0;
	return smaller(done, pace->at_limit);
}

static void confirm(struct fgio_pace *pace, u64 met_at)
{
	u64 limit = pace->at_limit;
	u64 off = larger(met_at, limit) - smaller(met_at, limit);

	if (off >= limit / MOVED_SHARE)
		pace->times_met = 0;
	if (off >= limit / CONFIRMED_SHARE)
		pace->confirmed = 0;
	else if (pace->calm > CALM_UNSURE && pace->confirmed < CONFIRMED_MOST)
		pace->confirmed++;
	if (pace->calm > CALM_UNSURE && pace->times_met < 2)
		pace->times_met++;
}

static void set_limit(struct fgio_pace *pace, u64 limit)
{
	confirm(pace, limit);
	pace->pace = smaller(limit + limit / MARGIN_SHARE, PACE_SLOWEST);
	pace->at_limit = smaller(limit, PACE_SLOWEST);
	pace->calm = 0;
}

bool fgio_pace_show(struct fgio_pace *pace, u64 shown)
{
	if (shown <= pace->pace)
		return false;
	set_limit(pace, smaller(shown, (FOUND_MOST + 1) * pace->pace));
	return true;
}

void fgio_pace_slow_down(struct fgio_pace *pace,
			 const struct fgio_pace_met *met)
{
	u64 length_ns = met->length_ns;
	u64 most_ns = FOUND_MOST * smaller(fgio_pace_work_sent(pace), length_ns);
	u64 slower = pace->pace +
		     pace->pace * smaller(met->found_ns, most_ns) / length_ns;

	/* The drive can do at least what it did. */
	if (pace->sent)
		slower = smaller(slower,
				 larger(pace->pace,
					(length_ns << FGIO_PACE_SHIFT) /
						pace->sent));
	slower = larger(slower, met->rotates ?
				pace_of_disk(pace) :
				pace_of_same_drive(pace, met->hidden_ns));
	set_limit(pace, slower);
}

/*
 * Slowly to a little beyond the limit that was met last; when that was not met
 * again for long, the drive has become faster.
 */
void fgio_pace_speed_up(struct fgio_pace *pace, bool rotates)
{
	u32 calm = pace->calm++;
	u32 later = patience(pace, rotates);
	bool unsure = pace->times_met < 2 && pace->spent >= SPENT_LEAST;

	if (calm < (unsure ? CALM_UNSURE : CALM_TRY + later))
		return;
	if (pace->pace > pace->at_limit - pace->at_limit / 32)
		pace->pace -= pace->pace / (unsure ? 32 : 128);
	else if (unsure)
		pace->pace -= pace->pace / (rotates ? 8 : 4);
	else if (calm > CALM_RACE + later && !rotates)
		pace->pace -= pace->pace / 16;
	else if (calm > CALM_PRESS + later)
		pace->pace -= pace->pace / 64;
	pace->pace = larger(pace->pace, PACE_FASTEST);
}
