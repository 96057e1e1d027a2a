// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "platter.h"

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

void fgio_platter_init(struct fgio_platter *platter, bool declared)
{
	*platter = (struct fgio_platter){ .declared = declared };
}

static bool is_far(u64 one, u64 other)
{
	return larger(beyond(one, other), beyond(other, one)) >= FAR_SECTORS;
}

bool fgio_platter_moves(struct fgio_platter *platter, u64 sector, u32 sectors)
{
	u32 at = 0;
	bool far;

	if (!platter->declared)
		return false;
	while (at < FGIO_PLATTER_STREAMS && is_far(sector, platter->sector[at]))
		at++;
	far = at == FGIO_PLATTER_STREAMS;
	if (far)
		at = platter->streams++ % FGIO_PLATTER_STREAMS;
	platter->sector[at] = sector + sectors;
	return far;
}

void fgio_platter_done(struct fgio_platter *platter, u64 bytes, u64 took_ns)
{
	platter->far++;
	platter->quick += took_ns < QUICK_NS + NS_PER_BYTE * bytes;
}

bool fgio_platter_judge(struct fgio_platter *platter, u64 length_ns)
{
	u32 far = platter->far;
	bool quick = 2 * platter->quick > far || far * MOVE_NS > length_ns;

	if (far && quick)
		platter->doubts = (u8)smaller(platter->doubts +
						      smaller(far, DOUBTS_AT_ONCE),
					      DOUBTS_MOST);
	else if (far)
		platter->doubts = (u8)beyond(platter->doubts, DOUBTS_GONE);
	platter->far = 0;
	platter->quick = 0;
	return platter->declared && platter->doubts < DOUBTS_ENOUGH;
}
