/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Offsets in the private structs of loop devices (drivers/block/loop.c): the build
 * finds them in the BTF of the kernel or of its module. Where one is missing,
 * nothing of loop devices is followed.
 */
#ifndef FGIO_COMPAT_LOOP_H
#define FGIO_COMPAT_LOOP_H

#include "fgio_private.h"

#if defined(FGIO_LOOP_ROOT_WORK) && defined(FGIO_LOOP_WORKER_WORK) && \
	defined(FGIO_LOOP_WORKER_LOOP) && defined(FGIO_LOOP_FILE) &&        \
	defined(FGIO_LOOP_COMMAND_IOCB)
#define FGIO_LOOP_KNOWN 1
#else
#define FGIO_LOOP_KNOWN 0
#define FGIO_LOOP_ROOT_WORK 0
#define FGIO_LOOP_WORKER_WORK 0
#define FGIO_LOOP_WORKER_LOOP 0
#define FGIO_LOOP_FILE 0
#define FGIO_LOOP_COMMAND_IOCB 0
#endif

#endif /* FGIO_COMPAT_LOOP_H */
