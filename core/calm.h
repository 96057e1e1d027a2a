/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The calm after critical I/O: how much a device may have to do where more of it
 * may come back.
 *
 * A foreground that comes every second must not find the device full each time.
 * While it may come, no more non-critical requests are in the device than keep
 * it busy: two, or as many as wait for each other there no longer than
 * FGIO_CALM_NS. That is learnt from how long they take. A drive that rotates is
 * let be, since it saves way by having many to choose from.
 *
 * Locking: none. Everything may run at any time, in any context, beside
 * everything else; completions on several CPUs may overwrite what each other
 * says, which is lost, and no more. Nothing here sleeps, allocates or loops.
 */
#ifndef FGIO_CORE_CALM_H
#define FGIO_CORE_CALM_H

#include "types.h"

/* Critical I/O may come back for so many windows after it was about. */
#define FGIO_CALM_WINDOWS 20
/* Meanwhile non-critical requests wait for each other in the device so long. */
#define FGIO_CALM_NS 500000ULL

/* Only the functions below touch the members. */
struct fgio_calm {
	u64 least_ns; /* that a request was in the device, in this calm; 0: none was */
	u32 room;     /* requests, in sixteenths; 0: as many as there are */
};

/* @rotates: as for fgio_depth_init(). */
void fgio_calm_init(struct fgio_calm *calm, bool rotates);

/* Whether it does was learnt, and may be news. */
void fgio_calm_set_rotates(struct fgio_calm *calm, bool rotates);

/* Whether it limits anything on this device. */
bool fgio_calm_applies(const struct fgio_calm *calm);

/* Whether one more non-critical request may join @in_device others. */
bool fgio_calm_has_room(const struct fgio_calm *calm, u32 in_device);

/**
 * fgio_calm_completed() - a request that was sent in a calm has completed
 * @calm: the device's
 * @took_ns: how long the device had it
 * @together: requests of its class that the device had then, with it
 */
void fgio_calm_completed(struct fgio_calm *calm, u64 took_ns, u32 together);

/* Critical I/O came back; the next calm begins anew, but for what was learnt. */
void fgio_calm_end(struct fgio_calm *calm);

#endif /* FGIO_CORE_CALM_H */
