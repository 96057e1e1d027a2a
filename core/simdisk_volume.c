// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A cloud volume: two caps, a base latency with jitter, arrival order. */
#include "simdisk_internal.h"

struct volume_state {
	u64 io_time;	/* when the I/O bucket will be full again */
	u64 byte_time;	/* when the byte bucket will be full again */
	u64 start;	/* when the latest command started */
};

void simdisk_volume_defaults(struct simdisk_parameters *parameters)
{
	*parameters = (struct simdisk_parameters) {
		.kind = SIMDISK_VOLUME,
		.hw_queues = 1,
		.queue_depth = 128,
		/* What such volumes announce, and the size that still counts as one I/O. */
		.max_sectors = 512,
		.max_segments = 128,
		.physical_block_bytes = 4096,
		.volume = {
			.iops = 3000,
			.bytes_per_s = 125000000,
			.io_bytes = 256 * 1024,
			.burst_ns = 25000000,
			.latency_ns = 500000,
			.jitter_mean_ns = 100000,
			.jitter_max_ns = 1000000,
			.network_bytes_per_s = 1250000000,
		},
	};
}

static size_t volume_bytes(const struct simdisk_parameters *parameters)
{
	(void)parameters;
	return sizeof(struct volume_state);
}

static u32 volume_events(const struct simdisk_parameters *parameters)
{
	(void)parameters;
	return 0;
}

static const char *volume_check(const struct simdisk_parameters *parameters, u64 capacity)
{
	const struct simdisk_volume_parameters *volume = &parameters->volume;

	(void)capacity;
	if (!volume->iops || !volume->bytes_per_s || !volume->network_bytes_per_s)
		return "iops, bytes_per_s and network_bytes_per_s must be at least 1";
	if (!volume->io_bytes)
		return "io_bytes must be at least 1";
	return NULL;
}

static void volume_init(struct simdisk_model *model)
{
	(void)model;
}

/* -log2 of a uniform number in (0, 1], in units of 1/65536. */
static u64 exponential_log2(u64 random)
{
	u32 value = (u32)(random >> 32) | 1;
	u32 zeroes = (u32)__builtin_clz(value);
	u64 fraction = (u64)(value << zeroes << 1) >> 16;
	/* log2(1 + x) is x + 0.3431 x (1 - x) within 0.01. */
	u64 mantissa = fraction + (fraction * (65536 - fraction) / 65536 * 22485) / 65536;

	return (u64)(zeroes + 1) * 65536 - mantissa;
}

static u64 jitter_ns(struct simdisk_model *model)
{
	const struct simdisk_volume_parameters *volume = &model->parameters.volume;
	/* ln 2 is 45426/65536. */
	u64 jitter = exponential_log2(simdisk_random(model)) * 45426 / 65536 *
		     volume->jitter_mean_ns / 65536;

	return jitter < volume->jitter_max_ns ? jitter : volume->jitter_max_ns;
}

/* When the command may start; takes its tokens. */
static u64 pace(struct simdisk_model *model, const struct simdisk_request *request)
{
	const struct simdisk_volume_parameters *volume = &model->parameters.volume;
	struct volume_state *state = model->state;
	u64 bytes = (u64)request->sectors * SIMDISK_SECTOR_BYTES;
	u64 ios = (bytes + volume->io_bytes - 1) / volume->io_bytes;
	u64 start = larger(model->clock, state->start);

	start = larger(start, state->io_time > volume->burst_ns ?
			    state->io_time - volume->burst_ns : 0);
	start = larger(start, state->byte_time > volume->burst_ns ?
			    state->byte_time - volume->burst_ns : 0);
	/* Rounded up: never above the cap. */
	state->io_time = larger(state->io_time, start) +
			 simdisk_swung(model, (ios * SIMDISK_NS_PER_S + volume->iops - 1) /
				       volume->iops);
	state->byte_time = larger(state->byte_time, start) +
			   simdisk_swung(model, (bytes * SIMDISK_NS_PER_S +
						 volume->bytes_per_s - 1) / volume->bytes_per_s);
	state->start = start;
	return start;
}

static void volume_submit(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_volume_parameters *volume = &model->parameters.volume;
	const struct simdisk_request *request = &model->slot[slot].request;
	u64 time = model->clock;
	u64 latency = volume->latency_ns + jitter_ns(model);

	/* Writes are durable when complete: a flush, like a discard, is a message there and back. */
	if (request->operation == SIMDISK_READ || request->operation == SIMDISK_WRITE)
		time = pace(model, request) +
		       simdisk_transfer_ns(request->sectors, volume->network_bytes_per_s);
	simdisk_complete_at(model, time + simdisk_uneven(model, latency), slot);
}

static void volume_event(struct simdisk_model *model, u32 kind, u32 index)
{
	(void)model;
	(void)kind;
	(void)index;
}

static u64 volume_cached_sectors(const struct simdisk_model *model)
{
	(void)model;
	return 0;
}

const struct simdisk_engine simdisk_volume_engine = {
	.bytes = volume_bytes,
	.events = volume_events,
	.check = volume_check,
	.init = volume_init,
	.submit = volume_submit,
	.event = volume_event,
	.cached_sectors = volume_cached_sectors,
};
