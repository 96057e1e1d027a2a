// SPDX-License-Identifier: GPL-2.0
/* The scale of this machine's tables. */
#include <linux/minmax.h>
#include <linux/mm.h>

#include "base/scale.h"

/* log2 of the memory that a machine has for each thread that waits, at least. */
#define BYTES_PER_THREAD_BITS 18

unsigned int fgio_scale_of_machine(void)
{
	return min_t(unsigned long, FGIO_SCALE_SHARE(0),
		     totalram_pages() >> (BYTES_PER_THREAD_BITS - PAGE_SHIFT));
}
