// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Requests in the device, counted beside a plain model, and by threads at once.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "../inflight.h"
#include "check.h"

#define REQUESTS 64
#define STEPS 20000
#define THREADS 3
#define ROUNDS 4000

enum where { AWAY, COUNTED, WRITTEN_OFF };

static u32 count(const enum where *where, enum where which)
{
	u32 total = 0;

	for (int i = 0; i < REQUESTS; i++)
		total += where[i] == which;
	return total;
}

static void test_counts_as_the_model_does(void **state)
{
	enum where where[REQUESTS] = { AWAY };
	struct fgio_inflight inflight = { 0 };
	uint64_t random = fresh_seed("in flight");
	u32 epoch[REQUESTS];

	(void)state;
	for (int step = 0; step < STEPS; step++) {
		u64 value = next_random(&random);
		u32 i = value % REQUESTS;

		if (value >> 32 & 31) {
			if (where[i] == AWAY) {
				epoch[i] = fgio_inflight_enter(&inflight);
				where[i] = COUNTED;
			} else {
				where[i] = AWAY;
				assert_int_equal(
					fgio_inflight_leave(&inflight, epoch[i]),
					REQUESTS - count(where, AWAY));
			}
		} else {
			fgio_inflight_write_off(&inflight);
			for (i = 0; i < REQUESTS; i++)
				if (where[i] == COUNTED)
					where[i] = WRITTEN_OFF;
		}
		assert_int_equal(fgio_inflight_counted(&inflight),
				 count(where, COUNTED));
		assert_int_equal(fgio_inflight_all(&inflight),
				 REQUESTS - count(where, AWAY));
	}
}

/*
 * One thread dispatches and writes off; the others complete what it hands them.
 */
static struct fgio_inflight shared;
static u64 handed[THREADS]; /* an epoch, and a bit above that; 0: none */

static void *complete(void *mailbox)
{
	u64 *mine = mailbox;

	for (u32 done = 0; done < ROUNDS;) {
		u64 epoch = fgio_load_acquire(mine);

		if (!epoch) {
			sched_yield();
			continue;
		}
		fgio_inflight_leave(&shared, (u32)epoch);
		fgio_exchange(mine, 0);
		done++;
	}
	return NULL;
}

static void test_completions_beside_writing_off_are_counted_once(void **state)
{
	pthread_t threads[THREADS];
	u32 sent[THREADS] = { 0 };
	u32 rounds = 0;

	(void)state;
	for (u32 i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, complete, &handed[i]);
	while (sent[0] + sent[1] + sent[2] < THREADS * ROUNDS) {
		for (u32 i = 0; i < THREADS; i++) {
			if (sent[i] == ROUNDS || fgio_load_acquire(&handed[i]))
				continue;
			sent[i]++;
			fgio_exchange(&handed[i],
				      fgio_inflight_enter(&shared) | 1ULL << 32);
		}
		if (rounds++ % 2)
			fgio_inflight_write_off(&shared);
		assert_in_range(fgio_inflight_all(&shared), 0, THREADS);
	}
	for (u32 i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(fgio_inflight_counted(&shared), 0);
	assert_int_equal(fgio_inflight_all(&shared), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_as_the_model_does),
		cmocka_unit_test(
			test_completions_beside_writing_off_are_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
