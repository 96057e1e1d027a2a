// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Clients of a sharded table, through the front of its servers, each a thread.
 *
 *	spider-clients SOCKET RATE THREADS RECORDS MOST SECONDS SEED
 *
 * Scans of 1 to MOST of the RECORDS records, RATE a second at random moments, whether others are
 * done or not; one that finds all threads busy waits. Each has an id, as a predicate. Prints for
 * each that was answered when (s of the wall clock), how long after it was due, and the time
 * between the ends of its first and last part (ms).
 */
#define _GNU_SOURCE
#include <math.h>
#include <mysql.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fgio.h>

#define THREADS_MAX 256
#define SHARDS 4
#define DEADLINE_MS 100
#define NS_PER_S 1000000000
/* The shards work out counts and times of their own records, side by side. */
#define QUERY "SELECT COUNT(*), MAX(ended) FROM items WHERE k >= %ld AND k < %ld " \
	      "AND v <> '%s' GROUP BY k %% 4"

struct scan {
	double due_s;
	long low, records;
};

static const char *socket_name;
static double rate, arrived_s, end_s;
static long records, most;
static unsigned short drawn[3];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec + (double)now.tv_nsec / NS_PER_S;
}

static void sleep_until(double moment_s)
{
	struct timespec due = { .tv_sec = moment_s };

	due.tv_nsec = (moment_s - due.tv_sec) * NS_PER_S;
	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &due, NULL);
}

static void fail(MYSQL *front, const char *what)
{
	fprintf(stderr, "spider-clients: %s: %s\n", what, mysql_error(front));
	exit(1);
}

/* Intervals between arrivals that know nothing of each other. */
static struct scan next_scan(void)
{
	struct scan next;

	pthread_mutex_lock(&lock);
	arrived_s -= log(1 - erand48(drawn)) / rate;
	next.due_s = arrived_s;
	next.low = erand48(drawn) * (records - most);
	next.records = 1 + (long)(erand48(drawn) * most);
	pthread_mutex_unlock(&lock);
	return next;
}

static void compose(char *text, size_t room, const struct scan *scan)
{
	struct fgio_user_request request = {
		.id = fgio_request_new(),
		.deadline_ms = DEADLINE_MS,
		.parts = scan->records < SHARDS ? scan->records : SHARDS,
	};
	char id[FGIO_REQUEST_TEXT_BYTES];

	fgio_request_format(&request, id, sizeof(id));
	snprintf(text, room, QUERY, scan->low, scan->low + scan->records, id);
}

/* Returns the time in s between the ends of the parts; all records have to be there. */
static double read_parts(MYSQL *front, const struct scan *scan)
{
	double first_s = INFINITY, last_s = 0;
	MYSQL_RES *parts = mysql_store_result(front);
	MYSQL_ROW part;
	long had = 0;

	if (!parts)
		fail(front, "no answer");
	while ((part = mysql_fetch_row(parts))) {
		had += atol(part[0]);
		first_s = fmin(first_s, atof(part[1]));
		last_s = fmax(last_s, atof(part[1]));
	}
	mysql_free_result(parts);
	if (had != scan->records)
		fail(front, "an answer without all records");
	return last_s - first_s;
}

static MYSQL *connect_to_front(void)
{
	MYSQL *front = mysql_init(NULL);

	if (!mysql_real_connect(front, NULL, "root", NULL, "bench", 0, socket_name, 0))
		fail(front, "connecting");
	return front;
}

static void *serve(void *unused)
{
	MYSQL *front = connect_to_front();
	double answered_s, gap_s;
	struct scan scan;
	char text[512];

	(void)unused;
	for (;;) {
		scan = next_scan();
		if (scan.due_s >= end_s)
			return NULL;
		sleep_until(scan.due_s);
		compose(text, sizeof(text), &scan);
		if (mysql_query(front, text))
			fail(front, text);
		gap_s = read_parts(front, &scan);
		answered_s = now_s();
		printf("%.6f %.3f %.3f\n", answered_s, 1e3 * (answered_s - scan.due_s),
		       1e3 * gap_s);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	int count = argc == 8 ? atoi(argv[3]) : 0;

	if (count < 1 || count > THREADS_MAX) {
		fprintf(stderr, "spider-clients SOCKET RATE THREADS RECORDS MOST SECONDS SEED\n");
		return 2;
	}
	socket_name = argv[1];
	rate = atof(argv[2]);
	records = atol(argv[4]);
	most = atol(argv[5]);
	drawn[0] = 0x330e;
	drawn[1] = atol(argv[7]);
	mysql_library_init(0, NULL, NULL);
	arrived_s = now_s();
	end_s = arrived_s + atof(argv[6]);
	for (int i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, serve, NULL)) {
			fprintf(stderr, "spider-clients: no thread\n");
			return 1;
		}
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
