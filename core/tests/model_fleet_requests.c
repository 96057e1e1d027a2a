// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Requests of users, from a proxy to the end of their last part. */
#include "model_fleet_internal.h"

#include <math.h>
#include <stdlib.h>

#include "../request_id.h"
#include "check.h"

#define THINK_NS 20000 /* of a shard, between two reads */
#define NETWORK_NS 50000
#define NETWORK_JITTER_NS 50000 /* mean, exponential */
#define LIE_MS 10000
/* The least work goes first, but a request that waits this times as long. */
#define WORK_WEIGHT 4

static u32 new_part(struct run *run)
{
	u32 part = run->free_part;

	if (part != NONE) {
		run->free_part = run->part[part].next_free;
		return part;
	}
	if (run->parts == run->part_room)
		run->part = fleet_grow(run->part, &run->part_room, sizeof(*run->part));
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
		run->request = fleet_grow(run->request, &run->request_room,
					  sizeof(*run->request));
	made = &run->request[run->requests];
	made->shard = calloc(fanout, sizeof(u32));
	made->reads = calloc(fanout, sizeof(u32));
	made->left = calloc(fanout, sizeof(u32));
	made->done = calloc(fanout, sizeof(bool));
	CHECK(made->shard && made->reads && made->left && made->done);
	return run->requests++;
}

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
	u64 place = next_random(&run->random) %
		    (CAPACITY_SECTORS / READ_SECTORS);
	u64 id = request->id;

	part->unsent--;
	if (fleet->policy > FLEET_ORDERED)
		id = oracle_id(run, request, part);
	else if (fleet->policy != FLEET_ORDERED ||
		 part->shard < fleet->without_ids)
		id = 0;
	fleet_insert(run, part->shard,
		     (struct fgio_request){
			     .sector = place * READ_SECTORS,
			     .sectors = READ_SECTORS,
			     .class = FGIO_CRITICAL,
			     .rank.id = id,
			     .rank.parts = fleet->fanout,
		     },
		     at, NONE);
	fleet_run_drive(run, part->shard);
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
void fleet_begin_part(struct run *run, u32 at)
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
		fleet_plan(run, PART_END, at, run->now_ns + part->end_ns);
}

/* Sends part @of of a request to @shard. */
static void send_part(struct run *run, u32 request, u32 of, u32 shard)
{
	u32 at = new_part(run);
	u64 arrives_ns = run->now_ns + NETWORK_NS +
			 fleet_exponential(&run->random, NETWORK_JITTER_NS);

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
	fleet_plan(run, PART, at, arrives_ns);
	if (run->fleet->hedge_ms > 0)
		fleet_plan(run, HEDGE, at,
			   run->now_ns + (u64)(run->fleet->hedge_ms * 1e6));
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
	u64 until_next_ns;

	request->liar = next_random(&run->arrivals) % 1000000 < fleet->liars_ppm;
	if (request->liar)
		request->id -= fgio_request_id_ms(LIE_MS);
	choose_shards(run, request);
	for (u32 i = 0; i < fleet->fanout; i++)
		send_part(run, at, i, run->request[at].shard[i]);
	run->all_came = run->now_ns >= fleet->end_ns;
	if (run->all_came)
		return;
	until_next_ns = 1 + fleet_exponential(&run->arrivals,
					      (double)SECOND / fleet->per_s);
	fleet_plan(run, ARRIVAL, 0, run->now_ns + until_next_ns);
}

void fleet_plan_recorded(struct run *run)
{
	const struct fleet_load *load = run->fleet->load;

	if (run->due < load->count)
		fleet_plan(run, ARRIVAL, 0, SECOND + load->request[run->due].due_ns);
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
		fleet_plan(run, PART, at, run->now_ns + from->begin_ns);
	}
}

/* Those that are due, as far as clients are free. */
void fleet_begin_waiting(struct run *run)
{
	const struct fleet *fleet = run->fleet;

	while (run->begun < run->due &&
	       (!fleet->clients || run->outstanding < fleet->clients))
		begin_recorded(run, &fleet->load->request[run->begun++]);
}

void fleet_arrive(struct run *run)
{
	if (!run->fleet->load) {
		arrive_at_random(run);
		return;
	}
	run->due++;
	fleet_plan_recorded(run);
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
			run->liars = fleet_grow(run->liars, &run->liar_room,
						sizeof(double));
		run->liars[run->liar_count++] = ms;
		return;
	}
	if (run->latencies == run->latency_room) {
		u32 room = run->latency_room;

		run->gap = fleet_grow(run->gap, &room, sizeof(double));
		run->latency = fleet_grow(run->latency, &run->latency_room,
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

void fleet_end_request(struct run *run, u32 index)
{
	const struct user_request *request = &run->request[index];

	run->outstanding--;
	if (request->measured)
		keep(run, request);
	release_request(run, index);
}

/* A part ended, or was found to be in vain. */
void fleet_end_part(struct run *run, u32 at)
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
			fleet_plan(run, REQUEST_END, index,
				   run->now_ns + request->tail_ns);
	}
	part->request = NONE;
	part->next_free = run->free_part;
	run->free_part = at;
	release_request(run, index);
}

/* A read of a part is done. */
void fleet_step_part(struct run *run, u32 at)
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
		fleet_plan(run, READ, at, run->now_ns + part->think_ns);
		return;
	}
	if (!--part->busy)
		fleet_plan(run, PART_END, at, run->now_ns + part->end_ns);
}

/* The next read; another one of the part may have begun the last. */
void fleet_go_on(struct run *run, u32 at)
{
	struct part *part = &run->part[at];

	if (part->unsent)
		read_next(run, at);
	else if (!--part->busy)
		fleet_plan(run, PART_END, at, run->now_ns + part->end_ns);
}

/* Not one that ended since: its place may be another part's. */
void fleet_hedge(struct run *run, u32 at)
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
