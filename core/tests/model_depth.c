// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How much goes under the learnt limit is not for a model to say. Checked is
 * that it is bounded, that there is always a next call, and that background I/O
 * has its minimum service.
 */
#include "model_depth.h"

#include "../depth_constants.h"
#include "../queue.h"
#include "check.h"

#define PROBE_LONGEST_NS (1500 * MILLISECOND)
#define PROBE_LOOK_NS 64000000ULL
#define REQUESTS 24
#define FLUSHES 4

struct script {
	struct fgio_queue queue;
	struct fgio_request request[REQUESTS];
	struct fgio_flush flush[FLUSHES];
	u64 now_ns;
	u64 retry_ns;	/* 0: no timer runs */
	bool told;	/* fgio_queue_next() is owed a call */
};

static void play_insert(struct script *play, u8 which, u8 how)
{
	struct fgio_request *request = &play->request[which % REQUESTS];

	if (request->state != FGIO_REQUEST_IDLE)
		return;
	request->class = how % 4 ? FGIO_NONCRITICAL : FGIO_CRITICAL;
	request->write = how & 4;
	request->sectors = 1U << (how >> 4);
	request->queued_ns = how & 8 ? play->now_ns : 0;
	fgio_queue_insert(&play->queue, request, false);
	play->told = true;
}

static void play_complete(struct script *play, u8 which)
{
	struct fgio_request *request = &play->request[which % REQUESTS];

	if (request->state == FGIO_REQUEST_IN_DEVICE)
		play->told |= fgio_queue_left_device(&play->queue, request,
						     play->now_ns);
}

/* An end may be missed, and may be of a flush that never began. */
static void play_flush(struct script *play, u8 which, u8 how)
{
	struct fgio_flush *flush = &play->flush[which % FLUSHES];

	if (how % 2)
		fgio_queue_flush_begins(&play->queue, flush, how & 4,
					play->now_ns);
	else
		play->told |= fgio_queue_flush_ends(&play->queue, flush,
						    play->now_ns);
}

/* As the block layer and the timer would call. */
static struct fgio_request *play_next(struct script *play)
{
	bool timed = fgio_queue_needs_clock(&play->queue);
	struct fgio_request *request;

	if (play->retry_ns && play->retry_ns <= play->now_ns) {
		fgio_queue_retry(&play->queue);
		play->retry_ns = 0;
	}
	if (!fgio_queue_has_work(&play->queue))
		return NULL;
	request = fgio_queue_next(&play->queue, timed ? play->now_ns : 0, NULL);
	if (!request) {
		play->told = false;
		play->retry_ns = fgio_queue_retry_ns(&play->queue);
	}
	return request;
}

static u64 min_service_most_ns(const struct fgio_queue *queue)
{
	return queue->config.release_interval_ns *
	       (queue->depth.rotates ? MIN_SERVICE_MOST : 1);
}

/*
 * A probe suspends even minimum service, and its end is looked for this often.
 */
static u64 look_most_ns(const struct fgio_queue *queue)
{
	u64 most_ns = min_service_most_ns(queue);

	return fgio_depth_probes(&queue->depth) ? larger(most_ns, PROBE_LOOK_NS) :
						  most_ns;
}

static void check_always(const struct script *play)
{
	const struct fgio_queue *queue = &play->queue;
	const struct fgio_depth *depth = &queue->depth;

	CHECK(depth->cost.per_unit > 0 && depth->cost.per_unit < 1ULL << 40);
	CHECK(depth->tolerance <= 512 && depth->tolerance_max <= 512);
	CHECK(depth->cost.busy_until_ns <
	      play->now_ns + 2 * BUCKET_MOST_NS);
	/*
	 * The timer asks again for withheld requests, whatever the device does;
	 * soon, if the device has nothing to do.
	 */
	if (!fgio_queue_holds_requests(queue) || fgio_queue_has_work(queue))
		return;
	CHECK(play->retry_ns);
	CHECK(play->retry_ns <= play->now_ns + FGIO_QUEUE_STILL_NS);
	if (!fgio_queue_in_device(queue, FGIO_NONCRITICAL) &&
	    !queue->config.noncritical_in_device_max && !play->told)
		CHECK(play->retry_ns <= play->now_ns + look_most_ns(queue));
}

static void play_operation(struct script *play, u8 operation, u8 value)
{
	switch (operation % 9) {
	case 0: case 1:
		play_insert(play, operation / 9, value);
		break;
	case 2: case 3: case 4:
		play_next(play);
		break;
	case 5: case 6:
		play_complete(play, value);
		break;
	case 7:
		play_flush(play, operation / 9, value);
		break;
	default:
		play->now_ns += (u64)value * value * value * MICROSECOND / 64;
	}
}

/*
 * All waiting requests can go, at least one per interval once a probe that is
 * under way has ended.
 */
static void drain(struct script *play)
{
	u64 rounds = 2 * REQUESTS;

	if (fgio_depth_probes(&play->queue.depth))
		rounds += PROBE_LONGEST_NS / min_service_most_ns(&play->queue);
	for (u64 round = 0; round < rounds; round++) {
		for (u8 i = 0; i < REQUESTS; i++)
			play_complete(play, i);
		while (play_next(play))
			;
		play->now_ns += min_service_most_ns(&play->queue);
	}
	CHECK(!fgio_queue_holds_requests(&play->queue));
}

/* Requests in the device stay there; all queued ones go nevertheless. */
static void drain_without_completions(struct script *play)
{
	int rounds = 0;

	while (fgio_queue_holds_requests(&play->queue)) {
		while (play_next(play))
			;
		if (!fgio_queue_holds_requests(&play->queue))
			break;
		CHECK(play->retry_ns);
		if (play->retry_ns > play->now_ns)
			play->now_ns = play->retry_ns;
		/* The bucket may be asked often, but not for long. */
		CHECK(rounds++ < 10000);
	}
}

static void configure(struct script *play, u8 how)
{
	struct fgio_queue_config config = FGIO_QUEUE_CONFIG_DEFAULT;

	fgio_queue_init(&play->queue, how & 1);
	config.noncritical_in_device_max = how & 6 ? 0 : how >> 6;
	fgio_queue_configure(&play->queue, &config);
}

void model_depth_play(const uint8_t *script, size_t length)
{
	struct script play = { .now_ns = 1 };
	u8 how = length ? script[0] : 0;

	configure(&play, how);
	for (int i = 0; i < REQUESTS; i++)
		fgio_list_init(&play.request[i].link);
	for (size_t at = 0; at + 1 < length; at += 2) {
		play_operation(&play, script[at], script[at + 1]);
		check_always(&play);
	}
	if (how & 8)
		drain_without_completions(&play);
	drain(&play);
}
