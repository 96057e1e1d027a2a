// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A hard disk: one arm, one spindle, a command queue ordered by position,
 * read-ahead while the arm is idle, and a volatile write cache whose destaging
 * competes with reads.
 *
 * A shingled disk writes in place if the write continues its last one, else to
 * a log at the outer edge. Not modelled: fragmented reads of logged data, and
 * that a band takes writes in place at its end only.
 */
#include "simdisk_hdd.h"

#define HDD_EVENT_ARM SIMDISK_EVENT_ENGINE	/* the arm finished its operation */
#define HDD_EVENT_IDLE (SIMDISK_EVENT_ENGINE + 1)	/* look for something to destage */
#define HDD_LOG_SHARE 64u	/* of the capacity, at most, that the log takes */

/* A candidate for the arm's next operation. */
struct hdd_choice {
	u32 index;		/* in queue or extent */
	u64 position_ns;
	s64 cost;
	bool urgent;
	bool destage;
	bool found;
};

void simdisk_hdd_defaults(struct simdisk_parameters *parameters)
{
	*parameters = (struct simdisk_parameters) {
		.kind = SIMDISK_HDD,
		.hw_queues = 1,
		.queue_depth = 32,
		/*
		 * libata's usual limit, and the entries of an AHCI command
		 * table.
		 */
		.max_sectors = 2560,
		.max_segments = 168,
		.physical_block_bytes = 4096,
		.rotational = true,
		.volatile_cache = true,
		/* libata does not use the drive's FUA unless told to. */
		.fua = false,
		.priority_command = true,
		.priority_age_ns = 1000000000,
		.hdd = {
			.rotation_ns = 8333333,
			.seek_settle_ns = 1000000,
			.seek_stroke_ns = 14000000,
			.write_settle_ns = 700000,
			.zones = 16,
			.outer_bytes_per_s = 200000000,
			.inner_bytes_per_s = 100000000,
			.link_bytes_per_s = 550000000,
			.overhead_ns = 20000,
			.read_ahead_sectors = 2048,
			.read_segments = 8,
			.cache_sectors = 65536,
			.cache_entries = 128,
			.destage_entries = 64,
			.destage_idle_ns = 5000000,
			.destage_age_ns = 2000000000,
			.destage_penalty_ns = 8333333,
			.ageing = 32,
		},
	};
}

static size_t hdd_bytes(const struct simdisk_parameters *parameters)
{
	return sizeof(struct hdd_state) +
	       (parameters->hdd.smr_band_sectors ? HDD_BANDS * sizeof(u32) : 0);
}

static u32 hdd_events(const struct simdisk_parameters *parameters)
{
	(void)parameters;
	return 2;
}

static const char *hdd_check(const struct simdisk_parameters *parameters, u64 capacity)
{
	const struct simdisk_hdd_parameters *hdd = &parameters->hdd;

	if (hdd->rotation_ns < 1000000)
		return "rotation_ns must be at least 1000000";
	if (hdd->zones < 1 || hdd->zones > HDD_MAX_ZONES || capacity < hdd->zones)
		return "zones must be 1 to 64";
	if (!hdd->link_bytes_per_s || hdd->outer_bytes_per_s < hdd->inner_bytes_per_s)
		return "outer_bytes_per_s must be at least inner_bytes_per_s, both above 0";
	if (!hdd_track_sectors(hdd, hdd->zones - 1))
		return "inner_bytes_per_s must be at least one sector per rotation";
	if (hdd->read_segments < 1 || hdd->read_segments > SIMDISK_HDD_SEGMENTS)
		return "read_segments must be 1 to 16";
	if (hdd->cache_entries > SIMDISK_HDD_DIRTY)
		return "cache_entries must be 0 to 256";
	if (!hdd->ageing)
		return "ageing must be at least 1";
	if (hdd->smr_band_sectors && (!hdd->smr_cache_sectors || !hdd->cache_entries))
		return "smr_cache and cache_entries must be at least 1 with smr_band";
	return NULL;
}

static void hdd_init(struct simdisk_model *model)
{
	struct hdd_state *state = model->state;

	hdd_lay_out(model);
	simdisk_line_init(&state->writers);
	simdisk_list_init(&state->flushes);
}

/* ---- choosing ---- */

static bool pressed(const struct simdisk_model *model)
{
	const struct hdd_state *state = model->state;

	return hdd_first_writer(model) != SIMDISK_NO_SLOT || state->flushes.head != SIMDISK_NO_SLOT;
}

/* How long a command or flush has been waiting for destaging. */
static u64 pressure_ns(const struct simdisk_model *model)
{
	const struct hdd_state *state = model->state;
	u32 writer = hdd_first_writer(model);
	u64 since = model->clock;

	if (writer != SIMDISK_NO_SLOT)
		since = model->slot[writer].submitted;
	if (state->flushes.head != SIMDISK_NO_SLOT &&
	    model->slot[state->flushes.head].submitted < since)
		since = model->slot[state->flushes.head].submitted;
	return model->clock - since;
}

/* Position decides among those with priority, and among the others. */
static bool better(const struct hdd_choice *best, bool urgent, s64 cost)
{
	if (!best->found || urgent != best->urgent)
		return !best->found || urgent;
	return cost < best->cost;
}

/* Without commands of high priority about, age counts by cost alone. */
static bool is_urgent(const struct simdisk_model *model, u32 slot)
{
	return model->outstanding_high &&
	       (model->slot[slot].request.priority || simdisk_aged(model, slot));
}

static void choose_command(const struct simdisk_model *model, struct hdd_choice *best)
{
	const struct hdd_state *state = model->state;
	u64 track = state->queued ? hdd_place_of(model, hdd_head(model)).track : 0;
	u32 i;

	for (i = 0; i < state->queued; i++) {
		const struct simdisk_slot *slot = &model->slot[state->queue[i].slot];
		bool write = slot->request.operation == SIMDISK_WRITE;
		bool urgent = is_urgent(model, state->queue[i].slot);
		u64 position = hdd_position_ns(model, track, &state->queue[i].place, write);
		/* Ageing keeps a far command from waiting for ever. */
		s64 cost = (s64)position - (s64)((model->clock - slot->submitted) /
						 model->parameters.hdd.ageing);

		if (better(best, urgent, cost))
			*best = (struct hdd_choice) { i, position, cost, urgent, false, true };
	}
}

/*
 * @any: some reason to destage any extent. A flush narrows that to those it
 *	waits for.
 */
static bool may_destage(const struct simdisk_model *model, const struct hdd_extent *extent,
			bool any)
{
	const struct hdd_state *state = model->state;

	if (!extent->used)
		return false;
	if (state->flushes.head != SIMDISK_NO_SLOT)
		return extent->sequence < model->slot[state->flushes.head].mark;
	return any || model->clock - extent->time >= model->parameters.hdd.destage_age_ns;
}

static bool is_shingled(const struct simdisk_model *model)
{
	return model->parameters.hdd.smr_band_sectors;
}

/*
 * On a shingled disk: whether a write continues the last one, so that it can go
 * in place.
 */
static bool continues(const struct simdisk_model *model, u64 sector)
{
	const struct hdd_state *state = model->state;

	return sector == state->log.last_end;
}

/* Where an extent is to be written. */
static struct hdd_place target_of(const struct simdisk_model *model,
				  const struct hdd_extent *extent)
{
	const struct hdd_state *state = model->state;

	if (!is_shingled(model) || continues(model, extent->place.sector))
		return extent->place;
	return hdd_place_of(model, state->log.head);
}

/*
 * An old extent gets cheaper, lest newer ones nearby keep it in the cache for
 * ever.
 */
static s64 extent_bonus(const struct simdisk_model *model, const struct hdd_extent *extent)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	u64 age = model->clock - extent->time;

	return age > hdd->destage_age_ns ? (s64)((age - hdd->destage_age_ns) / hdd->ageing) : 0;
}

static void choose_extent(const struct simdisk_model *model, struct hdd_choice *best, bool any)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	const struct hdd_state *state = model->state;
	u64 track = hdd_place_of(model, hdd_head(model)).track;
	s64 penalty = best->found ? (s64)hdd->destage_penalty_ns : 0;
	u32 i;

	penalty -= (s64)(pressure_ns(model) / hdd->ageing);
	for (i = 0; i < hdd->cache_entries; i++) {
		const struct hdd_extent *extent = &state->extent[i];
		struct hdd_place place;
		u64 position;
		s64 cost;

		if (!may_destage(model, extent, any))
			continue;
		place = target_of(model, extent);
		position = hdd_position_ns(model, track, &place, true);
		cost = (s64)position + penalty - extent_bonus(model, extent);
		if (!best->found || cost < best->cost)
			*best = (struct hdd_choice) { i, position, cost, false, true, true };
	}
}

/*
 * When the arm will have finished the command; the head leaves off what it was
 * reading.
 */
static u64 begin_command(struct simdisk_model *model, const struct simdisk_request *request,
			 u64 position)
{
	struct hdd_state *state = model->state;
	u64 end = request->sector + request->sectors;

	if (request->operation == SIMDISK_READ && hdd_streams_into(model, request->sector)) {
		/* Part of the data may have passed under the head already. */
		u64 rest = end > state->head_sector ? end - state->head_sector : 0;

		return state->head_time + hdd_media_ns(model, state->head_sector, rest);
	}
	hdd_stop_reading(model);
	if (request->operation == SIMDISK_READ)
		hdd_begin_segment(model, request->sector);
	return model->clock + position + hdd_media_ns(model, request->sector, request->sectors);
}

static void start_command(struct simdisk_model *model, const struct hdd_choice *choice)
{
	struct hdd_state *state = model->state;
	u32 slot = state->queue[choice->index].slot;
	u64 end = begin_command(model, &model->slot[slot].request, choice->position_ns);

	state->queue[choice->index] = state->queue[--state->queued];
	state->work = HDD_COMMAND;
	state->current = slot;
	simdisk_add_event(model, model->clock + simdisk_vary(model, beyond(end, model->clock)),
			  HDD_EVENT_ARM, 0);
}

/* Reads a band, and writes it anew with its logged data. */
static void start_clean(struct simdisk_model *model)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	struct hdd_state *state = model->state;
	struct hdd_log *log = &state->log;
	u64 sector, time;

	while (!log->band[log->next])
		log->next = (log->next + 1) % HDD_BANDS;
	log->cleaning = log->next;
	sector = (u64)log->cleaning * hdd->smr_band_sectors % model->capacity;
	/* There and back to the log, once. */
	time = 2 * hdd_seek_ns(model, hdd_place_of(model, hdd_head(model)).track,
			   hdd_place_of(model, sector).track);
	time += 2 * (hdd->rotation_ns + hdd_media_ns(model, sector, hdd->smr_band_sectors));
	hdd_stop_reading(model);
	state->work = HDD_CLEAN;
	simdisk_add_event(model, model->clock + simdisk_vary(model, time), HDD_EVENT_ARM, 0);
}

static bool log_is_full(const struct simdisk_model *model, u32 sectors)
{
	const struct hdd_state *state = model->state;

	return state->log.bands &&
	       state->log.sectors + sectors > model->parameters.hdd.smr_cache_sectors;
}

static void start_destage(struct simdisk_model *model, const struct hdd_choice *choice)
{
	struct hdd_state *state = model->state;
	struct hdd_extent *extent = &state->extent[choice->index];
	u64 time = choice->position_ns + hdd_media_ns(model, extent->place.sector, extent->sectors);

	state->log.writing = is_shingled(model) && !continues(model, extent->place.sector);
	if (state->log.writing && log_is_full(model, extent->sectors)) {
		start_clean(model);
		return;
	}
	hdd_stop_reading(model);
	extent->moving = true;
	state->work = HDD_DESTAGE;
	state->current = choice->index;
	simdisk_add_event(model, model->clock + simdisk_vary(model, time), HDD_EVENT_ARM, 0);
}

static void expect_idle(struct simdisk_model *model)
{
	struct hdd_state *state = model->state;
	u64 time = state->last_read + model->parameters.hdd.destage_idle_ns;

	if (state->idle_event)
		return;
	if (!state->extents)
		time = state->log.last_command + model->parameters.hdd.smr_idle_ns;
	state->idle_event = true;
	simdisk_add_event(model, larger(time, model->clock), HDD_EVENT_IDLE, 0);
}

/* A shingled disk with nothing else to do empties its log. */
static void clean_when_idle(struct simdisk_model *model)
{
	struct hdd_state *state = model->state;

	if (state->extents || !state->log.bands)
		return;
	if (model->clock < state->log.last_command + model->parameters.hdd.smr_idle_ns) {
		expect_idle(model);
		return;
	}
	start_clean(model);
	state->busy = true;
}

/* The arm is free: give it the cheapest thing to do. */
static void move_arm(struct simdisk_model *model)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	struct hdd_state *state = model->state;
	struct hdd_choice choice = { .found = false };

	if (state->busy)
		return;
	choose_command(model, &choice);
	/*
	 * Commands have their turn between the bands that a full log has to
	 * clean.
	 */
	if (state->extents && !(choice.found && state->work == HDD_CLEAN)) {
		bool idle = !state->queued &&
			    model->clock >= state->last_read + hdd->destage_idle_ns;
		bool any = idle || pressed(model) || state->extents > hdd->destage_entries ||
			   state->dirty_sectors > hdd->cache_sectors / 2;

		choose_extent(model, &choice, any);
		if (!choice.found)
			expect_idle(model);
	}
	if (!choice.found) {
		clean_when_idle(model);
		return;
	}
	if (choice.destage)
		start_destage(model, &choice);
	else
		start_command(model, &choice);
	state->busy = true;
}

/* ---- the engine ---- */

static void add_command(struct simdisk_model *model, u32 slot)
{
	struct hdd_state *state = model->state;

	state->queue[state->queued++] = (struct hdd_waiting) {
		.place = hdd_place_of(model, model->slot[slot].request.sector),
		.slot = slot,
	};
}

/* Data of a write are in the log. */
static void log_add(struct simdisk_model *model, u64 sector, u32 sectors)
{
	struct hdd_state *state = model->state;
	struct hdd_log *log = &state->log;
	u32 *band = &log->band[sector / model->parameters.hdd.smr_band_sectors % HDD_BANDS];

	log->head += sectors;
	if (log->head > model->capacity / HDD_LOG_SHARE)
		log->head = 0;
	log->sectors += sectors;
	log->bands += !*band;
	*band += sectors;
}

static void finish_clean(struct simdisk_model *model)
{
	struct hdd_state *state = model->state;
	struct hdd_log *log = &state->log;
	u64 sector = (u64)(log->cleaning + 1) * model->parameters.hdd.smr_band_sectors;

	log->sectors -= log->band[log->cleaning];
	log->band[log->cleaning] = 0;
	log->bands--;
	state->head_sector = sector < model->capacity ? sector : 0;
	state->head_reads = false;
}

static void hdd_submit(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	const struct simdisk_request *request = &model->slot[slot].request;
	struct hdd_state *state = model->state;

	state->log.last_command = model->clock;
	switch (request->operation) {
	case SIMDISK_READ:
		state->last_read = model->clock;
		if (hdd_is_cached(model, request)) {
			simdisk_complete_at(model, hdd_over_link(model, request->sectors), slot);
			return;
		}
		add_command(model, slot);
		break;
	case SIMDISK_WRITE:
		hdd_forget_segments(model, request->sector, request->sectors);
		if (request->fua || !hdd->cache_entries)
			add_command(model, slot);
		else if (hdd_first_writer(model) != SIMDISK_NO_SLOT ||
			 !hdd_cache_write(model, slot))
			simdisk_line_add(model, &state->writers, slot);
		break;
	case SIMDISK_FLUSH:
		model->slot[slot].mark = state->sequence;
		simdisk_list_add(model, &state->flushes, slot);
		hdd_finish_flushes(model);
		break;
	default:
		simdisk_complete_at(model, model->clock + hdd->overhead_ns, slot);
		return;
	}
	move_arm(model);
}

static void finish_command(struct simdisk_model *model)
{
	struct hdd_state *state = model->state;
	const struct simdisk_request *request = &model->slot[state->current].request;

	state->head_sector = request->sector + request->sectors;
	state->head_reads = request->operation == SIMDISK_READ;
	if (state->head_reads) {
		hdd_end_segment(model, state->head_sector);
		state->last_read = model->clock;
	}
	simdisk_complete_at(model, model->clock + model->parameters.hdd.overhead_ns,
			    state->current);
}

static void finish_destage(struct simdisk_model *model)
{
	struct hdd_state *state = model->state;
	struct hdd_extent *extent = &state->extent[state->current];

	state->log.last_end = extent->place.sector + extent->sectors;
	state->head_sector = state->log.last_end;
	if (state->log.writing) {
		log_add(model, extent->place.sector, extent->sectors);
		state->head_sector = state->log.head;
	}
	state->head_reads = false;
	state->dirty_sectors -= extent->sectors;
	state->extents--;
	extent->used = false;
	hdd_finish_flushes(model);
	hdd_admit_writers(model);
}

static void hdd_event(struct simdisk_model *model, u32 kind, u32 index)
{
	struct hdd_state *state = model->state;

	(void)index;
	if (kind == HDD_EVENT_ARM) {
		state->busy = false;
		state->head_time = model->clock;
		if (state->work == HDD_DESTAGE)
			finish_destage(model);
		else if (state->work == HDD_CLEAN)
			finish_clean(model);
		else
			finish_command(model);
	} else {
		state->idle_event = false;
	}
	move_arm(model);
}

static u64 hdd_cached_sectors(const struct simdisk_model *model)
{
	const struct hdd_state *state = model->state;

	return state->dirty_sectors;
}

const struct simdisk_engine simdisk_hdd_engine = {
	.bytes = hdd_bytes,
	.events = hdd_events,
	.check = hdd_check,
	.init = hdd_init,
	.submit = hdd_submit,
	.event = hdd_event,
	.cached_sectors = hdd_cached_sectors,
};
