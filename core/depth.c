// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "depth.h"
#include "number.h"

#define MICROSECOND 1000ULL
#define MILLISECOND 1000000ULL

/* The pace changes so often, or once in so many requests where they are slow. */
#define INTERVAL_NS (16 * MILLISECOND)
#define INTERVAL_REQUESTS 8
#define INTERVAL_SAMPLES 4
#define REQUEST_MOST_NS (10 * MILLISECOND)

/* In each window the quiet drive is looked at again. */
#define WINDOW_NS (250 * MILLISECOND)
#define WINDOW_SAMPLES 4
#define CERTAIN_SAMPLES 8
#define QUIET_WAIT_NS (8 * MILLISECOND)
/* Near enough that who waited for that I/O has the CPU first: see REST_NEAR_NS. */
#define QUIET_LOOK_NS (MILLISECOND / 4)

/* What any request costs beside its length, in sectors; and the longest counted. */
#define OVERHEAD_SECTORS 64
#define LONGEST_SECTORS 8192

/* What one of 4 KiB takes at first. */
#define FIRST_SECTORS (OVERHEAD_SECTORS + 8)
#define FIRST_NS (2 * MILLISECOND)

/* Until the limit was met, no more than this at a time. */
#define TOGETHER_MOST 1024

/* It is pressed when it was given work for so much of the time. */
#define PRESSED_SHARE 2
/* Late answers do not cost throughput: so much is made good. */
#define CREDIT_NS (50 * MICROSECOND)

/* How much longer the drive rests than the I/O had to wait. */
#define REST_FACTOR 4
#define REST_LEAST_NS (1 * MILLISECOND)
#define REST_MOST_NS (8 * MILLISECOND)
/* From a disk, that its cache has room for so many. */
#define DISK_RESTS 32

/* One goes whatever was learnt, for this share of a disk's time. */
#define PROMISE_SHARE 10

/* Of an interval, what tells that the limit was met. */
#define FOUND_SHARE 64
#define FOUND_SHARE_FIRST 8
/* Four times as slow as harm says, since that decays, and no more at a time than 1/8. */
#define FOUND_OF_HARM (4 * 4096)
#define FOUND_OF_HARM_SHARE 8
/* Where that is more than the work of so many requests, these are a first sign. */
#define FOUND_REQUESTS 4

/* Critical I/O is harmed when some sixteen of it take a tenth longer, in 1/4096... */
#define HARM 416
#define HARM_SPAN 16
#define HARM_MOST 4096
/* ...and certainly when it is twice as much. */
#define HARM_CERTAIN (2 * HARM)
/* It is more than usual when it is so many times what it was in some intervals. */
#define HARM_UNUSUAL 4
#define USUAL_RISE 16
#define USUAL_FALL 256

/* So much may hide in a drive's caches and credits. */
#define HIDDEN_NS (100 * MILLISECOND)
#define HIDDEN_REQUESTS 32

#define TOLERANCE_LEAST 2
#define TOLERANCE_MOST 256

#define REST_NEAR_NS (MILLISECOND / 2)

void fgio_depth_init(struct fgio_depth *depth, bool rotates)
{
	*depth = (struct fgio_depth){
		.rotates = rotates,
		.together = 1,
		.tolerance = TOLERANCE_LEAST,
		.tolerance_max = TOLERANCE_MOST,
	};
	fgio_pace_init(&depth->pace, FIRST_SECTORS, FIRST_NS);
}

static u8 kind_of(u32 sectors, bool write)
{
	u32 size = 31 - (u32)__builtin_clz(sectors / 8 | 1);

	return (u8)(smaller(size, FGIO_DEPTH_SIZES - 1) +
		    (write ? FGIO_DEPTH_SIZES : 0));
}

static u64 size_of(u32 sectors)
{
	return smaller(sectors, LONGEST_SECTORS) + OVERHEAD_SECTORS;
}

static u64 work_of(const struct fgio_depth *depth, u32 sectors)
{
	return fgio_pace_work(&depth->pace, size_of(sectors));
}

void fgio_depth_begin(struct fgio_depth *depth, u32 in_device, u64 now_ns)
{
	u64 work_ns = in_device * larger(depth->work_ns, work_of(depth, 0));

	depth->pace.busy_until_ns =
		now_ns + smaller(work_ns, FGIO_PACE_BUSY_MOST_NS);
}

/* ---- what is coming ---- */

void fgio_depth_critical_came(struct fgio_depth *depth, u32 sectors, bool write,
			      u64 came_ns)
{
	u64 since_ns = fgio_load(&depth->quiet_since_ns);

	depth->critical_kind = kind_of(sectors, write);
	if (!since_ns)
		return;
	fgio_store(&depth->quiet_since_ns, 0);
	if (came_ns)
		fgio_foresight_came(&depth->foresight,
				    beyond(came_ns, since_ns));
}

void fgio_depth_quiet(struct fgio_depth *depth, u64 now_ns)
{
	fgio_store(&depth->quiet_since_ns, now_ns);
}

/* As fgio_foresight_next(); what should have come already is not foreseen. */
static bool foresee(const struct fgio_depth *depth, u64 work_ns, u64 now_ns,
		    u64 *done_ns, u64 *late_ns)
{
	u64 since_ns = fgio_load(&depth->quiet_since_ns);

	return since_ns &&
	       fgio_foresight_next(&depth->foresight, since_ns, work_ns,
				   done_ns, late_ns) &&
	       now_ns < *late_ns;
}

/* ---- what may go ---- */

/* How critical I/O fares in a quiet drive must be seen now and then. */
static bool wants_quiet(const struct fgio_depth *depth, u64 now_ns)
{
	const struct fgio_depth_floor *floor =
		&depth->floor[depth->critical_kind];
	u64 wait_ns = QUIET_WAIT_NS;

	if (floor->fresh)
		return false;
	if (floor->count < CERTAIN_SAMPLES)
		wait_ns *= CERTAIN_SAMPLES / 2;
	return now_ns + WINDOW_NS < depth->window_end_ns + wait_ns;
}

/*
 * In a steady stream, a drive holds as many as pass during one I/O; two more
 * keep it busy, and some more wait among themselves as far as that is
 * tolerated.
 */
static u64 others_max(const struct fgio_depth *depth,
		      const struct fgio_depth_floor *floor, u64 work_ns)
{
	u64 steady = 2 + depth->tolerance / 16;

	if (depth->phase != FGIO_DEPTH_SETTLED)
		return depth->together;
	if (floor->fresh < WINDOW_SAMPLES)
		return 1;
	return 2 + steady * floor->known_ns / larger(work_ns, 1);
}

static bool hold_back(struct fgio_depth *depth, u64 retry_ns)
{
	fgio_store(&depth->retry_ns, retry_ns);
	return false;
}

enum foresight {
	NOT_FORESEEN,
	IN_TIME, /* the drive will be done before critical I/O comes */
	TOO_LATE,
};

/*
 * The cache of a disk takes a write at once, whatever the arm owes: that alone
 * has to be done in time, and the arm's work is as if nothing was foreseen.
 */
static enum foresight ask_foresight(struct fgio_depth *depth, u64 work_ns,
				    const struct fgio_depth_floor *floor,
				    u64 now_ns)
{
	u64 begin_ns = larger(depth->pace.busy_until_ns, now_ns);
	u64 done_ns, late_ns;

	if (depth->rotates) {
		work_ns = 2ULL * floor->known_ns;
		begin_ns = now_ns;
	}
	if (!foresee(depth, work_ns, now_ns, &done_ns, &late_ns))
		return NOT_FORESEEN;
	if (begin_ns + work_ns <= done_ns)
		return depth->rotates ? NOT_FORESEEN : IN_TIME;
	depth->interval.held_back |= begin_ns > now_ns;
	hold_back(depth, late_ns);
	return TOO_LATE;
}

static bool bucket_allows(struct fgio_depth *depth, u64 now_ns)
{
	u64 retry_ns = 0;

	if (depth->pace.busy_until_ns > now_ns)
		retry_ns = depth->pace.busy_until_ns;
	else if (wants_quiet(depth, now_ns))
		retry_ns = now_ns + QUIET_LOOK_NS;
	if (!retry_ns)
		return true;
	depth->interval.held_back = true;
	return hold_back(depth, retry_ns);
}

bool fgio_depth_allows(struct fgio_depth *depth, u32 sectors, bool write,
		       const u32 in_device[FGIO_CLASSES], u64 now_ns)
{
	const struct fgio_depth_floor *floor =
		&depth->floor[kind_of(sectors, write)];
	u64 work_ns = work_of(depth, sectors);
	u64 others = fgio_load(&in_device[FGIO_NONCRITICAL]);
	enum foresight foresight = NOT_FORESEEN;

	/* A platter that was made to wait makes others wait: for a rotation. */
	if (depth->rotates && !write && !others)
		return true;
	/* What goes into the cache now is in the way of the next one. */
	if (write && fgio_flush_holds(&depth->flushes, now_ns)) {
		depth->interval.held_back = true;
		return hold_back(depth, fgio_load(&depth->flushes.until_ns));
	}
	if (!fgio_load(&in_device[FGIO_CRITICAL]))
		foresight = ask_foresight(depth, work_ns, floor, now_ns);
	if (foresight == TOO_LATE)
		return false;
	if (foresight == NOT_FORESEEN && !bucket_allows(depth, now_ns))
		return false;
	if (others >= others_max(depth, floor, work_ns)) {
		depth->interval.crowded = true;
		return hold_back(depth, 0);
	}
	return true;
}

/* A drive without an arm is never so slow: where the pace says so, that is wrong. */
u64 fgio_depth_promise_ns(const struct fgio_depth *depth, u64 interval_ns)
{
	u64 share_ns = PROMISE_SHARE * work_of(depth, 0);

	if (!depth->rotates || depth->phase != FGIO_DEPTH_SETTLED)
		return interval_ns;
	return larger(interval_ns,
		      smaller(share_ns, FGIO_DEPTH_PROMISE_MOST * interval_ns));
}

u64 fgio_depth_retry_ns(const struct fgio_depth *depth)
{
	return depth->retry_ns;
}

bool fgio_depth_rests(const struct fgio_depth *depth, u64 now_ns)
{
	u64 retry_ns = fgio_load(&depth->retry_ns);
	/* Critical I/O that came does not shorten what a disk's arm still owes. */
	bool owes = depth->rotates &&
		    fgio_load(&depth->pace.busy_until_ns) >= retry_ns;

	return retry_ns > now_ns && (owes || retry_ns - now_ns < REST_NEAR_NS);
}

void fgio_depth_sent(struct fgio_depth *depth, struct fgio_depth_stamp *stamp,
		     u32 sectors, bool write, u32 others, u64 now_ns)
{
	u64 wait_ns = beyond(depth->pace.busy_until_ns, now_ns);

	*stamp = (struct fgio_depth_stamp){
		.sent_ns = now_ns,
		.wait_ns = (u32)wait_ns,
		.kind = kind_of(sectors, write),
		.quiet = !others && !wait_ns,
	};
	depth->work_ns = work_of(depth, sectors);
	fgio_pace_send(&depth->pace, size_of(sectors), now_ns);
}

/* ---- what completed ---- */

/*
 * A sample is one word, so that completions need no lock: whether it was quiet
 * (bit 0), critical (1), its kind (2), how many others were left (8), what it
 * took (16) and was expected to wait (42), both in 64 ns. 0 is none: something
 * always took time.
 */
#define SAMPLE_TIME_SHIFT 6
#define SAMPLE_TOOK_BITS 26
#define SAMPLE_WAIT_BITS 22

static u64 packed_time(u64 ns, u32 bits)
{
	return smaller(ns >> SAMPLE_TIME_SHIFT, (1ULL << bits) - 1);
}

static void note_sample(struct fgio_depth *depth,
			const struct fgio_depth_stamp *stamp,
			enum fgio_class class, u32 others, u64 now_ns)
{
	u64 took = packed_time(beyond(now_ns, stamp->sent_ns),
			       SAMPLE_TOOK_BITS);
	u64 wait = packed_time(stamp->wait_ns, SAMPLE_WAIT_BITS);
	u64 sample = stamp->quiet | (u64)(class == FGIO_CRITICAL) << 1 |
		     (u64)stamp->kind << 2 | smaller(others, 255) << 8 |
		     larger(took, 1) << 16 | wait << 42;
	u32 at = fgio_add(&depth->completed, 1) - 1;

	fgio_store(&depth->sample[at % FGIO_DEPTH_SAMPLES], sample);
}

void fgio_depth_completed(struct fgio_depth *depth,
			  const struct fgio_depth_stamp *stamp,
			  enum fgio_class class, u32 others, u64 now_ns)
{
	note_sample(depth, stamp, class, others, now_ns);
}

void fgio_depth_wrote(struct fgio_depth *depth, u32 sectors)
{
	fgio_flush_wrote(&depth->flushes, size_of(sectors));
}

/*
 * Beyond twice what it takes with an empty cache, a flush of a disk took its time for
 * what was left there; one of flash may do so for any reason. Of two at once, the
 * slower pace counts, or now and then the other one.
 */
static void note_cache(struct fgio_depth *depth, const struct fgio_flush *flush,
		       u64 alone_ns, u64 now_ns)
{
	u64 excess_ns = beyond(now_ns, flush->begin_ns + 2 * alone_ns);
	u64 pace;

	if (!depth->rotates || !flush->left || !alone_ns)
		return;
	pace = (excess_ns << FGIO_PACE_SHIFT) / flush->left;
	if (pace > fgio_load(&depth->cache_pace))
		fgio_store(&depth->cache_pace, pace);
}

void fgio_depth_flush_ends(struct fgio_depth *depth,
			   const struct fgio_flush *flush, u64 now_ns)
{
	const struct fgio_depth_stamp stamp = {
		.sent_ns = flush->begin_ns,
		.kind = FGIO_DEPTH_FLUSH + flush->commits,
		.quiet = !flush->left,
	};
	u64 alone_ns = fgio_load(&depth->floor[stamp.kind].known_ns);

	fgio_flush_end(&depth->flushes, flush, alone_ns, now_ns);
	note_cache(depth, flush, alone_ns, now_ns);
	note_sample(depth, &stamp, FGIO_CRITICAL, 0, now_ns);
}

/**
 * struct fgio_depth_seen - an I/O that completed
 * @took_ns: in the drive
 * @wait_ns: expected of that
 * @others: non-critical ones that were left there
 * @kind: see FGIO_DEPTH_KINDS
 * @quiet: see struct fgio_depth_stamp
 * @critical: its class
 */
struct fgio_depth_seen {
	u64 took_ns;
	u64 wait_ns;
	u32 others;
	u8 kind;
	bool quiet;
	bool critical;
};

static struct fgio_depth_seen unpack(u64 sample)
{
	u64 took = sample >> 16 & ((1ULL << SAMPLE_TOOK_BITS) - 1);

	return (struct fgio_depth_seen){
		.took_ns = took << SAMPLE_TIME_SHIFT,
		.wait_ns = sample >> 42 << SAMPLE_TIME_SHIFT,
		.others = sample >> 8 & 255,
		.kind = sample >> 2 & 63,
		.quiet = sample & 1,
		.critical = sample & 2,
	};
}

/* A median: few I/Os that took long for other reasons do not move it far. */
static void learn_floor(struct fgio_depth_floor *floor, u64 took_ns)
{
	u64 known_ns = floor->known_ns;
	u64 off_ns = larger(took_ns, known_ns) - smaller(took_ns, known_ns);
	u64 step_ns = known_ns / (floor->count < CERTAIN_SAMPLES ? 8 : 32) + 1;

	floor->count += floor->count < CERTAIN_SAMPLES;
	floor->fresh += floor->fresh < WINDOW_SAMPLES;
	if (!known_ns) {
		fgio_store(&floor->known_ns, (u32)took_ns);
		floor->deviation_ns = (u32)(took_ns / 8);
		return;
	}
	step_ns = smaller(step_ns, off_ns);
	fgio_store(&floor->known_ns,
		   (u32)(took_ns > known_ns ? known_ns + step_ns :
					      known_ns - step_ns));
	floor->deviation_ns -= floor->deviation_ns / 16;
	floor->deviation_ns += (u32)(smaller(off_ns, known_ns) / 16);
}

/* So that the next I/Os find the drive rested. */
static void rest(struct fgio_depth *depth, u64 rest_ns, u64 now_ns)
{
	/* A disk's cache that is drained once stays so, at the right pace. */
	if (depth->rotates && depth->phase == FGIO_DEPTH_SETTLED)
		rest_ns = DISK_RESTS * depth->work_ns;
	fgio_pace_fill(&depth->pace, now_ns, rest_ns, now_ns);
}

/* The first limit was met at up to twice what the drive does. */
static void brake(struct fgio_depth *depth, u64 now_ns)
{
	depth->phase = FGIO_DEPTH_BRAKES;
	fgio_pace_brake(&depth->pace);
	depth->paced_ns = now_ns;
	depth->interval.begin_ns = now_ns;
	depth->interval.found_ns = 0;
}

/* What went before the pace changed tells nothing of it. */
static bool is_of_last_pace(const struct fgio_depth *depth, u64 took_ns,
			    u64 now_ns)
{
	return beyond(now_ns, took_ns) < depth->paced_ns;
}

static bool is_beyond_limit(const struct fgio_depth *depth)
{
	return depth->phase == FGIO_DEPTH_SETTLED &&
	       fgio_pace_is_beyond(&depth->pace);
}

/*
 * Critical I/O that suffers may do so whatever the pace is: reads of flash wait for
 * programs. But where it suffers more than it used to, or the pace was just made faster
 * than the limit that is known, the drive does less than the pace says, and what was
 * hidden in it is used up.
 */
static void see_harm(struct fgio_depth *depth, u64 took_ns, u64 now_ns)
{
	u64 usual = is_beyond_limit(depth) ? 0 : HARM_UNUSUAL * depth->usual;
	/* What a disk did in an interval tells nothing: its arm may owe it yet. */
	bool tells = depth->phase == FGIO_DEPTH_SETTLED ||
		     (depth->phase == FGIO_DEPTH_BRAKES && !depth->rotates);

	if (!tells || depth->interval.harmed ||
	    is_of_last_pace(depth, took_ns, now_ns) ||
	    depth->surprise <= HARM_CERTAIN + usual)
		return;
	depth->interval.harmed = true;
	if (depth->phase == FGIO_DEPTH_SETTLED)
		rest(depth, REST_MOST_NS, now_ns);
}

/* It decays over some sixteen critical I/Os. */
static u32 mean_harm(u32 mean, u64 excess_ns, u64 known_ns)
{
	u64 harm = smaller(excess_ns * (4096 / HARM_SPAN) / known_ns, HARM_MOST);

	return mean - mean / HARM_SPAN + (u32)harm;
}

static void judge_critical(struct fgio_depth *depth, u64 excess_ns,
			   u64 known_ns)
{
	depth->interval.judged++;
	depth->harm = mean_harm(depth->harm, excess_ns, known_ns);
	fgio_foresight_judge(&depth->foresight, excess_ns, known_ns);
}

/* The first sign of the limit in an interval. */
static void cross(struct fgio_depth *depth, u64 excess_ns, u64 now_ns)
{
	struct fgio_depth_interval *interval = &depth->interval;
	bool settled = depth->phase == FGIO_DEPTH_SETTLED;
	/* Twice as fast as the drive shows clearly; a little faster must not hurt. */
	u64 least_ns = settled ? smaller(FOUND_REQUESTS * depth->work_ns,
					 INTERVAL_NS / FOUND_SHARE) :
				 INTERVAL_NS / FOUND_SHARE_FIRST;

	if (interval->crossed || interval->found_ns < least_ns)
		return;
	interval->crossed = true;
	rest(depth, smaller(REST_LEAST_NS + REST_FACTOR * excess_ns, REST_MOST_NS),
	     now_ns);
	if (!settled)
		brake(depth, now_ns);
}

/*
 * An I/O waited for longer than was expected: the drive has work that was not known of,
 * which the next ones must not wait for, too. Return: what is new of it.
 */
static u64 add_found(struct fgio_depth *depth, u64 excess_ns, u64 work_ns,
		     u64 now_ns)
{
	u64 room_ns = beyond(now_ns + excess_ns, depth->pace.busy_until_ns);

	work_ns = smaller(work_ns, room_ns);
	fgio_pace_fill(&depth->pace, beyond(now_ns, CREDIT_NS), work_ns,
		       now_ns);
	return work_ns;
}

static void learn_critical(struct fgio_depth *depth,
			   const struct fgio_depth_seen *seen, u64 known_ns,
			   u64 slack_ns, u64 now_ns)
{
	u64 expected_ns = known_ns + seen->wait_ns;
	u64 excess_ns = beyond(seen->took_ns, expected_ns);

	judge_critical(depth,
		       seen->took_ns > known_ns + slack_ns ?
			       seen->took_ns - known_ns : 0,
		       known_ns);
	if (excess_ns <= slack_ns)
		excess_ns = 0;
	depth->surprise = mean_harm(depth->surprise, excess_ns, known_ns);
	if (!excess_ns)
		return;
	add_found(depth, excess_ns, excess_ns, now_ns);
	see_harm(depth, seen->took_ns, now_ns);
}

/*
 * One that waited alone may have been slow for any reason; at the limit, the one after
 * it waits, too.
 */
static void learn_noncritical(struct fgio_depth *depth,
			      const struct fgio_depth_seen *seen, u64 known_ns,
			      u64 slack_ns, u64 now_ns)
{
	u64 excess_ns = beyond(seen->took_ns, known_ns + seen->wait_ns);
	bool alone = !depth->waited;
	u64 found_ns;

	slack_ns = larger(slack_ns, known_ns * depth->tolerance / 16);
	depth->waited = excess_ns > slack_ns;
	if (!depth->waited)
		return;
	/* As many as are in the drive find the same work. */
	found_ns = add_found(depth, excess_ns, excess_ns / (seen->others + 1),
			     now_ns);
	if (alone || is_of_last_pace(depth, seen->took_ns, now_ns))
		return;
	depth->interval.found_ns += found_ns;
	cross(depth, excess_ns, now_ns);
}

/*
 * What non-critical writes left in the drive's cache is found by who flushes it. As
 * long again as a flush takes alone is allowed: without anything in the cache, nothing
 * would be written.
 */
static void learn_flush(struct fgio_depth *depth,
			const struct fgio_depth_seen *seen, u64 now_ns)
{
	u64 known_ns = depth->floor[seen->kind].known_ns;
	u64 excess_ns = beyond(seen->took_ns, 2 * known_ns);

	if (seen->quiet || !known_ns || !excess_ns ||
	    is_of_last_pace(depth, seen->took_ns, now_ns))
		return;
	depth->interval.found_ns += excess_ns;
	depth->interval.flushed = true;
	if (depth->phase != FGIO_DEPTH_SETTLED)
		cross(depth, excess_ns, now_ns);
}

/* What is in the cache is work that writes do not find: the pace is too fast. */
static void learn_cache(struct fgio_depth *depth, u64 now_ns)
{
	u64 pace = fgio_load(&depth->cache_pace);

	if (!pace)
		return;
	fgio_store(&depth->cache_pace, 0);
	if (!fgio_pace_show(&depth->pace, pace))
		return;
	depth->paced_ns = now_ns;
	depth->phase = FGIO_DEPTH_SETTLED;
}

static void learn_sample(struct fgio_depth *depth, u64 sample, u64 now_ns)
{
	struct fgio_depth_seen seen = unpack(sample);
	struct fgio_depth_floor *floor = &depth->floor[seen.kind];
	u64 known_ns, slack_ns;

	depth->interval.measured++;
	if (seen.quiet)
		learn_floor(floor, seen.took_ns);
	if (seen.kind >= FGIO_DEPTH_FLUSH) {
		depth->interval.told = true;
		learn_flush(depth, &seen, now_ns);
		return;
	}
	known_ns = floor->known_ns;
	if (!known_ns)
		return;
	slack_ns = larger(known_ns / 8,
			  smaller(3 * floor->deviation_ns, known_ns / 2));
	if (seen.critical)
		learn_critical(depth, &seen, known_ns, slack_ns, now_ns);
	else
		learn_noncritical(depth, &seen, known_ns, slack_ns, now_ns);
}

/* ---- the pace ---- */

/*
 * What it suffered, the others may have been held back from finding. After the first
 * race, the pace is that of what the drive did.
 */
static u64 found_by_critical(const struct fgio_depth *depth, u64 length_ns)
{
	if (!depth->interval.harmed)
		return 0;
	if (depth->phase == FGIO_DEPTH_BRAKES)
		return 3 * length_ns;
	return smaller(depth->surprise * length_ns / FOUND_OF_HARM,
		       length_ns / FOUND_OF_HARM_SHARE);
}

static void slow_down(struct fgio_depth *depth, u64 length_ns, u64 now_ns)
{
	const struct fgio_pace_met met = {
		.length_ns = length_ns,
		.found_ns = larger(depth->interval.found_ns,
				   found_by_critical(depth, length_ns)),
		.hidden_ns = HIDDEN_NS + HIDDEN_REQUESTS * depth->work_ns,
		.rotates = depth->rotates,
	};

	fgio_pace_slow_down(&depth->pace, &met);
	depth->paced_ns = now_ns;
	depth->phase = FGIO_DEPTH_SETTLED;
}

/*
 * Faster, or, where the pace is not what holds back, more at a time: so the limit
 * is met with no more in the drive than twice what it takes.
 */
static void race(struct fgio_depth *depth, u64 now_ns)
{
	depth->pace.calm++;
	if (depth->interval.crowded)
		depth->together =
			(u32)smaller(2ULL * depth->together, TOGETHER_MOST);
	else
		fgio_pace_race(&depth->pace, now_ns);
}

static void speed_up(struct fgio_depth *depth, u64 now_ns)
{
	if (depth->phase == FGIO_DEPTH_RACES)
		race(depth, now_ns);
	else
		fgio_pace_speed_up(&depth->pace, depth->rotates);
}

static void cut_tolerance(struct fgio_depth *depth)
{
	u32 less = depth->tolerance - depth->tolerance / 4;

	less = (u32)larger(less, TOLERANCE_LEAST);
	if (!depth->was_harmed)
		depth->tolerance_max = less;
	depth->tolerance = less;
}

/* Where critical I/O does not notice, others may wait for each other. */
static bool raise_tolerance(struct fgio_depth *depth)
{
	if (depth->interval.judged < 2 ||
	    depth->tolerance >= depth->tolerance_max)
		return false;
	depth->interval.judged = 0;
	depth->tolerance += depth->tolerance / 4 + 1;
	return true;
}

static void raise_tolerance_max(struct fgio_depth *depth)
{
	u32 more = depth->tolerance_max + depth->tolerance_max / 8 + 1;

	if (++depth->intervals % 16 == 0)
		depth->tolerance_max = (u32)smaller(more, TOLERANCE_MOST);
}

/*
 * Whether a faster pace would be of use: what waits a moment in a burst goes
 * later in the interval all the same, and tells nothing of the drive.
 */
static bool is_pressed(const struct fgio_depth *depth, u64 length_ns)
{
	const struct fgio_depth_interval *interval = &depth->interval;
	u64 work_ns = fgio_pace_work_sent(&depth->pace);

	if (depth->phase != FGIO_DEPTH_SETTLED && interval->crowded)
		return true;
	return interval->held_back && work_ns >= length_ns / PRESSED_SHARE;
}

/* Where a disk is flushed, nothing else tells what a faster pace leaves in its cache. */
static bool is_watched(const struct fgio_depth *depth, u64 now_ns)
{
	return depth->phase != FGIO_DEPTH_SETTLED || depth->interval.told ||
	       !fgio_depth_flush_may_come(depth, now_ns);
}

/* What a drive does now and then is usual for long. */
static void learn_usual(struct fgio_depth *depth)
{
	if (depth->surprise > depth->usual)
		depth->usual += (depth->surprise - depth->usual) / USUAL_RISE;
	else
		depth->usual -= (depth->usual - depth->surprise) / USUAL_FALL;
}

static void settle(struct fgio_depth *depth)
{
	depth->phase = FGIO_DEPTH_SETTLED;
	fgio_pace_settle(&depth->pace);
}

/* Who waits for a disk's cache to have room will not be alone in that for long. */
static bool is_tolerated(struct fgio_depth *depth)
{
	return !depth->rotates && !depth->interval.flushed &&
	       raise_tolerance(depth);
}

static void adapt(struct fgio_depth *depth, bool found, bool harmed, u64 now_ns)
{
	u64 length_ns = now_ns - depth->interval.begin_ns;

	if (found && (harmed || !is_tolerated(depth)))
		slow_down(depth, length_ns, now_ns);
	else if (!found && depth->phase == FGIO_DEPTH_BRAKES)
		settle(depth);
	else if (!found && is_pressed(depth, length_ns) &&
		 is_watched(depth, now_ns))
		speed_up(depth, now_ns);
}

static void end_interval(struct fgio_depth *depth, u64 now_ns)
{
	u64 length_ns = now_ns - depth->interval.begin_ns;
	bool settled = depth->phase == FGIO_DEPTH_SETTLED;
	u64 found_least_ns =
		length_ns / (settled ? FOUND_SHARE : FOUND_SHARE_FIRST);
	bool found = depth->interval.harmed ||
		     depth->interval.found_ns > found_least_ns;
	bool harmed = depth->interval.harmed || depth->harm > HARM;

	if (harmed)
		cut_tolerance(depth);
	else
		raise_tolerance_max(depth);
	depth->was_harmed = harmed;
	learn_usual(depth);
	fgio_pace_count(&depth->pace, length_ns,
			settled && depth->interval.held_back, now_ns);
	adapt(depth, found, harmed, now_ns);
	fgio_pace_begin(&depth->pace, now_ns);
	depth->interval = (struct fgio_depth_interval){
		.begin_ns = now_ns,
		.judged = depth->interval.judged,
	};
}

static void turn_window(struct fgio_depth *depth, u64 now_ns)
{
	depth->window_end_ns = now_ns + WINDOW_NS;
	for (u32 i = 0; i < FGIO_DEPTH_KINDS; i++)
		depth->floor[i].fresh = 0;
}

void fgio_depth_learn(struct fgio_depth *depth, u64 now_ns)
{
	u32 completed = fgio_load(&depth->completed);
	u64 length_ns = INTERVAL_NS +
			INTERVAL_REQUESTS *
				smaller(depth->work_ns, REQUEST_MOST_NS);

	if (completed - depth->learnt > FGIO_DEPTH_SAMPLES)
		depth->learnt = completed - FGIO_DEPTH_SAMPLES;
	while (depth->learnt != completed) {
		u32 at = depth->learnt++ % FGIO_DEPTH_SAMPLES;
		u64 sample = fgio_exchange(&depth->sample[at], 0);

		/* One that is counted may not be there yet: it is lost. */
		if (sample)
			learn_sample(depth, sample, now_ns);
	}
	learn_cache(depth, now_ns);
	if (now_ns >= depth->window_end_ns)
		turn_window(depth, now_ns);
	if (beyond(now_ns, depth->interval.begin_ns) >= length_ns &&
	    depth->interval.measured >= INTERVAL_SAMPLES)
		end_interval(depth, now_ns);
}
