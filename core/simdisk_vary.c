// SPDX-License-Identifier: GPL-2.0 OR MIT
/* How unevenly a drive serves: lognormal times, tails, a speed that changes. */
#include "simdisk_internal.h"

#define OCTAVES 31u	/* of the tail's probability: from 1/2 down to 2^-32 */
#define STEPS 8u	/* of equal width in each octave */
#define MOST_NS (1ull << 36)	/* 69 s: lognormal factors are below 2^27/65536 */
#define MOST_VARIED_NS (1ull << 40)

/*
 * The upper quantiles of the normal distribution in 1/65536 standard
 * deviations: entry 8 k + i belongs to the probability (1 - i / 16) / 2^(k +
 * 1). Interpolated, the error is below 0.001. Computed by Python's
 * statistics.NormalDist().inv_cdf.
 */
static const s32 quantile[OCTAVES * STEPS + 1] = {
	0, 5139, 10310, 15545, 20882, 26362, 32032, 37954,
	44203, 47482, 50884, 54428, 58140, 62048, 66191, 70616,
	75389, 77933, 80600, 83408, 86377, 89536, 92917, 96565,
	100540, 102675, 104924, 107304, 109834, 112540, 115453, 118613,
	122076, 123944, 125918, 128013, 130248, 132646, 135235, 138055,
	141156, 142834, 144610, 146500, 148519, 150691, 153042, 155608,
	158437, 159970, 161597, 163329, 165184, 167181, 169346, 171714,
	174330, 175750, 177257, 178865, 180588, 182445, 184462, 186670,
	189113, 190440, 191851, 193356, 194971, 196714, 198608, 200683,
	202983, 204233, 205563, 206982, 208507, 210153, 211943, 213907,
	216085, 217270, 218531, 219878, 221325, 222888, 224590, 226458,
	228531, 229660, 230861, 232145, 233525, 235017, 236642, 238426,
	240408, 241487, 242636, 243865, 245187, 246616, 248173, 249884,
	251785, 252821, 253924, 255104, 256374, 257747, 259244, 260890,
	262719, 263716, 264779, 265915, 267138, 268462, 269905, 271492,
	273257, 274219, 275245, 276343, 277524, 278803, 280197, 281732,
	283438, 284369, 285361, 286423, 287567, 288805, 290155, 291642,
	293295, 294197, 295159, 296189, 297298, 298499, 299809, 301252,
	302857, 303733, 304667, 305668, 306745, 307912, 309185, 310587,
	312148, 313000, 313909, 314882, 315930, 317065, 318305, 319670,
	321190, 322019, 322904, 323852, 324873, 325980, 327188, 328519,
	330000, 330810, 331673, 332597, 333593, 334673, 335852, 337151,
	338597, 339387, 340230, 341133, 342105, 343160, 344312, 345580,
	346994, 347766, 348590, 349472, 350423, 351454, 352581, 353822,
	355204, 355959, 356765, 357629, 358560, 359569, 360671, 361886,
	363239, 363979, 364768, 365614, 366526, 367514, 368594, 369784,
	371111, 371835, 372609, 373438, 374331, 375300, 376359, 377526,
	378827, 379538, 380296, 381110, 381986, 382937, 383975, 385121,
	386397, 387095, 387839, 388638, 389498, 390431, 391451, 392576,
	393829, 394514, 395245, 396029, 396875, 397791, 398793, 399898,
	401130, 401803, 402522, 403292, 404123, 405024, 406009, 407095,
	408306,
};

/* A normally distributed number, in 1/65536. */
static s64 normal(u64 random)
{
	/* How much of the distribution lies beyond: to 1/2, in 2^-32. */
	u32 tail = (u32)(random >> 33) | 1;
	u32 octave = (u32)__builtin_clz(tail) - 1;
	u64 below = (1ull << (31 - octave)) - tail;
	/* In steps, with 16 bits behind the point. */
	u64 place = (below << octave) >> 11;
	const s32 *step;
	s64 value;

	if (place >= (u64)STEPS << 16)
		place = ((u64)STEPS << 16) - 1;
	step = &quantile[octave * STEPS + (place >> 16)];
	value = step[0] + ((step[1] - step[0]) * (s64)(place & 0xffff) >> 16);
	return random & 1 ? -value : value;
}

/* 2 to the power of @exponent, both in 1/65536; within 0.02 %. */
static u64 power_of_2(s64 exponent)
{
	s64 whole = exponent >> 16;
	u64 part = (u64)(exponent - whole * 65536);
	/* A cubic through both ends of an octave. */
	u64 value = 14756 + (part * 5203 >> 16);

	value = 45577 + (part * value >> 16);
	value = 65536 + (part * value >> 16);
	if (whole < -32)
		return 0;
	return whole < 0 ? value >> -whole : value << whole;
}

/* A lognormal factor with a mean of 1, in 1/65536. */
static u64 lognormal(const struct simdisk_variation *variation, u64 random)
{
	s64 sigma = (s64)((u64)variation->sigma_ppm * 65536 / SIMDISK_PPM);
	s64 exponent = (sigma * normal(random) - sigma * sigma / 2) / 65536;

	/* log2(e) is 94548/65536. */
	return power_of_2(exponent * 94548 / 65536);
}

u64 simdisk_uneven(struct simdisk_model *model, u64 ns)
{
	const struct simdisk_variation *vary = &model->parameters.variation;

	/* Neither product may pass 64 bits. */
	ns = smaller(ns, MOST_NS);
	if (vary->sigma_ppm)
		ns = smaller(ns * lognormal(vary, simdisk_random(model)) >> 16,
			     MOST_VARIED_NS);
	/* By the upper bits: those below are less random. */
	if (vary->tail_share_ppm &&
	    (simdisk_random(model) >> 32) * SIMDISK_PPM >> 32 <
	    vary->tail_share_ppm)
		ns = ns * (vary->tail_factor_ppm / 1000) / 1000;
	return ns;
}

/* In both, a speed of 1 is 1,000. */
static u64 turned(const struct simdisk_variation *vary, u64 time, u64 ns)
{
	if (!vary->turn_ns || time < vary->turn_ns)
		return ns;
	return ns * 1000 / (vary->turn_speed_ppm / 1000);
}

u64 simdisk_swung(const struct simdisk_model *model, u64 time, u64 ns)
{
	const struct simdisk_variation *vary = &model->parameters.variation;
	u64 period, share, speed;

	ns = turned(vary, time, ns);
	if (!vary->swing_ppm)
		return ns;
	period = time / ((u64)vary->swing_ms * 1000000);
	share = (simdisk_mix(model->salt ^ period) >> 32) * 2 *
		vary->swing_ppm >> 32;
	speed = SIMDISK_PPM - vary->swing_ppm + share;
	return ns * 1000 / (speed / 1000);
}

u64 simdisk_vary(struct simdisk_model *model, u64 ns)
{
	return simdisk_swung(model, model->clock,
			     simdisk_uneven(model, ns));
}
