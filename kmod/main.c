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
#include "uapi/fgio.h"

static u32 hooks_live;

u32 fgio_hooks_live(void)
{
	return hooks_live;
}

static void attach_hooks(void)
{
	if (fgio_stamp_init())
		hooks_live |= FGIO_HOOK_BLOCK_BIO_QUEUE;
	else
		pr_warn("cannot attach to block_bio_queue: no I/O is critical on this kernel\n");
	if (fgio_tag_init())
		hooks_live |= FGIO_HOOK_SCHED_PROCESS_EXIT;
	else
		pr_warn("cannot attach to sched_process_exit: threads cannot be tagged, I/O priorities still count\n");
}

static void detach_hooks(void)
{
	fgio_stamp_exit();
	fgio_tag_exit();
}

static int __init fgio_init(void)
{
	int error;

	fgio_counters_init();
	attach_hooks();
	error = fgio_elevator_init();
	if (error)
		goto detach;
	error = fgio_device_init();
	if (error)
		goto unregister;
	return 0;

unregister:
	fgio_elevator_exit();
detach:
	detach_hooks();
	fgio_counters_exit();
	pr_err("cannot load: error %d\n", error);
	return error;
}

static void __exit fgio_exit(void)
{
	fgio_device_exit();
	fgio_elevator_exit();
	detach_hooks();
	fgio_counters_exit();
}

module_init(fgio_init);
module_exit(fgio_exit);

MODULE_DESCRIPTION("foreground I/O first: the I/O that a request waits for overtakes the rest");
MODULE_AUTHOR("The fgio authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(FGIO_VERSION);
MODULE_ALIAS("fgio-iosched");
