/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether foreground tasks exist. While there are none, no wait is recorded and
 * no hook attached.
 */
#ifndef FGIO_PRESENCE_H
#define FGIO_PRESENCE_H

#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/types.h>

struct delayed_work;
struct work_struct;

/* Waits are followed for this time after the last foreground task went. */
#define FGIO_FOREGROUND_LINGER (5 * HZ)

extern bool fgio_waits_matter_now;

/*
 * Whether waits are recorded: while foreground tasks exist. One load, since
 * every hook asks this first.
 */
static inline bool fgio_waits_matter(void)
{
	return READ_ONCE(fgio_waits_matter_now);
}

/* For graph/probe.c alone, which attaches and detaches the hooks. */
static inline void fgio_waits_set_matter(bool matter)
{
	WRITE_ONCE(fgio_waits_matter_now, matter);
}

/* Threads that are foreground, or may become so unseen. Context: any. */
unsigned int fgio_foreground_count(void);

/*
 * A thread may have become foreground, or ceased to be. Context: under
 * fgio_tags_lock.
 */
void fgio_foreground_recount(bool was, bool is);

/* Whether there are foreground tasks, by tag, thread flag or I/O priority. */
bool fgio_foreground_exists(void);

/*
 * A task that is foreground by its I/O priority submitted critical I/O. Such
 * tasks are seen by their I/O alone. Context: any.
 */
void fgio_saw_foreground_ioprio(void);

/*
 * A task became a foreground task. Returns once waits are followed, so that its
 * first wait is. Context: may sleep.
 */
void fgio_foreground_appeared(void);

/* A task, perhaps the last, ceased to be foreground. Context: any. */
void fgio_foreground_vanished(void);

/*
 * Waits are about to be ignored: a task that becomes foreground from now on does
 * not rely on fgio_waits_matter(), but waits until they are followed again.
 * Return: false if there are foreground tasks, so that they are not to be ignored.
 */
bool fgio_presence_ends(void);

/* fgio_waits_matter() can be relied on again. */
void fgio_presence_goes_on(void);

/*
 * @at_once and @later set fgio_waits_matter() by fgio_foreground_exists(); they
 * are queued on system_long_wq when that may have changed. @now does so if waits
 * do not matter, in tasks that become foreground, many at a time. No task has a
 * tag and no I/O a class before the first call, nor after the second.
 */
void fgio_presence_init(struct work_struct *at_once, struct delayed_work *later,
			void (*now)(void));
void fgio_presence_exit(void);

#endif /* FGIO_PRESENCE_H */
