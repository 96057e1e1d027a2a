/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether foreground tasks are about. While none is, no wait is recorded, and
 * no hook attached.
 */
#ifndef FGIO_PRESENCE_H
#define FGIO_PRESENCE_H

#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/types.h>

struct delayed_work;

/* Waits are followed this long after the last foreground task went. */
#define FGIO_FOREGROUND_LINGER (5 * HZ)

extern bool fgio_waits_matter_now;

/*
 * Whether waits are recorded at all: while foreground tasks exist. One load:
 * every hook asks this first.
 */
static inline bool fgio_waits_matter(void)
{
	return READ_ONCE(fgio_waits_matter_now);
}

/* Set where hooks are attached and detached alone (graph/probe.c). */
static inline void fgio_waits_set_matter(bool matter)
{
	WRITE_ONCE(fgio_waits_matter_now, matter);
}

/* Threads that are foreground, or may be so at any moment. Context: any. */
unsigned int fgio_foreground_count(void);

/*
 * A thread may have become foreground, or be so no more. Context: under
 * fgio_tags_lock.
 */
void fgio_foreground_recount(bool was, bool is);

/* Whether there are foreground tasks, by tag, thread flag or I/O priority. */
bool fgio_foreground_exists(void);

/*
 * Tasks by I/O priority count as foreground tasks, too, but do not say when
 * they come: one was seen to submit critical I/O. Context: any.
 */
void fgio_saw_foreground_ioprio(void);

/*
 * A task became a foreground task. Returns when waits are followed, so that its
 * first one is. Context: may sleep.
 */
void fgio_foreground_appeared(void);

/* A foreground task is one no more, perhaps the last. Context: any. */
void fgio_foreground_vanished(void);

/*
 * @reconsider makes fgio_waits_matter() true or false, by
 * fgio_foreground_exists(); it is queued on system_long_wq when that may have
 * changed. No task has a tag and no I/O a class before the first call, nor
 * after the second.
 */
void fgio_presence_init(struct delayed_work *reconsider);
void fgio_presence_exit(void);

#endif /* FGIO_PRESENCE_H */
