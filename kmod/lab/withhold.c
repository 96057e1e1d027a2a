// SPDX-License-Identifier: GPL-2.0
/*
 * A bug of the elevator, simulated for tests: while this module is loaded,
 * fgio.ko keeps non-critical requests queued for ever, as long as no critical
 * one is queued. Only the watchdog ends that, when it lets the disk through.
 * With hardware_queue=N, it is only those of this hardware queue, where each has
 * its own.
 *
 * With groups=1, something else is withheld: drives that begin to be shared do
 * not divide their slots among groups. With waiters=1, requests are charged to
 * the group that they come from, whichever task waits for them.
 *
 * fgio.ko has no code for it: functions of it are replaced where they begin, as
 * a livepatch would do it.
 *
 *	fgio_has_work	says that there is none: then the block layer asks no
 *			hardware queue for a request
 *	fgio_queue_next	finds no request that may go; under the queue's lock
 *	fgio_admission_use_groups
 *			uses none; under the tag set's lock
 *	fgio_group_of_waiter
 *			knows none; under the queue's lock
 *
 * Requests that fgio does not order pass all the same.
 */
#include <linux/blk-mq.h>
#include <linux/ftrace.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "base/hook.h"
#include "block/queues.h"
#include "compat/compat.h"

static int hardware_queue = -1;
module_param(hardware_queue, int, 0444);

static bool groups;
module_param(groups, bool, 0444);

static bool waiters;
module_param(waiters, bool, 0444);

static struct fgio_queue_data *queue_of(const struct blk_mq_hw_ctx *hctx)
{
	return hctx->queue->elevator->elevator_data;
}

static bool withholds(const struct fgio_queue_data *fq)
{
	return !groups && !waiters && !fgio_lets_through(fq) &&
	       !fgio_queue_queued(&fq->queue, FGIO_CRITICAL);
}

static bool has_unscheduled(struct blk_mq_hw_ctx *hctx)
{
	const struct fgio_tag_set *tag_set = hctx->sched_data;

	if (tag_set->hw)
		return !list_empty_careful(&tag_set->hw->unscheduled);
	return !list_empty_careful(&queue_of(hctx)->unscheduled);
}

static bool withholds_here(const struct fgio_queue_data *fq,
			   const struct blk_mq_hw_ctx *hctx)
{
	const struct fgio_tag_set *tag_set = hctx->sched_data;

	return tag_set->hw && hctx->queue_num == hardware_queue &&
	       !fgio_lets_through(fq) &&
	       !READ_ONCE(tag_set->hw->queue.queued[FGIO_CRITICAL]);
}

static bool has_work_to_hide(unsigned long argument)
{
	const struct blk_mq_hw_ctx *hctx =
		(const struct blk_mq_hw_ctx *)argument;
	const struct fgio_queue_data *fq = queue_of(hctx);

	return hardware_queue < 0 ? withholds(fq) : withholds_here(fq, hctx);
}

static struct fgio_request *no_request(struct fgio_queue *queue, u64 now_ns,
				       const struct fgio_sweep *sweep)
{
	return NULL;
}

static bool has_request_to_hide(unsigned long queue)
{
	return hardware_queue < 0 &&
	       withholds(container_of((const struct fgio_queue *)queue,
				      struct fgio_queue_data, queue));
}

static void use_no_groups(struct fgio_admission *admission,
			  struct fgio_admission_groups *unused)
{
	admission->groups = NULL;
}

static bool are_groups_withheld(unsigned long unused)
{
	return groups;
}

static struct fgio_share_group *no_group(struct fgio_queue_data *fq, u64 task)
{
	return NULL;
}

static bool are_waiters_withheld(unsigned long unused)
{
	return waiters;
}

/**
 * struct replacement - a function of fgio that has the bug
 * @operations: calls replace() at its beginning
 * @name: its name
 * @is_due: whether requests are withheld, by its first argument
 * @instead: the function that then runs instead, of the same prototype
 */
struct replacement {
	struct ftrace_ops operations;
	const char *name;
	bool (*is_due)(unsigned long argument);
	void *instead;
};

static void notrace replace(unsigned long ip, unsigned long parent_ip,
			    struct ftrace_ops *operations,
			    struct ftrace_regs *saved)
{
	const struct replacement *replacement =
		container_of(operations, struct replacement, operations);
	struct pt_regs *regs = ftrace_get_regs(saved);

	if (replacement->is_due(regs_get_kernel_argument(regs, 0)))
		instruction_pointer_set(regs,
					(unsigned long)replacement->instead);
}

#define REPLACEMENT(function, when, by)                             \
	{                                                           \
		.operations = {                                     \
			.func = replace,                            \
			.flags = FTRACE_OPS_FL_SAVE_REGS |          \
				 FTRACE_OPS_FL_IPMODIFY,            \
		},                                                  \
		.name = function,                                   \
		.is_due = when,                                     \
		.instead = by,                                      \
	}

static struct replacement replacements[] = {
	REPLACEMENT("fgio_has_work", has_work_to_hide, has_unscheduled),
	REPLACEMENT("fgio_queue_next", has_request_to_hide, no_request),
	REPLACEMENT("fgio_admission_use_groups", are_groups_withheld,
		    use_no_groups),
	REPLACEMENT("fgio_group_of_waiter", are_waiters_withheld, no_group),
};

static int begin(struct replacement *replacement)
{
	struct ftrace_ops *operations = &replacement->operations;
	int error = fgio_aim(operations, replacement->name);

	if (!error)
		error = register_ftrace_function(operations);
	if (error)
		ftrace_free_filter(operations);
	return error;
}

static void run_queue(struct fgio_queue_data *fq, void *unused)
{
	blk_mq_run_hw_queues(fq->q, true);
}

/*
 * Ends the first @count replacements. No task is in this module's code any
 * more when it returns, and what was withheld goes on.
 */
static void end(unsigned int count)
{
	while (count--) {
		unregister_ftrace_function(&replacements[count].operations);
		ftrace_free_filter(&replacements[count].operations);
	}
	synchronize_rcu();
	synchronize_rcu_tasks();
	fgio_visit_queues(run_queue, NULL);
}

static int __init withhold_init(void)
{
	unsigned int i;
	int error;

	for (i = 0; i < ARRAY_SIZE(replacements); i++) {
		error = begin(&replacements[i]);
		if (error) {
			end(i);
			return error;
		}
	}
	return 0;
}
module_init(withhold_init);

static void __exit withhold_exit(void)
{
	end(ARRAY_SIZE(replacements));
}
module_exit(withhold_exit);

MODULE_DESCRIPTION("A simulated bug of fgio's elevator, for tests of its watchdog");
MODULE_LICENSE("GPL");
FGIO_IMPORT();
