/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How fast a drive takes what it is given: what goes to it is work, in ns of its time,
 * a size times the pace, which is learnt. The work fills a bucket, which drains by one
 * ns in each. docs/depth.md says how the pace is found.
 *
 * Locking: the caller serialises all calls for one struct. Nothing here sleeps,
 * allocates or loops.
 */
#ifndef FGIO_CORE_PACE_H
#define FGIO_CORE_PACE_H

#include "types.h"

/* The bucket never holds more than this. */
#define FGIO_PACE_BUSY_MOST_NS 100000000ULL

/**
 * struct fgio_pace - the limit of a drive, as far as it is known
 * @pace: ns << FGIO_PACE_SHIFT for each unit of size
 * @at_limit: what it was set to when the limit was met last
 * @busy_until_ns: when the bucket is empty
 * @sent: size of what went in the interval
 * @owed_ns: work in the bucket when that began
 * @span_ns: time since the limit was met in which all that the drive takes was wanted
 * @span_sent: size of what went meanwhile
 * @calm: intervals of these in which the drive was pressed
 * @spent: intervals in a row that left nothing of the pace
 * @confirmed: times in a row that the limit was met where it was known to be
 * @times_met: there, with a calm between; counted to 2
 */
struct fgio_pace {
	u64 pace;
	u64 at_limit;
	u64 busy_until_ns;
	u64 sent;
	u64 owed_ns;
	u64 span_ns;
	u64 span_sent;
	u32 calm;
	u32 spent;
	u32 confirmed;
	u8 times_met;
};

#define FGIO_PACE_SHIFT 10

/* @size_ns: what a request of @size takes at first. */
void fgio_pace_init(struct fgio_pace *pace, u64 size, u64 size_ns);

/* What so much costs, in ns of the drive's time. */
static inline u64 fgio_pace_work(const struct fgio_pace *pace, u64 size)
{
	return size * pace->pace >> FGIO_PACE_SHIFT;
}

/* In the interval, at the pace that it has now. */
static inline u64 fgio_pace_work_sent(const struct fgio_pace *pace)
{
	return fgio_pace_work(pace, pace->sent);
}

/* So much goes to the drive. */
void fgio_pace_send(struct fgio_pace *pace, u64 size, u64 now_ns);

/* The drive has work that is not of what was sent: @work_ns more from @begin_ns on. */
void fgio_pace_fill(struct fgio_pace *pace, u64 begin_ns, u64 work_ns,
		    u64 now_ns);

/* Twice as fast. */
void fgio_pace_race(struct fgio_pace *pace, u64 now_ns);

/* Half as fast; what went before counts no more. */
void fgio_pace_brake(struct fgio_pace *pace);

/* It is taken to be at the limit. */
void fgio_pace_settle(struct fgio_pace *pace);

/**
 * fgio_pace_count() - an interval ends
 * @pace: the limit of the drive
 * @length_ns: of the interval
 * @wanted: all that the drive takes of this was wanted in it
 * @now_ns: the time
 */
void fgio_pace_count(struct fgio_pace *pace, u64 length_ns, bool wanted,
		     u64 now_ns);

/**
 * struct fgio_pace_met - the limit was met
 * @length_ns: of the interval in which it was
 * @found_ns: work in the drive that was not known of
 * @hidden_ns: work that may be in the drive's caches
 * @rotates: it is a disk
 */
struct fgio_pace_met {
	u64 length_ns;
	u64 found_ns;
	u64 hidden_ns;
	bool rotates;
};

void fgio_pace_slow_down(struct fgio_pace *pace,
			 const struct fgio_pace_met *met);

/*
 * What was sent took as long as at @shown, at least. Return: whether that is news. One
 * time tells little: it becomes no more than four times as slow.
 */
bool fgio_pace_show(struct fgio_pace *pace, u64 shown);

/* The drive was pressed for an interval, and its limit was not met. */
void fgio_pace_speed_up(struct fgio_pace *pace, bool rotates);

/* Whether it is faster than the limit that was met. */
bool fgio_pace_is_beyond(const struct fgio_pace *pace);

/* Whether it is so much faster that the drive cannot be the same. */
bool fgio_pace_is_elsewhere(const struct fgio_pace *pace);

/* The next interval. */
void fgio_pace_begin(struct fgio_pace *pace, u64 now_ns);

#endif /* FGIO_CORE_PACE_H */
