// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Admission by several threads at once, which take the lock only where a caller
 * must: limits hold, no thread waits in vain, and the counts end at zero. A
 * thread that yields to another program is away for milliseconds, so a busy
 * machine plays fewer rounds. An alarm ends a test in which a thread waits for
 * ever.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../admission.h"
#include "check.h"

#define THREADS 8
#define ROUNDS 40000
#define PLAY_S 15
#define LIMIT_S 120

/* How a test is played, beside taking and giving back slots. */
struct game {
	struct fgio_admission admission;
	pthread_mutex_t lock;
	uint32_t holders[FGIO_LINES];
	uint32_t most[FGIO_LINES];
	unsigned int lines;
	bool other_present;
	bool changes; /* slots change their class, and waiters are promoted */
	time_t end_s; /* no round begins after that */
};

struct player {
	struct game *game;
	uint64_t random;
	uint64_t rounds;
	pthread_t thread;
};

static void grant_all(struct game *game)
{
	while (fgio_admission_grant(&game->admission, game->other_present))
		;
}

static void look_after_waiters(struct game *game)
{
	if (!fgio_admission_has_waiters(&game->admission))
		return;
	pthread_mutex_lock(&game->lock);
	grant_all(game);
	pthread_mutex_unlock(&game->lock);
}

static bool was_granted(struct game *game, struct fgio_waiter *waiter,
			bool promote)
{
	bool granted;

	pthread_mutex_lock(&game->lock);
	if (promote && fgio_admission_promote(&game->admission, waiter))
		grant_all(game);
	granted = waiter->granted;
	pthread_mutex_unlock(&game->lock);
	return granted;
}

static enum fgio_line take(struct player *player, enum fgio_line line)
{
	struct game *game = player->game;
	bool present = game->other_present;
	bool promote = game->changes && next_random(&player->random) % 4 == 0;
	struct fgio_waiter waiter;

	if (fgio_admission_try(&game->admission, line, present))
		return line;
	pthread_mutex_lock(&game->lock);
	fgio_admission_wait(&game->admission, &waiter, line);
	grant_all(game);
	pthread_mutex_unlock(&game->lock);
	while (!was_granted(game, &waiter, promote))
		sched_yield();
	return waiter.line;
}

static void hold(struct player *player, enum fgio_line line)
{
	struct game *game = player->game;
	uint32_t holders = fgio_add(&game->holders[line], 1);
	uint32_t spins = (uint32_t)(next_random(&player->random) % 64);

	if (!game->changes)
		CHECK(holders <= game->most[line]);
	if (spins == 0)
		sched_yield();
	while (spins--)
		(void)fgio_load(&game->admission.total);
	fgio_sub(&game->holders[line], 1);
}

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void play_round(struct player *player)
{
	struct game *game = player->game;
	uint64_t random = next_random(&player->random);
	enum fgio_line line = random / 8 % game->lines;

	line = take(player, line);
	hold(player, line);
	if (game->changes && random % 8 == 0) {
		enum fgio_line to = line == FGIO_LINE_CRITICAL ?
					    FGIO_LINE_NONCRITICAL :
					    FGIO_LINE_CRITICAL;

		fgio_admission_reclassify(&game->admission, line, to);
		look_after_waiters(game);
		line = to;
	}
	fgio_admission_release(&game->admission, line);
	look_after_waiters(game);
}

static void *play(void *data)
{
	struct player *player = data;

	while (player->rounds < ROUNDS && now_s() < player->game->end_s) {
		play_round(player);
		player->rounds++;
	}
	return NULL;
}

static void play_game(struct game *game)
{
	struct player players[THREADS];
	uint64_t seed = fresh_seed("players");
	uint64_t rounds = 0, granted = 0;

	alarm(LIMIT_S);
	game->end_s = now_s() + PLAY_S;
	pthread_mutex_init(&game->lock, NULL);
	for (int i = 0; i < THREADS; i++) {
		players[i] = (struct player){ .game = game,
					      .random = next_random(&seed) };
		assert_int_equal(pthread_create(&players[i].thread, NULL, play,
						&players[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(players[i].thread, NULL);
		rounds += players[i].rounds;
	}
	alarm(0);
	assert_true(rounds > THREADS);
	assert_false(fgio_admission_has_waiters(&game->admission));
	for (int line = 0; line < FGIO_LINES; line++) {
		assert_int_equal(game->admission.admitted[line], 0);
		granted += game->admission.granted[line];
	}
	assert_int_equal(granted, rounds);
}

static void test_shares_hold(void **state)
{
	struct game game = { .lines = 2, .other_present = true };

	(void)state;
	fgio_admission_init(&game.admission, 16);
	fgio_admission_set_shares(&game.admission, 2, 3);
	/* Critical ones alone may have all but the reserve. */
	game.most[FGIO_CRITICAL] = 15;
	game.most[FGIO_NONCRITICAL] = 3;
	play_game(&game);
}

static void test_no_task_waits_in_vain(void **state)
{
	struct game game = { .lines = FGIO_LINES, .changes = true };

	(void)state;
	fgio_admission_init(&game.admission, 4);
	fgio_admission_set_shares(&game.admission, 1, 1);
	play_game(&game);
}

static void test_one_slot_each(void **state)
{
	struct game game = { .lines = 2 };

	(void)state;
	fgio_admission_init(&game.admission, 2);
	game.most[FGIO_CRITICAL] = 1;
	game.most[FGIO_NONCRITICAL] = 1;
	play_game(&game);
}

/* Carriers may hold their reserve beyond what the others leave, and no more. */
static void test_carriers_leave_the_reserve(void **state)
{
	struct game game = { .lines = FGIO_LINES };

	(void)state;
	fgio_admission_init(&game.admission, 16);
	fgio_admission_set_shares(&game.admission, 4, 4);
	game.most[FGIO_LINE_CRITICAL] = 15;
	game.most[FGIO_LINE_NONCRITICAL] = 15;
	game.most[FGIO_LINE_CARRIER] = 15;
	play_game(&game);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares_hold),
		cmocka_unit_test(test_no_task_waits_in_vain),
		cmocka_unit_test(test_one_slot_each),
		cmocka_unit_test(test_carriers_leave_the_reserve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
