// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What an I/O costs the queue where critical I/O is ordered by users' requests:
 * insertion, dispatch and completion. make -C core request-steps counts
 * instructions.
 *
 *	request_steps off|POLICY REQUESTS IOS
 *
 * off: no order; POLICY: enum fgio_request_policy. REQUESTS: users' requests
 * that the queued I/Os are of, 0: none has an id.
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

int main(int argc, char **argv)
{
	u32 users, ios, place = 0, done;
	u64 now_ns = 1000000000;

	CHECK(argc == 4);
	users = (u32)atoi(argv[2]);
	ios = (u32)atoi(argv[3]);
	fgio_queue_init(&queue, false);
	fgio_request_order_init(&by_request,
				(enum fgio_request_policy)atoi(argv[1]));
	fgio_request_order_set_clock(&by_request, REAL_NS - now_ns);
	if (strcmp(argv[1], "off"))
		fgio_hw_queue_set_request_order(&queue.own, &by_request);
	for (u32 i = 0; i < QUEUED; i++) {
		requests[i].sectors = 8;
		insert(&requests[i], i, users, now_ns);
	}
	for (done = 0; done < ios; done++) {
		struct fgio_request *request;

		now_ns += 10000;
		if (in_device[place]) {
			request = in_device[place];
			fgio_queue_left_device(&queue, request, now_ns);
			insert(request, QUEUED + done, users, now_ns);
		}
		/* The clock is read only if it is needed. */
		request = fgio_queue_next(
			&queue, fgio_queue_needs_clock(&queue) ? now_ns : 0,
			NULL);
		in_device[place] = request;
		place = (place + 1) % IN_DEVICE;
	}
	return 0;
}
