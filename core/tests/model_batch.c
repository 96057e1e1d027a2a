// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "model_batch.h"

#include "check.h"

#define SECOND 1000000000ULL
#define SLOTS 60
/* Each write of a batch goes once. */
#define NEVER_NS (1000 * SECOND)
/* Of the batch before, in which the depth is learnt, and of the measured one. */
#define FIRST_NS (2 * SECOND)
#define BEGIN_NS (6 * SECOND)
#define AFTER_NS (SECOND / 2)
/* Reads and writes of this length cost a drive about the same. */
#define FOREGROUND_BYTES 8192

static struct rival writes(const struct batch *batch, u64 begin_ns)
{
	return (struct rival){
		.write = true,
		.bytes = batch->bytes,
		.depth = batch->ios,
		.think_ns = NEVER_NS,
		.begin_ns = begin_ns,
	};
}

static struct rivals rivals_of(const struct batch *batch)
{
	struct rivals rivals = {
		.drive = batch->drive,
		.seed = batch->seed,
		.foreground = { .mixed = true, .bytes = FOREGROUND_BYTES,
				.depth = SLOTS, .irregular = true,
				.think_ns = SLOTS * SECOND /
					    batch->foreground_rate },
		.background = writes(batch, BEGIN_NS),
		.second = writes(batch, FIRST_NS),
		.begin_ns = BEGIN_NS,
	};

	if (batch->first)
		rivals.second.depth = 0;
	return rivals;
}

/* Runs twice, since the first shows when the batch ends. */
static struct rivals_figures until_done(struct rivals rivals)
{
	struct rivals_figures figures;

	rivals.end_ns = BEGIN_NS + 20 * SECOND;
	figures = rivals_run(&rivals);
	CHECK(figures.background_ns > BEGIN_NS);
	rivals.end_ns = figures.background_ns + AFTER_NS;
	return rivals_run(&rivals);
}

static double alone_ns(struct rivals rivals, u32 times)
{
	rivals.foreground.depth = 0;
	rivals.second.depth = 0;
	rivals.background.depth *= times;
	return (double)(until_done(rivals).background_ns - BEGIN_NS);
}

/*
 * A second batch shows what the drive does without credits that it has at
 * first. Of that rate, the foreground takes its own.
 */
static double ideal_ns(const struct batch *batch, double once_ns,
		       double twice_ns)
{
	double io_ns = (twice_ns - once_ns) / batch->ios;

	return once_ns / (1 - batch->foreground_rate * io_ns / SECOND);
}

struct batch_figures batch_run(const struct batch *batch)
{
	struct rivals rivals = rivals_of(batch), quiet = rivals;
	struct rivals_figures done, undisturbed;
	struct batch_figures figures;

	figures.alone_ns = alone_ns(rivals, 1);
	figures.ideal_ns = ideal_ns(batch, figures.alone_ns,
				    alone_ns(rivals, 2));
	quiet.background.depth = 0;
	quiet.end_ns = BEGIN_NS + 4 * SECOND;
	undisturbed = rivals_run(&quiet);

	done = until_done(rivals);
	figures.learnt_ns = (double)(done.background_ns - BEGIN_NS);
	figures.learnt_served = done.requests_then;
	figures.learnt_times = done.mean_ns / undisturbed.mean_ns;

	rivals.one_class = true;
	done = until_done(rivals);
	figures.one_class_ns = (double)(done.background_ns - BEGIN_NS);
	figures.one_class_served = done.requests_then;
	figures.one_class_times = done.mean_ns / undisturbed.mean_ns;
	return figures;
}
