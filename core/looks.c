// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "looks.h"
#include "number.h"

/* Whether another key may have it. */
static bool gives_way(const struct fgio_look *look)
{
	return !look->key || (look->made_ns && !look->fresh);
}

/* The place for a key that has none: a free one, else that of the oldest look. */
static u32 place_for(const struct fgio_looks *looks)
{
	u32 best = FGIO_LOOKS_NONE;

	for (u32 i = 0; i < looks->count; i++) {
		const struct fgio_look *look = &looks->look[i];

		if (gives_way(look) &&
		    (best == FGIO_LOOKS_NONE ||
		     look->made_ns < looks->look[best].made_ns))
			best = i;
	}
	return best;
}

static u32 place_of(const struct fgio_looks *looks, u64 key)
{
	for (u32 i = 0; i < looks->count; i++)
		if (looks->look[i].key == key)
			return i;
	return FGIO_LOOKS_NONE;
}

u32 fgio_looks_ask(struct fgio_looks *looks, u64 key)
{
	u32 place = place_of(looks, key);

	if (place != FGIO_LOOKS_NONE) {
		looks->look[place].asked = true;
		looks->look[place].fresh = false;
		return place;
	}
	place = place_for(looks);
	if (place == FGIO_LOOKS_NONE)
		looks->crowded = true;
	else
		looks->look[place] = (struct fgio_look){
			.key = key,
			.asked = true,
		};
	return place;
}

/* What the walk did not ask for is kept only as long as no other key needs the place. */
static void forget_unasked(struct fgio_looks *looks)
{
	for (u32 i = 0; i < looks->count; i++) {
		struct fgio_look *look = &looks->look[i];

		look->fresh = false;
		if (!look->asked && !look->made_ns)
			look->key = 0;
	}
}

static u32 end(struct fgio_looks *looks)
{
	for (u32 i = 0; i < looks->count; i++)
		looks->look[i].asked = false;
	looks->crowded = false;
	return FGIO_LOOKS_NONE;
}

/* Of those that were asked for, the one that waits longest. */
static u32 next_of(const struct fgio_looks *looks)
{
	u32 best = FGIO_LOOKS_NONE;

	for (u32 i = 0; i < looks->count; i++) {
		const struct fgio_look *look = &looks->look[i];

		/* One that is made again could not give way to the next walk's. */
		if (look->asked && !(looks->crowded && look->made_ns) &&
		    (best == FGIO_LOOKS_NONE ||
		     look->made_ns < looks->look[best].made_ns))
			best = i;
	}
	return best;
}

u32 fgio_looks_begin(struct fgio_looks *looks, u64 now_ns)
{
	u32 place = next_of(looks);

	forget_unasked(looks);
	if (place == FGIO_LOOKS_NONE || now_ns < looks->next_ns)
		return end(looks);
	looks->began_ns = now_ns;
	return place;
}

u32 fgio_looks_made(struct fgio_looks *looks, u32 place, u64 now_ns)
{
	struct fgio_look *look = &looks->look[place];
	u64 took_ns = beyond(now_ns, looks->began_ns);

	look->made_ns = larger(now_ns, 1);
	look->asked = false;
	look->fresh = true;
	looks->next_ns = now_ns + FGIO_LOOKS_SHARE * took_ns;
	place = took_ns < FGIO_LOOKS_SLICE_NS ? next_of(looks) :
						FGIO_LOOKS_NONE;
	return place == FGIO_LOOKS_NONE ? end(looks) : place;
}
