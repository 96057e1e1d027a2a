/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Offsets in the private structs of parity RAID (drivers/md/raid5.h): the build
 * finds them in the BTF of the module. Where one is missing, no stripe is known.
 */
#ifndef FGIO_COMPAT_STRIPE_H
#define FGIO_COMPAT_STRIPE_H

#include "fgio_private.h"

#if defined(FGIO_STRIPE_DISKS) && defined(FGIO_STRIPE_DEVICES) && \
	defined(FGIO_R5DEV_SIZE) && defined(FGIO_R5DEV_SECTOR) && \
	defined(FGIO_R5DEV_REQ) && defined(FGIO_R5DEV_VEC) &&     \
	defined(FGIO_R5DEV_RREQ) && defined(FGIO_R5DEV_RVEC) &&   \
	defined(FGIO_R5DEV_TOREAD) && defined(FGIO_R5DEV_READ) && \
	defined(FGIO_R5DEV_TOWRITE) && defined(FGIO_R5DEV_WRITTEN)
#define FGIO_STRIPES_KNOWN 1
#else
#define FGIO_STRIPES_KNOWN 0
#define FGIO_STRIPE_DISKS 0
#define FGIO_STRIPE_DEVICES 0
#define FGIO_R5DEV_SIZE 1
#define FGIO_R5DEV_REQ 0
#define FGIO_R5DEV_VEC 0
#define FGIO_R5DEV_RREQ 0
#define FGIO_R5DEV_RVEC 0
#define FGIO_R5DEV_TOREAD 0
#define FGIO_R5DEV_READ 0
#define FGIO_R5DEV_TOWRITE 0
#define FGIO_R5DEV_WRITTEN 0
#define FGIO_R5DEV_SECTOR 0
#endif

#endif /* FGIO_COMPAT_STRIPE_H */
