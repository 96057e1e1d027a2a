/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How much non-critical work a drive takes before critical I/O suffers, learnt
 * from completions. docs/depth.md explains it in a page; depth_constants.h
 * holds the constants.
 *
 * The drive is a leaky bucket. Dispatching a request adds work, in ns of drive
 * time: its size times the service cost (service_cost.h), the one figure that
 * is learnt. Delay is the measure. I/Os later than their base latency, in a
 * longer row than chance explains (chance.h), have waited for work that was not
 * accounted for: that work is added, and the service cost rises. While no I/O
 * waits, the cost falls by small steps.
 *
 * Non-critical requests go when the bucket is empty. Where critical I/O arrives
 * at regular intervals, they also go when the drive will be done before the
 * next arrival.
 *
 * Locking: the caller serialises all calls for one struct, except for
 * fgio_depth_completed(), _flush_begins(), _flush_ends() and _quiet(), which
 * may run at any time, in any context. Nothing here sleeps, allocates, or loops
 * longer than over its arrays.
 *
 * All times are ns of one monotonic clock.
 */
#ifndef FGIO_CORE_DEPTH_H
#define FGIO_CORE_DEPTH_H

#include "arms.h"
#include "atomic.h"
#include "chance.h"
#include "class.h"
#include "base_latency.h"
#include "flush.h"
#include "arrival.h"
#include "service_cost.h"
#include "rotation.h"
#include "samples.h"
#include "saturation.h"
#include "types.h"

/**
 * struct fgio_depth_stamp - what a request carries through the drive
 * @sent_ns: time of its dispatch; 0: it is not measured
 * @wait_ns: expected wait for other I/O in the drive
 * @kind: see base_latency.h
 * @quiet: the drive had no other non-critical request, nor work left by one
 * @far: a read far from the reads before it
 * @beside: a read beside another one that an arm would delay, see arms.h
 */
struct fgio_depth_stamp {
	u64 sent_ns;
	u32 wait_ns;
	u8 kind;
	bool quiet;
	bool far;
	bool beside;
};

/**
 * struct fgio_depth_interval - findings between two changes of the cost
 * @begin_ns: its begin
 * @idle_ns: time in it without a non-critical request
 * @found_ns: unaccounted work found in the drive
 * @longest_ns: that the longest non-critical I/O took
 * @measured: completions learnt from
 * @judged: critical completions since the tolerance last grew
 * @held_back: a request waited for its turn: a lower cost would help
 * @crowded: a request waited for the in-flight limit
 * @crossed: enough work was found to let the drive rest
 * @harmed: critical I/O suffered from a cost that is too low
 * @flushed: critical flushes did
 * @told: a critical flush completed, late or not
 * @wrote_late: writes were among what found that work
 */
struct fgio_depth_interval {
	u64 begin_ns;
	u64 idle_ns;
	u64 found_ns;
	u64 longest_ns;
	u32 measured;
	u32 judged;
	bool held_back;
	bool crowded;
	bool crossed;
	bool harmed;
	bool flushed;
	bool told;
	bool wrote_late;
};

enum fgio_depth_phase {
	/* No limit met yet: each interval halves the cost, or takes more. */
	FGIO_DEPTH_RACES,
	/* The first limit was met: each sign of it doubles the cost. */
	FGIO_DEPTH_BRAKES,
	FGIO_DEPTH_SETTLED,
};

/* Only the functions below touch the members. */
struct fgio_depth {
	bool rotates; /* as far as is known */
	u8 critical_kind;
	u8 phase;
	bool was_harmed;
	bool was_late; /* the latest critical I/O */
	bool recent; /* in a recent window: critical I/O may come back */
	bool blind; /* a disk: critical I/O has no base latency yet */
	struct fgio_chance chance; /* that non-critical I/O is late */
	struct fgio_chance flush_chance; /* that a flush is */
	struct fgio_rotation rotation;
	struct fgio_arms arms;
	/* The latest non-critical request is a read; went beside critical I/O. */
	bool reads;
	bool crosses;
	struct fgio_service_cost cost;
	/* That of the other mode: recent window, or not. */
	struct fgio_service_cost aside;
	u64 learnt_ns; /* last fgio_depth_learn() */
	u64 raised_ns; /* last rise of the cost */
	u64 work_ns; /* of the latest request */
	u64 noncritical_size; /* of the latest non-critical one */
	u64 mix_ns; /* mean base latency of the latest of these */
	u32 in_flight_max; /* in-flight limit until the drive's limit was met */
	u32 intervals;
	/* Waiting among each other, in 1/TOLERANCE_ONE of a base latency. */
	u32 tolerance;
	u32 tolerance_max;
	u32 harm; /* delay of critical I/O, in 1/HARM_ONE of a base latency */
	u32 harm_alone; /* the same in a quiet drive... */
	u32 alone; /* ...and the number of I/Os that it is the mean of */
	u32 longest; /* sectors of a request that takes about SPLIT_TAKES_NS; 0: unknown */
	u32 longer; /* sectors that the cost allowed... */
	u64 longer_ns; /* ...through this time of demand */
	u64 saturated_ns; /* time for which a foreground has saturated the drive */
	u32 surprise; /* the unexpected part of that... */
	u32 usual; /* ...and its mean over some intervals */
	struct fgio_depth_interval interval;
	u64 window_ns;
	u64 window_begin_ns;
	struct fgio_base_latency base[FGIO_KINDS];

	struct fgio_saturation saturation;
	struct fgio_arrival arrival;

	u64 retry_ns;
	u64 came_ns; /* arrival of the critical request that goes next; 0: unknown */

	/* Written by each write dispatched, and by each flush. */
	struct fgio_flushes flushes;

	/*
	 * From here on, written by completions: off the cache lines that
	 * dispatch writes.
	 */
	struct fgio_samples samples __attribute__((aligned(64)));
	u64 quiet_since_ns;
	u64 cache_cost; /* shown by flushes since last learnt; 0: none */
};

/*
 * @rotates: the drive declares that it rotates. Believed until its reads show
 *	otherwise (rotation.h).
 */
void fgio_depth_init(struct fgio_depth *depth, bool rotates);

/* Whether it rotates, as far as is known. Any context. */
static inline bool fgio_depth_rotates(const struct fgio_depth *depth)
{
	return fgio_load(&depth->rotates);
}

/**
 * fgio_depth_begin() - I/O of both classes is present again
 * @depth: the drive
 * @in_device: non-critical requests in it
 * @unseen: some went unmeasured since the last fgio_depth_learn(): that time
 *	does not count. Otherwise the drive had none meanwhile
 * @now_ns: the time
 */
void fgio_depth_begin(struct fgio_depth *depth, u32 in_device, bool unseen,
		      u64 now_ns);

/*
 * Enters or leaves a recent window: critical I/O is not present, but may come
 * back. Its first I/O finds what the drive was given meanwhile, and only that
 * one does, so more may go. Each of the two modes learns a cost of its own.
 */
void fgio_depth_turn(struct fgio_depth *depth, bool recent, u64 now_ns);

/* Private to depth.c and depth_learn.c. */
void fgio_depth_begin_interval(struct fgio_depth *depth, u64 now_ns);

/* Learns from the completions since the last call. */
void fgio_depth_learn(struct fgio_depth *depth, u64 now_ns);

/**
 * fgio_depth_allows() - whether a non-critical request may go now
 * @depth: the drive
 * @sectors: length of the request
 * @write: its direction
 * @in_device: requests in the drive, per class
 * @waiting: non-critical requests that wait for it, with this one
 * @now_ns: the time
 *
 * Return: whether it may go. If not, fgio_depth_retry_ns() is the latest time
 * to ask again; 0: at the next non-critical completion.
 */
bool fgio_depth_allows(struct fgio_depth *depth, u32 sectors, bool write,
		       const u32 in_device[FGIO_CLASSES], u32 waiting,
		       u64 now_ns);

/*
 * Whether so few others are in the drive that fgio_depth_allows() does not
 * refuse a request for their number. Nothing is noted.
 */
bool fgio_depth_has_room(const struct fgio_depth *depth, u32 sectors,
			 bool write, u32 others);

/* Whether all known critical requests have completed. */
static inline bool fgio_depth_is_quiet(const struct fgio_depth *depth)
{
	return fgio_load(&depth->quiet_since_ns);
}

/* Whether the drive is not done with what it was given. */
static inline bool fgio_depth_owes(const struct fgio_depth *depth, u64 now_ns)
{
	return depth->cost.busy_until_ns > now_ns;
}

u64 fgio_depth_retry_ns(const struct fgio_depth *depth);

/*
 * Whether even minimum service waits: a probe measures critical I/O alone,
 * usually some 50 I/Os, for 1.5 s at most.
 */
static inline bool fgio_depth_probes(const struct fgio_depth *depth)
{
	return fgio_saturation_probes(&depth->saturation) && !depth->recent;
}

/*
 * Whether background I/O within the limit goes even while critical I/O waits for
 * a place in the drive. A disk takes some 32 I/Os, and a foreground that has as
 * many and more leaves no other moment.
 */
static inline bool fgio_depth_shares(const struct fgio_depth *depth)
{
	return fgio_depth_rotates(depth) && !depth->recent &&
	       depth->saturation.phase == FGIO_SATURATION_LIMITS;
}

/* Slow path of fgio_depth_rests(), for a @retry_ns in the future. */
bool fgio_depth_rests_until(const struct fgio_depth *depth, u64 retry_ns,
			    u64 now_ns);

/*
 * Whether the retry time is near enough, or certain enough, to run the queue no
 * earlier: the waiter of a completed critical I/O gets the CPU first. Any
 * context.
 */
static inline bool fgio_depth_rests(const struct fgio_depth *depth, u64 now_ns)
{
	u64 retry_ns = fgio_load(&depth->retry_ns);

	return retry_ns > now_ns &&
	       fgio_depth_rests_until(depth, retry_ns, now_ns);
}

/**
 * fgio_depth_min_service_ns() - interval of minimum service, whatever was
 * learnt
 * @depth: the drive
 * @sectors: length of the request that goes now
 * @write: its direction
 * @interval_ns: the interval on a drive that does not rotate
 *
 * A disk's arm needs most of 10 ms for each request, and a flush waits for all
 * of them.
 *
 * Return: the interval; up to MIN_SERVICE_MOST times @interval_ns for a disk of
 * which minimum service would take more than a tenth.
 */
u64 fgio_depth_min_service_ns(const struct fgio_depth *depth, u32 sectors,
			      bool write, u64 interval_ns);

/* A critical request arrived at @came_ns (0: unknown) and goes to the drive. */
void fgio_depth_critical_came(struct fgio_depth *depth, u32 sectors, bool write,
			      u64 came_ns);

/**
 * fgio_depth_sent() - a request of either class goes to the drive
 * @depth: the drive
 * @stamp: the request's stamp
 * @class: its class
 * @sector: its first sector
 * @sectors: its length
 * @write: its direction
 * @others: other non-critical requests in the drive
 * @now_ns: the time
 */
void fgio_depth_sent(struct fgio_depth *depth, struct fgio_depth_stamp *stamp,
		     enum fgio_class class, u64 sector, u32 sectors, bool write,
		     u32 others, u64 now_ns);

/*
 * @untold critical requests of @sectors in all went to the drive, which are not
 * measured, since the last call.
 */
void fgio_depth_passed(struct fgio_depth *depth, u64 untold, u64 sectors,
		       u64 now_ns);

/*
 * Of several requests that go at once, the first is measured, but is not alone
 * in the drive; those after it are not measured.
 */
static inline void fgio_depth_not_alone(struct fgio_depth_stamp *stamp)
{
	stamp->quiet = false;
}

static inline void fgio_depth_not_measured(struct fgio_depth_stamp *stamp)
{
	stamp->sent_ns = 0;
}

/*
 * Sectors that a non-critical request may have where critical I/O comes: more
 * than @least where the drive takes no longer than SPLIT_TAKES_NS for them; 0:
 * any number, as where @least is 0. What a foreground leaves that saturates the
 * drive is a number of requests, of which short ones do less. Any context.
 */
u32 fgio_depth_longest(const struct fgio_depth *depth, u32 least);

/* Time of such an I/O in a quiet drive, in ns; 0: not known. */
static inline u64 fgio_depth_base_ns(const struct fgio_depth *depth,
				     u32 sectors, bool write)
{
	return depth->base[fgio_kind_of(sectors, write)].known_ns;
}

/*
 * Time that a non-critical I/O takes in the drive, where many are in it at once,
 * in ns; 0: not known.
 */
static inline u64 fgio_depth_time_of_others_ns(const struct fgio_depth *depth)
{
	return depth->saturation.other_ns;
}

/* It completed; @others non-critical requests are left in the drive. */
void fgio_depth_completed(struct fgio_depth *depth,
			  const struct fgio_depth_stamp *stamp,
			  enum fgio_class class, u32 others, u64 now_ns);

/* @count non-critical writes of @sectors in all go to the drive. */
void fgio_depth_wrote(struct fgio_depth *depth, u64 count, u64 sectors);

/* Their size in the units in which flushes are told of it. */
u64 fgio_depth_size(u64 count, u64 sectors);

/*
 * Whether a flush completed lately, so that another one may wait for what is
 * written now. Only for disks: a long flush of a disk shows what its cache
 * held, one of flash may be long for any reason.
 */
static inline bool fgio_depth_flush_may_come(const struct fgio_depth *depth,
					     u64 now_ns)
{
	return fgio_depth_rotates(depth) &&
	       fgio_flush_may_come(&depth->flushes, now_ns);
}

/* A critical flush begins. Any context. */
static inline void fgio_depth_flush_begins(struct fgio_depth *depth,
					   struct fgio_flush *flush,
					   bool commits, u64 now_ns)
{
	fgio_flush_begin(&depth->flushes, flush, commits, now_ns);
}

/* Writes of @size went before it, as fgio_flush_covers(). Any context. */
static inline void fgio_depth_flush_covers(const struct fgio_depth *depth,
					   struct fgio_flush *flush, u64 size)
{
	fgio_flush_covers(&depth->flushes, flush, size);
}

/* It completed. Any context. */
void fgio_depth_flush_ends(struct fgio_depth *depth,
			   const struct fgio_flush *flush, u64 now_ns);

/* The last known critical request completed. */
static inline void fgio_depth_quiet(struct fgio_depth *depth, u64 now_ns)
{
	fgio_store(&depth->quiet_since_ns, now_ns);
}

#endif /* FGIO_CORE_DEPTH_H */
