// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../queue.h"
#include "check.h"
#include "model_tenants.h"

#define SECOND 1000000000ULL
#define CAPACITY_SECTORS (64ULL << 21)
#define IDLE_SLOT (~0U)
/* Latencies are counted in steps of a 32nd. */
#define STEPS 32
#define BUCKETS (64 * STEPS)

/* One I/O at a time of a tenant. */
struct io {
	struct fgio_request request;
	struct io *next; /* in a FIFO of a rival */
	u32 tenant;
	u64 due_ns; /* when it is requested next */
	u64 asked_ns;
	u32 heap_place;
};

struct stream {
	u64 planned;
	u64 position;
	u64 next_ns; /* of a rate */
	double start; /* start tag of a rival */
	struct io *first, *last;
	u32 buckets[BUCKETS];
	u64 ios;
	u64 bytes;
};

struct run {
	const struct tenants *tenants;
	struct tenants_figures *figures;
	struct simdisk_model *model;
	u32 slots;
	struct io **in_slot;
	u32 *free_slot;
	u32 free_slots;
	u64 random;
	u64 now_ns;
	struct io *io;
	u32 ios;
	/* I/Os that wait for their time, a heap. */
	struct io **timer;
	u32 timers;
	struct stream stream[TENANTS_MAX];
	/* A rival's. */
	struct io *first, *last;
	double virtual;
	u32 in_device;
	u32 queued;
	u64 processor_free_ns;
	/* fgio's. */
	struct fgio_queue queue;
	struct fgio_shares shares;
	struct fgio_share_group group[TENANTS_MAX];
	u64 retry_ns;
};

/* ---- timers ---- */

static void place_timer(struct run *run, u32 place, struct io *io)
{
	run->timer[place] = io;
	io->heap_place = place;
}

static void add_timer(struct run *run, struct io *io, u64 due_ns)
{
	u32 place = run->timers++;

	io->due_ns = due_ns;
	while (place && run->timer[(place - 1) / 2]->due_ns > due_ns) {
		place_timer(run, place, run->timer[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	place_timer(run, place, io);
}

static struct io *take_timer(struct run *run)
{
	struct io *first = run->timer[0], *moved = run->timer[--run->timers];
	u32 place = 0, child;

	while ((child = 2 * place + 1) < run->timers) {
		if (child + 1 < run->timers &&
		    run->timer[child + 1]->due_ns < run->timer[child]->due_ns)
			child++;
		if (moved->due_ns <= run->timer[child]->due_ns)
			break;
		place_timer(run, place, run->timer[child]);
		place = child;
	}
	if (run->timers)
		place_timer(run, place, moved);
	return first;
}

/* ---- streams ---- */

static bool is_fgio(const struct run *run)
{
	return run->tenants->policy >= TENANTS_FGIO;
}

static void push(struct io **first, struct io **last, struct io *io)
{
	io->next = NULL;
	if (*first)
		(*last)->next = io;
	else
		*first = io;
	*last = io;
}

static u64 next_sector(struct run *run, const struct tenant *tenant,
		       struct stream *stream)
{
	u32 sectors = tenant->bytes / SIMDISK_SECTOR_BYTES;
	u64 sector;

	if (!tenant->sequential)
		return next_random(&run->random) %
		       (CAPACITY_SECTORS / sectors) * sectors;
	sector = stream->position;
	stream->position += sectors;
	if (stream->position + sectors > CAPACITY_SECTORS)
		stream->position = 0;
	return sector;
}

static struct fgio_share_group *group_of(struct run *run, u32 tenant)
{
	while (run->tenants->tenant[tenant].joins)
		tenant--;
	return &run->group[tenant];
}

static void request_io(struct run *run, struct io *io)
{
	const struct tenant *tenant = &run->tenants->tenant[io->tenant];
	struct stream *stream = &run->stream[io->tenant];

	io->asked_ns = io->due_ns;
	io->request = (struct fgio_request){
		.sector = next_sector(run, tenant, stream),
		.sectors = tenant->bytes / SIMDISK_SECTOR_BYTES,
		.write = tenant->write,
		.class = tenant->critical ? FGIO_CRITICAL : FGIO_NONCRITICAL,
		.queued_ns = run->now_ns,
	};
	fgio_list_init(&io->request.link);
	run->queued++;
	if (run->tenants->policy == TENANTS_FGIO) {
		fgio_queue_insert_of(&run->queue, &io->request,
				     group_of(run, io->tenant), false);
	} else if (is_fgio(run)) {
		fgio_queue_insert(&run->queue, &io->request, false);
	} else if (run->tenants->policy == TENANTS_SFQ) {
		if (!stream->first)
			stream->start = fmax(stream->start, run->virtual);
		push(&stream->first, &stream->last, io);
	} else {
		push(&run->first, &run->last, io);
	}
}

/* Time to the next request of a rate. */
static u64 interval_ns(struct run *run, const struct tenant *tenant)
{
	double mean_ns = tenant->bytes * 1e9 / tenant->bytes_per_s;
	double random = (double)(next_random(&run->random) >> 11) / (1LL << 53);

	return (u64)(tenant->uneven ? -log1p(-random) * mean_ns : mean_ns);
}

/* When a task that its I/O woke has done its work. */
static u64 worked_ns(struct run *run, const struct tenant *tenant, u64 from_ns)
{
	double copies_ns = run->tenants->copy_ns * tenant->bytes / 1024;

	if (copies_ns > 0) {
		if (from_ns < run->processor_free_ns)
			from_ns = run->processor_free_ns;
		from_ns += (u64)copies_ns;
		run->processor_free_ns = from_ns + tenant->think_ns;
	}
	return from_ns + tenant->think_ns;
}

static void plan_io(struct run *run, struct io *io, u64 from_ns)
{
	const struct tenant *tenant = &run->tenants->tenant[io->tenant];
	struct stream *stream = &run->stream[io->tenant];
	u64 due_ns = worked_ns(run, tenant, from_ns);

	if (stream->planned++ % 2)
		due_ns += tenant->rest_ns;
	if (tenant->bytes_per_s > 0) {
		if (due_ns < stream->next_ns)
			due_ns = stream->next_ns;
		/* A pause is not made up for. */
		stream->next_ns = due_ns + interval_ns(run, tenant);
	}
	if (tenant->end_ns && due_ns >= tenant->end_ns)
		return;
	add_timer(run, io, due_ns);
}

/* ---- policies ---- */

static struct io *next_of_sfq(struct run *run)
{
	const struct tenants *tenants = run->tenants;
	struct stream *least = NULL;
	struct io *io;
	u32 i;

	if (run->in_device >= tenants->depth)
		return NULL;
	for (i = 0; i < tenants->count; i++) {
		struct stream *stream = &run->stream[i];

		if (stream->first && (!least || stream->start < least->start))
			least = stream;
	}
	if (!least)
		return NULL;
	io = least->first;
	least->first = io->next;
	run->virtual = least->start;
	least->start += (double)tenants->tenant[io->tenant].bytes /
			tenants->tenant[io->tenant].weight;
	return io;
}

static struct io *next_in_order(struct run *run)
{
	struct io *io = run->first;

	if (io)
		run->first = io->next;
	return io;
}

/* Costs are as if they had been learnt: what each I/O takes of a full drive. */
static void impose_costs(struct run *run)
{
	const struct tenants *tenants = run->tenants;
	struct fgio_share_cost *cost = &run->shares.cost;

	for (u32 i = 0; tenants->known && i < tenants->count; i++) {
		const struct tenant *tenant = &tenants->tenant[i];
		u8 kind = fgio_share_kind(tenant->write, tenant->sequential);
		double bytes = 4096;

		/* Of the sizes below and above, in proportion. */
		for (u32 node = 0; node < FGIO_SHARE_SIZES; node++, bytes *= 4)
			if (bytes < 4 * tenant->bytes &&
			    4 * bytes > tenant->bytes)
				cost->node_ns[kind][node] =
					cost->charged_ns[kind][node] =
						(u32)(1e9 * bytes /
						      tenants->known[i]);
	}
}

static struct io *next_of_fgio(struct run *run)
{
	bool timed = fgio_queue_needs_clock(&run->queue);
	struct fgio_request *request;

	impose_costs(run);
	request = fgio_queue_next(&run->queue, timed ? run->now_ns : 0, NULL);
	run->retry_ns = request ? 0 : fgio_queue_retry_ns(&run->queue);
	return request ? fgio_container_of(request, struct io, request) : NULL;
}

static struct io *next_io(struct run *run)
{
	if (!run->queued)
		return NULL;
	switch (run->tenants->policy) {
	case TENANTS_NONE:
		return next_in_order(run);
	case TENANTS_SFQ:
		return next_of_sfq(run);
	default:
		return next_of_fgio(run);
	}
}

static void dispatch(struct run *run)
{
	u32 queues = run->tenants->drive->hw_queues;
	struct io *io;

	while (run->free_slots && (io = next_io(run))) {
		u32 slot = run->free_slot[--run->free_slots];
		struct simdisk_request request = {
			.operation = io->request.write ? SIMDISK_WRITE :
							 SIMDISK_READ,
			.sector = io->request.sector,
			.sectors = io->request.sectors,
			.hw_queue = (u16)(slot %
					  run->tenants->drive->hw_queues),
		};
		u32 number = slot % queues * run->tenants->drive->queue_depth +
			     slot / queues;

		CHECK(simdisk_submit(run->model, run->now_ns, number,
				     &request));
		run->in_slot[number] = io;
		run->queued--;
		run->in_device++;
	}
}

static u32 bucket_of(u64 ns)
{
	double steps = log2((double)(ns + 1)) * STEPS;

	return steps < BUCKETS ? (u32)steps : BUCKETS - 1;
}

static void measure(struct run *run, const struct io *io)
{
	const struct tenants *tenants = run->tenants;
	struct stream *stream = &run->stream[io->tenant];
	u64 second;

	if (run->now_ns < tenants->begin_ns || run->now_ns >= tenants->end_ns)
		return;
	second = (run->now_ns - tenants->begin_ns) / SECOND;
	CHECK(second < TENANTS_SECONDS_MAX);
	stream->bytes += tenants->tenant[io->tenant].bytes;
	run->figures->group[io->tenant].second[second] +=
		tenants->tenant[io->tenant].bytes;
	stream->buckets[bucket_of(run->now_ns - io->asked_ns)]++;
	stream->ios++;
}

static void complete(struct run *run, u32 number)
{
	u32 queues = run->tenants->drive->hw_queues;
	u32 depth = run->tenants->drive->queue_depth;
	struct io *io = run->in_slot[number];

	run->in_slot[number] = NULL;
	run->free_slot[run->free_slots++] =
		number / depth + number % depth * queues;
	run->in_device--;
	if (is_fgio(run) && fgio_queue_left_device(&run->queue, &io->request,
						   run->now_ns))
		run->retry_ns = 0;
	measure(run, io);
	plan_io(run, io, run->now_ns);
}

static double percentile(const struct stream *stream, double share)
{
	u64 before = 0;
	u32 i = 0;

	while (i < BUCKETS &&
	       (double)(before += stream->buckets[i]) <
		       share * (double)stream->ios)
		i++;
	return exp2((i + 1.0) / STEPS);
}

static void begin(struct run *run)
{
	const struct tenants *tenants = run->tenants;
	const struct simdisk_parameters *drive = tenants->drive;
	u32 i, j;

	run->slots = drive->hw_queues * drive->queue_depth;
	run->in_slot = calloc(run->slots, sizeof(*run->in_slot));
	run->free_slot = calloc(run->slots, sizeof(*run->free_slot));
	CHECK(run->in_slot && run->free_slot);
	for (i = run->slots; i-- > 0;)
		run->free_slot[run->free_slots++] = i;
	fgio_queue_init(&run->queue, drive->rotational);
	fgio_shares_init(&run->shares, drive->rotational);
	if (tenants->no_turns)
		run->shares.trial.wait = ~0U;
	if (tenants->policy == TENANTS_FGIO)
		fgio_queue_set_shares(&run->queue, &run->shares);
	for (i = 0; i < tenants->count; i++) {
		fgio_share_group_init(&run->group[i],
				      fgio_shares_weight(
					      tenants->tenant[i].weight));
		run->ios += tenants->tenant[i].depth;
		run->stream[i].position = CAPACITY_SECTORS / TENANTS_MAX * i;
	}
	run->io = calloc(run->ios, sizeof(*run->io));
	run->timer = calloc(run->ios, sizeof(struct io *));
	CHECK(run->io && run->timer);
	for (i = 0, run->ios = 0; i < tenants->count; i++) {
		for (j = 0; j < tenants->tenant[i].depth; j++) {
			struct io *io = &run->io[run->ios++];

			io->tenant = i;
			plan_io(run, io, tenants->tenant[i].begin_ns +
					 next_random(&run->random) % 1000);
		}
	}
}

static u64 next_time(const struct run *run)
{
	u64 at_ns = simdisk_next_event(run->model);

	if (run->timers && run->timer[0]->due_ns < at_ns)
		at_ns = run->timer[0]->due_ns;
	if (run->retry_ns && run->retry_ns < at_ns)
		at_ns = run->retry_ns;
	return at_ns > run->now_ns ? at_ns : run->now_ns;
}

static void step(struct run *run)
{
	struct simdisk_completion done;

	run->now_ns = next_time(run);
	while (simdisk_advance(run->model, run->now_ns, &done, 1))
		complete(run, done.slot);
	while (run->timers && run->timer[0]->due_ns <= run->now_ns)
		request_io(run, take_timer(run));
	if (run->retry_ns && run->retry_ns <= run->now_ns) {
		run->retry_ns = 0;
		fgio_queue_retry(&run->queue);
	}
	if (!is_fgio(run) || fgio_queue_has_work(&run->queue))
		dispatch(run);
}

void tenants_run(const struct tenants *tenants, struct tenants_figures *figures)
{
	double seconds = (double)(tenants->end_ns - tenants->begin_ns) / 1e9;
	struct run *run = calloc(1, sizeof(*run));
	void *memory = calloc(1, simdisk_bytes(tenants->drive));
	const char *wrong = simdisk_check(tenants->drive, CAPACITY_SECTORS);

	CHECK(run && memory && !wrong);
	memset(figures, 0, sizeof(*figures));
	run->tenants = tenants;
	run->figures = figures;
	run->random = tenants->seed;
	run->now_ns = 1;
	run->model = simdisk_create(memory, tenants->drive, CAPACITY_SECTORS,
				    tenants->seed);
	begin(run);
	while (run->now_ns < tenants->end_ns)
		step(run);
	for (u32 i = 0; i < tenants->count; i++) {
		struct tenant_figures *group = &figures->group[i];

		group->bytes_per_s = (double)run->stream[i].bytes / seconds;
		group->p50_ns = percentile(&run->stream[i], 0.5);
		group->p99_ns = percentile(&run->stream[i], 0.99);
		group->p999_ns = percentile(&run->stream[i], 0.999);
		figures->bytes_per_s += group->bytes_per_s;
	}
	figures->limit = run->shares.limit.limit;
	figures->has_turns = run->shares.reads.has_turns;
	free(run->in_slot);
	free(run->free_slot);
	free(run->timer);
	free(run->io);
	free(run);
	free(memory);
}
