// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What an I/O costs the queue: insertion, dispatch and completion, without
 * shares and with some groups. make -C core shares-steps counts instructions.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../queue.h"
#include "check.h"

#define IOS 3000000U
#define QUEUED 1024U
#define IN_DEVICE 32U
#define GROUPS_MAX 1024U

static struct fgio_queue queue;
static struct fgio_shares shares;
static struct fgio_share_group groups[GROUPS_MAX];
static struct fgio_request requests[QUEUED];
static struct fgio_request *in_device[IN_DEVICE];

static void insert(struct fgio_request *request, u32 number, u32 count,
		   u64 now_ns)
{
	request->queued_ns = now_ns;
	request->sector = (u64)number * 4096;
	if (count)
		fgio_queue_insert_of(&queue, request, &groups[number % count],
				     false);
	else
		fgio_queue_insert(&queue, request, false);
}

int main(int argc, char **argv)
{
	u32 count = argc > 1 ? (u32)atoi(argv[1]) : 0;
	u32 ios = argc > 2 ? (u32)atoi(argv[2]) : IOS;
	struct timespec begin, end;
	u64 now_ns = 1000000000;
	u32 place = 0, done = 0;

	CHECK(count <= GROUPS_MAX);
	fgio_queue_init(&queue, false);
	fgio_shares_init(&shares, false);
	if (count)
		fgio_queue_set_shares(&queue, &shares);
	for (u32 i = 0; i < count; i++)
		fgio_share_group_init(&groups[i], fgio_shares_weight(100 + i));
	for (u32 i = 0; i < QUEUED; i++) {
		requests[i].sectors = 8;
		insert(&requests[i], i, count, now_ns);
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (; done < ios; done++) {
		struct fgio_request *request;

		now_ns += 10000;
		if (in_device[place]) {
			request = in_device[place];
			fgio_queue_left_device(&queue, request, now_ns);
			insert(request, (u32)(request - requests), count,
			       now_ns);
		}
		/* The clock is read only if it is needed. */
		request = fgio_queue_next(
			&queue, fgio_queue_needs_clock(&queue) ? now_ns : 0,
			NULL);
		in_device[place] = request;
		place = (place + 1) % IN_DEVICE;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%4u groups: %.1f ns an I/O\n", count,
	       ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
		(double)(end.tv_nsec - begin.tv_nsec)) /
		       done);
	return 0;
}
