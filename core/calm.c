// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "calm.h"

#define ROOM_UNIT 16
/* One that is served, and the next one. */
#define ROOM_LEAST (2 * ROOM_UNIT)
#define ROOM_MOST (1024 * ROOM_UNIT)
/* Of what a completion says, so much is believed. */
#define ROOM_SHARE 8

void fgio_calm_init(struct fgio_calm *calm, bool rotates)
{
	*calm = (struct fgio_calm){ 0 };
	fgio_calm_set_rotates(calm, rotates);
}

void fgio_calm_set_rotates(struct fgio_calm *calm, bool rotates)
{
	if (rotates == fgio_calm_applies(calm))
		fgio_store(&calm->room, rotates ? 0 : ROOM_LEAST);
}

bool fgio_calm_applies(const struct fgio_calm *calm)
{
	return fgio_load(&calm->room);
}

bool fgio_calm_has_room(const struct fgio_calm *calm, u32 in_device)
{
	return in_device * ROOM_UNIT < fgio_load(&calm->room);
}

/* The least of this calm, which began with a device that had little to do. */
static u64 waited_for_others(struct fgio_calm *calm, u64 took_ns)
{
	u64 least_ns = fgio_load(&calm->least_ns);

	if (!least_ns || took_ns < least_ns) {
		fgio_store(&calm->least_ns, took_ns | 1);
		return 0;
	}
	return took_ns - least_ns;
}

static u64 within_bounds(u64 room)
{
	if (room > ROOM_MOST)
		return ROOM_MOST;
	return room < ROOM_LEAST ? ROOM_LEAST : room;
}

/* As many fit as would wait FGIO_CALM_NS, by how long one did among so many. */
void fgio_calm_completed(struct fgio_calm *calm, u64 took_ns, u32 together)
{
	u64 waited_ns = waited_for_others(calm, took_ns);
	u64 room = fgio_load(&calm->room);
	u64 there = (u64)together * ROOM_UNIT;
	u64 fits = there * FGIO_CALM_NS / (waited_ns | 1);

	/* A device that had little to do does not tell how much it could. */
	if (fits > 2 * there)
		fits = 2 * there;
	if (fits > room && there < room / 2)
		return;
	room = (room * (ROOM_SHARE - 1) + fits) / ROOM_SHARE;
	fgio_store(&calm->room, (u32)within_bounds(room));
}

void fgio_calm_end(struct fgio_calm *calm)
{
	/* Completions read it: written once, and not for each request. */
	if (fgio_load(&calm->least_ns))
		fgio_store(&calm->least_ns, 0);
}
