// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "number.h"
#include "samples.h"

/*
 * A word: quiet (bit 0), critical (1), kind (2), far (7), others (8), took_ns
 * (16), beside (42) and wait_ns (43), times in 64 ns. 0 is an empty word: every I/O took
 * time.
 */
#define CRITICAL_SHIFT 1
#define KIND_SHIFT 2
#define KIND_MOST 31
#define FAR_SHIFT 7
#define OTHERS_SHIFT 8
#define OTHERS_MOST 255
#define TOOK_SHIFT 16
#define TOOK_MOST ((1ULL << 26) - 1)
#define BESIDE_SHIFT 42
#define WAIT_SHIFT 43
#define WAIT_MOST ((1ULL << 21) - 1)
#define TIME_SHIFT 6

static u64 pack(const struct fgio_sample *sample)
{
	u64 took = smaller(sample->took_ns >> TIME_SHIFT, TOOK_MOST);
	u64 wait = smaller(sample->wait_ns >> TIME_SHIFT, WAIT_MOST);

	return sample->quiet | (u64)sample->critical << CRITICAL_SHIFT |
	       (u64)sample->kind << KIND_SHIFT |
	       (u64)sample->far << FAR_SHIFT |
	       smaller(sample->others, OTHERS_MOST) << OTHERS_SHIFT |
	       larger(took, 1) << TOOK_SHIFT |
	       (u64)sample->beside << BESIDE_SHIFT | wait << WAIT_SHIFT;
}

static struct fgio_sample unpack(u64 word)
{
	return (struct fgio_sample){
		.took_ns = (word >> TOOK_SHIFT & TOOK_MOST) << TIME_SHIFT,
		.wait_ns = word >> WAIT_SHIFT << TIME_SHIFT,
		.others = word >> OTHERS_SHIFT & OTHERS_MOST,
		.kind = word >> KIND_SHIFT & KIND_MOST,
		.quiet = word & 1,
		.critical = word >> CRITICAL_SHIFT & 1,
		.far = word >> FAR_SHIFT & 1,
		.beside = word >> BESIDE_SHIFT & 1,
	};
}

void fgio_samples_note(struct fgio_samples *samples,
		       const struct fgio_sample *sample)
{
	u32 at = fgio_add(&samples->noted, 1) - 1;

	fgio_store(&samples->word[at % FGIO_SAMPLES], pack(sample));
}

bool fgio_samples_take(struct fgio_samples *samples,
		       struct fgio_sample *sample)
{
	u32 noted = fgio_load(&samples->noted);
	u64 word = 0;

	if (noted - samples->taken > FGIO_SAMPLES)
		samples->taken = noted - FGIO_SAMPLES;
	/* A counted sample may not be written yet: it is lost. */
	while (!word && samples->taken != noted)
		word = fgio_exchange(
			&samples->word[samples->taken++ % FGIO_SAMPLES], 0);
	if (!word)
		return false;
	*sample = unpack(word);
	return true;
}
