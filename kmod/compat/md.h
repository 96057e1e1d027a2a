/* SPDX-License-Identifier: GPL-2.0 */
/* The private struct of an array of md: the build finds offsets in the module's BTF. */
#ifndef FGIO_COMPAT_MD_H
#define FGIO_COMPAT_MD_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/types.h>

#include "fgio_private.h"

/*
 * Whether a write to an array of md (struct mddev) waits until its superblocks say
 * that it is being written.
 */
static inline bool fgio_array_awaits_superblock(const void *array)
{
#if defined(FGIO_ARRAY_IS_CLEAN) && defined(FGIO_ARRAY_FLAGS) && \
	defined(FGIO_ARRAY_IS_CHANGING)
	const int *is_clean = array + FGIO_ARRAY_IS_CLEAN;
	const unsigned long *flags = array + FGIO_ARRAY_FLAGS;

	return READ_ONCE(*is_clean) || test_bit(FGIO_ARRAY_IS_CHANGING, flags);
#else
	return false;
#endif
}

#endif /* FGIO_COMPAT_MD_H */
