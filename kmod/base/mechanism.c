// SPDX-License-Identifier: GPL-2.0
/* The switches of the mechanisms. */
#include <linux/compiler.h>
#include <linux/moduleparam.h>

#include "base/mechanism.h"

static bool boost = true;
module_param(boost, bool, 0644);
MODULE_PARM_DESC(boost, "boost tasks and promote I/O that foreground tasks wait for; N: only blame them (Y)");

static const char *const mechanism_names[FGIO_MECHANISMS] = {
	[FGIO_MECHANISM_LOCKS] = "locks",
	[FGIO_MECHANISM_JOURNAL] = "journal",
	[FGIO_MECHANISM_IO] = "io",
	[FGIO_MECHANISM_USER] = "user",
	[FGIO_MECHANISM_PAGECACHE] = "pagecache",
	[FGIO_MECHANISM_BLAME] = "blame",
	[FGIO_MECHANISM_COMMITS] = "commits",
};

static bool mechanisms[FGIO_MECHANISMS] = {
	true, true, true, true, true, true, true,
};

/* NULL while the parameters of the module's command line are set. */
static void (*on_change)(void);

bool fgio_mechanism_on(enum fgio_mechanism mechanism)
{
	return READ_ONCE(mechanisms[mechanism]);
}

bool fgio_may_boost(void)
{
	return READ_ONCE(boost);
}

const char *fgio_mechanism_name(enum fgio_mechanism mechanism)
{
	return mechanism_names[mechanism];
}

static void tell(void)
{
	typeof(on_change) changed = READ_ONCE(on_change);

	if (changed)
		changed();
}

static int set_mechanism(const char *text, const struct kernel_param *param)
{
	int error = param_set_bool(text, param);

	if (!error)
		tell();
	return error;
}

static const struct kernel_param_ops mechanism_ops = {
	.set = set_mechanism,
	.get = param_get_bool,
};

#define MECHANISM(name, which, what)                                       \
	module_param_cb(name, &mechanism_ops, &mechanisms[which], 0644);   \
	MODULE_PARM_DESC(name, what)

MECHANISM(locks, FGIO_MECHANISM_LOCKS, "follow waits for kernel locks (Y)");
MECHANISM(journal, FGIO_MECHANISM_JOURNAL,
	  "follow waits for file system journals (Y)");
MECHANISM(io, FGIO_MECHANISM_IO, "follow waits for outstanding I/O (Y)");
MECHANISM(user, FGIO_MECHANISM_USER,
	  "follow waits for locks and conditions in user space (Y)");
MECHANISM(commits, FGIO_MECHANISM_COMMITS,
	  "a task that syncs or writes a file that foreground tasks sync is foreground meanwhile (Y)");
MECHANISM(pagecache, FGIO_MECHANISM_PAGECACHE,
	  "keep room in the page cache for foreground tasks (Y)");

void fgio_mechanism_init(void (*changed)(void))
{
	WRITE_ONCE(on_change, changed);
}
