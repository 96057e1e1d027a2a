/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A host that keeps a simulated disk busy, for the tests of the timing models.
 */
#ifndef FGIO_CORE_TESTS_MODEL_HOST_H
#define FGIO_CORE_TESTS_MODEL_HOST_H

#include "../simdisk.h"

struct host;

/*
 * The host's command number @number; may use host->random and host->capacity.
 */
typedef struct simdisk_request (*host_pattern)(struct host *host, u64 number);

struct host {
	struct simdisk_model *model;
	struct simdisk_parameters parameters;
	void *memory;
	u64 capacity;
	u64 random;
	u64 now;
	u32 slots;
	struct simdisk_request *request;	/* by slot */
	u64 *submitted;				/* by slot; SIMDISK_NEVER: free */
	u64 submissions;
	/* Of the latest run: */
	u64 completions;
	u64 sectors;
	u64 elapsed;
	u64 latency_sum;
	u64 latency_max;
	u64 *latencies;		/* of every completion, in order of completion... */
	u64 *times;		/* ...and when */
	u64 print;		/* a hash of all completions and their times, of all runs */
};

/* The parameters that a spec stands for; ends the test where it is none. */
struct simdisk_parameters host_parsed(const char *spec);

/* @seed is the disk's and the host's. */
void host_start(struct host *host, const struct simdisk_parameters *parameters, u64 capacity,
		u64 seed);
void host_stop(struct host *host);

/*
 * Submits one command now, in any free slot of its queue, and returns the slot.
 */
u32 host_submit(struct host *host, const struct simdisk_request *request);

/*
 * Waits for the next completion and returns its slot, or SIMDISK_NO_SLOT if
 * nothing is out.
 */
u32 host_wait(struct host *host);

/*
 * Keeps @depth commands of @pattern in the disk until @count are complete, then
 * lets the rest complete uncounted. A fresh measurement starts with each run.
 */
void host_run(struct host *host, host_pattern pattern, u32 depth, u64 count);

double host_iops(const struct host *host);
double host_bytes_per_s(const struct host *host);
double host_mean_ns(const struct host *host);

/* The latency that @share (0 to 1) of the run's commands did not exceed. */
u64 host_percentile_ns(const struct host *host, double share);

u64 host_random(struct host *host, u64 below);

#endif
