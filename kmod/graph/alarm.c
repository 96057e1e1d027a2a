// SPDX-License-Identifier: GPL-2.0
/* The timer of walks. */
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

#include "base/setting.h"
#include "compat/compat.h"
#include "graph/alarm.h"

/* Below their lower bound, the walk would occupy a CPU. */
static unsigned int walk_interval_us = FGIO_DEFAULT_walk_interval_us;
FGIO_NUMBER_PARAM(walk_interval_us, &walk_interval_us);

static unsigned int walk_delay_us = FGIO_DEFAULT_walk_delay_us;
FGIO_NUMBER_PARAM(walk_delay_us, &walk_delay_us);

static struct hrtimer timer;
static void (*on_ring)(void);
static atomic_t armed;
static atomic_t soon;
static u64 next_from_ns;

/* Walks take at most a tenth of a CPU, however large the graph is. */
#define PAUSE_SHARE 10

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

static void start_timer(unsigned int delay_us)
{
	if (atomic_xchg(&armed, 1))
		return;
	hrtimer_start(&timer, pause(delay_us), HRTIMER_MODE_REL);
	/* It has replaced the one of fgio_alarm_soon(), if that came between. */
	if (atomic_read(&soon))
		start_soon();
}

void fgio_alarm_soon(void)
{
	if (atomic_read(&soon) || atomic_xchg(&soon, 1))
		return;
	atomic_set(&armed, 1);
	start_soon();
}

/* Starting a timer takes the timer's own lock alone, and wakes no task. */
void fgio_alarm_wanted(void)
{
	/* Pairs with on_timer(): it sees the wait, or has cleared armed. */
	smp_mb();
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
	if (!atomic_read(&armed) || !atomic_read(&soon))
		irq_work_queue(&irq_work);
}

static enum hrtimer_restart on_timer(struct hrtimer *unused)
{
	atomic_set(&soon, 0);
	atomic_set(&armed, 0);
	/* A wait that begins later finds the timer disarmed, and arms it. */
	smp_mb();
	on_ring();
	return HRTIMER_NORESTART;
}

/* Delayed in between, it would replace the timer of a wait that began since. */
void fgio_alarm_again(unsigned int doublings)
{
	unsigned long flags;

	local_irq_save(flags);
	start_timer(READ_ONCE(walk_interval_us) << doublings);
	local_irq_restore(flags);
}

void fgio_alarm_took(u64 duration_ns)
{
	WRITE_ONCE(next_from_ns, ktime_get_mono_fast_ns() +
					 duration_ns * PAUSE_SHARE);
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
