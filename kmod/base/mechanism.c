// SPDX-License-Identifier: GPL-2.0
/* The switches of the mechanisms. */
#include <linux/compiler.h>

#include "base/mechanism.h"
#include "base/setting.h"

static bool boost = FGIO_DEFAULT_boost;
module_param(boost, bool, 0644);

static const char *const mechanism_names[FGIO_MECHANISMS] = {
	[FGIO_MECHANISM_LOCKS] = "locks",
	[FGIO_MECHANISM_JOURNAL] = "journal",
	[FGIO_MECHANISM_IO] = "io",
	[FGIO_MECHANISM_USER] = "user",
	[FGIO_MECHANISM_PAGECACHE] = "pagecache",
	[FGIO_MECHANISM_BLAME] = "blame",
	[FGIO_MECHANISM_COMMITS] = "commits",
	[FGIO_MECHANISM_URING] = "uring",
	[FGIO_MECHANISM_FILE_LOCKS] = "file_locks",
	[FGIO_MECHANISM_REPLIES] = "replies",
	[FGIO_MECHANISM_SPLIT] = "split",
};

/* A mechanism without a parameter of its own that is not here is off. */
static bool mechanisms[FGIO_MECHANISMS] = {
	[FGIO_MECHANISM_LOCKS] = FGIO_DEFAULT_locks,
	[FGIO_MECHANISM_JOURNAL] = FGIO_DEFAULT_journal,
	[FGIO_MECHANISM_IO] = FGIO_DEFAULT_io,
	[FGIO_MECHANISM_USER] = FGIO_DEFAULT_user,
	[FGIO_MECHANISM_PAGECACHE] = FGIO_DEFAULT_pagecache,
	[FGIO_MECHANISM_BLAME] = true,
	[FGIO_MECHANISM_COMMITS] = FGIO_DEFAULT_commits,
	[FGIO_MECHANISM_URING] = FGIO_DEFAULT_uring,
	[FGIO_MECHANISM_FILE_LOCKS] = FGIO_DEFAULT_file_locks,
	[FGIO_MECHANISM_REPLIES] = FGIO_DEFAULT_replies,
	[FGIO_MECHANISM_SPLIT] = FGIO_DEFAULT_split,
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

#define MECHANISM_PARAM(name, mechanism) \
	module_param_cb(name, &mechanism_ops, &mechanisms[mechanism], 0644)

MECHANISM_PARAM(locks, FGIO_MECHANISM_LOCKS);
MECHANISM_PARAM(journal, FGIO_MECHANISM_JOURNAL);
MECHANISM_PARAM(io, FGIO_MECHANISM_IO);
MECHANISM_PARAM(user, FGIO_MECHANISM_USER);
MECHANISM_PARAM(commits, FGIO_MECHANISM_COMMITS);
MECHANISM_PARAM(uring, FGIO_MECHANISM_URING);
MECHANISM_PARAM(file_locks, FGIO_MECHANISM_FILE_LOCKS);
MECHANISM_PARAM(replies, FGIO_MECHANISM_REPLIES);
MECHANISM_PARAM(split, FGIO_MECHANISM_SPLIT);
MECHANISM_PARAM(pagecache, FGIO_MECHANISM_PAGECACHE);

void fgio_mechanism_init(void (*changed)(void))
{
	WRITE_ONCE(on_change, changed);
}
