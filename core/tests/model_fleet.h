/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A sharded database in virtual time: proxies that users' requests arrive at,
 * shards that each have a simulated drive behind a policy, and the request order
 * of core.
 *
 * Requests arrive at random, whether others are done or not. Each reads records
 * that lie on some of the shards; a part runs on each of these, @width reads
 * at a time, and the request ends with its last part.
 */
#ifndef FGIO_CORE_TESTS_MODEL_FLEET_H
#define FGIO_CORE_TESTS_MODEL_FLEET_H

#include "../request_order.h"
#include "../simdisk.h"
#include "model_fleet_load.h"

enum fleet_policy {
	FLEET_NONE,      /* in order of arrival, as many as the drive takes */
	FLEET_DEADLINE,  /* the rules of mq-deadline */
	FLEET_UNORDERED, /* fgio without ids */
	FLEET_ORDERED,   /* fgio with ids */
	/* As ordered by arrival, with ranks by what no server knows: */
	FLEET_ORACLE_SLACK, /* a part may wait for the longest of its siblings */
	FLEET_ORACLE_WORK,  /* the least remaining work of the longest part */
	FLEET_ORACLE_ARRIVAL,
};

/**
 * struct fleet - an experiment
 * @drive: parameters of each drive
 * @seed: of all that is random
 * @policy: enum fleet_policy
 * @order: enum fgio_request_policy, of FLEET_ORDERED
 * @window: critical I/Os in a drive of fgio; 0: with ids what is learnt, without
 *	as many as it takes
 * @drives: shards
 * @fanout: shards that a request has parts on, at most @drives
 * @proxies: which requests arrive at
 * @records: a request reads 1 to this number of records
 * @width: reads that a part has at a time
 * @huge_ppm: of all requests read FLEET_HUGE times as many records; they are in
 *	no figure
 * @per_s: requests
 * @skew_ms: between the clocks of the first and the last proxy, evenly
 * @exchange: answers bring back the latest id that the shard was told of, and the
 *	proxy's clock follows
 * @background: of four shards, one writes a checkpoint in the background and
 *	one reads all of its data, half of the time
 * @slow: shards with a slow drive
 * @slow_factor: how many times as long that takes
 * @dead: shards that are not there from a third of the time to two thirds; parts
 *	of requests go to a replica after FLEET_TIMEOUT_NS
 * @hedge_ms: a part that takes longer runs on a replica as well; 0: none
 * @without_ids: shards that get none
 * @liars_ppm: of all requests claim to be older by ten seconds
 * @load: requests that were recorded, instead of random ones; NULL: none. Their
 *	parts are on all @drives, in order; nothing of @per_s, @records and @width
 *	counts
 * @clients: recorded requests at a time, of which the others wait; 0: all
 * @begin_ns: requests are measured that arrive from here...
 * @end_ns: ...to here
 */
struct fleet {
	const struct simdisk_parameters *drive;
	u64 seed;
	enum fleet_policy policy;
	enum fgio_request_policy order;
	u32 window;
	u32 drives;
	u32 fanout;
	u32 proxies;
	u32 records;
	u32 width;
	u32 huge_ppm;
	double per_s;
	double skew_ms;
	bool exchange;
	bool background;
	u32 slow;
	double slow_factor;
	u32 dead;
	double hedge_ms;
	u32 without_ids;
	u32 liars_ppm;
	const struct fleet_load *load;
	u32 clients;
	u64 begin_ns;
	u64 end_ns;
};

#define FLEET_HUGE 20
#define FLEET_TIMEOUT_NS 20000000ULL

/**
 * struct fleet_figures - what came of it
 * @n: requests measured
 * @per_s: of them, that ended, by when the last one did
 * @mean_ms: from arrival to the end of the last part
 * @p50_ms: the same
 * @p99_ms: the same
 * @p999_ms: the same
 * @gap_p50_ms: between the ends of a request's first and last part; 0 with a
 *	fan-out of 1
 * @gap_p99_ms: the same
 * @liars_mean_ms: latency of requests that lie, which are in no other figure
 * @liars_p99_ms: the same
 * @background_mb_s: of all shards
 * @background_ios: of all shards, that are done
 * @ios: of users' requests
 * @aged: I/Os that went by age
 * @forgotten: requests whose order was not known any more
 * @outstanding: most requests at a time
 * @bound: critical I/Os that the last shard's drive needs, as learnt by the end,
 *	without the margin; 0: no order
 */
struct fleet_figures {
	u64 n;
	double per_s;
	double mean_ms;
	double p50_ms;
	double p99_ms;
	double p999_ms;
	double gap_p50_ms;
	double gap_p99_ms;
	double liars_mean_ms;
	double liars_p99_ms;
	double background_mb_s;
	u64 background_ios;
	u64 ios;
	u64 aged;
	u64 forgotten;
	u32 outstanding;
	u32 bound;
};

void fleet_run(const struct fleet *fleet, struct fleet_figures *figures);

/* Random reads per s of a drive that is kept full of them. */
double fleet_reads_per_s(const struct simdisk_parameters *drive, u64 seed);

/*
 * Mean reads of a request on all of its shards together; @huge: share of those
 * that read FLEET_HUGE times as many records.
 */
double fleet_mean_reads(u32 fanout, u32 records, double huge);

#endif
