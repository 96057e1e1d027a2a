// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "shares_dither.h"

#define ONE FGIO_DITHER_ONE
#define SECOND_NS 1000000000ULL
#define ALL ((1U << FGIO_DITHER_NODES) - 1)

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
 * the patterns or more. Each pattern is followed by its opposite.
 */
static u32 next_dearer(struct fgio_dither *dither, u32 large)
{
	u32 patterns = (1U << width_of(count_of(large))) - 1;
	u32 pattern = 1 + dither->turn / 2 % patterns;
	u32 number = 0, dearer = 0;

	for (u32 node = 0; node < FGIO_DITHER_NODES; node++) {
		if (!(large & 1U << node))
			continue;
		if (count_of(number++ & pattern) % 2)
			dearer |= 1U << node;
	}
	return dither->turn++ % 2 ? large & ~dearer : dearer;
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

void fgio_dither_begin(struct fgio_dither *dither,
		       const u64 *part_ns, bool may)
{
	u32 large = large_of(part_ns);

	if (large & ~dither->seen)
		dither->unsure = FGIO_DITHER_UNSURE_ONE;
	dither->seen |= large;
	dither->dearer = 0;
	if (!may || dither->pause || count_of(large) < 2)
		return;
	dither->dearer = next_dearer(dither, large);
	dither->by = strength_of(dither);
}

u32 fgio_dither_charge(const struct fgio_dither *dither, u32 node)
{
	if (!dither->dearer)
		return ONE;
	return dither->dearer & 1U << node ? ONE + dither->by :
					     ONE * ONE / (ONE + dither->by);
}

/* Between intervals of one pattern there is nothing but noise, of both. */
static void learn_noise(struct fgio_dither *dither, s64 error)
{
	s64 by = error - dither->error[1];

	dither->noise -= dither->noise / FGIO_DITHER_NOISE_SPAN;
	dither->noise += (u64)(by * by) / 2 / FGIO_DITHER_NOISE_SPAN;
}

void fgio_dither_disturbed(struct fgio_dither *dither)
{
	fgio_dither_skip(dither);
	dither->pause = FGIO_DITHER_PAUSE;
}

/* The part of those that are not dearer, if none were. @part: as they are. */
static u64 undithered(u64 part, u32 by)
{
	u64 cheaper = part * ONE / (ONE + by);
	u64 dearer = (ONE - part) * (ONE + by) / ONE;

	return ONE * cheaper / larger(cheaper + dearer, 1);
}

/* How much what was learnt counts. @differs: by which part the two do. */
static u64 gain_of(const struct fgio_dither *dither, u64 differs)
{
	u64 noise = 2 * larger(dither->noise, FGIO_DITHER_NOISE_LEAST) *
		    FGIO_DITHER_UNSURE_ONE / (differs * differs);

	return ONE * dither->unsure / (dither->unsure + noise);
}

static void become_surer(struct fgio_dither *dither, u64 gain)
{
	dither->unsure -= dither->unsure * smaller(gain, ONE / FGIO_DITHER_SURER) / ONE;
}

/*
 * The last interval and this one are each other's opposite. @by: the part by which
 * those that are cheaper now cost too little, compared with the others.
 */
static bool compare(struct fgio_dither *dither,
		    const u64 *part_ns, s64 error,
		    s32 change[FGIO_DITHER_NODES])
{
	u64 cheaper_ns = sum_of(part_ns, ALL & ~dither->dearer);
	u64 now = ONE * cheaper_ns / larger(sum_of(part_ns, ALL), 1);
	u64 mean = undithered(now, dither->by);
	u64 differs = beyond(now, undithered(mean, dither->by));
	s64 by, gain;

	if (differs < FGIO_DITHER_LEAST / 2)
		return false;
	by = (error - dither->error[0]) * (s64)ONE / (s64)differs;
	gain = (s64)gain_of(dither, differs);
	/* Far off, it says no more than that. */
	if (by < FGIO_DITHER_STEP_UP / 2 && by > -FGIO_DITHER_STEP_DOWN / 2)
		become_surer(dither, (u64)gain);
	by = by > FGIO_DITHER_STEP_UP ? FGIO_DITHER_STEP_UP : by;
	by = by < -FGIO_DITHER_STEP_DOWN ? -FGIO_DITHER_STEP_DOWN : by;
	by = by * gain / (s64)ONE;
	for (u32 node = 0; node < FGIO_DITHER_NODES; node++)
		change[node] = (s32)(dither->dearer & 1U << node ?
					     -by * (s64)mean / (s64)ONE :
					     by * (s64)(ONE - mean) / (s64)ONE);
	return true;
}

/* Drives change. */
static void become_less_sure(struct fgio_dither *dither, u64 length_ns)
{
	u64 drift = FGIO_DITHER_DRIFT * smaller(length_ns, SECOND_NS) /
		    SECOND_NS;

	dither->unsure = smaller(dither->unsure + drift,
				 FGIO_DITHER_UNSURE_ONE);
}

bool fgio_dither_learn(struct fgio_dither *dither,
		       const u64 *part_ns, s64 error, u64 length_ns,
		       s32 change[FGIO_DITHER_NODES])
{
	bool opposite = dither->before && dither->dearer &&
			!(dither->before & dither->dearer);
	bool learnt = false;

	if (opposite) {
		learn_noise(dither, error);
		learnt = compare(dither, part_ns, error, change);
		become_less_sure(dither, length_ns);
	}
	dither->pause -= !!dither->pause;
	dither->before = dither->dearer;
	dither->error[1] = dither->error[0];
	dither->error[0] = error;
	return learnt;
}

void fgio_dither_corrected(struct fgio_dither *dither, s64 step)
{
	s64 by = dither->error[0] / step;

	dither->error[0] = (dither->error[0] - by) * (s64)ONE /
			   ((s64)ONE + by);
}
