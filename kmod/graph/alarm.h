/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The timer of walks through the wait graph. Most waits are short, so a wait is
 * first walked when it has lasted walk_delay_us, and from then on every
 * walk_interval_us, or as what the last walk found says.
 */
#ifndef FGIO_ALARM_H
#define FGIO_ALARM_H

#include <linux/types.h>

/*
 * A foreground task began to wait: the walk that is planned for earlier waits
 * would be late for this one. Context: any but the scheduler and NMI; a hook's.
 */
void fgio_alarm_wanted(void);

/* The same in the scheduler, where no timer may be started. */
void fgio_alarm_wanted_by_scheduler(void);

/*
 * A boosted task may no longer be in the way, or waits itself: the next walk
 * comes earlier than planned. Context: as fgio_alarm_wanted().
 */
void fgio_alarm_soon(void);

/*
 * What a walk found in the way of the waits that may need more. A task that runs
 * may have I/O in its plug that it submitted before it was boosted.
 */
enum fgio_in_the_way {
	FGIO_NO_TASK,
	FGIO_SLEEPING_TASKS,
	FGIO_RUNNING_TASK, /* one at least */
};

/*
 * A walk ended: the next one comes after the interval, or where tasks may get in
 * the way or begin to wait, when the youngest wait, which lasts @age_ns, is twice
 * as old.
 */
void fgio_alarm_again(u64 age_ns, enum fgio_in_the_way found);

/*
 * Walks that follow one another without a pause begin and end. How soon the next
 * one may begin depends on @duration_ns, and on @helped: whether they made anything
 * critical that was not. Context: the walk's thread.
 */
void fgio_alarm_walk_begins(void);
void fgio_alarm_walk_ended(u64 duration_ns, bool helped);

/* @ring: called when the timer fires; in a hard interrupt. */
void fgio_alarm_init(void (*ring)(void));

/* No hook is attached any more, and fgio_alarm_again() is not called. */
void fgio_alarm_exit(void);

#endif /* FGIO_ALARM_H */
