// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "model_rivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../hw_queue.h"
#include "../queue.h"
#include "../simdisk_internal.h"
#include "check.h"

#define SECTORS (4096ull * 2048)
#define REQUESTS 4096
#define SLOTS 8192
#define HW_QUEUES 64
#define RECORD_SECTORS 8

/*
 * @begin_ns: when its request was or will be made
 * @burst_random: draws the times of bursts, alike in each slot of the stream
 * @left: I/Os of the request that come after it
 * @steps: of its end that are not done
 * @turned: of a mixed stream: it has the other direction
 */
struct rival_io {
	struct fgio_request request;
	const struct rival *of;
	u64 begin_ns;
	u64 burst_random;
	u32 left;
	u32 steps;
	bool turned;
	struct fgio_flush flush;
};

/* An I/O that will be made. */
struct planned {
	u64 made_ns;
	u32 io;
};

struct contest {
	const struct rivals *rivals;
	struct simdisk_parameters parameters;
	struct simdisk_model *model;
	struct fgio_queue queue;
	struct fgio_hw_queue hw_queue[HW_QUEUES];
	struct fgio_hw_queue *hw[HW_QUEUES];
	bool runs[HW_QUEUES]; /* it is to dispatch */
	struct rival_io io[REQUESTS];
	u32 ios;
	struct planned planned[REQUESTS]; /* a heap, the first on top */
	u32 planned_count;
	struct rival_io *in_slot[SLOTS];
	u64 position[2 * FGIO_CLASSES];
	u64 random;
	u64 now_ns;
	u64 retry_ns;
	double bytes[FGIO_CLASSES];
	u64 *latency_ns;
	u32 latencies;
	u32 latencies_max;
	u64 background_ns;
	u64 longest_gap_ns;
	u32 most_sectors;
	u32 requests_then;
};

/* In order of time, and in that of the streams at the same time. */
static bool is_before(struct planned a, struct planned b)
{
	return a.made_ns < b.made_ns ||
	       (a.made_ns == b.made_ns && a.io < b.io);
}

static void plan(struct contest *contest, const struct rival_io *io,
		 u64 made_ns)
{
	struct planned *heap = contest->planned;
	struct planned planned = { made_ns, (u32)(io - contest->io) };
	u32 at = contest->planned_count++;

	for (; at && is_before(planned, heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = planned;
}

static struct rival_io *take_planned(struct contest *contest)
{
	struct planned *heap = contest->planned;
	struct rival_io *io = &contest->io[heap[0].io];
	u32 count = --contest->planned_count, at = 0, child;
	struct planned last = heap[count];

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], last))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return io;
}

static u64 exponential_ns(u64 random, u64 mean_ns)
{
	return (u64)(mean_ns * -log(((double)(random >> 11) + 1) * 0x1p-53));
}

/*
 * All pieces of a long I/O are made at once, each by an I/O of its own, which does
 * not wait for the others.
 */
static u32 depth_of(const struct contest *contest, const struct rival *rival)
{
	u32 longest = contest->queue.config.split_sectors *
		      SIMDISK_SECTOR_BYTES;

	if (!contest->rivals->splits || !longest || rival->bytes <= longest ||
	    rival == &contest->rivals->foreground)
		return rival->depth;
	return rival->depth * (rival->bytes / longest);
}

static void add_stream(struct contest *contest, const struct rival *rival)
{
	u32 depth = depth_of(contest, rival);

	for (u32 i = 0; i < depth; i++) {
		u64 begin_ns = rival->begin_ns + 1 +
			       (rival->bursts ? 0 : i * 1000);

		CHECK(contest->ios < REQUESTS);
		contest->io[contest->ios] = (struct rival_io){
			.of = rival,
			.begin_ns = begin_ns,
			.burst_random = contest->rivals->seed + 1,
			.left = rival->chain ? rival->chain - 1 : 0,
		};
		plan(contest, &contest->io[contest->ios++], begin_ns);
	}
}

static void add_hw_queues(struct contest *contest)
{
	u32 count = contest->rivals->hw_queues;

	CHECK(count <= HW_QUEUES);
	for (u32 i = 0; i < count; i++) {
		contest->hw[i] = &contest->hw_queue[i];
		fgio_hw_queue_init(contest->hw[i], &contest->queue, i);
	}
	if (count)
		fgio_queue_set_hw(&contest->queue, contest->hw, count);
}

static void start(struct contest *contest, const struct rivals *rivals)
{
	struct fgio_queue_config config = FGIO_QUEUE_CONFIG_DEFAULT;
	void *memory;

	*contest = (struct contest){
		.rivals = rivals,
		.random = rivals->seed,
		.retry_ns = SIMDISK_NEVER,
		.background_ns = rivals->begin_ns,
	};
	if (rivals->drive)
		contest->parameters = *rivals->drive;
	else
		simdisk_defaults(&contest->parameters, rivals->kind);
	memory = calloc(1, simdisk_bytes(&contest->parameters));
	CHECK(memory);
	contest->model = simdisk_create(memory, &contest->parameters, SECTORS,
					rivals->seed);
	fgio_queue_init(&contest->queue, contest->parameters.rotational ||
						 rivals->says_it_rotates);
	config.noncritical_in_device_max = rivals->limit;
	fgio_queue_configure(&contest->queue, &config);
	add_hw_queues(contest);
	fgio_queue_set_one_class(&contest->queue, rivals->one_class);
	add_stream(contest, &rivals->foreground);
	add_stream(contest, &rivals->background);
	add_stream(contest, &rivals->second);
}

static enum fgio_class class_of(const struct contest *contest,
				const struct rival_io *io)
{
	return io->of == &contest->rivals->foreground ? FGIO_CRITICAL :
							FGIO_NONCRITICAL;
}

static u32 next_sectors(struct contest *contest, enum fgio_class class,
			const struct rival *rival)
{
	u32 sectors = rival->bytes / SIMDISK_SECTOR_BYTES;

	if (!contest->rivals->splits || class == FGIO_CRITICAL)
		return sectors;
	return fgio_queue_first_piece(&contest->queue, 0, sectors,
				      contest->now_ns);
}

static u64 next_sector(struct contest *contest, enum fgio_class class,
		       const struct rival *rival, u32 sectors)
{
	u64 count = SECTORS / sectors;

	if (rival->sequential)
		return contest->position[class]++ % count * sectors;
	return next_random(&contest->random) % count * sectors;
}

static void make(struct contest *contest, struct rival_io *io)
{
	enum fgio_class class = class_of(contest, io);
	u32 sectors = next_sectors(contest, class, io->of);
	u32 hw;

	io->turned = io->of->mixed && !io->turned;
	io->request = (struct fgio_request){
		.sector = next_sector(contest, class, io->of, sectors),
		.sectors = sectors,
		.write = io->of->write ^ io->turned,
		.class = contest->rivals->one_class ? FGIO_NONCRITICAL :
						      (u8)class,
		.queued_ns = contest->now_ns,
	};
	fgio_list_init(&io->request.link);
	if (!contest->rivals->hw_queues) {
		fgio_queue_insert(&contest->queue, &io->request, false);
		return;
	}
	if (class == FGIO_CRITICAL)
		fgio_queue_saw_critical_at(&contest->queue, contest->now_ns);
	hw = (u32)(io - contest->io) % contest->rivals->hw_queues;
	fgio_hw_queue_insert(contest->hw[hw], &io->request, false);
	contest->runs[hw] = true;
}

static void count_latency(struct contest *contest, u64 latency_ns)
{
	if (contest->latencies == contest->latencies_max) {
		contest->latencies_max += contest->latencies_max / 2 + 4096;
		contest->latency_ns = realloc(contest->latency_ns,
					      contest->latencies_max *
						      sizeof(u64));
		CHECK(contest->latency_ns);
	}
	contest->latency_ns[contest->latencies++] = latency_ns;
}

static void count(struct contest *contest, const struct rival_io *io,
		  enum fgio_class class)
{
	u64 now_ns = contest->now_ns;

	if (now_ns < contest->rivals->begin_ns)
		return;
	contest->bytes[class] += (double)io->request.sectors *
				 SIMDISK_SECTOR_BYTES;
	if (class == FGIO_CRITICAL) {
		if (!io->left)
			count_latency(contest, now_ns - io->begin_ns);
		return;
	}
	if (io->request.sectors > contest->most_sectors)
		contest->most_sectors = io->request.sectors;
	if (now_ns - contest->background_ns > contest->longest_gap_ns)
		contest->longest_gap_ns = now_ns - contest->background_ns;
	contest->background_ns = now_ns;
	contest->requests_then = contest->latencies;
}

static u64 pause_of(struct contest *contest, const struct rival *rival)
{
	u64 random = next_random(&contest->random);

	return rival->irregular ? exponential_ns(random, rival->think_ns) :
				  rival->think_ns;
}

/* Requests due in the pause are made after it, not all at once. */
static u64 put_off(struct contest *contest, const struct rival_io *io,
		   u64 made_ns)
{
	const struct rivals *rivals = contest->rivals;

	if (class_of(contest, io) == FGIO_NONCRITICAL && !rivals->all_pause)
		return made_ns;
	if (made_ns < rivals->pause_ns || made_ns >= rivals->resume_ns)
		return made_ns;
	return rivals->resume_ns + next_random(&contest->random) % 1000000;
}

/* A burst that finds its slot taken is made late, and has waited since. */
static u64 next_burst_ns(struct contest *contest, struct rival_io *io)
{
	io->begin_ns += exponential_ns(next_random(&io->burst_random),
				       io->of->think_ns);
	return io->begin_ns > contest->now_ns ? io->begin_ns : contest->now_ns;
}

static u64 next_made_ns(struct contest *contest, struct rival_io *io)
{
	const struct rival *rival = io->of;
	u64 now_ns = contest->now_ns, made_ns;

	if (io->left) {
		io->left--;
		made_ns = put_off(contest, io, now_ns);
		if (made_ns != now_ns)
			io->begin_ns = made_ns;
		return made_ns;
	}
	if (rival->bursts)
		return next_burst_ns(contest, io);
	io->left = rival->chain ? rival->chain - 1 : 0;
	io->begin_ns = put_off(contest, io,
			       now_ns + pause_of(contest, rival));
	return io->begin_ns;
}

static void submit(struct contest *contest, struct rival_io *io,
		   struct simdisk_request command)
{
	u32 slot = 0;

	while (contest->in_slot[slot])
		slot++;
	command.hw_queue = (u16)(slot / contest->parameters.queue_depth);
	contest->in_slot[slot] = io;
	CHECK(simdisk_submit(contest->model, contest->now_ns, slot, &command));
}

static void send(struct contest *contest, struct fgio_request *request)
{
	submit(contest,
	       fgio_container_of(request, struct rival_io, request),
	       (struct simdisk_request){
		       .operation = request->write ? SIMDISK_WRITE :
						     SIMDISK_READ,
		       .sector = request->sector,
		       .sectors = request->sectors,
	       });
}

/* Its end (flush or commit record) bypasses the queue. */
static void step_to_end(struct contest *contest, struct rival_io *io)
{
	struct simdisk_request command = { .operation = SIMDISK_FLUSH };

	if (io->of->ends == RIVAL_ENDS_COMMITTED && io->steps == 2)
		command = (struct simdisk_request){
			.operation = SIMDISK_WRITE,
			.sector = SECTORS - RECORD_SECTORS,
			.sectors = RECORD_SECTORS,
		};
	submit(contest, io, command);
}

static void begin_end(struct contest *contest, struct rival_io *io)
{
	bool commits = io->of->ends == RIVAL_ENDS_COMMITTED;

	io->steps = commits ? 3 : 1;
	fgio_queue_flush_begins(&contest->queue, &io->flush, commits,
				contest->now_ns);
	step_to_end(contest, io);
}

static void end(struct contest *contest, struct rival_io *io)
{
	count(contest, io, class_of(contest, io));
	plan(contest, io, next_made_ns(contest, io));
}

/* Requests that were withheld may go. */
static void run_turn(struct contest *contest)
{
	u32 count = contest->rivals->hw_queues;
	struct fgio_hw_queue *turn;

	if (!count)
		return;
	turn = fgio_queue_turn(&contest->queue, contest->now_ns);
	if (turn)
		contest->runs[turn->index] = true;
	for (u32 i = 0; !turn && i < count; i++)
		contest->runs[i] = true;
}

static void complete(struct contest *contest, u32 slot)
{
	struct rival_io *io = contest->in_slot[slot];

	contest->in_slot[slot] = NULL;
	if (!io->steps) {
		if (fgio_queue_left_device(&contest->queue, &io->request,
					   contest->now_ns))
			run_turn(contest);
		if (io->of->ends && !io->left)
			begin_end(contest, io);
		else
			end(contest, io);
	} else if (--io->steps) {
		step_to_end(contest, io);
	} else {
		if (fgio_queue_flush_ends(&contest->queue, &io->flush,
					  contest->now_ns))
			run_turn(contest);
		end(contest, io);
	}
}

/* As elevator.c does. Return: NULL if there is no arm, as far as was learnt. */
static const struct fgio_sweep *look_ahead(struct contest *contest,
					   struct fgio_sweep *sweep)
{
	*sweep = (struct fgio_sweep){ { NULL, NULL } };
	if (!fgio_queue_sweeps(&contest->queue))
		return NULL;
	for (u32 i = 0; i < contest->ios; i++) {
		struct fgio_request *request = &contest->io[i].request;
		struct fgio_request **next = &sweep->next[request->write];

		if (request->state != FGIO_REQUEST_QUEUED ||
		    request->class != FGIO_NONCRITICAL ||
		    request->sector < fgio_queue_position(&contest->queue,
							  request->write))
			continue;
		if (!*next || request->sector < (*next)->sector)
			*next = request;
	}
	return sweep;
}

/* As kmod does for one hardware queue. Return: NULL if nothing may go. */
static struct fgio_request *next_of(struct contest *contest,
				    struct fgio_hw_queue *hw)
{
	u64 now_ns = fgio_hw_queue_needs_clock(hw) ? contest->now_ns : 0;
	struct fgio_request *request = fgio_hw_queue_next(hw, now_ns);
	u64 retry_ns;

	if (request && fgio_hw_queue_tells(hw, request, contest->now_ns))
		fgio_hw_queue_tell(hw, request, contest->now_ns);
	if (request || !fgio_hw_queue_must_ask(hw))
		return request;
	request = fgio_hw_queue_ask(hw, contest->now_ns);
	retry_ns = fgio_queue_retry_ns(&contest->queue);
	if (retry_ns && !(contest->retry_ns > contest->now_ns &&
			  contest->retry_ns <= retry_ns))
		contest->retry_ns = retry_ns;
	return request;
}

static void dispatch_many(struct contest *contest)
{
	u32 slots = contest->parameters.hw_queues *
		    contest->parameters.queue_depth;
	u32 count = contest->rivals->hw_queues;
	struct fgio_request *request;

	if (contest->retry_ns <= contest->now_ns) {
		contest->retry_ns = SIMDISK_NEVER;
		fgio_queue_retry(&contest->queue);
		run_turn(contest);
	}
	for (u32 i = 0; i < count; i++) {
		bool full = false;

		while (contest->runs[i] &&
		       fgio_hw_queue_has_work(contest->hw[i])) {
			full = simdisk_outstanding(contest->model) >= slots;
			request = full ? NULL : next_of(contest, contest->hw[i]);
			if (!request)
				break;
			send(contest, request);
		}
		/* A drive that is full asks again when something completes. */
		contest->runs[i] = full;
	}
}

static void dispatch(struct contest *contest)
{
	struct fgio_sweep sweep;
	struct fgio_queue *queue = &contest->queue;
	u32 slots = contest->parameters.hw_queues *
		    contest->parameters.queue_depth;
	struct fgio_request *request;

	if (contest->rivals->hw_queues) {
		dispatch_many(contest);
		return;
	}
	if (contest->retry_ns <= contest->now_ns)
		fgio_queue_retry(queue);
	contest->retry_ns = SIMDISK_NEVER;
	while (simdisk_outstanding(contest->model) < slots) {
		bool timed = fgio_queue_needs_clock(queue);

		request = fgio_queue_next(queue, timed ? contest->now_ns : 0,
					  look_ahead(contest, &sweep));
		if (!request)
			break;
		send(contest, request);
	}
	/* A drive that is full asks again when something completes. */
	if (simdisk_outstanding(contest->model) < slots &&
	    queue->own.queued[FGIO_NONCRITICAL] && fgio_queue_retry_ns(queue))
		contest->retry_ns = fgio_queue_retry_ns(queue);
}

static u64 next_event(const struct contest *contest)
{
	u64 next_ns = simdisk_next_event(contest->model);

	if (contest->retry_ns < next_ns)
		next_ns = contest->retry_ns;
	if (contest->planned_count && contest->planned[0].made_ns < next_ns)
		next_ns = contest->planned[0].made_ns;
	/* Time goes on, whatever was asked for. */
	return next_ns > contest->now_ns ? next_ns : contest->now_ns + 1;
}

/* Which parameters the drive's speed comes from, per model. */
static void change_speed(struct contest *contest, u32 slower, u32 faster)
{
	struct simdisk_parameters *parameters = &contest->model->parameters;

	if (parameters->kind == SIMDISK_VOLUME) {
		parameters->volume.iops *= faster;
		parameters->volume.iops /= slower;
	} else {
		parameters->flash.program_ns *= slower;
		parameters->flash.program_ns /= faster;
	}
}

static bool passes(const struct contest *contest, u64 before_ns, u64 at_ns)
{
	return before_ns < at_ns && contest->now_ns >= at_ns;
}

static void step(struct contest *contest)
{
	const struct rivals *rivals = contest->rivals;
	struct simdisk_completion completion;
	u64 before_ns = contest->now_ns;

	contest->now_ns = next_event(contest);
	if (passes(contest, before_ns, rivals->change_ns))
		change_speed(contest, rivals->slower, rivals->faster);
	if (passes(contest, before_ns, rivals->restore_ns))
		change_speed(contest, rivals->faster, rivals->slower);
	if (rivals->counts_pauses &&
	    passes(contest, before_ns, rivals->resume_ns))
		contest->queue.depth.learnt_ns = contest->now_ns;
	while (simdisk_advance(contest->model, contest->now_ns, &completion, 1))
		complete(contest, completion.slot);
	while (contest->planned_count &&
	       contest->planned[0].made_ns <= contest->now_ns)
		make(contest, take_planned(contest));
	dispatch(contest);
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static struct rivals_figures figures_of(struct contest *contest)
{
	const struct rivals *rivals = contest->rivals;
	double seconds = (double)(rivals->end_ns - rivals->begin_ns) / 1e9;
	struct rivals_figures figures = {
		.requests = contest->latencies,
		.bytes_per_s = (contest->bytes[FGIO_CRITICAL] +
				contest->bytes[FGIO_NONCRITICAL]) / seconds,
		.background_bytes_per_s =
			contest->bytes[FGIO_NONCRITICAL] / seconds,
		.longest_gap_ns = contest->longest_gap_ns,
		.background_ns = contest->background_ns,
		.requests_then = contest->requests_then,
		.rotates = fgio_depth_rotates(&contest->queue.depth),
		.most_sectors = contest->most_sectors,
		.longest = fgio_queue_longest(&contest->queue,
					      contest->now_ns),
	};
	u32 n = contest->latencies;

	if (!n)
		return figures;
	for (u32 i = 0; i < n; i++)
		figures.mean_ns += (double)contest->latency_ns[i] / n;
	qsort(contest->latency_ns, n, sizeof(u64), compare);
	figures.p50_ns = (double)contest->latency_ns[(n - 1) / 2];
	figures.p99_ns = (double)contest->latency_ns[(n - 1) * 99ull / 100];
	figures.p999_ns = (double)contest->latency_ns[(n - 1) * 999ull / 1000];
	return figures;
}

struct rivals_figures rivals_run(const struct rivals *rivals)
{
	struct contest *contest = malloc(sizeof(*contest));
	struct rivals_figures figures;

	CHECK(contest);
	start(contest, rivals);
	while (contest->now_ns < rivals->end_ns)
		step(contest);
	figures = figures_of(contest);
	free(contest->latency_ns);
	free(contest->model);
	free(contest);
	return figures;
}
