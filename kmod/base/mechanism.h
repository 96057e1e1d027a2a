/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Switches: one for each mechanism, as a parameter of the module. A hook
 * belongs to one mechanism and is attached while its switch is on.
 */
#ifndef FGIO_MECHANISM_H
#define FGIO_MECHANISM_H

#include <linux/types.h>

enum fgio_mechanism {
	FGIO_MECHANISM_LOCKS,
	FGIO_MECHANISM_JOURNAL,
	FGIO_MECHANISM_IO,
	FGIO_MECHANISM_USER,
	FGIO_MECHANISM_PAGECACHE,
	FGIO_MECHANISM_BLAME,
	FGIO_MECHANISM_COMMITS,
	FGIO_MECHANISM_URING,
	FGIO_MECHANISM_FILE_LOCKS,
	FGIO_MECHANISM_REPLIES,
	FGIO_MECHANISM_SPLIT,
	FGIO_MECHANISMS,
};

/* Context: any. */
bool fgio_mechanism_on(enum fgio_mechanism mechanism);

/* The name in /dev/fgio's list of hooks. */
const char *fgio_mechanism_name(enum fgio_mechanism mechanism);

/*
 * Whether tasks may be boosted and I/O promoted; if not, waits are only blamed.
 * Context: any.
 */
bool fgio_may_boost(void);

/*
 * @changed is called after each change of a switch, also while the module is
 * being unloaded. Context: may sleep.
 */
void fgio_mechanism_init(void (*changed)(void));

#endif /* FGIO_MECHANISM_H */
