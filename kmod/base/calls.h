/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions whose calls ftrace itself reports.
 *
 * To unregister an ftrace_ops of a module takes a grace period of RCU tasks: a tenth of a second
 * on an idle machine, more on a busy one, and no two of them overlap. So one that was registered
 * stays so until the module goes: while none of its functions is to be seen, it sees one that is
 * never called.
 *
 * The caller serialises all calls.
 */
#ifndef FGIO_CALLS_H
#define FGIO_CALLS_H

#include <linux/ftrace.h>

/**
 * struct fgio_calls - an ftrace_ops
 * @operations: with the function that is called
 * @is_registered: kept by calls.c
 */
struct fgio_calls {
	struct ftrace_ops operations;
	bool is_registered;
};

/*
 * Has the calls of @count functions seen and no others. A task may be in the function of
 * @operations for a call that was seen before, until fgio_calls_end() returns.
 * Return: 0; or an error, with which those are seen that were before, or none where it was the first
 * call. Without functions there is no error.
 * Context: may sleep, for a grace period of RCU tasks where memory is short.
 */
int fgio_calls_see(struct fgio_calls *calls, unsigned long *places, unsigned int count);

/* Ends it. No call is under way any more. Context: sleeps for a grace period of RCU tasks. */
void fgio_calls_end(struct fgio_calls *calls);

/* --- one for many functions --------------------------------------------------- */

/*
 * A call takes some thirty instructions more, for its function to be found. All functions are
 * added before one is watched.
 * Return: 0, -ENOSPC, or the error of ftrace, which cannot see its calls.
 */
int fgio_calls_share(unsigned long place);

/*
 * Has @called called before the function at @place, with preemption off, once that is committed;
 * or nothing, with NULL: no call is under way after a grace period of RCU.
 */
void fgio_calls_watch(unsigned long place, ftrace_func_t called);

/* Return: 0, or an error: functions may not be seen then that are watched. Context: may sleep. */
int fgio_calls_commit(void);

/* Nothing is watched. Context: sleeps for a grace period of RCU tasks. */
void fgio_calls_exit(void);

#endif /* FGIO_CALLS_H */
