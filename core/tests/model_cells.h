/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A cell: a drive, a foreground and a background, under the learnt depth, some
 * fixed limits and none, and the criteria for each of them.
 */
#ifndef FGIO_CORE_TESTS_MODEL_CELLS_H
#define FGIO_CORE_TESTS_MODEL_CELLS_H

#include "model_rivals.h"

#define CELL_POLICIES_MAX 16

/*
 * The first is the learnt depth, the last is no limit: the others are judged
 * beside them.
 */
struct cell_policies {
	u32 count;
	u32 limit[CELL_POLICIES_MAX]; /* noncritical_in_device_max */
};

/* struct cell - what is run; times in ns */
struct cell {
	const struct simdisk_parameters *drive;
	u32 foreground;
	u32 background;
	u64 seed;
	u64 warm_ns;	 /* runs, and is not measured */
	u64 measured_ns;
};

/* The foreground without the background: common to cells that differ in it. */
struct cell_alone {
	/* Of a read of the idle drive; sets the foreground's rate */
	u64 service_ns;
	u64 measured_ns; /* the cell's, or longer where I/Os were few */
	struct rivals_figures figures;
};

/* The foreground's latency, in times alone. */
struct cell_figures {
	double background_bytes_per_s[CELL_POLICIES_MAX];
	double mean[CELL_POLICIES_MAX];
	double p99[CELL_POLICIES_MAX];
};

/* What can be asked of a cell. */
enum cell_kind {
	CELL_FREE,   /* an unrestricted background costs the foreground little */
	CELL_KEPT, /* some policy keeps the foreground near its latency alone */
	CELL_BEYOND, /* none does */
	CELL_KINDS,
};

/**
 * struct cell_verdict - on one policy
 * @kind: what was asked
 * @kept: the policy does that
 * @dominated_by: a policy with more throughput at no more latency; 0: none
 */
struct cell_verdict {
	enum cell_kind kind;
	bool kept;
	u32 dominated_by;
};

static inline bool cell_is_good(struct cell_verdict verdict)
{
	return verdict.kept && !verdict.dominated_by;
}

/* NULL beyond the last. */
const char *cell_foreground(u32 number);
const char *cell_foreground_text(u32 number);
const char *cell_background(u32 number);
const char *cell_background_text(u32 number);
const char *cell_kind_name(enum cell_kind kind);

/*
 * Reads "1,2,4" between the first and the last policy; false: it is no such
 * list.
 */
bool cell_read_limits(struct cell_policies *policies, const char *list);

struct cell_alone cell_run_alone(const struct cell *cell);

struct cell_figures cell_run(const struct cell *cell,
			     const struct cell_policies *policies,
			     const struct cell_alone *alone);

struct cell_verdict cell_judge(const struct cell_figures *figures,
			       const struct cell_policies *policies, u32 policy);

#endif
