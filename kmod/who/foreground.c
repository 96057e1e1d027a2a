// SPDX-License-Identifier: GPL-2.0
/* Whether the current task is a foreground task, by all criteria. */
#include <linux/iocontext.h>
#include <linux/ioprio.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "base/setting.h"
#include "core/class.h"
#include "who/commit.h"
#include "who/foreground.h"
#include "who/tag.h"
#include "who/trust.h"

static bool foreground_ioprio = FGIO_DEFAULT_foreground_ioprio;
module_param(foreground_ioprio, bool, 0644);

bool fgio_ioprio_is_trusted(u16 ioprio)
{
	return fgio_ioprio_is_privileged(ioprio) ||
	       (READ_ONCE(foreground_ioprio) && !fgio_trust_lists_cgroups());
}

/*
 * Whether the current task is a user's and has a foreground I/O priority that
 * is trusted.
 */
static bool has_foreground_ioprio(void)
{
	struct io_context *context = current->io_context;
	u16 ioprio;

	if (!context || current->flags & PF_KTHREAD)
		return false;
	ioprio = fgio_unmark_ioprio(context->ioprio);
	return fgio_classify(FGIO_THREAD_UNTAGGED, ioprio, true) ==
		       FGIO_CRITICAL &&
	       fgio_ioprio_is_trusted(ioprio);
}

bool fgio_current_serves_requests(void)
{
	enum fgio_thread_tag tag = fgio_tag_of_current();

	if (tag == FGIO_THREAD_UNTAGGED)
		return has_foreground_ioprio();
	return tag == FGIO_THREAD_FOREGROUND;
}

bool fgio_current_is_foreground(void)
{
	return fgio_current_serves_requests() || fgio_current_commits();
}
