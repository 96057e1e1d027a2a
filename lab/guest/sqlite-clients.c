// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Clients of one SQLite database in WAL mode, each a process, as the workers of a web server are.
 *
 *	sqlite-clients FILE load KEYS LOGGED
 *	sqlite-clients FILE run READS WRITES READERS KEYS SECONDS SEED
 *	sqlite-clients FILE batch KEYS ROWS PAUSE_MS SEED
 *	sqlite-clients FILE checkpoint
 *
 * load leaves about LOGGED pages in the log, which no checkpoint has copied. run makes READS and
 * WRITES a second, each due at a random moment: reads by READERS processes, writes by one, each a
 * durable transaction (synchronous=FULL). Each process notes its requests in requests.NUMBER
 * (ycsb.h). batch changes ROWS rows in one transaction again and again, until it is ended, and
 * checkpoint copies what is in the log until all of it is (PASSIVE). A process that finds a lock
 * taken tries again, by SQLite's own busy handler.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/guest/program.h"
#include "lab/guest/ycsb.h"

#define US_PER_S 1e6
#define US_PER_MS 1000
#define BUSY_MS 60000
#define PASSES_MAX 100
/* A page of 4 KiB has four rows of 1,000 bytes: one of them is changed. */
#define ROWS_PER_PAGE 4
#define PAGES_PER_TRANSACTION 500
#define SETUP "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0"
#define TABLE "CREATE TABLE rows (key INTEGER PRIMARY KEY, value BLOB)"
#define CHANGE "UPDATE rows SET value = ?2 WHERE key = ?1"
#define READ "SELECT value FROM rows WHERE key = ?1"

static sqlite3 *database;
static const char *file;

static void check(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(database));
	exit(1);
}

static void execute(const char *sql)
{
	check(sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK, sql);
}

static void open_database(const char *synchronous)
{
	int kept = 1;

	check(sqlite3_open(file, &database) == SQLITE_OK, file);
	sqlite3_busy_timeout(database, BUSY_MS);
	execute(SETUP);
	execute(synchronous);
	/* Closing the database, also as the last process, leaves the log as it is. */
	check(sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &kept) == SQLITE_OK,
	      "no checkpoint");
}

static sqlite3_stmt *statement(const char *sql)
{
	sqlite3_stmt *made;

	check(sqlite3_prepare_v2(database, sql, -1, &made, NULL) == SQLITE_OK, sql);
	return made;
}

static void change_row(sqlite3_stmt *change, int64_t key, const char *value)
{
	sqlite3_bind_int64(change, 1, key);
	sqlite3_bind_blob(change, 2, value, YCSB_VALUE_BYTES, SQLITE_STATIC);
	check(sqlite3_step(change) == SQLITE_DONE, CHANGE);
	sqlite3_reset(change);
}

static void read_row(sqlite3_stmt *read, int64_t key)
{
	sqlite3_bind_int64(read, 1, key);
	check(sqlite3_step(read) == SQLITE_ROW, READ);
	sqlite3_reset(read);
}

static void load(int64_t keys, int64_t logged)
{
	char value[YCSB_VALUE_BYTES];
	sqlite3_stmt *insert, *change;

	ycsb_fill(value, 1);
	open_database("PRAGMA synchronous=OFF");
	execute(TABLE);
	insert = statement("INSERT INTO rows VALUES (?1, ?2)");
	execute("BEGIN");
	for (int64_t key = 0; key < keys; key++)
		change_row(insert, key, value);
	execute("COMMIT");
	sqlite3_finalize(insert);
	execute("PRAGMA wal_checkpoint(TRUNCATE)");
	change = statement(CHANGE);
	ycsb_fill(value, 2);
	for (int64_t page = 0; page < logged; page++) {
		if (page % PAGES_PER_TRANSACTION == 0)
			execute("BEGIN");
		change_row(change, page * ROWS_PER_PAGE % keys, value);
		if (page % PAGES_PER_TRANSACTION == PAGES_PER_TRANSACTION - 1 || page == logged - 1)
			execute("COMMIT");
	}
	sqlite3_finalize(change);
	sqlite3_close(database);
}

/* Keeps the log's index: SQLite makes it anew where no other process has the database open. */
static void keep_open(int opened)
{
	sqlite3_stmt *read;

	open_database("PRAGMA synchronous=FULL");
	read = statement(READ);
	read_row(read, 0);
	if (write(opened, "", 1) != 1)
		stop("write");
	for (;;)
		pause();
}

static void serve(int number, const struct ycsb *from, double end_us)
{
	char name[32], value[YCSB_VALUE_BYTES];
	struct ycsb_request request;
	struct ycsb requests = *from;
	sqlite3_stmt *done;

	snprintf(name, sizeof(name), "requests.%d", number);
	if (!freopen(name, "w", stdout))
		stop(name);
	setvbuf(stdout, NULL, _IOLBF, 0);
	ycsb_fill(value, number + 3);
	open_database("PRAGMA synchronous=FULL");
	done = statement(requests.update_share ? CHANGE : READ);
	for (;;) {
		request = ycsb_next(&requests);
		/* All keys are as popular. */
		request.key = erand48(requests.random) * requests.keys;
		ycsb_begin(&request);
		if (request.due_us >= end_us)
			return;
		if (request.is_update)
			change_row(done, request.key, value);
		else
			read_row(done, request.key);
		ycsb_answered(&request);
	}
}

static pid_t start(void)
{
	pid_t child = fork();

	if (child < 0)
		stop("fork");
	return child;
}

static void run(char **argv)
{
	double reads = atof(argv[0]), writes = atof(argv[1]), end_us;
	int readers = atoi(argv[2]), status, failed = 0;
	uint64_t keys = strtoull(argv[3], NULL, 10);
	struct ycsb requests;
	long seed = atol(argv[5]);
	int opened[2];
	pid_t keeper;
	char byte;

	if (pipe(opened))
		stop("pipe");
	keeper = start();
	if (!keeper)
		keep_open(opened[1]);
	close(opened[1]);
	if (read(opened[0], &byte, 1) != 1)
		exit(1);
	end_us = ycsb_now_us() + atof(argv[4]) * US_PER_S;
	for (int i = 0; i <= readers; i++) {
		bool is_writer = i == readers;

		requests = ycsb_start(is_writer ? writes : reads / readers, is_writer, keys,
				      seed * (readers + 1) + i);
		if (!start()) {
			serve(i, &requests, end_us);
			_exit(0);
		}
	}
	for (int i = 0; i <= readers; i++) {
		if (wait(&status) < 0)
			stop("wait");
		failed |= status;
	}
	kill(keeper, SIGKILL);
	exit(failed != 0);
}

static void batch(char **argv)
{
	char value[YCSB_VALUE_BYTES];
	int64_t keys = atoll(argv[0]);
	struct ycsb requests = ycsb_start(0, 1, keys, atol(argv[3]));
	int rows = atoi(argv[1]);
	sqlite3_stmt *change;

	ycsb_fill(value, 1);
	open_database("PRAGMA synchronous=FULL");
	change = statement(CHANGE);
	for (;;) {
		usleep(atoi(argv[2]) * US_PER_MS);
		execute("BEGIN IMMEDIATE");
		for (int i = 0; i < rows; i++)
			change_row(change, erand48(requests.random) * keys, value);
		execute("COMMIT");
	}
}

/*
 * SQLite syncs the database after a pass during which nothing was committed: the last pass found
 * the log as the one before it had left it. Prints the pages that were in the log, and the passes.
 */
static void checkpoint(void)
{
	int before, logged = 0, copied, passes = 0;

	open_database("PRAGMA synchronous=FULL");
	do {
		before = logged;
		check(sqlite3_wal_checkpoint_v2(database, NULL, SQLITE_CHECKPOINT_PASSIVE, &logged,
						&copied) == SQLITE_OK,
		      "checkpoint");
		passes++;
	} while ((copied < logged || logged != before) && passes < PASSES_MAX);
	printf("%d %d\n", copied, passes);
	sqlite3_close(database);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";

	file = argv[1];
	if (!strcmp(what, "load") && argc == 5) {
		load(atoll(argv[3]), atoll(argv[4]));
	} else if (!strcmp(what, "run") && argc == 9) {
		run(argv + 3);
	} else if (!strcmp(what, "batch") && argc == 7) {
		batch(argv + 3);
	} else if (!strcmp(what, "checkpoint") && argc == 3) {
		checkpoint();
	} else {
		fprintf(stderr, "sqlite-clients FILE load|run|batch|checkpoint: see its source\n");
		return 2;
	}
	return 0;
}
