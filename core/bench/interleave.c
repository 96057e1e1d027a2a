// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "../tests/check.h"
#include "clock.h"
#include "interleave.h"

#define PS_PER_NS 1000ULL
#define WAIT_MOST_PS (60ULL * 1000000000 * PS_PER_NS)

/*
 * Steps of each CPU without a completion, after which the clock leaps to what
 * comes next. It never leaps over that: completions would seem late.
 */
#define STEPS_BEFORE_LEAP 100
#define LEAP_MOST_PS (1000000 * PS_PER_NS)

static void step(struct bench_interleave *order)
{
	struct bench_machine *machine = order->machine;
	u32 cpus = machine->load.cpus;
	struct bench_cpu *cpu =
		&machine->cpus[next_random(&order->random) % cpus];
	enum bench_phase phase = cpu->phase;

	order->now_ps += BENCH_STEP_NS * PS_PER_NS / cpus;
	bench_clock_set(order->now_ps / PS_PER_NS);
	bench_clock_set_coarse(order->now_ps / PS_PER_NS);
	if (order->before)
		order->before(cpu);
	bench_cpu_step(cpu);
	if (order->after)
		order->after(cpu, phase);
}

static void leap(struct bench_interleave *order)
{
	const struct bench_machine *machine = order->machine;
	u64 next_ps = order->now_ps + LEAP_MOST_PS;

	for (u32 i = 0; i < machine->load.cpus; i++) {
		u64 at_ps = bench_cpu_next_ns(&machine->cpus[i]) * PS_PER_NS;

		next_ps = at_ps < next_ps ? at_ps : next_ps;
	}
	if (next_ps > order->now_ps)
		order->now_ps = next_ps;
}

/* Until one more has completed. Return: false if none is under way. */
static bool run_until_one_more(struct bench_interleave *order)
{
	struct bench_machine *machine = order->machine;
	u64 completed = bench_machine_completed(machine);
	u64 until_ps = order->now_ps + WAIT_MOST_PS;
	u64 steps = 0;

	while (bench_machine_completed(machine) == completed) {
		bool idle = machine->drains;

		for (u32 i = 0; i < machine->load.cpus && idle; i++)
			idle = bench_cpu_is_idle(&machine->cpus[i]);
		if (idle)
			return false;
		step(order);
		if (++steps > STEPS_BEFORE_LEAP * machine->load.cpus)
			leap(order);
		CHECK(order->now_ps < until_ps);
	}
	return true;
}

void bench_interleave_run(struct bench_interleave *order, u64 ios)
{
	while (ios-- && run_until_one_more(order))
		;
}

void bench_interleave_warm_up(struct bench_interleave *order, u64 ios)
{
	u64 until_ps = order->now_ps +
		       bench_machine_learns_ns(order->machine) * PS_PER_NS;

	bench_interleave_run(order, ios);
	while (order->now_ps < until_ps && run_until_one_more(order))
		;
}

void bench_interleave_drain(struct bench_interleave *order)
{
	order->machine->drains = true;
	while (run_until_one_more(order))
		;
}
