// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * I/O of threads that serve users' requests, by their ids:
 *
 *	by_id order DISK	two groups of threads read a block each, those of the
 *				later requests first, from the latest to the earliest.
 *				Prints "FIRST OF": pairs of one I/O of each group of
 *				which that of the earlier request completed first, and
 *				all such pairs. Exit status 3 where too many completed
 *				before all were queued.
 *	by_id churn DISK S	threads write and read back for S seconds with ids of all
 *				kinds: true ones, none, the least and the greatest number,
 *				and some from beyond the wrap. Prints how many I/Os that
 *				were.
 *	by_id many DISK		10,000 I/Os with an id each, as many outstanding at once
 *				as there are. Prints "ENDED".
 */
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "direct_blocks.h"
#include "lib/include/fgio.h"

#define GROUP 16
#define CHURNERS 12
#define CHURNED 64 /* blocks of each */
#define SUBMITTERS 20
#define OUTSTANDING 500 /* of each */
/* Of those of the later requests, before all others are queued. */
#define EARLY_BIRDS 6

static uint64_t base;

/* An id this number of ms after the program's begin. */
static uint64_t id_at(int64_t ms)
{
	return base + ((uint64_t)ms << FGIO_REQUEST_MS_SHIFT);
}

static int ready;

/* The first section of a thread takes long, and of the first thread longer. */
static void get_ready(void)
{
	fgio_request_begin(0);
	fgio_request_end();
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
}

static void wait_for_ready(int threads)
{
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < threads)
		usleep(10000);
}

/* ---- order ---- */

struct reader {
	pthread_t thread;
	sem_t may_read;
	uint64_t id;
	int number;
	int goes;
	int place; /* in the order of completion, from 1 */
};

static struct reader readers[2 * GROUP];
static int completed;

static void *read_block(void *argument)
{
	struct reader *reader = argument;
	void *block = get_block();
	int file = open_disk();

	get_ready();
	sem_wait(&reader->may_read);
	fgio_request_begin(reader->id);
	__atomic_store_n(&reader->goes, 1, __ATOMIC_SEQ_CST);
	CHECK("read", pread(file, block, BLOCK, (off_t)reader->number * APART * BLOCK) == BLOCK);
	fgio_request_end();
	reader->place = __atomic_add_fetch(&completed, 1, __ATOMIC_SEQ_CST);
	free(block);
	close(file);
	return NULL;
}

static bool is_early(const struct reader *reader)
{
	return reader->number >= GROUP;
}

static void order(void)
{
	int birds, first = 0, pairs = 0;

	for (int i = 0; i < 2 * GROUP; i++) {
		readers[i].number = i;
		sem_init(&readers[i].may_read, 0, 0);
		CHECK("thread", !pthread_create(&readers[i].thread, NULL, read_block, &readers[i]));
	}
	wait_for_ready(2 * GROUP);
	/* Ids are believed for a second. */
	base = fgio_request_new();
	for (int i = 0; i < 2 * GROUP; i++) {
		readers[i].id = id_at(300 - i - (is_early(&readers[i]) ? 200 : 0));
		sem_post(&readers[i].may_read);
		while (!__atomic_load_n(&readers[i].goes, __ATOMIC_SEQ_CST))
			usleep(500);
		usleep(1000);
	}
	birds = __atomic_load_n(&completed, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2 * GROUP; i++)
		pthread_join(readers[i].thread, NULL);
	for (int i = 0; i < GROUP; i++) {
		for (int j = GROUP; j < 2 * GROUP; j++) {
			/* The drive had it before the other was there. */
			if (readers[i].place <= EARLY_BIRDS)
				continue;
			pairs++;
			first += readers[j].place < readers[i].place;
		}
	}
	if (birds > EARLY_BIRDS)
		exit(3);
	printf("%d %d\n", first, pairs);
}

/* ---- churn ---- */

static int churn_s;
static time_t churn_until;
static int churned;

static uint64_t draw(unsigned int *seed, int number)
{
	switch (rand_r(seed) % 8) {
	case 0:
		return 0;
	case 1:
		return ~0ULL;
	case 2:
		return 1;
	case 3: /* half of the range away: earlier and later at once */
		return base + (1ULL << 63);
	case 4:
		return id_at(rand_r(seed) % 4000 - 2000);
	default:
		/* One of them lies all the time. */
		return number ? fgio_request_new() : id_at(-500000);
	}
}

static void fill(uint64_t *block, uint64_t what)
{
	for (unsigned int i = 0; i < BLOCK / sizeof(*block); i++)
		block[i] = what + i;
}

static void *churn_blocks(void *argument)
{
	int number = (int)(intptr_t)argument, file = open_disk();
	unsigned int seed = (unsigned int)time(NULL) * 31 + (unsigned int)number;
	uint64_t written[CHURNED] = { 0 };
	uint64_t *block = get_block(), *other = get_block();

	get_ready();
	while (!__atomic_load_n(&churn_until, __ATOMIC_SEQ_CST))
		usleep(10000);
	while (time(NULL) < churn_until) {
		unsigned int at = (unsigned int)rand_r(&seed) % CHURNED;
		off_t offset = ((off_t)number * CHURNED + at) * APART * BLOCK;

		fgio_request_begin_as(&(struct fgio_user_request){
			.id = draw(&seed, number),
			.deadline_ms = (uint32_t)rand_r(&seed) % 3 * 0x7fffffff,
			.parts = (uint32_t)rand_r(&seed) % 2 * 0xffffffff,
		});
		if (rand_r(&seed) % 2 || !written[at]) {
			written[at] = 1 + (uint64_t)rand_r(&seed);
			fill(block, written[at]);
			CHECK("write", pwrite(file, block, BLOCK, offset) == BLOCK);
		} else {
			fill(other, written[at]);
			CHECK("read", pread(file, block, BLOCK, offset) == BLOCK);
			CHECK("as written", !memcmp(block, other, BLOCK));
		}
		fgio_request_end();
		__atomic_add_fetch(&churned, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void churn(void)
{
	pthread_t thread[CHURNERS];

	for (intptr_t i = 0; i < CHURNERS; i++)
		CHECK("thread", !pthread_create(&thread[i], NULL, churn_blocks, (void *)i));
	wait_for_ready(CHURNERS);
	__atomic_store_n(&churn_until, time(NULL) + churn_s, __ATOMIC_SEQ_CST);
	for (int i = 0; i < CHURNERS; i++)
		pthread_join(thread[i], NULL);
	printf("%d\n", churned);
}

/* ---- many ---- */

static int ended;

static void *submit_many(void *argument)
{
	int number = (int)(intptr_t)argument, file = open_disk();
	static __thread struct iocb control[OUTSTANDING];
	struct io_event event;
	aio_context_t context = 0;
	void *block = get_block();

	CHECK("io_setup", !syscall(SYS_io_setup, OUTSTANDING, &context));
	for (int i = 0; i < OUTSTANDING; i++) {
		struct iocb *one = &control[i];

		*one = (struct iocb){
			.aio_lio_opcode = IOCB_CMD_PREAD,
			.aio_fildes = (uint32_t)file,
			.aio_buf = (uintptr_t)block,
			.aio_nbytes = BLOCK,
			.aio_offset = ((int64_t)i * SUBMITTERS + number) % 4096 * APART * BLOCK,
		};
		fgio_request_begin(id_at(i % 900) + (uint64_t)(i * SUBMITTERS + number));
		CHECK("io_submit", syscall(SYS_io_submit, context, 1, &one) == 1);
		fgio_request_end();
	}
	for (int i = 0; i < OUTSTANDING; i++) {
		CHECK("io_getevents",
		      syscall(SYS_io_getevents, context, 1, 1, &event, NULL) == 1);
		CHECK("read", event.res == BLOCK);
		__atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void many(void)
{
	pthread_t thread[SUBMITTERS];

	for (intptr_t i = 0; i < SUBMITTERS; i++)
		CHECK("thread", !pthread_create(&thread[i], NULL, submit_many, (void *)i));
	for (int i = 0; i < SUBMITTERS; i++)
		pthread_join(thread[i], NULL);
	printf("%d\n", ended);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	device = open(FGIO_DEVICE_PATH, O_RDWR);
	CHECK("the module", device >= 0);
	disk = argv[2];
	base = fgio_request_new();
	if (!strcmp(argv[1], "order")) {
		order();
	} else if (!strcmp(argv[1], "churn") && argc == 4) {
		churn_s = atoi(argv[3]);
		churn();
	} else if (!strcmp(argv[1], "many")) {
		many();
	} else {
		return 2;
	}
	return 0;
}
