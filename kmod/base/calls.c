// SPDX-License-Identifier: GPL-2.0
#include <linux/preempt.h>

#include "base/calls.h"

/* Is never called. An ftrace_ops without any function would see all of the kernel. */
static noinline void __used never_called(void)
{
	barrier();
}

static void stop(struct fgio_calls *calls)
{
	if (calls->is_registered)
		unregister_ftrace_function(&calls->operations);
	calls->is_registered = false;
}

int fgio_calls_see(struct fgio_calls *calls, unsigned long *places,
		   unsigned int count)
{
	unsigned long none = (unsigned long)never_called;
	int error;

	if (!count) {
		if (calls->is_registered &&
		    ftrace_set_filter_ips(&calls->operations, &none, 1, 0, 1))
			stop(calls);
		return 0;
	}
	error = ftrace_set_filter_ips(&calls->operations, places, count, 0, 1);
	if (error || calls->is_registered)
		return error;
	error = register_ftrace_function(&calls->operations);
	calls->is_registered = !error;
	return error;
}

void fgio_calls_end(struct fgio_calls *calls)
{
	stop(calls);
	ftrace_free_filter(&calls->operations);
}

/* --- one for many functions --------------------------------------------------- */

#define CALLS_MAX 32

/**
 * struct call - a function whose calls may be seen
 * @place: the address that ftrace passes, which is that of a kprobe there
 * @called: what is called before it, or NULL
 */
struct call {
	unsigned long place;
	ftrace_func_t called;
};

/* By place. The places stay once one is watched. */
static struct call calls[CALLS_MAX];
static unsigned int call_count;

static struct call *call_at(unsigned long address)
{
	unsigned int low = 0, high = call_count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (calls[middle].place <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && calls[low - 1].place == address ? &calls[low - 1] : NULL;
}

static void on_call(unsigned long function, unsigned long caller,
		    struct ftrace_ops *operations, struct ftrace_regs *regs)
{
	const struct call *call;
	ftrace_func_t called;

	preempt_disable_notrace();
	call = call_at(function);
	called = call ? READ_ONCE(call->called) : NULL;
	if (called)
		called(function, caller, operations, regs);
	preempt_enable_notrace();
}

static struct fgio_calls shared = { .operations.func = on_call };
/* Since they were committed. */
static bool are_changed;

int fgio_calls_share(unsigned long place)
{
	unsigned int at = call_count;
	int error;

	if (call_count == CALLS_MAX)
		return -ENOSPC;
	error = ftrace_set_filter_ip(&shared.operations, place, 0, 0);
	if (error)
		return error;
	for (; at && calls[at - 1].place > place; at--)
		calls[at] = calls[at - 1];
	calls[at] = (struct call){ .place = place };
	call_count++;
	return 0;
}

void fgio_calls_watch(unsigned long place, ftrace_func_t called)
{
	struct call *call = call_at(place);

	if (WARN_ON(!call) || call->called == called)
		return;
	WRITE_ONCE(call->called, called);
	are_changed = true;
}

int fgio_calls_commit(void)
{
	unsigned long places[CALLS_MAX];
	unsigned int watched = 0, i;
	int error;

	/* To commit walks all functions of the kernel. */
	if (!are_changed)
		return 0;
	for (i = 0; i < call_count; i++)
		if (calls[i].called)
			places[watched++] = calls[i].place;
	error = fgio_calls_see(&shared, places, watched);
	are_changed = error;
	return error;
}

void fgio_calls_exit(void)
{
	fgio_calls_end(&shared);
}
