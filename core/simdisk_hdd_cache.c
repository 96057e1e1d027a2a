// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A hard disk's memory: segments that were read, and extents that are to be written. */
#include "simdisk_hdd.h"

/* ---- read cache ---- */

static bool reads_ahead(const struct hdd_state *state)
{
	return state->head_reads && !state->busy;
}

/*
 * The host took data of the active segment: the head may read that much
 * further.
 */
static void consume(struct simdisk_model *model, u64 end)
{
	struct hdd_state *state = model->state;
	u64 position = hdd_head(model);

	if (position == hdd_read_limit(model)) {
		/*
		 * It had stopped, and has to wait for the place where it did.
		 */
		struct hdd_place place = hdd_place_of(model, position);

		state->head_sector = position;
		state->head_time = model->clock + hdd_rotation_wait_ns(model, model->clock, &place);
		state->segment[state->active].end = position;
	}
	state->consumed = larger(state->consumed, end);
}

bool hdd_is_cached(struct simdisk_model *model, const struct simdisk_request *request)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	struct hdd_state *state = model->state;
	u64 end = request->sector + request->sectors;
	u32 i;

	for (i = 0; i < hdd->read_segments; i++) {
		bool grows = i == state->active && reads_ahead(state);
		u64 known = grows ? hdd_head(model) : state->segment[i].end;

		if (request->sector < state->segment[i].start || end > known)
			continue;
		if (grows)
			consume(model, end);
		return true;
	}
	for (i = 0; i < hdd->cache_entries; i++) {
		const struct hdd_extent *extent = &state->extent[i];

		if (extent->used && request->sector >= extent->place.sector &&
		    end <= extent->place.sector + extent->sectors)
			return true;
	}
	return false;
}

void hdd_stop_reading(struct simdisk_model *model)
{
	struct hdd_state *state = model->state;

	if (!state->head_reads)
		return;
	state->head_sector = hdd_head(model);
	state->segment[state->active].end = state->head_sector;
	state->head_reads = false;
}

void hdd_forget_segments(struct simdisk_model *model, u64 sector, u64 sectors)
{
	struct hdd_state *state = model->state;
	u32 i;

	for (i = 0; i < model->parameters.hdd.read_segments; i++) {
		struct hdd_segment *segment = &state->segment[i];
		bool active = i == state->active;
		u64 end = active && reads_ahead(state) ? hdd_head(model) : segment->end;

		if (sector >= end || sector + sectors <= segment->start)
			continue;
		if (active && reads_ahead(state))
			hdd_stop_reading(model);
		else if (active)
			state->active_lost = true;
		*segment = (struct hdd_segment) { 0, 0 };
	}
}

void hdd_begin_segment(struct simdisk_model *model, u64 sector)
{
	struct hdd_state *state = model->state;

	state->active = (state->active + 1) % model->parameters.hdd.read_segments;
	state->segment[state->active] = (struct hdd_segment) { sector, sector };
}

void hdd_end_segment(struct simdisk_model *model, u64 sector)
{
	struct hdd_state *state = model->state;
	struct hdd_segment *segment = &state->segment[state->active];
	u64 keep = 2ull * model->parameters.hdd.read_ahead_sectors;

	if (state->active_lost)
		segment->start = sector;
	segment->end = sector;
	if (segment->end - segment->start > keep)
		segment->start = segment->end - keep;
	state->active_lost = false;
	state->consumed = sector;
}

/* ---- write cache ---- */

u32 hdd_first_writer(const struct simdisk_model *model)
{
	const struct hdd_state *state = model->state;

	return simdisk_line_first(model, &state->writers);
}

u64 hdd_over_link(struct simdisk_model *model, u32 sectors)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	struct hdd_state *state = model->state;

	state->link_free = larger(model->clock, state->link_free) +
			   simdisk_transfer_ns(sectors, hdd->link_bytes_per_s);
	return state->link_free + hdd->overhead_ns;
}

/* Data that overwrites or continues a dirty extent joins it. */
static bool join_extent(struct simdisk_model *model, const struct simdisk_request *request)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	struct hdd_state *state = model->state;
	u32 i;

	/* An extent a flush waits for must not grow under it. */
	if (state->flushes.head != SIMDISK_NO_SLOT)
		return false;
	for (i = 0; i < hdd->cache_entries; i++) {
		struct hdd_extent *extent = &state->extent[i];
		u64 end = extent->place.sector + extent->sectors;

		if (!extent->used || extent->moving || request->sector < extent->place.sector ||
		    request->sector > end)
			continue;
		if (request->sector + request->sectors > end) {
			u32 grows = (u32)(request->sector + request->sectors - end);

			if (extent->sectors + grows > model->parameters.max_sectors)
				continue;
			extent->sectors += grows;
			state->dirty_sectors += grows;
		}
		return true;
	}
	return false;
}

static bool add_extent(struct simdisk_model *model, const struct simdisk_request *request)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	struct hdd_state *state = model->state;
	u32 i;

	for (i = 0; i < hdd->cache_entries; i++) {
		struct hdd_extent *extent = &state->extent[i];

		if (extent->used)
			continue;
		*extent = (struct hdd_extent) {
			.place = hdd_place_of(model, request->sector),
			.sectors = request->sectors,
			.time = model->clock,
			.sequence = state->sequence++,
			.used = true,
		};
		state->extents++;
		state->dirty_sectors += request->sectors;
		return true;
	}
	return false;
}

bool hdd_cache_write(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	const struct simdisk_request *request = &model->slot[slot].request;
	struct hdd_state *state = model->state;

	if (state->extents && state->dirty_sectors + request->sectors > hdd->cache_sectors)
		return false;
	if (!join_extent(model, request) && !add_extent(model, request))
		return false;
	simdisk_complete_at(model, hdd_over_link(model, request->sectors), slot);
	return true;
}

void hdd_admit_writers(struct simdisk_model *model)
{
	struct hdd_state *state = model->state;

	for (;;) {
		u32 slot = hdd_first_writer(model);

		if (slot == SIMDISK_NO_SLOT || !hdd_cache_write(model, slot))
			return;
		simdisk_line_take(model, &state->writers, slot);
	}
}

/* Is something dirty that was there when the flush came? */
static bool flush_waits(const struct simdisk_model *model, u32 slot)
{
	const struct hdd_state *state = model->state;
	u32 i;

	for (i = 0; i < model->parameters.hdd.cache_entries; i++) {
		if (state->extent[i].used && state->extent[i].sequence < model->slot[slot].mark)
			return true;
	}
	return false;
}

void hdd_finish_flushes(struct simdisk_model *model)
{
	struct hdd_state *state = model->state;

	while (state->flushes.head != SIMDISK_NO_SLOT &&
	       !flush_waits(model, state->flushes.head)) {
		u32 slot = simdisk_list_take(model, &state->flushes);

		simdisk_complete_at(model, model->clock + model->parameters.hdd.overhead_ns, slot);
	}
}
