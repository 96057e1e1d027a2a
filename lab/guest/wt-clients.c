// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * YCSB's clients of WiredTiger, each a thread.
 *
 *	wt-clients DIRECTORY load KEYS
 *	wt-clients DIRECTORY run SETTINGS RATE THREADS UPDATE_SHARE KEYS SECONDS SEED
 *
 * SETTINGS are of wiredtiger_open(). An update commits and then waits for a sync of the log that
 * began later, as in MongoDB with journaling: conflicts between updates do not last as long as the
 * disk takes. Prints a line for each request that was answered (ycsb.h).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wiredtiger.h>

#include "lab/guest/program.h"
#include "lab/guest/ycsb.h"

#define TABLE "file:ycsb.wt"
/* Pages are as much smaller than usual as the data: an update makes little else dirty. */
#define TABLE_SETTINGS "key_format=q,value_format=u,leaf_page_max=8KB"
#define LOAD_SETTINGS "create,cache_size=500M,log=(enabled)"
#define THREADS_MAX 256
#define US_PER_S 1e6

static WT_CONNECTION *database;
static struct ycsb load;
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sync_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sync_ended = PTHREAD_COND_INITIALIZER;
static unsigned long syncs_begun, syncs_ended;
static double end_us;

static void check(int status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "%s: %s\n", what, wiredtiger_strerror(status));
	exit(1);
}

static WT_SESSION *open_session(void)
{
	WT_SESSION *session;

	check(database->open_session(database, NULL, NULL, &session), "open_session");
	return session;
}

static WT_CURSOR *open_cursor(WT_SESSION *session, const char *settings)
{
	WT_CURSOR *cursor;

	check(session->open_cursor(session, TABLE, NULL, settings, &cursor), TABLE);
	return cursor;
}

static void load_keys(long keys)
{
	WT_SESSION *session = open_session();
	char text[YCSB_VALUE_BYTES];
	WT_ITEM value = { .data = text, .size = sizeof(text) };
	WT_CURSOR *cursor;

	check(session->create(session, TABLE, TABLE_SETTINGS), "create");
	cursor = open_cursor(session, "bulk");
	for (long key = 0; key < keys; key++) {
		ycsb_fill(text, key);
		cursor->set_key(cursor, (int64_t)key);
		cursor->set_value(cursor, &value);
		check(cursor->insert(cursor), "insert");
	}
	check(cursor->close(cursor), "close");
	check(database->close(database, NULL), "close");
}

static void read_key(WT_CURSOR *cursor, uint64_t key)
{
	WT_ITEM value;

	cursor->set_key(cursor, (int64_t)key);
	check(cursor->search(cursor), "search");
	check(cursor->get_value(cursor, &value), "get_value");
	check(cursor->reset(cursor), "reset");
}

/* Waits for a sync of the log that begins after now. The first thread to find none begins it. */
static void sync_log(WT_SESSION *session)
{
	unsigned long wanted;

	pthread_mutex_lock(&sync_lock);
	wanted = syncs_begun + 1;
	while (syncs_ended < wanted) {
		if (syncs_ended < syncs_begun) {
			pthread_cond_wait(&sync_ended, &sync_lock);
			continue;
		}
		syncs_begun++;
		pthread_mutex_unlock(&sync_lock);
		check(session->log_flush(session, "sync=on"), "log_flush");
		pthread_mutex_lock(&sync_lock);
		syncs_ended++;
		pthread_cond_broadcast(&sync_ended);
	}
	pthread_mutex_unlock(&sync_lock);
}

static void update_key(WT_SESSION *session, WT_CURSOR *cursor, uint64_t key,
		       const WT_ITEM *value)
{
	int status;

	do {
		cursor->set_key(cursor, (int64_t)key);
		cursor->set_value(cursor, value);
		status = cursor->update(cursor);
	} while (status == WT_ROLLBACK);
	check(status, "update");
	check(cursor->reset(cursor), "reset");
	sync_log(session);
}

static struct ycsb_request next_request(void)
{
	struct ycsb_request request;

	pthread_mutex_lock(&load_lock);
	request = ycsb_next(&load);
	pthread_mutex_unlock(&load_lock);
	return request;
}

static void *serve(void *seed)
{
	WT_SESSION *session = open_session();
	WT_CURSOR *cursor = open_cursor(session, NULL);
	char text[YCSB_VALUE_BYTES];
	WT_ITEM value = { .data = text, .size = sizeof(text) };
	struct ycsb_request request;

	ycsb_fill(text, (long)seed);
	for (;;) {
		request = next_request();
		ycsb_begin(&request);
		if (request.due_us >= end_us)
			return NULL;
		if (request.is_update)
			update_key(session, cursor, request.key, &value);
		else
			read_key(cursor, request.key);
		ycsb_answered(&request);
	}
}

static void run(int threads, long seed)
{
	pthread_t ids[THREADS_MAX];

	for (int i = 0; i < threads && i < THREADS_MAX; i++) {
		errno = pthread_create(&ids[i], NULL, serve, (void *)(seed + i));
		if (errno)
			stop("pthread_create");
	}
	for (int i = 0; i < threads && i < THREADS_MAX; i++)
		pthread_join(ids[i], NULL);
}

int main(int argc, char **argv)
{
	bool is_load = argc == 4 && !strcmp(argv[2], "load");

	if (!is_load && !(argc == 10 && !strcmp(argv[2], "run"))) {
		fprintf(stderr, "wt-clients DIRECTORY load|run ...: see its source\n");
		return 2;
	}
	check(wiredtiger_open(argv[1], NULL, is_load ? LOAD_SETTINGS : argv[3], &database),
	      argv[1]);
	if (is_load) {
		load_keys(atol(argv[3]));
		return 0;
	}
	load = ycsb_start(atof(argv[4]), atof(argv[6]), atol(argv[7]), atol(argv[9]));
	end_us = load.arrived_us + atof(argv[8]) * US_PER_S;
	run(atoi(argv[5]), atol(argv[9]));
	return 0;
}
