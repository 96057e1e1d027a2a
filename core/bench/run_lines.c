// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <stdio.h>

#include "interleave.h"
#include "lines.h"
#include "run.h"

static void before(struct bench_cpu *cpu)
{
	bench_lines_step(cpu->index);
}

/* The submitter writes its I/Os; this is no part of a policy. */
static void after(struct bench_cpu *cpu, enum bench_phase phase)
{
	if (phase != BENCH_SUBMIT || cpu->phase == BENCH_REAP)
		return;
	for (u32 i = 0; i < cpu->batch_count; i++)
		bench_lines_wrote(cpu->batch[i], 1);
}

static void print_place(const char *name, enum bench_place place, double ios)
{
	struct bench_lines lines = bench_lines_of(place);

	printf(", \"%s\": {\"locks\": %.4f", name, (double)lines.locks / ios);
	printf(", \"written\": %.4f", (double)lines.written / ios);
	printf(", \"stores\": %.4f", (double)lines.stores / ios);
	printf(", \"loads\": %.4f}", (double)lines.loads / ios);
}

static void run_policy(const struct bench_options *options,
		       const struct bench_policy *policy)
{
	struct bench_interleave order = {
		.machine = bench_machine_make(policy, &options->load),
		.random = options->load.seed,
		.now_ps = BENCH_BEGIN_PS,
		.before = before,
		.after = after,
	};
	u64 begin_ps;
	double ios;

	bench_lines_reset();
	bench_interleave_warm_up(&order, options->ios / 2);
	bench_lines_begin();
	begin_ps = order.now_ps;
	ios = -(double)bench_machine_completed(order.machine);
	bench_interleave_run(&order, options->ios);
	ios += (double)bench_machine_completed(order.machine);
	printf("{\"policy\": \"%s\", \"ios\": %.0f, \"virtual_ms\": %.3f",
	       policy->name, ios, (double)(order.now_ps - begin_ps) / 1e9);
	print_place("device", BENCH_UNDER_DEVICE_LOCK, ios);
	print_place("queue", BENCH_UNDER_QUEUE_LOCK, ios);
	print_place("outside", BENCH_UNDER_NO_LOCK, ios);
	puts("}");
	bench_machine_destroy(order.machine);
}

void bench_run(const struct bench_options *options)
{
	for (u32 i = 0; options->policies[i]; i++)
		run_policy(options, options->policies[i]);
}
