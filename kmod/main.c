// SPDX-License-Identifier: GPL-2.0
/*
 * Loads and unloads the module. Only the elevator and /dev/fgio are required:
 * a hook that does not attach costs its feature, is reported, and nothing else.
 *
 * Unloading cannot begin while a queue is under the elevator or /dev/fgio is
 * open, since both hold the module.
 */
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/module.h>

#include "fgio.h"
#include "inherit.h"
#include "who/trust.h"
#include "uapi/fgio.h"
#include "graph/wait.h"

static u32 hooks_live;

u32 fgio_hooks_live(void)
{
	return hooks_live;
}

static int attach_hooks(void)
{
	if (fgio_stamp_init())
		hooks_live |= FGIO_HOOK_BLOCK_BIO_QUEUE;
	else
		pr_warn("cannot attach to block_bio_queue: no I/O is critical on this kernel\n");
	if (fgio_tag_init())
		hooks_live |= FGIO_HOOK_SCHED_PROCESS_EXIT;
	else
		pr_warn("cannot attach to sched_process_exit: threads cannot be tagged, I/O priorities still count\n");
	return 0;
}

static void detach_hooks(void)
{
	fgio_stamp_exit();
	fgio_walk_stop();
	fgio_tag_exit();
}

/* In this order, and undone in the other: each may use those before it. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} parts[] = {
	{ fgio_counters_init, fgio_counters_exit },
	{ fgio_wait_init, fgio_wait_exit },
	{ fgio_blame_init, fgio_blame_exit },
	{ fgio_helper_init, fgio_helper_exit },
	{ fgio_promote_init, fgio_promote_exit },
	{ fgio_pagecache_init, fgio_pagecache_exit },
	{ NULL, fgio_gate_exit },
	{ fgio_walk_init, fgio_walk_exit },
	{ fgio_probe_init, fgio_probe_exit },
	{ attach_hooks, detach_hooks },
	{ fgio_trust_init, fgio_trust_exit },
	{ fgio_watchdog_init, fgio_watchdog_exit },
	{ fgio_elevator_init, fgio_elevator_exit },
	{ fgio_device_init, fgio_device_exit },
};

/*
 * There, locks that hooks take and that core is called under sleep, and locks
 * of the kernel have another layout.
 */
static bool is_real_time(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		return false;
	pr_err("kernels with PREEMPT_RT are not supported\n");
	return true;
}

static int __init fgio_init(void)
{
	unsigned int i;
	int error;

	if (is_real_time())
		return -EOPNOTSUPP;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		error = parts[i].init ? parts[i].init() : 0;
		if (!error)
			continue;
		pr_err("cannot load: error %d\n", error);
		while (i--)
			parts[i].exit();
		return error;
	}
	return 0;
}

static void __exit fgio_exit(void)
{
	unsigned int i = ARRAY_SIZE(parts);

	while (i--)
		parts[i].exit();
}

module_init(fgio_init);
module_exit(fgio_exit);

MODULE_DESCRIPTION("foreground I/O first: the I/O that a request waits for overtakes the rest");
MODULE_AUTHOR("The fgio authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(FGIO_VERSION);
MODULE_ALIAS("fgio-iosched");
