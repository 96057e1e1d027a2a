// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What an I/O costs the queue where critical I/O is ordered by users' requests:
 * insertion, dispatch and completion. make -C core request-steps counts
 * instructions.
 *
 *	request_steps off|POLICY queued|together REQUESTS|DEPTH IOS
 *
 * off: no order; POLICY: enum fgio_request_policy. queued: many I/Os are always
 * queued, which are of REQUESTS users' requests, 0: none has an id. together: all
 * DEPTH I/Os of a request are queued at once and complete before the next ones
 * come, as lab/run order-cost has it.
 */
#include <stdlib.h>
#include <string.h>

#include "../queue.h"
#include "../request_id.h"
#include "check.h"

#define QUEUED 256U
#define IN_DEVICE 32U
#define REAL_NS 1700000000000000000ULL

static struct fgio_queue queue;
static struct fgio_request_order by_request;
static struct fgio_request requests[QUEUED];
static struct fgio_request *in_device[IN_DEVICE];

/* Each user's request has 16 I/Os; then another one takes its place. */
static void insert(struct fgio_request *request, u32 number, u32 users,
		   u64 now_ns)
{
	request->class = FGIO_CRITICAL;
	request->queued_ns = now_ns;
	request->rank.id = 0;
	if (users)
		request->rank.id = fgio_request_id_at(REAL_NS) +
				   fgio_request_id_ms(number / 16 / users) +
				   number % users;
	fgio_queue_insert(&queue, request, false);
}

static struct fgio_request *next(u64 now_ns)
{
	/* The clock is read only if it is needed. */
	return fgio_queue_next(
		&queue, fgio_queue_needs_clock(&queue) ? now_ns : 0, NULL);
}

static void run_queued(u32 users, u32 ios, u64 now_ns)
{
	u32 place = 0;

	for (u32 i = 0; i < QUEUED; i++)
		insert(&requests[i], i, users, now_ns);
	for (u32 done = 0; done < ios; done++) {
		now_ns += 10000;
		if (in_device[place]) {
			struct fgio_request *request = in_device[place];

			fgio_queue_left_device(&queue, request, now_ns);
			insert(request, QUEUED + done, users, now_ns);
		}
		in_device[place] = next(now_ns);
		place = (place + 1) % IN_DEVICE;
	}
}

static void run_batches(u32 depth, u32 ios, u64 now_ns)
{
	u64 id = fgio_request_id_at(REAL_NS);
	struct fgio_request *request;

	CHECK(depth <= QUEUED);
	for (u32 done = 0; done < ios; done += depth) {
		now_ns += 10000;
		id += fgio_request_id_ms(1) / 100;
		for (u32 i = 0; i < depth; i++) {
			requests[i].class = FGIO_CRITICAL;
			requests[i].queued_ns = now_ns;
			requests[i].rank.id = id;
			fgio_queue_insert(&queue, &requests[i], false);
		}
		while ((request = next(now_ns)))
			fgio_queue_left_device(&queue, request, now_ns);
	}
}

int main(int argc, char **argv)
{
	u64 now_ns = 1000000000;
	u32 number, ios;

	CHECK(argc == 5);
	number = (u32)atoi(argv[3]);
	ios = (u32)atoi(argv[4]);
	fgio_queue_init(&queue, false);
	fgio_request_order_init(&by_request,
				(enum fgio_request_policy)atoi(argv[1]));
	fgio_request_order_set_clock(&by_request, REAL_NS - now_ns);
	if (strcmp(argv[1], "off"))
		fgio_hw_queue_set_request_order(&queue.own, &by_request);
	for (u32 i = 0; i < QUEUED; i++)
		requests[i].sectors = 8;
	if (strcmp(argv[2], "together"))
		run_queued(number, ios, now_ns);
	else
		run_batches(number, ios, now_ns);
	return 0;
}
