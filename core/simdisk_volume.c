// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A cloud volume: two caps, a base latency with jitter, arrival order; perhaps
 * credits above the caps, quotas instead of buckets, and blocks that are slow
 * at first.
 */
#include "simdisk_internal.h"

#define VOLUME_COLD_BITS (1u << 17)	/* blocks that are told apart */
#define VOLUME_FETCHES 64u

/* A block on its way from slow storage. */
struct volume_fetch {
	u64 block;
	u64 ready;
};

struct volume_state {
	u64 io_time;	/* when the I/O bucket, or balance, will be full again */
	u64 byte_time;	/* when the byte bucket, or balance, will be full again */
	u64 burst_io_time;	/* the same of the caps that hold while credits last */
	u64 burst_byte_time;
	u64 start;	/* when the latest command started */
	bool started;
	u64 period;	/* of the quota, counted from time 0 */
	u64 period_ios;	/* used of it */
	u64 period_bytes;
	u64 fetch_free;	/* when the last fetch will have been transferred */
	u32 fetches;
	struct volume_fetch fetch[VOLUME_FETCHES];	/* the latest */
	u64 touched[];	/* a bit for each block; none without cold blocks */
};

void simdisk_volume_defaults(struct simdisk_parameters *parameters)
{
	*parameters = (struct simdisk_parameters) {
		.kind = SIMDISK_VOLUME,
		.hw_queues = 1,
		.queue_depth = 128,
		/*
		 * Such volumes announce this; larger I/Os count as several.
		 */
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
			/* Figures of options that are off. */
			.credits = 5400000,
			.byte_credits = 1ull << 40,
			.credits_left_ppm = SIMDISK_PPM,
			.cold_block_sectors = 1024,
			.cold_ns = 20000000,
			.cold_bytes_per_s = 100 << 20,
		},
	};
}

static size_t volume_bytes(const struct simdisk_parameters *parameters)
{
	return sizeof(struct volume_state) +
	       (parameters->volume.cold_ppm ? VOLUME_COLD_BITS / 8 : 0);
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
		return "io_size must be at least 1";
	if (volume->burst_iops && (volume->burst_iops < volume->iops || !volume->credits))
		return "burst_iops must be at least iops, and credits at least 1";
	if (volume->burst_bytes_per_s && (volume->burst_bytes_per_s < volume->bytes_per_s ||
					  !volume->byte_credits))
		return "burst_bytes_per_s must be at least bytes_per_s, and byte_credits at least 1";
	if (volume->quota_ns && (volume->burst_iops || volume->burst_bytes_per_s))
		return "quota is instead of buckets: it goes with no burst_iops or burst_bytes_per_s";
	if (volume->cold_ppm && (!volume->cold_block_sectors || !volume->cold_bytes_per_s))
		return "cold_block and cold_bytes_per_s must be at least 1";
	return NULL;
}

static void volume_init(struct simdisk_model *model)
{
	(void)model;
}

static u64 jitter_ns(struct simdisk_model *model)
{
	const struct simdisk_volume_parameters *volume = &model->parameters.volume;

	return smaller(simdisk_exponential(model, volume->jitter_mean_ns), volume->jitter_max_ns);
}

/* ---- caps ---- */

/* Time that @amount takes at @rate; rounded up: never above the cap. */
static u64 amount_ns(u64 amount, u64 rate)
{
	return (amount * SIMDISK_NS_PER_S + rate - 1) / rate;
}

/* The same for balances, which may be large, to the microsecond. */
static u64 balance_ns(u64 amount, u64 rate)
{
	return amount / rate * SIMDISK_NS_PER_S + amount % rate * 1000000 / rate * 1000;
}

/* Size of the plain caps' buckets, in time. */
static u64 io_tolerance(const struct simdisk_volume_parameters *volume)
{
	return volume->burst_iops ? balance_ns(volume->credits, volume->iops) : volume->burst_ns;
}

static u64 byte_tolerance(const struct simdisk_volume_parameters *volume)
{
	return volume->burst_bytes_per_s ?
	       balance_ns(volume->byte_credits, volume->bytes_per_s) : volume->burst_ns;
}

/* Balances start with credits_left. */
static void start_balances(struct simdisk_model *model)
{
	const struct simdisk_volume_parameters *volume = &model->parameters.volume;
	struct volume_state *state = model->state;
	u64 gone = SIMDISK_PPM - volume->credits_left_ppm;

	if (state->started)
		return;
	state->started = true;
	if (volume->burst_iops)
		state->io_time = model->clock + io_tolerance(volume) / SIMDISK_PPM * gone;
	if (volume->burst_bytes_per_s)
		state->byte_time = model->clock + byte_tolerance(volume) / SIMDISK_PPM * gone;
}

static void take(const struct simdisk_model *model, u64 *time, u64 start, u64 ns)
{
	*time = larger(*time, start) + simdisk_swung(model, start, ns);
}

static u64 throttle_by_buckets(struct simdisk_model *model, u64 start, u64 ios, u64 bytes)
{
	const struct simdisk_volume_parameters *volume = &model->parameters.volume;
	struct volume_state *state = model->state;

	start_balances(model);
	start = larger(start, beyond(state->io_time, io_tolerance(volume)));
	start = larger(start, beyond(state->byte_time, byte_tolerance(volume)));
	start = larger(start, beyond(state->burst_io_time, volume->burst_ns));
	start = larger(start, beyond(state->burst_byte_time, volume->burst_ns));
	take(model, &state->io_time, start, amount_ns(ios, volume->iops));
	take(model, &state->byte_time, start, amount_ns(bytes, volume->bytes_per_s));
	if (volume->burst_iops)
		take(model, &state->burst_io_time, start, amount_ns(ios, volume->burst_iops));
	if (volume->burst_bytes_per_s)
		take(model, &state->burst_byte_time, start,
		     amount_ns(bytes, volume->burst_bytes_per_s));
	return start;
}

/* A cap's quota in the period that @start is in. */
static u64 quota_of(const struct simdisk_model *model, u64 start, u64 rate)
{
	u64 period_ns = model->parameters.volume.quota_ns;
	u64 amount = rate * (period_ns / 1000) / 1000000;

	/* A slower period allows less: the swing stretches times. */
	return larger(amount * 1000 / simdisk_swung(model, start, 1000), 1);
}

static u64 throttle_by_quota(struct simdisk_model *model, u64 start, u64 ios, u64 bytes)
{
	const struct simdisk_volume_parameters *volume = &model->parameters.volume;
	struct volume_state *state = model->state;

	for (;;) {
		if (start / volume->quota_ns > state->period) {
			state->period = start / volume->quota_ns;
			state->period_ios = state->period_bytes = 0;
		}
		/* A command larger than a quota has one for itself. */
		if (!state->period_ios)
			break;
		if (state->period_ios + ios <= quota_of(model, start, volume->iops) &&
		    state->period_bytes + bytes <= quota_of(model, start, volume->bytes_per_s))
			break;
		start = (state->period + 1) * volume->quota_ns;
	}
	state->period_ios += ios;
	state->period_bytes += bytes;
	return start;
}

/* When the command may start; takes its tokens. */
static u64 throttle(struct simdisk_model *model, const struct simdisk_request *request)
{
	const struct simdisk_volume_parameters *volume = &model->parameters.volume;
	struct volume_state *state = model->state;
	u64 bytes = (u64)request->sectors * SIMDISK_SECTOR_BYTES;
	u64 ios = (bytes + volume->io_bytes - 1) / volume->io_bytes;
	u64 start = larger(model->clock, state->start);

	if (volume->quota_ns)
		state->start = throttle_by_quota(model, start, ios, bytes);
	else
		state->start = throttle_by_buckets(model, start, ios, bytes);
	return state->start;
}

/* ---- cold blocks ---- */

/*
 * Whether nothing has touched the block yet and it was cold; it is not again.
 */
static bool is_cold(struct simdisk_model *model, u64 block)
{
	struct volume_state *state = model->state;
	u64 *word = &state->touched[block % VOLUME_COLD_BITS / 64];
	u64 bit = 1ull << block % 64;
	u64 chance = simdisk_mix(model->salt + block) >> 32;

	if (*word & bit)
		return false;
	*word |= bit;
	return chance * SIMDISK_PPM >> 32 < model->parameters.volume.cold_ppm;
}

/* When the block will be there, if it is being fetched. */
static u64 fetched(const struct volume_state *state, u64 block)
{
	u32 i;

	for (i = 0; i < VOLUME_FETCHES; i++) {
		if (state->fetch[i].block == block)
			return state->fetch[i].ready;
	}
	return 0;
}

static u64 fetch(struct simdisk_model *model, u64 start, u64 block)
{
	const struct simdisk_volume_parameters *volume = &model->parameters.volume;
	struct volume_state *state = model->state;
	u64 latency = volume->cold_ns / 2 + simdisk_exponential(model, volume->cold_ns / 2);
	struct volume_fetch *entry = &state->fetch[state->fetches++ % VOLUME_FETCHES];

	state->fetch_free = larger(state->fetch_free, start) +
			    simdisk_transfer_ns(volume->cold_block_sectors,
						volume->cold_bytes_per_s);
	*entry = (struct volume_fetch) { block, state->fetch_free + latency };
	return entry->ready;
}

/* From when on all blocks of the command are on the volume. */
static u64 warm(struct simdisk_model *model, const struct simdisk_request *request, u64 start)
{
	u32 sectors = model->parameters.volume.cold_block_sectors;
	u64 block = request->sector / sectors;
	u64 last = (request->sector + request->sectors - 1) / sectors;
	u64 ready = start;

	for (; block <= last; block++) {
		if (is_cold(model, block))
			ready = larger(ready, fetch(model, start, block));
		else
			ready = larger(ready, fetched(model->state, block));
	}
	return ready;
}

/* ---- the engine ---- */

static void volume_submit(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_volume_parameters *volume = &model->parameters.volume;
	const struct simdisk_request *request = &model->slot[slot].request;
	u64 time = model->clock;
	u64 latency = volume->latency_ns + jitter_ns(model);

	/*
	 * Writes are durable when complete: a flush, like a discard, is a
	 * message there and back.
	 */
	if (request->operation == SIMDISK_READ || request->operation == SIMDISK_WRITE) {
		time = throttle(model, request);
		if (volume->cold_ppm)
			time = warm(model, request, time);
		time += simdisk_transfer_ns(request->sectors, volume->network_bytes_per_s);
	}
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
