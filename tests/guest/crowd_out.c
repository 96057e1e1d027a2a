// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * One user fills the shared tables, and another user's foreground threads are still boosted
 * for: crowd_out CASE [ARGUMENT...], as root. Exit status 0 when all cases hold.
 *
 * Each case has its control: the same check of the same counter, where the boost must fail.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>

#include "device_calls.h"

#define SECOND_USER 1234
/* A set of the table gets 20 of them on the average, and has 8 places. */
#define FLOOD 10000
/* One walk finds all that can be found. */
#define WALKS 5

/* --- common to all cases --- */

static struct fgio_state state(void)
{
	struct fgio_state now;

	CHECK("state", !ioctl(device, FGIO_IOC_STATE, &now));
	return now;
}

static int futex(int *word, int operation, int value)
{
	return (int)syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void run_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	CHECK("thread", !pthread_create(&thread, NULL, function, argument));
	CHECK("detach", !pthread_detach(thread));
}

static int followed;

static void *be_foreground(void *unused)
{
	(void)unused;
	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	__atomic_store_n(&followed, 1, __ATOMIC_RELEASE);
	pause();
	return NULL;
}

/* Waits are followed from now on. */
static void keep_hooks(void)
{
	run_thread(be_foreground, NULL);
	while (!__atomic_load_n(&followed, __ATOMIC_ACQUIRE))
		usleep(1000);
}

static void interrupt(int unused)
{
	(void)unused;
}

/* A foreground thread begins to wait. Return: whether walks boosted a task. */
static bool walks_boost(unsigned long long boosts_before)
{
	struct fgio_state first, now;

	while (!state().foreground_waiting)
		usleep(1000);
	first = state();
	do {
		usleep(1000);
		now = state();
	} while (now.boosts == boosts_before && now.walks < first.walks + WALKS);
	return now.boosts != boosts_before;
}

/*
 * Whether a task is boosted for a foreground thread that waits in a function. The wait
 * is interrupted after the boost, or after several walks without one: a wakeup would
 * teach the module the waker.
 */
static bool is_helped(void *(*wait)(void *))
{
	const struct sigaction action = { .sa_handler = interrupt };
	unsigned long long before = state().boosts;
	pthread_t thread;
	bool helped;

	CHECK("handler", !sigaction(SIGUSR1, &action, NULL));
	CHECK("thread", !pthread_create(&thread, NULL, wait, NULL));
	helped = walks_boost(before);
	while (pthread_tryjoin_np(thread, NULL)) {
		pthread_kill(thread, SIGUSR1);
		usleep(1000);
	}
	return helped;
}

/* Runs a function as this user, in a process of its own, to its end. */
static void as_user(uid_t uid, void (*function)(void))
{
	pid_t child, self = getpid();
	int status;

	fflush(stdout);
	child = fork();
	CHECK("fork", child >= 0);
	if (!child) {
		become(uid);
		end_with(self);
		function();
		_exit(0);
	}
	CHECK("wait", waitpid(child, &status, 0) == child);
	CHECK("it did", WIFEXITED(status) && !WEXITSTATUS(status));
}

static void as_root(void (*function)(void))
{
	as_user(0, function);
}

static void as_first_user(void (*function)(void))
{
	as_user(FIRST_USER, function);
}

static void as_second_user(void (*function)(void))
{
	as_user(SECOND_USER, function);
}

/* --- floods --- */

static void flood_semaphores(void)
{
	int set = semget(IPC_PRIVATE, FLOOD, 0600), i;
	struct sembuf up = { .sem_op = 1 };

	CHECK("semget", set >= 0);
	for (i = 0; i < FLOOD; i++) {
		up.sem_num = (unsigned short)i;
		CHECK("semop", !semop(set, &up, 1));
	}
	CHECK("rmid", !semctl(set, 0, IPC_RMID));
}

/* Semaphores in a call, and calls that wait at once. */
#define BLOCK 8
#define WATCHERS 32

static int empty_set;

static void *wait_for_blocks(void *first)
{
	struct timespec patience = { .tv_nsec = 20000000 };
	struct sembuf down[BLOCK];
	unsigned int at, i;

	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	for (at = (uintptr_t)first; at + BLOCK <= FLOOD; at += WATCHERS * BLOCK) {
		for (i = 0; i < BLOCK; i++)
			down[i] = (struct sembuf){ .sem_num = at + i, .sem_op = -1 };
		CHECK("in vain",
		      semtimedop(empty_set, down, BLOCK, &patience) &&
			      errno == EAGAIN);
	}
	return NULL;
}

/* Foreground threads wait for semaphores that stay zero, long enough for walks to see them. */
static void flood_watches(void)
{
	pthread_t threads[WATCHERS];
	uintptr_t i;

	empty_set = semget(IPC_PRIVATE, FLOOD, 0600);
	CHECK("semget", empty_set >= 0);
	for (i = 0; i < WATCHERS; i++)
		CHECK("thread",
		      !pthread_create(&threads[i], NULL, wait_for_blocks,
				      (void *)(i * BLOCK)));
	for (i = 0; i < WATCHERS; i++)
		CHECK("join", !pthread_join(threads[i], NULL));
	CHECK("rmid", !semctl(empty_set, 0, IPC_RMID));
}

/* --- a condition --- */

static int condition, signalled;

/* Lives on: an exited task is no waker. */
static void *signal_once(void *unused)
{
	(void)unused;
	while (futex(&condition, FUTEX_WAKE, 1) != 1)
		usleep(1000);
	__atomic_store_n(&signalled, 1, __ATOMIC_RELEASE);
	pause();
	return NULL;
}

static void *wait_for_condition(void *unused)
{
	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	futex(&condition, FUTEX_WAIT, 0);
	return unused;
}

static bool waker_is_found(void)
{
	return is_helped(wait_for_condition);
}

static void prepare_condition(void)
{
	pthread_t thread;

	keep_hooks();
	CHECK("no waker is known", !waker_is_found());
	CHECK("thread", !pthread_create(&thread, NULL, wait_for_condition, NULL));
	CHECK("walks saw it wait", !walks_boost(state().boosts));
	run_thread(signal_once, NULL);
	CHECK("join", !pthread_join(thread, NULL));
	while (!__atomic_load_n(&signalled, __ATOMIC_ACQUIRE))
		usleep(1000);
	CHECK("the waker is known", waker_is_found());
}

/* The waker of a condition is still known after another user's traffic. */
static void case_conditions(char **arguments)
{
	unsigned int lost;

	(void)arguments;
	prepare_condition();
	as_first_user(flood_semaphores);
	CHECK("beside another user's semaphores", waker_is_found());
	as_root(flood_semaphores);
	CHECK("beside semaphores of its own", waker_is_found());
	lost = state().watches_lost;
	as_first_user(flood_watches);
	CHECK("the watches had to give way", state().watches_lost > lost);
	CHECK("not this one", waker_is_found());
	/* The control: watches of its own user do push it out. */
	as_root(flood_watches);
	CHECK("forgotten", !waker_is_found());
}

/* --- a lock that is a semaphore --- */

static int lock;

static void *hold_lock(void *uid)
{
	struct sembuf down = { .sem_op = -1 };

	(void)uid;
	/* Of this thread alone: glibc's function changes all threads. */
	CHECK("setresuid", !syscall(SYS_setresuid, SECOND_USER, SECOND_USER, SECOND_USER));
	CHECK("taken", !semop(lock, &down, 1));
	pause();
	return NULL;
}

static void take_lock(void)
{
	lock = semget(IPC_PRIVATE, 1, 0666);
	CHECK("semget", lock >= 0 && !semctl(lock, 0, SETVAL, 1));
	run_thread(hold_lock, NULL);
	while (semctl(lock, 0, GETVAL))
		usleep(1000);
	usleep(10000);
}

static void *wait_for_lock(void *unused)
{
	struct sembuf down = { .sem_op = -1 };

	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	CHECK("not taken", semop(lock, &down, 1) && errno == EINTR);
	return unused;
}

/* A lock is taken, then the flood comes, then a foreground thread wants the lock. */
static bool holder_is_found(void (*flood)(void (*)(void)))
{
	bool found;

	take_lock();
	flood(flood_semaphores);
	found = is_helped(wait_for_lock);
	CHECK("rmid", !semctl(lock, 0, IPC_RMID));
	return found;
}

/* The holder of a lock is recorded before any task waits for it. */
static void case_holders(char **arguments)
{
	(void)arguments;
	keep_hooks();
	CHECK("beside another user's semaphores", holder_is_found(as_first_user));
	/* The control: semaphores of the holder's own user push it out. */
	CHECK("forgotten", !holder_is_found(as_second_user));
}

/* --- a table that is full of declared waits --- */

/* More than waits_max=512, with which the module is loaded. */
#define DECLARERS 1000
#define TRIES 8

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pid_t declared_for;
static bool declare_as_foreground;
/* Shared with the declarers' process. */
static int *declared;

static void *declare(void *unused)
{
	struct fgio_wait_for wait = { .tid = declared_for };

	if (declare_as_foreground)
		CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	CHECK("declare", !ioctl(device, FGIO_IOC_WAIT_FOR, &wait));
	__atomic_add_fetch(declared, 1, __ATOMIC_RELEASE);
	pause();
	return unused;
}

static void declare_in_threads(void)
{
	pthread_attr_t small;
	pthread_t thread;
	int i;

	declared_for = getpid();
	CHECK("stacks", !pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 32768));
	for (i = 0; i < DECLARERS; i++)
		CHECK("thread", !pthread_create(&thread, &small, declare, NULL));
	pause();
}

/* Returns when all threads of the new process declared a wait. */
static pid_t begin_declarers(void)
{
	pid_t child, self = getpid();

	*declared = 0;
	fflush(stdout);
	child = fork();
	CHECK("fork", child >= 0);
	if (!child) {
		become(FIRST_USER);
		end_with(self);
		declare_in_threads();
	}
	while (__atomic_load_n(declared, __ATOMIC_ACQUIRE) < DECLARERS) {
		CHECK("they live", !waitpid(child, NULL, WNOHANG));
		usleep(10000);
	}
	return child;
}

static void end_declarers(pid_t child)
{
	kill(child, SIGKILL);
	CHECK("wait", waitpid(child, NULL, 0) == child);
	wait_for_tags(1);
}

static void *hold_mutex(void *unused)
{
	CHECK("lock", !pthread_mutex_lock(&mutex));
	__atomic_store_n(&signalled, 1, __ATOMIC_RELEASE);
	pause();
	return unused;
}

/* One FUTEX_WAIT of glibc's mutex; glibc would wait again after a signal. */
static void *wait_for_mutex(void *unused)
{
	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	mutex.__data.__lock = 2;
	futex(&mutex.__data.__lock, FUTEX_WAIT, 2);
	return unused;
}

/* Each try is another thread, which hashes to another part of the table. */
static int count_helped(void)
{
	int helped = 0, i;

	for (i = 0; i < TRIES; i++)
		helped += is_helped(wait_for_mutex);
	return helped;
}

/* No limit holds for root: declared waits must give way. */
static void case_declared(char **arguments)
{
	pid_t child;
	int helped;

	(void)arguments;
	declared = mmap(NULL, sizeof(*declared), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK("memory", declared != MAP_FAILED);
	keep_hooks();
	run_thread(hold_mutex, NULL);
	while (!__atomic_load_n(&signalled, __ATOMIC_ACQUIRE))
		usleep(1000);
	CHECK("alone", count_helped() == TRIES);
	child = begin_declarers();
	helped = count_helped();
	printf("%d of %d helped beside %d declared waits\n", helped, TRIES, DECLARERS);
	CHECK("all", helped == TRIES);
	CHECK("some had to give way", state().waits_lost);
	end_declarers(child);
	/* The control: waits of foreground threads do not give way. */
	declare_as_foreground = true;
	child = begin_declarers();
	helped = count_helped();
	printf("%d of %d helped beside as many foreground waits\n", helped, TRIES);
	CHECK("not all", helped < TRIES);
	end_declarers(child);
}

static const struct device_case cases[] = {
	{ "conditions", case_conditions, 0 },
	{ "holders", case_holders, 0 },
	{ "declared", case_declared, 0 },
};

int main(int argc, char **argv)
{
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	CHECK(FGIO_DEVICE_PATH, device >= 0);
	return RUN_CASE(cases, argc, argv);
}
