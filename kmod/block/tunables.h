/* SPDX-License-Identifier: GPL-2.0 */
/* The files in /sys/block/DEV/queue/iosched/. */
#ifndef FGIO_TUNABLES_H
#define FGIO_TUNABLES_H

struct elv_fs_entry;

extern struct elv_fs_entry fgio_tunables[];

#endif /* FGIO_TUNABLES_H */
