// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Trust: lists of cgroups one by one, then random histories of claims against a
 * model that keeps the threads alone, and counts them anew each time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../trust.h"
#include "check.h"

#define HISTORIES 300
#define STEPS 1000
#define THREADS 40
#define USERS 3

#define PATHS 9

static const char *const paths[PATHS] = {
	"/",	   "/a",    "/a/b",   "/a/b/c", "/ab",
	"/a/bc/d", "/user", "/user/1", "/user/1/x",
};

static bool takes(const char *text)
{
	struct fgio_trust_list list;

	return fgio_trust_parse(&list, text);
}

static void test_lists(void **state)
{
	struct fgio_trust_list list;

	(void)state;
	assert_true(fgio_trust_parse(&list, "/system.slice/a.service=10,/user\n"));
	assert_int_equal(list.count, 2);
	assert_string_equal(list.cgroup[0].path, "/system.slice/a.service");
	assert_int_equal(list.cgroup[0].max, 10);
	assert_string_equal(list.cgroup[1].path, "/user");
	assert_int_equal(list.cgroup[1].max, FGIO_TRUST_NO_LIMIT);
	assert_true(fgio_trust_parse(&list, "/a=5=7\n/b=\n,/c=x\n/d=0"));
	assert_int_equal(list.count, 4);
	assert_string_equal(list.cgroup[0].path, "/a=5");
	assert_int_equal(list.cgroup[0].max, 7);
	assert_string_equal(list.cgroup[1].path, "/b=");
	assert_string_equal(list.cgroup[2].path, "/c=x");
	assert_int_equal(list.cgroup[3].max, 0);
	assert_true(fgio_trust_parse(&list, "/=4"));
	assert_int_equal(list.cgroup[0].length, 0);
	assert_int_equal(list.cgroup[0].max, 4);
}

static void test_empty_lists(void **state)
{
	static const char *const empty[] = { "",      "\n",   "any",
					     "any\n", ",\n,", NULL };
	struct fgio_trust_list list;

	(void)state;
	for (unsigned int i = 0; empty[i]; i++) {
		assert_true(fgio_trust_parse(&list, empty[i]));
		assert_int_equal(list.count, 0);
	}
}

static void test_what_is_no_list(void **state)
{
	static const char *const wrong[] = {
		"a",	  "any,/a", "/a,any",  "/a/",	    "//",      "/a//b",
		"/a b",	  "/a\t",   " /a",     "/a,/b,/a",  "/a,/a=3", "/./a",
		"/a/..",  "/..",    "/a/.",    "=5",	    "5",       "any\n/a",
		"/a=4294967295",    "/a=99999999999999999999999", "/,/=3",
		NULL,
	};

	(void)state;
	for (unsigned int i = 0; wrong[i]; i++) {
		if (takes(wrong[i]))
			fail_msg("took %s", wrong[i]);
	}
	assert_true(takes("/a=4294967294,/...,/.a/..b"));
}

static void test_bounds_of_lists(void **state)
{
	char text[FGIO_TRUST_PATH_BYTES + 1] = "/";
	char many[8 * (FGIO_TRUST_CGROUPS_MAX + 1)] = "";

	(void)state;
	memset(text + 1, 'x', FGIO_TRUST_PATH_BYTES - 2);
	assert_true(takes(text));
	text[FGIO_TRUST_PATH_BYTES - 1] = 'x';
	assert_false(takes(text));
	for (unsigned int i = 0; i < FGIO_TRUST_CGROUPS_MAX; i++)
		sprintf(many + strlen(many), "/%u,", i);
	assert_true(takes(many));
	strcat(many, "/x");
	assert_false(takes(many));
}

static void test_paths_match_by_component(void **state)
{
	struct fgio_trust_list list;

	(void)state;
	assert_true(fgio_trust_parse(&list, "/a,/a/b,/"));
	assert_int_equal(fgio_trust_match(&list, "/a"), 1 | 4);
	assert_int_equal(fgio_trust_match(&list, "/a/b"), 1 | 2 | 4);
	assert_int_equal(fgio_trust_match(&list, "/a/b/c"), 1 | 2 | 4);
	assert_int_equal(fgio_trust_match(&list, "/a/bc"), 1 | 4);
	assert_int_equal(fgio_trust_match(&list, "/ab"), 4);
	assert_int_equal(fgio_trust_match(&list, "/b/a"), 4);
	assert_int_equal(fgio_trust_match(&list, "/"), 4);
	assert_int_equal(fgio_trust_match(&list, ""), 4);
}

/* A path that was cut off at the length of the longest entry is another one. */
static void test_cut_paths_do_not_match(void **state)
{
	char longest[FGIO_TRUST_PATH_BYTES] = "/", cut[FGIO_TRUST_PATH_BYTES];
	struct fgio_trust_list list;

	(void)state;
	memset(longest + 1, 'x', FGIO_TRUST_PATH_BYTES - 3);
	assert_true(fgio_trust_parse(&list, longest));
	memcpy(cut, longest, sizeof(cut));
	cut[FGIO_TRUST_PATH_BYTES - 2] = 'x';
	assert_int_equal(fgio_trust_match(&list, cut), 0);
	cut[FGIO_TRUST_PATH_BYTES - 2] = '/';
	assert_int_equal(fgio_trust_match(&list, cut), 1);
}

static void test_the_privileged_are_not_asked(void **state)
{
	const struct fgio_trust_limits limits = { 0 };
	const struct fgio_trust_user user = { .threads = 5, .foreground = 5 };
	struct fgio_trust_list list;
	struct fgio_trust_claim claim = {
		.privileged = true,
		.foreground = true,
		.adds_thread = true,
		.adds_foreground = true,
	};

	(void)state;
	assert_true(fgio_trust_parse(&list, "/a=0"));
	assert_int_equal(fgio_trust_judge(&list, &limits, &user, &claim),
			 FGIO_TRUST_GRANTED);
	claim.privileged = false;
	assert_int_equal(fgio_trust_judge(&list, &limits, &user, &claim),
			 FGIO_TRUST_NOT_LISTED);
}

enum claimed {
	A_TAG,
	FOREGROUND,
	A_WAIT,
	CLAIMS,
};

struct thread {
	bool there;
	bool foreground;
	bool declaring;
	unsigned int user;
	const char *path;
};

/* The machine as the model sees it. */
struct machine {
	struct thread thread[THREADS];
	struct fgio_trust_user user[USERS];
	struct fgio_trust_limits limits;
	struct fgio_trust_list list;
	u32 charged[THREADS];
};

static bool is_below(const struct fgio_trust_cgroup *cgroup, const char *path)
{
	char above[FGIO_TRUST_PATH_BYTES + 1], below[FGIO_TRUST_PATH_BYTES + 1];

	snprintf(above, sizeof(above), "%s/", cgroup->path);
	snprintf(below, sizeof(below), "%s/", path[1] ? path : "");
	return !strncmp(above, below, strlen(above));
}

static u32 model_user_count(const struct machine *machine, unsigned int user,
			    bool foreground)
{
	u32 count = 0;

	for (int i = 0; i < THREADS; i++) {
		const struct thread *thread = &machine->thread[i];

		count += thread->there && thread->user == user &&
			 (thread->foreground || !foreground);
	}
	return count;
}

static u32 model_cgroup_count(const struct machine *machine, u32 cgroup)
{
	u32 count = 0;

	for (int i = 0; i < THREADS; i++) {
		const struct thread *thread = &machine->thread[i];

		count += thread->there && thread->foreground &&
			 is_below(&machine->list.cgroup[cgroup], thread->path);
	}
	return count;
}

static u32 model_declaring(const struct machine *machine, unsigned int user)
{
	u32 count = 0;

	for (int i = 0; i < THREADS; i++)
		count += machine->thread[i].user == user &&
			 machine->thread[i].declaring;
	return count;
}

static enum fgio_trust_verdict model_judge(const struct machine *machine,
					   const struct thread *thread,
					   enum claimed what, bool privileged)
{
	bool listed = !machine->list.count, room = true;
	bool foreground = what == FOREGROUND;

	if (privileged)
		return FGIO_TRUST_GRANTED;
	for (u32 i = 0; i < machine->list.count; i++) {
		if (!is_below(&machine->list.cgroup[i], thread->path))
			continue;
		listed = true;
		room &= model_cgroup_count(machine, i) <
			machine->list.cgroup[i].max;
	}
	if (foreground && !listed)
		return FGIO_TRUST_NOT_LISTED;
	if (!thread->there && model_user_count(machine, thread->user, false) >=
				      machine->limits.threads)
		return FGIO_TRUST_USER_LIMIT;
	if (what == A_WAIT)
		return thread->declaring ||
				       model_declaring(machine, thread->user) <
					       machine->limits.foreground ?
			       FGIO_TRUST_GRANTED :
			       FGIO_TRUST_USER_LIMIT;
	if (!foreground || (thread->there && thread->foreground))
		return FGIO_TRUST_GRANTED;
	if (model_user_count(machine, thread->user, true) >=
	    machine->limits.foreground)
		return FGIO_TRUST_USER_LIMIT;
	return room ? FGIO_TRUST_GRANTED : FGIO_TRUST_CGROUP_LIMIT;
}

static void claim(struct machine *machine, unsigned int at, enum claimed what,
		  bool privileged)
{
	bool foreground = what == FOREGROUND;
	struct thread *thread = &machine->thread[at];
	struct fgio_trust_user *user = &machine->user[thread->user];
	struct fgio_trust_claim claim = {
		.privileged = privileged,
		.foreground = foreground,
		.adds_thread = !thread->there,
		.adds_foreground = foreground &&
				   !(thread->there && thread->foreground),
		.adds_declaring = what == A_WAIT && !thread->declaring,
		.cgroups = fgio_trust_match(&machine->list, thread->path),
	};
	enum fgio_trust_verdict verdict = fgio_trust_judge(
		&machine->list, &machine->limits, user, &claim);

	assert_int_equal(verdict,
			 model_judge(machine, thread, what, privileged));
	if (verdict != FGIO_TRUST_GRANTED)
		return;
	user->threads += claim.adds_thread;
	user->declaring += claim.adds_declaring;
	thread->declaring |= claim.adds_declaring;
	if (claim.adds_foreground) {
		machine->charged[at] = claim.cgroups;
		fgio_trust_charge(&machine->list, user, claim.cgroups);
	}
	thread->there = true;
	thread->foreground |= foreground;
}

static void uncharge(struct machine *machine, unsigned int at)
{
	struct thread *thread = &machine->thread[at];

	if (thread->there && thread->foreground)
		fgio_trust_release(&machine->list,
				   &machine->user[thread->user],
				   machine->charged[at]);
	thread->foreground = false;
}

static void end(struct machine *machine, unsigned int at, uint64_t *random)
{
	struct thread *thread = &machine->thread[at];

	uncharge(machine, at);
	machine->user[thread->user].threads -= thread->there;
	machine->user[thread->user].declaring -= thread->declaring;
	*thread = (struct thread){
		.user = next_random(random) % USERS,
		.path = paths[next_random(random) % PATHS],
	};
}

static void check_counts(const struct machine *machine)
{
	for (unsigned int i = 0; i < USERS; i++) {
		assert_int_equal(machine->user[i].threads,
				 model_user_count(machine, i, false));
		assert_int_equal(machine->user[i].foreground,
				 model_user_count(machine, i, true));
		assert_int_equal(machine->user[i].declaring,
				 model_declaring(machine, i));
	}
	for (u32 i = 0; i < machine->list.count; i++)
		assert_int_equal(machine->list.cgroup[i].foreground,
				 model_cgroup_count(machine, i));
}

static void make_list(struct machine *machine, uint64_t *random)
{
	char text[256] = "";

	for (unsigned int i = 0; i < PATHS; i++) {
		if (next_random(random) % 3)
			continue;
		sprintf(text + strlen(text), "%s", paths[i]);
		if (next_random(random) % 2)
			sprintf(text + strlen(text), "=%u",
				(unsigned int)(next_random(random) % 8));
		strcat(text, next_random(random) % 2 ? "," : "\n");
	}
	assert_true(fgio_trust_parse(&machine->list, text));
}

static void check_history(uint64_t *random)
{
	struct machine machine = {
		.limits = { .threads = next_random(random) % 20,
			    .foreground = next_random(random) % 20 },
	};

	if (next_random(random) % 4)
		make_list(&machine, random);
	for (unsigned int i = 0; i < THREADS; i++)
		end(&machine, i, random);
	for (unsigned int i = 0; i < STEPS; i++) {
		unsigned int at = next_random(random) % THREADS;

		switch (next_random(random) % 4) {
		case 0:
			end(&machine, at, random);
			break;
		case 1:
			uncharge(&machine, at);
			break;
		default:
			claim(&machine, at, next_random(random) % CLAIMS,
			      next_random(random) % 8 == 0);
		}
		check_counts(&machine);
	}
}

static void test_random_histories(void **state)
{
	uint64_t random = fresh_seed("histories of claims");

	(void)state;
	for (int i = 0; i < HISTORIES; i++)
		check_history(&random);
}

/* In any text, every accepted entry matches itself. */
static void test_random_texts(void **state)
{
	static const char letters[] = "//a.,=\n1 ";
	struct fgio_trust_list list;
	uint64_t random = fresh_seed("texts");
	char text[24];

	(void)state;
	for (int i = 0; i < 300000; i++) {
		unsigned int length = next_random(&random) % sizeof(text);

		for (unsigned int at = 0; at < length; at++)
			text[at] = letters[next_random(&random) %
					   (sizeof(letters) - 1)];
		text[length] = 0;
		if (!fgio_trust_parse(&list, text))
			continue;
		for (u32 at = 0; at < list.count; at++) {
			const char *path = list.cgroup[at].path;

			assert_int_equal(strlen(path), list.cgroup[at].length);
			assert_true(fgio_trust_match(&list, path) & 1U << at);
			assert_null(strstr(path, "//"));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_empty_lists),
		cmocka_unit_test(test_what_is_no_list),
		cmocka_unit_test(test_bounds_of_lists),
		cmocka_unit_test(test_paths_match_by_component),
		cmocka_unit_test(test_cut_paths_do_not_match),
		cmocka_unit_test(test_the_privileged_are_not_asked),
		cmocka_unit_test(test_random_histories),
		cmocka_unit_test(test_random_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
