/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* YCSB's requests, for clients of any database: which key, read or update, when. */
#ifndef YCSB_H
#define YCSB_H

#include <stdbool.h>
#include <stdint.h>

#define YCSB_VALUE_BYTES 1000

/*
 * A source of requests. One of these serves one thread at a time.
 *
 * rate: requests a second, which arrive at random moments however fast the
 *	server is; 0: each is due when a client is free to make it
 */
struct ycsb {
	double rate;
	double update_share;
	uint64_t keys;
	double arrived_us;
	unsigned short random[3];
};

/* due_us: of the wall clock; 0: when ycsb_begin() is called */
struct ycsb_request {
	double due_us;
	uint64_t key;
	bool is_update;
};

double ycsb_now_us(void);
struct ycsb ycsb_start(double rate, double update_share, uint64_t keys, long seed);

/* How popular a key is: 0 is the most popular one. */
uint64_t ycsb_rank(struct ycsb *load);
/* The key of a rank: popular ones are anywhere. */
uint64_t ycsb_scramble(uint64_t rank, uint64_t keys);

struct ycsb_request ycsb_next(struct ycsb *load);
/* Waits until the request is due. */
void ycsb_begin(struct ycsb_request *request);
/* Prints when it was answered and how long after it was due (in us), and 1 for an update. */
void ycsb_answered(const struct ycsb_request *request);

/* A value that does not compress well. */
void ycsb_fill(char *value, long seed);

#endif /* YCSB_H */
