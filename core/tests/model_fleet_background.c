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
		     NONE);
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
		     NONE);
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

void fleet_plan_background(struct run *run)
{
	const struct fleet_load *load = run->fleet->load;

	if (run->background < load->background_count)
		fleet_plan(run, BACKGROUND, 0,
			   SECOND + load->background[run->background].at_ns);
}

/* Of a recorded load. */
void fleet_send_background(struct run *run)
{
	const struct fleet_load_io *io =
		&run->fleet->load->background[run->background++];

	fleet_insert(run, io->shard,
		     (struct fgio_request){
			     .sector = io->sector % (CAPACITY_SECTORS - io->sectors),
			     .sectors = io->sectors,
			     .write = io->write,
		     },
		     NONE);
	fleet_run_drive(run, io->shard);
	fleet_plan_background(run);
}

void fleet_end_background(struct run *run, u32 shard, const struct io *io)
{
	run->background_bytes += io->request.sectors * 512.0;
	if (run->fleet->load || !is_on(run, shard))
		return;
	if (io->request.write)
		write_checkpoint(run, shard);
	else
		read_scan(run, shard);
}
