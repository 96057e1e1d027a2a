// SPDX-License-Identifier: GPL-2.0 OR MIT
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../tests/check.h"
#include "clock.h"
#include "threads.h"

/* Steps between two looks at the clock. */
#define STEPS 16
/* A thread that waits for the others lets other programs run. */
#define SPINS_BEFORE_YIELD 100000

/**
 * struct member - a thread of a team
 * @team: its team
 * @cpu: the CPU whose steps it makes
 * @thread: the thread
 * @completed: I/Os of the last slice
 * @ticks: its length in ticks of the TSC
 * @disturbed: it was preempted
 * @locks: its locks in that slice
 */
struct member {
	struct bench_team *team __attribute__((aligned(128)));
	struct bench_cpu *cpu;
	pthread_t thread;
	u64 completed;
	u64 ticks;
	bool disturbed;
	struct bench_lock_times locks[BENCH_LOCKS];
};

/**
 * struct bench_team - the threads of a machine
 * @machine: the machine
 * @lock: protects what follows, up to @wake
 * @wake: a slice begins, or ended for a thread
 * @slice: number of the slice that runs, or ran
 * @busy: threads that have not ended it
 * @ends: no more slices come
 * @slice_ticks: its length
 * @stood_ns: time without a slice, in total
 * @stopped_ns: when the last one ended
 * @ready: threads that have begun the slice
 * @members: the threads
 */
struct bench_team {
	struct bench_machine *machine;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	u64 slice;
	u32 busy;
	bool ends;
	u64 slice_ticks;
	u64 stood_ns;
	u64 stopped_ns;
	u32 ready;
	struct member *members;
};

#if defined(BENCH_TIMES)
static void forget_locks(void)
{
	memset(bench_lock_times, 0, sizeof(bench_lock_times));
}

static void note_locks(struct member *member)
{
	memcpy(member->locks, bench_lock_times, sizeof(bench_lock_times));
}
#else
static void forget_locks(void)
{
}

static void note_locks(struct member *member)
{
	(void)member;
}
#endif

static long preemptions(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

static void pin(u32 index)
{
	cpu_set_t allowed, chosen;
	int wanted;

	CHECK(!sched_getaffinity(getpid(), sizeof(allowed), &allowed));
	wanted = (int)index % CPU_COUNT(&allowed);
	CPU_ZERO(&chosen);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed) && wanted-- == 0)
			CPU_SET(i, &chosen);
	CHECK(!pthread_setaffinity_np(pthread_self(), sizeof(chosen),
				      &chosen));
}

/* Until all threads of the team have begun the slice. */
static void meet(struct bench_team *team)
{
	u32 all = team->machine->load.cpus;
	u32 spins = 0;

	__atomic_add_fetch(&team->ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&team->ready, __ATOMIC_ACQUIRE) < all)
		if (++spins % SPINS_BEFORE_YIELD == 0)
			sched_yield();
}

static void run_slice(struct member *member, u64 ticks)
{
	struct bench_cpu *cpu = member->cpu;
	u64 completed = cpu->completed;
	long preempted = preemptions();
	u64 begin, now;

	forget_locks();
	meet(member->team);
	begin = __rdtsc();
	do {
		for (u32 i = 0; i < STEPS; i++)
			bench_cpu_step(cpu);
		now = __rdtsc();
	} while (now - begin < ticks);
	member->ticks = now - begin;
	member->completed = cpu->completed - completed;
	note_locks(member);
	member->disturbed = preemptions() != preempted;
}

static void end_slice(struct bench_team *team)
{
	if (!--team->busy)
		pthread_cond_broadcast(&team->wake);
}

static void *thread(void *argument)
{
	struct member *member = argument;
	struct bench_team *team = member->team;
	u64 slice = 0;

	pin(member->cpu->index);
	pthread_mutex_lock(&team->lock);
	for (;;) {
		while (team->slice == slice && !team->ends)
			pthread_cond_wait(&team->wake, &team->lock);
		if (team->ends)
			break;
		slice = team->slice;
		bench_clock_stood(team->stood_ns);
		pthread_mutex_unlock(&team->lock);
		run_slice(member, team->slice_ticks);
		pthread_mutex_lock(&team->lock);
		end_slice(team);
	}
	pthread_mutex_unlock(&team->lock);
	return NULL;
}

struct bench_team *bench_team_make(struct bench_machine *machine)
{
	struct bench_team *team = bench_allocate(sizeof(*team));
	u32 cpus = machine->load.cpus;

	bench_ticks_per_ns();
	team->machine = machine;
	team->members = bench_allocate(cpus * sizeof(*team->members));
	/* Its clock begins at a second: no time that is noted is 0. */
	team->stopped_ns = bench_now_ns();
	team->stood_ns = team->stopped_ns - 1000000000ULL;
	CHECK(!pthread_mutex_init(&team->lock, NULL));
	CHECK(!pthread_cond_init(&team->wake, NULL));
	for (u32 i = 0; i < cpus; i++) {
		struct member *member = &team->members[i];

		member->team = team;
		member->cpu = &machine->cpus[i];
		CHECK(!pthread_create(&member->thread, NULL, thread, member));
	}
	return team;
}

static struct bench_slice sum(const struct bench_team *team)
{
	struct bench_slice slice = { 0 };
	double ticks_per_s = bench_ticks_per_ns() * 1e9;

	for (u32 i = 0; i < team->machine->load.cpus; i++) {
		const struct member *member = &team->members[i];
		double per_s = (double)member->completed * ticks_per_s /
			       (double)member->ticks;

		slice.per_s += per_s;
		slice.critical_per_s += member->cpu->critical ? per_s : 0;
		slice.completed += member->completed;
		slice.disturbed |= member->disturbed;
		for (u32 kind = 0; kind < BENCH_LOCKS; kind++) {
			slice.locks[kind].taken += member->locks[kind].taken;
			slice.locks[kind].contended +=
				member->locks[kind].contended;
			slice.locks[kind].waited += member->locks[kind].waited;
			slice.locks[kind].held += member->locks[kind].held;
		}
	}
	return slice;
}

struct bench_slice bench_team_run(struct bench_team *team, u64 ns)
{
	pthread_mutex_lock(&team->lock);
	team->stood_ns += bench_now_ns() - team->stopped_ns;
	bench_clock_set_coarse(bench_now_ns() - team->stood_ns);
	team->slice_ticks = (u64)((double)ns * bench_ticks_per_ns());
	team->ready = 0;
	team->busy = team->machine->load.cpus;
	team->slice++;
	pthread_cond_broadcast(&team->wake);
	while (team->busy)
		pthread_cond_wait(&team->wake, &team->lock);
	team->stopped_ns = bench_now_ns();
	pthread_mutex_unlock(&team->lock);
	return sum(team);
}

static bool is_drained(const struct bench_machine *machine)
{
	for (u32 i = 0; i < machine->load.cpus; i++)
		if (!bench_cpu_is_idle(&machine->cpus[i]))
			return false;
	return true;
}

void bench_team_drain(struct bench_team *team, u64 ns)
{
	__atomic_store_n(&team->machine->drains, true, __ATOMIC_RELAXED);
	do
		bench_team_run(team, ns);
	while (!is_drained(team->machine));
}

void bench_team_destroy(struct bench_team *team)
{
	pthread_mutex_lock(&team->lock);
	team->ends = true;
	pthread_cond_broadcast(&team->wake);
	pthread_mutex_unlock(&team->lock);
	for (u32 i = 0; i < team->machine->load.cpus; i++)
		pthread_join(team->members[i].thread, NULL);
	pthread_cond_destroy(&team->wake);
	pthread_mutex_destroy(&team->lock);
	bench_machine_destroy(team->machine);
	free(team->members);
	free(team);
}
