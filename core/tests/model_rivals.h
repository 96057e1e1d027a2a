/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Two streams of I/O, a foreground and a background, on a simulated drive
 * behind the two-class queue: a whole experiment in a fraction of a second.
 */
#ifndef FGIO_CORE_TESTS_MODEL_RIVALS_H
#define FGIO_CORE_TESTS_MODEL_RIVALS_H

#include "../simdisk.h"

#define RIVALS_UNRESTRICTED 65535U

/*
 * A flush of the drive's cache; or the record of a journal's commit: a flush, a
 * write and another flush.
 */
enum rival_end {
	RIVAL_ENDS,
	RIVAL_ENDS_FLUSHED,
	RIVAL_ENDS_COMMITTED,
};

/**
 * struct rival - one stream
 * @write: its direction
 * @sequential: else random
 * @bytes: length of an I/O
 * @depth: I/Os at a time; 0: the stream does not run
 * @chain: I/Os that depend on each other, without a pause: they are one request
 * @think_ns: from the end of one request to the begin of the next
 * @irregular: that is a mean; pauses are exponential
 * @bursts: its @depth I/Os come at once, whether the burst before is over or
 *	not; bursts are @think_ns apart on average, exponentially
 * @mixed: every other I/O of a slot has the other direction
 * @begin_ns: time of its first requests
 * @ends: how each request ends; of the foreground
 */
struct rival {
	bool write;
	bool sequential;
	u32 bytes;
	u32 depth;
	u32 chain;
	u64 think_ns;
	bool irregular;
	bool bursts;
	bool mixed;
	u64 begin_ns;
	enum rival_end ends;
};

/**
 * struct rivals - an experiment
 * @kind: drive, with its default parameters...
 * @drive: ...or these, if set
 * @seed: of drive and streams
 * @foreground: its I/O is critical
 * @background: its I/O is non-critical
 * @second: a second background, non-critical as well
 * @limit: noncritical_in_device_max; 0: learnt
 * @hw_queues: the policy's hardware queues, among which the streams' I/Os are
 *	dealt; 0: one queue for all
 * @begin_ns: measured from here
 * @end_ns: to here
 * @change_ns: when the drive's speed changes; 0: never
 * @slower: factor by which the drive becomes slower then...
 * @faster: ...or faster
 * @restore_ns: when it is as before again; 0: never
 * @pause_ns: the foreground makes no request from here; 0: it always does...
 * @resume_ns: ...to here
 * @all_pause: the background pauses as well
 * @counts_pauses: a fault: the time of a pause counts as if it had been
 *	measured
 * @says_it_rotates: whether it does or not
 * @splits: long I/O of the background is split (split.h)
 * @one_class: classes are not told apart: in order of arrival, but two thirds
 *	for reads
 */
struct rivals {
	enum simdisk_kind kind;
	const struct simdisk_parameters *drive;
	u64 seed;
	struct rival foreground;
	struct rival background;
	struct rival second;
	u32 limit;
	u32 hw_queues;
	u64 begin_ns;
	u64 end_ns;
	u64 change_ns;
	u32 slower;
	u32 faster;
	u64 restore_ns;
	u64 pause_ns;
	u64 resume_ns;
	bool all_pause;
	bool counts_pauses;
	bool says_it_rotates;
	bool splits;
	bool one_class;
};

struct rivals_figures {
	u32 requests; /* of the foreground, that ended */
	double mean_ns;
	double p50_ns;
	double p99_ns;
	double p999_ns;
	double bytes_per_s;
	double background_bytes_per_s;
	u64 longest_gap_ns; /* between two completions of the background */
	u64 background_ns; /* the last of them... */
	u32 requests_then; /* ...and the foreground's until then */
	bool rotates; /* as far as was learnt */
	u32 most_sectors; /* of an I/O of the background */
	u32 longest; /* sectors of a piece, at the end */
};

struct rivals_figures rivals_run(const struct rivals *rivals);

#endif
