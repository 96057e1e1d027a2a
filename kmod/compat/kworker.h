/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a kernel thread (struct kthread) to its struct worker, to the work that it
 * executes; both 0 where this kernel's are not known.
 */
#ifndef FGIO_COMPAT_KWORKER_H
#define FGIO_COMPAT_KWORKER_H

#include "fgio_private.h"

#if defined(FGIO_KTHREAD_DATA) && defined(FGIO_WORKER_WORK)
#define fgio_kthread_data FGIO_KTHREAD_DATA
#define fgio_worker_work FGIO_WORKER_WORK
#else
#define fgio_kthread_data 0
#define fgio_worker_work 0
#endif

#endif /* FGIO_COMPAT_KWORKER_H */
