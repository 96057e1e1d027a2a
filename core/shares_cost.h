/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Service costs for fair shares: the drive time that an I/O of a kind takes of
 * a full drive, 1 / rate, learnt while shares are on.
 *
 * A drive does many I/Os at once, so their times say nothing of it. In an
 * interval in which the drive was full, though, the costs of what was sent add
 * up to the interval's length. Each such interval is one equation, whose
 * unknowns are the costs of the kinds; a step towards its solution moves each
 * cost in proportion to its part of the sum (the method of Kaczmarz, with
 * factors instead of differences, so that no cost becomes negative). Intervals
 * of different mixes together determine all of them. From an interval in which
 * the drive was not full, two things follow. It did the work, so costs that add
 * up to more are too high. And it was busy for some time, so what the I/Os take
 * of a drive that their groups have alone adds up to that at least, or costs
 * are too low; unless the depth kept it from doing as many at a time as it can.
 *
 * Fairness needs the costs' ratios alone. Kinds that are only ever mixed in one
 * proportion are told apart by a dither of what is charged: from interval to
 * interval where all are reads (shares_dither.h), else in spans of several
 * (shares_span.h). Until then their ratio is that of the first guess, sequential and
 * random alike, a size of 32 KiB and that of the I/O. So kinds of which nothing is
 * known yet change with those that are learnt: the first guess is one of ratios, and
 * not of times.
 *
 * A probe shows what reads take of a drive that their group has alone, and no
 * I/O costs more than that. What writes cost no probe shows: a cache takes them
 * at once. So where both are in an interval, reads become no dearer than was
 * shown, and the rest of the error is that of the writes.
 *
 * A kind is read or write, sequential or random, and of a size: costs are kept
 * for 4, 16, 64, 256 and 1,024 KiB, and interpolated between.
 *
 * Locking: the caller serialises all calls for one struct. Nothing here sleeps,
 * allocates, or loops longer than over its arrays.
 */
#ifndef FGIO_CORE_SHARES_COST_H
#define FGIO_CORE_SHARES_COST_H

#include "shares_dither.h"
#include "shares_span.h"
#include "types.h"

#define FGIO_SHARE_SIZES 5U
/* The least of them. */
#define FGIO_SHARE_LEAST_SECTORS 8U
/* Reads and writes, each sequential and random. */
#define FGIO_SHARE_KINDS 4U

/* The first guess: this for 4 KiB, as of depth.h. */
#define FGIO_SHARE_FIRST_NS 100000U
/* An interval lasts this long and has this many I/Os, at least. */
#define FGIO_SHARE_INTERVAL_NS 10000000ULL
#define FGIO_SHARE_INTERVAL_IOS 128U
/* Or this long, with this many: a drive of 12 MB/s does 90 large ones a second. */
#define FGIO_SHARE_INTERVAL_SLOW_NS 200000000ULL
#define FGIO_SHARE_INTERVAL_SLOW_IOS 16U
/* Part of the error that an interval corrects, and of each of the first ones. */
#define FGIO_SHARE_STEP 8
/* The same where the drive was not full: a cache may have taken the work. */
#define FGIO_SHARE_STEP_SLACK 64
/* Part of the difference that a probe corrects. */
#define FGIO_SHARE_STEP_SHOWN 2
#define FGIO_SHARE_STEP_FIRST 2
/* The same of the costs of writes in a cycle of turns (shares_reads.h). */
#define FGIO_SHARE_STEP_CYCLE 4
/*
 * With turns, all writes become cheaper and dearer than before them by these factors
 * at most, beside what a dither tells: reads that became slower meanwhile look like
 * writes that did.
 */
#define FGIO_SHARE_CHEAPER_MOST 8U
#define FGIO_SHARE_DEARER_MOST 4U
#define FGIO_SHARE_SCALE_ONE 65536U
/*
 * Beside writes, reads cost this part more than probes showed at most. What
 * probes showed follows a lower one by a part, and a higher one at once.
 */
#define FGIO_SHARE_SHOWN_MARGIN 32U
#define FGIO_SHARE_SHOWN_SPAN 8U
#define FGIO_SHARE_FIRST_INTERVALS 8U
/* An interval's error counts as this factor at most: a pause, a tail. */
#define FGIO_SHARE_ERROR_MOST 2U
/* That of the first guess, which the first interval corrects wholly. */
#define FGIO_SHARE_ERROR_FIRST 64U
/* I/O is of one kind while others are less than this part of it. */
#define FGIO_SHARE_UNIFORM_SHARE 16U
/* Bounds of a cost. */
#define FGIO_SHARE_COST_LEAST_NS 100U
#define FGIO_SHARE_COST_MOST_NS 1000000000U

/* Ends of the sequential streams of a group, of each direction. */
#define FGIO_SHARE_STREAMS 4U
/* An I/O that continues a stream begins within this of its end. */
#define FGIO_SHARE_STREAM_SECTORS 64U

/**
 * struct fgio_share_streams - where a group's sequential I/O goes on
 * @end: sectors
 * @next: the one to be replaced
 */
struct fgio_share_streams {
	u64 end[2][FGIO_SHARE_STREAMS];
	u8 next[2];
};

/* Whether an I/O continues a stream, which it becomes the end of. Inline. */
static inline bool
fgio_share_is_sequential(struct fgio_share_streams *streams, u64 sector,
			 u32 sectors, bool write)
{
	u64 *end = streams->end[write];
	u32 i;

#pragma GCC unroll 4
	for (i = 0; i < FGIO_SHARE_STREAMS; i++) {
		/* One that is before the end is far beyond it, unsigned. */
		if (sector - end[i] < FGIO_SHARE_STREAM_SECTORS && end[i]) {
			end[i] = sector + sectors;
			return true;
		}
	}
	i = streams->next[write];
	end[i] = sector + sectors;
	streams->next[write] = (u8)((i + 1) % FGIO_SHARE_STREAMS);
	return false;
}

static inline u8 fgio_share_kind(bool write, bool sequential)
{
	return (u8)(2 * write + sequential);
}

static inline bool fgio_share_kind_writes(u8 kind)
{
	return kind >= 2;
}

/**
 * struct fgio_share_cost - costs, and the interval under way
 * @node_ns: of each kind and size
 * @shown_ns: the most that reads of each cost beside writes, by probes; 0: not
 *	known
 * @known: those of which something was learnt, a bit for each size of each kind
 * @scaled: those that were more than a small part of an interval that corrected
 *	all of them by one ratio
 * @corrected: intervals that corrected all of them by one ratio, so far
 * @part_ns: what each of them contributed to the interval
 * @begin_ns: its begin
 * @sum_ns: cost of the I/Os sent in it
 * @alone_ns: what they take of a drive that their groups have alone
 * @idle_ns: time in which the drive had none
 * @count: their number
 * @slack: the drive had room in it, and no request waited
 * @limited: the depth held requests back
 * @beside: critical I/O was about
 * @intervals: so far: full ones, and of those @beside that showed costs too low
 * @uniform: nearly all of the last interval was of one kind and size
 * @in_drive: I/Os in the drive at its end
 * @mean_ns: cost of one in the last interval that was full
 * @dither: of what is charged, of reads...
 * @span: ...and where some are writes
 * @charged_ns: what each of them is charged in the interval
 * @has_cycles: intervals are parts of cycles (shares_reads.h)
 * @cycle_ns: what each of them contributed to the cycle before the interval
 */
struct fgio_share_cost {
	u32 node_ns[FGIO_SHARE_KINDS][FGIO_SHARE_SIZES];
	u32 shown_ns[FGIO_SHARE_KINDS][FGIO_SHARE_SIZES];
	u32 known;
	u32 scaled;
	u32 corrected;
	u64 part_ns[FGIO_SHARE_KINDS][FGIO_SHARE_SIZES];
	u64 begin_ns;
	u64 sum_ns;
	u64 alone_ns;
	u64 idle_ns;
	u32 count;
	bool slack;
	bool limited;
	bool beside;
	u32 intervals;
	bool uniform;
	u32 in_drive;
	u64 mean_ns;
	struct fgio_dither dither;
	struct fgio_share_span span;
	u32 charged_ns[FGIO_SHARE_KINDS][FGIO_SHARE_SIZES];
	bool has_cycles;
	u64 cycle_ns[FGIO_SHARE_KINDS][FGIO_SHARE_SIZES];
};

void fgio_share_cost_init(struct fgio_share_cost *cost);

/* Drive time of an I/O of a kind. */
u64 fgio_share_cost_of(const struct fgio_share_cost *cost, u8 kind,
		       u32 sectors);

/* As the next one, for those larger than the least size. */
u64 fgio_share_cost_sent_large(struct fgio_share_cost *cost, u8 kind,
			       u32 sectors);

/* One of the least size was sent. Return: the drive time that is charged. */
static inline u64 fgio_share_cost_sent_small(struct fgio_share_cost *cost,
					     u8 kind)
{
	u64 cost_ns = cost->node_ns[kind][0];

	cost->part_ns[kind][0] += cost_ns;
	cost->sum_ns += cost_ns;
	cost->count++;
	return cost->charged_ns[kind][0];
}

/* It was sent. Return: as above. Most are of the least size: inline. */
static inline u64 fgio_share_cost_sent(struct fgio_share_cost *cost, u8 kind,
				       u32 sectors)
{
	if (sectors <= FGIO_SHARE_LEAST_SECTORS)
		return fgio_share_cost_sent_small(cost, kind);
	return fgio_share_cost_sent_large(cost, kind, sectors);
}

/* The same by the time that it takes of a drive that its group has alone. */
static inline void fgio_share_cost_alone(struct fgio_share_cost *cost,
					 u64 alone_ns)
{
	cost->alone_ns += alone_ns;
}

/* The drive had no I/O for @ns. */
static inline void fgio_share_cost_idle(struct fgio_share_cost *cost, u64 ns)
{
	cost->idle_ns += ns;
}

/* The drive has room, and no request waits. */
static inline void fgio_share_cost_slack(struct fgio_share_cost *cost)
{
	cost->slack = true;
}

/* Critical I/O is about: nothing but its own groups is probed. */
static inline void fgio_share_cost_beside(struct fgio_share_cost *cost)
{
	cost->beside = true;
}

/* The depth holds requests back. */
static inline void fgio_share_cost_limited(struct fgio_share_cost *cost)
{
	cost->slack = true;
	cost->limited = true;
}

/* Whether the interval is long enough to end it. */
static inline bool fgio_share_cost_is_due(const struct fgio_share_cost *cost,
					  u64 now_ns)
{
	if (cost->count >= FGIO_SHARE_INTERVAL_IOS)
		return now_ns >= cost->begin_ns + FGIO_SHARE_INTERVAL_NS;
	return cost->count >= FGIO_SHARE_INTERVAL_SLOW_IOS &&
	       now_ns >= cost->begin_ns + FGIO_SHARE_INTERVAL_SLOW_NS;
}

/* I/Os that may still be sent at this time before the interval has enough; 0: it has. */
static inline u32 fgio_share_cost_room(const struct fgio_share_cost *cost,
				       u64 now_ns)
{
	u32 ios = now_ns >= cost->begin_ns + FGIO_SHARE_INTERVAL_SLOW_NS ?
			  FGIO_SHARE_INTERVAL_SLOW_IOS :
			  FGIO_SHARE_INTERVAL_IOS;

	return ios - (cost->count < ios ? cost->count : ios);
}

/*
 * A group had the drive alone, and an I/O of it took @took_ns per completion.
 * That is its cost if the drive was @full, and at least its cost otherwise.
 * Return: whether the cost changed.
 */
bool fgio_share_cost_shown(struct fgio_share_cost *cost, u8 kind, u32 sectors,
			   u64 took_ns, bool full);

/* Learns from the interval. Return: whether costs changed. */
bool fgio_share_cost_learn(struct fgio_share_cost *cost, u64 now_ns);

/* Begins the next one. */
void fgio_share_cost_begin(struct fgio_share_cost *cost, u64 now_ns);

/* Begins the next one, which is the first of a cycle; or there are @cycles no more. */
void fgio_share_cost_begin_cycle(struct fgio_share_cost *cost, bool cycles,
				 u64 now_ns);

/* As fgio_share_cost_begin(), where it will be learnt from: it may be dithered. */
void fgio_share_cost_begin_dithered(struct fgio_share_cost *cost, u64 now_ns);

/* Bits of the nodes that are more than a small part of the interval. */
u32 fgio_share_cost_nodes(const struct fgio_share_cost *cost);

/* Charges of the interval that goes on are dithered no more. */
void fgio_share_cost_end_dither(struct fgio_share_cost *cost);

/*
 * The writes of a cycle took @took_ns. All become dearer or cheaper alike, and by a
 * dither some more than others. @scale: of them, of FGIO_SHARE_SCALE_ONE before
 * turns; changes.
 */
void fgio_share_cost_learn_writes(struct fgio_share_cost *cost, u64 took_ns,
				  u64 now_ns, u32 *scale);

#endif /* FGIO_CORE_SHARES_COST_H */
