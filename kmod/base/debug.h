/* SPDX-License-Identifier: GPL-2.0 */
/* /sys/kernel/debug/fgio: the folder for figures outside of the ABI. */
#ifndef FGIO_DEBUG_H
#define FGIO_DEBUG_H

struct dentry;

/* The folder; unloading the module removes it and all that is in it. */
struct dentry *fgio_debug_root(void);
int fgio_debug_init(void);
void fgio_debug_exit(void);

#endif /* FGIO_DEBUG_H */
