/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * When a batch of background writes, as of a checkpoint, is done beside a
 * foreground of a fixed rate: under the learnt depth, without classes, and
 * ideally, if all of the foreground's I/O is served when it comes and the drive
 * never rests.
 */
#ifndef FGIO_CORE_TESTS_MODEL_BATCH_H
#define FGIO_CORE_TESTS_MODEL_BATCH_H

#include "model_rivals.h"

/* struct batch - what is run */
struct batch {
	const struct simdisk_parameters *drive;
	u32 ios;
	u32 bytes;
	u32 foreground_rate; /* I/Os of 8 KiB a second, at any moment */
	bool first; /* no batch was before it: nothing is known of the drive */
	u64 seed;
};

/**
 * struct batch_figures - times in ns from the batch's begin to its end
 * @alone_ns: without a foreground
 * @ideal_ns: the same, and the drive's time for what the foreground asks for
 *	until then
 * @one_class_ns: without classes: the foreground waits for the batch
 * @learnt_ns: under the learnt depth
 * @one_class_served: the foreground's I/Os that were served until then
 * @learnt_served: the same
 * @one_class_times: the foreground's mean in that time and half a second after
 *	it, in times without a batch
 * @learnt_times: the same
 */
struct batch_figures {
	double alone_ns;
	double ideal_ns;
	double one_class_ns;
	double learnt_ns;
	u32 one_class_served;
	u32 learnt_served;
	double one_class_times;
	double learnt_times;
};

struct batch_figures batch_run(const struct batch *batch);

#endif
