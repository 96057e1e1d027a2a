/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The timer of walks: when the wait graph is looked at next. Most waits are
 * short, so a wait is looked at when it has lasted walk_delay_us, and from then
 * on every walk_interval_us.
 */
#ifndef FGIO_ALARM_H
#define FGIO_ALARM_H

#include <linux/types.h>

/*
 * A foreground task began to wait: the next walk for the waits before it would
 * come late for this one. Context: any but the scheduler and NMI; a hook's.
 */
void fgio_alarm_wanted(void);

/* The same in the scheduler, where no timer may be started. */
void fgio_alarm_wanted_by_scheduler(void);

/*
 * A boosted task may have got out of the way: the next walk comes earlier than
 * planned. Context: as fgio_alarm_wanted().
 */
void fgio_alarm_soon(void);

/* A walk ended: the next one comes after 2^@doublings intervals. */
void fgio_alarm_again(unsigned int doublings);

/* How long the last walk took, which bounds how often walks come. */
void fgio_alarm_took(u64 duration_ns);

/* @ring: called when it is time; in a hard interrupt. */
void fgio_alarm_init(void (*ring)(void));

/* No hook is attached any more, and fgio_alarm_again() is not called. */
void fgio_alarm_exit(void);

#endif /* FGIO_ALARM_H */
