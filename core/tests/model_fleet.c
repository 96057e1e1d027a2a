// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "model_fleet_internal.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"

static void begin(struct run *run)
{
	const struct fleet *fleet = run->fleet;

	run->now_ns = SECOND;
	run->random = fleet->seed;
	run->arrivals = ~fleet->seed;
	run->free_io = run->free_part = run->free_request = NONE;
	run->io_room = 4000000;
	run->io = calloc(run->io_room, sizeof(*run->io));
	run->shard = calloc(fleet->drives, sizeof(*run->shard));
	run->last_stamp = calloc(fleet->proxies, sizeof(u64));
	CHECK(run->io && run->shard && run->last_stamp);
	if (fleet->load && fleet->load->streams) {
		run->stream = calloc(fleet->load->streams,
				     sizeof(*run->stream));
		CHECK(run->stream);
	}
	run->read_ns = 1e9 / fleet_reads_per_s(fleet->drive, fleet->seed);
	for (u32 i = 0; i < fleet->drives; i++)
		fleet_begin_shard(run, i);
	if (!fleet->load) {
		fleet_plan(run, ARRIVAL, 0, run->now_ns);
		return;
	}
	fleet_plan_recorded(run);
	fleet_begin_background(run);
}

static void sort(double *values, u32 count)
{
	if (count)
		qsort(values, count, sizeof(double), compare_doubles);
}

/* The nearest rank, as lab/figures.py has it. */
static double quantile(const double *sorted, u32 count, double share)
{
	u32 rank = (u32)ceil(share * count - 1e-9);

	return count ? sorted[rank ? rank - 1 : 0] : 0;
}

static double mean(const double *values, u32 count)
{
	double sum = 0;

	for (u32 i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / count : 0;
}

static void reckon(struct run *run)
{
	struct fleet_figures *figures = run->figures;
	u32 count = run->latencies, liars = run->liar_count;
	double spent_s = (double)(run->last_end_ns - run->fleet->begin_ns) / 1e9;

	sort(run->latency, count);
	sort(run->gap, count);
	sort(run->liars, liars);
	figures->n = count;
	figures->per_s = (count + liars) / spent_s;
	figures->mean_ms = mean(run->latency, count);
	figures->p50_ms = quantile(run->latency, count, 0.5);
	figures->p99_ms = quantile(run->latency, count, 0.99);
	figures->p999_ms = quantile(run->latency, count, 0.999);
	figures->gap_p50_ms = quantile(run->gap, count, 0.5);
	figures->gap_p99_ms = quantile(run->gap, count, 0.99);
	figures->liars_mean_ms = mean(run->liars, liars);
	figures->liars_p99_ms = quantile(run->liars, liars, 0.99);
	figures->background_mb_s = run->background_bytes / 1e6 /
				   ((double)run->now_ns / 1e9 - 1);
	for (u32 i = 0; i < run->fleet->drives; i++) {
		const struct fgio_request_order *order = run->shard[i].by_request;

		figures->aged += order ? order->aged : 0;
		figures->forgotten += order ? order->forgotten : 0;
		figures->bound = order ? 1U << order->bound.level : 0;
	}
}

static void end(struct run *run)
{
	for (u32 i = 0; i < run->fleet->drives; i++)
		fleet_end_shard(&run->shard[i]);
	for (u32 i = 0; i < run->requests; i++) {
		free(run->request[i].shard);
		free(run->request[i].reads);
		free(run->request[i].left);
		free(run->request[i].done);
	}
	free(run->shard);
	free(run->io);
	free(run->part);
	free(run->request);
	free(run->stream);
	free(run->heap);
	free(run->last_stamp);
	free(run->latency);
	free(run->gap);
	free(run->liars);
}

static bool has_more(const struct run *run)
{
	const struct fleet_load *load = run->fleet->load;

	/* Not the end of the interval: a drive without a queue would miss the last. */
	return run->outstanding ||
	       (load ? run->begun < load->count : !run->all_came);
}

void fleet_run(const struct fleet *fleet, struct fleet_figures *figures)
{
	struct run run = { .fleet = fleet, .figures = figures };

	CHECK(fleet->fanout && fleet->fanout <= fleet->drives && fleet->proxies);
	CHECK(!fleet->load || fleet->load->shards == fleet->fanout);
	*figures = (struct fleet_figures){ 0 };
	begin(&run);
	/* To the end of the last request: slow ones are not left out. */
	while (has_more(&run)) {
		struct event event = fleet_take_event(&run);

		run.now_ns = event.at_ns;
		switch (event.kind) {
		case ARRIVAL:
			fleet_arrive(&run);
			break;
		case PART:
			fleet_begin_part(&run, event.index);
			break;
		case READ:
			fleet_go_on(&run, event.index);
			break;
		case DRIVE:
			fleet_wake_drive(&run, event.index, event.at_ns);
			break;
		case PHASE:
			fleet_begin_phase(&run, event.index);
			break;
		case BACKGROUND:
			fleet_send_background(&run, event.index);
			break;
		case HEDGE:
			fleet_hedge(&run, event.index);
			break;
		case PART_END:
			fleet_end_part(&run, event.index);
			break;
		case REQUEST_END:
			fleet_end_request(&run, event.index);
			break;
		}
		fleet_begin_waiting(&run);
	}
	reckon(&run);
	end(&run);
}

double fleet_mean_reads(u32 fanout, u32 records, double huge)
{
	return fanout + (records + 1) / 2.0 * (1 + huge * (FLEET_HUGE - 1));
}

static void read_any(struct simdisk_model *model, u64 now_ns, u32 slot,
		     u64 *random)
{
	u64 count = CAPACITY_SECTORS / READ_SECTORS;

	CHECK(simdisk_submit(
		model, now_ns, slot,
		&(struct simdisk_request){
			.operation = SIMDISK_READ,
			.sector = next_random(random) % count * READ_SECTORS,
			.sectors = READ_SECTORS,
		}));
}

double fleet_reads_per_s(const struct simdisk_parameters *drive, u64 seed)
{
	struct simdisk_completion completions[16];
	u32 depth = drive->queue_depth < 64 ? drive->queue_depth : 64;
	void *memory = calloc(1, simdisk_bytes(drive));
	struct simdisk_model *model;
	u64 now_ns = 1, done = 0;

	CHECK(memory);
	model = simdisk_create(memory, drive, CAPACITY_SECTORS, seed);
	for (u32 slot = 0; slot < depth; slot++)
		read_any(model, now_ns, slot, &seed);
	while (now_ns < 3 * SECOND) {
		u32 count;

		now_ns = simdisk_next_event(model);
		count = simdisk_advance(model, now_ns, completions,
					ARRAY_SIZE(completions));
		for (u32 i = 0; i < count; i++) {
			done += now_ns >= SECOND;
			read_any(model, now_ns, completions[i].slot, &seed);
		}
	}
	free(memory);
	return (double)done / 2;
}
