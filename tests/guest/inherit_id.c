// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * How long a user's request waits for an I/O that is not its own, while I/O of
 * later requests keeps the drive busy:
 *
 *	inherit_id HOW with|without DISK FILE
 *
 * The request has the earliest id of all, or none, and waits for
 *
 *	lock	a thread of no request, which reads while it holds a mutex
 *	queued	the same, but the read was queued before the request waits
 *	worker	a thread of io_uring, which reads for it
 *	journal	the file system of FILE, which commits: the thread of its journal
 *		writes. The file system ends before the disk's second half.
 *
 * Prints the wait in ms. The module must blame it with the request.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "direct_blocks.h"
#include "lab/guest/ring.h"
#include "lib/include/fgio.h"

#define RIVALS 16
#define HALF (32LL << 20)
/* Of the ids, before the present. They are believed for a second. */
#define RIVAL_MS 300
#define EARLIER_MS 600
/* Until all rivals have I/O queued. */
#define FILL_US 300000
/* Longer than the walk sleeps. */
#define SETTLE_US 50000

static const char *path;
static bool with_id;
static int stop;

static uint64_t id_before(uint64_t ms)
{
	return fgio_request_new() - (ms << FGIO_REQUEST_MS_SHIFT);
}

/* ---- rivals ---- */

static bool rivals_write;

static void *keep_busy(void *argument)
{
	off_t offset = HALF + (off_t)(intptr_t)argument * APART * BLOCK;
	void *block = get_block();
	int file = open_disk();

	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		ssize_t done;

		fgio_request_begin(id_before(RIVAL_MS));
		done = rivals_write ? pwrite(file, block, BLOCK, offset) :
				      pread(file, block, BLOCK, offset);
		fgio_request_end();
		CHECK("rival", done == BLOCK);
	}
	return NULL;
}

/* ---- what the request waits for ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, waits;
static bool reads_first;

static void read_one(int file, void *block)
{
	CHECK("read", pread(file, block, BLOCK, 0) == BLOCK);
}

static void *hold(void *unused)
{
	void *block = get_block();
	int file = open_disk();

	pthread_mutex_lock(&mutex);
	sem_post(&held);
	if (!reads_first) {
		sem_wait(&waits);
		usleep(SETTLE_US);
	}
	read_one(file, block);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static pthread_t holder;

static void prepare_lock(void)
{
	CHECK("thread", !pthread_create(&holder, NULL, hold, NULL));
	sem_wait(&held);
	usleep(SETTLE_US);
}

static void wait_for_lock(void)
{
	sem_post(&waits);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

/* Once an interval, minimum service lets a read go: this one, so not the next. */
static void prepare_queued(void)
{
	read_one(open_disk(), get_block());
	reads_first = true;
	prepare_lock();
}

static struct ring *ring;
static int read_file;
static void *read_into;

static void prepare_worker(void)
{
	ring = ring_new(false);
	ring_leave_to_workers(ring);
	read_file = open_disk();
	read_into = get_block();
}

static void wait_for_worker(void)
{
	ring_submit(ring, IORING_OP_READ, read_file, read_into, BLOCK, 0);
	ring_wait(ring, 1);
}

static int synced;

/* Of the file, there is nothing to write but its inode, to the journal. */
static void prepare_journal(void)
{
	synced = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(path, synced >= 0);
	CHECK("sync", !fsync(synced));
	CHECK("mode", !fchmod(synced, 0640));
}

static void wait_for_journal(void)
{
	CHECK("sync", !fsync(synced));
}

static const struct {
	const char *name;
	void (*prepare)(void);
	void (*wait)(void);
} ways[] = {
	{ "lock", prepare_lock, wait_for_lock },
	{ "queued", prepare_queued, wait_for_lock },
	{ "worker", prepare_worker, wait_for_worker },
	{ "journal", prepare_journal, wait_for_journal },
};

/* ---- the request ---- */

#define ENTRIES 4096
/* So that it is late. */
#define DEADLINE_MS 50
#define PARTS 3

/* The longest wait of the calling thread that the module remembers. */
static struct fgio_blame_entry blamed(void)
{
	static struct fgio_blame_entry entries[ENTRIES];
	struct fgio_blame blame = { .entries = (uintptr_t)entries, .capacity = ENTRIES };
	struct fgio_blame_entry longest = { 0 };

	CHECK("blame", !ioctl(device, FGIO_IOC_BLAME, &blame));
	for (unsigned int i = 0; i < blame.count; i++)
		if (entries[i].tid == gettid() && entries[i].waited_ns > longest.waited_ns)
			longest = entries[i];
	return longest;
}

static void expect_blamed(const struct fgio_user_request *served)
{
	struct fgio_blame_entry entry = blamed();

	CHECK("it is blamed", entry.waited_ns);
	CHECK("id", entry.request == served->id);
	CHECK("deadline", entry.deadline_ms == served->deadline_ms);
	CHECK("parts", entry.parts == served->parts);
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double measure(unsigned int way)
{
	struct fgio_user_request served = { 0 };
	double begun_ms, waited_ms;
	pthread_t rivals[RIVALS];

	/* The first section of a process takes long. */
	fgio_request_begin(0);
	fgio_request_end();
	for (intptr_t i = 0; i < RIVALS; i++)
		CHECK("thread", !pthread_create(&rivals[i], NULL, keep_busy, (void *)i));
	usleep(FILL_US);
	ways[way].prepare();
	if (with_id)
		served = (struct fgio_user_request){
			.id = id_before(EARLIER_MS),
			.deadline_ms = DEADLINE_MS,
			.parts = PARTS,
		};
	fgio_request_begin_as(&served);
	begun_ms = now_ms();
	ways[way].wait();
	waited_ms = now_ms() - begun_ms;
	fgio_request_end();
	expect_blamed(&served);
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < RIVALS; i++)
		pthread_join(rivals[i], NULL);
	return waited_ms;
}

int main(int argc, char **argv)
{
	unsigned int way = 0;

	if (argc != 5)
		return 2;
	while (way < sizeof(ways) / sizeof(ways[0]) && strcmp(argv[1], ways[way].name))
		way++;
	if (way == sizeof(ways) / sizeof(ways[0]))
		return 2;
	with_id = !strcmp(argv[2], "with");
	disk = argv[3];
	path = argv[4];
	rivals_write = !strcmp(argv[1], "journal");
	device = open(FGIO_DEVICE_PATH, O_RDWR);
	CHECK("the module", device >= 0);
	sem_init(&held, 0, 0);
	sem_init(&waits, 0, 0);
	printf("%.0f\n", measure(way));
	return 0;
}
