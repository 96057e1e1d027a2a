/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Minimum, maximum and saturating subtraction of unsigned numbers. */
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

#endif /* FGIO_CORE_NUMBER_H */
