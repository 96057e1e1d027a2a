// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "chance.h"
#include "depth_constants.h"
#include "number.h"

static u32 learnt_from(const struct fgio_chance *chance)
{
	return CHANCE_FIRST + chance->seen;
}

void fgio_chance_learn(struct fgio_chance *chance, bool late)
{
	u32 of;

	chance->seen += chance->seen < CHANCE_SPAN - CHANCE_FIRST;
	of = learnt_from(chance);
	chance->share -= chance->share / of;
	chance->share += late ? FGIO_CHANCE_ALL / of : 0;
}

static void learn_rarest(struct fgio_chance *chance)
{
	u32 share = (chance->late + 1) * (FGIO_CHANCE_ALL / CHANCE_BESIDE);

	if (!chance->rarest || share < chance->rarest)
		chance->rarest = share;
	else
		chance->rarest += (share - chance->rarest) / CHANCE_RISE_STEP;
	chance->beside = 0;
	chance->late = 0;
}

void fgio_chance_note(struct fgio_chance *chance, bool late)
{
	chance->late += late;
	if (++chance->beside == CHANCE_BESIDE)
		learn_rarest(chance);
	chance->row = late ? (u32)smaller(chance->row + 1, CHANCE_ROW_MOST) : 0;
}

u32 fgio_chance_likely(const struct fgio_chance *chance)
{
	u64 share = chance->share + FGIO_CHANCE_ALL / learnt_from(chance);

	if (chance->rarest)
		share = smaller(share, larger(chance->share, chance->rarest));
	return (u32)share;
}

bool fgio_chance_explains(const struct fgio_chance *chance, u32 share, u32 most)
{
	u64 odds = FGIO_CHANCE_ALL;

	if (chance->row == CHANCE_ROW_MOST)
		return false;
	for (u32 i = 0; i < chance->row && odds > most; i++)
		odds = odds * share / FGIO_CHANCE_ALL;
	return odds > most;
}
