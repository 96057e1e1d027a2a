/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * All CPUs of a machine in one thread: their steps in an order drawn from a
 * seed, by a clock that moves with them. The same seed gives the same run.
 */
#ifndef FGIO_BENCH_INTERLEAVE_H
#define FGIO_BENCH_INTERLEAVE_H

#include "machine.h"

/* Where a clock begins: no time that is noted is 0. */
#define BENCH_BEGIN_PS 1000000000000ULL

/* A step's time on its CPU. Others make theirs meanwhile. */
#define BENCH_STEP_NS 100

/**
 * struct bench_interleave - the order of the steps
 * @machine: its CPUs
 * @random: state of the random numbers
 * @now_ps: the clock, in ps; BENCH_BEGIN_PS at first
 * @before: called before each step, or NULL
 * @after: called after it, with the phase that it was in, or NULL
 */
struct bench_interleave {
	struct bench_machine *machine;
	u64 random;
	u64 now_ps;
	void (*before)(struct bench_cpu *cpu);
	void (*after)(struct bench_cpu *cpu, enum bench_phase phase);
};

/*
 * Until @ios more have completed. Ends the program if none does for a minute by
 * the clock.
 */
void bench_interleave_run(struct bench_interleave *order, u64 ios);

/*
 * The same, and on until the policy has learnt. Call it once, first.
 */
void bench_interleave_warm_up(struct bench_interleave *order, u64 ios);

/* No CPU submits more, until no I/O is under way. Ends as above. */
void bench_interleave_drain(struct bench_interleave *order);

#endif /* FGIO_BENCH_INTERLEAVE_H */
