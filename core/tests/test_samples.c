// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Samples that arrive where they are learnt from: none that was not noted. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../atomic.h"
#include "../samples.h"
#include "check.h"

#define ROUNDING_NS 64
#define TOOK_MOST_NS ((1ULL << 32) - ROUNDING_NS)
#define WAIT_MOST_NS ((1ULL << 27) - ROUNDING_NS)
#define WRITERS 3
#define ROUNDS 20000

static uint64_t chance;

static struct fgio_sample some_sample(void)
{
	return (struct fgio_sample){
		.took_ns = next_random(&chance) >> next_random(&chance) % 64,
		.wait_ns = next_random(&chance) >> next_random(&chance) % 64,
		.others = (u32)(next_random(&chance) % 1000),
		.kind = next_random(&chance) % 32,
		.quiet = next_random(&chance) % 2,
		.critical = next_random(&chance) % 2,
		.far = next_random(&chance) % 2,
		.beside = next_random(&chance) % 2,
	};
}

static u64 rounded(u64 ns, u64 least_ns, u64 most_ns)
{
	ns -= ns % ROUNDING_NS;
	if (ns < least_ns)
		return least_ns;
	return ns < most_ns ? ns : most_ns;
}

static void assert_arrived(const struct fgio_sample *arrived,
			   const struct fgio_sample *noted)
{
	assert_int_equal(arrived->took_ns, rounded(noted->took_ns, ROUNDING_NS,
						   TOOK_MOST_NS));
	assert_int_equal(arrived->wait_ns,
			 rounded(noted->wait_ns, 0, WAIT_MOST_NS));
	assert_int_equal(arrived->others,
			 noted->others < 255 ? noted->others : 255);
	assert_int_equal(arrived->kind, noted->kind);
	assert_int_equal(arrived->quiet, noted->quiet);
	assert_int_equal(arrived->critical, noted->critical);
	assert_int_equal(arrived->far, noted->far);
	assert_int_equal(arrived->beside, noted->beside);
}

static void test_each_arrives_as_it_was(void **state)
{
	struct fgio_samples samples = { 0 };
	struct fgio_sample arrived;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		struct fgio_sample noted = some_sample();

		fgio_samples_note(&samples, &noted);
		assert_true(fgio_samples_take(&samples, &arrived));
		assert_arrived(&arrived, &noted);
		assert_false(fgio_samples_take(&samples, &arrived));
	}
}

/* Even when the counters wrap around. */
static void test_the_oldest_are_forgotten(void **state)
{
	struct fgio_samples samples = { .noted = -10U, .taken = -10U };
	struct fgio_sample noted[FGIO_SAMPLES + 5], arrived;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(noted); i++) {
		noted[i] = some_sample();
		fgio_samples_note(&samples, &noted[i]);
	}
	for (unsigned int i = 5; i < ARRAY_SIZE(noted); i++) {
		assert_true(fgio_samples_take(&samples, &arrived));
		assert_arrived(&arrived, &noted[i]);
	}
	assert_false(fgio_samples_take(&samples, &arrived));
}

struct writer {
	struct fgio_samples *samples;
	u8 figure;
	pthread_t thread;
};

/*
 * All samples of one writer have one figure; a mixture of two would have both.
 */
static void *note_many(void *argument)
{
	const struct writer *writer = argument;
	const struct fgio_sample sample = {
		.took_ns = writer->figure * ROUNDING_NS,
		.wait_ns = writer->figure * ROUNDING_NS,
		.others = writer->figure,
		.kind = writer->figure,
	};

	for (int i = 0; i < ROUNDS; i++)
		fgio_samples_note(writer->samples, &sample);
	return NULL;
}

static unsigned int take_all(struct fgio_samples *samples)
{
	struct fgio_sample arrived;
	unsigned int count = 0;

	for (; fgio_samples_take(samples, &arrived); count++) {
		assert_in_range(arrived.kind, 1, WRITERS);
		assert_int_equal(arrived.took_ns, arrived.kind * ROUNDING_NS);
		assert_int_equal(arrived.wait_ns, arrived.kind * ROUNDING_NS);
		assert_int_equal(arrived.others, arrived.kind);
	}
	return count;
}

static void test_noted_by_several_at_once(void **state)
{
	struct fgio_samples samples = { 0 };
	struct writer writers[WRITERS];
	unsigned int taken = 0;

	(void)state;
	for (u8 i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ &samples, i + 1, 0 };
		assert_int_equal(pthread_create(&writers[i].thread, NULL,
						note_many, &writers[i]),
				 0);
	}
	while (fgio_load(&samples.noted) < WRITERS * ROUNDS)
		taken += take_all(&samples);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	taken += take_all(&samples);
	assert_in_range(taken, 1, WRITERS * ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_arrives_as_it_was),
		cmocka_unit_test(test_the_oldest_are_forgotten),
		cmocka_unit_test(test_noted_by_several_at_once),
	};

	chance = fresh_seed("samples");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
