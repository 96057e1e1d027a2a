// SPDX-License-Identifier: GPL-2.0
/*
 * The gate at the system call, for comparison in the lab: write and fsync of
 * non-critical tasks wait here, where no lock of the kernel is held, until
 * core/lab/gate.c lets them go. Tasks that wait for them are not known.
 *
 * A module beside fgio.ko, which it asks for the class of a task and for the
 * disks. The gate is there while the module is loaded.
 *
 * A write waits when it is done, that is, before the next one: each time that
 * the kernel itself checks the writer, and at least once per POLL_PAGES.
 *
 * An fsync must wait before it begins. A probe may not sleep, so the call is
 * made to fail with -ERESTARTNOINTR at its beginning, as if a signal had come:
 * the task waits where signals are handled, and the kernel restarts the call. A
 * task that waited has a pass for the restarted call.
 *
 * Files of overlayfs pass, since their pages belong to another file.
 */
#include <linux/backing-dev.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/wait_bit.h>
#include <linux/writeback.h>
#include <linux/xarray.h>

#include <asm/syscall.h>

#include "block/queues.h"
#include "compat/compat.h"
#include "core/lab/gate.h"
#include "layers/pagecache.h"

/* The most pages between two checks of a writer: 128 KiB. */
#define POLL_PAGES 32

static unsigned int gate;
module_param(gate, uint, 0444);
MODULE_PARM_DESC(gate, "1: at system calls, non-critical writes and fsyncs wait while critical I/O is outstanding; 2: fsyncs wait for their file to be written");

/**
 * struct visit - a task that comes to the gate at the end of its system call
 * @work: runs at_gate() there
 * @sync: the call is an fsync, to be restarted
 */
struct visit {
	struct callback_head work;
	bool sync;
};

/* The number of visits: the module must not go before they end. */
static atomic_t pending;
static bool stopping;

#define PASS_BITS 8

/*
 * Tasks whose fsync waited already. Two may share a place: then one waits
 * twice. A new task in the memory of an ended one may skip its wait.
 */
static struct task_struct *passes[1 << PASS_BITS];

static struct task_struct **pass_of_current(void)
{
	return &passes[hash_ptr(current, PASS_BITS)];
}

/* --- At the gate ------------------------------------------------------ */

/* Any signal ends the wait: an fsync is restarted after the handler ran. */
static bool must_stay(void)
{
	return !READ_ONCE(stopping) && !signal_pending(current) &&
	       fgio_may_be_parked(0);
}

static void count_critical(struct fgio_queue_data *fq, void *count)
{
	*(u64 *)count += fgio_queue_queued(&fq->queue, FGIO_CRITICAL) +
			 fgio_queue_in_device(&fq->queue, FGIO_CRITICAL);
}

/* Counts no further than FGIO_GATE_BATCH. A large folio is one page. */
static u64 count_pages(struct address_space *mapping, xa_mark_t mark)
{
	unsigned long index;
	void *page;
	u64 count = 0;

	xa_for_each_marked(&mapping->i_pages, index, page, mark)
		if (++count > FGIO_GATE_BATCH)
			break;
	return count;
}

static struct fgio_gate_sample take_sample(struct address_space *mapping,
					   u64 since_ns)
{
	struct fgio_gate_sample sample = {
		.sync = mapping,
		.waited_ns = ktime_get_ns() - since_ns,
	};

	fgio_visit_queues(count_critical, &sample.critical);
	if (mapping) {
		sample.dirty = count_pages(mapping, PAGECACHE_TAG_DIRTY);
		sample.writeback = count_pages(mapping,
					       PAGECACHE_TAG_WRITEBACK);
	}
	return sample;
}

/* As the flusher does, from the page where the last call stopped. */
static void write_batch(struct address_space *mapping)
{
	struct writeback_control control = {
		.sync_mode = WB_SYNC_NONE,
		.nr_to_write = FGIO_GATE_BATCH,
		.range_end = LLONG_MAX,
		.range_cyclic = 1,
	};

	filemap_fdatawrite_wbc(mapping, &control);
}

static void sleep_for(u64 pause_ns)
{
	ktime_t pause = ns_to_ktime(pause_ns);

	set_current_state(TASK_INTERRUPTIBLE);
	if (must_stay())
		schedule_hrtimeout_range(&pause, pause_ns / 4,
					 HRTIMER_MODE_REL);
	__set_current_state(TASK_RUNNING);
}

/* @mapping: of the file to be synced, or NULL */
static void stay(struct address_space *mapping)
{
	u64 since_ns = ktime_get_ns();
	struct fgio_gate_sample sample;
	enum fgio_gate_action action;

	while (must_stay()) {
		sample = take_sample(mapping, since_ns);
		action = fgio_gate_next(gate, &sample);
		if (action == FGIO_GATE_GO)
			break;
		if (action == FGIO_GATE_WRITE)
			write_batch(mapping);
		sleep_for(fgio_gate_pause_ns(gate));
	}
}

/* The registers hold the call that is to be restarted. */
static void stay_before_sync(void)
{
	struct address_space *mapping;
	unsigned long arguments[6];
	struct file *file;

	syscall_get_arguments(current, task_pt_regs(current), arguments);
	file = fget(arguments[0]);
	if (file) {
		mapping = file->f_mapping;
		if (fgio_wb_is_ours(&inode_to_bdi(mapping->host)->wb))
			stay(mapping);
		fput(file);
	}
	WRITE_ONCE(*pass_of_current(), current);
}

static void stay_after_write(void)
{
	stay(NULL);
	current->nr_dirtied_pause = min(current->nr_dirtied_pause, POLL_PAGES);
}

static void drop_visit(struct visit *visit)
{
	kfree(visit);
	if (atomic_dec_and_test(&pending))
		wake_up_var(&pending);
}

/* Context: the task's, about to return to user space or to exit. */
static void at_gate(struct callback_head *work)
{
	struct visit *visit = container_of(work, struct visit, work);

	if (!(current->flags & PF_EXITING)) {
		if (visit->sync)
			stay_before_sync();
		else
			stay_after_write();
	}
	drop_visit(visit);
}

/* --- In the system call ----------------------------------------------- */

/* Return: whether the current task will wait at the gate. */
static bool send_to_gate(bool sync)
{
	struct visit *visit = kzalloc(sizeof(*visit),
				      GFP_NOWAIT | __GFP_NOWARN);

	if (!visit)
		return false;
	visit->sync = sync;
	init_task_work(&visit->work, at_gate);
	atomic_inc(&pending);
	if (!task_work_add(current, &visit->work,
			   sync ? TWA_SIGNAL : TWA_RESUME))
		return true;
	drop_visit(visit);
	return false;
}

static bool take_pass(void)
{
	struct task_struct **pass = pass_of_current();

	return cmpxchg(pass, current, NULL) == current;
}

/* Replaces fsync for a task that is sent to the gate. */
static long call_again(const struct pt_regs *regs)
{
	return -ERESTARTNOINTR;
}

static int on_sync(struct kprobe *probe, struct pt_regs *regs)
{
	if (!fgio_may_be_parked(0) || take_pass() || !send_to_gate(true))
		return 0;
	instruction_pointer_set(regs, (unsigned long)call_again);
	return 1;
}

/* Tells ftrace that the function may be left out, as by a livepatch. */
static void after_sync(struct kprobe *probe, struct pt_regs *regs,
		       unsigned long flags)
{
}

/*
 * A task with pending task work was most likely sent to the gate already.
 */
static int on_balance_dirty_pages(struct kprobe *probe, struct pt_regs *regs)
{
	struct bdi_writeback *wb = (void *)regs_get_kernel_argument(regs, 0);
	unsigned int flags = regs_get_kernel_argument(regs, 2);

	if (gate == FGIO_GATE_PRIORITY && fgio_may_be_parked(flags) &&
	    fgio_wb_is_ours(wb) && !task_work_pending(current))
		send_to_gate(false);
	return 0;
}

static struct kprobe write_probe = {
	.symbol_name = "balance_dirty_pages",
	.pre_handler = on_balance_dirty_pages,
};

static struct kprobe fsync_probe = {
	.symbol_name = "__x64_sys_fsync",
	.pre_handler = on_sync,
	.post_handler = after_sync,
};

static struct kprobe fdatasync_probe = {
	.symbol_name = "__x64_sys_fdatasync",
	.pre_handler = on_sync,
	.post_handler = after_sync,
};

static struct kprobe *probes[] = {
	&write_probe,
	&fsync_probe,
	&fdatasync_probe,
};

static int __init gate_init(void)
{
	if (gate != FGIO_GATE_PRIORITY && gate != FGIO_GATE_DEADLINE) {
		pr_err("fgio_gate: gate=%u is neither 1 nor 2\n", gate);
		return -EINVAL;
	}
	return register_kprobes(probes, ARRAY_SIZE(probes));
}
module_init(gate_init);

/* Without probes no task comes any more, and waiting ones poll. */
static void __exit gate_exit(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	WRITE_ONCE(stopping, true);
	wait_var_event(&pending, !atomic_read(&pending));
	synchronize_rcu_tasks();
}
module_exit(gate_exit);

MODULE_DESCRIPTION("Scheduling at the system call, for comparison with fgio");
MODULE_LICENSE("GPL");
FGIO_IMPORT();
