// SPDX-License-Identifier: Apache-2.0 OR MIT
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lab/guest/ycsb.h"

#define US_PER_S 1e6
#define NS_PER_US 1e3
/*
 * YCSB draws the popularity of one of 10^10 items for any number of keys,
 * and takes the hash of its rank for the key. ZETA is the sum of 1/i^THETA over
 * all items.
 */
#define ITEMS 1e10
#define THETA 0.99
#define ZETA 26.46902820178302
#define FNV_OFFSET 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

double ycsb_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * US_PER_S + now.tv_nsec / NS_PER_US;
}

struct ycsb ycsb_start(double rate, double update_share, uint64_t keys, long seed)
{
	return (struct ycsb){
		.rate = rate,
		.update_share = update_share,
		.keys = keys,
		.arrived_us = ycsb_now_us(),
		.random = { 0x330e, seed, seed >> 16 },
	};
}

/*
 * Gray et al., "Quickly generating billion-record synthetic databases", 1994: exact for the two
 * most popular items, and a power law that has the right sum for the others.
 */
uint64_t ycsb_rank(struct ycsb *load)
{
	double zeta_of_two = 1 + pow(0.5, THETA);
	double eta = (1 - pow(2 / ITEMS, 1 - THETA)) / (1 - zeta_of_two / ZETA);
	double drawn = erand48(load->random);

	if (drawn * ZETA < 1)
		return 0;
	if (drawn * ZETA < zeta_of_two)
		return 1;
	return ITEMS * pow(eta * drawn - eta + 1, 1 / (1 - THETA));
}

uint64_t ycsb_scramble(uint64_t rank, uint64_t keys)
{
	uint64_t hash = FNV_OFFSET;

	for (int byte = 0; byte < 8; byte++) {
		hash ^= rank & 0xff;
		hash *= FNV_PRIME;
		rank >>= 8;
	}
	return hash % keys;
}

/* Intervals between arrivals that know nothing of each other. */
static double interval_us(struct ycsb *load)
{
	return -log(1 - erand48(load->random)) * US_PER_S / load->rate;
}

struct ycsb_request ycsb_next(struct ycsb *load)
{
	struct ycsb_request request = {
		.key = ycsb_scramble(ycsb_rank(load), load->keys),
		.is_update = erand48(load->random) < load->update_share,
	};

	if (load->rate) {
		load->arrived_us += interval_us(load);
		request.due_us = load->arrived_us;
	}
	return request;
}

void ycsb_begin(struct ycsb_request *request)
{
	double now_us = ycsb_now_us();
	struct timespec due;

	if (!request->due_us)
		request->due_us = now_us;
	if (request->due_us <= now_us)
		return;
	due.tv_sec = request->due_us / US_PER_S;
	due.tv_nsec = (request->due_us - due.tv_sec * US_PER_S) * NS_PER_US;
	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &due, NULL);
}

void ycsb_answered(const struct ycsb_request *request)
{
	double now_us = ycsb_now_us();

	printf("%.0f %.0f %d\n", now_us, now_us - request->due_us, request->is_update);
}

void ycsb_fill(char *value, long seed)
{
	struct ycsb load = ycsb_start(0, 0, 1, seed);

	for (int i = 0; i < YCSB_VALUE_BYTES; i++)
		value[i] = 'a' + (char)(erand48(load.random) * 26);
}
