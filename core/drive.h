/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Hardware priority: what a drive is told whose commands have a priority.
 *
 * Critical requests are urgent, and no others. No vendor says how long a drive
 * starves other commands for urgent ones; to the kernel, a command that takes
 * half a minute is an error. So when non-critical requests are in the drive and
 * none has gone in or come out for some seconds, the next requests are not
 * urgent, until one moves. This is for drives that let commands starve. A drive
 * that ages them must not meet it: critical requests that are not urgent stand
 * behind those that are.
 *
 * Locking: all in any context; the functions for one drive may run beside each
 * other.
 */
#ifndef FGIO_CORE_DRIVE_H
#define FGIO_CORE_DRIVE_H

#include "atomic.h"
#include "class.h"
#include "types.h"

/* A sixth of the time after which SCSI disks get a command aborted. */
#define FGIO_DRIVE_PATIENCE_NS (5ULL * 1000000000)

/**
 * struct fgio_drive - state of a drive
 * @moved_ns: when a non-critical request last went in or came out; 0: unknown
 */
struct fgio_drive {
	u64 moved_ns;
};

/* A non-critical request went in or came out. @now_ns may be 0, for unknown. */
static inline void fgio_drive_moved(struct fgio_drive *drive, u64 now_ns)
{
	fgio_store(&drive->moved_ns, now_ns);
}

/**
 * fgio_drive_may_hurry() - whether a critical request may be urgent
 * @drive: the drive
 * @noncritical_in_drive: it holds requests that an urgent one would overtake
 * @now_ns: the time; 0 if the clock was not read, since one class is absent
 */
static inline bool fgio_drive_may_hurry(struct fgio_drive *drive,
					bool noncritical_in_drive,
					u64 now_ns)
{
	u64 moved_ns = fgio_load(&drive->moved_ns);

	if (!noncritical_in_drive || !now_ns)
		return true;
	if (!moved_ns) {
		fgio_drive_moved(drive, now_ns);
		return true;
	}
	/* A completion on another CPU may carry a time just after now_ns. */
	return now_ns < moved_ns || now_ns - moved_ns < FGIO_DRIVE_PATIENCE_NS;
}

/**
 * fgio_drive_ioprio() - the priority that tells a drive which I/O goes first
 * @urgent: the drive is to serve the I/O before others
 * @ioprio: priority that the I/O carries
 *
 * Drivers look at the class only: libata, mpt3sas, mpi3mr and smartpqi turn
 * real-time into NCQ priority, and ufshcd into its own. Other I/O must not have
 * it, even if it was chosen or derived from a scheduling policy. The rest of
 * the priority stays.
 */
static inline u16 fgio_drive_ioprio(bool urgent, u16 ioprio)
{
	unsigned int rest = ioprio & ((1U << FGIO_IOPRIO_CLASS_SHIFT) - 1);
	unsigned int class = ioprio >> FGIO_IOPRIO_CLASS_SHIFT;

	if (urgent)
		class = FGIO_IOPRIO_CLASS_REALTIME;
	else if (class == FGIO_IOPRIO_CLASS_REALTIME)
		class = FGIO_IOPRIO_CLASS_BEST_EFFORT;
	return (u16)(class << FGIO_IOPRIO_CLASS_SHIFT | rest);
}

#endif /* FGIO_CORE_DRIVE_H */
