// SPDX-License-Identifier: GPL-2.0 OR MIT
/* I/O of shards that no request waits for. */
#include "model_fleet_internal.h"

#include "check.h"

#define CHECKPOINT_SECTORS 256
#define SCAN_SECTORS 256
#define CHECKPOINT_DEPTH 8
#define SCAN_DEPTH 2
#define PHASE_NS (500 * MILLISECOND)

static bool checkpoints(const struct run *run, u32 shard)
{
	return run->fleet->background && shard % 4 == 0;
}

static bool scans(const struct run *run, u32 shard)
{
	return run->fleet->background && shard % 4 == 2;
}

/* Half of the time, not in step. */
static bool is_on(const struct run *run, u32 shard)
{
	return (run->now_ns + shard * 37 * MILLISECOND) / PHASE_NS % 2;
}

static void write_checkpoint(struct run *run, u32 shard)
{
	u64 count = CAPACITY_SECTORS / CHECKPOINT_SECTORS;

	fleet_insert(run, shard,
		     (struct fgio_request){
			     .sector = next_random(&run->random) % count *
				       CHECKPOINT_SECTORS,
			     .sectors = CHECKPOINT_SECTORS,
			     .write = true,
		     },
		     NONE, NONE);
}

static void read_scan(struct run *run, u32 shard)
{
	u64 count = CAPACITY_SECTORS / SCAN_SECTORS;

	fleet_insert(run, shard,
		     (struct fgio_request){
			     .sector = run->shard[shard].scanned++ % count *
				       SCAN_SECTORS,
			     .sectors = SCAN_SECTORS,
		     },
		     NONE, NONE);
}

void fleet_plan_phase(struct run *run, u32 shard)
{
	if (checkpoints(run, shard) || scans(run, shard))
		fleet_plan(run, PHASE, shard,
			   PHASE_NS - (shard * 37 * MILLISECOND) % PHASE_NS);
}

/* Begins a burst of a shard's background, and plans the next one. */
void fleet_begin_phase(struct run *run, u32 shard)
{
	if (is_on(run, shard)) {
		for (u32 i = 0; checkpoints(run, shard) && i < CHECKPOINT_DEPTH; i++)
			write_checkpoint(run, shard);
		for (u32 i = 0; scans(run, shard) && i < SCAN_DEPTH; i++)
			read_scan(run, shard);
		fleet_run_drive(run, shard);
	}
	fleet_plan(run, PHASE, shard, run->now_ns + PHASE_NS);
}

/* The next I/O of a recorded stream that is neither planned nor sent. */
static const struct fleet_load_io *next_of(const struct run *run, u32 stream)
{
	const struct fleet_load_stream *recorded =
		&run->fleet->load->stream[stream];
	u32 sent = run->stream[stream].sent;

	return sent < recorded->count ? &recorded->io[sent] : NULL;
}

static void plan_next(struct run *run, u32 stream)
{
	const struct fleet_load_io *io = next_of(run, stream);

	if (io && (io->beside || !run->stream[stream].under_way))
		fleet_plan(run, BACKGROUND, stream, run->now_ns + io->gap_ns);
}

void fleet_begin_background(struct run *run)
{
	for (u32 i = 0; i < run->fleet->load->streams; i++)
		plan_next(run, i);
}

void fleet_send_background(struct run *run, u32 stream)
{
	const struct fleet_load_io *io = next_of(run, stream);
	u64 most = CAPACITY_SECTORS - io->sectors + 1;

	run->stream[stream].sent++;
	run->stream[stream].under_way++;
	fleet_insert(run, io->shard,
		     (struct fgio_request){
			     .sector = io->sector % most,
			     .sectors = io->sectors,
			     .write = io->write,
		     },
		     NONE, stream);
	fleet_run_drive(run, io->shard);
	io = next_of(run, stream);
	if (io && io->beside)
		plan_next(run, stream);
}

/* One that goes on beside others was planned when the last one was sent. */
static void end_recorded(struct run *run, u32 stream)
{
	const struct fleet_load_io *io = next_of(run, stream);

	run->stream[stream].under_way--;
	if (io && !io->beside)
		plan_next(run, stream);
}

void fleet_end_background(struct run *run, u32 shard, const struct io *io)
{
	run->background_bytes += io->request.sectors * 512.0;
	run->figures->background_ios++;
	if (run->fleet->load) {
		end_recorded(run, io->stream);
		return;
	}
	if (!is_on(run, shard))
		return;
	if (io->request.write)
		write_checkpoint(run, shard);
	else
		read_scan(run, shard);
}
