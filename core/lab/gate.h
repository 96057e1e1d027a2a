/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Scheduling at the system call, for comparison with fgio: write and fsync of a
 * non-critical task wait there, and no task inherits. It imitates the two
 * schedulers built on the split-level framework ("Split-Level I/O Scheduling",
 * SOSP'15), as the FAST'17 paper set them up (section 7.1):
 *
 *	FGIO_GATE_PRIORITY	writes and fsyncs wait while critical I/O is
 *				outstanding (Split-AFQ)
 *	FGIO_GATE_DEADLINE	an fsync waits until little of its file is left
 *				to be written, or for its deadline, and has the
 *				file written back meanwhile (Split-Deadline)
 *
 * Sizes are in pages. Nothing here sleeps, allocates, loops or keeps state.
 */
#ifndef FGIO_CORE_GATE_H
#define FGIO_CORE_GATE_H

#include "../types.h"

enum fgio_gate {
	FGIO_GATE_PRIORITY = 1,
	FGIO_GATE_DEADLINE,
};

/* The deadline of the paper's checkpointers; writes wait no longer, either. */
#define FGIO_GATE_WAIT_MAX_NS 200000000ULL

/* Pages of a file that are little enough for its fsync. */
#define FGIO_GATE_LITTLE 100

/* Pages that an fsync has written back at a time: 2 MiB. */
#define FGIO_GATE_BATCH 512

/**
 * struct fgio_gate_sample - the state of a task at the gate
 * @sync: it is about to sync a file; otherwise it wrote to one
 * @critical: critical I/O outstanding, queued or in a device
 * @dirty: pages of the file to be written; more than FGIO_GATE_BATCH need not
 *	be counted
 * @writeback: its pages under writeback, counted likewise
 * @waited_ns: how long the task has been there
 */
struct fgio_gate_sample {
	bool sync;
	u64 critical;
	u64 dirty;
	u64 writeback;
	u64 waited_ns;
};

enum fgio_gate_action {
	FGIO_GATE_GO,
	FGIO_GATE_WAIT,	 /* look again after fgio_gate_pause_ns() */
	FGIO_GATE_WRITE, /* the same, and write FGIO_GATE_BATCH pages before */
};

enum fgio_gate_action fgio_gate_next(enum fgio_gate gate,
				     const struct fgio_gate_sample *sample);

/* How long to wait until the state may have changed. */
u64 fgio_gate_pause_ns(enum fgio_gate gate);

#endif /* FGIO_CORE_GATE_H */
