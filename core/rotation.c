// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "rotation.h"

/* Beyond what a disk reads ahead, or has in a few tracks: 16 MiB. */
#define FAR_SECTORS (16ULL << 11)

/*
 * An arm and a part of a turn take more than this most of the time, without what is read
 * then, at 125 MB a second.
 */
#define QUICK_NS 3000000ULL
#define NS_PER_BYTE 8

/* No arm comes to so many places in a second, whatever it may choose from. */
#define MOVE_NS 1000000ULL

/*
 * A disk's own cache may be as quick now and then: what took longer counts more. But it
 * may have waited for others.
 */
#define DOUBTS_ENOUGH 8
#define DOUBTS_MOST 16
#define DOUBTS_AT_ONCE 4
#define DOUBTS_GONE 3

void fgio_rotation_init(struct fgio_rotation *rotation, bool declared)
{
	*rotation = (struct fgio_rotation){ .declared = declared };
}

static bool is_far(u64 one, u64 other)
{
	return larger(beyond(one, other), beyond(other, one)) >= FAR_SECTORS;
}

bool fgio_rotation_moves(struct fgio_rotation *rotation, u64 sector,
			 u32 sectors)
{
	u32 at = 0;
	bool far;

	if (!rotation->declared)
		return false;
	while (at < FGIO_ROTATION_STREAMS &&
	       is_far(sector, rotation->sector[at]))
		at++;
	far = at == FGIO_ROTATION_STREAMS;
	if (far)
		at = rotation->streams++ % FGIO_ROTATION_STREAMS;
	rotation->sector[at] = sector + sectors;
	return far;
}

void fgio_rotation_done(struct fgio_rotation *rotation, u64 bytes, u64 took_ns)
{
	rotation->far++;
	rotation->quick += took_ns < QUICK_NS + NS_PER_BYTE * bytes;
}

bool fgio_rotation_judge(struct fgio_rotation *rotation, u64 length_ns)
{
	u32 far = rotation->far;
	bool quick = 2 * rotation->quick > far || far * MOVE_NS > length_ns;
	u64 doubts = rotation->doubts;

	if (far && quick)
		doubts = smaller(doubts + smaller(far, DOUBTS_AT_ONCE),
				 DOUBTS_MOST);
	else if (far)
		doubts = beyond(doubts, DOUBTS_GONE);
	rotation->doubts = (u8)doubts;
	rotation->far = 0;
	rotation->quick = 0;
	return rotation->declared && rotation->doubts < DOUBTS_ENOUGH;
}
