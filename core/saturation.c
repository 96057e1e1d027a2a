// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "saturation.h"

#define MILLISECOND 1000000ULL

/*
 * Critical I/O is judged in intervals of this length, or longer where fewer
 * I/Os than this complete in one: a disk that is busy elsewhere is not idle.
 */
#define INTERVAL_NS (64 * MILLISECOND)
#define INTERVAL_COUNT 8
#define INTERVAL_MOST_NS (1000 * MILLISECOND)
/*
 * It saturates the drive in an interval with at least this many of its I/Os in
 * the drive on average, and none in it for at most this part of the time.
 */
#define BUSY_MEAN 2
#define BUSY_PAUSE 8
/*
 * It no longer does with fewer, in tenths of one, or with none for this part.
 */
#define LEFT_MEAN_TENTHS 13
#define LEFT_PAUSE 4
/* Intervals in a row that must agree. */
#define SEEN 2

/*
 * Harm is in permille of the time alone: the aim, and the most that is
 * tolerated. It is averaged over blocks of I/Os: those in the drive at one
 * moment are one observation, not many.
 */
#define HARM_AIM 235
#define HARM_MOST 250
/* Anything less is noise. */
#define HARM_LEAST 20
/*
 * The most that is tolerated where nothing is held back. A trial that shows
 * more has cost the tail of its time: trials take one part in WHOLE_SHARE of the
 * time, which leaves a p99 alone.
 */
#define HARM_WHOLE 500
#define WHOLE_SHARE 128
/* The whole is tried from a limit that is this part of it, or more. */
#define WHOLE_STEP 4
/* A tail that is too long counts as this. */
#define HARM_TAIL 265
#define BLOCK 16
/*
 * A verdict takes at least this many blocks; older ones fade beyond the most.
 */
#define BLOCKS_LEAST 4
#define BLOCKS_MOST 256
/*
 * Standard errors, squared, by which harm must be below the aim, or above it.
 */
#define SURE_LESS 4
#define SURE_MORE 4

/*
 * An I/O is late at half as long again as the tail, an estimate that rises by
 * this part of any excess and falls by this part of itself otherwise. One late
 * I/O in LATE_BLOCKS blocks, 3 %, is tolerated.
 */
#define TAIL_RISE 2
#define TAIL_FALL 2048
#define LATE_LEAST 6
#define LATE_BLOCKS 2

#define LIMIT_MOST (1024 * FGIO_SATURATION_ONE)
#define LIMIT_LEAST 1U

/* Time until a limit that was too high is tried again; doubles each time. */
#define CEILING_FIRST_NS (1000 * MILLISECOND)
#define CEILING_MOST_NS (16000 * MILLISECOND)

/*
 * Least critical I/Os and least length of a part of a probe. The probe ends
 * when it had its parts and the last two differ by less than an ALIKE_SHARE:
 * earlier, the drive still has work or spent credits of the background. That is
 * assumed a few times only, since a drive whose speed changes never has two
 * alike. The first probe is longer, since all verdicts rest on it.
 */
#define PROBE_COUNT 16U
#define PROBE_PART_NS (8 * MILLISECOND)
#define PROBE_PARTS 3U
#define PROBE_PARTS_FIRST 8U
#define PROBE_ALIKE_SHARE 4
#define PROBE_SETTLES 3
#define PROBE_LONGEST_NS (1500 * MILLISECOND)
/*
 * Probes take one part in this many of the time; their first and longest
 * distance.
 */
#define PROBE_SHARE 24
#define PROBE_FIRST_NS (250 * MILLISECOND)
#define PROBE_MOST_NS (2000 * MILLISECOND)

/* A kind's mean time alone needs at least this many I/Os of a probe. */
#define ALONE_LEAST 8U

/* I/Os over which other means are taken. */
#define MEAN_SPAN 16
/* After a change, nothing counts for this many mean times of an I/O. */
#define SETTLE_TIMES 2

/* Odd, to spread the turns of a limit's fraction evenly. */
#define STRIDE 7U

/* An I/O counts as at most this long. */
#define TOOK_MOST_NS (4000 * MILLISECOND)

/* ---- new intervals and blocks ---- */

void fgio_saturation_begin(struct fgio_saturation *saturation, u64 now_ns)
{
	saturation->begin_ns = now_ns;
	saturation->critical_ns = 0;
	saturation->pause_ns = 0;
	saturation->completed = 0;
	saturation->untold = 0;
}

/*
 * I/Os that complete just after a change were dispatched before it, and of
 * those after it the fast ones complete first. Counting starts when neither
 * skews the mean.
 */
static u64 settled_at(const struct fgio_saturation *saturation, u64 now_ns)
{
	return now_ns + SETTLE_TIMES * larger(saturation->critical_mean_ns,
					      saturation->other_ns);
}

/* What completes now does not belong to the block that begins. */
static void begin_block(struct fgio_saturation *saturation, u64 now_ns)
{
	saturation->valid_ns = settled_at(saturation, now_ns);
	saturation->took_ns = 0;
	saturation->alone_ns = 0;
	saturation->count = 0;
}

static void forget_harm(struct fgio_saturation *saturation, u64 now_ns)
{
	begin_block(saturation, now_ns);
	saturation->blocks = 0;
	saturation->harm = 0;
	saturation->squares = 0;
	saturation->late = 0;
	saturation->tails = (struct fgio_tails){ 0 };
	saturation->pressed = false;
	saturation->wanted = 0;
}

static void begin_part(struct fgio_saturation *saturation, u64 now_ns)
{
	saturation->probed = 0;
	saturation->part_ns = now_ns;
	saturation->part_took_ns[1] = 0;
}

static void forget_probe(struct fgio_saturation *saturation)
{
	for (u32 i = 0; i < FGIO_KINDS; i++) {
		saturation->probe_took_ns[i] = 0;
		saturation->probe_count[i] = 0;
	}
}

static void probe(struct fgio_saturation *saturation, u32 parts, u64 now_ns)
{
	saturation->phase = FGIO_SATURATION_PROBES;
	saturation->probe_begin_ns = now_ns;
	saturation->probe_end_ns = now_ns + PROBE_LONGEST_NS;
	saturation->parts = 0;
	saturation->parts_wanted = parts;
	saturation->settles = PROBE_SETTLES;
	saturation->valid_ns = settled_at(saturation, now_ns);
	forget_probe(saturation);
	begin_part(saturation, saturation->valid_ns);
}

/* ---- critical I/O alone ---- */

static void learn_tail(struct fgio_saturation *saturation, u8 kind, u64 took_ns)
{
	u32 *tail_ns = &saturation->tail_ns[kind];

	if (took_ns > *tail_ns)
		*tail_ns += (u32)(took_ns - *tail_ns) / TAIL_RISE + 1;
	else
		*tail_ns -= *tail_ns / TAIL_FALL;
}

static void learn_alone(struct fgio_saturation *saturation)
{
	for (u32 i = 0; i < FGIO_KINDS; i++) {
		u32 count = saturation->probe_count[i];

		if (count >= ALONE_LEAST)
			saturation->mean_ns[i] =
				(u32)(saturation->probe_took_ns[i] / count);
	}
}

static void end_probe(struct fgio_saturation *saturation, u64 now_ns)
{
	u64 length_ns = beyond(now_ns, saturation->probe_begin_ns);
	u64 wait_ns = larger(saturation->probe_wait_ns,
			     PROBE_SHARE * length_ns);

	learn_alone(saturation);
	saturation->phase = FGIO_SATURATION_LIMITS;
	saturation->probe_end_ns = now_ns + wait_ns;
	saturation->probe_wait_ns =
		smaller(2 * saturation->probe_wait_ns, PROBE_MOST_NS);
	saturation->valid_ns = settled_at(saturation, now_ns);
}

static void end_part(struct fgio_saturation *saturation, u64 now_ns)
{
	u64 before_ns = saturation->part_took_ns[0];
	u64 took_ns = saturation->part_took_ns[1] / saturation->probed;
	u64 differs_ns = larger(before_ns, took_ns) -
			 smaller(before_ns, took_ns);
	bool alike = differs_ns <= took_ns / PROBE_ALIKE_SHARE;

	saturation->part_took_ns[0] = took_ns;
	begin_part(saturation, now_ns);
	if (++saturation->parts == 1)
		return;
	if (!alike && saturation->settles) {
		saturation->settles--;
		saturation->parts = 1;
		forget_probe(saturation);
	} else if (saturation->parts >= saturation->parts_wanted) {
		end_probe(saturation, now_ns);
	}
}

/* Returns what @took_ns adds to means: @tails count on their own. */
static u64 note_tail(struct fgio_saturation *saturation,
		     struct fgio_tails *tails, u8 kind, u64 took_ns)
{
	u64 median_ns = saturation->median[kind].known_ns;
	u64 usual_ns = fgio_tails_usual_ns(&saturation->tails_alone, median_ns);

	fgio_tails_note(tails, took_ns, usual_ns, median_ns);
	return smaller(took_ns, usual_ns);
}

static void note_in_probe(struct fgio_saturation *saturation, u8 kind,
			  u64 took_ns, u64 now_ns)
{
	u64 usual_ns;

	fgio_base_latency_learn(&saturation->median[kind], took_ns);
	usual_ns = note_tail(saturation, &saturation->tails_alone, kind,
			     took_ns);
	saturation->probed++;
	saturation->part_took_ns[1] += usual_ns;
	saturation->probe_took_ns[kind] += usual_ns;
	saturation->probe_count[kind]++;
	learn_tail(saturation, kind, took_ns);
	if (saturation->probed >= PROBE_COUNT &&
	    now_ns >= saturation->part_ns + PROBE_PART_NS)
		end_part(saturation, now_ns);
}

/* ---- critical I/O beside non-critical I/O ---- */

/* Mean of the blocks, in permille; not below 0. */
static u64 mean_of(const struct fgio_saturation *saturation)
{
	return saturation->harm > 0 ?
		       (u64)saturation->harm / saturation->blocks : 0;
}

/* Of the usual time alone, as a part of that with its tails. */
static u64 with_tails(const struct fgio_saturation *saturation, u64 harm)
{
	return 1000 * harm / (1000 + fgio_tails_mean(&saturation->tails_alone));
}

static u64 harm_of(const struct fgio_saturation *saturation)
{
	u64 tails = fgio_tails_harm(&saturation->tails_alone,
				    &saturation->tails);

	return with_tails(saturation, mean_of(saturation) + tails);
}

/*
 * Whether harm differs from @aim by more than chance; @sure: standard errors,
 * squared.
 */
static bool is_sure(const struct fgio_saturation *saturation, u64 harm,
		    u64 aim, u64 sure)
{
	u64 blocks = saturation->blocks;
	u64 off = larger(harm, aim) - smaller(harm, aim);
	u64 mean = mean_of(saturation);
	u64 variance = beyond(saturation->squares / blocks, mean * mean);

	variance = with_tails(saturation, with_tails(saturation, variance));
	return blocks >= BLOCKS_LEAST && off * off * blocks > sure * variance;
}

static void set_limit(struct fgio_saturation *saturation, u64 limit, u64 now_ns)
{
	limit = smaller(larger(limit, LIMIT_LEAST), LIMIT_MOST);
	saturation->limit = (u32)limit;
	forget_harm(saturation, now_ns);
}

/*
 * Trying a limit that is too high costs critical I/O. So a ceiling that was
 * tried again and met is tried later each time.
 */
static void meet_ceiling(struct fgio_saturation *saturation, u64 limit,
			 u64 now_ns)
{
	bool known = saturation->ceiling_until_ns &&
		     now_ns >= saturation->ceiling_until_ns &&
		     limit <= saturation->ceiling + saturation->ceiling / 4;

	saturation->ceiling_wait_ns =
		known ? smaller(2 * saturation->ceiling_wait_ns,
				CEILING_MOST_NS) :
			CEILING_FIRST_NS;
	saturation->ceiling = (u32)limit;
	saturation->ceiling_until_ns = now_ns + saturation->ceiling_wait_ns;
}

/* When it may be tried again, it is tried before anything above it. */
static u64 below_ceiling(const struct fgio_saturation *saturation, u64 limit,
			 u64 now_ns)
{
	u64 ceiling = saturation->ceiling;

	if (saturation->limit >= ceiling)
		return limit;
	return smaller(limit,
		       ceiling - (now_ns < saturation->ceiling_until_ns));
}

static void take_away(struct fgio_saturation *saturation, u64 harm, u64 now_ns)
{
	u64 limit = saturation->limit;
	u64 less = smaller(limit * HARM_AIM / harm, limit - 1);

	meet_ceiling(saturation, limit, now_ns);
	set_limit(saturation, larger(less, limit / 2), now_ns);
}

/* Whether clearly more critical I/O is late than is tolerated. */
static bool has_tail(const struct fgio_saturation *saturation)
{
	return saturation->late >= LATE_LEAST &&
	       saturation->late * LATE_BLOCKS > saturation->blocks;
}

/* One more I/O does the mean harm of those before it, and no less than some. */
static void give_more(struct fgio_saturation *saturation, u64 harm, u64 now_ns)
{
	u64 limit = saturation->limit;
	u64 more = limit * HARM_AIM / larger(harm, HARM_LEAST);

	more = below_ceiling(saturation,
			     smaller(larger(more, limit + 1), 2 * limit),
			     now_ns);
	if (more > limit)
		set_limit(saturation, more, now_ns);
}

static bool bears_more(const struct fgio_saturation *saturation, u64 harm)
{
	return saturation->pressed && harm < HARM_AIM &&
	       !has_tail(saturation) && is_sure(saturation, harm, HARM_AIM, SURE_LESS);
}

/*
 * Whether all of the background would be tolerated, if each I/O more does the
 * mean harm of those before it.
 */
static bool may_go_whole(const struct fgio_saturation *saturation, u64 harm,
			 u64 now_ns)
{
	u64 wanted = (u64)saturation->wanted * FGIO_SATURATION_ONE;
	u64 limit = saturation->limit;

	return saturation->pressed && saturation->blocks >= BLOCKS_LEAST &&
	       now_ns >= saturation->whole_after_ns && !has_tail(saturation) &&
	       wanted > limit && wanted <= WHOLE_STEP * limit &&
	       harm * wanted <= HARM_WHOLE * limit;
}

static void go_whole(struct fgio_saturation *saturation, u64 now_ns)
{
	saturation->part = saturation->limit;
	saturation->whole = true;
	saturation->whole_since_ns = now_ns;
	set_limit(saturation, (u64)saturation->wanted * FGIO_SATURATION_ONE,
		  now_ns);
}

/*
 * A background that grew is not whole: it has a part again, and the next trial
 * takes its measure.
 */
static void judge_whole(struct fgio_saturation *saturation, u64 harm,
			u64 now_ns)
{
	bool harmed = has_tail(saturation) ||
		      (harm > HARM_WHOLE &&
		       is_sure(saturation, harm, HARM_WHOLE, SURE_MORE));
	u64 trial_ns = beyond(now_ns, saturation->whole_since_ns);

	if (!harmed && !saturation->pressed)
		return;
	saturation->whole = false;
	saturation->whole_after_ns =
		now_ns + (harmed ? WHOLE_SHARE * trial_ns : 0);
	set_limit(saturation, saturation->part, now_ns);
}

static void judge(struct fgio_saturation *saturation, u64 now_ns)
{
	u64 harm = harm_of(saturation);

	if (saturation->whole)
		judge_whole(saturation, harm, now_ns);
	else if (may_go_whole(saturation, harm, now_ns))
		go_whole(saturation, now_ns);
	else if (harm > HARM_MOST && is_sure(saturation, harm, HARM_AIM, SURE_MORE))
		take_away(saturation, harm, now_ns);
	else if (has_tail(saturation))
		take_away(saturation, larger(harm, HARM_TAIL), now_ns);
	else if (bears_more(saturation, harm))
		give_more(saturation, harm, now_ns);
	if (saturation->blocks < BLOCKS_MOST)
		return;
	/* No trial any more: a drive's caches hide less than that. */
	saturation->whole_since_ns = now_ns;
	saturation->blocks /= 2;
	saturation->late /= 2;
	saturation->harm /= 2;
	saturation->squares /= 2;
}

static void end_block(struct fgio_saturation *saturation, u64 now_ns)
{
	u64 alone_ns = larger(saturation->alone_ns, 1);
	s64 harm = (s64)(1000 * saturation->took_ns / alone_ns) - 1000;

	saturation->blocks++;
	saturation->harm += harm;
	saturation->squares += (u64)(harm * harm);
	saturation->took_ns = 0;
	saturation->alone_ns = 0;
	saturation->count = 0;
	judge(saturation, now_ns);
}

static void note_at_limit(struct fgio_saturation *saturation, u8 kind,
			  u64 took_ns, u64 now_ns)
{
	u64 mean_ns = saturation->mean_ns[kind];

	if (!mean_ns)
		return;
	saturation->took_ns += note_tail(saturation, &saturation->tails, kind,
					 took_ns);
	saturation->alone_ns += mean_ns;
	saturation->late += 2 * took_ns > 3ULL * saturation->tail_ns[kind];
	if (++saturation->count == BLOCK)
		end_block(saturation, now_ns);
}

/* ---- whether critical I/O saturates the drive ---- */

/*
 * Right after a probe, its findings still hold: a foreground that comes and
 * goes has no more probes than one that stays.
 */
static void switch_on(struct fgio_saturation *saturation, u64 now_ns)
{
	if (now_ns < saturation->probe_end_ns) {
		saturation->phase = FGIO_SATURATION_LIMITS;
		begin_block(saturation, now_ns);
		return;
	}
	forget_harm(saturation, now_ns);
	saturation->limit = FGIO_SATURATION_ONE;
	saturation->whole = false;
	saturation->whole_after_ns = 0;
	saturation->ceiling = 0;
	saturation->ceiling_until_ns = 0;
	saturation->ceiling_wait_ns = CEILING_FIRST_NS;
	saturation->probe_wait_ns = PROBE_FIRST_NS;
	saturation->next_ns = 0;
	saturation->tails_alone = (struct fgio_tails){ 0 };
	for (u32 i = 0; i < FGIO_KINDS; i++) {
		saturation->mean_ns[i] = 0;
		saturation->median[i] = (struct fgio_base_latency){ 0 };
	}
	probe(saturation, PROBE_PARTS_FIRST, now_ns);
}

static void switch_off(struct fgio_saturation *saturation, u64 now_ns)
{
	if (fgio_saturation_probes(saturation))
		end_probe(saturation, now_ns);
	saturation->phase = FGIO_SATURATION_OFF;
}

/* Time in the interval without a critical I/O in the drive. */
static u64 pause_of(const struct fgio_saturation *saturation,
		    u64 quiet_since_ns, u64 now_ns)
{
	u64 since_ns = larger(quiet_since_ns, saturation->begin_ns);

	return saturation->pause_ns +
	       (quiet_since_ns ? beyond(now_ns, since_ns) : 0);
}

static bool interval_is_over(const struct fgio_saturation *saturation,
			     u64 pause_ns, u64 now_ns)
{
	u64 length_ns = beyond(now_ns, saturation->begin_ns);

	return length_ns >= INTERVAL_NS &&
	       (saturation->completed >= INTERVAL_COUNT ||
		pause_ns > length_ns / LEFT_PAUSE ||
		length_ns >= INTERVAL_MOST_NS);
}

/* The time of all critical I/Os: those not measured took as long as the others. */
static u64 time_of_all(const struct fgio_saturation *saturation)
{
	if (!saturation->untold || !saturation->completed)
		return saturation->critical_ns;
	return saturation->critical_ns / saturation->completed *
	       (saturation->completed + saturation->untold);
}

static void end_interval(struct fgio_saturation *saturation, u64 pause_ns,
			 u64 now_ns)
{
	u64 length_ns = now_ns - saturation->begin_ns;
	u64 critical_ns = time_of_all(saturation);
	bool busy = critical_ns >= BUSY_MEAN * length_ns &&
		    pause_ns <= length_ns / BUSY_PAUSE;
	bool left = 10 * critical_ns < LEFT_MEAN_TENTHS * length_ns ||
		    pause_ns > length_ns / LEFT_PAUSE;
	bool turns = fgio_saturation_is_on(saturation) ? left : busy;

	fgio_saturation_begin(saturation, now_ns);
	saturation->seen = turns ? (u8)(saturation->seen + 1) : 0;
	if (saturation->seen < SEEN)
		return;
	saturation->seen = 0;
	if (fgio_saturation_is_on(saturation))
		switch_off(saturation, now_ns);
	else
		switch_on(saturation, now_ns);
}

/* ---- events ---- */

static u64 ewma(u64 mean_ns, u64 took_ns)
{
	return mean_ns - mean_ns / MEAN_SPAN + took_ns / MEAN_SPAN;
}

void fgio_saturation_note(struct fgio_saturation *saturation, u8 kind,
			  u64 took_ns, u64 now_ns)
{
	took_ns = smaller(took_ns, TOOK_MOST_NS);
	saturation->critical_ns += took_ns;
	saturation->completed++;
	saturation->critical_mean_ns =
		ewma(saturation->critical_mean_ns, took_ns);
	if (now_ns < saturation->valid_ns)
		return;
	if (saturation->phase == FGIO_SATURATION_LIMITS)
		note_at_limit(saturation, kind, took_ns, now_ns);
	else if (saturation->phase == FGIO_SATURATION_PROBES)
		note_in_probe(saturation, kind, took_ns, now_ns);
}

void fgio_saturation_note_other(struct fgio_saturation *saturation, u64 took_ns)
{
	saturation->other_ns = ewma(saturation->other_ns, took_ns);
}

void fgio_saturation_turn(struct fgio_saturation *saturation,
			  u64 quiet_since_ns, u64 now_ns)
{
	u64 pause_ns = pause_of(saturation, quiet_since_ns, now_ns);

	if (interval_is_over(saturation, pause_ns, now_ns))
		end_interval(saturation, pause_ns, now_ns);
	if (!fgio_saturation_is_on(saturation) ||
	    now_ns < saturation->probe_end_ns)
		return;
	if (fgio_saturation_probes(saturation))
		end_probe(saturation, now_ns);
	else
		probe(saturation, PROBE_PARTS, now_ns);
}

/*
 * The limit of the next I/O: rounded up for a fraction of them, so that the
 * mean holds.
 */
u32 fgio_saturation_limit(const struct fgio_saturation *saturation)
{
	u32 whole = saturation->limit / FGIO_SATURATION_ONE;
	u32 part = saturation->limit % FGIO_SATURATION_ONE;
	u32 turn = saturation->sent * STRIDE % FGIO_SATURATION_ONE;

	return whole ? whole + (turn < part) : 1;
}

bool fgio_saturation_allows(struct fgio_saturation *saturation, u64 others,
			    u32 waiting, u64 now_ns, u64 *retry_ns)
{
	u32 whole = fgio_saturation_limit(saturation);

	saturation->wanted = (u32)larger(saturation->wanted, others + waiting);

	*retry_ns = 0;
	if (fgio_saturation_probes(saturation)) {
		*retry_ns = smaller(saturation->probe_end_ns,
				    now_ns + INTERVAL_NS);
		return false;
	}
	if (others < whole &&
	    (saturation->limit >= FGIO_SATURATION_ONE ||
	     saturation->next_ns <= now_ns))
		return true;
	saturation->pressed = true;
	if (!others)
		*retry_ns = saturation->next_ns;
	return false;
}

void fgio_saturation_spend(struct fgio_saturation *saturation, u64 now_ns)
{
	u64 apart_ns = saturation->other_ns * FGIO_SATURATION_ONE /
		       larger(saturation->limit, 1);

	saturation->sent++;
	saturation->next_ns = now_ns + smaller(apart_ns, PROBE_LONGEST_NS);
}
