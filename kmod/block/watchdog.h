/* SPDX-License-Identifier: GPL-2.0 */
/* Hands a disk back to the kernel when its I/O does not move. */
#ifndef FGIO_BLOCK_WATCHDOG_H
#define FGIO_BLOCK_WATCHDOG_H

#include <linux/types.h>

#include "uapi/fgio.h"

/* A queue came under the elevator. */
void fgio_watchdog_queue_came(void);

/* Trips, for FGIO_IOC_STATE. Context: may sleep, as the next two. */
void fgio_watchdog_state(struct fgio_state *state);

/* FGIO_IOC_REARM: all disks. */
void fgio_watchdog_rearm(void);

/*
 * FGIO_IOC_REARM_DISK: one disk. @tripped: out: whether its I/O was let
 * through. Return: 0, or -ENODEV when the disk is not under the elevator.
 */
int fgio_watchdog_rearm_disk(dev_t disk, u32 *tripped);

int fgio_watchdog_init(void);

/* No queue is under the elevator any more, and none will come. */
void fgio_watchdog_exit(void);

#endif /* FGIO_BLOCK_WATCHDOG_H */
