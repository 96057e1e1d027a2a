// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "looks.h"
#include "number.h"

/* A place that is not used, or else that of the oldest look that gives way. */
static u32 place_for(const struct fgio_looks *looks)
{
	u32 best = FGIO_LOOKS_NONE;

	for (u32 i = 0; i < looks->count; i++) {
		const struct fgio_look *look = &looks->look[i];

		if (!look->key)
			return i;
		if (look->made_ns && !look->fresh &&
		    (best == FGIO_LOOKS_NONE ||
		     look->turn < looks->look[best].turn))
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

/* Places whose look is still to be made. */
static u32 to_be_made(const struct fgio_looks *looks)
{
	u32 places = 0;

	for (u32 i = 0; i < looks->count; i++)
		places += looks->look[i].key && !looks->look[i].made_ns;
	return places;
}

/* A linear congruential generator, whose low bits repeat after few numbers. */
static u32 any_below(struct fgio_looks *looks, u32 count)
{
	looks->chance = looks->chance * 1664525U + 1013904223U;
	return (looks->chance >> 16) % count;
}

/*
 * Whether a key may take the place of another one, whose results are lost: not
 * long before its own look, nor if others did whose looks take all the time. Not
 * always either, or keys that displace each other could do so in a circle that
 * leaves another one out.
 */
static bool may_displace(struct fgio_looks *looks, u64 now_ns)
{
	u32 most = looks->made ?: looks->count;
	u32 all = (u32)larger(looks->before, 1);
	u32 after_first = (looks->homeless + all - looks->first) % all;

	return now_ns >= looks->next_ns && after_first < most &&
	       to_be_made(looks) < most && any_below(looks, 2);
}

u32 fgio_looks_ask(struct fgio_looks *looks, u64 key, u64 now_ns)
{
	u32 place = place_of(looks, key);

	if (place != FGIO_LOOKS_NONE) {
		looks->look[place].asked = true;
		looks->look[place].fresh = false;
		return looks->look[place].made_ns ? place : FGIO_LOOKS_NONE;
	}
	place = place_for(looks);
	if (place != FGIO_LOOKS_NONE &&
	    (!looks->look[place].turn || may_displace(looks, now_ns)))
		looks->look[place] = (struct fgio_look){
			.key = key,
			.turn = ++looks->turns,
			.asked = true,
		};
	looks->homeless++;
	return FGIO_LOOKS_NONE;
}

/* What the walk did not ask for is kept only as long as no key needs its place. */
static void forget_unasked(struct fgio_looks *looks)
{
	for (u32 i = 0; i < looks->count; i++) {
		struct fgio_look *look = &looks->look[i];

		look->fresh = false;
		if (look->asked)
			continue;
		look->turn = 0;
		if (!look->made_ns)
			look->key = 0;
	}
}

static u32 end(struct fgio_looks *looks)
{
	for (u32 i = 0; i < looks->count; i++)
		looks->look[i].asked = false;
	looks->first = looks->homeless ? any_below(looks, looks->homeless) : 0;
	looks->before = looks->homeless;
	looks->homeless = 0;
	if (looks->now_made)
		looks->made = looks->now_made;
	looks->now_made = 0;
	return FGIO_LOOKS_NONE;
}

/* Of those that were asked for, the one whose turn it is. */
static u32 next_of(const struct fgio_looks *looks)
{
	u32 best = FGIO_LOOKS_NONE;

	for (u32 i = 0; i < looks->count; i++) {
		const struct fgio_look *look = &looks->look[i];

		/* Made again, it could not give way to one that asks next. */
		if (look->asked && !(looks->homeless && look->made_ns) &&
		    (best == FGIO_LOOKS_NONE ||
		     look->turn < looks->look[best].turn))
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
	look->turn = ++looks->turns;
	look->asked = false;
	look->fresh = true;
	looks->now_made++;
	looks->next_ns = now_ns + FGIO_LOOKS_SHARE * took_ns;
	place = took_ns < FGIO_LOOKS_SLICE_NS ? next_of(looks) :
						FGIO_LOOKS_NONE;
	return place == FGIO_LOOKS_NONE ? end(looks) : place;
}
