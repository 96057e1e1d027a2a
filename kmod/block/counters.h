/* SPDX-License-Identifier: GPL-2.0 */
/* The counters of each disk, in debugfs. */
#ifndef FGIO_COUNTERS_H
#define FGIO_COUNTERS_H

struct fgio_queue_data;

/*
 * Counters that cannot be shown are no reason to refuse a disk. Context: may
 * sleep; the queue is frozen, so that no memory may be asked for that takes
 * I/O.
 */
void fgio_counters_add_queue(struct fgio_queue_data *fq);

/* @fq's counters are not read any more afterwards. Context: as above. */
void fgio_counters_remove_queue(struct fgio_queue_data *fq);

/* No queue is left. */
void fgio_counters_exit(void);

#endif /* FGIO_COUNTERS_H */
