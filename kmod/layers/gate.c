// SPDX-License-Identifier: GPL-2.0
/*
 * The gate at the system call: for comparison alone, off by default. write and
 * fsync of non-critical tasks wait here, where no lock of the kernel is held,
 * until core/gate.c lets them go. Tasks that wait for them are not known.
 *
 * A write waits when it is done, that is, before the next one: each time that
 * the kernel itself checks the writer, and at least once per POLL_PAGES.
 *
 * An fsync must wait before it begins. A hook may not sleep, so the call is
 * made to fail with -ERESTARTNOINTR at its beginning, as if a signal had come:
 * the task waits where signals are handled, and the kernel restarts the call. A
 * task that waited has a pass for the restarted call.
 */
#include <linux/backing-dev.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/wait_bit.h>
#include <linux/xarray.h>

#include <asm/syscall.h>

#include "base/hook.h"
#include "base/mechanism.h"
#include "block/queues.h"
#include "core/gate.h"
#include "graph/wait.h"
#include "layers/gate.h"
#include "layers/pagecache.h"
#include "who/presence.h"

/* The most pages between two checks of a writer: 128 KiB. */
#define POLL_PAGES 32

static unsigned int gate = FGIO_GATE_OFF;

static int set_gate(const char *text, const struct kernel_param *param)
{
	int error = param_set_uint_minmax(text, param, FGIO_GATE_OFF,
					  FGIO_GATE_DEADLINE);

	if (!error)
		fgio_mechanism_switch(FGIO_MECHANISM_GATE, gate);
	return error;
}

static const struct kernel_param_ops gate_ops = {
	.set = set_gate,
	.get = param_get_uint,
};

module_param_cb(gate, &gate_ops, &gate, 0644);
MODULE_PARM_DESC(gate, "for comparison: at system calls, non-critical writes and fsyncs wait while critical I/O is outstanding (1), or fsyncs for their file to be written (2) (0)");

#ifdef FGIO_HAVE_TASK_WORK_ADD

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
	       fgio_mechanism_on(FGIO_MECHANISM_GATE) && fgio_waits_matter() &&
	       !fgio_current_is_critical();
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
		.critical = fgio_critical_outstanding(),
		.waited_ns = ktime_get_ns() - since_ns,
	};

	if (mapping) {
		sample.dirty = count_pages(mapping, PAGECACHE_TAG_DIRTY);
		sample.writeback = count_pages(mapping,
					       PAGECACHE_TAG_WRITEBACK);
	}
	return sample;
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
		action = fgio_gate_next(READ_ONCE(gate), &sample);
		if (action == FGIO_GATE_GO)
			break;
		if (action == FGIO_GATE_WRITE)
			fgio_write_mapping(mapping, FGIO_GATE_BATCH);
		sleep_for(fgio_gate_pause_ns(READ_ONCE(gate)));
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
		mapping = fgio_mapping_of_file(file);
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
	if (!fgio_mechanism_on(FGIO_MECHANISM_GATE) || !fgio_may_be_parked(0) ||
	    take_pass() || !send_to_gate(true))
		return 0;
	instruction_pointer_set(regs, (unsigned long)call_again);
	return 1;
}

/*
 * A task with pending task work was most likely sent to the gate already.
 */
static int on_balance_dirty_pages(struct kretprobe_instance *instance,
				  struct pt_regs *regs)
{
	struct bdi_writeback *wb = (void *)regs_get_kernel_argument(regs, 0);
	unsigned int flags = regs_get_kernel_argument(regs, 2);

	if (READ_ONCE(gate) == FGIO_GATE_PRIORITY &&
	    fgio_may_be_parked(flags) && fgio_wb_is_ours(wb) &&
	    !task_work_pending(current))
		send_to_gate(false);
	return 1;
}

static struct fgio_hook hooks[] = {
	FGIO_HOOK("balance_dirty_pages", GATE, on_balance_dirty_pages, NULL,
		  .optional = true),
	FGIO_HOOK("__x64_sys_fsync", GATE, NULL, NULL, .detour = on_sync,
		  .optional = true),
	FGIO_HOOK("__x64_sys_fdatasync", GATE, NULL, NULL, .detour = on_sync,
		  .optional = true),
	{}
};

/* The hooks are gone: no task comes any more, and waiting ones poll. */
void fgio_gate_exit(void)
{
	WRITE_ONCE(stopping, true);
	wait_var_event(&pending, !atomic_read(&pending));
	synchronize_rcu_tasks();
}

#else

static struct fgio_hook hooks[] = { {} };

void fgio_gate_exit(void)
{
}

#endif

const struct fgio_layer fgio_gate_layer = {
	.name = "gate",
	.mechanism = FGIO_MECHANISM_GATE,
	.hooks = hooks,
};
