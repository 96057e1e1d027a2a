// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "number.h"
#include "watchdog.h"

void fgio_watchdog_sample_queue(struct fgio_watchdog_sample *sample,
				const struct fgio_hw_queue *hw)
{
	u32 class;

	for (class = 0; class < FGIO_CLASSES; class++) {
		u64 dispatched = fgio_load(&hw->counters.dispatched[class]);
		u32 in_device = fgio_inflight_all(&hw->in_device[class]);

		sample->held[FGIO_PLACE_QUEUE][class] +=
			fgio_load(&hw->queued[class]);
		sample->moved[FGIO_PLACE_QUEUE][class] += dispatched;
		sample->in_device += in_device;
		sample->completed += dispatched - in_device;
	}
	/* Promoted requests leave the class, too. */
	sample->moved[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL] +=
		hw->counters.promoted - hw->granted_count;
	sample->held[FGIO_PLACE_QUEUE][FGIO_NONCRITICAL] += hw->granted_count;
	sample->in_device -= hw->granted_count;
}

/* Rounds of minimum service over all hardware queues. */
#define ROUNDS 4

u64 fgio_watchdog_limit_ns(const struct fgio_queue *queue, u64 limit_ns)
{
	return larger(limit_ns, ROUNDS * queue->hw_count *
					queue->config.release_interval_ns);
}

static bool hangs(u32 in_device, u32 last_in_device, u64 completed,
		  u64 last_completed)
{
	return in_device && last_in_device && completed == last_completed;
}

void fgio_watchdog_begin(struct fgio_watchdog_device *device, u32 in_device,
			 u64 completed, u64 now_ns, u64 limit_ns)
{
	device->counts_ns = 0;
	if (device->last_ns && !hangs(in_device, device->in_device, completed,
				      device->completed))
		device->counts_ns = smaller(now_ns - device->last_ns,
					    limit_ns / 2);
	device->last_ns = now_ns;
	device->in_device = in_device;
	device->completed = completed;
}

/*
 * The part of the time since the last look in which I/O of the queue could have
 * moved.
 */
static u64 time_that_counts(const struct fgio_watchdog *watchdog,
			    const struct fgio_watchdog_device *device,
			    const struct fgio_watchdog_sample *sample)
{
	const struct fgio_watchdog_sample *last = &watchdog->last;

	if (sample->stopped || last->stopped ||
	    hangs(sample->in_device, last->in_device, sample->completed,
		  last->completed))
		return 0;
	return device->counts_ns;
}

/* I/O that arrived since the last look has not stood still for that time. */
static bool moves(const struct fgio_watchdog *watchdog,
		  const struct fgio_watchdog_sample *sample,
		  unsigned int place, unsigned int class)
{
	const struct fgio_watchdog_sample *last = &watchdog->last;

	return !sample->held[place][class] || !last->held[place][class] ||
	       sample->moved[place][class] != last->moved[place][class];
}

static bool look_at(struct fgio_watchdog *watchdog,
		    const struct fgio_watchdog_sample *sample,
		    unsigned int place, unsigned int class, u64 elapsed_ns,
		    u64 limit_ns)
{
	u64 *still_ns = &watchdog->still_ns[place][class];

	if (moves(watchdog, sample, place, class))
		*still_ns = 0;
	else
		*still_ns += elapsed_ns;
	return *still_ns >= limit_ns;
}

bool fgio_watchdog_look(struct fgio_watchdog *watchdog,
			const struct fgio_watchdog_device *device,
			const struct fgio_watchdog_sample *sample,
			u64 limit_ns, struct fgio_watchdog_finding *finding)
{
	u64 elapsed_ns = time_that_counts(watchdog, device, sample);
	unsigned int place, class;
	bool found = false;

	for (place = 0; place < FGIO_PLACES; place++) {
		for (class = 0; class < FGIO_CLASSES; class++) {
			if (!look_at(watchdog, sample, place, class,
				     elapsed_ns, limit_ns))
				continue;
			found = true;
			*finding = (struct fgio_watchdog_finding){
				.place = (u8)place,
				.class = (u8)class,
				.held = sample->held[place][class],
				.still_ns = watchdog->still_ns[place][class],
			};
		}
	}
	watchdog->last = *sample;
	return found;
}
