/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the parts of the simulated fleet share: model_fleet.h is for others. */
#ifndef FGIO_CORE_TESTS_MODEL_FLEET_INTERNAL_H
#define FGIO_CORE_TESTS_MODEL_FLEET_INTERNAL_H

#include <stddef.h>

#include "../queue.h"
#include "model_fleet.h"

#define SECOND 1000000000ULL
#define MILLISECOND 1000000ULL
#define CAPACITY_SECTORS (16ULL << 21)
#define READ_SECTORS 16 /* a page of 8 KiB */
/* Stamps of proxies are compared as numbers: long before ids wrap. */
#define REAL_NS (1000000000ULL * SECOND)
#define NONE (~0U)

/*
 * struct io - one I/O; a background stream's own, or of a part
 * @part: NONE: background
 * @stream: of a recorded load's background; NONE: none
 */
struct io {
	struct fgio_request request;
	u32 shard;
	u32 part;
	u32 stream;
	u32 next_free;
};

/*
 * struct part - of a request, on one shard
 * @left: reads that are not done
 * @unsent: reads that were not begun
 * @busy: reads under way, or planned
 * @of: number of the part among the request's
 * @think_ns: between two reads
 * @end_ns: from the end of the last read to its own
 */
struct part {
	u32 request;
	u32 shard;
	u32 left;
	u32 unsent;
	u32 busy;
	u32 of;
	u32 next_free;
	u64 think_ns;
	u64 end_ns;
};

/*
 * struct user_request - of a user
 * @arrived_ns: when it was due, even if no client was free
 * @last_end_ns: of a part
 * @tail_ns: from there to its own end
 * @parts: not done
 * @running: parts and their copies that run, done or not; one more until it ended
 * @reads: of each of its parts, at first
 * @done: by part
 */
struct user_request {
	u64 id;
	u64 arrived_ns;
	u64 first_end_ns;
	u64 last_end_ns;
	u64 tail_ns;
	u32 parts;
	u32 running;
	u32 next_free;
	u32 proxy;
	bool liar;
	bool huge;
	bool measured;
	u32 *shard;
	u32 *reads;
	u32 *left;
	bool *done;
};

struct shard {
	struct simdisk_model *model;
	struct fgio_queue queue;
	struct fgio_request_order *by_request;
	struct fgio_list fifo[2]; /* of the kernel's schedulers */
	u64 position[2];
	u32 run, starved;
	bool write;
	u32 critical_in_device;
	u32 slots;
	u32 *io_in_slot;
	u32 *free_slot;
	u64 due_ns; /* of its event that counts */
	u64 last_stamp; /* the latest that it was told of */
	u64 scanned;
	bool retries;
};

enum kind {
	ARRIVAL,
	PART,
	READ,
	PART_END,
	REQUEST_END,
	DRIVE,
	PHASE,
	BACKGROUND,
	HEDGE,
};

struct event {
	u64 at_ns;
	u64 number; /* of its making: a stable order */
	enum kind kind;
	u32 index;
};

/*
 * struct stream - what a recorded stream of background has done
 * @sent: its I/Os that were sent
 * @under_way: of them, that are not done
 */
struct stream {
	u32 sent, under_way;
};

struct run {
	const struct fleet *fleet;
	struct fleet_figures *figures;
	struct shard *shard;
	struct event *heap;
	u32 events, heap_room;
	u64 made;
	u64 now_ns;
	u64 random;
	u64 arrivals; /* draws requests, the same under each policy */
	struct io *io;
	u32 ios, io_room, free_io;
	struct part *part;
	u32 parts, part_room, free_part;
	struct user_request *request;
	u32 requests, request_room, free_request;
	u32 outstanding;
	u32 due, begun; /* of a recorded load's requests */
	bool all_came; /* of a random load's requests */
	struct stream *stream; /* of its background */
	u64 *last_stamp; /* by proxy */
	double *latency, *gap, *liars;
	u32 latencies, latency_room, liar_count, liar_room;
	u64 last_end_ns;
	double background_bytes;
	double read_ns; /* of one, on a drive that is kept busy */
};

/* model_fleet_events.c */

/* A larger copy of an array; @room grows with it. */
void *fleet_grow(void *members, u32 *room, size_t bytes);

void fleet_plan(struct run *run, enum kind kind, u32 index, u64 at_ns);

/* The earliest event that is planned, of which there has to be one. */
struct event fleet_take_event(struct run *run);

u64 fleet_exponential(u64 *random, double mean_ns);

/* model_fleet_kernel.c */

/* What none or mq-deadline sends next, taken off its queue; NULL: nothing. */
struct io *fleet_next_of_kernel(struct run *run, struct shard *shard);

/* model_fleet_drive.c */

void fleet_begin_shard(struct run *run, u32 index);
void fleet_end_shard(struct shard *shard);

/* Queues an I/O, of a part or (NONE) of the background, of a recorded stream or not. */
void fleet_insert(struct run *run, u32 index, struct fgio_request request,
		  u32 part, u32 stream);

/* Sends what may go, and plans when to look again. */
void fleet_run_drive(struct run *run, u32 index);

/* The event that fleet_run_drive() planned. */
void fleet_wake_drive(struct run *run, u32 index, u64 at_ns);

/* model_fleet_background.c */

/* Plans the first burst of a shard that has any. */
void fleet_plan_phase(struct run *run, u32 shard);

void fleet_begin_phase(struct run *run, u32 shard);

/* Plans the first I/O of each stream of a recorded load. */
void fleet_begin_background(struct run *run);

void fleet_send_background(struct run *run, u32 stream);
void fleet_end_background(struct run *run, u32 shard, const struct io *io);

/* model_fleet_requests.c */

void fleet_arrive(struct run *run);

/* Plans the next request of a recorded load. */
void fleet_plan_recorded(struct run *run);

/* Begins those that are due, as far as clients are free. */
void fleet_begin_waiting(struct run *run);

void fleet_begin_part(struct run *run, u32 at);

/* A read of a part is done. */
void fleet_step_part(struct run *run, u32 at);

/* A part goes on after a pause. */
void fleet_go_on(struct run *run, u32 at);

void fleet_hedge(struct run *run, u32 at);
void fleet_end_part(struct run *run, u32 at);
void fleet_end_request(struct run *run, u32 index);

#endif
