// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "depth_constants.h"
#include "number.h"
#include "rotation.h"

void fgio_rotation_init(struct fgio_rotation *rotation, bool declared)
{
	*rotation = (struct fgio_rotation){ .declared = declared };
}

static bool is_far(u64 one, u64 other)
{
	return larger(beyond(one, other), beyond(other, one)) >=
	       ROTATION_FAR_SECTORS;
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
	rotation->quick += took_ns < ROTATION_QUICK_NS +
				     ROTATION_NS_PER_BYTE * bytes;
}

bool fgio_rotation_judge(struct fgio_rotation *rotation, u64 length_ns)
{
	u32 far = rotation->far;
	bool quick = 2 * rotation->quick > far ||
		     far * ROTATION_MOVE_NS > length_ns;
	u64 doubts = rotation->doubts;

	if (far && quick)
		doubts = smaller(doubts + smaller(far, ROTATION_DOUBTS_AT_ONCE),
				 ROTATION_DOUBTS_MOST);
	else if (far)
		doubts = beyond(doubts, ROTATION_DOUBTS_GONE);
	rotation->doubts = (u8)doubts;
	rotation->far = 0;
	rotation->quick = 0;
	return rotation->declared && rotation->doubts < ROTATION_DOUBTS_ENOUGH;
}
