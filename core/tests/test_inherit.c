// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The properties of the wait graph, one by one, then random scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../inherit.h"
#include "check.h"
#include "model_inherit.h"

#define SCRIPTS 1500
#define SCRIPT_BYTES 512

#define BUCKETS 16
#define LINKS 32
#define OBJECTS 16

enum { FOREGROUND = 101, OTHER_FOREGROUND, WRITER, HANDLE, JBD2, SUBMITTER };

/* Tasks are small numbers, and so are objects; up to two own each object. */
struct graph {
	struct fgio_bucket buckets[BUCKETS];
	u64 owners[OBJECTS][2];
	struct fgio_walk walk;
	struct fgio_link links[LINKS];
	u32 visited[2 * LINKS];
	unsigned int boosts;
	unsigned int renewed;
	unsigned int refused;
};

static struct fgio_bucket *bucket_of(struct graph *graph, u64 task)
{
	return &graph->buckets[task % BUCKETS];
}

static unsigned int answer_waits(void *context, u64 task,
				 struct fgio_wait waits[FGIO_WAITS_NESTED])
{
	return fgio_wait_copy(bucket_of(context, task), task, waits);
}

static void answer_blockers(void *context, struct fgio_walk *walk, u32 link,
			    const struct fgio_wait *wait)
{
	const struct graph *graph = context;

	assert_int_equal(walk->from, link);
	fgio_walk_found(walk, graph->owners[wait->object][0]);
	fgio_walk_found(walk, graph->owners[wait->object][1]);
}

static void answer_boost(void *context, u64 task,
			 const struct fgio_lease *lease)
{
	struct graph *graph = context;
	bool renewed;

	if (!fgio_lease_grant(bucket_of(graph, task), task, lease, &renewed))
		graph->refused++;
	else if (renewed)
		graph->renewed++;
	else
		graph->boosts++;
}

static const struct fgio_walk_operations operations = {
	.waits = answer_waits,
	.blockers = answer_blockers,
	.boost = answer_boost,
};

static int setup(void **state)
{
	struct graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return -1;
	graph->walk = (struct fgio_walk){
		.operations = &operations,
		.context = graph,
		.links = graph->links,
		.capacity = LINKS,
		.visited = graph->visited,
		.visited_bits = 6,
		.depth_max = FGIO_WALK_DEPTH,
	};
	*state = graph;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static u32 begin(struct graph *graph, u64 task, u64 object)
{
	struct fgio_wait wait = { .object = object, .kind = (u8)object };

	return fgio_wait_begin(bucket_of(graph, task), task,
			       task == FOREGROUND || task == OTHER_FOREGROUND,
			       &wait);
}

static bool end(struct graph *graph, u64 task, u32 seq)
{
	return fgio_wait_end(bucket_of(graph, task), task, seq, NULL);
}

static void add_root(void *context, u64 task)
{
	struct graph *graph = context;

	fgio_walk_root(&graph->walk, task);
}

static void walk(struct graph *graph)
{
	graph->walk.number++;
	fgio_walk_begin(&graph->walk);
	for (unsigned int i = 0; i < BUCKETS; i++)
		fgio_bucket_roots(&graph->buckets[i], add_root, graph);
	fgio_walk_run(&graph->walk);
	for (unsigned int i = 0; i < BUCKETS; i++)
		fgio_lease_expire(&graph->buckets[i], graph->walk.number);
}

static bool goes_on(struct graph *graph, u64 task, u32 seq)
{
	return fgio_wait_goes_on(bucket_of(graph, task), task, seq);
}

static bool is_boosted(struct graph *graph, u64 task)
{
	struct fgio_lease leases[FGIO_LEASES];
	unsigned int count;

	count = fgio_lease_copy(bucket_of(graph, task), task, leases);
	while (count--)
		if (goes_on(graph, leases[count].root,
			    leases[count].root_seq) &&
		    goes_on(graph, leases[count].waiter,
			    leases[count].waiter_seq))
			return true;
	return false;
}

/* The paper's chain: inode mutex, journal wait, handle holder, admission. */
static void test_four_steps(void **state)
{
	enum { INODE, JOURNAL, HANDLE_OPEN, ADMISSION };
	struct graph *graph = *state;
	u32 root, commit, admission;

	graph->owners[INODE][0] = WRITER;
	graph->owners[JOURNAL][0] = JBD2;
	graph->owners[HANDLE_OPEN][0] = HANDLE;
	graph->owners[ADMISSION][0] = SUBMITTER;
	root = begin(graph, FOREGROUND, INODE);
	begin(graph, WRITER, JOURNAL);
	commit = begin(graph, JBD2, HANDLE_OPEN);
	admission = begin(graph, HANDLE, ADMISSION);
	walk(graph);
	for (u64 task = WRITER; task <= SUBMITTER; task++)
		assert_true(is_boosted(graph, task));
	assert_false(is_boosted(graph, FOREGROUND));
	assert_int_equal(graph->boosts, 4);
	assert_int_equal(graph->walk.count, 5);
	for (u32 i = 0; i < 5; i++) {
		assert_int_equal(graph->links[i].depth, i);
		assert_int_equal(graph->links[i].child, i < 4 ? i + 1 : i);
		assert_int_equal(graph->links[i].root, FOREGROUND);
		assert_int_equal(graph->links[i].root_seq, i ? root : 0);
	}
	assert_int_equal(graph->links[4].kind, ADMISSION);

	/*
	 * A task that stops waiting releases the task that it waited for, and
	 * no other.
	 */
	assert_true(end(graph, HANDLE, admission));
	assert_false(is_boosted(graph, SUBMITTER));
	assert_true(is_boosted(graph, HANDLE));
	assert_true(end(graph, JBD2, commit));
	assert_false(is_boosted(graph, HANDLE));
	/* And when the foreground task goes on, all end at once. */
	assert_true(end(graph, FOREGROUND, root));
	for (u64 task = WRITER; task <= SUBMITTER; task++)
		assert_false(is_boosted(graph, task));
}

/* Two foreground tasks wait for one task: both have it as the first in the way. */
static void test_a_shared_blocker_is_in_the_way_of_each(void **state)
{
	enum { MUTEX };
	struct graph *graph = *state;

	graph->owners[MUTEX][0] = WRITER;
	begin(graph, FOREGROUND, MUTEX);
	begin(graph, OTHER_FOREGROUND, MUTEX);
	walk(graph);
	assert_int_equal(graph->walk.count, 3);
	assert_int_equal(graph->links[0].child, 2);
	assert_int_equal(graph->links[1].child, 2);
	assert_int_equal(graph->links[2].child, 2);
	/* Without room it is boosted all the same, and the lack is noted. */
	graph->walk.capacity = 2;
	walk(graph);
	assert_true(is_boosted(graph, WRITER));
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(graph->links[i].child, i);
		assert_true(graph->links[i].full);
	}
}

/* A link in the middle breaks: the next walk releases the tasks behind it. */
static void test_a_broken_chain_ends_with_the_next_walk(void **state)
{
	struct graph *graph = *state;
	u32 middle;

	graph->owners[0][0] = WRITER;
	graph->owners[1][0] = JBD2;
	graph->owners[2][0] = HANDLE;
	begin(graph, FOREGROUND, 0);
	middle = begin(graph, WRITER, 1);
	begin(graph, JBD2, 2);
	walk(graph);
	end(graph, WRITER, middle);
	assert_false(is_boosted(graph, JBD2));
	walk(graph);
	assert_true(is_boosted(graph, WRITER));
	assert_false(is_boosted(graph, HANDLE));
	assert_int_equal(bucket_of(graph, HANDLE)->leased, 0);
}

/*
 * A task that gave its boost back has none until the next walk, and none is
 * leaked.
 */
static void test_a_boost_given_back(void **state)
{
	enum { INODE };
	struct graph *graph = *state;

	graph->owners[INODE][0] = WRITER;
	begin(graph, FOREGROUND, INODE);
	walk(graph);
	assert_true(is_boosted(graph, WRITER));
	fgio_lease_drop(bucket_of(graph, WRITER), WRITER, 0);
	assert_false(is_boosted(graph, WRITER));
	assert_int_equal(bucket_of(graph, WRITER)->leased, 0);
	fgio_lease_drop(bucket_of(graph, WRITER), WRITER, 0);
	fgio_lease_drop(bucket_of(graph, JBD2), JBD2, 0);
	assert_int_equal(bucket_of(graph, WRITER)->leased, 0);
	walk(graph);
	assert_true(is_boosted(graph, WRITER));
	assert_int_equal(bucket_of(graph, WRITER)->leased, 1);
}

/* A task that releases a lock stays boosted for its other waiters. */
static void test_boosts_of_one_kind_given_back(void **state)
{
	enum { LOCK = 1, CONDITION = 2 };
	struct graph *graph = *state;

	graph->owners[LOCK][0] = WRITER;
	graph->owners[CONDITION][0] = WRITER;
	begin(graph, FOREGROUND, LOCK);
	begin(graph, OTHER_FOREGROUND, CONDITION);
	walk(graph);
	fgio_lease_drop(bucket_of(graph, WRITER), WRITER, LOCK);
	assert_true(is_boosted(graph, WRITER));
	assert_int_equal(bucket_of(graph, WRITER)->leased, 1);
	fgio_lease_drop(bucket_of(graph, WRITER), WRITER, CONDITION);
	assert_false(is_boosted(graph, WRITER));
	assert_int_equal(bucket_of(graph, WRITER)->leased, 0);
}

static void test_a_cycle_ends(void **state)
{
	struct graph *graph = *state;

	graph->owners[0][0] = WRITER;
	graph->owners[1][0] = JBD2;
	graph->owners[2][0] = FOREGROUND;
	graph->owners[2][1] = WRITER;
	begin(graph, FOREGROUND, 0);
	begin(graph, WRITER, 1);
	begin(graph, JBD2, 2);
	walk(graph);
	assert_int_equal(graph->walk.count, 3);
	assert_true(is_boosted(graph, WRITER));
	assert_true(is_boosted(graph, JBD2));
	assert_false(is_boosted(graph, FOREGROUND));
}

/* Tasks 1, 2, ...: each waits for the next. */
static void test_the_cap(void **state)
{
	struct graph *graph = *state;
	struct fgio_wait wait = { .kind = 1 };

	begin(graph, FOREGROUND, 0);
	for (u64 task = 1; task < OBJECTS; task++) {
		graph->owners[task - 1][0] = task;
		begin(graph, task, task);
	}
	walk(graph);
	for (u64 task = 1; task < OBJECTS; task++)
		assert_int_equal(is_boosted(graph, task),
				 task <= FGIO_WALK_DEPTH);
	assert_int_equal(graph->walk.cut, 1);

	/* A late answer does not pass it, either. */
	wait.seq = 1;
	fgio_walk_found_from(&graph->walk, FGIO_WALK_DEPTH, &wait, HANDLE);
	assert_false(is_boosted(graph, HANDLE));
	assert_int_equal(graph->walk.count, FGIO_WALK_DEPTH + 1);

	graph->walk.depth_max = 1;
	walk(graph);
	for (u64 task = 1; task < OBJECTS; task++)
		assert_int_equal(is_boosted(graph, task), task == 1);
	assert_int_equal(graph->walk.cut, 2);
	assert_int_equal(graph->walk.count, 2);
}

static void test_two_roots_on_one_blocker(void **state)
{
	struct graph *graph = *state;
	u32 one, other;

	graph->owners[0][0] = WRITER;
	one = begin(graph, FOREGROUND, 0);
	other = begin(graph, OTHER_FOREGROUND, 0);
	walk(graph);
	assert_int_equal(graph->boosts, 2);
	end(graph, FOREGROUND, one);
	assert_true(is_boosted(graph, WRITER));
	walk(graph);
	assert_int_equal(graph->boosts, 2);
	assert_int_equal(graph->renewed, 1);
	end(graph, OTHER_FOREGROUND, other);
	assert_false(is_boosted(graph, WRITER));
	assert_int_equal(bucket_of(graph, WRITER)->leased, 1);
	walk(graph);
	assert_int_equal(bucket_of(graph, WRITER)->leased, 0);
}

/* More reasons than a task can have: it keeps those that it has. */
static void test_reasons_of_one_walk_do_not_alternate(void **state)
{
	struct fgio_bucket bucket = { 0 };
	struct fgio_lease lease = { .root_seq = 1, .waiter_seq = 1 };
	bool renewed;

	(void)state;
	for (lease.walk = 1; lease.walk < 5; lease.walk++) {
		for (u64 root = 1; root < 6; root++) {
			lease.root = root;
			lease.waiter = root;
			assert_true(fgio_lease_grant(&bucket, WRITER, &lease,
						     &renewed));
			assert_int_equal(renewed, lease.walk > 1 ||
							  root > FGIO_LEASES);
		}
		assert_int_equal(fgio_lease_expire(&bucket, lease.walk), 0);
	}
	assert_int_equal(fgio_lease_expire(&bucket, 99), FGIO_LEASES);
	assert_int_equal(bucket.tasks[0], 0);
}

/* Commits follow one another within a walk: each has its own boost. */
static void test_the_end_of_a_wait_makes_room(void **state)
{
	struct fgio_lease lease = { .root = 1, .waiter = 1, .walk = 7 };
	struct fgio_bucket bucket = { 0 };
	bool renewed;

	(void)state;
	for (u32 seq = 1; seq < 5; seq++) {
		lease.root_seq = seq;
		lease.waiter_seq = seq;
		assert_true(fgio_lease_grant(&bucket, JBD2, &lease, &renewed));
		assert_false(renewed);
		fgio_lease_end(&bucket, JBD2, 2, seq);
		assert_int_equal(bucket.leased, 1);
		fgio_lease_end(&bucket, JBD2, 1, seq);
		assert_int_equal(bucket.leased, 0);
		assert_int_equal(bucket.tasks[0], 0);
	}
	fgio_lease_end(&bucket, JBD2, 1, 4);
}

/* The number of a walk may be read before the next one renews, and used after. */
static void test_an_older_walk_renews_nothing(void **state)
{
	struct fgio_lease lease = { .root = 1, .root_seq = 1, .waiter = 1,
				    .waiter_seq = 1, .walk = 8 };
	struct fgio_bucket bucket = { 0 };
	bool renewed;

	(void)state;
	assert_true(fgio_lease_grant(&bucket, JBD2, &lease, &renewed));
	lease.walk = 7;
	assert_true(fgio_lease_grant(&bucket, JBD2, &lease, &renewed));
	assert_true(renewed);
	assert_int_equal(fgio_lease_expire(&bucket, 8), 0);
	assert_int_equal(fgio_lease_expire(&bucket, 9), 1);
}

/* A foreground task in the way of another is boosted and followed once. */
static void test_a_root_may_be_in_the_way(void **state)
{
	struct graph *graph = *state;

	graph->owners[0][0] = OTHER_FOREGROUND;
	graph->owners[1][0] = WRITER;
	begin(graph, FOREGROUND, 0);
	begin(graph, OTHER_FOREGROUND, 1);
	walk(graph);
	assert_int_equal(graph->walk.count, 3);
	assert_true(is_boosted(graph, OTHER_FOREGROUND));
	assert_true(is_boosted(graph, WRITER));
}

static void test_nested_waits(void **state)
{
	struct graph *graph = *state;
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	u32 outer, inner;

	graph->owners[3][0] = WRITER;
	graph->owners[5][0] = HANDLE;
	outer = begin(graph, FOREGROUND, 3);
	inner = begin(graph, FOREGROUND, 5);
	assert_int_equal(fgio_wait_seq(bucket_of(graph, FOREGROUND), FOREGROUND,
				       5), inner);
	assert_int_equal(fgio_wait_copy(bucket_of(graph, FOREGROUND),
					FOREGROUND, waits), 2);
	assert_int_equal(waits[0].seq, outer);
	assert_int_equal(bucket_of(graph, FOREGROUND)->foreground_waiting, 1);
	walk(graph);
	assert_true(is_boosted(graph, WRITER));
	assert_true(is_boosted(graph, HANDLE));
	end(graph, FOREGROUND, inner);
	assert_true(is_boosted(graph, WRITER));
	assert_false(is_boosted(graph, HANDLE));
	begin(graph, FOREGROUND, 5);
	end(graph, FOREGROUND, outer);
	assert_false(fgio_wait_any(bucket_of(graph, FOREGROUND), FOREGROUND));
	assert_int_equal(bucket_of(graph, FOREGROUND)->foreground_waiting, 0);
}

/* A new wait for the same object is another wait. */
static void test_a_boost_does_not_pass_to_the_next_wait(void **state)
{
	struct graph *graph = *state;
	u32 seq;

	graph->owners[0][0] = WRITER;
	seq = begin(graph, FOREGROUND, 0);
	walk(graph);
	end(graph, FOREGROUND, seq);
	begin(graph, FOREGROUND, 0);
	assert_false(is_boosted(graph, WRITER));
}

static void test_dead_tasks(void **state)
{
	struct graph *graph = *state;

	graph->owners[0][0] = WRITER;
	graph->owners[1][0] = HANDLE;
	begin(graph, FOREGROUND, 0);
	begin(graph, WRITER, 1);
	walk(graph);
	/*
	 * In the middle: its own boost goes, and that of the task it waited
	 * for.
	 */
	fgio_wait_forget(bucket_of(graph, WRITER), WRITER);
	assert_false(is_boosted(graph, WRITER));
	assert_false(is_boosted(graph, HANDLE));
	assert_int_equal(bucket_of(graph, WRITER)->leased, 0);
	/*
	 * The lock still names it: a boost of an exited task, and it goes, too.
	 */
	walk(graph);
	assert_true(is_boosted(graph, WRITER));
	fgio_wait_forget(bucket_of(graph, FOREGROUND), FOREGROUND);
	assert_false(is_boosted(graph, WRITER));
	walk(graph);
	for (unsigned int i = 0; i < BUCKETS; i++) {
		assert_int_equal(graph->buckets[i].leased, 0);
		assert_int_equal(graph->buckets[i].foreground_waiting, 0);
		for (unsigned int j = 0; j < FGIO_BUCKET_NODES; j++)
			assert_int_equal(graph->buckets[i].tasks[j], 0);
	}
}

static u32 begin_in(struct fgio_bucket *bucket, u64 task, bool foreground,
		    u64 since_ns, bool declared)
{
	struct fgio_wait wait = { .object = 1, .since_ns = since_ns,
				  .declared = declared };

	return fgio_wait_begin(bucket, task, foreground, &wait);
}

static bool grant_in(struct fgio_bucket *bucket, u64 task, u32 walk)
{
	struct fgio_lease lease = { .root = 1, .waiter = 1, .walk = walk };
	bool renewed;

	return fgio_lease_grant(bucket, task, &lease, &renewed);
}

static bool leased_in(const struct fgio_bucket *bucket, u64 task)
{
	struct fgio_lease leases[FGIO_LEASES];

	return fgio_lease_copy(bucket, task, leases);
}

static void test_a_bucket_full_of_boosts(void **state)
{
	struct fgio_bucket bucket = { 0 };

	(void)state;
	/* Boosted by walks around the end of the numbers. */
	for (u32 i = 0; i < FGIO_BUCKET_NODES; i++)
		assert_true(grant_in(&bucket, 10 + i, UINT32_MAX - 3 + i));
	assert_false(grant_in(&bucket, 30, 4));
	assert_int_equal(begin_in(&bucket, 31, false, 1, false), 0);
	/* A foreground wait takes the oldest one's; one that waits stays. */
	assert_int_not_equal(begin_in(&bucket, 10, false, 1, false), 0);
	assert_int_not_equal(begin_in(&bucket, 20, true, 2, false), 0);
	assert_true(leased_in(&bucket, 10) && leased_in(&bucket, 12));
	assert_false(leased_in(&bucket, 11));
	assert_int_equal(bucket.leased, FGIO_BUCKET_NODES - 1);
	for (u64 task = 21; task < 20 + FGIO_BUCKET_NODES - 1; task++)
		assert_int_not_equal(begin_in(&bucket, task, true, 3, false),
				     0);
	assert_int_equal(begin_in(&bucket, 40, true, 4, false), 0);
	assert_false(grant_in(&bucket, 41, 5));
	assert_true(fgio_wait_any(&bucket, 10) && leased_in(&bucket, 10));
	assert_int_equal(bucket.foreground_waiting, FGIO_BUCKET_NODES - 1);
	assert_int_equal(bucket.given_way, 0);
}

/* The oldest declared wait is that of task 12, the oldest other one of 14. */
static void fill_with_waits(struct fgio_bucket *bucket, u32 seqs[])
{
	for (u32 i = 0; i < FGIO_BUCKET_NODES; i++)
		seqs[i] = begin_in(bucket, 10 + i, false, 100 - i, i < 3);
	assert_true(fgio_wait_end(bucket, 17, seqs[7], NULL));
	seqs[7] = begin_in(bucket, 17, true, 1, false);
	for (u32 i = 5; i < 7; i++)
		assert_true(grant_in(bucket, 10 + i, 1));
}

static void test_what_is_worth_least_gives_way(void **state)
{
	struct fgio_bucket bucket = { 0 };
	u32 seqs[FGIO_BUCKET_NODES];

	(void)state;
	fill_with_waits(&bucket, seqs);
	assert_int_not_equal(begin_in(&bucket, 20, true, 200, false), 0);
	assert_false(fgio_wait_any(&bucket, 12));
	assert_true(grant_in(&bucket, 21, 1));
	assert_false(fgio_wait_any(&bucket, 11));
	assert_int_not_equal(begin_in(&bucket, 22, false, 201, false), 0);
	assert_false(fgio_wait_any(&bucket, 10));
	assert_true(grant_in(&bucket, 23, 1));
	assert_false(fgio_wait_any(&bucket, 14));
	assert_int_not_equal(begin_in(&bucket, 24, true, 202, false), 0);
	assert_false(fgio_wait_any(&bucket, 13));
	assert_int_equal(bucket.given_way, 5);
	/* Tasks that wait as foreground, or boosted, are still there. */
	assert_true(fgio_wait_any(&bucket, 15) && fgio_wait_any(&bucket, 16));
	assert_true(fgio_wait_any(&bucket, 17) && fgio_wait_any(&bucket, 20));
	/* The waits that gave way end, without effect. */
	for (u32 i = 0; i < 5; i++)
		assert_false(fgio_wait_end(&bucket, 10 + i, seqs[i], NULL));
	assert_int_equal(bucket.foreground_waiting, 3);
	assert_int_equal(bucket.leased, 4);
}

/* One wait of a task is gone, the one inside of it was recorded afterwards. */
static void test_what_is_nested_in_what_gave_way_ends_with_it(void **state)
{
	struct fgio_bucket bucket = { 0 };
	u32 outer;

	(void)state;
	outer = begin_in(&bucket, 9, false, 0, false);
	for (u64 task = 10; task < 10 + FGIO_BUCKET_NODES; task++)
		assert_int_not_equal(begin_in(&bucket, task, false, task,
					      false), 0);
	assert_false(fgio_wait_any(&bucket, 9));
	assert_int_not_equal(begin_in(&bucket, 9, false, 300, false), 0);
	assert_false(fgio_wait_end(&bucket, 9, outer, NULL));
	assert_false(fgio_wait_any(&bucket, 9));
	/* The control: an end that comes before a wait began ends nothing. */
	outer = begin_in(&bucket, 9, false, 301, false);
	assert_false(fgio_wait_end(&bucket, 9, outer + 1, NULL));
	assert_true(fgio_wait_any(&bucket, 9));
}

static void test_waits_nest_so_deep(void **state)
{
	struct graph *graph = *state;
	u32 first = begin(graph, WRITER, 0);

	for (u64 object = 1; object < FGIO_WAITS_NESTED; object++)
		assert_int_not_equal(begin(graph, WRITER, object), 0);
	assert_int_equal(begin(graph, WRITER, 9), 0);
	assert_true(end(graph, WRITER, first));
	assert_false(end(graph, WRITER, first));
	assert_int_equal(bucket_of(graph, WRITER)->tasks[0], 0);
}

static void test_numbers_of_waits_skip_zero_and_those_outside(void **state)
{
	const u32 last = FGIO_SEQ_OUTSIDE - 1;
	struct fgio_bucket bucket = { .seq = last - 1 };
	struct fgio_wait wait = { .object = 1 };

	(void)state;
	assert_int_equal(fgio_wait_begin(&bucket, 1, false, &wait), last);
	assert_int_equal(fgio_wait_begin(&bucket, 1, false, &wait), 1);
	assert_false(fgio_wait_goes_on(&bucket, 1, 0));
}

static void test_zero_is_no_task(void **state)
{
	struct fgio_bucket bucket = { 0 };
	struct fgio_lease lease = { .root = 1, .waiter = 1 };
	struct fgio_wait wait = { .object = 1 };
	bool renewed;

	(void)state;
	assert_int_equal(fgio_wait_begin(&bucket, 0, true, &wait), 0);
	assert_false(fgio_lease_grant(&bucket, 0, &lease, &renewed));
	assert_false(fgio_wait_end(&bucket, 0, 1, NULL));
	assert_false(fgio_wait_any(&bucket, 0));
	fgio_wait_forget(&bucket, 0);
	assert_int_equal(bucket.foreground_waiting, 0);
	assert_int_equal(bucket.leased, 0);
}

/* A walk without room for more tasks boosts them, but goes no further. */
static void test_a_walk_without_room(void **state)
{
	struct graph *graph = *state;

	graph->walk.capacity = 2;
	graph->owners[0][0] = WRITER;
	graph->owners[0][1] = HANDLE;
	graph->owners[1][0] = JBD2;
	graph->owners[2][0] = SUBMITTER;
	begin(graph, FOREGROUND, 0);
	begin(graph, WRITER, 1);
	begin(graph, HANDLE, 2);
	walk(graph);
	assert_true(is_boosted(graph, WRITER));
	assert_true(is_boosted(graph, HANDLE));
	assert_true(is_boosted(graph, JBD2));
	assert_false(is_boosted(graph, SUBMITTER));
	assert_int_equal(graph->walk.overflowed, 2);
}

/* A blocker may be found when the walk is over; the walk then goes on. */
static void test_late_answers(void **state)
{
	struct graph *graph = *state;
	struct fgio_wait wait = { .kind = 7 };

	graph->owners[1][0] = JBD2;
	wait.seq = begin(graph, FOREGROUND, 0);
	begin(graph, WRITER, 1);
	walk(graph);
	assert_int_equal(graph->boosts, 0);
	fgio_walk_found_from(&graph->walk, 0, &wait, WRITER);
	assert_true(is_boosted(graph, WRITER));
	assert_int_equal(graph->links[1].kind, 7);
	fgio_walk_run(&graph->walk);
	assert_true(is_boosted(graph, JBD2));
}

/* Bounds are met in many scripts, but most walks are exact, and chains long. */
static void test_random_scripts_agree_with_the_model(void **state)
{
	struct model_inherit_seen seen = { 0 };
	uint8_t script[SCRIPT_BYTES];
	uint64_t random = fresh_seed("scripts of waits");

	(void)state;
	for (int round = 0; round < SCRIPTS; round++) {
		fill_random(&random, script, sizeof(script));
		model_inherit_play(script, sizeof(script), &seen);
	}
	print_message("walks: %lu exact, %lu loose; steps: up to %lu; nested: %lu\n"
		      "refused: %lu waits, %lu boosts; gave way: %lu boosts, %lu waits\n"
		      "overflows: %lu; cuts: %lu\n",
		      seen.exact_walks, seen.loose_walks, seen.steps_max,
		      seen.nested, seen.refused_waits, seen.refused_boosts,
		      seen.evictions, seen.given_way, seen.overflows,
		      seen.cuts);
	assert_true(seen.exact_walks > SCRIPTS);
	assert_true(seen.loose_walks > SCRIPTS);
	assert_int_equal(seen.steps_max, FGIO_WALK_DEPTH);
	assert_true(seen.nested > SCRIPTS);
	assert_true(seen.refused_waits > SCRIPTS);
	assert_true(seen.refused_boosts > SCRIPTS);
	assert_true(seen.evictions > SCRIPTS);
	assert_true(seen.given_way > SCRIPTS);
	assert_true(seen.overflows > SCRIPTS);
	assert_true(seen.cuts > SCRIPTS);
}

#define GRAPH_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(test_four_steps),
		GRAPH_TEST(test_a_shared_blocker_is_in_the_way_of_each),
		GRAPH_TEST(test_a_broken_chain_ends_with_the_next_walk),
		GRAPH_TEST(test_a_boost_given_back),
		GRAPH_TEST(test_boosts_of_one_kind_given_back),
		GRAPH_TEST(test_a_cycle_ends),
		GRAPH_TEST(test_the_cap),
		GRAPH_TEST(test_two_roots_on_one_blocker),
		cmocka_unit_test(test_reasons_of_one_walk_do_not_alternate),
		cmocka_unit_test(test_the_end_of_a_wait_makes_room),
		cmocka_unit_test(test_an_older_walk_renews_nothing),
		GRAPH_TEST(test_a_root_may_be_in_the_way),
		GRAPH_TEST(test_nested_waits),
		GRAPH_TEST(test_a_boost_does_not_pass_to_the_next_wait),
		GRAPH_TEST(test_dead_tasks),
		cmocka_unit_test(test_a_bucket_full_of_boosts),
		cmocka_unit_test(test_what_is_worth_least_gives_way),
		cmocka_unit_test(test_what_is_nested_in_what_gave_way_ends_with_it),
		GRAPH_TEST(test_waits_nest_so_deep),
		cmocka_unit_test(test_numbers_of_waits_skip_zero_and_those_outside),
		cmocka_unit_test(test_zero_is_no_task),
		GRAPH_TEST(test_a_walk_without_room),
		GRAPH_TEST(test_late_answers),
		cmocka_unit_test(test_random_scripts_agree_with_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
