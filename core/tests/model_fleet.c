// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "model_fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../queue.h"
#include "../request_id.h"
#include "check.h"

#define SECOND 1000000000ULL
#define MILLISECOND 1000000ULL
#define CAPACITY_SECTORS (16ULL << 21)
#define READ_SECTORS 16 /* a page of 8 KiB */
#define CHECKPOINT_SECTORS 256
#define SCAN_SECTORS 256
#define CHECKPOINT_DEPTH 8
#define SCAN_DEPTH 2
#define PHASE_NS (500 * MILLISECOND)
#define THINK_NS 20000 /* of a shard, between two reads */
#define NETWORK_NS 50000
#define NETWORK_JITTER_NS 50000 /* mean, exponential */
/* Stamps of proxies are compared as numbers: long before ids wrap. */
#define REAL_NS (1000000000ULL * SECOND)
#define LIE_MS 10000
#define NONE (~0U)
/* The least work goes first, but a request that waits this times as long. */
#define WORK_WEIGHT 4

/* mq-deadline's */
#define RUN 16
#define READ_RUNS_BEFORE_WRITES 2
#define READ_NS 500000000ULL
#define WRITE_NS 5000000000ULL

/*
 * struct io - one I/O; a background stream's own, or of a part
 * @part: NONE: background
 */
struct io {
	struct fgio_request request;
	u32 shard;
	u32 part;
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

/* A pool whose members are reused; grows. */
struct pool {
	void *members;
	u32 count, room, free;
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
	u32 background; /* I/Os of its background that were sent */
	u64 *last_stamp; /* by proxy */
	double *latency, *gap, *liars;
	u32 latencies, latency_room, liar_count, liar_room;
	u64 last_end_ns;
	double background_bytes;
	double read_ns; /* of one, on a drive that is kept busy */
};

/* ---- the machinery ---- */

static void *grow(void *members, u32 *room, size_t bytes)
{
	*room = *room ? 2 * *room : 1024;
	members = realloc(members, *room * bytes);
	CHECK(members);
	return members;
}

static bool is_earlier(const struct event *one, const struct event *other)
{
	return one->at_ns != other->at_ns ? one->at_ns < other->at_ns :
					    one->number < other->number;
}

static void plan(struct run *run, enum kind kind, u32 index, u64 at_ns)
{
	struct event event = { at_ns, run->made++, kind, index };
	u32 at = run->events++;

	if (run->events > run->heap_room)
		run->heap = grow(run->heap, &run->heap_room, sizeof(event));
	for (; at && is_earlier(&event, &run->heap[(at - 1) / 2]);
	     at = (at - 1) / 2)
		run->heap[at] = run->heap[(at - 1) / 2];
	run->heap[at] = event;
}

static struct event take_event(struct run *run)
{
	struct event first = run->heap[0], last = run->heap[--run->events];
	u32 at = 0, child;

	while ((child = 2 * at + 1) < run->events) {
		if (child + 1 < run->events &&
		    is_earlier(&run->heap[child + 1], &run->heap[child]))
			child++;
		if (!is_earlier(&run->heap[child], &last))
			break;
		run->heap[at] = run->heap[child];
		at = child;
	}
	run->heap[at] = last;
	return first;
}

static u64 exponential(u64 *random, double mean_ns)
{
	double uniform = ((double)(next_random(random) >> 11) + 0.5) * 0x1p-53;

	return (u64)(-log(uniform) * mean_ns);
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

static u32 new_part(struct run *run)
{
	u32 part = run->free_part;

	if (part != NONE) {
		run->free_part = run->part[part].next_free;
		return part;
	}
	if (run->parts == run->part_room)
		run->part = grow(run->part, &run->part_room, sizeof(*run->part));
	return run->parts++;
}

static u32 new_request(struct run *run)
{
	u32 fanout = run->fleet->fanout, request = run->free_request;
	struct user_request *made;

	if (request != NONE) {
		run->free_request = run->request[request].next_free;
		return request;
	}
	if (run->requests == run->request_room)
		run->request = grow(run->request, &run->request_room,
				    sizeof(*run->request));
	made = &run->request[run->requests];
	made->shard = calloc(fanout, sizeof(u32));
	made->reads = calloc(fanout, sizeof(u32));
	made->left = calloc(fanout, sizeof(u32));
	made->done = calloc(fanout, sizeof(bool));
	CHECK(made->shard && made->reads && made->left && made->done);
	return run->requests++;
}

/* ---- the kernel's schedulers ---- */

static bool is_fgio(const struct run *run)
{
	return run->fleet->policy >= FLEET_UNORDERED;
}

static struct io *io_at(struct fgio_list *node)
{
	return fgio_container_of(node, struct io, request.link);
}

/* The next one on the way up over the sectors, or NULL. */
static struct io *next_up(struct shard *shard, bool write)
{
	struct fgio_list *node, *fifo = &shard->fifo[write];
	struct io *next = NULL;

	for (node = fifo->next; node != fifo; node = node->next) {
		struct io *io = io_at(node);

		if (io->request.sector >= shard->position[write] &&
		    (!next || io->request.sector < next->request.sector))
			next = io;
	}
	return next;
}

static struct io *next_of_deadline(struct shard *shard, u64 now_ns)
{
	bool reads = !fgio_list_empty(&shard->fifo[false]);
	bool writes = !fgio_list_empty(&shard->fifo[true]);
	struct io *io = next_up(shard, shard->write), *up;

	if (io && shard->run < RUN) {
		shard->run++;
		return io;
	}
	if (!reads && !writes)
		return NULL;
	shard->write = !reads ||
		       (writes && shard->starved++ >= READ_RUNS_BEFORE_WRITES);
	if (shard->write)
		shard->starved = 0;
	shard->run = 1;
	io = io_at(shard->fifo[shard->write].next);
	up = next_up(shard, shard->write);
	if (up && now_ns < io->request.queued_ns +
				   (shard->write ? WRITE_NS : READ_NS))
		io = up;
	return io;
}

static struct io *next_of_kernel(struct run *run, struct shard *shard)
{
	struct io *io = NULL;

	if (run->fleet->policy == FLEET_DEADLINE)
		io = next_of_deadline(shard, run->now_ns);
	else if (!fgio_list_empty(&shard->fifo[false]))
		io = io_at(shard->fifo[false].next);
	if (!io)
		return NULL;
	shard->position[io->request.write] = io->request.sector;
	fgio_list_remove(&io->request.link);
	return io;
}

/* ---- a shard's drive ---- */

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
static void run_drive(struct run *run, u32 index)
{
	struct shard *shard = &run->shard[index];
	u64 due_ns, retry_ns = 0;
	struct io *io;

	while (shard->slots) {
		io = is_fgio(run) ? next_of_fgio(run, shard) :
				    next_of_kernel(run, shard);
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
	plan(run, DRIVE, index, due_ns);
}

static void insert(struct run *run, u32 index, struct fgio_request request,
		   u32 part)
{
	struct shard *shard = &run->shard[index];
	u32 at = new_io(run);
	struct io *io = &run->io[at];

	*io = (struct io){ .request = request, .shard = index, .part = part };
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

/* ---- the background ---- */

static bool checkpoints(const struct run *run, u32 shard)
{
	return run->fleet->background && shard % 4 == 0;
}

static bool scans(const struct run *run, u32 shard)
{
	return run->fleet->background && shard % 4 == 2;
}

/* Half of the time, not in step. */
static bool is_on(const struct run *run, u32 shard)
{
	return (run->now_ns + shard * 37 * MILLISECOND) / PHASE_NS % 2;
}

static void write_checkpoint(struct run *run, u32 shard)
{
	u64 count = CAPACITY_SECTORS / CHECKPOINT_SECTORS;

	insert(run, shard,
	       (struct fgio_request){
		       .sector = next_random(&run->random) % count *
				 CHECKPOINT_SECTORS,
		       .sectors = CHECKPOINT_SECTORS,
		       .write = true,
	       },
	       NONE);
}

static void read_scan(struct run *run, u32 shard)
{
	u64 count = CAPACITY_SECTORS / SCAN_SECTORS;

	insert(run, shard,
	       (struct fgio_request){
		       .sector = run->shard[shard].scanned++ % count *
				 SCAN_SECTORS,
		       .sectors = SCAN_SECTORS,
	       },
	       NONE);
}

/* Begins a burst of a shard's background, and plans the next one. */
static void begin_phase(struct run *run, u32 shard)
{
	if (is_on(run, shard)) {
		for (u32 i = 0; checkpoints(run, shard) && i < CHECKPOINT_DEPTH; i++)
			write_checkpoint(run, shard);
		for (u32 i = 0; scans(run, shard) && i < SCAN_DEPTH; i++)
			read_scan(run, shard);
		run_drive(run, shard);
	}
	plan(run, PHASE, shard, run->now_ns + PHASE_NS);
}

static void plan_background(struct run *run)
{
	const struct fleet_load *load = run->fleet->load;

	if (run->background < load->background_count)
		plan(run, BACKGROUND, 0,
		     SECOND + load->background[run->background].at_ns);
}

/* Of a recorded load. */
static void send_background(struct run *run)
{
	const struct fleet_load_io *io =
		&run->fleet->load->background[run->background++];

	insert(run, io->shard,
	       (struct fgio_request){
		       .sector = io->sector % (CAPACITY_SECTORS - io->sectors),
		       .sectors = io->sectors,
		       .write = io->write,
	       },
	       NONE);
	run_drive(run, io->shard);
	plan_background(run);
}

static void end_background(struct run *run, u32 shard, const struct io *io)
{
	run->background_bytes += io->request.sectors * 512.0;
	if (run->fleet->load || !is_on(run, shard))
		return;
	if (io->request.write)
		write_checkpoint(run, shard);
	else
		read_scan(run, shard);
}

/* ---- requests ---- */

static u64 proxy_clock_ns(const struct run *run, u32 proxy)
{
	double part = run->fleet->proxies > 1 ?
			      (double)proxy / (run->fleet->proxies - 1) :
			      0;

	return REAL_NS + run->now_ns +
	       (u64)(part * run->fleet->skew_ms * (double)MILLISECOND);
}

/* As libfgio makes them. */
static u64 make_id(struct run *run, u32 proxy)
{
	u64 stamp = proxy_clock_ns(run, proxy) / MILLISECOND << 12;

	if (stamp <= run->last_stamp[proxy])
		stamp = run->last_stamp[proxy] + 1;
	run->last_stamp[proxy] = stamp;
	return stamp << 12 | proxy % FGIO_REQUEST_ORIGINS;
}

/* What the longest part of a request has left, were it alone on its drive. */
static double longest_ns(const struct run *run, const struct user_request *request)
{
	double longest = 0;

	for (u32 i = 0; i < run->fleet->fanout; i++)
		if (!request->done[i])
			longest = fmax(longest, request->left[i] * run->read_ns);
	return longest;
}

/* Ranks by what no server knows: the reads that all parts have left. */
static u64 oracle_id(const struct run *run, const struct user_request *request,
		     const struct part *part)
{
	double longest = longest_ns(run, request);
	double rank_ns = 0;

	switch (run->fleet->policy) {
	case FLEET_ORACLE_SLACK:
		rank_ns = longest - part->left * run->read_ns;
		break;
	case FLEET_ORACLE_WORK:
		rank_ns = WORK_WEIGHT * longest;
		break;
	default:
		break;
	}
	return fgio_request_id_at(REAL_NS + request->arrived_ns +
				  (u64)rank_ns);
}

/* As fgio_request_seen() does. */
static void see_stamp(const struct run *run, u64 *last_stamp, u64 stamp,
		      u64 clock_ns)
{
	u64 now = clock_ns / MILLISECOND << 12;

	if (stamp > *last_stamp && stamp <= now + (FGIO_REQUEST_AHEAD_MS << 12) &&
	    run->fleet->exchange)
		*last_stamp = stamp;
}

/* Begins a read of a part. */
static void read_next(struct run *run, u32 at)
{
	struct part *part = &run->part[at];
	const struct user_request *request = &run->request[part->request];
	const struct fleet *fleet = run->fleet;
	u64 count = CAPACITY_SECTORS / READ_SECTORS, id = request->id;

	part->unsent--;
	if (fleet->policy > FLEET_ORDERED)
		id = oracle_id(run, request, part);
	else if (fleet->policy != FLEET_ORDERED ||
		 part->shard < fleet->without_ids)
		id = 0;
	insert(run, part->shard,
	       (struct fgio_request){
		       .sector = next_random(&run->random) % count * READ_SECTORS,
		       .sectors = READ_SECTORS,
		       .class = FGIO_CRITICAL,
		       .rank.id = id,
		       .rank.parts = fleet->fanout,
	       },
	       at);
	run_drive(run, part->shard);
}

static bool is_dead(const struct run *run, u32 shard)
{
	u64 third_ns = (run->fleet->end_ns - run->fleet->begin_ns) / 3;

	return shard < run->fleet->dead &&
	       run->now_ns >= run->fleet->begin_ns + third_ns &&
	       run->now_ns < run->fleet->begin_ns + 2 * third_ns;
}

static u32 replica_of(const struct run *run, u32 shard)
{
	return (shard + run->fleet->drives / 2 + 1) % run->fleet->drives;
}

/* A part arrived at its shard, and begins. */
static void begin_part(struct run *run, u32 at)
{
	struct part *part = &run->part[at];
	const struct user_request *request = &run->request[part->request];
	u32 count = run->fleet->width < part->left ? run->fleet->width :
						     part->left;

	if (!request->liar)
		see_stamp(run, &run->shard[part->shard].last_stamp,
			  request->id >> 12, REAL_NS + run->now_ns);
	part->busy = count;
	for (u32 i = 0; i < count; i++)
		read_next(run, at);
	/* In a recorded load: all that it read was in memory. */
	if (!count)
		plan(run, PART_END, at, run->now_ns + part->end_ns);
}

/* Sends part @of of a request to @shard. */
static void send_part(struct run *run, u32 request, u32 of, u32 shard)
{
	u32 at = new_part(run);
	u64 arrives_ns = run->now_ns + NETWORK_NS +
			 exponential(&run->random, NETWORK_JITTER_NS);

	if (is_dead(run, shard)) {
		shard = replica_of(run, shard);
		arrives_ns += FLEET_TIMEOUT_NS;
	}
	run->part[at] = (struct part){
		.request = request,
		.shard = shard,
		.left = run->request[request].reads[of],
		.unsent = run->request[request].reads[of],
		.of = of,
		.think_ns = THINK_NS,
	};
	run->request[request].running++;
	plan(run, PART, at, arrives_ns);
	if (run->fleet->hedge_ms > 0)
		plan(run, HEDGE, at,
		     run->now_ns +
			     (u64)(run->fleet->hedge_ms * (double)MILLISECOND));
}

static void choose_shards(struct run *run, struct user_request *request)
{
	const struct fleet *fleet = run->fleet;
	u32 records = 1 + next_random(&run->arrivals) % fleet->records;
	/* Drawn in any case: the others stay the same. */
	bool huge = next_random(&run->arrivals) % 1000000 < fleet->huge_ppm;
	u32 first = next_random(&run->arrivals) % fleet->drives;
	/* Odd steps meet all of a power of two, others by chance as many. */
	u32 step = fleet->fanout == fleet->drives ?
			   1 :
			   1 + next_random(&run->arrivals) %
				   (fleet->drives / fleet->fanout);

	request->huge = huge;
	if (huge)
		records *= FLEET_HUGE;
	for (u32 i = 0; i < fleet->fanout; i++) {
		request->shard[i] = (first + i * step) % fleet->drives;
		/* The index. */
		request->reads[i] = 1;
		request->done[i] = false;
	}
	for (u32 i = 0; i < records; i++)
		request->reads[next_random(&run->arrivals) % fleet->fanout]++;
	for (u32 i = 0; i < fleet->fanout; i++)
		request->left[i] = request->reads[i];
}

static u32 begin_request(struct run *run, u32 proxy, u64 due_ns)
{
	const struct fleet *fleet = run->fleet;
	u32 at = new_request(run);
	struct user_request *request = &run->request[at];

	request->proxy = proxy;
	request->id = make_id(run, proxy);
	request->arrived_ns = due_ns;
	request->first_end_ns = 0;
	request->tail_ns = 0;
	request->parts = fleet->fanout;
	request->running = 1;
	/* Random ones end with the first one after the end. */
	request->measured = due_ns >= fleet->begin_ns &&
			    (!fleet->load || due_ns < fleet->end_ns);
	request->liar = false;
	request->huge = false;
	if (++run->outstanding > run->figures->outstanding)
		run->figures->outstanding = run->outstanding;
	return at;
}

static void arrive_at_random(struct run *run)
{
	const struct fleet *fleet = run->fleet;
	u32 proxy = next_random(&run->arrivals) % fleet->proxies;
	u32 at = begin_request(run, proxy, run->now_ns);
	struct user_request *request = &run->request[at];

	request->liar = next_random(&run->arrivals) % 1000000 < fleet->liars_ppm;
	if (request->liar)
		request->id -= fgio_request_id_ms(LIE_MS);
	choose_shards(run, request);
	for (u32 i = 0; i < fleet->fanout; i++)
		send_part(run, at, i, run->request[at].shard[i]);
	if (run->now_ns < fleet->end_ns)
		plan(run, ARRIVAL, 0,
		     run->now_ns + 1 +
			     exponential(&run->arrivals,
					 (double)SECOND / fleet->per_s));
}

static void plan_recorded(struct run *run)
{
	const struct fleet_load *load = run->fleet->load;

	if (run->due < load->count)
		plan(run, ARRIVAL, 0, SECOND + load->request[run->due].due_ns);
}

static void begin_recorded(struct run *run,
			   const struct fleet_load_request *recorded)
{
	u32 index = begin_request(run, 0, SECOND + recorded->due_ns);
	struct user_request *request = &run->request[index];

	request->tail_ns = recorded->tail_ns;
	for (u32 i = 0; i < run->fleet->fanout; i++) {
		const struct fleet_load_part *from = &recorded->part[i];
		u32 at = new_part(run);

		request->shard[i] = i;
		request->done[i] = false;
		request->reads[i] = request->left[i] = from->reads;
		request->running++;
		run->part[at] = (struct part){
			.request = index,
			.shard = i,
			.left = from->reads,
			.unsent = from->reads,
			.of = i,
			.think_ns = from->reads > 1 ?
					    from->think_ns / (from->reads - 1) :
					    0,
			.end_ns = from->end_ns,
		};
		plan(run, PART, at, run->now_ns + from->begin_ns);
	}
}

/* Those that are due, as far as clients are free. */
static void begin_waiting(struct run *run)
{
	const struct fleet *fleet = run->fleet;

	while (run->begun < run->due &&
	       (!fleet->clients || run->outstanding < fleet->clients))
		begin_recorded(run, &fleet->load->request[run->begun++]);
}

static void arrive(struct run *run)
{
	if (!run->fleet->load) {
		arrive_at_random(run);
		return;
	}
	run->due++;
	plan_recorded(run);
}

static void keep(struct run *run, const struct user_request *request)
{
	double ms = (double)(run->now_ns - request->arrived_ns) / 1e6;

	run->last_end_ns = run->now_ns;
	/* Figures are of small requests. */
	if (request->huge)
		return;
	if (request->liar) {
		if (run->liar_count == run->liar_room)
			run->liars = grow(run->liars, &run->liar_room,
					  sizeof(double));
		run->liars[run->liar_count++] = ms;
		return;
	}
	if (run->latencies == run->latency_room) {
		u32 room = run->latency_room;

		run->gap = grow(run->gap, &room, sizeof(double));
		run->latency = grow(run->latency, &run->latency_room,
				    sizeof(double));
	}
	run->gap[run->latencies] =
		(double)(request->last_end_ns - request->first_end_ns) / 1e6;
	run->latency[run->latencies++] = ms;
}

/* Its memory is the next one's, when nothing of it runs any more. */
static void release_request(struct run *run, u32 index)
{
	struct user_request *request = &run->request[index];

	if (--request->running)
		return;
	request->next_free = run->free_request;
	run->free_request = index;
}

static void end_request(struct run *run, u32 index)
{
	const struct user_request *request = &run->request[index];

	run->outstanding--;
	if (request->measured)
		keep(run, request);
	release_request(run, index);
}

/* A part ended, or was found to be in vain. */
static void end_part(struct run *run, u32 at)
{
	struct part *part = &run->part[at];
	u32 index = part->request;
	struct user_request *request = &run->request[index];

	see_stamp(run, &run->last_stamp[request->proxy],
		  run->shard[part->shard].last_stamp,
		  proxy_clock_ns(run, request->proxy));
	if (!request->done[part->of]) {
		request->done[part->of] = true;
		if (!request->first_end_ns)
			request->first_end_ns = run->now_ns;
		request->last_end_ns = run->now_ns;
		if (!--request->parts)
			plan(run, REQUEST_END, index,
			     run->now_ns + request->tail_ns);
	}
	part->request = NONE;
	part->next_free = run->free_part;
	run->free_part = at;
	release_request(run, index);
}

/* A read of a part is done. */
static void step_part(struct run *run, u32 at)
{
	struct part *part = &run->part[at];
	struct user_request *request = &run->request[part->request];

	run->figures->ios++;
	part->left--;
	if (part->left < request->left[part->of])
		request->left[part->of] = part->left;
	/* Its copy may have been faster. */
	if (request->done[part->of])
		part->unsent = 0;
	if (part->unsent) {
		plan(run, READ, at, run->now_ns + part->think_ns);
		return;
	}
	if (!--part->busy)
		plan(run, PART_END, at, run->now_ns + part->end_ns);
}

/* The next read; another one of the part may have begun the last. */
static void go_on(struct run *run, u32 at)
{
	struct part *part = &run->part[at];

	if (part->unsent)
		read_next(run, at);
	else if (!--part->busy)
		plan(run, PART_END, at, run->now_ns + part->end_ns);
}

/* Not one that ended since: its place may be another part's. */
static void hedge(struct run *run, u32 at)
{
	struct part part = run->part[at];
	struct user_request *request;

	if (part.request == NONE)
		return;
	request = &run->request[part.request];
	if (request->done[part.of] ||
	    run->now_ns < request->arrived_ns +
				  (u64)(run->fleet->hedge_ms * 1e6) ||
	    part.shard != request->shard[part.of])
		return;
	send_part(run, part.request, part.of,
		  replica_of(run, part.shard));
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
		end_background(run, index, &io);
	else
		step_part(run, io.part);
}

static void wake_drive(struct run *run, u32 index, u64 at_ns)
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
	run_drive(run, index);
}

/* ---- a whole experiment ---- */

static void begin_shard(struct run *run, u32 index)
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
	if (checkpoints(run, index) || scans(run, index))
		plan(run, PHASE, index,
		     PHASE_NS - (index * 37 * MILLISECOND) % PHASE_NS);
}

static void begin(struct run *run)
{
	const struct fleet *fleet = run->fleet;

	run->now_ns = SECOND;
	run->random = fleet->seed;
	run->arrivals = ~fleet->seed;
	run->free_io = run->free_part = run->free_request = NONE;
	run->io_room = 4000000;
	run->io = calloc(run->io_room, sizeof(*run->io));
	run->shard = calloc(fleet->drives, sizeof(*run->shard));
	run->last_stamp = calloc(fleet->proxies, sizeof(u64));
	CHECK(run->io && run->shard && run->last_stamp);
	run->read_ns = 1e9 / fleet_reads_per_s(fleet->drive, fleet->seed);
	for (u32 i = 0; i < fleet->drives; i++)
		begin_shard(run, i);
	if (!fleet->load) {
		plan(run, ARRIVAL, 0, run->now_ns);
		return;
	}
	plan_recorded(run);
	plan_background(run);
}

static void sort(double *values, u32 count)
{
	if (count)
		qsort(values, count, sizeof(double), compare_doubles);
}

static double quantile(const double *sorted, u32 count, double share)
{
	u32 at = (u32)(share * count);

	return count ? sorted[at < count ? at : count - 1] : 0;
}

static double mean(const double *values, u32 count)
{
	double sum = 0;

	for (u32 i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / count : 0;
}

static void reckon(struct run *run)
{
	struct fleet_figures *figures = run->figures;
	u32 count = run->latencies, liars = run->liar_count;
	double spent_s = (double)(run->last_end_ns - run->fleet->begin_ns) / 1e9;

	sort(run->latency, count);
	sort(run->gap, count);
	sort(run->liars, liars);
	figures->n = count;
	figures->per_s = (count + liars) / spent_s;
	figures->mean_ms = mean(run->latency, count);
	figures->p50_ms = quantile(run->latency, count, 0.5);
	figures->p99_ms = quantile(run->latency, count, 0.99);
	figures->p999_ms = quantile(run->latency, count, 0.999);
	figures->gap_p50_ms = quantile(run->gap, count, 0.5);
	figures->gap_p99_ms = quantile(run->gap, count, 0.99);
	figures->liars_mean_ms = mean(run->liars, liars);
	figures->liars_p99_ms = quantile(run->liars, liars, 0.99);
	figures->background_mb_s = run->background_bytes / 1e6 /
				   ((double)run->now_ns / 1e9 - 1);
	for (u32 i = 0; i < run->fleet->drives; i++) {
		const struct fgio_request_order *order = run->shard[i].by_request;

		figures->aged += order ? order->aged : 0;
		figures->forgotten += order ? order->forgotten : 0;
		figures->bound = order ? 1U << order->bound.level : 0;
	}
}

static void end(struct run *run)
{
	for (u32 i = 0; i < run->fleet->drives; i++) {
		free(run->shard[i].model);
		free(run->shard[i].by_request);
		free(run->shard[i].io_in_slot);
		free(run->shard[i].free_slot);
	}
	for (u32 i = 0; i < run->requests; i++) {
		free(run->request[i].shard);
		free(run->request[i].reads);
		free(run->request[i].left);
		free(run->request[i].done);
	}
	free(run->shard);
	free(run->io);
	free(run->part);
	free(run->request);
	free(run->heap);
	free(run->last_stamp);
	free(run->latency);
	free(run->gap);
	free(run->liars);
}

static bool has_more(const struct run *run)
{
	const struct fleet_load *load = run->fleet->load;

	return run->outstanding ||
	       (load ? run->begun < load->count :
		       run->now_ns < run->fleet->end_ns);
}

void fleet_run(const struct fleet *fleet, struct fleet_figures *figures)
{
	struct run run = { .fleet = fleet, .figures = figures };

	CHECK(fleet->fanout && fleet->fanout <= fleet->drives && fleet->proxies);
	CHECK(!fleet->load || fleet->load->shards == fleet->fanout);
	*figures = (struct fleet_figures){ 0 };
	begin(&run);
	/* To the end of the last request: slow ones are not left out. */
	while (has_more(&run)) {
		struct event event = take_event(&run);

		run.now_ns = event.at_ns;
		switch (event.kind) {
		case ARRIVAL:
			arrive(&run);
			break;
		case PART:
			begin_part(&run, event.index);
			break;
		case READ:
			go_on(&run, event.index);
			break;
		case DRIVE:
			wake_drive(&run, event.index, event.at_ns);
			break;
		case PHASE:
			begin_phase(&run, event.index);
			break;
		case BACKGROUND:
			send_background(&run);
			break;
		case HEDGE:
			hedge(&run, event.index);
			break;
		case PART_END:
			end_part(&run, event.index);
			break;
		case REQUEST_END:
			end_request(&run, event.index);
			break;
		}
		begin_waiting(&run);
	}
	reckon(&run);
	end(&run);
}

double fleet_mean_reads(u32 fanout, u32 records, double huge)
{
	return fanout + (records + 1) / 2.0 * (1 + huge * (FLEET_HUGE - 1));
}

static void read_any(struct simdisk_model *model, u64 now_ns, u32 slot,
		     u64 *random)
{
	u64 count = CAPACITY_SECTORS / READ_SECTORS;

	CHECK(simdisk_submit(
		model, now_ns, slot,
		&(struct simdisk_request){
			.operation = SIMDISK_READ,
			.sector = next_random(random) % count * READ_SECTORS,
			.sectors = READ_SECTORS,
		}));
}

double fleet_reads_per_s(const struct simdisk_parameters *drive, u64 seed)
{
	struct simdisk_completion completions[16];
	u32 depth = drive->queue_depth < 64 ? drive->queue_depth : 64;
	void *memory = calloc(1, simdisk_bytes(drive));
	struct simdisk_model *model;
	u64 now_ns = 1, done = 0;

	CHECK(memory);
	model = simdisk_create(memory, drive, CAPACITY_SECTORS, seed);
	for (u32 slot = 0; slot < depth; slot++)
		read_any(model, now_ns, slot, &seed);
	while (now_ns < 3 * SECOND) {
		u32 count;

		now_ns = simdisk_next_event(model);
		count = simdisk_advance(model, now_ns, completions,
					ARRAY_SIZE(completions));
		for (u32 i = 0; i < count; i++) {
			done += now_ns >= SECOND;
			read_any(model, now_ns, completions[i].slot, &seed);
		}
	}
	free(memory);
	return (double)done / 2;
}
