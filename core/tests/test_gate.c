// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The properties of the gate: a task waits for the right I/O, and no longer
 * than the bound, and an fsync finds its file written if the bound allows it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lab/gate.h"
#include "check.h"

#define DRAWS 50000

static struct fgio_gate_sample random_sample(uint64_t *random)
{
	return (struct fgio_gate_sample){
		.sync = next_random(random) % 2,
		.critical = next_random(random) % 3,
		.dirty = next_random(random) % (2 * FGIO_GATE_LITTLE),
		.writeback = next_random(random) % (2 * FGIO_GATE_LITTLE),
		.waited_ns = next_random(random) % (2 * FGIO_GATE_WAIT_MAX_NS),
	};
}

static void test_no_task_waits_for_too_long(void **state)
{
	uint64_t random = fresh_seed("gates");

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		struct fgio_gate_sample sample = random_sample(&random);
		enum fgio_gate gate = next_random(&random) % 2 ?
					      FGIO_GATE_PRIORITY :
					      FGIO_GATE_DEADLINE;
		enum fgio_gate_action action = fgio_gate_next(gate, &sample);

		if (sample.waited_ns >= FGIO_GATE_WAIT_MAX_NS)
			assert_int_equal(action, FGIO_GATE_GO);
	}
}

static void test_by_priority_critical_io_is_all_that_counts(void **state)
{
	uint64_t random = fresh_seed("any gate");

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		struct fgio_gate_sample sample = random_sample(&random);

		sample.waited_ns %= FGIO_GATE_WAIT_MAX_NS;
		assert_int_equal(fgio_gate_next(FGIO_GATE_PRIORITY, &sample),
				 sample.critical ? FGIO_GATE_WAIT :
						   FGIO_GATE_GO);
	}
}

static void test_by_deadline_a_dirty_file_is_all_that_counts(void **state)
{
	uint64_t random = fresh_seed("waits");

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		struct fgio_gate_sample sample = random_sample(&random);
		u64 left = sample.dirty + sample.writeback;
		bool go;

		sample.waited_ns %= FGIO_GATE_WAIT_MAX_NS;
		go = fgio_gate_next(FGIO_GATE_DEADLINE, &sample) ==
		     FGIO_GATE_GO;
		assert_int_equal(go, !sample.sync || left <= FGIO_GATE_LITTLE);
	}
}

/*
 * An fsync of @pages dirty pages on a device that writes one in @page_ns.
 * Return: pages that are left when it goes on, after @waited_ns.
 */
static u64 sync_file(u64 pages, u64 page_ns, u64 *waited_ns)
{
	struct fgio_gate_sample sample = { .sync = true, .dirty = pages };
	u64 pause_ns = fgio_gate_pause_ns(FGIO_GATE_DEADLINE);
	enum fgio_gate_action action;

	while ((action = fgio_gate_next(FGIO_GATE_DEADLINE, &sample)) !=
	       FGIO_GATE_GO) {
		u64 written = pause_ns / page_ns, batch = 0;

		if (action == FGIO_GATE_WRITE)
			batch = sample.dirty < FGIO_GATE_BATCH ?
					sample.dirty :
					FGIO_GATE_BATCH;
		sample.dirty -= batch;
		sample.writeback += batch;
		sample.writeback -= written < sample.writeback ?
					    written :
					    sample.writeback;
		sample.waited_ns += pause_ns;
	}
	*waited_ns = sample.waited_ns;
	return sample.dirty + sample.writeback;
}

static void test_a_file_is_written_before_its_fsync(void **state)
{
	u64 waited_ns;

	(void)state;
	/* 125 MB/s: 8 MiB take 67 ms, as long as the device takes for them. */
	assert_in_range(sync_file(2048, 32768, &waited_ns), 0,
			FGIO_GATE_LITTLE);
	assert_in_range(waited_ns, 60000000, 75000000);
	/* 80 MiB do not fit into the deadline. */
	assert_in_range(sync_file(20480, 32768, &waited_ns), 12000, 16000);
	assert_int_equal(waited_ns, FGIO_GATE_WAIT_MAX_NS);
}

/*
 * Critical I/O comes and goes at once, so it is looked for more often than a
 * batch ends; but both are looked for before the time to wait is over.
 */
static void test_looks_more_often_for_critical_io(void **state)
{
	u64 priority_ns = fgio_gate_pause_ns(FGIO_GATE_PRIORITY);
	u64 deadline_ns = fgio_gate_pause_ns(FGIO_GATE_DEADLINE);

	(void)state;
	assert_true(priority_ns > 0);
	assert_true(priority_ns < deadline_ns);
	assert_true(deadline_ns <= FGIO_GATE_WAIT_MAX_NS / 10);
}

/* More than half a batch is under way: no other is added yet. */
static void test_a_batch_is_for_a_device_that_is_half_done(void **state)
{
	struct fgio_gate_sample sample = {
		.sync = true,
		.dirty = 2 * FGIO_GATE_LITTLE,
		.writeback = FGIO_GATE_BATCH / 2,
	};

	(void)state;
	assert_int_equal(fgio_gate_next(FGIO_GATE_DEADLINE, &sample),
			 FGIO_GATE_WRITE);
	sample.writeback++;
	assert_int_equal(fgio_gate_next(FGIO_GATE_DEADLINE, &sample),
			 FGIO_GATE_WAIT);
	/* Nothing is left to write: it waits for the writeback under way. */
	sample.dirty = 0;
	sample.writeback = FGIO_GATE_LITTLE + 1;
	assert_int_equal(fgio_gate_next(FGIO_GATE_DEADLINE, &sample),
			 FGIO_GATE_WAIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_task_waits_for_too_long),
		cmocka_unit_test(
			test_by_priority_critical_io_is_all_that_counts),
		cmocka_unit_test(
			test_by_deadline_a_dirty_file_is_all_that_counts),
		cmocka_unit_test(test_a_file_is_written_before_its_fsync),
		cmocka_unit_test(test_looks_more_often_for_critical_io),
		cmocka_unit_test(
			test_a_batch_is_for_a_device_that_is_half_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
