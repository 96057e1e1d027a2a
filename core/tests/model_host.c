// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "model_host.h"

struct simdisk_parameters host_parsed(const char *spec)
{
	struct simdisk_parameters parameters;
	char error[SIMDISK_TEXT_BYTES];

	if (!simdisk_parse(&parameters, spec, error, sizeof(error))) {
		fprintf(stderr, "%s: %s\n", spec, error);
		abort();
	}
	return parameters;
}

void host_start(struct host *host, const struct simdisk_parameters *parameters, u64 capacity,
		u64 seed)
{
	const char *wrong = simdisk_check(parameters, capacity);

	if (wrong)
		fprintf(stderr, "%s\n", wrong);
	CHECK(!wrong);
	memset(host, 0, sizeof(*host));
	host->parameters = *parameters;
	host->capacity = capacity;
	host->random = seed;
	host->slots = parameters->hw_queues * parameters->queue_depth;
	host->memory = calloc(1, simdisk_bytes(parameters));
	host->request = calloc(host->slots, sizeof(*host->request));
	host->submitted = malloc(host->slots * sizeof(*host->submitted));
	CHECK(host->memory && host->request && host->submitted);
	for (u32 slot = 0; slot < host->slots; slot++)
		host->submitted[slot] = SIMDISK_NEVER;
	host->model = simdisk_create(host->memory, parameters, capacity, seed);
}

void host_stop(struct host *host)
{
	free(host->memory);
	free(host->request);
	free(host->submitted);
	free(host->latencies);
	free(host->times);
}

u64 host_random(struct host *host, u64 below)
{
	return next_random(&host->random) % below;
}

u32 host_submit(struct host *host, const struct simdisk_request *request)
{
	u32 first = request->hw_queue * host->parameters.queue_depth;
	u32 slot = first;

	while (host->submitted[slot] != SIMDISK_NEVER)
		CHECK(++slot < first + host->parameters.queue_depth);
	CHECK(simdisk_submit(host->model, host->now, slot, request));
	host->request[slot] = *request;
	host->submitted[slot] = host->now;
	host->submissions++;
	return slot;
}

u32 host_wait(struct host *host)
{
	struct simdisk_completion completion;

	for (;;) {
		u64 next = simdisk_next_event(host->model);

		if (!simdisk_outstanding(host->model))
			return SIMDISK_NO_SLOT;
		CHECK(next != SIMDISK_NEVER);
		if (next > host->now)
			host->now = next;
		if (simdisk_advance(host->model, host->now, &completion, 1))
			break;
	}
	CHECK(completion.slot < host->slots);
	CHECK(host->submitted[completion.slot] <= completion.time_ns);
	CHECK(completion.time_ns <= host->now);
	host->print = (host->print ^ completion.time_ns ^ (u64)completion.slot << 48) *
		      0x100000001b3ull;
	return completion.slot;
}

static void measure(struct host *host, u32 slot)
{
	u64 latency = host->now - host->submitted[slot];

	host->latencies[host->completions] = latency;
	host->times[host->completions] = host->now;
	host->completions++;
	host->sectors += host->request[slot].sectors;
	host->latency_sum += latency;
	if (latency > host->latency_max)
		host->latency_max = latency;
}

void host_run(struct host *host, host_pattern pattern, u32 depth, u64 count)
{
	u64 start = host->now;
	u32 slot;

	free(host->latencies);
	free(host->times);
	host->latencies = malloc(count * sizeof(u64));
	host->times = malloc(count * sizeof(u64));
	CHECK(host->latencies && host->times);
	host->completions = host->sectors = host->latency_sum = host->latency_max = 0;
	for (u32 i = 0; i < depth; i++) {
		struct simdisk_request request = pattern(host, host->submissions);

		host_submit(host, &request);
	}
	while (host->completions < count) {
		struct simdisk_request request;

		slot = host_wait(host);
		CHECK(slot != SIMDISK_NO_SLOT);
		measure(host, slot);
		host->submitted[slot] = SIMDISK_NEVER;
		request = pattern(host, host->submissions);
		/*
		 * The queue that has a free slot now, and the same one: a
		 * thread per queue.
		 */
		request.hw_queue = (u16)(slot / host->parameters.queue_depth);
		host_submit(host, &request);
	}
	host->elapsed = host->now - start;
	while ((slot = host_wait(host)) != SIMDISK_NO_SLOT)
		host->submitted[slot] = SIMDISK_NEVER;
}

double host_iops(const struct host *host)
{
	return (double)host->completions * 1e9 / (double)host->elapsed;
}

double host_bytes_per_s(const struct host *host)
{
	return (double)host->sectors * SIMDISK_SECTOR_BYTES * 1e9 / (double)host->elapsed;
}

double host_mean_ns(const struct host *host)
{
	return (double)host->latency_sum / (double)host->completions;
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

u64 host_percentile_ns(const struct host *host, double share)
{
	u64 *sorted = malloc(host->completions * sizeof(u64));
	u64 value;

	CHECK(sorted);
	memcpy(sorted, host->latencies, host->completions * sizeof(u64));
	qsort(sorted, host->completions, sizeof(u64), compare);
	value = sorted[(u64)((double)(host->completions - 1) * share)];
	free(sorted);
	return value;
}
