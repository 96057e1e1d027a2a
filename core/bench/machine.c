// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "../atomic.h"
#include "../number.h"
#include "../tests/check.h"
#include "clock.h"
#include "machine.h"

/* As nr_requests of a queue under a scheduler: more go in the next run. */
#define RUNS_MOST 256

#define IO_SECTORS 8
/* No two I/Os are neighbours, which would merge. */
#define SECTOR_STEP 16
#define SECTOR_STEPS (1U << 27)

static _Thread_local struct bench_cpu *this_cpu;

void *bench_allocate(size_t bytes)
{
	size_t whole = (bytes + 127) / 128 * 128;
	void *memory = aligned_alloc(128, whole);

	CHECK(memory);
	return memset(memory, 0, whole);
}

static void init_cpu(struct bench_machine *machine, u32 index)
{
	const struct bench_load *load = &machine->load;
	struct bench_cpu *cpu = &machine->cpus[index];

	cpu->machine = machine;
	cpu->index = index;
	cpu->queue = index % load->queues;
	cpu->critical = index < load->foreground;
	cpu->random = load->seed + index * 0x9e3779b97f4a7c15ULL;
	cpu->ios = bench_allocate(load->depth * sizeof(*cpu->ios));
	cpu->idle = bench_allocate(load->depth * sizeof(*cpu->idle));
	cpu->done = bench_allocate(load->depth * sizeof(*cpu->done));
	for (u32 i = 0; i < load->depth; i++)
		cpu->idle[cpu->idle_count++] = &cpu->ios[i];
}

struct bench_machine *bench_machine_make(const struct bench_policy *policy,
					 const struct bench_load *load)
{
	struct bench_machine *machine = bench_allocate(sizeof(*machine));

	CHECK(load->cpus && load->cpus <= BENCH_CPUS_MAX && load->queues);
	CHECK(load->plug && load->plug <= BENCH_PLUG_MAX);
	CHECK(load->plug <= load->depth);
	machine->policy = policy;
	machine->load = *load;
	machine->state = policy->make(load->cpus, load->queues);
	machine->cpus = bench_allocate(load->cpus * sizeof(*machine->cpus));
	for (u32 i = 0; i < load->cpus; i++)
		init_cpu(machine, i);
	return machine;
}

void bench_machine_destroy(struct bench_machine *machine)
{
	for (u32 i = 0; i < machine->load.cpus; i++) {
		free(machine->cpus[i].ios);
		free(machine->cpus[i].idle);
		free(machine->cpus[i].done);
	}
	machine->policy->destroy(machine->state);
	free(machine->cpus);
	free(machine);
}

u64 bench_machine_learns_ns(const struct bench_machine *machine)
{
	const struct bench_load *load = &machine->load;

	return load->foreground && load->foreground < load->cpus ?
		       machine->policy->learns_ns :
		       0;
}

u64 bench_machine_completed(const struct bench_machine *machine)
{
	u64 completed = 0;

	for (u32 i = 0; i < machine->load.cpus; i++)
		completed += machine->cpus[i].completed;
	return completed;
}

/* ---- the drive ---- */

static void note_done(struct bench_cpu *cpu, struct bench_io *io)
{
	CHECK(cpu->done_end - cpu->done_first < cpu->machine->load.depth);
	cpu->done[cpu->done_end++ % cpu->machine->load.depth] = io;
}

static void give_to(struct bench_cpu *owner, struct bench_io *io)
{
	io->next_done = __atomic_load_n(&owner->from_others, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&owner->from_others,
					    &io->next_done, io, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

void bench_issue(struct bench_io *io)
{
	struct bench_cpu *cpu = this_cpu;
	u64 drive_ns = cpu->machine->load.drive_ns;

	CHECK(io->state == BENCH_IO_SUBMITTED);
	io->state = BENCH_IO_IN_DEVICE;
	io->due_ns = drive_ns ? bench_now_ns() + drive_ns : 0;
	if (io->cpu == cpu->index)
		note_done(cpu, io);
	else
		give_to(&cpu->machine->cpus[io->cpu], io);
}

/* Those that others issued come last first. */
static void collect_from_others(struct bench_cpu *cpu)
{
	struct bench_io *io, *first = NULL;

	if (!__atomic_load_n(&cpu->from_others, __ATOMIC_RELAXED))
		return;
	io = __atomic_exchange_n(&cpu->from_others, NULL, __ATOMIC_ACQUIRE);
	while (io) {
		struct bench_io *next = io->next_done;

		io->next_done = first;
		first = io;
		io = next;
	}
	for (; first; first = first->next_done)
		note_done(cpu, first);
}

/*
 * The next I/O that the drive is done with, or NULL. All take the same time in
 * the drive, so the first one issued is the first one done.
 */
static struct bench_io *next_done(struct bench_cpu *cpu)
{
	struct bench_io *io;

	collect_from_others(cpu);
	if (cpu->done_first == cpu->done_end)
		return NULL;
	io = cpu->done[cpu->done_first % cpu->machine->load.depth];
	if (io->due_ns && bench_now_ns() < io->due_ns)
		return NULL;
	cpu->done_first++;
	CHECK(io->state == BENCH_IO_IN_DEVICE);
	CHECK(io->cpu == cpu->index);
	io->state = BENCH_IO_IDLE;
	return io;
}

/* ---- the steps ---- */

static void work(u64 ns)
{
	u64 until = __rdtsc() + (u64)((double)ns * bench_ticks_per_ns());

	while (ns && __rdtsc() < until)
		;
}

static void fill(struct bench_cpu *cpu, struct bench_io *io, u64 now_ns)
{
	u64 random = next_random(&cpu->random);

	CHECK(io->state == BENCH_IO_IDLE);
	io->state = BENCH_IO_SUBMITTED;
	io->sector = random % SECTOR_STEPS * SECTOR_STEP;
	io->sectors = IO_SECTORS;
	io->write = (random >> 32) % 100 < cpu->machine->load.write_percent;
	io->critical = cpu->critical;
	io->start_ns = now_ns;
	io->cpu = (u16)cpu->index;
	io->queue = (u16)cpu->queue;
}

static enum bench_phase submit(struct bench_cpu *cpu)
{
	const struct bench_load *load = &cpu->machine->load;
	u64 now_ns;

	if (__atomic_load_n(&cpu->machine->drains, __ATOMIC_RELAXED) ||
	    cpu->idle_count < load->plug)
		return BENCH_REAP;
	work(load->plug * load->work_ns);
	now_ns = bench_now_ns();
	for (u32 i = 0; i < load->plug; i++) {
		cpu->batch[i] = cpu->idle[--cpu->idle_count];
		fill(cpu, cpu->batch[i], now_ns);
	}
	cpu->batch_count = load->plug;
	cpu->submitted += load->plug;
	cpu->looked_up = 0;
	return load->look_up && cpu->machine->policy->look_up ? BENCH_LOOK_UP :
								BENCH_INSERT;
}

static enum bench_phase look_up(struct bench_cpu *cpu)
{
	const struct bench_machine *machine = cpu->machine;

	/* No two I/Os are neighbours. */
	CHECK(!machine->policy->look_up(machine->state, cpu->queue,
					cpu->batch[cpu->looked_up++]));
	return cpu->looked_up < cpu->batch_count ? BENCH_LOOK_UP :
						   BENCH_INSERT;
}

static enum bench_phase begin_run(struct bench_cpu *cpu)
{
	cpu->runs = 0;
	cpu->wants_run = false;
	return BENCH_RUN;
}

static enum bench_phase insert(struct bench_cpu *cpu)
{
	const struct bench_machine *machine = cpu->machine;

	machine->policy->insert(machine->state, cpu->queue, cpu->batch,
				cpu->batch_count);
	return begin_run(cpu);
}

static void kick(struct bench_machine *machine, u32 queue)
{
	struct bench_cpu *cpu = &machine->cpus[queue];

	/* The first CPU of a queue has its number; queues may have no CPU. */
	if (queue < machine->load.cpus)
		__atomic_store_n(&cpu->kicked, true, __ATOMIC_RELEASE);
}

static void run_queue(struct bench_cpu *cpu, u32 queue)
{
	if (queue == BENCH_NO_QUEUE)
		return;
	if (queue == BENCH_ALL_QUEUES) {
		for (u32 i = 0; i < cpu->machine->load.queues; i++)
			run_queue(cpu, i);
		return;
	}
	if (queue != BENCH_THIS_CPUS_QUEUE && cpu->machine->policy->turn_ns)
		cpu->turn_at_ns = bench_now_ns() +
				  cpu->machine->policy->turn_ns;
	if (queue == BENCH_THIS_CPUS_QUEUE || queue == cpu->queue)
		cpu->wants_run = true;
	else
		kick(cpu->machine, queue);
}

static void set_timer(struct bench_cpu *cpu, u64 retry_ns)
{
	const struct bench_machine *machine = cpu->machine;

	if (retry_ns == BENCH_AT_ONCE)
		run_queue(cpu, machine->policy->retry(machine->state,
						      bench_now_ns()));
	else if (retry_ns)
		cpu->retry_at_ns = retry_ns;
}

static enum bench_phase run(struct bench_cpu *cpu)
{
	const struct bench_machine *machine = cpu->machine;
	struct bench_io *io;
	u64 retry_ns;

	if (cpu->runs++ >= RUNS_MOST ||
	    !machine->policy->has_work(machine->state, cpu->queue))
		return BENCH_REAP;
	io = machine->policy->dispatch(machine->state, cpu->queue, &retry_ns);
	set_timer(cpu, retry_ns);
	if (!io)
		return BENCH_REAP;
	bench_issue(io);
	return BENCH_RUN;
}

static void reap_timer(struct bench_cpu *cpu, u64 *at_ns)
{
	struct bench_machine *machine = cpu->machine;
	u64 now_ns;

	if (!*at_ns)
		return;
	now_ns = bench_now_ns();
	if (now_ns < *at_ns)
		return;
	*at_ns = 0;
	run_queue(cpu, machine->policy->retry(machine->state, now_ns));
}

static enum bench_phase reap(struct bench_cpu *cpu)
{
	struct bench_machine *machine = cpu->machine;
	struct bench_io *io = next_done(cpu);

	if (io) {
		run_queue(cpu, machine->policy->completed(machine->state, io,
							  bench_now_ns()));
		cpu->completed++;
		cpu->idle[cpu->idle_count++] = io;
		return BENCH_REAP;
	}
	reap_timer(cpu, &cpu->retry_at_ns);
	reap_timer(cpu, &cpu->turn_at_ns);
	if (__atomic_load_n(&cpu->kicked, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(&cpu->kicked, false, __ATOMIC_ACQUIRE))
		cpu->wants_run = true;
	return cpu->wants_run ? begin_run(cpu) : BENCH_SUBMIT;
}

static u64 earlier(u64 at_ns, u64 other_ns)
{
	return other_ns && other_ns < at_ns ? other_ns : at_ns;
}

u64 bench_cpu_next_ns(const struct bench_cpu *cpu)
{
	const struct bench_machine *machine = cpu->machine;
	u64 at_ns = earlier(earlier(~0ULL, cpu->retry_at_ns), cpu->turn_at_ns);
	bool submits = !machine->drains &&
		       cpu->idle_count >= machine->load.plug;

	if (cpu->phase == BENCH_INSERT || cpu->phase == BENCH_LOOK_UP ||
	    cpu->phase == BENCH_RUN || cpu->from_others || cpu->kicked ||
	    cpu->wants_run || submits)
		return 0;
	if (cpu->done_first == cpu->done_end)
		return at_ns;
	return smaller(at_ns,
		       cpu->done[cpu->done_first % machine->load.depth]->due_ns);
}

void bench_cpu_step(struct bench_cpu *cpu)
{
	static enum bench_phase (*const steps[])(struct bench_cpu *) = {
		[BENCH_SUBMIT] = submit,
		[BENCH_LOOK_UP] = look_up,
		[BENCH_INSERT] = insert,
		[BENCH_RUN] = run,
		[BENCH_REAP] = reap,
	};

	this_cpu = cpu;
	cpu->phase = steps[cpu->phase](cpu);
}
