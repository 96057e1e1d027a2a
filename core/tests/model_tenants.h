/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Tenants, each a group with one stream of I/O, on a simulated drive behind a
 * policy that shares it: a whole experiment in seconds.
 */
#ifndef FGIO_CORE_TESTS_MODEL_TENANTS_H
#define FGIO_CORE_TESTS_MODEL_TENANTS_H

#include "../simdisk.h"

#define TENANTS_MAX 256U
#define TENANTS_SECONDS_MAX 64U

/**
 * struct tenant - one group
 * @name: of the kind of stream
 * @weight: 1 to 10,000
 * @write: its direction
 * @sequential: else random
 * @critical: a foreground task waits for each I/O
 * @bytes: length of an I/O
 * @depth: I/Os at a time
 * @bytes_per_s: it asks for no more; 0: for all it gets
 * @uneven: at that rate on average, in random intervals as those of users
 * @think_ns: from a completion to the next request
 * @rest_ns: after each second I/O, longer by this
 * @begin_ns: time of its first request
 * @end_ns: it makes none from here on; 0: it goes on
 * @joins: it is another stream of the group before it, and @weight is of no use
 */
struct tenant {
	const char *name;
	u32 weight;
	bool write;
	bool sequential;
	bool critical;
	u32 bytes;
	u32 depth;
	double bytes_per_s;
	bool uneven;
	u64 think_ns;
	u64 rest_ns;
	u64 begin_ns;
	u64 end_ns;
	bool joins;
};

enum tenants_policy {
	TENANTS_NONE, /* in order of arrival, as many as the drive takes */
	TENANTS_SFQ,  /* start tags by bytes, a fixed number in the drive */
	TENANTS_FGIO,
	TENANTS_OFF,  /* fgio without shares */
};

/**
 * struct tenants - an experiment
 * @drive: its parameters
 * @seed: of drive and streams
 * @policy: enum tenants_policy
 * @depth: of TENANTS_SFQ
 * @copy_ns: for each KiB of a completed I/O, its task has the one processor of all
 *	before it makes the next one, in order of completion; 0: each has its own
 * @count: of @tenant
 * @tenant: the groups
 * @known: of TENANTS_FGIO: what each does alone in bytes per second, from which
 *	its service costs follow; NULL: they are learnt
 * @no_turns: of TENANTS_FGIO: reads have no turns
 * @begin_ns: measured from here...
 * @end_ns: ...to here
 */
struct tenants {
	const struct simdisk_parameters *drive;
	u64 seed;
	enum tenants_policy policy;
	u32 depth;
	double copy_ns;
	u32 count;
	const struct tenant *tenant;
	const double *known;
	bool no_turns;
	u64 begin_ns;
	u64 end_ns;
};

/**
 * struct tenant_figures - what a group got
 * @bytes_per_s: mean
 * @second: bytes in each second
 * @p50_ns: of its I/Os, from request to completion
 * @p99_ns: the same
 * @p999_ns: the same
 */
struct tenant_figures {
	double bytes_per_s;
	double second[TENANTS_SECONDS_MAX];
	double p50_ns;
	double p99_ns;
	double p999_ns;
};

/**
 * struct tenants_figures - of an experiment
 * @bytes_per_s: of all groups
 * @limit: requests in the drive at the end, of TENANTS_FGIO
 * @has_turns: reads had turns at the end
 * @group: of each
 */
struct tenants_figures {
	double bytes_per_s;
	u32 limit;
	bool has_turns;
	struct tenant_figures group[TENANTS_MAX];
};

void tenants_run(const struct tenants *tenants,
		 struct tenants_figures *figures);

#endif
