// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A shard's drive, and the queue before it. */
#include "model_fleet_internal.h"

#include <stdlib.h>

#include "check.h"

static bool is_fgio(const struct run *run)
{
	return run->fleet->policy >= FLEET_UNORDERED;
}

static u32 new_io(struct run *run)
{
	u32 io = run->free_io;

	if (io != NONE) {
		run->free_io = run->io[io].next_free;
		return io;
	}
	/* Requests are linked by address: the pool must not move. */
	CHECK(run->ios < run->io_room);
	return run->ios++;
}

static struct io *next_of_fgio(struct run *run, struct shard *shard)
{
	bool timed = fgio_queue_needs_clock(&shard->queue);
	struct fgio_request *request;

	if (run->fleet->window && !shard->by_request &&
	    shard->critical_in_device >= run->fleet->window)
		return NULL;
	request = fgio_queue_next(&shard->queue, timed ? run->now_ns : 0, NULL);
	return request ? fgio_container_of(request, struct io, request) : NULL;
}

static void send(struct run *run, struct shard *shard, struct io *io)
{
	u32 slot = shard->free_slot[--shard->slots];

	shard->io_in_slot[slot] = (u32)(io - run->io);
	shard->critical_in_device += io->part != NONE;
	CHECK(simdisk_submit(shard->model, run->now_ns, slot,
			     &(struct simdisk_request){
				     .operation = io->request.write ?
							  SIMDISK_WRITE :
							  SIMDISK_READ,
				     .sector = io->request.sector,
				     .sectors = io->request.sectors,
			     }));
}

/* Sends what may go, and plans when to look again. */
void fleet_run_drive(struct run *run, u32 index)
{
	struct shard *shard = &run->shard[index];
	u64 due_ns, retry_ns = 0;
	struct io *io;

	while (shard->slots) {
		io = is_fgio(run) ? next_of_fgio(run, shard) :
				    fleet_next_of_kernel(run, shard);
		if (!io)
			break;
		send(run, shard, io);
	}
	due_ns = simdisk_next_event(shard->model);
	if (is_fgio(run) && shard->slots)
		retry_ns = fgio_queue_retry_ns(&shard->queue);
	shard->retries = retry_ns && retry_ns < due_ns;
	if (shard->retries)
		due_ns = retry_ns;
	if (due_ns == SIMDISK_NEVER) {
		shard->due_ns = due_ns;
		return;
	}
	if (due_ns < run->now_ns)
		due_ns = run->now_ns;
	if (due_ns == shard->due_ns)
		return;
	shard->due_ns = due_ns;
	fleet_plan(run, DRIVE, index, due_ns);
}

void fleet_insert(struct run *run, u32 index, struct fgio_request request,
		  u32 part, u32 stream)
{
	struct shard *shard = &run->shard[index];
	u32 at = new_io(run);
	struct io *io = &run->io[at];

	*io = (struct io){
		.request = request,
		.shard = index,
		.part = part,
		.stream = stream,
	};
	io->request.queued_ns = run->now_ns;
	fgio_list_init(&io->request.link);
	if (is_fgio(run))
		fgio_queue_insert(&shard->queue, &io->request, false);
	else
		fgio_list_add_tail(
			&shard->fifo[run->fleet->policy == FLEET_DEADLINE &&
				     request.write],
			&io->request.link);
}

static void complete(struct run *run, u32 index, u32 slot)
{
	struct shard *shard = &run->shard[index];
	u32 at = shard->io_in_slot[slot];
	struct io io = run->io[at];

	shard->free_slot[shard->slots++] = slot;
	shard->critical_in_device -= io.part != NONE;
	if (is_fgio(run))
		fgio_queue_left_device(&shard->queue, &run->io[at].request,
				       run->now_ns);
	run->io[at].next_free = run->free_io;
	run->free_io = at;
	if (io.part == NONE)
		fleet_end_background(run, index, &io);
	else
		fleet_step_part(run, io.part);
}

void fleet_wake_drive(struct run *run, u32 index, u64 at_ns)
{
	struct shard *shard = &run->shard[index];
	struct simdisk_completion completions[16];
	u32 count;

	/* Another event was planned since. */
	if (shard->due_ns != at_ns)
		return;
	shard->due_ns = 0;
	if (shard->retries)
		fgio_queue_retry(&shard->queue);
	do {
		count = simdisk_advance(shard->model, run->now_ns, completions,
					ARRAY_SIZE(completions));
		for (u32 i = 0; i < count; i++)
			complete(run, index, completions[i].slot);
	} while (count == ARRAY_SIZE(completions));
	fleet_run_drive(run, index);
}

void fleet_begin_shard(struct run *run, u32 index)
{
	const struct fleet *fleet = run->fleet;
	struct simdisk_parameters drive = *fleet->drive;
	struct shard *shard = &run->shard[index];
	void *memory;

	if (index < fleet->slow) {
		/* From its first moment on. */
		drive.variation.turn_ns = 1;
		drive.variation.turn_speed_ppm =
			(u32)(SIMDISK_PPM / fleet->slow_factor);
	}
	memory = calloc(1, simdisk_bytes(&drive));
	shard->io_in_slot = calloc(drive.queue_depth, sizeof(u32));
	shard->free_slot = calloc(drive.queue_depth, sizeof(u32));
	CHECK(memory && shard->io_in_slot && shard->free_slot);
	shard->model = simdisk_create(memory, &drive, CAPACITY_SECTORS,
				      next_random(&run->random));
	CHECK(memory == shard->model);
	for (shard->slots = 0; shard->slots < drive.queue_depth; shard->slots++)
		shard->free_slot[shard->slots] = shard->slots;
	fgio_list_init(&shard->fifo[0]);
	fgio_list_init(&shard->fifo[1]);
	fgio_queue_init(&shard->queue, drive.rotational);
	if (fleet->policy > FLEET_UNORDERED) {
		shard->by_request = calloc(1, sizeof(*shard->by_request));
		CHECK(shard->by_request);
		fgio_request_order_init(shard->by_request,
					fleet->policy == FLEET_ORDERED ?
						fleet->order :
						FGIO_BY_ARRIVAL);
		shard->by_request->bound.fixed = fleet->window;
		fgio_request_order_set_clock(shard->by_request, REAL_NS);
		fgio_hw_queue_set_request_order(&shard->queue.own,
						shard->by_request);
	}
	fleet_plan_phase(run, index);
}

void fleet_end_shard(struct shard *shard)
{
	free(shard->model);
	free(shard->by_request);
	free(shard->io_in_slot);
	free(shard->free_slot);
}
