// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "model_fleet_internal.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"

void *fleet_grow(void *members, u32 *room, size_t bytes)
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

void fleet_plan(struct run *run, enum kind kind, u32 index, u64 at_ns)
{
	struct event event = { at_ns, run->made++, kind, index };
	u32 at = run->events++;

	if (run->events > run->heap_room)
		run->heap = fleet_grow(run->heap, &run->heap_room, sizeof(event));
	for (; at && is_earlier(&event, &run->heap[(at - 1) / 2]);
	     at = (at - 1) / 2)
		run->heap[at] = run->heap[(at - 1) / 2];
	run->heap[at] = event;
}

struct event fleet_take_event(struct run *run)
{
	struct event first = run->heap[0], last;
	u32 at = 0, child;

	CHECK(run->events);
	last = run->heap[--run->events];
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

u64 fleet_exponential(u64 *random, double mean_ns)
{
	double uniform = ((double)(next_random(random) >> 11) + 0.5) * 0x1p-53;

	return (u64)(-log(uniform) * mean_ns);
}
