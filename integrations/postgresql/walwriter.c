// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "postgres.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "storage/latch.h"
#include "storage/proc.h"

#include "uapi/fgio.h"
#include "walwriter.h"

bool walwriter_foreground = true;

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

bool walwriter_label(void)
{
	struct fgio_tag tag = { .class = FGIO_TAG_FOREGROUND };
	int device;

	if (!walwriter_foreground)
		return true;
	tag.tid = walwriter_pid();
	if (tag.tid == 0)
		return false;
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (device < 0)
		return true;
	if (ioctl(device, FGIO_IOC_SET_TAG, &tag) != 0)
		ereport(DEBUG1, (errmsg_internal("fgio: cannot tag the WAL writer: %m")));
	close(device);
	return true;
}
