// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "postgres.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/backend_status.h"

#include "auxiliary.h"
#include "uapi/fgio.h"

bool auxiliary_wal_writer = true;
bool auxiliary_io_workers = true;

/* 0 when there is none. */
static pid_t walwriter_pid(void)
{
#if PG_VERSION_NUM >= 180000
	ProcNumber number = ProcGlobal->walwriterProc;

	return number == INVALID_PROC_NUMBER ? 0 : GetPGProcByNumber(number)->pid;
#else
	struct Latch *latch = ProcGlobal->walwriterLatch;

	return latch ? latch->owner_pid : 0;
#endif
}

static void tag_process(int device, pid_t pid)
{
	struct fgio_tag tag = { .class = FGIO_TAG_FOREGROUND, .tid = pid };

	if (ioctl(device, FGIO_IOC_SET_TAG, &tag) != 0)
		ereport(DEBUG1, (errmsg_internal("fgio: cannot tag process %d: %m", (int)pid)));
}

#if PG_VERSION_NUM >= 180000
static void tag_io_workers(int device)
{
	/* Auxiliary processes come after all backends. */
	for (ProcNumber i = 0; i < NUM_AUXILIARY_PROCS; i++) {
		ProcNumber number = MaxBackends + i;
		pid_t pid = GetPGProcByNumber(number)->pid;

		if (pid != 0 && pgstat_get_backend_type_by_proc_number(number) == B_IO_WORKER)
			tag_process(device, pid);
	}
}
#else
static void tag_io_workers(int device)
{
}
#endif

/* A standby has workers, and no WAL writer before it is promoted. */
static bool workers_done;

bool auxiliary_label(void)
{
	pid_t walwriter = auxiliary_wal_writer ? walwriter_pid() : 0;
	bool workers = auxiliary_io_workers && !workers_done;
	int device;

	if (walwriter == 0 && !workers)
		return !auxiliary_wal_writer;
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (device < 0)
		return true;
	if (walwriter != 0)
		tag_process(device, walwriter);
	if (workers)
		tag_io_workers(device);
	workers_done = true;
	close(device);
	return walwriter != 0 || !auxiliary_wal_writer;
}
