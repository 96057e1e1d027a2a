// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The family of drives by name; docs/drives.md says what each stands for. */
#include "simdisk_internal.h"

/* Ends with an entry of no name. */
static const struct simdisk_preset presets[] = {
	{
		.name = "network",
		.spec = "volume:iops=10000,bytes_per_s=1250M,latency=4500us,jitter_mean=500us,jitter_max=5ms,queue_depth=256,sigma=0.2",
		.what = "network storage 5 ms away, 10,000 I/Os a second",
		.source = "none: a far replicated store, as issue 17 has it",
	},
	{ .name = NULL },
};

const struct simdisk_preset *simdisk_preset(u32 number)
{
	u32 i;

	for (i = 0; i < number && presets[i].name; i++)
		;
	return presets[i].name ? &presets[i] : NULL;
}
