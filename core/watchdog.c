// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "watchdog.h"

static bool device_hangs(const struct fgio_watchdog *watchdog,
			 const struct fgio_watchdog_sample *sample)
{
	return sample->in_device && watchdog->last.in_device &&
	       sample->completed == watchdog->last.completed;
}

static bool driver_stopped(const struct fgio_watchdog *watchdog,
			   const struct fgio_watchdog_sample *sample)
{
	return sample->stopped || watchdog->last.stopped;
}

/* The part of the time since the last look in which I/O could have moved. */
static u64 time_that_counts(const struct fgio_watchdog *watchdog,
			    const struct fgio_watchdog_sample *sample,
			    u64 now_ns, u64 limit_ns)
{
	u64 elapsed_ns = now_ns - watchdog->last_ns;

	if (!watchdog->last_ns || device_hangs(watchdog, sample) ||
	    driver_stopped(watchdog, sample))
		return 0;
	return elapsed_ns < limit_ns / 2 ? elapsed_ns : limit_ns / 2;
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
			const struct fgio_watchdog_sample *sample, u64 now_ns,
			u64 limit_ns, struct fgio_watchdog_finding *finding)
{
	u64 elapsed_ns = time_that_counts(watchdog, sample, now_ns, limit_ns);
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
	watchdog->last_ns = now_ns;
	return found;
}
