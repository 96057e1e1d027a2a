// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What an I/O costs the queue: insertion, dispatch and completion, without
 * shares and with some groups. make -C core shares-steps counts instructions.
 *
 *	shares_steps GROUPS IOS		all have requests queued at all times
 *	shares_steps GROUPS IOS DEPTH	they take turns, with as many requests;
 *					the drive does all that it gets at once
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
/* From the insertion of an I/O of a turn to its completion, if it is alone. */
#define TURN_NS 10000U

static struct fgio_queue queue;
static struct fgio_shares shares;
static struct fgio_share_group groups[GROUPS_MAX];
static struct fgio_request requests[QUEUED];
static struct fgio_request *in_device[IN_DEVICE];

/* @count: groups. */
static void insert(struct fgio_request *request, u64 sector, u32 group,
		   u32 count, u64 now_ns)
{
	request->queued_ns = now_ns;
	request->sector = sector;
	request->sectors = 8;
	if (count)
		fgio_queue_insert_of(&queue, request, &groups[group % count],
				     false);
	else
		fgio_queue_insert(&queue, request, false);
}

/* The clock is read only if it is needed. */
static struct fgio_request *next(u64 now_ns)
{
	return fgio_queue_next(
		&queue, fgio_queue_needs_clock(&queue) ? now_ns : 0, NULL);
}

/* Requests that go before one completes. Return: their number. */
static u32 send_some(u64 *now_ns)
{
	u32 sent = 0;

	while (sent < IN_DEVICE && (in_device[sent] = next(*now_ns)))
		sent++;
	if (!sent) {
		*now_ns = fgio_queue_retry_ns(&queue);
		CHECK(*now_ns);
		fgio_queue_retry(&queue);
	}
	return sent;
}

static void take_turns(u32 count, u32 ios, u32 depth)
{
	u64 now_ns = 1000000000;

	CHECK(depth && depth <= IN_DEVICE);
	for (u32 done = 0; done < ios; done += depth) {
		for (u32 i = 0; i < depth; i++) {
			now_ns += TURN_NS / 2;
			insert(&requests[i], (u64)(done + i) * 4096,
			       done / depth, count, now_ns);
		}
		for (u32 left = depth; left;) {
			u32 sent = send_some(&now_ns);

			left -= sent;
			for (u32 i = 0; i < sent; i++) {
				now_ns += TURN_NS / 2;
				fgio_queue_left_device(&queue, in_device[i],
						       now_ns);
			}
		}
	}
}

int main(int argc, char **argv)
{
	u32 count = argc > 1 ? (u32)atoi(argv[1]) : 0;
	u32 ios = argc > 2 ? (u32)atoi(argv[2]) : IOS;
	u32 depth = argc > 3 ? (u32)atoi(argv[3]) : 0;
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
	if (depth) {
		take_turns(count, ios, depth);
		return 0;
	}
	for (u32 i = 0; i < QUEUED; i++)
		insert(&requests[i], (u64)i * 4096, i, count, now_ns);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (; done < ios; done++) {
		struct fgio_request *request;

		now_ns += 10000;
		if (in_device[place]) {
			request = in_device[place];
			fgio_queue_left_device(&queue, request, now_ns);
			insert(request, (u64)(request - requests) * 4096,
			       (u32)(request - requests), count, now_ns);
		}
		request = next(now_ns);
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
