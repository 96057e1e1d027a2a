/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A machine whose CPUs are threads, pinned to the cores there are. It runs in
 * slices of some ms, and its clock stands between them: several machines take
 * turns, and a slice that other programs disturbed is thrown away without loss.
 */
#ifndef FGIO_BENCH_THREADS_H
#define FGIO_BENCH_THREADS_H

#include "lock.h"
#include "machine.h"

struct bench_team;

/**
 * struct bench_slice - what a team did in one slice
 * @per_s: I/Os completed a second, all threads together
 * @critical_per_s: those of them that were critical
 * @completed: I/Os completed
 * @disturbed: a thread was preempted
 * @locks: what the threads did with locks, with BENCH_TIMES
 */
struct bench_slice {
	double per_s;
	double critical_per_s;
	u64 completed;
	bool disturbed;
	struct bench_lock_times locks[BENCH_LOCKS];
};

/* Its threads begin, and wait. Takes over @machine. */
struct bench_team *bench_team_make(struct bench_machine *machine);

/* Runs all threads for @ns. */
struct bench_slice bench_team_run(struct bench_team *team, u64 ns);

/* Ends the threads, and destroys the machine. */
void bench_team_destroy(struct bench_team *team);

/* Submits no more, and runs in slices of @ns until no I/O is under way. */
void bench_team_drain(struct bench_team *team, u64 ns);

#endif /* FGIO_BENCH_THREADS_H */
