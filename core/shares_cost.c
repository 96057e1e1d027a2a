// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "shares_cost.h"

/* What each size has more of the last. */
#define SIZE_SHIFT 2
/* As depth_constants.h. */
#define OVERHEAD_SECTORS 64U
/* Fractions are in 1 / ONE. */
#define ONE 256U
#define RATIO_ONE FGIO_DITHER_ONE
#define GUESS_ONE 65536ULL

#if FGIO_DITHER_NODES - FGIO_SHARE_KINDS * FGIO_SHARE_SIZES
#error the dither has a node for each size of each kind
#endif

static u32 size_of_node(u32 node)
{
	return FGIO_SHARE_LEAST_SECTORS << SIZE_SHIFT * node;
}

static u32 first_guess_ns(u32 node)
{
	return FGIO_SHARE_FIRST_NS * (OVERHEAD_SECTORS + size_of_node(node)) /
	       (OVERHEAD_SECTORS + FGIO_SHARE_LEAST_SECTORS);
}

/* Of an array with a row for each kind. */
static u32 number_of(u32 kind, u32 node)
{
	return kind * FGIO_SHARE_SIZES + node;
}

/* Costs, or the dither, have changed. At most one of the two has a pattern. */
static void charge_anew(struct fgio_share_cost *cost)
{
	const struct fgio_dither *dither = cost->dither.now.dearer ?
						   &cost->dither :
						   &cost->span.dither;

	for (u32 kind = 0; kind < FGIO_SHARE_KINDS; kind++)
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++)
			cost->charged_ns[kind][node] = (u32)smaller(
				(u64)cost->node_ns[kind][node] *
					fgio_dither_charge(dither,
							   number_of(kind,
								     node)) /
					FGIO_DITHER_ONE,
				FGIO_SHARE_COST_MOST_NS);
}

void fgio_share_cost_init(struct fgio_share_cost *cost)
{
	*cost = (struct fgio_share_cost){ 0 };
	fgio_dither_init(&cost->dither);
	fgio_share_span_init(&cost->span);
	for (u32 kind = 0; kind < FGIO_SHARE_KINDS; kind++)
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++)
			cost->node_ns[kind][node] = first_guess_ns(node);
	charge_anew(cost);
}

/**
 * struct place - a size between two nodes
 * @node: the lower
 * @above: how far it is above, in 1 / ONE of the way to the next
 * @times: multiples of the largest node, in 1 / ONE
 */
struct place {
	u32 node;
	u32 above;
	u32 times;
};

static struct place place_of(u32 sectors)
{
	struct place place = { .times = ONE };
	u32 last = FGIO_SHARE_SIZES - 1;
	u32 lower;

	if (sectors >= size_of_node(last)) {
		sectors = (u32)smaller(sectors, 16 * size_of_node(last));
		place.node = last;
		place.times = sectors / (size_of_node(last) / ONE);
		return place;
	}
	while (sectors >= size_of_node(place.node + 1))
		place.node++;
	lower = size_of_node(place.node);
	/* The next one is four times as long. */
	place.above = (u32)beyond(sectors, lower) * ONE / (3 * lower);
	return place;
}

/* Of what I/Os of a kind cost, or are charged. */
static u64 lower_part(const u32 of[FGIO_SHARE_SIZES], struct place place)
{
	return (u64)of[place.node] * (ONE - place.above) / ONE * place.times /
	       ONE;
}

static u64 upper_part(const u32 of[FGIO_SHARE_SIZES], struct place place)
{
	return place.above ? (u64)of[place.node + 1] * place.above / ONE : 0;
}

u64 fgio_share_cost_of(const struct fgio_share_cost *cost, u8 kind,
		       u32 sectors)
{
	const u32 *node_ns = cost->node_ns[kind];
	struct place place = place_of(sectors);

	return lower_part(node_ns, place) + upper_part(node_ns, place);
}

u64 fgio_share_cost_sent_large(struct fgio_share_cost *cost, u8 kind,
			       u32 sectors)
{
	const u32 *charged_ns = cost->charged_ns[kind];
	struct place place = place_of(sectors);
	u64 lower_ns = lower_part(cost->node_ns[kind], place);
	u64 upper_ns = upper_part(cost->node_ns[kind], place);

	cost->part_ns[kind][place.node] += lower_ns;
	if (upper_ns)
		cost->part_ns[kind][place.node + 1] += upper_ns;
	cost->sum_ns += lower_ns + upper_ns;
	cost->count++;
	return lower_part(charged_ns, place) + upper_part(charged_ns, place);
}

static bool is_uniform(const struct fgio_share_cost *cost)
{
	u64 most_ns = 0;

	for (u32 kind = 0; kind < FGIO_SHARE_KINDS; kind++)
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++)
			most_ns = larger(most_ns, cost->part_ns[kind][node]);
	return cost->sum_ns - most_ns < cost->sum_ns / FGIO_SHARE_UNIFORM_SHARE;
}

/* Whether writes are more than a small part of the interval. */
static bool has_writes(const struct fgio_share_cost *cost)
{
	u64 sum_ns = 0;

	for (u8 kind = 0; kind < FGIO_SHARE_KINDS; kind++)
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++)
			if (fgio_share_kind_writes(kind))
				sum_ns += cost->part_ns[kind][node];
	return sum_ns > cost->sum_ns / FGIO_SHARE_UNIFORM_SHARE;
}

static const u64 *parts_of(const struct fgio_share_cost *cost)
{
	return &cost->part_ns[0][0];
}

/*
 * Whether a dither of the interval shows ratios, or would: it was full, of reads
 * alone, and no more was in the drive before it than was sent in it.
 */
static bool shows_ratios(const struct fgio_share_cost *cost)
{
	return !cost->slack && cost->in_drive <= cost->count &&
	       !has_writes(cost);
}

static void begin(struct fgio_share_cost *cost, u64 now_ns)
{
	cost->uniform = is_uniform(cost);
	charge_anew(cost);
	for (u32 kind = 0; kind < FGIO_SHARE_KINDS; kind++) {
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++) {
			if (cost->has_cycles)
				cost->cycle_ns[kind][node] +=
					cost->part_ns[kind][node];
			cost->part_ns[kind][node] = 0;
		}
	}
	cost->begin_ns = now_ns;
	cost->sum_ns = 0;
	cost->alone_ns = 0;
	cost->idle_ns = 0;
	cost->count = 0;
	cost->slack = false;
	cost->limited = false;
	cost->beside = false;
}

void fgio_share_cost_begin(struct fgio_share_cost *cost, u64 now_ns)
{
	fgio_dither_end(&cost->dither);
	begin(cost, now_ns);
}

/* After one that shows nothing, the next one is expected to show nothing either. */
void fgio_share_cost_begin_dithered(struct fgio_share_cost *cost, u64 now_ns)
{
	if (!cost->corrected || !shows_ratios(cost)) {
		fgio_share_cost_begin(cost, now_ns);
		return;
	}
	fgio_dither_begin(&cost->dither, parts_of(cost));
	begin(cost, now_ns);
}

void fgio_share_cost_begin_cycle(struct fgio_share_cost *cost, bool cycles,
				 u64 now_ns)
{
	if (cost->has_cycles != cycles) {
		fgio_share_span_end(&cost->span);
		cost->mean_ns = 0;
	}
	cost->has_cycles = cycles;
	fgio_share_cost_begin(cost, now_ns);
	for (u32 kind = 0; kind < FGIO_SHARE_KINDS; kind++)
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++)
			cost->cycle_ns[kind][node] = 0;
}

void fgio_share_cost_end_dither(struct fgio_share_cost *cost)
{
	fgio_dither_end(&cost->dither);
	fgio_share_span_end(&cost->span);
	charge_anew(cost);
}

/* Sum of the squares of the parts, each in 1 / RATIO_ONE of the whole. */
static u64 squares_of(const struct fgio_share_cost *cost)
{
	u64 squares = 0;

	for (u32 kind = 0; kind < FGIO_SHARE_KINDS; kind++) {
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++) {
			u64 part = RATIO_ONE * cost->part_ns[kind][node] /
				   cost->sum_ns;

			squares += part * part;
		}
	}
	return squares;
}

static u32 bounded(u64 cost_ns)
{
	return (u32)larger(FGIO_SHARE_COST_LEAST_NS,
			   smaller(cost_ns, FGIO_SHARE_COST_MOST_NS));
}

static u32 bit_of(u32 kind, u32 node)
{
	return 1U << number_of(kind, node);
}

/* All costs become @ratio, in 1 / RATIO_ONE. */
static void scale_all(struct fgio_share_cost *cost, u64 ratio)
{
	for (u32 kind = 0; kind < FGIO_SHARE_KINDS; kind++)
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++)
			cost->node_ns[kind][node] =
				bounded(cost->node_ns[kind][node] * ratio /
					RATIO_ONE);
}

/*
 * Costs of which nothing is known are the first guess, times what the known ones
 * are of theirs in the mean; but not those that an interval has added up.
 */
static void guess_unknown(struct fgio_share_cost *cost)
{
	u32 learnt = cost->known | cost->scaled;
	u64 sum = 0, count = 0;

	for (u32 kind = 0; kind < FGIO_SHARE_KINDS; kind++) {
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++) {
			if (!(cost->known & bit_of(kind, node)))
				continue;
			sum += GUESS_ONE * cost->node_ns[kind][node] /
			       first_guess_ns(node);
			count++;
		}
	}
	for (u32 kind = 0; count && kind < FGIO_SHARE_KINDS; kind++)
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++)
			if (!(learnt & bit_of(kind, node)))
				cost->node_ns[kind][node] = bounded(
					first_guess_ns(node) * (sum / count) /
					GUESS_ONE);
}

/* Beside writes, reads are not dearer than probes showed. */
static void bound_reads(struct fgio_share_cost *cost)
{
	for (u8 kind = 0; kind < FGIO_SHARE_KINDS; kind++) {
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++) {
			u32 *node_ns = &cost->node_ns[kind][node];
			u32 shown_ns = cost->shown_ns[kind][node];

			if (shown_ns && !fgio_share_kind_writes(kind))
				*node_ns = (u32)smaller(*node_ns, shown_ns);
		}
	}
}

/* Moves each cost by its part of @error, which is in 1 / RATIO_ONE. */
static void correct_each(struct fgio_share_cost *cost, s64 error, s64 step)
{
	s64 squares = (s64)squares_of(cost);

	for (u32 kind = 0; kind < FGIO_SHARE_KINDS; kind++) {
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++) {
			s64 part = (s64)(RATIO_ONE * cost->part_ns[kind][node] /
					 cost->sum_ns);
			s64 was = cost->node_ns[kind][node];
			s64 by = was * error * part / squares / step;

			if (part)
				cost->known |= bit_of(kind, node);
			cost->node_ns[kind][node] = bounded((u64)(was + by));
		}
	}
	if (has_writes(cost))
		bound_reads(cost);
	guess_unknown(cost);
}

u32 fgio_share_cost_nodes(const struct fgio_share_cost *cost)
{
	u32 nodes = 0;

	for (u32 kind = 0; kind < FGIO_SHARE_KINDS; kind++)
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++)
			if (cost->part_ns[kind][node] >
			    cost->sum_ns / FGIO_SHARE_UNIFORM_SHARE)
				nodes |= bit_of(kind, node);
	return nodes;
}

/*
 * What is wrong at first is the speed of the drive, and not the ratios. Return: the
 * part of the error that was corrected is one in this.
 */
static s64 correct(struct fgio_share_cost *cost, s64 error, s64 step)
{
	/* A cache cannot have taken the work. */
	bool is_sure = step <= FGIO_SHARE_STEP_FIRST;

	if (cost->corrected >= FGIO_SHARE_FIRST_INTERVALS) {
		correct_each(cost, error, step);
		return step;
	}
	/* The first guess is worth nothing beside that. */
	if (!cost->corrected++ && is_sure)
		step = 1;
	scale_all(cost, (u64)((s64)RATIO_ONE + error / step));
	if (is_sure)
		cost->scaled |= fgio_share_cost_nodes(cost);
	return step;
}

/* A probe showed that costs there are @took_ns of what @known_ns is. */
static void note_shown(struct fgio_share_cost *cost, u8 kind,
		       struct place place, u64 took_ns, u64 known_ns)
{
	took_ns += took_ns / FGIO_SHARE_SHOWN_MARGIN;
	for (u32 i = 0; i < 1U + !!place.above; i++) {
		u32 *shown_ns = &cost->shown_ns[kind][place.node + i];
		u32 now_ns = bounded(cost->node_ns[kind][place.node + i] *
				     took_ns / larger(known_ns, 1));

		*shown_ns -= *shown_ns / FGIO_SHARE_SHOWN_SPAN;
		*shown_ns += now_ns / FGIO_SHARE_SHOWN_SPAN;
		*shown_ns = (u32)larger(*shown_ns, now_ns);
	}
}

bool fgio_share_cost_shown(struct fgio_share_cost *cost, u8 kind, u32 sectors,
			   u64 took_ns, bool full)
{
	struct place place = place_of(sectors);
	u64 known_ns = fgio_share_cost_of(cost, kind, sectors);

	took_ns = smaller(took_ns, FGIO_SHARE_COST_MOST_NS);
	known_ns = smaller(known_ns, FGIO_SHARE_COST_MOST_NS);
	note_shown(cost, kind, place, took_ns, known_ns);
	if (!full && took_ns >= known_ns)
		return false;
	/* A first guess is worth nothing beside it. */
	if (cost->known & bit_of(kind, place.node))
		took_ns = known_ns - known_ns / FGIO_SHARE_STEP_SHOWN +
			  took_ns / FGIO_SHARE_STEP_SHOWN;
	for (u32 i = 0; i < 1U + !!place.above; i++) {
		u32 *node_ns = &cost->node_ns[kind][place.node + i];

		*node_ns = bounded(*node_ns * took_ns / larger(known_ns, 1));
		cost->known |= bit_of(kind, place.node + i);
	}
	guess_unknown(cost);
	charge_anew(cost);
	return true;
}

/* Of what was charged, in 1 / RATIO_ONE. @most: as a factor. */
static s64 error_of(u64 took_ns, u64 charged_ns, u64 most)
{
	u64 ratio = RATIO_ONE * took_ns / larger(charged_ns, 1);

	ratio = smaller(ratio, most * RATIO_ONE);
	ratio = larger(ratio, RATIO_ONE / most);
	return (s64)ratio - RATIO_ONE;
}

/*
 * Part of the error to correct. Where the drive was not full and costs add up to
 * more than the time, a cache may have taken the writes. Of reads it is certain
 * that they are too dear; but only beside critical I/O and on a slow drive, where
 * no probe will show it, does that count for more.
 */
static s64 step_of(const struct fgio_share_cost *cost, bool low, bool first)
{
	if (!cost->slack || low)
		return first ? FGIO_SHARE_STEP_FIRST : FGIO_SHARE_STEP;
	if ((cost->beside || cost->count < FGIO_SHARE_INTERVAL_IOS) &&
	    !has_writes(cost))
		return FGIO_SHARE_STEP;
	return FGIO_SHARE_STEP_SLACK;
}

/*
 * Cost of what the drive did in the interval: it ended with I/Os of this mix in the
 * drive, and began with as many of the last one's.
 */
static u64 done_in(struct fgio_share_cost *cost)
{
	u64 mean_ns = cost->sum_ns / larger(cost->count, 1);
	u64 was_ns = cost->mean_ns ?: mean_ns;
	u64 done_ns = beyond(cost->sum_ns + cost->in_drive * was_ns,
			     cost->in_drive * mean_ns);

	cost->mean_ns = mean_ns;
	return larger(done_ns, 1);
}

static void change_by(struct fgio_share_cost *cost,
		      const s32 change[FGIO_DITHER_NODES])
{
	for (u32 kind = 0; kind < FGIO_SHARE_KINDS; kind++) {
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++) {
			u32 *node_ns = &cost->node_ns[kind][node];
			s64 by = (s64)*node_ns * change[number_of(kind, node)] /
				 FGIO_DITHER_CHANGE_ONE;

			/* That is no guess any more. */
			if (by)
				cost->scaled |= bit_of(kind, node);
			*node_ns = bounded((u64)(*node_ns + by));
		}
	}
}

/* @part_ns: what each node has in an interval or a cycle. */
static void learn_by_span(struct fgio_share_cost *cost, const u64 *part_ns,
			  u64 took_ns, u64 now_ns)
{
	const struct fgio_share_passed passed = {
		.cost_ns = &cost->node_ns[0][0],
		.part_ns = part_ns,
		.took_ns = took_ns,
		.cycle = cost->has_cycles,
	};
	s32 change[FGIO_DITHER_NODES];

	if (fgio_share_span_add(&cost->span, &passed, now_ns, change))
		change_by(cost, change);
}

/* Of an interval in which not all were reads, or which was not full. */
static void learn_beside_writes(struct fgio_share_cost *cost, u64 length_ns)
{
	if (cost->slack || !cost->corrected || !has_writes(cost) ||
	    cost->in_drive > cost->count) {
		fgio_share_span_end(&cost->span);
		cost->mean_ns = 0;
		return;
	}
	learn_by_span(cost, parts_of(cost),
		      length_ns * cost->sum_ns / done_in(cost),
		      cost->begin_ns + length_ns);
}

/* What the dither of an interval shows, if it does; cycles are learnt from as such. */
static void learn_ratios(struct fgio_share_cost *cost, u64 length_ns)
{
	s32 change[FGIO_DITHER_NODES];
	s64 error;

	if (cost->has_cycles)
		return;
	if (!shows_ratios(cost)) {
		fgio_dither_end(&cost->dither);
		learn_beside_writes(cost, length_ns);
		return;
	}
	fgio_share_span_end(&cost->span);
	error = error_of(length_ns, done_in(cost), FGIO_SHARE_ERROR_FIRST);
	if (fgio_dither_is_far_off(error))
		fgio_dither_disturbed(&cost->dither);
	else if (fgio_dither_learn(&cost->dither, parts_of(cost), error,
				   length_ns, change))
		change_by(cost, change);
}

bool fgio_share_cost_learn(struct fgio_share_cost *cost, u64 now_ns)
{
	u64 length_ns = beyond(now_ns, cost->begin_ns);
	u64 busy_ns = beyond(length_ns, cost->idle_ns);
	bool first = cost->intervals < FGIO_SHARE_FIRST_INTERVALS;
	bool low = cost->slack && !cost->limited && cost->alone_ns < busy_ns;
	u64 most = cost->corrected ? FGIO_SHARE_ERROR_MOST :
				     FGIO_SHARE_ERROR_FIRST;
	s64 error = low ? error_of(busy_ns, cost->alone_ns, most) :
			  error_of(length_ns, cost->sum_ns, most);

	/* Else the large first steps would not end where no interval is full. */
	if (!cost->slack || (low && cost->beside))
		cost->intervals++;
	if (!cost->begin_ns || !cost->sum_ns)
		return false;
	learn_ratios(cost, length_ns);
	if (cost->slack && !low && error >= 0)
		return false;
	fgio_dither_corrected(&cost->dither,
			      correct(cost, error, step_of(cost, low, first)));
	return true;
}

/* What the writes of each node cost in the cycle. Return: all of them. */
static u64 writes_of_cycle(const struct fgio_share_cost *cost,
			   u64 part_ns[FGIO_DITHER_NODES])
{
	u64 sum_ns = 0;

	for (u8 kind = 0; kind < FGIO_SHARE_KINDS; kind++) {
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++) {
			u64 *part = &part_ns[number_of(kind, node)];

			*part = 0;
			if (fgio_share_kind_writes(kind))
				*part = cost->cycle_ns[kind][node] +
					cost->part_ns[kind][node];
			sum_ns += *part;
		}
	}
	return sum_ns;
}

void fgio_share_cost_learn_writes(struct fgio_share_cost *cost, u64 took_ns,
				  u64 now_ns, u32 *scale)
{
	u64 part_ns[FGIO_DITHER_NODES];
	u64 cost_ns = writes_of_cycle(cost, part_ns);
	s64 error = error_of(took_ns, cost_ns, FGIO_SHARE_ERROR_MOST);
	u32 before = *scale;

	if (!cost_ns)
		return;
	learn_by_span(cost, part_ns, took_ns, now_ns);
	*scale = (u32)((s64)before +
		       (s64)before * error / RATIO_ONE / FGIO_SHARE_STEP_CYCLE);
	*scale = (u32)larger(FGIO_SHARE_SCALE_ONE / FGIO_SHARE_CHEAPER_MOST,
			     smaller(*scale, FGIO_SHARE_SCALE_ONE *
						     FGIO_SHARE_DEARER_MOST));
	for (u8 kind = 0; kind < FGIO_SHARE_KINDS; kind++) {
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++) {
			u64 was = cost->node_ns[kind][node];

			if (fgio_share_kind_writes(kind))
				cost->node_ns[kind][node] =
					bounded(was * *scale / before);
		}
	}
	charge_anew(cost);
}
