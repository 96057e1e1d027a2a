/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How much non-critical work a drive takes before critical I/O suffers, learnt
 * from completions. docs/depth.md explains it in a page.
 *
 * The drive is a bucket with a hole. A request that goes to it adds work, in ns
 * of the drive's time: its size times the pace (service_cost.h), one figure that is learnt. The
 * measure is delay. I/Os that take longer than their kind takes in a quiet
 * drive, and more of them in a row than are late by chance (chance.h), have waited
 * for work that was not known of: that is added, and the pace becomes slower.
 * While none waits, the pace becomes faster by small steps.
 *
 * Non-critical requests go when the bucket is empty, or, where critical I/O
 * comes at regular intervals, as long as the drive will be done before the next.
 *
 * Locking: the caller serialises all calls for one struct, except for
 * fgio_depth_completed(), _flush_begins(), _flush_ends() and _quiet(), which may run
 * at any time, in any context. Nothing here sleeps, allocates, or loops longer than
 * over its arrays.
 *
 * All times are ns of one clock that never goes back.
 */
#ifndef FGIO_CORE_DEPTH_H
#define FGIO_CORE_DEPTH_H

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
 * @sent_ns: when it went; 0: it is not measured
 * @wait_ns: how long it was expected to wait for others there
 * @kind: see base_latency.h
 * @quiet: no other non-critical request, nor work left by one, was there
 * @far: a read, far from those before it
 */
struct fgio_depth_stamp {
	u64 sent_ns;
	u32 wait_ns;
	u8 kind;
	bool quiet;
	bool far;
};

/**
 * struct fgio_depth_interval - what is found between two changes of the pace
 * @begin_ns: when it began
 * @idle_ns: of it, how long there was no non-critical request
 * @found_ns: work in the drive that was not known of
 * @measured: completions learnt from
 * @judged: critical ones of them, since the tolerance grew last
 * @held_back: something waited for its turn: a faster pace would be of use
 * @crowded: something waited since enough were in the drive
 * @crossed: enough was found to give the drive a rest
 * @harmed: critical I/O showed that the pace is beyond the limit
 * @flushed: critical flushes did
 * @told: a critical flush was over, whatever it showed
 */
struct fgio_depth_interval {
	u64 begin_ns;
	u64 idle_ns;
	u64 found_ns;
	u32 measured;
	u32 judged;
	bool held_back;
	bool crowded;
	bool crossed;
	bool harmed;
	bool flushed;
	bool told;
};

enum fgio_depth_phase {
	FGIO_DEPTH_RACES,  /* no limit was met yet: twice as fast, or as many, each interval */
	FGIO_DEPTH_BRAKES, /* the first one was met: half as fast at each sign of it */
	FGIO_DEPTH_SETTLED,
};

/* Only the functions below touch the members. */
struct fgio_depth {
	bool rotates;  /* it has a platter, as far as is known */
	u8 critical_kind;
	u8 phase;
	bool was_harmed;
	bool recent; /* critical I/O is not about, but may come back */
	struct fgio_chance chance; /* of non-critical I/O that is late */
	struct fgio_rotation rotation;
	struct fgio_service_cost cost;
	struct fgio_service_cost aside; /* while critical I/O may come back, or is about */
	u64 learnt_ns; /* when fgio_depth_learn() was called last */
	u64 raised_ns;  /* when it became slower last */
	u64 work_ns;   /* of the latest request */
	u32 in_flight_max;  /* in the drive at most, until the limit was met once */
	u32 intervals;
	u32 tolerance; /* waiting among themselves, in 1/16 of a quiet I/O */
	u32 tolerance_max;
	u32 harm;      /* what critical I/O suffers, in 1/4096 of a quiet one */
	u32 surprise;  /* what of that was not expected... */
	u32 usual;     /* ...and the mean of that over some intervals */
	struct fgio_depth_interval interval;
	u64 window_ns;
	u64 window_begin_ns;
	struct fgio_base_latency base[FGIO_KINDS];

	struct fgio_saturation saturation;
	struct fgio_arrival arrival;

	u64 retry_ns;

	/* Written for each write that goes, and by each flush. */
	struct fgio_flushes flushes;

	/*
	 * From here on, written by completions, and apart from what dispatch
	 * writes for each request.
	 */
	struct fgio_samples samples __attribute__((aligned(64)));
	u64 quiet_since_ns;
	u64 cache_cost; /* that flushes showed since it was learnt from; 0: none did */
};

/*
 * @rotates: the drive says that it has a platter, which does not wait for a late request;
 * that is believed until its reads show otherwise (rotation.h).
 */
void fgio_depth_init(struct fgio_depth *depth, bool rotates);

/* Whether it has one, as far as is known. Any context. */
static inline bool fgio_depth_rotates(const struct fgio_depth *depth)
{
	return fgio_load(&depth->rotates);
}

/**
 * fgio_depth_begin() - both classes are about again
 * @depth: what is known of the drive
 * @in_device: non-critical requests that it has
 * @unseen: some went unmeasured since fgio_depth_learn() was called last: that
 *	time is not counted. Else the drive had none to do meanwhile
 * @now_ns: the time
 */
void fgio_depth_begin(struct fgio_depth *depth, u32 in_device, bool unseen,
		      u64 now_ns);

/*
 * Whether critical I/O is not about, but may come back: @recent. Who comes back finds
 * what was given to the drive meanwhile once, and not with each I/O, so that more may go.
 * How fast is learnt for each apart.
 */
void fgio_depth_turn(struct fgio_depth *depth, bool recent, u64 now_ns);

/* Of depth.c and depth_learn.c alone. */
void fgio_depth_begin_interval(struct fgio_depth *depth, u64 now_ns);

/* Learns from what completed since the last call. */
void fgio_depth_learn(struct fgio_depth *depth, u64 now_ns);

/**
 * fgio_depth_allows() - whether a non-critical request may go now
 * @depth: what is known of the drive
 * @sectors: its length
 * @write: its direction
 * @in_device: requests in the drive, per class
 * @now_ns: the time
 *
 * Return: whether it may. Where not, fgio_depth_retry_ns() says when to ask
 * again at the latest; 0: when a non-critical request completes.
 */
bool fgio_depth_allows(struct fgio_depth *depth, u32 sectors, bool write,
		       const u32 in_device[FGIO_CLASSES], u64 now_ns);

u64 fgio_depth_retry_ns(const struct fgio_depth *depth);

/*
 * Whether even the one I/O that goes in each release interval waits: a probe
 * looks at critical I/O alone. Usually for some 50 of its I/Os; 1.5 s at most.
 */
static inline bool fgio_depth_probes(const struct fgio_depth *depth)
{
	return fgio_saturation_probes(&depth->saturation) && !depth->recent;
}

/* Of fgio_depth_rests(): @retry_ns is to come. */
bool fgio_depth_rests_until(const struct fgio_depth *depth, u64 retry_ns,
			    u64 now_ns);

/*
 * Whether that time is so near, or so certain, that nobody needs to ask before: who
 * waited for a critical I/O that completed is to have the CPU first. Any context.
 */
static inline bool fgio_depth_rests(const struct fgio_depth *depth, u64 now_ns)
{
	u64 retry_ns = fgio_load(&depth->retry_ns);

	return retry_ns > now_ns &&
	       fgio_depth_rests_until(depth, retry_ns, now_ns);
}

/**
 * fgio_depth_min_service_ns() - when the next non-critical request goes, whatever was learnt
 * @depth: what is known of the drive
 * @sectors: length of the one that goes now
 * @write: its direction
 * @interval_ns: as often on a drive without a platter
 *
 * A disk's arm needs most of 10 ms for each, and a flush waits for all of them.
 *
 * Return: the interval; up to MIN_SERVICE_MOST times @interval_ns for a disk of
 * which the promise would take more than a tenth.
 */
u64 fgio_depth_min_service_ns(const struct fgio_depth *depth, u32 sectors,
			      bool write, u64 interval_ns);

/* A critical request came at @came_ns (0: unknown) and goes to the drive. */
void fgio_depth_critical_came(struct fgio_depth *depth, u32 sectors, bool write,
			      u64 came_ns);

/**
 * fgio_depth_sent() - a request of either class goes to the drive
 * @depth: what is known of the drive
 * @stamp: the request's own
 * @class: its class
 * @sector: where it begins
 * @sectors: its length
 * @write: its direction
 * @others: other non-critical requests in the drive
 * @now_ns: the time
 */
void fgio_depth_sent(struct fgio_depth *depth, struct fgio_depth_stamp *stamp,
		     enum fgio_class class, u64 sector, u32 sectors, bool write,
		     u32 others, u64 now_ns);

/* It completed, and @others non-critical requests are left in the drive. */
void fgio_depth_completed(struct fgio_depth *depth,
			  const struct fgio_depth_stamp *stamp,
			  enum fgio_class class, u32 others, u64 now_ns);

/* A non-critical write goes to the drive, measured or not. */
void fgio_depth_wrote(struct fgio_depth *depth, u32 sectors);

/*
 * Whether a flush was over lately, and the next one may find what went since: that of a
 * disk is long, and tells what was in its cache; one of flash may be so for any reason.
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

/* It is over. Any context. */
void fgio_depth_flush_ends(struct fgio_depth *depth,
			   const struct fgio_flush *flush, u64 now_ns);

/* The last critical request that was known of completed. */
static inline void fgio_depth_quiet(struct fgio_depth *depth, u64 now_ns)
{
	fgio_store(&depth->quiet_since_ns, now_ns);
}

#endif /* FGIO_CORE_DEPTH_H */
