/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Minimum, maximum, saturating subtraction and search of unsigned numbers. */
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

/* How much @one exceeds @other; 0 if it does not. */
static inline u64 beyond(u64 one, u64 other)
{
	return one > other ? one - other : 0;
}

static inline bool is_among(u64 value, const u64 *values, u32 count)
{
	while (count)
		if (values[--count] == value)
			return true;
	return false;
}

#endif /* FGIO_CORE_NUMBER_H */
