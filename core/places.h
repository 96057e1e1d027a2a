/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Which of a few places a newcomer takes, in tables of notes that any user may
 * make: the *payer* (a user) with the most places gives way, so that no user's
 * notes take the last place of another one.
 *
 * Without locks: the caller may read and write the places unserialised, if a
 * wrong choice harms nothing but a note.
 */
#ifndef FGIO_CORE_PLACES_H
#define FGIO_CORE_PLACES_H

#include "atomic.h"
#include "types.h"

#define FGIO_PLACES 4U

/* Return: the place of an object that is noted; FGIO_PLACES if it is not. */
static inline unsigned int fgio_place_of(const u64 objects[FGIO_PLACES],
					 u64 object)
{
	unsigned int place;

#pragma GCC unroll 4
	for (place = 0; place < FGIO_PLACES; place++)
		if (fgio_load(&objects[place]) == object)
			break;
	return place;
}

/**
 * fgio_place_for() - the place that a new note takes
 * @objects: what is noted; 0 for a free place
 * @payers: the payer of each note
 * @newcomer: the payer of the new one
 * @first: the place that is looked at first, of those that are equally good;
 *	any number
 *
 * A free place, else one of the payer that would have most with the new note,
 * the newcomer rather than another with as many.
 */
static inline unsigned int fgio_place_for(const u64 objects[FGIO_PLACES],
					  const u32 payers[FGIO_PLACES],
					  u32 newcomer, unsigned int first)
{
	unsigned int best = 0, most = 0;
	unsigned int i, j, place, share;
	u32 payer;

	for (i = 0; i < FGIO_PLACES; i++) {
		place = (first + i) % FGIO_PLACES;
		if (!fgio_load(&objects[place]))
			return place;
	}
	/* The newcomer's are most mostly, and then the first one is the best. */
	for (i = 0; i < FGIO_PLACES && most <= FGIO_PLACES; i++) {
		place = (first + i) % FGIO_PLACES;
		payer = fgio_load(&payers[place]);
		share = payer == newcomer;
		for (j = 0; j < FGIO_PLACES; j++)
			share += fgio_load(&payers[j]) == payer;
		if (share < most ||
		    (share == most && (payer != newcomer ||
				       fgio_load(&payers[best]) == newcomer)))
			continue;
		best = place;
		most = share;
	}
	return best;
}

#endif /* FGIO_CORE_PLACES_H */
