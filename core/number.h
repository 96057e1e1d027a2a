/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the language has not for numbers that are not negative. */
#ifndef FGIO_CORE_NUMBER_H
#define FGIO_CORE_NUMBER_H

#include "types.h"

static inline u64 smaller(u64 one, u64 other)
{
	return one < other ? one : other;
}

static inline u64 larger(u64 one, u64 other)
{
	return one > other ? one : other;
}

/* By how much one is larger than the other; 0 where it is not. */
static inline u64 beyond(u64 one, u64 other)
{
	return one > other ? one - other : 0;
}

#endif /* FGIO_CORE_NUMBER_H */
