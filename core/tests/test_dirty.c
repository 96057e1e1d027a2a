// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The properties of the dirty limit: one by one, for random devices, and for
 * writers and a device over some time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../uapi/fgio_settings.h"
#include "../dirty.h"
#include "check.h"

#define MILLISECOND 1000000ULL
#define PAGES_PER_MEGABYTE 256ULL
#define DRAWS 50000

/* Of the module. */
#define DEFAULT_CONFIG                                          \
	((struct fgio_dirty_config){                            \
		.percent = FGIO_DEFAULT_dirty_limit_percent,    \
		.milliseconds = FGIO_DEFAULT_dirty_limit_ms,    \
		.park_max_ms = FGIO_DEFAULT_dirty_park_max_ms,  \
	})

static struct fgio_dirty_config random_config(uint64_t *random)
{
	return (struct fgio_dirty_config){
		.percent = next_random(random) %
			   (FGIO_MOST_dirty_limit_percent + 1),
		.milliseconds = next_random(random) % 3 ?
					next_random(random) %
						(FGIO_MOST_dirty_limit_ms + 1) :
					0,
		.park_max_ms = next_random(random) %
			       (FGIO_MOST_dirty_park_max_ms + 1),
	};
}

/* Of any magnitude from nothing to 4 PiB of memory, 16 TB/s. */
static uint64_t random_size(uint64_t *random, unsigned int bits)
{
	return next_random(random) >> (64 - bits + next_random(random) % bits);
}

static struct fgio_dirty_sample random_sample(uint64_t *random)
{
	return (struct fgio_dirty_sample){
		.dirty = random_size(random, 40),
		.writeback = random_size(random, 40),
		.others = random_size(random, 40),
		.dirtyable = random_size(random, 40),
		.bandwidth = random_size(random, 32),
	};
}

static void test_smaller_of_both_limits(void **state)
{
	struct fgio_dirty_config config = DEFAULT_CONFIG;
	/* 256 GiB, 125 MiB/s: 1 % of memory takes 20 s to write. */
	struct fgio_dirty_sample sample = {
		.dirtyable = 256 * 1024 * PAGES_PER_MEGABYTE,
		.bandwidth = 125 * PAGES_PER_MEGABYTE,
	};

	(void)state;
	assert_int_equal(fgio_dirty_limit(&config, &sample), 3200);
	config.milliseconds = 0;
	assert_int_equal(fgio_dirty_limit(&config, &sample), 671088);
	/* 1 GiB: the percentage is the smaller one. */
	config.milliseconds = 100;
	sample.dirtyable = 1024 * PAGES_PER_MEGABYTE;
	assert_int_equal(fgio_dirty_limit(&config, &sample), 2621);
	sample.others = 1000;
	assert_int_equal(fgio_dirty_limit(&config, &sample), 1621);
	sample.others = 1000000;
	assert_int_equal(fgio_dirty_limit(&config, &sample), FGIO_DIRTY_LIMIT_LEAST);
}

static void test_limit_keeps_its_bounds(void **state)
{
	uint64_t random = fresh_seed("limits");

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		struct fgio_dirty_config config = random_config(&random);
		struct fgio_dirty_sample sample = random_sample(&random);
		struct fgio_dirty_sample other = sample;
		u64 limit = fgio_dirty_limit(&config, &sample);

		assert_true(limit >= FGIO_DIRTY_LIMIT_LEAST);
		assert_true(limit == FGIO_DIRTY_LIMIT_LEAST ||
			    limit + sample.others <= sample.dirtyable);
		other.bandwidth += random_size(&random, 20);
		assert_true(fgio_dirty_limit(&config, &other) >= limit);
		other.others += random_size(&random, 20);
		other.bandwidth = sample.bandwidth;
		assert_true(fgio_dirty_limit(&config, &other) <= limit);
		/* Pages dirty on the device itself do not move its limit. */
		other = sample;
		other.dirty = random_size(&random, 40);
		assert_int_equal(fgio_dirty_limit(&config, &other), limit);
	}
}

static void test_what_a_writer_does(void **state)
{
	uint64_t random = fresh_seed("parks");

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		struct fgio_dirty_config config = random_config(&random);
		struct fgio_dirty_sample sample = random_sample(&random);
		u64 limit = fgio_dirty_limit(&config, &sample);
		u64 total = sample.dirty + sample.writeback;
		u64 batch = fgio_dirty_batch(limit, &sample);
		u64 pause_ns = fgio_dirty_pause_ns(limit, &sample);

		assert_in_range(pause_ns, MILLISECOND / 4, 10 * MILLISECOND);
		switch (fgio_dirty_next(limit, &sample)) {
		case FGIO_DIRTY_GO:
			assert_true(total <= limit);
			break;
		case FGIO_DIRTY_WRITE:
			/*
			 * All pages that are there, up to the limit, 50 ms at a
			 * time.
			 */
			assert_true(total > limit);
			assert_true(batch >= 1);
			assert_true(batch >= limit / 2 ||
				    batch >= sample.bandwidth / 20);
			assert_true(batch <= sample.bandwidth / 20 ||
				    batch == 1);
			assert_true(batch <= sample.dirty);
			assert_true(sample.writeback + batch <= limit);
			break;
		case FGIO_DIRTY_WAIT:
			/* The device has enough to do meanwhile. */
			assert_true(total > limit);
			assert_true(sample.writeback > limit / 2);
			break;
		}
	}
}

/* Twice the device's time for what the writer dirtied. */
static void test_parks_at_the_limit_are_fair(void **state)
{
	struct fgio_dirty_config config = DEFAULT_CONFIG;
	struct fgio_dirty_sample sample = { .bandwidth = 25000 };
	u64 limit = 2500;

	(void)state;
	sample.dirty = limit + limit / 32;
	assert_int_equal(fgio_dirty_park_ns(&config, limit, &sample, 2),
			 160000);
	assert_int_equal(fgio_dirty_park_ns(&config, limit, &sample, 250),
			 20 * MILLISECOND);
	assert_int_equal(fgio_dirty_park_ns(&config, limit, &sample, 250000),
			 200 * MILLISECOND);
	sample.dirty = 2 * limit;
	assert_int_equal(fgio_dirty_park_ns(&config, limit, &sample, 250),
			 160 * MILLISECOND);
	sample.dirty = 800 * limit;
	assert_int_equal(fgio_dirty_park_ns(&config, limit, &sample, 250000),
			 FGIO_DIRTY_PARK_FACTOR * 200 * MILLISECOND);
}

static void test_parks_are_bounded(void **state)
{
	uint64_t random = fresh_seed("sizes");

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		struct fgio_dirty_config config = random_config(&random);
		struct fgio_dirty_sample sample = random_sample(&random);
		u64 limit = fgio_dirty_limit(&config, &sample);
		u64 pages = next_random(&random) >> next_random(&random) % 64;
		u64 park_ns = fgio_dirty_park_ns(&config, limit, &sample,
						 pages / 4);
		u64 longest_ns = config.park_max_ms * MILLISECOND;

		assert_true(park_ns <= longest_ns * FGIO_DIRTY_PARK_FACTOR);
		assert_true(park_ns <= fgio_dirty_park_ns(&config, limit,
							  &sample, pages / 2));
		sample.dirty += limit;
		assert_true(park_ns <= fgio_dirty_park_ns(&config, limit,
							  &sample, pages / 4));
	}
}

#define WRITERS_MAX 64

/* Writers that dirty pages as fast as memory lets them, and a device. */
struct model {
	struct fgio_dirty_config config;
	struct fgio_dirty_sample sample;
	unsigned int writers;
	u64 chunk;
	double speed; /* pages per second */
	double unwritten; /* what is left of the page being written */
	u64 now_ns;
	u64 written;
	u64 peak;
	/* Of each writer: when it looks again, and since when it is parked. */
	u64 next_ns[WRITERS_MAX];
	u64 since_ns[WRITERS_MAX];
};

/* As mm/page-writeback.c does: smoothed over four seconds. */
static void learn_speed(struct model *model, u64 written, double seconds)
{
	double bandwidth = (double)written / seconds;
	double weight = seconds / 4.096;

	model->sample.bandwidth +=
		(u64)(weight * (bandwidth - (double)model->sample.bandwidth));
	if (!model->sample.bandwidth)
		model->sample.bandwidth = 1;
}

static void run_device(struct model *model, u64 until_ns)
{
	double pages = model->unwritten +
		       model->speed * (double)(until_ns - model->now_ns) / 1e9;
	u64 done = (u64)pages;

	model->now_ns = until_ns;
	model->unwritten = pages - (double)done;
	if (done > model->sample.writeback) {
		done = model->sample.writeback;
		model->unwritten = 0;
	}
	model->sample.writeback -= done;
	model->written += done;
}

static void dirty_more(struct model *model, unsigned int writer)
{
	/* A copy at 4 GB/s. */
	model->next_ns[writer] = model->now_ns + model->chunk * 1000;
	model->since_ns[writer] = 0;
	model->sample.dirty += model->chunk;
	if (model->sample.dirty + model->sample.writeback > model->peak)
		model->peak = model->sample.dirty + model->sample.writeback;
}

static void run_writer(struct model *model, unsigned int writer)
{
	struct fgio_dirty_sample *sample = &model->sample;
	u64 limit = fgio_dirty_limit(&model->config, sample);
	enum fgio_dirty_action action = fgio_dirty_next(limit, sample);
	u64 batch = fgio_dirty_batch(limit, sample);
	u64 *since_ns = &model->since_ns[writer];

	if (!*since_ns)
		*since_ns = model->now_ns;
	if (action == FGIO_DIRTY_GO ||
	    model->now_ns - *since_ns >=
		    fgio_dirty_park_ns(&model->config, limit, sample,
				       model->chunk)) {
		dirty_more(model, writer);
		return;
	}
	if (action == FGIO_DIRTY_WRITE) {
		sample->dirty -= batch;
		sample->writeback += batch;
	}
	model->next_ns[writer] =
		model->now_ns + fgio_dirty_pause_ns(limit, sample);
}

static void run_for(struct model *model, double seconds)
{
	u64 end_ns = model->now_ns + (u64)(seconds * 1e9);
	u64 learn_ns = model->now_ns + 200 * MILLISECOND;
	u64 before = model->written;

	while (model->now_ns < end_ns) {
		unsigned int first = 0;

		for (unsigned int i = 1; i < model->writers; i++)
			if (model->next_ns[i] < model->next_ns[first])
				first = i;
		run_device(model, model->next_ns[first]);
		if (model->now_ns >= learn_ns) {
			learn_speed(model, model->written - before, 0.2);
			before = model->written;
			learn_ns = model->now_ns + 200 * MILLISECOND;
		}
		run_writer(model, first);
	}
}

static struct model new_model(uint64_t *random)
{
	struct model model = {
		.config = DEFAULT_CONFIG,
		.writers = 1 + next_random(random) % WRITERS_MAX,
		.chunk = 1 + next_random(random) % 512,
		/* From an SD card to a fast NVMe drive, in pages per second. */
		.speed = (double)(2560ULL << next_random(random) % 9),
		.sample.dirtyable = 65536ULL << next_random(random) % 10,
		/* What the kernel believes of a new device: 100 MB/s. */
		.sample.bandwidth = 100 * PAGES_PER_MEGABYTE,
	};

	for (unsigned int i = 0; i < model.writers; i++)
		model.next_ns[i] = 1 + next_random(random) % 1000000;
	return model;
}

/*
 * Writers that are a thousand times as fast keep the device busy all the time,
 * and the peak within a bound: the limit, a chunk of each writer, and the pages
 * of writers resumed because their time was over.
 */
static void test_device_is_busy_and_room_is_kept(void **state)
{
	uint64_t random = fresh_seed("writers");

	(void)state;
	for (int i = 0; i < 60; i++) {
		struct model model = new_model(&random);
		u64 limit, bound, before;
		double busy;

		/* By then, little is left of what was believed of the speed. */
		run_for(&model, 24);
		before = model.written;
		model.peak = 0;
		run_for(&model, 4);
		busy = (double)(model.written - before) / (4 * model.speed);
		limit = fgio_dirty_limit(&model.config, &model.sample);
		bound = 3 * limit + 3 * model.writers * model.chunk;
		if (busy < 0.97 || model.peak > bound)
			print_message("speed %.0f writers %u chunk %llu memory %llu: busy %.3f, peak %llu, limit %llu\n",
				      model.speed, model.writers,
				      (unsigned long long)model.chunk,
				      (unsigned long long)model.sample.dirtyable,
				      busy, (unsigned long long)model.peak,
				      (unsigned long long)limit);
		assert_true(busy >= 0.97);
		assert_true(model.peak <= bound);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_smaller_of_both_limits),
		cmocka_unit_test(test_limit_keeps_its_bounds),
		cmocka_unit_test(test_what_a_writer_does),
		cmocka_unit_test(test_parks_at_the_limit_are_fair),
		cmocka_unit_test(test_parks_are_bounded),
		cmocka_unit_test(test_device_is_busy_and_room_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
