/* SPDX-License-Identifier: GPL-2.0 */
/* The counters of each disk, in debugfs. */
#ifndef FGIO_COUNTERS_H
#define FGIO_COUNTERS_H

struct fgio_queue_data;

/*
 * Does not fail: a disk without the file is better than a refused one. Context:
 * may sleep; the queue is frozen, so memory is allocated without I/O.
 */
void fgio_counters_add_queue(struct fgio_queue_data *fq);

/* Afterwards @fq's counters are not read any more. Context: as above. */
void fgio_counters_remove_queue(struct fgio_queue_data *fq);

/* No queue is left. */
void fgio_counters_exit(void);

#endif /* FGIO_COUNTERS_H */
