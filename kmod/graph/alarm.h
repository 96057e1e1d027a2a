/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The timer of walks through the wait graph. Most waits are short, so a wait is
 * first walked when it has lasted walk_delay_us, and from then on every
 * walk_interval_us.
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
 * A boosted task may no longer be in the way: the next walk comes earlier than
 * planned. Context: as fgio_alarm_wanted().
 */
void fgio_alarm_soon(void);

/*
 * A walk ended: the next one comes after the interval; where it @finds_none in
 * the way, when its youngest wait, which lasts @age_ns, is twice as old.
 */
void fgio_alarm_again(u64 age_ns, bool finds_none);

/*
 * Walks that follow one another without a pause begin and end; their duration
 * bounds how soon the next one begins. Context: the walk's thread.
 */
void fgio_alarm_walk_begins(void);
void fgio_alarm_walk_ended(u64 duration_ns);

/* @ring: called when the timer fires; in a hard interrupt. */
void fgio_alarm_init(void (*ring)(void));

/* No hook is attached any more, and fgio_alarm_again() is not called. */
void fgio_alarm_exit(void);

#endif /* FGIO_ALARM_H */
