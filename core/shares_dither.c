// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "shares_dither.h"

#define ONE FGIO_DITHER_ONE
#define ALL ((1U << FGIO_DITHER_NODES) - 1)
#define SECOND_NS 1000000000ULL

void fgio_dither_init(struct fgio_dither *dither)
{
	*dither = (struct fgio_dither){
		.unsure = FGIO_DITHER_UNSURE_ONE,
		.noise = FGIO_DITHER_NOISE_FIRST,
	};
}

static u64 sum_of(const u64 *part_ns, u32 nodes)
{
	u64 sum_ns = 0;

	for (u32 node = 0; node < FGIO_DITHER_NODES; node++)
		if (nodes & 1U << node)
			sum_ns += part_ns[node];
	return sum_ns;
}

/* Return: bits of the nodes that are more than a small part. */
static u32 large_of(const u64 *part_ns)
{
	u64 least_ns = sum_of(part_ns, ALL) / FGIO_DITHER_SHARE;
	u32 large = 0;

	for (u32 node = 0; node < FGIO_DITHER_NODES; node++)
		if (part_ns[node] > least_ns)
			large |= 1U << node;
	return large;
}

static u32 count_of(u32 bits)
{
	u32 count = 0;

	for (; bits; bits &= bits - 1)
		count++;
	return count;
}

/* Bits that number @count of them. */
static u32 width_of(u32 count)
{
	u32 width = 1;

	while (1U << width < count)
		width++;
	return width;
}

/*
 * Numbered, they differ in some bit: two of them are on different sides in half of
 * the patterns or more. Of four intervals, the middle two have the pattern's opposite:
 * a drive that is slower in every other one is so on both sides.
 */
static struct fgio_dither_sides next_sides(struct fgio_dither *dither,
					   u32 large)
{
	u32 patterns = (1U << width_of(count_of(large))) - 1;
	u32 pattern = 1 + dither->turn / 4 % patterns;
	u32 number = 0, dearer = 0;

	for (u32 node = 0; node < FGIO_DITHER_NODES; node++) {
		if (!(large & 1U << node))
			continue;
		if (count_of(number++ & pattern) % 2)
			dearer |= 1U << node;
	}
	if ((dither->turn++ + 1) / 2 % 2)
		dearer = large & ~dearer;
	return (struct fgio_dither_sides){
		.dearer = dearer,
		.cheaper = large & ~dearer,
	};
}

static u32 root_of(u64 square)
{
	u32 root = 0;

	for (u32 bit = 1U << 15; bit; bit /= 2)
		if ((u64)(root + bit) * (root + bit) <= square)
			root += bit;
	return root;
}

/* As much as the ratios may be wrong. */
static u32 strength_of(const struct fgio_dither *dither)
{
	u32 by = FGIO_DITHER_MOST * root_of(dither->unsure) /
		 root_of(FGIO_DITHER_UNSURE_ONE);

	return (u32)larger(by, FGIO_DITHER_LEAST);
}

void fgio_dither_begin(struct fgio_dither *dither, const u64 *part_ns)
{
	u32 large = large_of(part_ns);

	dither->now = (struct fgio_dither_sides){ 0 };
	if (dither->pause || count_of(large) < 2)
		return;
	if (large & ~dither->seen)
		dither->unsure = FGIO_DITHER_UNSURE_ONE;
	dither->seen |= large;
	dither->now = next_sides(dither, large);
	dither->by = strength_of(dither);
}

u32 fgio_dither_charge(const struct fgio_dither *dither, u32 node)
{
	if (dither->now.dearer & 1U << node)
		return ONE + dither->by;
	if (dither->now.cheaper & 1U << node)
		return ONE * ONE / (ONE + dither->by);
	return ONE;
}

static bool are_same(const struct fgio_dither_sides *one,
		     const struct fgio_dither_sides *other)
{
	return one->dearer && one->dearer == other->dearer &&
	       one->cheaper == other->cheaper;
}

static bool are_opposite(const struct fgio_dither_sides *one,
			 const struct fgio_dither_sides *other)
{
	return one->dearer && one->dearer == other->cheaper &&
	       one->cheaper == other->dearer;
}

/* Between two of one pattern there is nothing but noise, of both. */
static void learn_noise(struct fgio_dither *dither, s64 error)
{
	s64 by = error - dither->error;

	dither->noise -= dither->noise / FGIO_DITHER_NOISE_SPAN;
	dither->noise += (u64)(by * by) / 2 / FGIO_DITHER_NOISE_SPAN;
}

/* The part of those that are cheaper, were they dearer by as much. */
static u64 undithered(u64 part, u32 by)
{
	u64 cheaper = part * ONE / (ONE + by);
	u64 dearer = (ONE - part) * (ONE + by) / ONE;

	return ONE * cheaper / larger(cheaper + dearer, 1);
}

/* How much what was learnt counts. @differs: by which part of them the two do. */
static s64 gain_of(const struct fgio_dither *dither, u64 differs)
{
	u64 noise = 2 * larger(dither->noise, FGIO_DITHER_NOISE_LEAST) *
		    FGIO_DITHER_UNSURE_ONE / (differs * differs);

	return (s64)(ONE * dither->unsure / (dither->unsure + noise));
}

static void become_surer(struct fgio_dither *dither, u64 gain)
{
	gain = smaller(gain, ONE / FGIO_DITHER_SURER);
	dither->unsure -= dither->unsure * gain / ONE;
}

/* Drives change. */
static void become_less_sure(struct fgio_dither *dither, u64 length_ns)
{
	u64 drift = FGIO_DITHER_DRIFT * smaller(length_ns, SECOND_NS) /
		    SECOND_NS;

	dither->unsure = smaller(dither->unsure + drift,
				 FGIO_DITHER_UNSURE_ONE);
}

static s64 within(s64 value, s64 least, s64 most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}

/* @by: of the costs of those that are cheaper; @mean: their part of the two sides. */
static void set_change(const struct fgio_dither *dither, s64 by, s64 mean,
		       s32 change[FGIO_DITHER_NODES])
{
	s64 unit = FGIO_DITHER_CHANGE_ONE / (s64)ONE;
	s64 up = FGIO_DITHER_STEP_UP * unit;
	s64 down = -FGIO_DITHER_STEP_DOWN * unit;

	for (u32 node = 0; node < FGIO_DITHER_NODES; node++) {
		change[node] = 0;
		if (dither->now.cheaper & 1U << node)
			change[node] = (s32)within(by * ((s64)ONE - mean) /
							   (s64)ONE,
						   down, up);
		else if (dither->now.dearer & 1U << node)
			change[node] = (s32)within(-by * mean / (s64)ONE, down,
						   up);
	}
}

/*
 * The last interval and this one are each other's opposite: by which part the costs
 * of those that are cheaper now are too low, compared with the others.
 */
static bool compare(struct fgio_dither *dither, const u64 *part_ns, s64 error,
		    s32 change[FGIO_DITHER_NODES])
{
	u64 cheaper_ns = sum_of(part_ns, dither->now.cheaper);
	u64 both_ns = cheaper_ns + sum_of(part_ns, dither->now.dearer);
	u64 now = ONE * cheaper_ns / larger(both_ns, 1);
	u64 mean = undithered(now, dither->by);
	u64 share = ONE * both_ns / larger(sum_of(part_ns, ALL), 1);
	u64 differs = beyond(now, undithered(mean, dither->by)) * share / ONE;
	s64 by, gain;

	if (differs < FGIO_DITHER_LEAST / 4)
		return false;
	by = (error - dither->error) * (s64)ONE / (s64)differs;
	gain = gain_of(dither, differs);
	/* Far off, it says no more than that. */
	if (by < FGIO_DITHER_STEP_UP / 2 && by > -FGIO_DITHER_STEP_DOWN / 2)
		become_surer(dither, (u64)gain);
	by = within(by, -FGIO_DITHER_STEP_DOWN, FGIO_DITHER_STEP_UP) * gain;
	by = by * FGIO_DITHER_CHANGE_ONE / ((s64)ONE * (s64)ONE);
	set_change(dither, by, (s64)mean, change);
	return true;
}

/* That much more does the interval cost, once costs are changed. */
static s64 changed_by(const u64 *part_ns, const s32 change[FGIO_DITHER_NODES])
{
	u64 sum_ns = larger(sum_of(part_ns, ALL), 1);
	s64 by = 0;

	for (u32 node = 0; node < FGIO_DITHER_NODES; node++)
		by += (s64)(ONE * part_ns[node] / sum_ns) * change[node];
	return by / FGIO_DITHER_CHANGE_ONE;
}

bool fgio_dither_learn(struct fgio_dither *dither, const u64 *part_ns,
		       s64 error, u64 length_ns,
		       s32 change[FGIO_DITHER_NODES])
{
	bool learnt = false;

	if (are_same(&dither->before, &dither->now))
		learn_noise(dither, error);
	if (are_opposite(&dither->before, &dither->now))
		learnt = compare(dither, part_ns, error, change);
	become_less_sure(dither, length_ns);
	dither->pause -= !!dither->pause;
	dither->before = dither->now;
	dither->error = error;
	if (learnt)
		dither->error -= changed_by(part_ns, change);
	return learnt;
}

void fgio_dither_corrected(struct fgio_dither *dither, s64 step)
{
	s64 by = dither->error / step;

	dither->error = (dither->error - by) * (s64)ONE / ((s64)ONE + by);
}

void fgio_dither_disturbed(struct fgio_dither *dither)
{
	fgio_dither_end(dither);
	dither->pause = FGIO_DITHER_PAUSE;
}
