/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The way of completions, which come at any time and anywhere, to who learns from them:
 * a ring without a lock, of one word for each. Where it overflows, the oldest are
 * forgotten.
 */
#ifndef FGIO_CORE_SAMPLES_H
#define FGIO_CORE_SAMPLES_H

#include "types.h"

#define FGIO_SAMPLES 64

/**
 * struct fgio_sample - an I/O that completed
 * @took_ns: in the drive
 * @wait_ns: expected of that
 * @others: non-critical ones that were left there; 255: at least so many
 * @kind: see base_latency.h
 * @quiet: no other non-critical request, nor work left by one, was there
 * @critical: its class
 * @far: a read, far from those before it: see rotation.h
 */
struct fgio_sample {
	u64 took_ns;
	u64 wait_ns;
	u32 others;
	u8 kind;
	bool quiet;
	bool critical;
	bool far;
};

/*
 * Only the functions below touch the members. All zero: empty. @taken is apart
 * from what completions write.
 */
struct fgio_samples {
	u32 taken;
	u64 word[FGIO_SAMPLES] __attribute__((aligned(64)));
	u32 noted;
};

/* Any context. Times are rounded to 64 ns. */
void fgio_samples_note(struct fgio_samples *samples,
		       const struct fgio_sample *sample);

/* Return: false when there is none. The caller serialises. */
bool fgio_samples_take(struct fgio_samples *samples,
		       struct fgio_sample *sample);

#endif /* FGIO_CORE_SAMPLES_H */
