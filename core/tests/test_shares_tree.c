// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Flattened weights beside a plain model, which computes each from the whole
 * tree in floating point: random trees, weights, and groups that come and go.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../shares.h"
#include "../shares_tree.h"
#include "check.h"

#define GROUPS 60
#define LOOKS 40
#define TREES 60

/* A group as the model has it: facts alone. */
struct fact {
	bool exists;
	int parent;
	u32 weight;
	u32 scale;
	bool asks;
	int depth;
};

struct forest {
	struct fact facts[GROUPS];
	/* Parents first, as blk-cgroup makes them; core's part of each. */
	int order[GROUPS];
	int count;
	struct fgio_share_node nodes[GROUPS];
	struct fgio_share_tree tree;
	uint64_t seed;
};

static uint64_t pick(struct forest *forest, uint64_t below)
{
	return next_random(&forest->seed) % below;
}

static u32 pick_weight(struct forest *forest)
{
	switch (pick(forest, 4)) {
	case 0:
		return FGIO_SHARES_WEIGHT_LEAST;
	case 1:
		return FGIO_SHARES_WEIGHT_MOST;
	case 2:
		return FGIO_SHARES_WEIGHT_DEFAULT;
	default:
		return 1 + (u32)pick(forest, FGIO_SHARES_WEIGHT_MOST);
	}
}

static u32 pick_scale(struct forest *forest)
{
	return FGIO_SHARES_SCALE_LEAST +
	       (u32)pick(forest, FGIO_SHARES_SCALE_MOST -
					 FGIO_SHARES_SCALE_LEAST + 1);
}

/* ---- the model ---- */

static bool is_active(const struct forest *forest, int group)
{
	if (forest->facts[group].asks)
		return true;
	for (int i = 0; i < GROUPS; i++)
		if (forest->facts[i].exists &&
		    forest->facts[i].parent == group && is_active(forest, i))
			return true;
	return false;
}

/* Among its siblings. */
static double scaled(const struct fact *fact)
{
	return (double)fact->weight * fact->scale / FGIO_SHARES_SCALE_ONE;
}

/* The weights that compete for what @group has, with @joiner's, if any. */
static double competing(const struct forest *forest, int group, int joiner)
{
	const struct fact *facts = forest->facts;
	double sum = facts[group].asks || joiner == group ?
			     facts[group].weight : 0;

	for (int i = 0; i < GROUPS; i++)
		if (facts[i].exists && facts[i].parent == group &&
		    (i == joiner || is_active(forest, i)))
			sum += scaled(&facts[i]);
	return sum;
}

static double exact_part(const struct forest *forest, int group)
{
	const struct fact *fact = &forest->facts[group];

	if (fact->depth <= 1)
		return scaled(fact) * FGIO_SHARES_WEIGHT_ONE;
	return exact_part(forest, fact->parent) * scaled(fact) /
	       competing(forest, fact->parent, group);
}

static double exact_own(const struct forest *forest, int group)
{
	const struct fact *fact = &forest->facts[group];
	double part = exact_part(forest, group);

	return fact->depth ? part * fact->weight /
				     competing(forest, group, group) : part;
}

/* ---- core ---- */

static void look(struct forest *forest)
{
	struct fgio_share_tree *tree = &forest->tree;

	fgio_share_tree_begin(tree);
	for (int i = 0; i < forest->count; i++) {
		int group = forest->order[i];

		fgio_share_node_facts(tree, &forest->nodes[group],
				      forest->facts[group].weight,
				      forest->facts[group].scale,
				      forest->facts[group].asks);
	}
	for (int i = 0; i < forest->count; i++)
		fgio_share_node_count(&forest->nodes[forest->order[i]]);
	for (int i = 0; i < forest->count; i++)
		fgio_share_node_settle(tree, &forest->nodes[forest->order[i]]);
}

static void check_weights(const struct forest *forest)
{
	double sum = 0, slack = 0;
	u32 told = 0, own_weights = 0, asking = 0;

	for (int i = 0; i < forest->count; i++) {
		int group = forest->order[i];
		const struct fact *fact = &forest->facts[group];

		/* Each level rounds once, down or up to 1; own tasks once more. */
		CHECK(fabs(forest->nodes[group].part -
			   exact_part(forest, group)) <= fact->depth + 1e-3);
		CHECK(fabs(forest->nodes[group].own -
			   exact_own(forest, group)) <=
		      (fact->depth ? fact->depth + 1 : 0) + 1e-3);
		CHECK(forest->nodes[group].own >= 1);
		own_weights += fact->depth &&
			       fact->weight != FGIO_SHARES_WEIGHT_DEFAULT;
		if (!fact->asks)
			continue;
		asking++;
		sum += exact_own(forest, group);
		slack += fact->depth ? fact->depth + 1 : 0;
	}
	for (int i = 0; i < forest->count; i++) {
		int group = forest->order[i];
		const struct fact *fact = &forest->facts[group];
		u32 part = fgio_share_node_guarantee(&forest->tree,
						     &forest->nodes[group]);
		double exact = exact_own(forest, group);

		CHECK(part <= FGIO_SHARES_WHOLE);
		if (!fact->asks)
			continue;
		told += part;
		CHECK(fabs(part - FGIO_SHARES_WHOLE * exact / sum) <=
		      FGIO_SHARES_WHOLE * (fact->depth + 1 + slack) / sum + 1);
	}
	CHECK(told <= FGIO_SHARES_WHOLE);
	CHECK(!asking || told + asking >= FGIO_SHARES_WHOLE);
	CHECK(forest->tree.groups == (u32)forest->count);
	CHECK(forest->tree.own_weights == own_weights);
	CHECK(forest->tree.asking == asking);
}

/* ---- groups that come, go and change ---- */

static void add(struct forest *forest)
{
	int parent = forest->count ?
		forest->order[pick(forest, (uint64_t)forest->count)] : -1;
	int group = 0;

	while (group < GROUPS && forest->facts[group].exists)
		group++;
	if (group == GROUPS)
		return;
	forest->facts[group] = (struct fact){
		.exists = true,
		.parent = parent,
		.weight = pick_weight(forest),
		.scale = FGIO_SHARES_SCALE_ONE,
		.depth = parent < 0 ? 0 : forest->facts[parent].depth + 1,
	};
	forest->order[forest->count++] = group;
	fgio_share_node_init(&forest->nodes[group],
			     parent < 0 ? NULL : &forest->nodes[parent],
			     forest->facts[group].weight);
}

/* A cgroup goes after its children; its node is not looked at again. */
static void remove_one(struct forest *forest)
{
	int place = 1 + (int)pick(forest, GROUPS);
	int group;

	if (place >= forest->count)
		return;
	group = forest->order[place];
	for (int i = 0; i < GROUPS; i++)
		if (forest->facts[i].exists && forest->facts[i].parent == group)
			return;
	forest->facts[group].exists = false;
	forest->facts[group].asks = false;
	memset(&forest->nodes[group], 0xa5, sizeof(forest->nodes[group]));
	memmove(&forest->order[place], &forest->order[place + 1],
		(size_t)(forest->count - place - 1) * sizeof(int));
	forest->count--;
}

static void change(struct forest *forest)
{
	int group = forest->order[pick(forest, (uint64_t)forest->count)];

	switch (pick(forest, 5)) {
	case 0:
		forest->facts[group].weight = pick_weight(forest);
		break;
	case 1:
		if (forest->facts[group].depth)
			forest->facts[group].scale = pick_scale(forest);
		break;
	default:
		forest->facts[group].asks = !forest->facts[group].asks;
	}
}

static void begin(struct forest *forest, uint64_t *seed)
{
	memset(forest, 0, sizeof(*forest));
	forest->seed = next_random(seed);
	add(forest);
	look(forest);
}

static void disturb(struct forest *forest)
{
	for (uint64_t i = pick(forest, 12); i; i--) {
		switch (pick(forest, 3)) {
		case 0:
			add(forest);
			break;
		case 1:
			remove_one(forest);
			break;
		default:
			change(forest);
		}
	}
}

static void test_random_trees_follow_the_model(void **state)
{
	uint64_t seed = fresh_seed("trees");
	static struct forest forest;

	(void)state;
	for (int i = 0; i < TREES; i++) {
		begin(&forest, &seed);
		for (int j = 0; j < LOOKS; j++) {
			disturb(&forest);
			look(&forest);
			check_weights(&forest);
		}
	}
}

/* What a group that is new, or idle, would have is what it gets as it asks. */
static void test_a_group_that_begins_to_ask_has_its_weight_already(void **state)
{
	uint64_t seed = fresh_seed("begins to ask");
	static struct forest forest;
	int tried = 0;

	(void)state;
	for (int i = 0; i < TREES * LOOKS; i++) {
		struct fgio_share_node before;
		int group;

		if (i % LOOKS == 0)
			begin(&forest, &seed);
		disturb(&forest);
		look(&forest);
		add(&forest);
		group = forest.order[pick(&forest, (uint64_t)forest.count)];
		if (forest.facts[group].asks)
			continue;
		before = forest.nodes[group];
		forest.facts[group].asks = true;
		look(&forest);
		CHECK(forest.nodes[group].own == before.own);
		CHECK(forest.nodes[group].part == before.part);
		tried++;
	}
	assert_true(tried > TREES);
}

/* ---- one by one ---- */

static struct forest *family(void)
{
	static struct forest forest;
	static const struct fact facts[] = {
		{ true, -1, 100, 1024, false, 0 },
		{ true, 0, 300, 1024, false, 1 }, { true, 0, 100, 1024, false, 1 },
		{ true, 1, 100, 1024, false, 2 }, { true, 1, 300, 1024, false, 2 },
	};

	memset(&forest, 0, sizeof(forest));
	for (int i = 0; i < (int)ARRAY_SIZE(facts); i++) {
		int parent = facts[i].parent;

		forest.facts[i] = facts[i];
		forest.order[forest.count++] = i;
		fgio_share_node_init(&forest.nodes[i], parent < 0 ?
					     NULL : &forest.nodes[parent],
				     facts[i].weight);
	}
	return &forest;
}

static void test_idle_siblings_do_not_count(void **state)
{
	struct forest *forest = family();

	(void)state;
	forest->facts[2].asks = true;
	forest->facts[3].asks = true;
	look(forest);
	assert_int_equal(forest->nodes[2].own, 6400);
	assert_int_equal(forest->nodes[3].own, 19200);
	forest->facts[4].asks = true;
	look(forest);
	assert_int_equal(forest->nodes[3].own, 4800);
	assert_int_equal(forest->nodes[4].own, 14400);
	assert_int_equal(fgio_share_node_guarantee(&forest->tree,
						   &forest->nodes[4]),
			 562500);
	/* The root's own tasks are one more group. */
	forest->facts[0].asks = true;
	look(forest);
	assert_int_equal(fgio_share_node_guarantee(&forest->tree,
						   &forest->nodes[4]),
			 450000);
	assert_int_equal(fgio_share_node_guarantee(&forest->tree,
						   &forest->nodes[0]),
			 200000);
}

/* A group without I/O of its own counts once, by what is below it. */
static void test_a_group_between_counts_once(void **state)
{
	struct forest *forest = family();

	(void)state;
	add(forest);
	forest->facts[5] = (struct fact){ true, 3, 100, 1024, true, 3 };
	fgio_share_node_init(&forest->nodes[5], &forest->nodes[3], 100);
	forest->facts[4].asks = true;
	look(forest);
	assert_int_equal(forest->nodes[3].part, 4800);
	assert_int_equal(forest->nodes[5].own, 4800);
	assert_int_equal(forest->nodes[4].own, 14400);
	assert_int_equal(forest->tree.asking_weight, 19200);
}

/* The tasks of a group that has children are one more child, of its weight. */
static void test_own_tasks_are_one_more_child(void **state)
{
	struct forest *forest = family();

	(void)state;
	forest->facts[1].asks = true;
	forest->facts[3].asks = true;
	look(forest);
	assert_int_equal(forest->nodes[1].own, 14400);
	assert_int_equal(forest->nodes[3].own, 4800);
}

/* A scale moves a group among its siblings, and nothing below it or beside them. */
static void test_a_scaled_weight_counts_among_siblings(void **state)
{
	struct forest *forest = family();

	(void)state;
	for (int i = 2; i < 5; i++)
		forest->facts[i].asks = true;
	forest->facts[3].scale = 512;
	look(forest);
	/* 50 and 300 of what 300 have; and 100. */
	assert_int_equal(forest->nodes[3].own, 19200 / 7);
	assert_int_equal(forest->nodes[4].own, 19200 * 6 / 7);
	assert_int_equal(forest->nodes[2].own, 6400);
	assert_int_equal(forest->nodes[3].weight, 100);
	assert_int_equal(forest->tree.own_weights, 2);
	/* Bounds hold, whatever is asked for. */
	forest->facts[2].scale = 0;
	look(forest);
	assert_int_equal(forest->nodes[2].own, 6400 / 4);
	forest->facts[2].scale = ~0U;
	look(forest);
	assert_int_equal(forest->nodes[2].own, 6400 * 4);
}

/* Rounding leaves no group that asks without any weight. */
static void test_a_small_part_is_not_none(void **state)
{
	struct forest *forest = family();

	(void)state;
	forest->facts[1].weight = 1;
	forest->facts[3].weight = 1;
	forest->facts[4].weight = FGIO_SHARES_WEIGHT_MOST;
	forest->facts[3].asks = true;
	forest->facts[4].asks = true;
	look(forest);
	assert_int_equal(forest->nodes[3].own, 1);
	assert_int_equal(forest->nodes[4].own, 63);
}

/* One that leaves during a look takes no part, and is not counted. */
static void test_a_group_that_leaves_is_not_counted(void **state)
{
	struct forest *forest = family();
	struct fgio_share_tree *tree = &forest->tree;

	(void)state;
	forest->facts[3].asks = true;
	forest->facts[4].asks = true;
	look(forest);
	fgio_share_tree_begin(tree);
	for (int i = 0; i < 4; i++)
		fgio_share_node_facts(tree, &forest->nodes[i],
				      forest->facts[i].weight,
				      forest->facts[i].scale,
				      forest->facts[i].asks);
	fgio_share_node_leave(&forest->nodes[4]);
	for (int i = 0; i < 5; i++)
		fgio_share_node_count(&forest->nodes[i]);
	for (int i = 0; i < 5; i++)
		fgio_share_node_settle(tree, &forest->nodes[i]);
	assert_int_equal(forest->nodes[3].own, 19200);
	assert_int_equal(tree->asking, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_trees_follow_the_model),
		cmocka_unit_test(
			test_a_group_that_begins_to_ask_has_its_weight_already),
		cmocka_unit_test(test_idle_siblings_do_not_count),
		cmocka_unit_test(test_a_group_between_counts_once),
		cmocka_unit_test(test_own_tasks_are_one_more_child),
		cmocka_unit_test(test_a_scaled_weight_counts_among_siblings),
		cmocka_unit_test(test_a_small_part_is_not_none),
		cmocka_unit_test(test_a_group_that_leaves_is_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
