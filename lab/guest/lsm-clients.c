// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Readers and a writer of RocksDB, as db_bench's readwhilewriting has them, at a rate.
 *
 *	lsm-clients DIRECTORY SETTINGS READS WRITES READERS KEYS SECONDS SEED
 *		    LIMIT_BYTES_S LIMIT_TUNED LIMIT_REFILL_US
 *
 * SETTINGS are of RocksDB, beside those that db_bench filled the data with. READS and WRITES a
 * second, each due at a random moment; a write is synced. Prints a line for each that was answered
 * (ycsb.h), and at the end the engine's counters on stderr. The limit (0: none) is on the writes of
 * compaction and flushes.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/guest/lsm-limiter.h"
#include "lab/guest/program.h"
#include "lab/guest/ycsb.h"

#define THREADS_MAX 256
#define US_PER_S 1e6
/* As db_bench makes them. */
#define KEY_BYTES 16
#define BLOOM_BITS 10
#define BLOCK_CACHE_BYTES (8 << 20)

/* Requests of one kind, and the threads that make them. */
struct side {
	struct ycsb load;
	pthread_mutex_t lock;
	void (*make)(const char *key);
};

static rocksdb_t *database;
static rocksdb_readoptions_t *read_options;
static rocksdb_writeoptions_t *write_options;
static char value[YCSB_VALUE_BYTES];
static double end_us;

static void check(char *error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: %s\n", what, error);
	exit(1);
}

static void read_key(const char *key)
{
	char *error = NULL;

	rocksdb_pinnableslice_destroy(
		rocksdb_get_pinned(database, read_options, key, KEY_BYTES, &error));
	check(error, "get");
}

static void write_key(const char *key)
{
	char *error = NULL;

	rocksdb_put(database, write_options, key, KEY_BYTES, value, sizeof(value), &error);
	check(error, "put");
}

static rocksdb_ratelimiter_t *set_limit(rocksdb_options_t *options, char **limit)
{
	rocksdb_ratelimiter_t *limiter;

	if (!atoll(limit[0]))
		return NULL;
	limiter = make_limiter(atoll(limit[0]), atoll(limit[2]), atoi(limit[1]));
	rocksdb_options_set_ratelimiter(options, limiter);
	return limiter;
}

/* Compaction is the background burst: one that passed no limit was not limited. */
static void say_limit(const rocksdb_ratelimiter_t *limiter)
{
	if (!limiter)
		return;
	if (!limiter_passed(limiter)) {
		fputs("the limit did not take: no byte passed it\n", stderr);
		exit(1);
	}
	fprintf(stderr, "limit bytes_s %lld passed %lld\n", (long long)limiter_bytes_s(limiter),
		(long long)limiter_passed(limiter));
}

static rocksdb_options_t *make_options(const char *settings)
{
	rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
	rocksdb_options_t *options = rocksdb_options_create();
	rocksdb_options_t *all = rocksdb_options_create();
	char *error = NULL;

	rocksdb_block_based_options_set_filter_policy(
		table, rocksdb_filterpolicy_create_bloom(BLOOM_BITS));
	rocksdb_block_based_options_set_block_cache(table,
						    rocksdb_cache_create_lru(BLOCK_CACHE_BYTES));
	rocksdb_options_set_block_based_table_factory(options, table);
	rocksdb_options_set_compression(options, rocksdb_no_compression);
	rocksdb_options_enable_statistics(options);
	rocksdb_get_options_from_string(options, settings, all, &error);
	check(error, settings);
	return all;
}

static struct ycsb_request next_of(struct side *side)
{
	struct ycsb_request request;

	pthread_mutex_lock(&side->lock);
	request = ycsb_next(&side->load);
	/* All keys are as popular. */
	request.key = erand48(side->load.random) * side->load.keys;
	pthread_mutex_unlock(&side->lock);
	return request;
}

static void *serve(void *argument)
{
	struct side *side = argument;
	struct ycsb_request request;
	char key[KEY_BYTES];
	uint64_t number;

	memset(key, '0', sizeof(key));
	for (;;) {
		request = next_of(side);
		ycsb_begin(&request);
		if (request.due_us >= end_us)
			return NULL;
		number = htobe64(request.key);
		memcpy(key, &number, sizeof(number));
		side->make(key);
		ycsb_answered(&request);
	}
}

static void start(pthread_t *id, struct side *side)
{
	errno = pthread_create(id, NULL, serve, side);
	if (errno)
		stop("pthread_create");
}

static void run(struct side *reads, struct side *writes, int readers)
{
	pthread_t ids[THREADS_MAX + 1];
	int i;

	for (i = 0; i < readers && i < THREADS_MAX; i++)
		start(&ids[i], reads);
	start(&ids[i], writes);
	for (; i >= 0; i--)
		pthread_join(ids[i], NULL);
}

int main(int argc, char **argv)
{
	struct side reads = { .lock = PTHREAD_MUTEX_INITIALIZER, .make = read_key };
	struct side writes = { .lock = PTHREAD_MUTEX_INITIALIZER, .make = write_key };
	rocksdb_ratelimiter_t *limiter;
	rocksdb_options_t *options;
	char *error = NULL;
	uint64_t keys;
	long seed;

	if (argc != 12) {
		fprintf(stderr, "lsm-clients DIRECTORY SETTINGS ...: see its source\n");
		return 2;
	}
	options = make_options(argv[2]);
	limiter = set_limit(options, &argv[9]);
	read_options = rocksdb_readoptions_create();
	write_options = rocksdb_writeoptions_create();
	rocksdb_writeoptions_set_sync(write_options, 1);
	keys = strtoull(argv[6], NULL, 10);
	seed = atol(argv[8]);
	ycsb_fill(value, seed);
	database = rocksdb_open(options, argv[1], &error);
	check(error, argv[1]);
	reads.load = ycsb_start(atof(argv[3]), 0, keys, seed);
	writes.load = ycsb_start(atof(argv[4]), 1, keys, seed + 1);
	end_us = reads.load.arrived_us + atof(argv[7]) * US_PER_S;
	run(&reads, &writes, atoi(argv[5]));
	say_limit(limiter);
	fputs(rocksdb_options_statistics_get_string(options), stderr);
	return 0;
}
