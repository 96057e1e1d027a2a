// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A hard disk: one arm, one spindle, a command queue ordered by position,
 * read-ahead while the arm is idle, and a volatile write cache whose destaging
 * competes with reads.
 *
 * Sectors lie on one spiral per zone, so a sequential stream runs at the zone's
 * sustained rate without a seek per track, as track skew makes it on a real
 * drive. The spindle's angle is the clock modulo one rotation.
 *
 * A shingled disk writes in place if the write continues its last one, else to
 * a log at the outer edge. Not modelled: fragmented reads of logged data, and
 * that a band takes writes in place at its end only.
 */
#include "simdisk_internal.h"

#define HDD_EVENT_ARM SIMDISK_EVENT_ENGINE	/* the arm finished its operation */
#define HDD_EVENT_IDLE (SIMDISK_EVENT_ENGINE + 1)	/* look for something to destage */
#define HDD_MAX_ZONES 64u
#define HDD_MAX_QUEUE 32u
#define HDD_ROOTS 256u
#define HDD_BANDS 32768u	/* that are told apart */
#define HDD_LOG_SHARE 64u	/* of the capacity, at most, that the log takes */
/* Rounding of angles to nanoseconds must not cost a rotation. */
#define HDD_ANGLE_SLACK_NS 64u

struct hdd_zone {
	u64 first_sector;
	u64 first_track;
	u64 track_sectors;
};

/*
 * Where a sector is, worked out once: choosing looks at every candidate each
 * time.
 */
struct hdd_place {
	u64 sector;
	u64 track;
	u64 angle;		/* in ns of rotation */
};

struct hdd_waiting {
	struct hdd_place place;
	u32 slot;
};

struct hdd_segment {
	u64 start;
	u64 end;
};

struct hdd_extent {
	struct hdd_place place;	/* of the first sector */
	u64 time;		/* when its oldest data came */
	u64 sequence;		/* of its oldest data */
	u32 sectors;
	bool used;
	bool moving;		/* being destaged: new data needs another extent */
};

/* A shingled disk's log, the persistent cache, and its content by bands. */
struct hdd_log {
	u64 head;		/* where it goes on */
	u64 sectors;		/* in it... */
	u32 bands;		/* ...and the number of bands they are of */
	u32 next;		/* the band to look at for cleaning */
	u32 cleaning;		/* the band under way */
	u64 last_command;
	u64 last_end;		/* of the latest write's addresses, wherever it went */
	bool writing;		/* the write under way goes to the log */
	u32 band[];		/* sectors of each in the log; none of an ordinary disk */
};

/* The arm's current operation. */
enum hdd_work {
	HDD_COMMAND,
	HDD_DESTAGE,
	HDD_CLEAN,
};

struct hdd_state {
	struct hdd_zone zone[HDD_MAX_ZONES];
	u32 root[HDD_ROOTS + 1];	/* of n / HDD_ROOTS, in 1/65536; the first quarter unused */
	u64 zone_sectors;
	u64 tracks;
	u64 angle;		/* of the spindle at time 0, in ns of rotation */

	bool busy;
	enum hdd_work work;
	u32 current;		/* slot of a command, number of an extent */
	u64 head_sector;	/* where the last operation ended... */
	u64 head_time;		/* ...and when */
	bool head_reads;	/* it was a read: the head reads on */
	u64 consumed;		/* how far the host has read the active segment */
	bool active_lost;	/* a write overlapped the active segment while the arm reads */
	u64 last_read;
	bool idle_event;

	struct hdd_segment segment[SIMDISK_HDD_SEGMENTS];
	u32 active;		/* the segment the head reads into */

	struct hdd_waiting queue[HDD_MAX_QUEUE];	/* commands for the media */
	u32 queued;

	struct hdd_extent extent[SIMDISK_HDD_DIRTY];
	u32 extents;
	u32 dirty_sectors;
	u64 sequence;
	struct simdisk_line writers;	/* waiting for room in the cache */
	struct simdisk_list flushes;
	u64 link_free;
	struct hdd_log log;	/* last: its end depends on the drive */
};

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

static u64 track_sectors(const struct simdisk_hdd_parameters *hdd, u32 zone)
{
	u64 rate = hdd->outer_bytes_per_s;

	if (hdd->zones > 1)
		rate -= (hdd->outer_bytes_per_s - hdd->inner_bytes_per_s) * zone / (hdd->zones - 1);
	return rate * hdd->rotation_ns / SIMDISK_NS_PER_S / SIMDISK_SECTOR_BYTES;
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
	if (!track_sectors(hdd, hdd->zones - 1))
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

static void hdd_init(struct simdisk_model *model)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	struct hdd_state *state = model->state;
	u64 tracks = 0;
	u32 i;

	state->zone_sectors = (model->capacity + hdd->zones - 1) / hdd->zones;
	for (i = 0; i < hdd->zones; i++) {
		state->zone[i].first_sector = i * state->zone_sectors;
		state->zone[i].first_track = tracks;
		state->zone[i].track_sectors = track_sectors(hdd, i);
		tracks += state->zone_sectors / state->zone[i].track_sectors + 1;
	}
	state->tracks = tracks;
	for (i = 0; i <= HDD_ROOTS; i++)
		state->root[i] = square_root((u64)i << 24);
	state->angle = simdisk_random(model) % hdd->rotation_ns;
	simdisk_line_init(&state->writers);
	simdisk_list_init(&state->flushes);
}

/* ---- mechanics ---- */

static const struct hdd_zone *zone_of(const struct simdisk_model *model, u64 sector)
{
	const struct hdd_state *state = model->state;
	u64 zone = sector / state->zone_sectors;
	u32 last = model->parameters.hdd.zones - 1;

	return &state->zone[zone < last ? zone : last];
}

static u64 media_ns(const struct simdisk_model *model, u64 sector, u64 sectors)
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

static struct hdd_place place_of(const struct simdisk_model *model, u64 sector)
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

static u64 seek_ns(const struct simdisk_model *model, u64 from, u64 to)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	const struct hdd_state *state = model->state;
	u64 distance = from < to ? to - from : from - to;

	if (!distance)
		return 0;
	return hdd->seek_settle_ns +
	       (hdd->seek_stroke_ns * root_of(state, (distance << 32) / state->tracks) >> 16);
}

/*
 * A reading head follows the spiral until it is read_ahead_sectors ahead of the
 * host.
 */
static u64 read_limit(const struct simdisk_model *model)
{
	const struct hdd_state *state = model->state;
	u64 limit = state->consumed + model->parameters.hdd.read_ahead_sectors;

	limit = larger(limit, state->head_sector);
	return limit < model->capacity ? limit : model->capacity;
}

/* Where the head of an idle arm is now. */
static u64 head_position(const struct simdisk_model *model)
{
	const struct hdd_state *state = model->state;
	u64 limit, position;

	if (!state->head_reads || model->clock <= state->head_time)
		return state->head_sector;
	limit = read_limit(model);
	position = state->head_sector + (model->clock - state->head_time) *
		   zone_of(model, state->head_sector)->track_sectors /
		   model->parameters.hdd.rotation_ns;
	return position < limit ? position : limit;
}

/*
 * The reading head has not stopped, and is about to pass @sector or has just
 * read it.
 */
static bool streams_into(const struct simdisk_model *model, u64 sector)
{
	const struct hdd_state *state = model->state;
	u64 position;

	if (!state->head_reads || sector < state->segment[state->active].start)
		return false;
	position = head_position(model);
	return sector <= position &&
	       (position < read_limit(model) || position == state->head_sector);
}

/* How long after @time the spindle's angle is right for @place. */
static u64 rotation_wait_ns(const struct simdisk_model *model, u64 time,
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

/* From now, with the head on @track, until it can start on @place. */
static u64 position_ns(const struct simdisk_model *model, u64 track,
		       const struct hdd_place *place, bool write)
{
	const struct hdd_state *state = model->state;
	u64 seek;

	if (place->sector == state->head_sector && model->clock == state->head_time &&
	    write != state->head_reads)
		return 0;
	if (!write && streams_into(model, place->sector))
		return 0;
	seek = seek_ns(model, track, place->track);
	if (write)
		seek += model->parameters.hdd.write_settle_ns;
	return seek + rotation_wait_ns(model, model->clock + seek, place);
}

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
	u64 position = head_position(model);

	if (position == read_limit(model)) {
		/*
		 * It had stopped, and has to wait for the place where it did.
		 */
		struct hdd_place place = place_of(model, position);

		state->head_sector = position;
		state->head_time = model->clock + rotation_wait_ns(model, model->clock, &place);
		state->segment[state->active].end = position;
	}
	state->consumed = larger(state->consumed, end);
}

static bool cached(struct simdisk_model *model, const struct simdisk_request *request)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	struct hdd_state *state = model->state;
	u64 end = request->sector + request->sectors;
	u32 i;

	for (i = 0; i < hdd->read_segments; i++) {
		bool grows = i == state->active && reads_ahead(state);
		u64 known = grows ? head_position(model) : state->segment[i].end;

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

/* The arm leaves the place where it was reading ahead. */
static void stop_reading(struct simdisk_model *model)
{
	struct hdd_state *state = model->state;

	if (!state->head_reads)
		return;
	state->head_sector = head_position(model);
	state->segment[state->active].end = state->head_sector;
	state->head_reads = false;
}

static void segments_forget(struct simdisk_model *model, u64 sector, u64 sectors)
{
	struct hdd_state *state = model->state;
	u32 i;

	for (i = 0; i < model->parameters.hdd.read_segments; i++) {
		struct hdd_segment *segment = &state->segment[i];
		bool active = i == state->active;
		u64 end = active && reads_ahead(state) ? head_position(model) : segment->end;

		if (sector >= end || sector + sectors <= segment->start)
			continue;
		if (active && reads_ahead(state))
			stop_reading(model);
		else if (active)
			state->active_lost = true;
		*segment = (struct hdd_segment) { 0, 0 };
	}
}

/* The arm starts to read and does not continue the active segment. */
static void segment_begin(struct simdisk_model *model, u64 sector)
{
	struct hdd_state *state = model->state;

	state->active = (state->active + 1) % model->parameters.hdd.read_segments;
	state->segment[state->active] = (struct hdd_segment) { sector, sector };
}

static void segment_end(struct simdisk_model *model, u64 sector)
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

/* ---- choosing ---- */

static u32 first_writer(const struct simdisk_model *model)
{
	const struct hdd_state *state = model->state;

	return simdisk_line_first(model, &state->writers);
}

static bool pressed(const struct simdisk_model *model)
{
	const struct hdd_state *state = model->state;

	return first_writer(model) != SIMDISK_NO_SLOT || state->flushes.head != SIMDISK_NO_SLOT;
}

/* How long a command or flush has been waiting for destaging. */
static u64 pressure_ns(const struct simdisk_model *model)
{
	const struct hdd_state *state = model->state;
	u32 writer = first_writer(model);
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
	u64 track = state->queued ? place_of(model, head_position(model)).track : 0;
	u32 i;

	for (i = 0; i < state->queued; i++) {
		const struct simdisk_slot *slot = &model->slot[state->queue[i].slot];
		bool write = slot->request.operation == SIMDISK_WRITE;
		bool urgent = is_urgent(model, state->queue[i].slot);
		u64 position = position_ns(model, track, &state->queue[i].place, write);
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

/*
 * An old extent gets cheaper, lest newer ones nearby keep it in the cache for
 * ever.
 */
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
	return place_of(model, state->log.head);
}

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
	u64 track = place_of(model, head_position(model)).track;
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
		position = position_ns(model, track, &place, true);
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

	if (request->operation == SIMDISK_READ && streams_into(model, request->sector)) {
		/* Part of the data may have passed under the head already. */
		u64 rest = end > state->head_sector ? end - state->head_sector : 0;

		return state->head_time + media_ns(model, state->head_sector, rest);
	}
	stop_reading(model);
	if (request->operation == SIMDISK_READ)
		segment_begin(model, request->sector);
	return model->clock + position + media_ns(model, request->sector, request->sectors);
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
	time = 2 * seek_ns(model, place_of(model, head_position(model)).track,
			   place_of(model, sector).track);
	time += 2 * (hdd->rotation_ns + media_ns(model, sector, hdd->smr_band_sectors));
	stop_reading(model);
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
	u64 time = choice->position_ns + media_ns(model, extent->place.sector, extent->sectors);

	state->log.writing = is_shingled(model) && !continues(model, extent->place.sector);
	if (state->log.writing && log_is_full(model, extent->sectors)) {
		start_clean(model);
		return;
	}
	stop_reading(model);
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

/* ---- write cache ---- */

static u64 over_link(struct simdisk_model *model, u32 sectors)
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
			.place = place_of(model, request->sector),
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

static bool cache_write(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_hdd_parameters *hdd = &model->parameters.hdd;
	const struct simdisk_request *request = &model->slot[slot].request;
	struct hdd_state *state = model->state;

	if (state->extents && state->dirty_sectors + request->sectors > hdd->cache_sectors)
		return false;
	if (!join_extent(model, request) && !add_extent(model, request))
		return false;
	simdisk_complete_at(model, over_link(model, request->sectors), slot);
	return true;
}

static void admit_writers(struct simdisk_model *model)
{
	struct hdd_state *state = model->state;

	for (;;) {
		u32 slot = first_writer(model);

		if (slot == SIMDISK_NO_SLOT || !cache_write(model, slot))
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

static void finish_flushes(struct simdisk_model *model)
{
	struct hdd_state *state = model->state;

	while (state->flushes.head != SIMDISK_NO_SLOT &&
	       !flush_waits(model, state->flushes.head)) {
		u32 slot = simdisk_list_take(model, &state->flushes);

		simdisk_complete_at(model, model->clock + model->parameters.hdd.overhead_ns, slot);
	}
}

/* ---- the engine ---- */

static void add_command(struct simdisk_model *model, u32 slot)
{
	struct hdd_state *state = model->state;

	state->queue[state->queued++] = (struct hdd_waiting) {
		.place = place_of(model, model->slot[slot].request.sector),
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
		if (cached(model, request)) {
			simdisk_complete_at(model, over_link(model, request->sectors), slot);
			return;
		}
		add_command(model, slot);
		break;
	case SIMDISK_WRITE:
		segments_forget(model, request->sector, request->sectors);
		if (request->fua || !hdd->cache_entries)
			add_command(model, slot);
		else if (first_writer(model) != SIMDISK_NO_SLOT || !cache_write(model, slot))
			simdisk_line_add(model, &state->writers, slot);
		break;
	case SIMDISK_FLUSH:
		model->slot[slot].mark = state->sequence;
		simdisk_list_add(model, &state->flushes, slot);
		finish_flushes(model);
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
		segment_end(model, state->head_sector);
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
	finish_flushes(model);
	admit_writers(model);
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
