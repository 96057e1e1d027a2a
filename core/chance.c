// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "chance.h"
#include "number.h"

/* The share is a mean over so many; at first, as if so many had been on time. */
#define SPAN 256
#define FIRST 16

/* No more in a row are chance. */
#define ROW_MOST 8

void fgio_chance_learn(struct fgio_chance *chance, bool late)
{
	u32 of;

	chance->seen += chance->seen < SPAN - FIRST;
	of = FIRST + chance->seen;
	chance->share -= chance->share / of;
	chance->share += late ? FGIO_CHANCE_ALL / of : 0;
}

void fgio_chance_note(struct fgio_chance *chance, bool late)
{
	chance->row = late ? (u32)smaller(chance->row + 1, ROW_MOST) : 0;
}

bool fgio_chance_explains(const struct fgio_chance *chance, u32 most)
{
	u64 odds = FGIO_CHANCE_ALL;

	if (chance->row == ROW_MOST)
		return false;
	for (u32 i = 0; i < chance->row && odds > most; i++)
		odds = odds * chance->share / FGIO_CHANCE_ALL;
	return odds > most;
}
