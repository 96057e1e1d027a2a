// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "number.h"
#include "room.h"

/* In two, since one product could overflow; for up to 2^24 groups. */
static u64 part_of(u64 pages, u64 weight, u64 sum)
{
	return pages / sum * weight + pages % sum * weight / sum;
}

u64 fgio_room_pages(u32 percent, u64 dirtyable, u64 others)
{
	u64 pages = dirtyable * percent / 100;

	return pages - smaller(pages / 2, others);
}

static u64 quiet_ns(const struct fgio_room_group *group, u64 now_ns)
{
	return beyond(now_ns, fgio_load(&group->dirtied_ns));
}

bool fgio_room_dirties(const struct fgio_room_group *group, u64 now_ns)
{
	return fgio_load(&group->dirtied_ns) &&
	       quiet_ns(group, now_ns) < FGIO_ROOM_MEMORY_NS;
}

/* Whether it has so nearly all of its part that it may be held up by it. */
static bool is_short(const struct fgio_room_group *group)
{
	return group->has_part &&
	       group->held >= group->part - group->part / 8;
}

/*
 * All tasks of a quiet group may wait for I/O. What it has is dirty all the same,
 * and of no use to others.
 */
static u64 need_of(const struct fgio_room_group *group, u64 now_ns)
{
	if (quiet_ns(group, now_ns) >= FGIO_ROOM_QUIET_NS)
		return group->held + FGIO_ROOM_LEAST;
	if (is_short(group))
		return FGIO_ROOM_UNLIMITED;
	return 2 * group->held + FGIO_ROOM_LEAST;
}

u64 fgio_room_held(struct fgio_room_group *group)
{
	u64 peak = fgio_exchange(&group->peak, 0);

	if (peak)
		group->held = peak;
	return group->held;
}

void fgio_room_begin(struct fgio_room *room, u64 pages)
{
	fgio_store(&room->pages, pages);
	room->left = pages;
	room->asking = 0;
	fgio_store(&room->weights, 0);
	room->groups = 0;
}

void fgio_room_count(struct fgio_room *room, struct fgio_room_group *group,
		     u32 weight, u64 now_ns)
{
	fgio_store(&group->announced, 0);
	group->counted = fgio_room_dirties(group, now_ns);
	if (!group->counted) {
		fgio_store(&group->has_part, false);
		return;
	}
	group->weight = (u32)larger(weight, 1);
	group->need = need_of(group, now_ns);
	group->lends = false;
	room->asking += group->weight;
	fgio_add(&room->weights, group->weight);
	room->groups++;
}

/*
 * What a group that lends does not need raises the parts of all others: so one
 * that lends does so in all later rounds.
 */
bool fgio_room_lend(struct fgio_room *room, struct fgio_room_group *group)
{
	if (!group->counted || group->lends ||
	    group->need > part_of(room->left, group->weight, room->asking))
		return false;
	group->lends = true;
	room->left -= group->need;
	room->asking -= group->weight;
	return true;
}

/*
 * What is left when all lend goes to all of them, so that they can grow; but not
 * all of the room at once to one that is just the first.
 */
void fgio_room_settle(const struct fgio_room *room,
		      struct fgio_room_group *group)
{
	u64 part;

	if (!group->counted)
		return;
	if (!group->lends)
		part = part_of(room->left, group->weight, room->asking);
	else if (room->asking)
		part = group->need;
	else
		part = group->need +
		       smaller(part_of(room->left, group->weight,
				       fgio_load(&room->weights)),
			       room->pages / FGIO_ROOM_FIRST);
	fgio_store(&group->part, part);
	fgio_store(&group->has_part, true);
}

void fgio_room_dirty(struct fgio_room *room, struct fgio_room_group *group,
		     u32 weight, u64 held, u64 now_ns)
{
	fgio_raise(&group->peak, held);
	fgio_store(&group->dirtied_ns, now_ns);
	if (!fgio_load(&group->has_part) && !fgio_load(&group->announced) &&
	    !fgio_exchange(&group->announced, 1))
		fgio_add(&room->weights, larger(weight, 1));
}

u64 fgio_room_limit(const struct fgio_room *room,
		    const struct fgio_room_group *group, u32 weight)
{
	u64 pages = fgio_load(&room->pages);
	u64 own = larger(weight, 1);
	u64 part;

	if (!pages)
		return FGIO_ROOM_UNLIMITED;
	if (fgio_load(&group->has_part))
		part = fgio_load(&group->part);
	else
		part = smaller(part_of(pages, own,
				       larger(fgio_load(&room->weights), own)),
			       pages / FGIO_ROOM_FIRST);
	return larger(part, FGIO_ROOM_LEAST);
}

bool fgio_room_may_go(struct fgio_room_group *group, u64 limit, u64 held,
		      u64 now_ns)
{
	u64 went_ns = fgio_load(&group->went_ns);

	if (held <= limit) {
		fgio_store(&group->went_ns, now_ns);
		return true;
	}
	return beyond(now_ns, went_ns) >= FGIO_ROOM_AGE_NS &&
	       fgio_replace(&group->went_ns, &went_ns, now_ns);
}
