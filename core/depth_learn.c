// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Learns from completions: which I/Os waited, and the service cost from that.
 */
#include "atomic.h"
#include "depth.h"
#include "depth_constants.h"
#include "number.h"

/* ---- completions ---- */

void fgio_depth_completed(struct fgio_depth *depth,
			  const struct fgio_depth_stamp *stamp,
			  enum fgio_class class, u32 others, u64 now_ns)
{
	const struct fgio_sample sample = {
		.took_ns = beyond(now_ns, stamp->sent_ns),
		.wait_ns = stamp->wait_ns,
		.others = others,
		.kind = stamp->kind,
		.quiet = stamp->quiet,
		.critical = class == FGIO_CRITICAL,
		.far = stamp->far,
		.beside = stamp->beside,
	};

	fgio_samples_note(&depth->samples, &sample);
}

/*
 * A flush of a disk beyond twice its base latency took that time for what the
 * cache held; a flush of flash may be long for any reason. Of two at once, the
 * higher cost counts, or now and then the other one.
 */
static void note_cache(struct fgio_depth *depth, const struct fgio_flush *flush,
		       u64 alone_ns, u64 now_ns)
{
	u64 excess_ns = beyond(now_ns, flush->begin_ns +
				       FLUSH_LATE_FACTOR * alone_ns);
	u64 cost;

	if (!fgio_depth_rotates(depth) || !flush->left || !alone_ns)
		return;
	cost = (excess_ns << FGIO_COST_SHIFT) / flush->left;
	if (cost > fgio_load(&depth->cache_cost))
		fgio_store(&depth->cache_cost, cost);
}

void fgio_depth_flush_ends(struct fgio_depth *depth,
			   const struct fgio_flush *flush, u64 now_ns)
{
	const struct fgio_depth_stamp stamp = {
		.sent_ns = flush->begin_ns,
		.kind = FGIO_KIND_FLUSH + flush->commits,
		.quiet = !flush->left,
	};
	u64 alone_ns = fgio_load(&depth->base[stamp.kind].known_ns);

	fgio_flush_end(&depth->flushes, flush, alone_ns, now_ns);
	note_cache(depth, flush, alone_ns, now_ns);
	fgio_depth_completed(depth, &stamp, FGIO_CRITICAL, 0, now_ns);
}

/* ---- what a completion shows ---- */

/* The next I/Os find the drive rested. */
static void rest(struct fgio_depth *depth, u64 rest_ns, u64 now_ns)
{
	/* At the right cost, a disk's cache drained once stays so. */
	if (depth->rotates && depth->phase == FGIO_DEPTH_SETTLED)
		rest_ns = DISK_RESTS * depth->work_ns;
	fgio_cost_fill(&depth->cost, now_ns, rest_ns, now_ns);
}

/* The first limit was met at up to twice what the drive does. */
static void brake(struct fgio_depth *depth, u64 now_ns)
{
	depth->phase = FGIO_DEPTH_BRAKES;
	fgio_cost_double(&depth->cost);
	depth->raised_ns = now_ns;
	depth->interval.begin_ns = now_ns;
	depth->interval.idle_ns = 0;
	depth->interval.found_ns = 0;
}

/* I/Os dispatched before the cost rose show nothing of it. */
static bool is_before_raise(const struct fgio_depth *depth, u64 took_ns,
			    u64 now_ns)
{
	return beyond(now_ns, took_ns) < depth->raised_ns;
}

static bool is_beyond_limit(const struct fgio_depth *depth)
{
	return depth->phase == FGIO_DEPTH_SETTLED &&
	       fgio_cost_is_below_limit(&depth->cost);
}

/*
 * Critical I/O may suffer at any cost: reads of flash wait for programs. But
 * where it suffers more than usual, or the cost was just lowered below the
 * known limit's, the drive does less than the cost says, and its hidden
 * reserves are used up. What it suffers alone is neither.
 */
static void see_harm(struct fgio_depth *depth, u64 took_ns, u64 now_ns)
{
	u64 usual = is_beyond_limit(depth) ? 0 : HARM_UNUSUAL * depth->usual;
	/*
	 * An interval's work of a disk proves nothing: the arm may still owe
	 * it.
	 */
	bool tells = depth->phase == FGIO_DEPTH_SETTLED ||
		     (depth->phase == FGIO_DEPTH_BRAKES && !depth->rotates);

	if (!tells || depth->interval.harmed ||
	    is_before_raise(depth, took_ns, now_ns) ||
	    depth->surprise <=
		    HARM_CERTAIN + larger(depth->harm_alone, usual))
		return;
	depth->interval.harmed = true;
	if (depth->phase == FGIO_DEPTH_SETTLED)
		rest(depth, REST_MOST_NS, now_ns);
}

/*
 * Two tails in sixteen I/Os must not be harm, so where a drive has some, a late
 * one counts for less unless the one before it was late as well. The I/Os of an
 * arm differ by as much, and are no tails.
 */
static u64 harm_most(const struct fgio_depth *depth)
{
	return !depth->rotates && !depth->was_late &&
			       depth->chance.share > HARM_TAILS ?
		       HARM_MOST_TAIL :
		       HARM_MOST;
}

/* A mean that decays over HARM_SPAN critical I/Os. */
static u32 mean_harm(const struct fgio_depth *depth, u32 mean, u64 excess_ns,
		     u64 known_ns)
{
	u64 harm = excess_ns * (HARM_ONE / HARM_SPAN) / known_ns;

	return mean - mean / HARM_SPAN + (u32)smaller(harm, harm_most(depth));
}

static u64 late_by(u64 took_ns, u64 known_ns, u64 slack_ns)
{
	return took_ns > known_ns + slack_ns ? took_ns - known_ns : 0;
}

/*
 * Tails make critical I/O late in a quiet drive, too. As many on time are
 * assumed before the first one that a tail there tells little.
 */
static void learn_alone(struct fgio_depth *depth, u64 late_ns, u64 known_ns)
{
	u32 harm = (u32)smaller(late_ns * HARM_ONE / known_ns,
				harm_most(depth) * HARM_SPAN);
	u32 alone, of;

	depth->alone += depth->alone < HARM_ALONE_SPAN - HARM_ALONE_FIRST;
	of = HARM_ALONE_FIRST + depth->alone;
	alone = depth->harm_alone;
	depth->harm_alone = alone - alone / of + harm / of;
}

/*
 * Predicted I/O is not to wait at all. There, a wrong verdict costs throughput
 * only, so its slack is narrower.
 */
static void judge_critical(struct fgio_depth *depth, u64 took_ns, u64 known_ns,
			   u64 slack_ns)
{
	u64 narrow_ns = smaller(slack_ns, known_ns / ARRIVAL_SLACK_SHARE);

	depth->interval.judged++;
	depth->harm = mean_harm(depth, depth->harm,
				late_by(took_ns, known_ns, slack_ns), known_ns);
	fgio_arrival_judge(&depth->arrival,
			   late_by(took_ns, known_ns, narrow_ns), known_ns);
}

/* First sign of the limit in an interval. */
static void cross(struct fgio_depth *depth, u64 excess_ns, u64 now_ns)
{
	struct fgio_depth_interval *interval = &depth->interval;
	bool settled = depth->phase == FGIO_DEPTH_SETTLED;
	/* Racing shows clearly; a small step must not hurt. */
	u64 least_ns = settled ? smaller(FOUND_REQUESTS * depth->work_ns,
					 INTERVAL_NS / FOUND_SHARE) :
				 INTERVAL_NS / FOUND_SHARE_FIRST;
	u64 rest_ns;

	if (interval->crossed || interval->found_ns < least_ns)
		return;
	interval->crossed = true;
	rest_ns = smaller(REST_LEAST_NS + REST_FACTOR * excess_ns, REST_MOST_NS);
	rest(depth, rest_ns, now_ns);
	if (!settled)
		brake(depth, now_ns);
}

/*
 * An I/O waited longer than expected: the drive has work that was not accounted
 * for. The next I/Os must not wait for it as well.
 *
 * Return: the part of it that is new.
 */
static u64 add_found(struct fgio_depth *depth, u64 excess_ns, u64 work_ns,
		     u64 now_ns)
{
	u64 room_ns = beyond(now_ns + excess_ns, depth->cost.busy_until_ns);

	work_ns = smaller(work_ns, room_ns);
	fgio_cost_fill(&depth->cost, beyond(now_ns, CREDIT_NS), work_ns,
		       now_ns);
	return work_ns;
}

static void learn_critical(struct fgio_depth *depth,
			   const struct fgio_sample *seen, u64 known_ns,
			   u64 slack_ns, u64 now_ns)
{
	u64 expected_ns = known_ns + seen->wait_ns;
	u64 excess_ns = beyond(seen->took_ns, expected_ns);

	if (seen->quiet)
		learn_alone(depth, late_by(seen->took_ns, known_ns, slack_ns),
			    known_ns);
	judge_critical(depth, seen->took_ns, known_ns, slack_ns);
	if (excess_ns <= slack_ns)
		excess_ns = 0;
	depth->surprise = mean_harm(depth, depth->surprise, excess_ns, known_ns);
	depth->was_late = excess_ns > 0;
	if (!excess_ns)
		return;
	/* If non-critical I/O is on time, this may be chance. */
	if (!depth->chance.row)
		excess_ns = smaller(excess_ns, known_ns);
	add_found(depth, excess_ns, excess_ns, now_ns);
	see_harm(depth, seen->took_ns, now_ns);
}

/*
 * One late I/O may have any cause. At the limit, the next ones are late as
 * well.
 */
static void learn_noncritical(struct fgio_depth *depth,
			      const struct fgio_sample *seen, u64 known_ns,
			      u64 slack_ns, u64 now_ns)
{
	u64 excess_ns = beyond(seen->took_ns, known_ns + seen->wait_ns);
	u64 found_ns;
	u32 share;

	slack_ns = larger(slack_ns,
			  known_ns * depth->tolerance / TOLERANCE_ONE);
	if (depth->recent)
		slack_ns = larger(slack_ns, RECENT_WAIT_NS);
	fgio_chance_note(&depth->chance, excess_ns > slack_ns);
	if (excess_ns <= slack_ns)
		return;
	share = fgio_chance_likely(&depth->chance);
	if (fgio_chance_explains(&depth->chance, share, CHANCE_SEEN))
		return;
	/* All I/Os in the drive find the same work. */
	found_ns = add_found(depth, excess_ns, excess_ns / (seen->others + 1),
			     now_ns);
	if (depth->chance.row < 2 ||
	    fgio_chance_explains(&depth->chance, share, CHANCE_CERTAIN) ||
	    is_before_raise(depth, seen->took_ns, now_ns))
		return;
	depth->interval.found_ns += found_ns;
	depth->interval.wrote_late |= seen->kind >= FGIO_KIND_SIZES;
	cross(depth, excess_ns, now_ns);
}

/*
 * Work that non-critical writes left in the drive's cache shows in flushes.
 * Twice the base latency is allowed: with an empty cache nothing would be
 * written.
 */
static void learn_flush(struct fgio_depth *depth,
			const struct fgio_sample *seen, u64 now_ns)
{
	u64 known_ns = depth->base[seen->kind].known_ns;
	u64 excess_ns = beyond(seen->took_ns, FLUSH_LATE_FACTOR * known_ns);

	if (!known_ns)
		return;
	/* A flush of a volume is late as often as any other of its I/Os. */
	if (seen->quiet) {
		fgio_chance_learn(&depth->flush_chance, excess_ns > 0);
		return;
	}
	fgio_chance_note(&depth->flush_chance, excess_ns > 0);
	/* Each one costs a commit: none is waited for without need. */
	if (fgio_chance_explains(&depth->flush_chance,
				 depth->flush_chance.share, CHANCE_CERTAIN) ||
	    is_before_raise(depth, seen->took_ns, now_ns))
		return;
	depth->interval.found_ns += excess_ns;
	depth->interval.flushed = true;
	if (depth->phase != FGIO_DEPTH_SETTLED)
		cross(depth, excess_ns, now_ns);
}

/*
 * Writes do not notice work in the cache; a cost from flushes is at least that.
 */
static void learn_cache(struct fgio_depth *depth, u64 now_ns)
{
	u64 cost = fgio_load(&depth->cache_cost);

	if (!cost)
		return;
	fgio_store(&depth->cache_cost, 0);
	if (!fgio_cost_raise_to(&depth->cost, cost))
		return;
	depth->raised_ns = now_ns;
	depth->phase = FGIO_DEPTH_SETTLED;
}

static void note_noncritical(struct fgio_depth *depth, u64 took_ns)
{
	depth->interval.longest_ns =
		larger(depth->interval.longest_ns, took_ns);
	fgio_saturation_note_other(&depth->saturation, took_ns);
}

/*
 * A background read in order does not wait for an arm that is there already. A
 * critical one does: the background's moved it.
 */
static void learn_arms(struct fgio_depth *depth, const struct fgio_sample *seen,
		       u64 known_ns)
{
	if (!depth->rotates || seen->kind >= FGIO_KIND_SIZES)
		return;
	if (seen->beside || (seen->quiet && (seen->far || seen->critical)))
		fgio_arms_note(&depth->arms, seen->beside, seen->took_ns,
			       known_ns);
}

static void learn_sample(struct fgio_depth *depth,
			 const struct fgio_sample *seen, u64 now_ns)
{
	struct fgio_base_latency *base = &depth->base[seen->kind];
	u64 slack_ns;

	depth->interval.measured++;
	if (seen->quiet)
		fgio_base_latency_learn(base, seen->took_ns);
	if (seen->far)
		fgio_rotation_done(&depth->rotation,
				   fgio_kind_read_bytes(seen->kind),
				   seen->took_ns);
	if (seen->kind >= FGIO_KIND_FLUSH) {
		depth->interval.told = true;
		learn_flush(depth, seen, now_ns);
		return;
	}
	if (seen->critical)
		fgio_saturation_note(&depth->saturation, seen->kind,
				     seen->took_ns, now_ns);
	else
		note_noncritical(depth, seen->took_ns);
	if (seen->critical)
		depth->blind = depth->rotates && !base->known_ns;
	if (!base->known_ns)
		return;
	learn_arms(depth, seen, base->known_ns);
	slack_ns = fgio_base_latency_slack_ns(base);
	if (seen->quiet)
		fgio_chance_learn(&depth->chance,
				  seen->took_ns > base->known_ns + slack_ns);
	if (seen->critical)
		learn_critical(depth, seen, base->known_ns, slack_ns, now_ns);
	else
		learn_noncritical(depth, seen, base->known_ns, slack_ns,
				  now_ns);
}

/* ---- the service cost ---- */

/*
 * Work that critical I/O met may have been hidden from the others, which were
 * held back. After the race, the cost is that of what the drive did.
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

static void raise_cost(struct fgio_depth *depth, u64 length_ns, u64 now_ns)
{
	const struct fgio_cost_met met = {
		.length_ns = length_ns,
		.found_ns = larger(depth->interval.found_ns,
				   found_by_critical(depth, length_ns)),
		.hidden_ns = HIDDEN_NS + HIDDEN_REQUESTS * depth->work_ns,
		.rotates = depth->rotates,
	};

	fgio_cost_raise(&depth->cost, &met);
	depth->raised_ns = now_ns;
	depth->phase = FGIO_DEPTH_SETTLED;
}

/*
 * The race takes a dozen intervals, and a batch may be over before it is. On a
 * disk, and where flushes find what writes left in a cache, short ones have
 * nothing to tell.
 */
static bool takes_short_steps(const struct fgio_depth *depth, u64 now_ns)
{
	return depth->phase == FGIO_DEPTH_RACES && !depth->rotates &&
	       !fgio_flush_may_come(&depth->flushes, now_ns);
}

/*
 * With one in the drive at a time, no cost below what the I/Os take lets more
 * go.
 */
static bool one_takes_less(const struct fgio_depth *depth)
{
	u64 longest_ns = depth->interval.longest_ns;

	return depth->in_flight_max == 1 && longest_ns &&
	       depth->cost.per_unit > COST_LEAST &&
	       longest_ns < fgio_cost_work(&depth->cost,
					   depth->noncritical_size);
}

/*
 * Halves the cost, or doubles the in-flight limit where that is what holds
 * requests back. So the limit is met with no more in the drive than twice what
 * it takes.
 */
static void race(struct fgio_depth *depth, u64 now_ns)
{
	depth->cost.pressed++;
	/*
	 * With more of it in the drive, no critical I/O would ever be alone,
	 * and a disk's cache would be full before any is known to be late.
	 */
	if (depth->interval.crowded && depth->blind)
		return;
	if (depth->interval.crowded)
		depth->in_flight_max =
			(u32)smaller(2ULL * depth->in_flight_max,
				     RACE_IN_FLIGHT_MOST);
	else
		do
			fgio_cost_halve(&depth->cost, now_ns);
		while (takes_short_steps(depth, now_ns) && one_takes_less(depth));
}

static void lower_cost(struct fgio_depth *depth, u64 now_ns)
{
	if (depth->phase == FGIO_DEPTH_RACES)
		race(depth, now_ns);
	else
		fgio_cost_lower(&depth->cost, depth->rotates);
}

static void cut_tolerance(struct fgio_depth *depth)
{
	u32 less = depth->tolerance - depth->tolerance / TOLERANCE_STEP;

	less = (u32)larger(less, TOLERANCE_LEAST);
	if (!depth->was_harmed)
		depth->tolerance_max = less;
	depth->tolerance = less;
}

/* Where critical I/O does not suffer, the others may wait for each other. */
static bool raise_tolerance(struct fgio_depth *depth)
{
	if (depth->interval.judged < 2 ||
	    depth->tolerance >= depth->tolerance_max)
		return false;
	depth->interval.judged = 0;
	depth->tolerance += depth->tolerance / TOLERANCE_STEP + 1;
	return true;
}

static void raise_tolerance_max(struct fgio_depth *depth)
{
	u32 max = depth->tolerance_max;

	max += max / TOLERANCE_MOST_STEP + 1;

	if (++depth->intervals % TOLERANCE_MOST_INTERVALS == 0)
		depth->tolerance_max = (u32)smaller(max, TOLERANCE_MOST);
}

/*
 * Whether a lower cost would help. A request held back for a moment in a burst
 * goes later in the interval all the same, and shows nothing of the drive.
 */
static bool is_pressed(const struct fgio_depth *depth, u64 length_ns)
{
	const struct fgio_depth_interval *interval = &depth->interval;
	u64 work_ns = fgio_cost_work_sent(&depth->cost);

	if (depth->phase != FGIO_DEPTH_SETTLED && interval->crowded)
		return true;
	return interval->held_back && work_ns >= length_ns / PRESSED_SHARE;
}

/*
 * Where a disk is flushed, only a flush shows what a lower cost leaves in the
 * cache.
 */
static bool is_watched(const struct fgio_depth *depth, u64 now_ns)
{
	return depth->phase != FGIO_DEPTH_SETTLED || depth->interval.told ||
	       !fgio_depth_flush_may_come(depth, now_ns);
}

/* Rises fast and falls slowly: occasional delays of a drive stay usual. */
static void learn_usual(struct fgio_depth *depth)
{
	u32 surprise = depth->surprise, usual = depth->usual;

	if (surprise > usual)
		depth->usual += (surprise - usual) / USUAL_RISE_STEP;
	else
		depth->usual -= (usual - surprise) / USUAL_FALL_STEP;
}

static void settle(struct fgio_depth *depth)
{
	depth->phase = FGIO_DEPTH_SETTLED;
	fgio_cost_settle(&depth->cost);
}

/*
 * A disk's full cache delays critical writes next: tolerate nothing there. Reads
 * that wait for one of several arms fill no cache.
 */
static bool is_tolerated(struct fgio_depth *depth)
{
	if (depth->rotates &&
	    (!depth->arms.several || depth->interval.wrote_late))
		return false;
	return !depth->interval.flushed && raise_tolerance(depth);
}

/*
 * Tails widen what counts as on time, so that background I/Os may wait for each
 * other unnoticed. Where all of them go and critical I/O is harmed far more than
 * by chance, the limit is behind.
 */
static bool is_race_lost(const struct fgio_depth *depth, u64 length_ns)
{
	return !depth->rotates && !is_pressed(depth, length_ns) &&
	       depth->surprise > HARM_LOST + depth->harm_alone;
}

static void adapt(struct fgio_depth *depth, bool found, bool harmed, u64 now_ns)
{
	u64 length_ns = now_ns - depth->interval.begin_ns;

	if (found && (harmed || !is_tolerated(depth)))
		raise_cost(depth, length_ns, now_ns);
	else if (depth->phase == FGIO_DEPTH_RACES && is_race_lost(depth, length_ns))
		brake(depth, now_ns);
	else if (!found && depth->phase == FGIO_DEPTH_BRAKES)
		settle(depth);
	else if (!found && is_pressed(depth, length_ns) &&
		 is_watched(depth, now_ns))
		lower_cost(depth, now_ns);
}

static void learn_rotation(struct fgio_depth *depth, u64 length_ns)
{
	bool rotates = fgio_rotation_judge(&depth->rotation, length_ns);

	if (rotates != depth->rotates)
		fgio_store(&depth->rotates, rotates);
}

/*
 * Whether nearly all of the interval had demand for all that the drive takes.
 */
static bool was_wanted(const struct fgio_depth *depth, u64 length_ns)
{
	return depth->phase == FGIO_DEPTH_SETTLED &&
	       depth->interval.held_back &&
	       depth->interval.idle_ns <= length_ns / IDLE_SHARE;
}

static void learn_saturated(struct fgio_depth *depth, u64 length_ns)
{
	bool on = fgio_saturation_is_on(&depth->saturation);

	fgio_store(&depth->saturated_ns,
		   on ? depth->saturated_ns + length_ns : 0);
}

/* The most sectors that the drive does in @takes_ns at the learnt cost. */
static u32 longest_within(const struct fgio_depth *depth, u64 takes_ns)
{
	u32 sectors = LONGEST_SECTORS;

	while (sectors > 1 &&
	       fgio_cost_work(&depth->cost, fgio_depth_size(1, sectors)) >
		       takes_ns)
		sectors /= 2;
	return sectors;
}

static void set_longest(struct fgio_depth *depth, u32 longest)
{
	depth->longer_ns = 0;
	fgio_store(&depth->longest, longest);
}

/*
 * A drive's credits and caches take anything for a while: pieces get longer only
 * once the cost has allowed it through SPLIT_LONGER_NS of demand for all that the
 * drive takes. The cost moves about the drive's limit: they get shorter only
 * where it is well beyond.
 */
static void learn_longest(struct fgio_depth *depth, u64 length_ns, bool wanted)
{
	u32 most, kept;

	if (depth->phase != FGIO_DEPTH_SETTLED || depth->recent)
		return;
	most = longest_within(depth, SPLIT_TAKES_NS +
					     SPLIT_TAKES_NS / SPLIT_LONGER_SHARE);
	kept = longest_within(depth, SPLIT_TAKES_NS +
					     SPLIT_TAKES_NS / SPLIT_KEPT_SHARE);
	if (kept < depth->longest) {
		set_longest(depth, kept);
	} else if (most <= depth->longest) {
		depth->longer_ns = 0;
	} else if (!wanted) {
		/* A drive's credits may take the whole of a short burst. */
		depth->longer_ns /= 2;
	} else {
		depth->longer = depth->longer_ns ?
					(u32)smaller(depth->longer, most) :
					most;
		depth->longer_ns += length_ns;
		if (depth->longer_ns >= SPLIT_LONGER_NS)
			set_longest(depth, depth->longer);
	}
}

/* If the limit is not as known, the base latencies may not be either. */
static void doubt(struct fgio_depth *depth)
{
	if (depth->interval.harmed || depth->interval.flushed ||
	    fgio_cost_is_far_below_limit(&depth->cost))
		depth->window_ns = WINDOW_FIRST_NS;
}

void fgio_depth_begin_interval(struct fgio_depth *depth, u64 now_ns)
{
	fgio_cost_begin(&depth->cost, now_ns);
	depth->interval = (struct fgio_depth_interval){
		.begin_ns = now_ns,
		.judged = depth->interval.judged,
	};
}

static void end_interval(struct fgio_depth *depth, u64 now_ns)
{
	u64 length_ns = now_ns - depth->interval.begin_ns;
	bool settled = depth->phase == FGIO_DEPTH_SETTLED;
	bool wanted = was_wanted(depth, length_ns);
	u64 found_least_ns =
		length_ns / (settled ? FOUND_SHARE : FOUND_SHARE_FIRST);
	bool found = depth->interval.harmed ||
		     depth->interval.found_ns > found_least_ns;
	bool harmed = depth->interval.harmed ||
		      depth->harm > HARM + depth->harm_alone;

	if (harmed)
		cut_tolerance(depth);
	else
		raise_tolerance_max(depth);
	depth->was_harmed = harmed;
	learn_usual(depth);
	learn_rotation(depth, length_ns);
	learn_saturated(depth, length_ns);
	/*
	 * Requests dispatched by an in-flight limit show nothing of the cost.
	 */
	if (fgio_saturation_is_on(&depth->saturation)) {
		fgio_depth_begin_interval(depth, now_ns);
		return;
	}
	fgio_cost_count(&depth->cost, length_ns, wanted, now_ns);
	adapt(depth, found, harmed, now_ns);
	learn_longest(depth, length_ns, wanted);
	doubt(depth);
	fgio_depth_begin_interval(depth, now_ns);
}

/* ---- entry points ---- */

static void turn_window(struct fgio_depth *depth, u64 now_ns)
{
	depth->window_begin_ns = now_ns;
	depth->window_ns = larger(WINDOW_FIRST_NS,
				  smaller(2 * depth->window_ns,
					  WINDOW_MOST_NS));
	for (u32 i = 0; i < FGIO_KINDS; i++)
		depth->base[i].fresh = 0;
}

static u64 interval_ns(const struct fgio_depth *depth, u64 now_ns)
{
	u64 length_ns = INTERVAL_NS +
			INTERVAL_REQUESTS *
				smaller(depth->work_ns, REQUEST_MOST_NS);

	if (takes_short_steps(depth, now_ns))
		length_ns /= RACE_INTERVAL_SHARE;
	return length_ns;
}

void fgio_depth_learn(struct fgio_depth *depth, u64 now_ns)
{
	u64 length_ns = interval_ns(depth, now_ns);
	struct fgio_sample seen;
	u32 i;

	depth->learnt_ns = now_ns;
	/* Bounded: completions may come as fast as they are taken. */
	for (i = 0; i < FGIO_SAMPLES &&
		    fgio_samples_take(&depth->samples, &seen);
	     i++)
		learn_sample(depth, &seen, now_ns);
	fgio_saturation_turn(&depth->saturation,
			     fgio_load(&depth->quiet_since_ns), now_ns);
	learn_cache(depth, now_ns);
	if (now_ns >= depth->window_begin_ns + depth->window_ns)
		turn_window(depth, now_ns);
	if (beyond(now_ns, depth->interval.begin_ns) >= length_ns &&
	    depth->interval.measured >= INTERVAL_SAMPLES)
		end_interval(depth, now_ns);
}
