// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Decides what may go to the drive; depth_learn.c learns from completions. */
#include "atomic.h"
#include "depth.h"
#include "depth_constants.h"
#include "number.h"

void fgio_depth_init(struct fgio_depth *depth, bool rotates)
{
	*depth = (struct fgio_depth){
		.rotates = rotates,
		.in_flight_max = 1,
		.tolerance = TOLERANCE_LEAST,
		.tolerance_max = TOLERANCE_MOST,
	};
	fgio_rotation_init(&depth->rotation, rotates);
	fgio_cost_init(&depth->cost, FIRST_SECTORS, FIRST_NS);
}

static u64 size_of(u32 sectors)
{
	return smaller(sectors, LONGEST_SECTORS) + OVERHEAD_SECTORS;
}

static u64 work_of(const struct fgio_depth *depth, u32 sectors)
{
	return fgio_cost_work(&depth->cost, size_of(sectors));
}

void fgio_depth_begin(struct fgio_depth *depth, u32 in_device, bool unseen,
		      u64 now_ns)
{
	u64 gap_ns = beyond(now_ns, depth->learnt_ns);
	u64 work_ns = in_device * larger(depth->work_ns, work_of(depth, 0));

	if (unseen)
		depth->interval.begin_ns += gap_ns;
	else
		depth->interval.idle_ns += gap_ns;
	depth->learnt_ns = now_ns;
	fgio_saturation_begin(&depth->saturation, now_ns);
	depth->cost.busy_until_ns =
		now_ns + smaller(work_ns, BUCKET_MOST_NS);
}

/* The first cost of one mode is that of the other. */
void fgio_depth_turn(struct fgio_depth *depth, bool recent, u64 now_ns)
{
	struct fgio_service_cost before = depth->cost;

	if (recent == depth->recent)
		return;
	depth->recent = recent;
	if (depth->phase != FGIO_DEPTH_SETTLED)
		return;
	depth->cost = depth->aside.per_unit ? depth->aside : before;
	depth->cost.busy_until_ns = before.busy_until_ns;
	depth->aside = before;
	fgio_depth_begin_interval(depth, now_ns);
}

/* ---- arrivals ---- */

void fgio_depth_critical_came(struct fgio_depth *depth, u32 sectors, bool write,
			      u64 came_ns)
{
	u64 since_ns = fgio_load(&depth->quiet_since_ns);

	depth->critical_kind = fgio_kind_of(sectors, write);
	depth->came_ns = came_ns;
	if (!since_ns)
		return;
	fgio_store(&depth->quiet_since_ns, 0);
	fgio_saturation_pause(&depth->saturation, since_ns, came_ns);
	if (came_ns)
		fgio_arrival_came(&depth->arrival,
				  beyond(came_ns, since_ns));
}

/* As fgio_arrival_next(); an overdue arrival is not predicted. */
static bool next_arrival(struct fgio_depth *depth, u64 work_ns, u64 now_ns,
			 u64 *done_ns, u64 *late_ns)
{
	u64 since_ns = fgio_load(&depth->quiet_since_ns);

	return since_ns &&
	       fgio_arrival_next(&depth->arrival, since_ns, work_ns,
				 done_ns, late_ns) &&
	       now_ns < *late_ns;
}

/* ---- dispatch ---- */

static bool is_certain(const struct fgio_depth *depth)
{
	return depth->base[depth->critical_kind].count >= BASE_CERTAIN;
}

/*
 * The base latency of critical I/O must be measured again now and then, and
 * until it is certain: its first I/O may be a tail, beside which nothing is
 * ever late.
 */
static bool wants_quiet(const struct fgio_depth *depth, u64 now_ns)
{
	const struct fgio_base_latency *base =
		&depth->base[depth->critical_kind];
	u64 wait_ns = QUIET_WAIT_NS;

	if (depth->recent || base->fresh >= (is_certain(depth) ? 1 : BASE_FRESH))
		return false;
	if (!is_certain(depth))
		wait_ns *= BASE_CERTAIN / 2;
	return now_ns < depth->window_begin_ns + wait_ns;
}

/*
 * A drive holds as many as pass during one I/O of a steady stream. Two more
 * keep it busy, and some more wait for each other as far as tolerated.
 */
static u64 others_max(const struct fgio_depth *depth,
		      const struct fgio_base_latency *base, u64 work_ns)
{
	u64 steady = BUSY_OTHERS + depth->tolerance / TOLERANCE_ONE;
	u64 takes_ns = base->known_ns;
	u64 waits_ns;

	/* A write passes to a cache while reads are at the arms. */
	if (depth->arms.several)
		takes_ns = larger(takes_ns, depth->mix_ns);
	waits_ns = steady * takes_ns;
	if (depth->phase != FGIO_DEPTH_SETTLED)
		return depth->in_flight_max;
	if (base->fresh < BASE_FRESH)
		return 1;
	if (depth->recent)
		waits_ns += RECENT_WAIT_NS;
	return BUSY_OTHERS + waits_ns / larger(work_ns, 1);
}

static bool hold_back(struct fgio_depth *depth, u64 retry_ns)
{
	fgio_store(&depth->retry_ns, retry_ns);
	return false;
}

enum arrival {
	NOT_PREDICTED,
	IN_TIME, /* the drive will be done before critical I/O arrives */
	TOO_LATE,
};

/*
 * A disk's cache takes a write at once, whatever the arm owes. Only that has to
 * be done in time; the arm's work is judged as if nothing were predicted.
 */
static enum arrival predict(struct fgio_depth *depth, u64 work_ns,
			    const struct fgio_base_latency *base,
			    u64 now_ns)
{
	u64 begin_ns = larger(depth->cost.busy_until_ns, now_ns);
	u64 done_ns, late_ns;

	if (depth->rotates) {
		work_ns = 2ULL * base->known_ns;
		begin_ns = now_ns;
	}
	if (!next_arrival(depth, work_ns, now_ns, &done_ns, &late_ns))
		return NOT_PREDICTED;
	if (begin_ns + work_ns <= done_ns)
		return depth->rotates ? NOT_PREDICTED : IN_TIME;
	depth->interval.held_back |= begin_ns > now_ns;
	hold_back(depth, late_ns);
	return TOO_LATE;
}

static bool bucket_allows(struct fgio_depth *depth, u64 now_ns)
{
	u64 retry_ns = 0;

	if (depth->cost.busy_until_ns > now_ns)
		retry_ns = depth->cost.busy_until_ns;
	else if (wants_quiet(depth, now_ns))
		retry_ns = now_ns + QUIET_RETRY_NS;
	if (!retry_ns)
		return true;
	depth->interval.held_back = true;
	return hold_back(depth, retry_ns);
}

/*
 * Keeping a disk idle helps no other request: it goes on rotating. So one read
 * goes unless critical I/O has the arm, or is back before the arm has moved. Of
 * several arms, most are elsewhere.
 */
static bool arm_is_free(struct fgio_depth *depth,
			const struct fgio_base_latency *base,
			const u32 in_device[FGIO_CLASSES], u64 now_ns)
{
	u64 since_ns = fgio_load(&depth->quiet_since_ns);
	u64 late_ns;

	if (depth->arms.several)
		return true;
	if (fgio_load(&in_device[FGIO_CRITICAL]))
		return hold_back(depth, 0);
	if (since_ns &&
	    fgio_arrival_soon(&depth->arrival, since_ns, base->known_ns,
			      &late_ns) &&
	    now_ns < late_ns)
		return hold_back(depth, late_ns);
	return true;
}

static bool limit_allows(struct fgio_depth *depth, u64 others, u32 waiting,
			 u64 now_ns)
{
	u64 retry_ns;

	if (fgio_saturation_allows(&depth->saturation, others, waiting,
				   now_ns, &retry_ns))
		return true;
	return hold_back(depth, retry_ns);
}

bool fgio_depth_allows(struct fgio_depth *depth, u32 sectors, bool write,
		       const u32 in_device[FGIO_CLASSES], u32 waiting,
		       u64 now_ns)
{
	const struct fgio_base_latency *base =
		&depth->base[fgio_kind_of(sectors, write)];
	u64 work_ns = work_of(depth, sectors);
	u64 others = fgio_load(&in_device[FGIO_NONCRITICAL]);
	enum arrival arrival = NOT_PREDICTED;

	if (fgio_saturation_is_on(&depth->saturation) && !depth->recent)
		return limit_allows(depth, others, waiting, now_ns);
	if (depth->rotates && !write && !others)
		return arm_is_free(depth, base, in_device, now_ns);
	/* The next flush would wait for this write. */
	if (write && fgio_flush_holds(&depth->flushes, now_ns)) {
		depth->interval.held_back = true;
		return hold_back(depth, fgio_load(&depth->flushes.until_ns));
	}
	if (!fgio_load(&in_device[FGIO_CRITICAL]))
		arrival = predict(depth, work_ns, base, now_ns);
	if (arrival == TOO_LATE)
		return false;
	if ((arrival == NOT_PREDICTED || !is_certain(depth)) &&
	    !bucket_allows(depth, now_ns))
		return false;
	if (others >= others_max(depth, base, work_ns)) {
		depth->interval.crowded = true;
		return hold_back(depth, 0);
	}
	return true;
}

bool fgio_depth_has_room(const struct fgio_depth *depth, u32 sectors,
			 bool write, u32 others)
{
	if (fgio_saturation_is_on(&depth->saturation) && !depth->recent)
		return others < fgio_saturation_limit(&depth->saturation);
	return others < others_max(depth,
				   &depth->base[fgio_kind_of(sectors, write)],
				   work_of(depth, sectors));
}

/*
 * How long a request keeps a disk's arm; writes go to the cache first. 0: not
 * known.
 */
static u64 arm_ns(const struct fgio_depth *depth, u32 sectors, bool write)
{
	if (!write)
		return depth->base[fgio_kind_of(sectors, write)].known_ns;
	return depth->phase == FGIO_DEPTH_SETTLED ? work_of(depth, 0) : 0;
}

/* Only an arm is that slow: on any other drive, such a cost is wrong. */
u64 fgio_depth_min_service_ns(const struct fgio_depth *depth, u32 sectors,
			      bool write, u64 interval_ns)
{
	u64 most_ns = MIN_SERVICE_MOST * interval_ns;
	u64 share_ns;

	if (!depth->rotates)
		return interval_ns;
	share_ns = MIN_SERVICE_SHARE * arm_ns(depth, sectors, write);
	return larger(interval_ns, smaller(share_ns, most_ns));
}

u32 fgio_depth_longest(const struct fgio_depth *depth, u32 least)
{
	if (!least || fgio_load(&depth->saturated_ns) >= SPLIT_SATURATED_NS)
		return 0;
	return (u32)larger(fgio_load(&depth->longest), least);
}

u64 fgio_depth_retry_ns(const struct fgio_depth *depth)
{
	return depth->retry_ns;
}

bool fgio_depth_rests_until(const struct fgio_depth *depth, u64 retry_ns,
			    u64 now_ns)
{
	/* An arrival does not shorten what a disk's arm still owes. */
	bool owes = fgio_depth_rotates(depth) &&
		    fgio_load(&depth->cost.busy_until_ns) >= retry_ns;

	return owes || retry_ns - now_ns < REST_NEAR_NS;
}

static void note_mix(struct fgio_depth *depth, u64 known_ns)
{
	depth->mix_ns -= depth->mix_ns / MIX_SPAN;
	depth->mix_ns += known_ns / MIX_SPAN;
}

/*
 * Whether the request shows arms, see arms.h. With more of them in the drive,
 * requests wait for each other whatever the number of arms is; a write beside it
 * may be in a cache.
 */
static bool shows_arms(const struct fgio_depth *depth,
		       const struct fgio_depth_stamp *stamp,
		       enum fgio_class class, bool write, u32 others)
{
	if (write || others != 1 || !depth->reads)
		return false;
	return class == FGIO_CRITICAL ? depth->crosses : stamp->far;
}

void fgio_depth_sent(struct fgio_depth *depth, struct fgio_depth_stamp *stamp,
		     enum fgio_class class, u64 sector, u32 sectors, bool write,
		     u32 others, u64 now_ns)
{
	u64 wait_ns = beyond(depth->cost.busy_until_ns, now_ns);

	*stamp = (struct fgio_depth_stamp){
		.sent_ns = now_ns,
		.wait_ns = (u32)wait_ns,
		.kind = fgio_kind_of(sectors, write),
		.quiet = !others && !wait_ns,
		.far = !write && fgio_rotation_moves(&depth->rotation, sector,
						     sectors),
	};
	/* Where both share the drive's places, waiting for one counts. */
	if (class == FGIO_CRITICAL && depth->came_ns && depth->rotates &&
	    fgio_saturation_is_on(&depth->saturation))
		stamp->sent_ns = smaller(depth->came_ns, now_ns);
	depth->work_ns = work_of(depth, sectors);
	fgio_cost_charge(&depth->cost, size_of(sectors), now_ns);
	stamp->beside = shows_arms(depth, stamp, class, write, others);
	if (class != FGIO_NONCRITICAL)
		return;
	depth->reads = !write;
	depth->crosses = !fgio_load(&depth->quiet_since_ns);
	depth->noncritical_size = size_of(sectors);
	note_mix(depth, depth->base[stamp->kind].known_ns);
	fgio_saturation_spend(&depth->saturation, now_ns);
}

u64 fgio_depth_size(u64 count, u64 sectors)
{
	return sectors + count * OVERHEAD_SECTORS;
}

void fgio_depth_passed(struct fgio_depth *depth, u64 untold, u64 sectors,
		       u64 now_ns)
{
	fgio_cost_charge(&depth->cost, fgio_depth_size(untold, sectors), now_ns);
	fgio_saturation_untold(&depth->saturation, untold);
}

void fgio_depth_wrote(struct fgio_depth *depth, u64 count, u64 sectors)
{
	fgio_flush_wrote(&depth->flushes, fgio_depth_size(count, sectors));
}
