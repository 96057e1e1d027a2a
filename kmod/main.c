// SPDX-License-Identifier: GPL-2.0
/*
 * Loads and unloads the module. Only the elevator and /dev/fgio are required: a
 * hook that cannot be attached costs its feature alone, and is reported.
 *
 * Unloading cannot begin while a queue is under the elevator or /dev/fgio is
 * open, since both hold the module.
 */
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/module.h>

#include "base/debug.h"
#include "base/version.h"
#include "base/waker.h"
#include "block/counters.h"
#include "block/flush.h"
#include "block/groups.h"
#include "block/lifetime.h"
#include "block/promote.h"
#include "block/split.h"
#include "block/stamp.h"
#include "block/watchdog.h"
#include "device.h"
#include "graph/blame.h"
#include "graph/layer.h"
#include "graph/probe.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/aio.h"
#include "layers/btrfs.h"
#include "layers/child.h"
#include "layers/declared_wait.h"
#include "layers/event.h"
#include "layers/file_lock.h"
#include "layers/fuse.h"
#include "layers/futex.h"
#include "layers/io.h"
#include "layers/journal.h"
#include "layers/lock.h"
#include "layers/loop.h"
#include "layers/name.h"
#include "layers/pagecache.h"
#include "layers/question.h"
#include "layers/reply.h"
#include "layers/sleep.h"
#include "layers/sysvsem.h"
#include "layers/uring.h"
#include "layers/xfs.h"
#include "who/tag.h"
#include "who/trust.h"

/* All layers, in the order in which /dev/fgio lists their hooks. */
static const struct fgio_layer *const layers[] = {
	&fgio_lock_layer,
	&fgio_journal_layer,
	&fgio_xfs_log_layer,
	&fgio_xfs_buffer_layer,
	&fgio_btrfs_layer,
	&fgio_btrfs_extent_layer,
	&fgio_io_layer,
	&fgio_flush_layer,
	&fgio_futex_layer,
	&fgio_sleep_layer,
	&fgio_sysvsem_layer,
	&fgio_declared_wait_layer,
	&fgio_pagecache_layer,
	&fgio_uring_layer,
	&fgio_aio_layer,
	&fgio_file_lock_layer,
	&fgio_reply_layer,
	&fgio_child_layer,
	&fgio_name_layer,
	&fgio_fuse_layer,
	&fgio_event_layer,
	&fgio_loop_layer,
	&fgio_split_layer,
};

static int init_layers(void)
{
	return fgio_layers_init(layers, ARRAY_SIZE(layers));
}

static int init_walk(void)
{
	return fgio_walk_init(fgio_promote_all);
}

static int attach_hooks(void)
{
	if (!fgio_stamp_init())
		pr_warn("cannot attach to block_bio_queue: no I/O is critical on this kernel\n");
	if (!fgio_tag_init(fgio_wait_forget_current))
		pr_warn("cannot attach to sched_process_exit: threads cannot be tagged, I/O priorities still count\n");
	return 0;
}

static void detach_hooks(void)
{
	fgio_stamp_exit();
	fgio_walk_stop();
	fgio_tag_exit();
}

/* Initialised in this order, undone in reverse: each may use those before. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} parts[] = {
	{ fgio_debug_init, fgio_debug_exit },
	{ NULL, fgio_counters_exit },
	{ init_layers, NULL },
	{ fgio_wait_init, fgio_wait_exit },
	{ fgio_blame_init, fgio_blame_exit },
	{ fgio_waker_init, fgio_waker_exit },
	{ fgio_question_init, NULL },
	{ fgio_promote_init, fgio_promote_exit },
	{ fgio_pagecache_init, fgio_pagecache_exit },
	{ init_walk, fgio_walk_exit },
	{ fgio_probe_init, fgio_probe_exit },
	{ attach_hooks, detach_hooks },
	{ fgio_trust_init, fgio_trust_exit },
	{ fgio_watchdog_init, fgio_watchdog_exit },
	{ fgio_groups_init, fgio_groups_exit },
	{ fgio_elevator_init, fgio_elevator_exit },
	{ fgio_device_init, fgio_device_exit },
};

/* The first @count parts. */
static void undo(unsigned int count)
{
	while (count--)
		if (parts[count].exit)
			parts[count].exit();
}

/*
 * With PREEMPT_RT, spinlocks sleep, which hooks take and under which core is
 * called, and the kernel's locks have another layout.
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
		undo(i);
		return error;
	}
	return 0;
}

static void __exit fgio_exit(void)
{
	undo(ARRAY_SIZE(parts));
}

module_init(fgio_init);
module_exit(fgio_exit);

MODULE_DESCRIPTION("foreground I/O first: the I/O that a request waits for overtakes the rest");
MODULE_AUTHOR("The fgio authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(FGIO_VERSION);
MODULE_ALIAS("fgio-iosched");
