// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "chance.h"
#include "depth_constants.h"
#include "number.h"

void fgio_chance_learn(struct fgio_chance *chance, bool late)
{
	u32 of;

	chance->seen += chance->seen < CHANCE_SPAN - CHANCE_FIRST;
	of = CHANCE_FIRST + chance->seen;
	chance->share -= chance->share / of;
	chance->share += late ? FGIO_CHANCE_ALL / of : 0;
}

void fgio_chance_note(struct fgio_chance *chance, bool late)
{
	chance->row = late ? (u32)smaller(chance->row + 1, CHANCE_ROW_MOST) : 0;
}

bool fgio_chance_explains(const struct fgio_chance *chance, u32 most)
{
	u64 odds = FGIO_CHANCE_ALL;

	if (chance->row == CHANCE_ROW_MOST)
		return false;
	for (u32 i = 0; i < chance->row && odds > most; i++)
		odds = odds * chance->share / FGIO_CHANCE_ALL;
	return odds > most;
}
