// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <stdio.h>
#include <stdlib.h>

#include "../tests/check.h"
#include "clock.h"
#include "empty_section.h"
#include "run.h"
#include "threads.h"
#include "transfer.h"

/* Least slices that are not kept: caches fill. */
#define WARM_UP_SLICES 3

/**
 * struct figures - of one policy
 * @team: its threads
 * @slices: its slices
 * @kept: number of those
 * @repeated: slices thrown away
 * @completed: I/Os in the kept ones
 * @locks: the same of locks
 */
struct figures {
	struct bench_team *team;
	struct bench_slice *slices;
	u32 kept;
	u32 repeated;
	u64 completed;
	struct bench_lock_times locks[BENCH_LOCKS];
};

static void keep(struct figures *figures, const struct bench_slice *slice)
{
	figures->slices[figures->kept++] = *slice;
	figures->completed += slice->completed;
	for (u32 kind = 0; kind < BENCH_LOCKS; kind++) {
		struct bench_lock_times *total = &figures->locks[kind];
		const struct bench_lock_times *of = &slice->locks[kind];

		total->taken += of->taken;
		total->contended += of->contended;
		total->waited += of->waited;
		total->held += of->held;
	}
}

static void run_one(const struct bench_options *options,
		    struct figures *figures)
{
	u64 ns = options->slice_us * 1000ULL;
	struct bench_slice slice = bench_team_run(figures->team, ns);

	for (u32 i = 1; i < options->tries && slice.disturbed; i++) {
		figures->repeated++;
		slice = bench_team_run(figures->team, ns);
	}
	keep(figures, &slice);
}

static void print_rates(const char *name, const struct figures *figures,
			bool critical)
{
	printf(", \"%s\": [", name);
	for (u32 i = 0; i < figures->kept; i++)
		printf("%s%.0f", i ? ", " : "",
		       critical ? figures->slices[i].critical_per_s :
				  figures->slices[i].per_s);
	putchar(']');
}

static void print_lock(const char *name, const struct bench_lock_times *lock,
		       double ios, double empty)
{
	double ticks = bench_ticks_per_ns();
	double held = (double)lock->held - (double)lock->taken * empty;

	printf(", \"%s\": {\"taken\": %.4f", name, (double)lock->taken / ios);
	printf(", \"contended\": %.4f", (double)lock->contended / ios);
	printf(", \"waited_ns\": %.2f", (double)lock->waited / ticks / ios);
	printf(", \"held_ns\": %.2f}", held / ticks / ios);
}

static void print_policy(const struct bench_policy *policy,
			 const struct figures *figures)
{
	double ios = (double)figures->completed;
	double empty = bench_empty_section();

	printf("{\"policy\": \"%s\", \"ios\": %.0f, \"repeated\": %u",
	       policy->name, ios, figures->repeated);
	print_rates("per_s", figures, false);
	print_rates("critical_per_s", figures, true);
	if (empty > 0 && ios > 0) {
		print_lock("device", &figures->locks[BENCH_DEVICE_LOCK], ios,
			   empty);
		print_lock("queue", &figures->locks[BENCH_QUEUE_LOCK], ios,
			   empty);
		printf(", \"empty_section_ns\": %.2f",
		       empty / bench_ticks_per_ns());
	}
	puts("}");
}

static void warm_up(struct figures *figures, const struct bench_options *options,
		    u64 learns_ns)
{
	u64 slice_ns = options->slice_us * 1000ULL;
	u64 ns = 0;

	for (u32 i = 0; i < WARM_UP_SLICES || ns < learns_ns; i++) {
		bench_team_run(figures->team, slice_ns);
		ns += slice_ns;
	}
}

static void begin(struct figures *figures, const struct bench_policy *policy,
		  const struct bench_options *options)
{
	struct bench_machine *machine =
		bench_machine_make(policy, &options->load);

	figures->team = bench_team_make(machine);
	figures->slices = bench_allocate((options->slices + WARM_UP_SLICES) *
					 sizeof(*figures->slices));
	warm_up(figures, options, bench_machine_learns_ns(machine));
}

void bench_run(const struct bench_options *options)
{
	struct figures figures[BENCH_POLICIES_MAX] = { 0 };
	u32 count = 0;

	for (; options->policies[count]; count++)
		begin(&figures[count], options->policies[count], options);
	printf("{\"transfer_ns\": [");
	for (u32 slice = 0; slice < options->slices; slice++) {
		printf("%s%.1f", slice ? ", " : "", bench_transfer_ns());
		for (u32 i = 0; i < count; i++)
			run_one(options, &figures[i]);
	}
	puts("]}");
	for (u32 i = 0; i < count; i++) {
		print_policy(options->policies[i], &figures[i]);
		bench_team_destroy(figures[i].team);
		free(figures[i].slices);
	}
}
