// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A drive known by measurement: service times by their quantiles, a number of
 * commands served at once in order of arrival, two caps, and the cost of a flush.
 */
#include "simdisk_internal.h"

#define MEASURED_EVENT_START SIMDISK_EVENT_ENGINE	/* a command may begin */
#define MEASURED_EVENT_FREE (SIMDISK_EVENT_ENGINE + 1)	/* a server is free */
#define MEASURED_BURST_NS 10000000u

struct measured_state {
	u64 io_time;		/* when the buckets of the caps are full again */
	u64 byte_time;
	u64 start;		/* of the latest command that the caps let pass */
	u32 busy;		/* servers */
	struct simdisk_line waiting;	/* for one */
};

/* Figures of no drive: a file of fgio measure names all that matters. */
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

/* One for each command that waits for a cap, and one for each in service. */
static u32 measured_events(const struct simdisk_parameters *parameters)
{
	return 2 * parameters->hw_queues * parameters->queue_depth;
}

static const char *measured_check(const struct simdisk_parameters *parameters,
				  u64 capacity)
{
	const struct simdisk_measured_parameters *measured =
		&parameters->measured;
	const u32 *service;
	u32 row, i;

	(void)capacity;
	if (!measured->parallel)
		return "parallel must be at least 1";
	for (row = 0; row < 2 * SIMDISK_SIZES; row++) {
		service = measured->service_ns[row / SIMDISK_SIZES]
					      [row % SIMDISK_SIZES];
		for (i = 1; i < SIMDISK_QUANTILES; i++) {
			if (service[i] < service[i - 1])
				return "quantiles of a service time must not fall";
		}
	}
	return NULL;
}

static void measured_init(struct simdisk_model *model)
{
	struct measured_state *state = model->state;

	simdisk_line_init(&state->waiting);
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

static u64 service_ns(struct simdisk_model *model,
		      const struct simdisk_request *request)
{
	static const u32 sizes[SIMDISK_SIZES] = { 8, 64, 512 };
	const struct simdisk_measured_parameters *measured =
		&model->parameters.measured;
	const u32 (*table)[SIMDISK_QUANTILES] =
		measured->service_ns[request->operation == SIMDISK_WRITE];
	u32 share = (u32)(simdisk_random(model) >> 32);
	u32 i = request->sectors > sizes[1];
	u64 small = quantile(table[i], share);
	u64 large = quantile(table[i + 1], share);

	/* Shorter than the shortest takes no less time. */
	if (request->sectors <= sizes[0])
		return small;
	return line_at(sizes[i], small, sizes[i + 1], large, request->sectors);
}

/* ---- commands ---- */

static void serve(struct simdisk_model *model)
{
	struct measured_state *state = model->state;

	while (state->busy < model->parameters.measured.parallel) {
		u32 slot = simdisk_line_first(model, &state->waiting);
		u64 time;

		if (slot == SIMDISK_NO_SLOT)
			return;
		simdisk_line_take(model, &state->waiting, slot);
		state->busy++;
		time = model->clock +
		       simdisk_uneven(model, service_ns(model,
							&model->slot[slot].request));
		simdisk_complete_at(model, time, slot);
		simdisk_add_event(model, time, MEASURED_EVENT_FREE, slot);
	}
}

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
static u64 pace(struct simdisk_model *model,
		const struct simdisk_request *request)
{
	const struct simdisk_measured_parameters *measured =
		&model->parameters.measured;
	struct measured_state *state = model->state;
	u64 start = larger(model->clock, state->start);

	start = larger(start, beyond(state->io_time, MEASURED_BURST_NS));
	start = larger(start, beyond(state->byte_time, MEASURED_BURST_NS));
	take(model, &state->io_time, start, 1, measured->iops);
	take(model, &state->byte_time, start,
	     (u64)request->sectors * SIMDISK_SECTOR_BYTES,
	     measured->bytes_per_s);
	state->start = start;
	return start;
}

static void begin(struct simdisk_model *model, u32 slot)
{
	struct measured_state *state = model->state;

	simdisk_line_add(model, &state->waiting, slot);
	serve(model);
}

static void measured_submit(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_request *request = &model->slot[slot].request;
	u64 flush_ns = model->parameters.measured.flush_ns;
	u64 start;

	if (request->operation == SIMDISK_FLUSH) {
		simdisk_complete_at(model, model->clock +
				    simdisk_uneven(model, flush_ns), slot);
		return;
	}
	if (request->operation == SIMDISK_DISCARD) {
		simdisk_complete_at(model, model->clock, slot);
		return;
	}
	start = pace(model, request);
	if (start > model->clock)
		simdisk_add_event(model, start, MEASURED_EVENT_START, slot);
	else
		begin(model, slot);
}

static void measured_event(struct simdisk_model *model, u32 kind, u32 slot)
{
	struct measured_state *state = model->state;

	if (kind == MEASURED_EVENT_START) {
		begin(model, slot);
		return;
	}
	state->busy--;
	serve(model);
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
	.cached_sectors = measured_cached_sectors,
};
