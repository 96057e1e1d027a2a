/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * CPUs that submit I/Os, a policy, and a drive that does any number of them at
 * once, each in the same time. An I/O completes on the CPU that submitted it,
 * wherever it was dispatched.
 *
 * A CPU goes in steps, with one call of the policy in each: threads make the
 * steps of one CPU each (threads.h), or one thread makes those of all CPUs, in
 * any order (lines.h, and tests). Each I/O is checked to be issued once and to
 * complete once.
 */
#ifndef FGIO_BENCH_MACHINE_H
#define FGIO_BENCH_MACHINE_H

#include "policy.h"

#define BENCH_CPUS_MAX 64
#define BENCH_PLUG_MAX 32

/**
 * struct bench_load - what the CPUs do
 * @cpus: their number, up to BENCH_CPUS_MAX
 * @queues: hardware queues; CPU c has number c % queues
 * @depth: I/Os of one CPU under way, at most
 * @plug: I/Os that it submits at once, up to BENCH_PLUG_MAX and @depth
 * @foreground: CPUs whose I/Os are critical, the first ones
 * @write_percent: of the I/Os; the others are reads
 * @look_up: each I/O looks for another to be merged with before it is plugged
 * @work_ns: what the rest of the I/O path takes for each I/O, on its CPU alone
 * @drive_ns: time that each I/O takes in the drive
 * @seed: of the sectors and directions
 */
struct bench_load {
	u32 cpus;
	u32 queues;
	u32 depth;
	u32 plug;
	u32 foreground;
	u32 write_percent;
	bool look_up;
	u64 work_ns;
	u64 drive_ns;
	u64 seed;
};

enum bench_phase {
	BENCH_SUBMIT,
	BENCH_LOOK_UP,
	BENCH_INSERT,
	BENCH_RUN,
	BENCH_REAP,
};

/**
 * struct bench_cpu - one CPU; what others write is on a line of its own
 * @machine: where it is
 * @index: its number
 * @queue: its hardware queue
 * @phase: what its next step does
 * @critical: its I/Os are
 * @runs: dispatched since its queue began to run
 * @random: state of its random numbers
 * @ios: all its I/Os
 * @idle: those that are not under way
 * @idle_count: their number
 * @batch: what it submits now
 * @batch_count: number of those
 * @looked_up: number of those that looked for another
 * @done: a ring of those that the drive has or had, in the order of issue
 * @done_first: index of the first one, counting on
 * @done_end: index behind the last one
 * @retry_at_ns: for when it has set a timer; 0: for never
 * @turn_at_ns: the same for the queue that has the turn
 * @wants_run: its queue is to be run
 * @submitted: I/Os in total
 * @completed: I/Os in total
 * @from_others: I/Os of this CPU that others issued
 * @kicked: others want its queue to be run
 */
struct bench_cpu {
	struct bench_machine *machine __attribute__((aligned(128)));
	u32 index;
	u32 queue;
	enum bench_phase phase;
	bool critical;
	u32 runs;
	u64 random;
	struct bench_io *ios;
	struct bench_io **idle;
	u32 idle_count;
	struct bench_io *batch[BENCH_PLUG_MAX];
	u32 batch_count;
	u32 looked_up;
	struct bench_io **done;
	u64 done_first;
	u64 done_end;
	u64 retry_at_ns;
	u64 turn_at_ns;
	bool wants_run;
	u64 submitted;
	u64 completed;

	struct bench_io *from_others __attribute__((aligned(128)));
	bool kicked __attribute__((aligned(128)));
};

/**
 * struct bench_machine - all CPUs, and the policy's state
 * @policy: the policy
 * @state: its state
 * @load: what the CPUs do
 * @drains: no more I/Os are submitted
 * @cpus: the CPUs
 */
struct bench_machine {
	const struct bench_policy *policy;
	void *state;
	struct bench_load load;
	bool drains;
	struct bench_cpu *cpus;
};

struct bench_machine *bench_machine_make(const struct bench_policy *policy,
					 const struct bench_load *load);

/* I/Os may be under way. */
void bench_machine_destroy(struct bench_machine *machine);

/* One step of @cpu. The calling thread makes the steps of no other meanwhile. */
void bench_cpu_step(struct bench_cpu *cpu);

/* Whether no I/O of it is under way. */
static inline bool bench_cpu_is_idle(const struct bench_cpu *cpu)
{
	return cpu->idle_count == cpu->machine->load.depth;
}

/*
 * When its next step does anything, if no other CPU does: 0 for at once, or the
 * end of its first I/O in the drive, or the time of a timer; ~0 for never.
 */
u64 bench_cpu_next_ns(const struct bench_cpu *cpu);

/* How long the policy learns under the load, before its figures count. */
u64 bench_machine_learns_ns(const struct bench_machine *machine);

/* I/Os that completed, on all CPUs. No CPU may be in a step. */
u64 bench_machine_completed(const struct bench_machine *machine);

#endif /* FGIO_BENCH_MACHINE_H */
