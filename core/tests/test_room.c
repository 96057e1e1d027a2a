// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Writers' room: what random looks divide, and groups of writers over some time,
 * with a device that writes little, much or nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../room.h"
#include "check.h"

#define MILLISECOND 1000000ULL
#define SECOND (1000 * MILLISECOND)
#define LOOK_NS (50 * MILLISECOND)
/* The longest pause of a writer that waits: core/dirty.c. */
#define PAUSE_NS (10 * MILLISECOND)
#define GROUPS 40
#define DRAWS 5000

static void look(struct fgio_room *room, struct fgio_room_group *groups,
		 const u32 *weights, unsigned int count, u64 pages, u64 now_ns,
		 unsigned int rounds)
{
	bool lent = true;

	for (unsigned int i = 0; i < count; i++)
		fgio_room_held(&groups[i]);
	fgio_room_begin(room, pages);
	for (unsigned int i = 0; i < count; i++)
		fgio_room_count(room, &groups[i], weights[i], now_ns);
	while (lent && rounds--) {
		lent = false;
		for (unsigned int i = 0; i < count; i++)
			lent |= fgio_room_lend(room, &groups[i]);
	}
	for (unsigned int i = 0; i < count; i++)
		fgio_room_settle(room, &groups[i]);
}

static void test_room_leaves_what_others_have(void **state)
{
	(void)state;
	assert_int_equal(fgio_room_pages(10, 1000000, 0), 100000);
	assert_int_equal(fgio_room_pages(10, 1000000, 30000), 70000);
	assert_int_equal(fgio_room_pages(10, 1000000, 900000), 50000);
	assert_int_equal(fgio_room_pages(0, 1000000, 10), 0);
}

static void test_two_writers_have_their_weights(void **state)
{
	struct fgio_room room = { 0 };
	struct fgio_room_group groups[2] = { { 0 } };
	u32 weights[2] = { 300, 100 };

	(void)state;
	/* No look yet, or no room: no limit. */
	assert_true(fgio_room_limit(&room, &groups[0], 300) ==
		    FGIO_ROOM_UNLIMITED);
	look(&room, groups, weights, 2, 40000, SECOND, FGIO_ROOM_ROUNDS);
	/* Before any look: an eighth, or by weight once many have begun. */
	fgio_room_dirty(&room, &groups[0], 300, 10, SECOND);
	assert_int_equal(fgio_room_limit(&room, &groups[0], 300), 5000);
	fgio_room_dirty(&room, &groups[1], 25, 10, SECOND);
	fgio_room_dirty(&room, &groups[1], 25, 20, SECOND);
	fgio_room_dirty(&room, &groups[0], 300, 4000, SECOND);
	assert_int_equal(fgio_room_limit(&room, &groups[0], 300), 5000);
	assert_int_equal(fgio_room_limit(&room, &groups[1], 25),
			 40000 * 25 / 325);
	groups[1].dirtied_ns = 0;
	look(&room, groups, weights, 2, 40000, SECOND, FGIO_ROOM_ROUNDS);
	assert_int_equal(fgio_room_limit(&room, &groups[0], 300),
			 2 * 4000 + FGIO_ROOM_LEAST + 5000);
	groups[0].held = 13000;
	look(&room, groups, weights, 2, 40000, SECOND, FGIO_ROOM_ROUNDS);
	assert_int_equal(fgio_room_limit(&room, &groups[0], 300), 40000);
	/* Dirtying counts, though none of it was written yet. */
	fgio_room_dirty(&room, &groups[1], 100, 4000, SECOND);
	assert_int_equal(fgio_room_limit(&room, &groups[1], 100), 5000);
	look(&room, groups, weights, 2, 40000, SECOND, FGIO_ROOM_ROUNDS);
	groups[0].held = 27000;
	groups[1].held = 9000;
	look(&room, groups, weights, 2, 40000, SECOND, FGIO_ROOM_ROUNDS);
	groups[1].held = 10000;
	look(&room, groups, weights, 2, 40000, SECOND, FGIO_ROOM_ROUNDS);
	assert_int_equal(fgio_room_limit(&room, &groups[0], 300), 30000);
	assert_int_equal(fgio_room_limit(&room, &groups[1], 100), 10000);
	/* While it is quiet, it keeps what it has, and lends the rest. */
	groups[0].dirtied_ns = 2 * SECOND;
	groups[1].held = 5000;
	look(&room, groups, weights, 2, 40000, 2 * SECOND, FGIO_ROOM_ROUNDS);
	assert_int_equal(fgio_room_limit(&room, &groups[1], 100),
			 5000 + FGIO_ROOM_LEAST);
	assert_int_equal(fgio_room_limit(&room, &groups[0], 300),
			 35000 - FGIO_ROOM_LEAST);
	groups[0].dirtied_ns = 3 * SECOND;
	look(&room, groups, weights, 2, 40000, 3 * SECOND, FGIO_ROOM_ROUNDS);
	assert_int_equal(room.groups, 1);
	assert_int_equal(fgio_room_limit(&room, &groups[0], 300), 40000);
	/* And the switch. */
	look(&room, groups, weights, 2, 0, 3 * SECOND, FGIO_ROOM_ROUNDS);
	assert_true(fgio_room_limit(&room, &groups[0], 300) ==
		    FGIO_ROOM_UNLIMITED);
}

/* Of any magnitude up to this number of bits. */
static u64 random_size(uint64_t *random, unsigned int bits)
{
	return next_random(random) >> (64 - bits + next_random(random) % bits);
}

static void change_some(struct fgio_room_group *groups, u32 *weights,
			unsigned int count, u64 now_ns, uint64_t *random)
{
	for (unsigned int i = 0; i < count; i++) {
		if (next_random(random) % 2)
			groups[i].dirtied_ns =
				now_ns - random_size(random, 33) % now_ns;
		if (next_random(random) % 2)
			groups[i].held = random_size(random, 40);
		if (next_random(random) % 8 == 0)
			weights[i] = 1 + (u32)random_size(random, 20);
		/* Gone, and another one in its place. */
		if (next_random(random) % 16 == 0)
			groups[i] = (struct fgio_room_group){ 0 };
	}
}

static void check_look(const struct fgio_room *room,
		       const struct fgio_room_group *groups,
		       unsigned int count, u64 now_ns, bool all_rounds)
{
	double level = 0;
	u64 sum = 0;
	bool asks = false;

	for (unsigned int i = 0; i < count; i++) {
		const struct fgio_room_group *group = &groups[i];
		/* By weight, as if none lent. */
		double own = (double)room->pages * group->weight /
			     (double)room->weights;

		CHECK(group->counted == fgio_room_dirties(group, now_ns));
		CHECK(group->has_part == group->counted);
		CHECK(fgio_room_limit(room, group, 1) >= FGIO_ROOM_LEAST);
		if (!group->counted)
			continue;
		sum += group->part;
		/* No group has less than its own part for what others need. */
		CHECK((double)group->part + 2 >=
		      (own < (double)group->need ? own : (double)group->need));
		if (group->lends) {
			CHECK(group->part <=
			      group->need + room->pages / FGIO_ROOM_FIRST);
			continue;
		}
		asks = true;
		/* All that ask have the same for their weight. */
		if (level == 0)
			level = (double)room->left / (double)room->asking;
		CHECK((double)group->part <= level * group->weight + 1);
		CHECK((double)group->part + 2 >= level * group->weight);
		/* They have use for it, once all was lent that can be. */
		CHECK(!all_rounds || group->part <= group->need);
	}
	CHECK(sum <= room->pages);
	CHECK(!asks || sum + 2 * room->groups >= room->pages);
}

static void test_parts_are_the_room(void **state)
{
	uint64_t random = fresh_seed("parts");
	struct fgio_room_group groups[GROUPS];
	u32 weights[GROUPS];

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		unsigned int count = 1 + next_random(&random) % GROUPS;
		unsigned int rounds = next_random(&random) % 2 ?
					      FGIO_ROOM_ROUNDS : GROUPS + 1;
		struct fgio_room room = { 0 };
		u64 now_ns = 100 * SECOND;

		memset(groups, 0, sizeof(groups));
		for (unsigned int j = 0; j < count; j++)
			weights[j] = 1 + (u32)random_size(&random, 20);
		for (int looks = 0; looks < 6; looks++) {
			u64 pages = 1 + random_size(&random, 40);

			now_ns += random_size(&random, 31);
			change_some(groups, weights, count, now_ns, &random);
			look(&room, groups, weights, count, pages, now_ns,
			     rounds);
			check_look(&room, groups, count, now_ns,
				   rounds > GROUPS);
		}
	}
}

/* Groups that dirty as fast as they may, and a device. */
struct model {
	struct fgio_room room;
	struct fgio_room_group groups[GROUPS];
	u32 weights[GROUPS];
	bool writes[GROUPS];
	double held[GROUPS];
	u64 went_ns[GROUPS];
	u64 longest_ns[GROUPS];
	u64 calls[GROUPS];
	unsigned int count;
	u64 pages;
	u64 chunk;
	double speed; /* pages per second */
	u64 now_ns;
};

/* First come, first served: each group has the device in parts of what it has. */
static void write_pages(struct model *model, double seconds)
{
	double all = 0, done = model->speed * seconds;

	for (unsigned int i = 0; i < model->count; i++)
		all += model->held[i];
	if (done > all)
		done = all;
	for (unsigned int i = 0; all > 0 && i < model->count; i++)
		model->held[i] -= done * model->held[i] / all;
}

static void write_call(struct model *model, unsigned int i)
{
	struct fgio_room_group *group = &model->groups[i];
	u64 waited_ns = model->now_ns - model->went_ns[i];
	u64 limit;

	fgio_room_dirty(&model->room, group, model->weights[i],
			(u64)model->held[i], model->now_ns);
	limit = fgio_room_limit(&model->room, group, model->weights[i]);
	if (!fgio_room_may_go(group, limit, (u64)model->held[i], model->now_ns))
		return;
	if (waited_ns > model->longest_ns[i])
		model->longest_ns[i] = waited_ns;
	model->went_ns[i] = model->now_ns;
	model->calls[i]++;
	model->held[i] += (double)model->chunk;
}

static void run_for(struct model *model, u64 span_ns)
{
	u64 end_ns = model->now_ns + span_ns;

	for (; model->now_ns < end_ns; model->now_ns += MILLISECOND) {
		write_pages(model, 0.001);
		if (model->now_ns % LOOK_NS == 0)
			look(&model->room, model->groups, model->weights,
			     model->count, model->pages, model->now_ns,
			     FGIO_ROOM_ROUNDS);
		for (unsigned int i = 0; i < model->count; i++)
			if (model->writes[i])
				write_call(model, i);
	}
}

static struct model new_model(uint64_t *random)
{
	struct model model = {
		.count = 2 + next_random(random) % 8,
		.pages = 20000 + next_random(random) % 200000,
		.now_ns = 10 * SECOND,
	};

	model.chunk = 1 + model.pages / 200;
	/* Half a second to five of what the device writes. */
	model.speed = (double)model.pages /
		      (0.5 + 0.5 * (double)(next_random(random) % 10));
	for (unsigned int i = 0; i < model.count; i++) {
		model.weights[i] = 100 + next_random(random) % 900;
		model.writes[i] = true;
		model.went_ns[i] = model.now_ns;
	}
	return model;
}

static double sum_of(const struct model *model, bool writes)
{
	double sum = 0;

	for (unsigned int i = 0; i < model->count; i++)
		sum += writes && !model->writes[i] ? 0 : model->weights[i];
	return sum;
}

/* What each that writes has, beside its part of the room by weight. */
static void check_parts(const struct model *model)
{
	double sum = sum_of(model, true);

	for (unsigned int i = 0; i < model->count; i++) {
		double part = (double)model->pages * model->weights[i] / sum;

		if (!model->writes[i])
			continue;
		CHECK(model->held[i] >= 0.8 * part);
		CHECK(model->held[i] <= part + (double)model->chunk + 1);
	}
}

/* As many calls as it takes to have all of the room and what is written. */
static void test_writers_have_parts_as_groups_come_and_go(void **state)
{
	uint64_t random = fresh_seed("writers");

	(void)state;
	for (int i = 0; i < 12; i++) {
		struct model model = new_model(&random);
		unsigned int one = next_random(&random) % model.count;

		/* One alone has it all. */
		memset(model.writes, 0, sizeof(model.writes));
		model.writes[one] = true;
		run_for(&model, 15 * SECOND);
		check_parts(&model);
		/* The others come: it waits while its pages are written. */
		for (unsigned int j = 0; j < model.count; j++)
			model.writes[j] = true;
		run_for(&model, 60 * SECOND);
		check_parts(&model);
		/* And it goes. */
		model.writes[one] = false;
		run_for(&model, 60 * SECOND);
		check_parts(&model);
		/* New weights. */
		for (unsigned int j = 0; j < model.count; j++)
			model.weights[j] = 100 + next_random(&random) % 900;
		run_for(&model, 60 * SECOND);
		check_parts(&model);
	}
}

/* The device writes nothing: the bound of the header, and no more than that. */
static void test_the_lightest_never_starves(void **state)
{
	uint64_t random = fresh_seed("ageing");

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct model model = new_model(&random);

		model.weights[0] = 1;
		model.speed = 0;
		run_for(&model, 10 * SECOND);
		memset(model.calls, 0, sizeof(model.calls));
		memset(model.longest_ns, 0, sizeof(model.longest_ns));
		run_for(&model, 30 * SECOND);
		for (unsigned int j = 0; j < model.count; j++) {
			CHECK(model.longest_ns[j] <=
			      FGIO_ROOM_AGE_NS + PAUSE_NS);
			CHECK(model.calls[j] >= 29 && model.calls[j] <= 31);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_leaves_what_others_have),
		cmocka_unit_test(test_two_writers_have_their_weights),
		cmocka_unit_test(test_parts_are_the_room),
		cmocka_unit_test(test_writers_have_parts_as_groups_come_and_go),
		cmocka_unit_test(test_the_lightest_never_starves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
