/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Hands completions, which run at any time on any CPU, to the code that learns
 * from them: a lockless ring with one word per completion. On overflow, the
 * oldest are lost.
 */
#ifndef FGIO_CORE_SAMPLES_H
#define FGIO_CORE_SAMPLES_H

#include "types.h"

#define FGIO_SAMPLES 64

/**
 * struct fgio_sample - an I/O that completed
 * @took_ns: time in the drive
 * @wait_ns: the expected wait in that, up to 134 ms
 * @others: non-critical requests left in the drive; 255: at least 255
 * @kind: see base_latency.h
 * @quiet: the drive had no other non-critical request, nor work left by one
 * @critical: its class
 * @far: a read far from the reads before it, see rotation.h
 * @beside: a read beside another one, see arms.h
 */
struct fgio_sample {
	u64 took_ns;
	u64 wait_ns;
	u32 others;
	u8 kind;
	bool quiet;
	bool critical;
	bool far;
	bool beside;
};

/*
 * Only the functions below touch the members. All zero: empty. @taken is off
 * the cache lines that completions write.
 */
struct fgio_samples {
	u32 taken;
	u64 word[FGIO_SAMPLES] __attribute__((aligned(64)));
	u32 noted;
};

/* Any context. Times are rounded to 64 ns. */
void fgio_samples_note(struct fgio_samples *samples,
		       const struct fgio_sample *sample);

/* Return: false when the ring is empty. The caller serialises. */
bool fgio_samples_take(struct fgio_samples *samples,
		       struct fgio_sample *sample);

#endif /* FGIO_CORE_SAMPLES_H */
