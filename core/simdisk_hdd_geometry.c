// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Where a hard disk's sectors are, and how long the arm and the spindle take to
 * get there.
 *
 * Sectors lie on one spiral per zone, so a sequential stream runs at the zone's
 * sustained rate without a seek per track, as track skew makes it on a real
 * drive. The spindle's angle is the clock modulo one rotation.
 */
#include "simdisk_hdd.h"

/* Rounding of angles to nanoseconds must not cost a rotation. */
#define HDD_ANGLE_SLACK_NS 64u

u64 hdd_track_sectors(const struct simdisk_hdd_parameters *hdd, u32 zone)
{
	u64 rate = hdd->outer_bytes_per_s;

	if (hdd->zones > 1)
		rate -= (hdd->outer_bytes_per_s - hdd->inner_bytes_per_s) * zone / (hdd->zones - 1);
	return rate * hdd->rotation_ns / SIMDISK_NS_PER_S / SIMDISK_SECTOR_BYTES;
}

static u32 square_root(u64 value)
{
	u64 root = 0, bit;

	for (bit = 1ull << 62; bit; bit >>= 2) {
		if (value >= root + bit) {
			value -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return (u32)root;
}

void hdd_lay_out(struct simdisk_model *model)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	struct hdd_state *state = model->state;
	u64 tracks = 0;
	u32 i;

	state->zone_sectors = (model->capacity + hdd->zones - 1) / hdd->zones;
	for (i = 0; i < hdd->zones; i++) {
		state->zone[i].first_sector = i * state->zone_sectors;
		state->zone[i].first_track = tracks;
		state->zone[i].track_sectors = hdd_track_sectors(hdd, i);
		tracks += state->zone_sectors / state->zone[i].track_sectors + 1;
	}
	state->tracks = tracks;
	for (i = 0; i <= HDD_ROOTS; i++)
		state->root[i] = square_root((u64)i << 24);
	state->angle = simdisk_random(model) % hdd->rotation_ns;
}

static const struct hdd_zone *zone_of(const struct simdisk_model *model, u64 sector)
{
	const struct hdd_state *state = model->state;
	u64 zone = sector / state->zone_sectors;
	u32 last = model->parameters.hdd.zones - 1;

	return &state->zone[zone < last ? zone : last];
}

u64 hdd_media_ns(const struct simdisk_model *model, u64 sector, u64 sectors)
{
	return sectors * model->parameters.hdd.rotation_ns / zone_of(model, sector)->track_sectors;
}

/*
 * The square root of a 32-bit fraction, in 1/65536, from the table: a search
 * over all candidates takes many, and it runs in interrupt context.
 */
static u64 root_of(const struct hdd_state *state, u64 fraction)
{
	u32 shift = (u32)__builtin_clzll(fraction | 1) - 32;
	u32 value, root, step;

	shift &= ~1u;
	value = (u32)fraction << shift;
	root = state->root[value >> 24];
	step = state->root[(value >> 24) + 1] - root;
	return (root + ((u64)step * (value & 0xffffff) >> 24)) >> (shift / 2);
}

struct hdd_place hdd_place_of(const struct simdisk_model *model, u64 sector)
{
	const struct hdd_zone *zone = zone_of(model, sector);
	u64 inside = sector - zone->first_sector;

	return (struct hdd_place) {
		.sector = sector,
		.track = zone->first_track + inside / zone->track_sectors,
		.angle = inside % zone->track_sectors * model->parameters.hdd.rotation_ns /
			 zone->track_sectors,
	};
}

u64 hdd_seek_ns(const struct simdisk_model *model, u64 from, u64 to)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	const struct hdd_state *state = model->state;
	u64 distance = from < to ? to - from : from - to;

	if (!distance)
		return 0;
	return hdd->seek_settle_ns +
	       (hdd->seek_stroke_ns * root_of(state, (distance << 32) / state->tracks) >> 16);
}

u64 hdd_read_limit(const struct simdisk_model *model)
{
	const struct hdd_state *state = model->state;
	u64 limit = state->consumed + model->parameters.hdd.read_ahead_sectors;

	limit = larger(limit, state->head_sector);
	return limit < model->capacity ? limit : model->capacity;
}

u64 hdd_head(const struct simdisk_model *model)
{
	const struct hdd_state *state = model->state;
	u64 limit, position;

	if (!state->head_reads || model->clock <= state->head_time)
		return state->head_sector;
	limit = hdd_read_limit(model);
	position = state->head_sector + (model->clock - state->head_time) *
		   zone_of(model, state->head_sector)->track_sectors /
		   model->parameters.hdd.rotation_ns;
	return position < limit ? position : limit;
}

bool hdd_streams_into(const struct simdisk_model *model, u64 sector)
{
	const struct hdd_state *state = model->state;
	u64 position;

	if (!state->head_reads || sector < state->segment[state->active].start)
		return false;
	position = hdd_head(model);
	return sector <= position &&
	       (position < hdd_read_limit(model) || position == state->head_sector);
}

u64 hdd_rotation_wait_ns(const struct simdisk_model *model, u64 time,
			 const struct hdd_place *place)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	const struct hdd_state *state = model->state;
	u64 angle = (time + state->angle) % hdd->rotation_ns;
	u64 wait = place->angle - angle;

	if (place->angle < angle)
		wait += hdd->rotation_ns;
	return hdd->rotation_ns - wait <= HDD_ANGLE_SLACK_NS ? 0 : wait;
}

u64 hdd_position_ns(const struct simdisk_model *model, u64 track,
		    const struct hdd_place *place, bool write)
{
	const struct hdd_state *state = model->state;
	u64 seek;

	if (place->sector == state->head_sector && model->clock == state->head_time &&
	    write != state->head_reads)
		return 0;
	if (!write && hdd_streams_into(model, place->sector))
		return 0;
	seek = hdd_seek_ns(model, track, place->track);
	if (write)
		seek += model->parameters.hdd.write_settle_ns;
	return seek + hdd_rotation_wait_ns(model, model->clock + seek, place);
}
