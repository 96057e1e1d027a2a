// SPDX-License-Identifier: GPL-2.0
/* Counts foreground tasks, and has hooks attached while there are any. */
#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "who/presence.h"

bool fgio_waits_matter_now;

static struct work_struct *reconsider;
static struct delayed_work *reconsider_later;
static void (*follow)(void);
static bool ends;
static unsigned int foreground_count;

/* Time in jiffies of the last foreground I/O by priority; 0 for never. */
static unsigned long foreground_ioprio_at;

unsigned int fgio_foreground_count(void)
{
	return READ_ONCE(foreground_count);
}

void fgio_foreground_recount(bool was, bool is)
{
	WRITE_ONCE(foreground_count, foreground_count + is - was);
}

bool fgio_foreground_exists(void)
{
	unsigned long seen = READ_ONCE(foreground_ioprio_at);

	return fgio_foreground_count() ||
	       (seen && time_before(jiffies, seen + FGIO_FOREGROUND_LINGER));
}

void fgio_saw_foreground_ioprio(void)
{
	unsigned long now = jiffies ?: 1;
	struct work_struct *work;

	if (READ_ONCE(foreground_ioprio_at) == now)
		return;
	WRITE_ONCE(foreground_ioprio_at, now);
	/* With reconsider() in graph/probe.c. */
	smp_mb();
	work = READ_ONCE(reconsider);
	if (!fgio_waits_matter() && work)
		queue_work(system_long_wq, work);
}

void fgio_foreground_appeared(void)
{
	/* With reconsider() in graph/probe.c. */
	smp_mb();
	if (fgio_waits_matter() && !READ_ONCE(ends))
		return;
	/*
	 * Not by the queue: while another task moves the work there,
	 * flush_delayed_work() finds nothing to wait for.
	 */
	follow();
}

bool fgio_presence_ends(void)
{
	WRITE_ONCE(ends, true);
	/* Pairs with fgio_foreground_appeared(). */
	smp_mb();
	return !fgio_foreground_exists();
}

void fgio_presence_goes_on(void)
{
	WRITE_ONCE(ends, false);
}

void fgio_foreground_vanished(void)
{
	/* With reconsider() in graph/probe.c. */
	smp_mb();
	if (fgio_waits_matter() && !fgio_foreground_count())
		mod_delayed_work(system_long_wq, reconsider_later,
				 FGIO_FOREGROUND_LINGER);
}

void fgio_presence_init(struct work_struct *at_once, struct delayed_work *later,
			void (*now)(void))
{
	follow = now;
	reconsider_later = later;
	WRITE_ONCE(reconsider, at_once);
}

void fgio_presence_exit(void)
{
	WRITE_ONCE(reconsider, NULL);
}
