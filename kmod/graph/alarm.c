// SPDX-License-Identifier: GPL-2.0
/* The timer of walks. */
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

#include "base/setting.h"
#include "compat/compat.h"
#include "core/walk_pause.h"
#include "graph/alarm.h"

/* Below their lower bound, the walk would occupy a CPU. */
static unsigned int walk_interval_us = FGIO_DEFAULT_walk_interval_us;
FGIO_NUMBER_PARAM(walk_interval_us, &walk_interval_us);

static unsigned int walk_delay_us = FGIO_DEFAULT_walk_delay_us;
FGIO_NUMBER_PARAM(walk_delay_us, &walk_delay_us);

/* The walk backs off, to as many doublings of its interval. */
#define BACK_OFF_MAX 4

static struct hrtimer timer;
static void (*on_ring)(void);
static atomic_t armed;
static atomic_t soon;
static u64 next_from_ns;

/* A walk is under way, and another one is wanted after it. */
static bool walks;
static bool wanted_again;

/* For the walk's thread alone. */
static struct fgio_walk_pause pauses;

/*
 * The pause after a walk counts from its end: a wait that begins after it need
 * not bear it again.
 */
static ktime_t pause(unsigned int wanted_us)
{
	s64 left_ns = READ_ONCE(next_from_ns) - ktime_get_mono_fast_ns();

	return ns_to_ktime(max((s64)wanted_us * NSEC_PER_USEC, left_ns));
}

static void start_soon(void)
{
	hrtimer_start(&timer, pause(READ_ONCE(walk_delay_us)),
		      HRTIMER_MODE_REL);
}

/* Return: whether a walk is under way, whose end starts the timer. */
static bool is_left_to_walk(void)
{
	if (likely(!READ_ONCE(walks)))
		return false;
	WRITE_ONCE(wanted_again, true);
	/* Pairs with fgio_alarm_walk_ended(). */
	smp_mb();
	return READ_ONCE(walks);
}

/*
 * A task that is preempted after it has said that the timer is armed, and before
 * that is, would leave all waits without one.
 */
static void start_timer(unsigned int delay_us)
{
	preempt_disable();
	if (!atomic_xchg(&armed, 1)) {
		hrtimer_start(&timer, pause(delay_us), HRTIMER_MODE_REL);
		/* It has replaced that of fgio_alarm_soon(), if that came between. */
		if (atomic_read(&soon))
			start_soon();
	}
	preempt_enable();
}

/* Preemption: as in start_timer(). */
void fgio_alarm_soon(void)
{
	preempt_disable();
	if (!is_left_to_walk() && !atomic_read(&soon) &&
	    !atomic_xchg(&soon, 1)) {
		atomic_set(&armed, 1);
		start_soon();
	}
	preempt_enable();
}

/* Starting a timer takes the timer's own lock alone, and wakes no task. */
void fgio_alarm_wanted(void)
{
	/* Pairs with on_timer(): it sees the wait, or has cleared armed. */
	smp_mb();
	if (is_left_to_walk())
		return;
	if (!atomic_read(&armed))
		start_timer(READ_ONCE(walk_delay_us));
	else
		fgio_alarm_soon();
}

static void on_irq(struct irq_work *unused)
{
	fgio_alarm_wanted();
}

static DEFINE_IRQ_WORK(irq_work, on_irq);

void fgio_alarm_wanted_by_scheduler(void)
{
	/* Pairs with on_timer(), as in fgio_alarm_wanted(). */
	smp_mb();
	if (!is_left_to_walk() &&
	    (!atomic_read(&armed) || !atomic_read(&soon)))
		irq_work_queue(&irq_work);
}

static enum hrtimer_restart on_timer(struct hrtimer *unused)
{
	atomic_set(&soon, 0);
	atomic_set(&armed, 0);
	/* A wait that begins later finds the timer disarmed, and arms it. */
	smp_mb();
	if (!is_left_to_walk())
		on_ring();
	return HRTIMER_NORESTART;
}

/*
 * After a foreground task began to wait, a task may get in its way, or one that
 * runs there may begin to wait itself: a young wait is looked at often, and an
 * old one seldom.
 */
static unsigned int interval_us(u64 age_ns, enum fgio_in_the_way found)
{
	u64 interval = READ_ONCE(walk_interval_us);
	u64 most = interval << (found == FGIO_NO_TASK ? BACK_OFF_MAX : 0);

	if (found == FGIO_SLEEPING_TASKS)
		return interval;
	return clamp(age_ns / NSEC_PER_USEC,
		     min((u64)READ_ONCE(walk_delay_us), most), most);
}

/* Delayed in between, it would replace the timer of a wait that began since. */
void fgio_alarm_again(u64 age_ns, enum fgio_in_the_way found)
{
	unsigned long flags;

	local_irq_save(flags);
	start_timer(interval_us(age_ns, found));
	local_irq_restore(flags);
}

void fgio_alarm_walk_begins(void)
{
	WRITE_ONCE(wanted_again, false);
	WRITE_ONCE(walks, true);
}

static u64 pause_after(u64 duration_ns, bool helped, u64 now_ns)
{
	u64 interval_ns = (u64)READ_ONCE(walk_interval_us) * NSEC_PER_USEC;

	return fgio_walk_pause_after(&pauses, duration_ns, helped, interval_ns,
				     now_ns);
}

/* A timer that is armed may have been so with a shorter pause. */
void fgio_alarm_walk_ended(u64 duration_ns, bool helped)
{
	u64 now_ns = ktime_get_mono_fast_ns();
	unsigned long flags;

	WRITE_ONCE(next_from_ns,
		   now_ns + pause_after(duration_ns, helped, now_ns));
	WRITE_ONCE(walks, false);
	/* Pairs with is_left_to_walk(). */
	smp_mb();
	local_irq_save(flags);
	if (atomic_read(&armed) || READ_ONCE(wanted_again)) {
		atomic_set(&soon, 1);
		atomic_set(&armed, 1);
		start_soon();
	}
	local_irq_restore(flags);
}

void fgio_alarm_init(void (*ring)(void))
{
	on_ring = ring;
	fgio_hrtimer_setup(&timer, on_timer);
}

void fgio_alarm_exit(void)
{
	irq_work_sync(&irq_work);
	hrtimer_cancel(&timer);
}
