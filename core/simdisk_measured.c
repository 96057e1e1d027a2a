// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A drive known by measurement: service times by their quantiles, a number of
 * commands served at once in order of arrival, how much more several of them
 * deliver than one, caps, streams, and the cost of a flush.
 *
 * Commands in service share the drive: n of them progress at scaling(n) / n of
 * the speed that one has alone. Such a station completes in a closed load what
 * the measured drive completed at that depth, whatever its service times and
 * whatever is inside it (Chandy, Herzog and Woo, "Parametric analysis of
 * queuing networks", 1975).
 */
#include "simdisk_internal.h"

#define MEASURED_EVENT_SHARE SIMDISK_EVENT_ENGINE	/* its direction's caps let it pass */
#define MEASURED_EVENT_START (SIMDISK_EVENT_ENGINE + 1)	/* and the shared ones */
#define MEASURED_BURST_NS 10000000u
#define MEASURED_STREAMS 16u
#define MEASURED_STREAM_LEAST 1000000u	/* so that work counts in 64 bits */
/*
 * Progress is counted in ns of work times this, modulo 2^64: compare by
 * difference.
 */
#define FULL_SPEED (1ull << 20)
#define WORK_MOST_NS (1ull << 42)

struct measured_caps {
	u64 io_time;		/* when the buckets are full again */
	u64 byte_time;
	u64 start;		/* of the latest command that they let pass */
};

/* One direction: reads, or writes. */
struct measured_side {
	struct measured_caps caps;
	u64 progress;		/* of each command in service, since the beginning */
	u64 stream_end[MEASURED_STREAMS];	/* the sector after a latest command */
	u32 oldest_stream;
	u32 first;		/* in service, by what progress completes it */
};

struct measured_state {
	struct measured_side side[2];
	struct measured_caps shared;
	u64 since;		/* when progress was counted last */
	u32 busy;		/* commands in service */
	struct simdisk_line waiting;	/* for service */
};

/* Of no real drive: a file of fgio measure sets all figures that matter. */
void simdisk_measured_defaults(struct simdisk_parameters *parameters)
{
	static const u32 us[SIMDISK_QUANTILES] = {
		500, 600, 700, 800, 1000, 1300, 1600, 2500, 5000, 10000,
	};
	u32 *service = &parameters->measured.service_ns[0][0][0];
	u32 i;

	*parameters = (struct simdisk_parameters) {
		.kind = SIMDISK_MEASURED,
		.hw_queues = 1,
		.queue_depth = 256,
		.max_sectors = 2560,
		.max_segments = 128,
		.physical_block_bytes = 4096,
		.measured = { .parallel = 1, },
	};
	for (i = 0; i < 2 * SIMDISK_SIZES * SIMDISK_QUANTILES; i++)
		service[i] = us[i % SIMDISK_QUANTILES] * 1000;
}

static size_t measured_bytes(const struct simdisk_parameters *parameters)
{
	(void)parameters;
	return sizeof(struct measured_state);
}

/* One for each command that waits for a cap. */
static u32 measured_events(const struct simdisk_parameters *parameters)
{
	return parameters->hw_queues * parameters->queue_depth;
}

static bool falls(const u32 *quantiles)
{
	u32 i;

	for (i = 1; i < SIMDISK_QUANTILES; i++) {
		if (quantiles[i] < quantiles[i - 1])
			return true;
	}
	return false;
}

static const char *measured_check(const struct simdisk_parameters *parameters,
				  u64 capacity)
{
	const struct simdisk_measured_parameters *measured =
		&parameters->measured;
	u32 row;

	(void)capacity;
	if (!measured->parallel)
		return "parallel must be at least 1";
	for (row = 0; row < 2 * SIMDISK_SIZES; row++) {
		if (falls(measured->service_ns[row / SIMDISK_SIZES]
					      [row % SIMDISK_SIZES]))
			return "quantiles of a service time must not fall";
	}
	if (falls(measured->flush_quantile_ns))
		return "quantiles of a flush must not fall";
	for (row = 0; row < 2; row++) {
		if (measured->stream_bytes_per_s[row] &&
		    measured->stream_bytes_per_s[row] < MEASURED_STREAM_LEAST)
			return "read_stream and write_stream must be 0 or at least 1M";
	}
	return NULL;
}

static void measured_init(struct simdisk_model *model)
{
	struct measured_state *state = model->state;
	u32 side, i;

	simdisk_line_init(&state->waiting);
	for (side = 0; side < 2; side++) {
		state->side[side].first = SIMDISK_NO_SLOT;
		for (i = 0; i < MEASURED_STREAMS; i++)
			state->side[side].stream_end[i] = SIMDISK_NEVER;
	}
}

static u32 side_of(const struct simdisk_model *model, u32 slot)
{
	return model->slot[slot].request.operation == SIMDISK_WRITE;
}

/* ---- service times ---- */

/* The quantile at @share, in 2^-32, between those of the table. */
static u64 quantile(const u32 *service, u32 share)
{
	/* 0, 10, 25, 50, 75, 90, 95, 99, 99.9 and 100 %, in 2^-32. */
	static const u64 shares[SIMDISK_QUANTILES] = {
		0, 429496730, 1073741824, 2147483648, 3221225472, 3865470566,
		4080218931, 4252017623, 4290672329, 4294967296,
	};
	u32 i = 1;

	while (share >= shares[i])
		i++;
	return service[i - 1] + (u64)(service[i] - service[i - 1]) *
	       (share - shares[i - 1]) / (shares[i] - shares[i - 1]);
}

/* From @x0 to @x1 goes from @y0 to @y1; @x may lie outside. */
static u64 line_at(u64 x0, u64 y0, u64 x1, u64 y1, u64 x)
{
	s64 y = (s64)y0 + ((s64)y1 - (s64)y0) * ((s64)x - (s64)x0) /
		(s64)(x1 - x0);

	return y > 0 ? (u64)y : 0;
}

static u64 drawn_ns(struct simdisk_model *model, u32 side, u32 sectors)
{
	static const u32 sizes[SIMDISK_SIZES] = { 8, 64, 512 };
	const u32 (*table)[SIMDISK_QUANTILES] =
		model->parameters.measured.service_ns[side];
	u32 share = (u32)(simdisk_random(model) >> 32);
	u32 i = sectors > sizes[1];
	u64 small = quantile(table[i], share);
	u64 large = quantile(table[i + 1], share);

	/* Shorter than the shortest takes no less time. */
	if (sectors <= sizes[0])
		return small;
	return line_at(sizes[i], small, sizes[i + 1], large, sectors);
}

/* Whether a command goes on where one of the latest ended. */
static bool continues(struct measured_side *side,
		      const struct simdisk_request *request)
{
	u64 end = request->sector + request->sectors;
	u32 i;

	for (i = 0; i < MEASURED_STREAMS; i++) {
		if (side->stream_end[i] == request->sector) {
			side->stream_end[i] = end;
			return true;
		}
	}
	side->stream_end[side->oldest_stream] = end;
	side->oldest_stream = (side->oldest_stream + 1) % MEASURED_STREAMS;
	return false;
}

static u64 service_ns(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_request *request = &model->slot[slot].request;
	struct measured_state *state = model->state;
	u32 side = side_of(model, slot);
	u64 rate = model->parameters.measured.stream_bytes_per_s[side];

	if (rate && continues(&state->side[side], request))
		return simdisk_transfer_ns(request->sectors, rate);
	return drawn_ns(model, side, request->sectors);
}

static u64 flush_ns(struct simdisk_model *model)
{
	const struct simdisk_measured_parameters *measured =
		&model->parameters.measured;

	if (!measured->flush_quantile_ns[SIMDISK_QUANTILES - 1])
		return measured->flush_ns;
	return quantile(measured->flush_quantile_ns,
			(u32)(simdisk_random(model) >> 32));
}

/* ---- service ---- */

/* What @busy commands deliver at once, in millionths of what one does. */
static u64 scaling_at(const u32 *scaling, u32 busy)
{
	u64 before = SIMDISK_PPM, depth = 1;
	u32 i;

	if (!scaling[0])
		return (u64)busy * SIMDISK_PPM;
	for (i = 0; i < SIMDISK_DEPTHS; i++, depth *= 2) {
		if (busy <= 2 * depth)
			return line_at(depth, before, 2 * depth, scaling[i],
				       busy);
		before = scaling[i];
	}
	return before;
}

static u64 speed_of(const struct simdisk_model *model, u32 side)
{
	const struct measured_state *state = model->state;
	const u32 *scaling = model->parameters.measured.scaling_ppm[side];

	return larger(scaling_at(scaling, state->busy) * FULL_SPEED /
		      SIMDISK_PPM / state->busy, 1);
}

/* To be called before the number of commands in service changes. */
static void count_progress(struct simdisk_model *model)
{
	struct measured_state *state = model->state;
	u64 passed = model->clock - state->since;
	u32 i;

	state->since = model->clock;
	for (i = 0; i < 2; i++) {
		if (state->side[i].first != SIMDISK_NO_SLOT)
			state->side[i].progress += passed * speed_of(model, i);
	}
}

static bool is_done(const struct simdisk_model *model,
		    const struct measured_side *side)
{
	return side->first != SIMDISK_NO_SLOT &&
	       (s64)(model->slot[side->first].mark - side->progress) <= 0;
}

/* Commands that progress completes at one time stay in order of arrival. */
static void put_in_service(struct simdisk_model *model,
			   struct measured_side *side, u32 slot, u64 work)
{
	u64 mark = side->progress + smaller(work, WORK_MOST_NS) * FULL_SPEED;
	u32 *link = &side->first;

	while (*link != SIMDISK_NO_SLOT &&
	       (s64)(model->slot[*link].mark - mark) <= 0)
		link = &model->slot[*link].next;
	model->slot[slot].mark = mark;
	model->slot[slot].next = *link;
	*link = slot;
}

static void serve(struct simdisk_model *model)
{
	struct measured_state *state = model->state;

	while (state->busy < model->parameters.measured.parallel) {
		u32 slot = simdisk_line_first(model, &state->waiting);

		if (slot == SIMDISK_NO_SLOT)
			return;
		simdisk_line_take(model, &state->waiting, slot);
		put_in_service(model, &state->side[side_of(model, slot)], slot,
			       simdisk_uneven(model, service_ns(model, slot)));
		state->busy++;
	}
}

static u64 measured_next(const struct simdisk_model *model)
{
	const struct measured_state *state = model->state;
	u64 next = SIMDISK_NEVER;
	u32 i;

	for (i = 0; i < 2; i++) {
		const struct measured_side *side = &state->side[i];
		u64 speed, left;

		if (is_done(model, side))
			return state->since;
		if (side->first == SIMDISK_NO_SLOT)
			continue;
		speed = speed_of(model, i);
		left = model->slot[side->first].mark - side->progress;
		next = smaller(next, state->since + (left + speed - 1) / speed);
	}
	return next;
}

static void measured_tick(struct simdisk_model *model)
{
	struct measured_state *state = model->state;
	u32 i;

	count_progress(model);
	for (i = 0; i < 2; i++) {
		struct measured_side *side = &state->side[i];

		while (is_done(model, side)) {
			u32 slot = side->first;

			side->first = model->slot[slot].next;
			state->busy--;
			simdisk_complete_at(model, model->clock, slot);
		}
	}
	serve(model);
}

/* ---- commands ---- */

static void take(const struct simdisk_model *model, u64 *time, u64 start,
		 u64 amount, u64 rate)
{
	if (!rate)
		return;
	*time = larger(*time, start) +
		simdisk_swung(model, start,
			      (amount * SIMDISK_NS_PER_S + rate - 1) / rate);
}

/* When the caps let the command pass. */
static u64 throttle(const struct simdisk_model *model, struct measured_caps *caps,
		u32 slot, u32 iops, u64 bytes_per_s)
{
	u64 start = larger(model->clock, caps->start);

	start = larger(start, beyond(caps->io_time, MEASURED_BURST_NS));
	start = larger(start, beyond(caps->byte_time, MEASURED_BURST_NS));
	take(model, &caps->io_time, start, 1, iops);
	take(model, &caps->byte_time, start,
	     (u64)model->slot[slot].request.sectors * SIMDISK_SECTOR_BYTES,
	     bytes_per_s);
	caps->start = start;
	return start;
}

static void begin(struct simdisk_model *model, u32 slot)
{
	struct measured_state *state = model->state;

	count_progress(model);
	simdisk_line_add(model, &state->waiting, slot);
	serve(model);
}

static void share(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_measured_parameters *measured =
		&model->parameters.measured;
	struct measured_state *state = model->state;
	u64 start = throttle(model, &state->shared, slot, measured->iops,
			     measured->bytes_per_s);

	if (start > model->clock)
		simdisk_add_event(model, start, MEASURED_EVENT_START, slot);
	else
		begin(model, slot);
}

static void measured_submit(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_request *request = &model->slot[slot].request;
	const struct simdisk_measured_parameters *measured =
		&model->parameters.measured;
	struct measured_state *state = model->state;
	u32 side = side_of(model, slot);
	u64 start;

	if (request->operation == SIMDISK_FLUSH) {
		simdisk_complete_at(model, model->clock +
				    simdisk_uneven(model, flush_ns(model)),
				    slot);
		return;
	}
	if (request->operation == SIMDISK_DISCARD) {
		simdisk_complete_at(model, model->clock, slot);
		return;
	}
	/*
	 * Its own caps first: a read waits for no write that only they hold up.
	 */
	start = throttle(model, &state->side[side].caps, slot,
			 measured->side_iops[side],
			 measured->side_bytes_per_s[side]);
	if (start > model->clock)
		simdisk_add_event(model, start, MEASURED_EVENT_SHARE, slot);
	else
		share(model, slot);
}

static void measured_event(struct simdisk_model *model, u32 kind, u32 slot)
{
	if (kind == MEASURED_EVENT_SHARE)
		share(model, slot);
	else
		begin(model, slot);
}

static u64 measured_cached_sectors(const struct simdisk_model *model)
{
	(void)model;
	return 0;
}

const struct simdisk_engine simdisk_measured_engine = {
	.bytes = measured_bytes,
	.events = measured_events,
	.check = measured_check,
	.init = measured_init,
	.submit = measured_submit,
	.event = measured_event,
	.next = measured_next,
	.tick = measured_tick,
	.cached_sectors = measured_cached_sectors,
};
