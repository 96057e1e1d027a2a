// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Abuse of the module, with foreground tasks in the middle of it:
 *
 *	abuse crowd THREADS FOREGROUND SECONDS
 *	abuse chain mutex|hint STEPS
 *	abuse cycle mutex|hint
 *	abuse dying ROUNDS
 *	abuse exiting ROUNDS
 *	abuse namespace
 *	abuse unprivileged
 *	abuse sleepers THREADS SECONDS
 *	abuse idle THREADS foreground|background
 *	abuse mortals THREADS	until SIGTERM
 *	abuse recycled SECONDS
 *	abuse lingering ROUNDS
 *	abuse churn SEED	until SIGTERM
 *	abuse crowded THREADS
 *	abuse owners THREADS
 *	abuse stirred THREADS
 *	abuse dirty write|ioctl FILE MIB
 *	abuse hook NAME		prints "works attached error" of a hook
 *	abuse state NAME	prints a figure of FGIO_IOC_STATE
 *
 * Files are in the current folder. Exit status 0 when all went as it should.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kmod/fgio_test.h"
#include "uapi/fgio.h"

#define STACK_BYTES 32768
#define THREADS_IN_PROCESS 500
#define LOCKS 64
#define STEPS_MAX 64
#define HOOKS_MAX 128
#define SECOND_USER 1234

#define CHECK(condition)                                                  \
	do {                                                              \
		if (!(condition)) {                                       \
			printf("line %d: %s is false (errno %s)\n",       \
			       __LINE__, #condition,                      \
			       strerrorname_np(errno));                   \
			fflush(stdout);                                   \
			_exit(1);                                         \
		}                                                         \
	} while (0)

static void open_and_call(unsigned long call, void *argument)
{
	int device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	CHECK(device >= 0);
	CHECK(!ioctl(device, call, argument));
	close(device);
}

/* The device is not kept open: it would keep the module from being unloaded. */
static void become_foreground(void)
{
	struct fgio_tag tag = { .tid = 0, .class = FGIO_TAG_FOREGROUND };

	open_and_call(FGIO_IOC_SET_TAG, &tag);
}

static int try_hint(pid_t tid)
{
	struct fgio_wait_for wait = { .tid = tid };
	int device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	int result, error;

	CHECK(device >= 0);
	result = ioctl(device, FGIO_IOC_WAIT_FOR, &wait);
	error = errno;
	close(device);
	errno = error;
	return result;
}

static struct fgio_state state(void)
{
	struct fgio_state now = { 0 };

	open_and_call(FGIO_IOC_STATE, &now);
	return now;
}

/* The factor by which a debug kernel may be slower. */
static unsigned int slowness(void)
{
	const char *text = getenv("LAB_SLOWNESS");

	return text ? strtoul(text, NULL, 10) : 1;
}

static void pause_ms(unsigned int ms)
{
	struct timespec time = { .tv_sec = ms / 1000,
				 .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&time, &time))
		;
}

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000ULL + time.tv_nsec / 1000000;
}

/* No foreground task waits any more: boosts end within a walk or two. */
static void check_no_boost_is_left(void)
{
	unsigned int tries;

	for (tries = 0; tries < 100 * slowness(); tries++) {
		struct fgio_state now = state();

		if (!now.boosted && !now.foreground_waiting)
			return;
		pause_ms(20);
	}
	printf("%u tasks boosted, %u foreground tasks waiting\n",
	       state().boosted, state().foreground_waiting);
	_exit(1);
}

static pthread_t begin_thread(void *(*function)(void *), uintptr_t argument)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	CHECK(!pthread_create(&thread, &attributes, function,
			      (void *)argument));
	pthread_attr_destroy(&attributes);
	return thread;
}

static void *shared(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static void make_mutex(pthread_mutex_t *mutex, int robust)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, robust);
	CHECK(!pthread_mutex_init(mutex, &attributes));
	pthread_mutexattr_destroy(&attributes);
}

static pid_t child(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void expect_success(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static struct fgio_hook_state hook_states[HOOKS_MAX];

static unsigned int read_hooks(void)
{
	struct fgio_hook_list hooks = {
		.hooks = (uintptr_t)hook_states,
		.capacity = HOOKS_MAX,
	};

	open_and_call(FGIO_IOC_HOOKS, &hooks);
	return hooks.count < HOOKS_MAX ? hooks.count : HOOKS_MAX;
}

/*
 * A wait is recorded when it begins with the hooks attached: this gives fgio a
 * foreground task, which stays, and time to attach them.
 */
static void await_hooks(void)
{
	unsigned int i, attached, before = 0, unchanged = 0;

	if (!child()) {
		become_foreground();
		for (;;)
			pause_ms(1000);
	}
	while (unchanged < 5) {
		unsigned int count = read_hooks();

		for (i = 0, attached = 0; i < count; i++)
			if (hook_states[i].state & FGIO_HOOK_ATTACHED)
				attached++;
		unchanged = attached && attached == before ? unchanged + 1 : 0;
		before = attached;
		pause_ms(100);
	}
}

/* ---- crowd ---- */

static struct crowd {
	pthread_mutex_t locks[LOCKS];
	sem_t semaphore;
	_Atomic unsigned int begun;
	_Atomic unsigned int foreground;
	_Atomic bool over;
} *crowd;

static void take_a_lock(unsigned int *seed)
{
	pthread_mutex_t *lock = &crowd->locks[rand_r(seed) % LOCKS];

	CHECK(!pthread_mutex_lock(lock));
	if (rand_r(seed) % 4 == 0)
		pause_ms(1);
	CHECK(!pthread_mutex_unlock(lock));
}

static void use_semaphore(unsigned int *seed)
{
	struct timespec until;

	if (rand_r(seed) % 2) {
		CHECK(!sem_post(&crowd->semaphore));
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	sem_timedwait(&crowd->semaphore, &until);
}

static void write_a_little(unsigned int *seed, unsigned int number)
{
	char name[32];
	int file;

	snprintf(name, sizeof(name), "crowd%u", number % 50);
	file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(file >= 0);
	CHECK(pwrite(file, name, sizeof(name), rand_r(seed) % 65536) ==
	      sizeof(name));
	if (rand_r(seed) % 4 == 0)
		fdatasync(file);
	close(file);
}

static void *crowd_thread(void *argument)
{
	unsigned int number = (uintptr_t)argument, seed = number;

	if (number % 10 == 0 && crowd->foreground) {
		crowd->foreground--;
		become_foreground();
	}
	crowd->begun++;
	while (!crowd->over) {
		switch (rand_r(&seed) % 16) {
		case 0:
			write_a_little(&seed, number);
			break;
		case 1 ... 4:
			use_semaphore(&seed);
			break;
		default:
			take_a_lock(&seed);
		}
		pause_ms(4000 + rand_r(&seed) % 8000);
	}
	return NULL;
}

static void crowd_process(unsigned int first, unsigned int threads)
{
	pthread_t thread[THREADS_IN_PROCESS];
	unsigned int i;

	for (i = 0; i < threads; i++)
		thread[i] = begin_thread(crowd_thread, first + i);
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

static void run_crowd(unsigned int threads, unsigned int foreground,
		      unsigned int seconds)
{
	unsigned int i, processes = 0;
	pid_t pids[64];

	crowd = shared(sizeof(*crowd));
	for (i = 0; i < LOCKS; i++)
		make_mutex(&crowd->locks[i], PTHREAD_MUTEX_STALLED);
	CHECK(!sem_init(&crowd->semaphore, 1, 0));
	crowd->foreground = foreground;
	for (i = 0; i < threads; i += THREADS_IN_PROCESS) {
		CHECK(processes < 64);
		pids[processes] = child();
		if (!pids[processes++])
			crowd_process(i, THREADS_IN_PROCESS);
	}
	while (crowd->begun < threads)
		pause_ms(100);
	printf("%u threads, %u foreground\n", threads,
	       foreground - crowd->foreground);
	pause_ms(seconds * 1000);
	crowd->over = true;
	for (i = 0; i < processes; i++)
		expect_success(pids[i]);
	printf("boosts %llu, walks %llu, lost %llu, overflows %llu\n",
	       state().boosts, state().walks, state().waits_lost,
	       state().walk_overflows);
	CHECK(state().boosts > 0);
	check_no_boost_is_left();
}

/* ---- chains and cycles ---- */

static struct {
	pthread_mutex_t locks[STEPS_MAX + 1];
	_Atomic pid_t tids[STEPS_MAX + 1];
	_Atomic bool over;
	bool hint;
	bool cyclic;
	unsigned int steps;
} chain;

static pid_t tid_of(unsigned int step)
{
	while (!chain.tids[step])
		pause_ms(1);
	return chain.tids[step];
}

/* Each waits for the task before it; the first, in a cycle, for the last. */
static void *chain_thread(void *argument)
{
	unsigned int step = (uintptr_t)argument;
	unsigned int next = step ? step - 1 : chain.steps;
	bool last = step == 0 && !chain.cyclic;

	if (step == chain.steps || (chain.cyclic && step == 0))
		become_foreground();
	if (!chain.hint)
		CHECK(!pthread_mutex_lock(&chain.locks[step]));
	chain.tids[step] = syscall(SYS_gettid);
	tid_of(next);
	if (last) {
		while (!chain.over)
			pause_ms(5);
	} else if (chain.hint) {
		CHECK(!try_hint(tid_of(next)));
		while (!chain.over)
			pause_ms(5);
		CHECK(!try_hint(0));
	} else {
		CHECK(!pthread_mutex_lock(&chain.locks[next]));
		CHECK(!pthread_mutex_unlock(&chain.locks[next]));
	}
	if (!chain.hint)
		CHECK(!pthread_mutex_unlock(&chain.locks[step]));
	return NULL;
}

static void begin_chain(bool hint, unsigned int steps,
			pthread_t threads[STEPS_MAX + 1])
{
	unsigned int i;

	CHECK(steps >= 1 && steps <= STEPS_MAX);
	chain.hint = hint;
	chain.steps = steps;
	for (i = 0; i <= steps; i++)
		make_mutex(&chain.locks[i], PTHREAD_MUTEX_STALLED);
	for (i = 0; i <= steps; i++)
		threads[i] = begin_thread(chain_thread, i);
	for (i = 0; i <= steps; i++)
		tid_of(i);
	/* All tasks sleep, and some walks have visited them. */
	pause_ms(500 * slowness());
}

static void run_chain(bool hint, unsigned int steps)
{
	pthread_t threads[STEPS_MAX + 1];
	struct fgio_state now;
	unsigned int i;

	begin_chain(hint, steps, threads);
	now = state();
	printf("%u steps: %u boosted, %u waiting\n", steps, now.boosted,
	       now.foreground_waiting);
	/* As deep as chains are followed, and no deeper. */
	if (hint)
		CHECK(now.boosted >= 1 && now.boosted <= 8);
	chain.over = true;
	for (i = 0; i <= steps; i++)
		pthread_join(threads[i], NULL);
	check_no_boost_is_left();
}

/* A cycle of mutexes never ends by itself. */
static void run_cycle(bool hint)
{
	pthread_t threads[STEPS_MAX + 1];
	struct fgio_state before, now;
	pid_t pid = child();

	if (!pid) {
		chain.cyclic = true;
		begin_chain(hint, 2, threads);
		pause();
	}
	pause_ms(2000);
	before = state();
	pause_ms(200);
	now = state();
	printf("%llu walks in 200 ms, %u boosted, %u waiting\n",
	       now.walks - before.walks, now.boosted, now.foreground_waiting);
	CHECK(now.walks - before.walks < 1000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check_no_boost_is_left();
}

/* ---- ends of life ---- */

static struct {
	pthread_mutex_t lock;
	_Atomic unsigned int held;
} *life;

static void *hold_for_ever(void *argument)
{
	(void)argument;
	CHECK(!pthread_mutex_lock(&life->lock));
	life->held++;
	for (;;)
		pause_ms(1000);
}

/* The lock says that its owner died while it was boosted. */
static void *outlive(void *rounds)
{
	uintptr_t round;
	pid_t pid;

	become_foreground();
	for (round = 0; round < (uintptr_t)rounds; round++) {
		pid = child();
		if (!pid)
			hold_for_ever(NULL);
		while (life->held <= round)
			pause_ms(1);
		if (!fork()) {
			pause_ms(5 + round % 5);
			kill(pid, SIGKILL);
			_exit(0);
		}
		CHECK(pthread_mutex_lock(&life->lock) == EOWNERDEAD);
		CHECK(!pthread_mutex_consistent(&life->lock));
		CHECK(!pthread_mutex_unlock(&life->lock));
		CHECK(wait(NULL) > 0 && wait(NULL) > 0);
	}
	return NULL;
}

static void run_dying(unsigned int rounds)
{
	uint64_t boosts = state().boosts;

	life = shared(sizeof(*life));
	make_mutex(&life->lock, PTHREAD_MUTEX_ROBUST);
	pthread_join(begin_thread(outlive, rounds), NULL);
	printf("%llu boosts in %u deaths\n", state().boosts - boosts, rounds);
	CHECK(state().boosts > boosts);
	check_no_boost_is_left();
}

static void *hold_and_end(void *lock)
{
	CHECK(!pthread_mutex_lock(lock));
	return NULL;
}

/* An owner that exited owns the lock for ever; its thread id is used again. */
static void *wait_for_dead_owner(void *rounds)
{
	uintptr_t round;

	become_foreground();
	for (round = 0; round < (uintptr_t)rounds; round++) {
		pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
		struct timespec until;

		pthread_join(begin_thread(hold_and_end, (uintptr_t)&lock),
			     NULL);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 20000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		CHECK(pthread_mutex_timedlock(&lock, &until) == ETIMEDOUT);
	}
	return NULL;
}

static void run_exiting(unsigned int rounds)
{
	pthread_join(begin_thread(wait_for_dead_owner, rounds), NULL);
	check_no_boost_is_left();
}

/* ---- users and namespaces ---- */

static void *contend(void *unused)
{
	(void)unused;
	become_foreground();
	CHECK(!pthread_mutex_lock(&chain.locks[0]));
	CHECK(!pthread_mutex_unlock(&chain.locks[0]));
	return NULL;
}

static void in_namespace(pid_t outside)
{
	uint64_t boosts = state().boosts;
	pthread_t thread;

	CHECK(getpid() == 1);
	errno = 0;
	CHECK(try_hint(outside) && errno == ESRCH);
	make_mutex(&chain.locks[0], PTHREAD_MUTEX_STALLED);
	CHECK(!pthread_mutex_lock(&chain.locks[0]));
	thread = begin_thread(contend, 0);
	pause_ms(1000 * slowness());
	/* Thread ids in locks are those of this namespace. */
	CHECK(state().boosts > boosts);
	CHECK(!try_hint(2));
	CHECK(!try_hint(0));
	CHECK(!pthread_mutex_unlock(&chain.locks[0]));
	pthread_join(thread, NULL);
	_exit(0);
}

static void run_namespace(void)
{
	pid_t outside = getpid(), pid = child();

	if (!pid) {
		CHECK(!unshare(CLONE_NEWPID));
		pid = child();
		if (!pid)
			in_namespace(outside);
		expect_success(pid);
		_exit(0);
	}
	expect_success(pid);
	check_no_boost_is_left();
}

static void *linger(void *tid)
{
	*(_Atomic pid_t *)tid = syscall(SYS_gettid);
	for (;;)
		pause_ms(1000);
	return NULL;
}

static void as_second_user(pid_t roots)
{
	struct fgio_blame blame = { 0 };
	struct fgio_rearm rearm = { 0 };
	static _Atomic pid_t own;
	int device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	CHECK(device >= 0);
	CHECK(!setresgid(SECOND_USER, SECOND_USER, SECOND_USER));
	CHECK(!setresuid(SECOND_USER, SECOND_USER, SECOND_USER));
	errno = 0;
	CHECK(ioctl(device, FGIO_IOC_WAIT_FOR,
		    &(struct fgio_wait_for){ .tid = roots }) == -1);
	CHECK(errno == EPERM);
	CHECK(ioctl(device, FGIO_IOC_REARM) == -1 && errno == EPERM);
	errno = 0;
	CHECK(ioctl(device, FGIO_IOC_REARM_DISK, &rearm) == -1 && errno == EPERM);
	errno = 0;
	CHECK(ioctl(device, FGIO_IOC_BLAME, &blame) == -1 && errno == EPERM);
	begin_thread(linger, (uintptr_t)&own);
	while (!own)
		pause_ms(1);
	CHECK(!ioctl(device, FGIO_IOC_WAIT_FOR,
		     &(struct fgio_wait_for){ .tid = own }));
	CHECK(!ioctl(device, FGIO_IOC_WAIT_FOR,
		     &(struct fgio_wait_for){ .tid = 0 }));
	_exit(0);
}

static void run_unprivileged(void)
{
	pid_t roots = getpid(), pid = child();

	if (!pid)
		as_second_user(roots);
	expect_success(pid);
}

/* ---- asleep in hooked functions ---- */

static struct {
	pthread_mutex_t lock;
	sem_t semaphore;
	int file;
	int sysv;
	_Atomic unsigned int begun;
	_Atomic unsigned int ended;
} sleepers;

static void sleep_on_file(unsigned int number)
{
	char name[32], byte;
	int file;

	snprintf(name, sizeof(name), "sleeper%u", number);
	file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(file >= 0);
	if (number % 2)
		CHECK(pread(sleepers.file, &byte, 1,
			    (off_t)number * 4096) == 1);
	else
		CHECK(write(file, name, sizeof(name)) == sizeof(name) &&
		      !fsync(file));
	close(file);
}

static void *sleeper(void *argument)
{
	struct sembuf lower = { .sem_op = -1 };
	unsigned int number = (uintptr_t)argument;
	int file;

	become_foreground();
	sleepers.begun++;
	switch (number % 6) {
	case 0:
		CHECK(!pthread_mutex_lock(&sleepers.lock));
		CHECK(!pthread_mutex_unlock(&sleepers.lock));
		break;
	case 1:
		CHECK(!sem_wait(&sleepers.semaphore));
		break;
	case 2:
		while (semop(sleepers.sysv, &lower, 1))
			CHECK(errno == EINTR);
		break;
	case 3:
		file = open("/tmp/sleepers", O_RDWR | O_CLOEXEC);
		CHECK(file >= 0 && !flock(file, LOCK_EX));
		close(file);
		break;
	default:
		sleep_on_file(number);
	}
	sleepers.ended++;
	return NULL;
}

/* Prints a line when they sleep, and wakes them after some seconds. */
static void run_sleepers(unsigned int threads, unsigned int seconds)
{
	struct sembuf raise = { .sem_op = 1 };
	unsigned int i;
	int file = open("/tmp/sleepers", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	sleepers.file = open("data", O_RDONLY | O_CLOEXEC);
	CHECK(sleepers.file >= 0 && file >= 0 && !flock(file, LOCK_EX));
	sleepers.sysv = semget(IPC_PRIVATE, 1, 0600);
	make_mutex(&sleepers.lock, PTHREAD_MUTEX_STALLED);
	CHECK(!sem_init(&sleepers.semaphore, 0, 0));
	CHECK(!pthread_mutex_lock(&sleepers.lock));
	for (i = 0; i < threads; i++)
		begin_thread(sleeper, i);
	while (sleepers.begun < threads)
		pause_ms(10);
	pause_ms(3000 * slowness());
	printf("asleep %u\n", threads - sleepers.ended);
	fflush(stdout);
	pause_ms(seconds * 1000 * slowness());
	CHECK(!pthread_mutex_unlock(&sleepers.lock));
	for (i = 0; i < threads; i++) {
		CHECK(!sem_post(&sleepers.semaphore));
		CHECK(!semop(sleepers.sysv, &raise, 1));
	}
	close(file);
	while (sleepers.ended < threads)
		pause_ms(10);
	printf("awake\n");
}

/* ---- pools of threads that idle ---- */

static bool idlers_are_foreground;

/* Half of them in a futex, half for a System V semaphore. */
static void *idler(void *number)
{
	struct sembuf lower = { .sem_op = -1 };

	if (idlers_are_foreground)
		become_foreground();
	sleepers.begun++;
	if ((uintptr_t)number % 2)
		CHECK(!sem_wait(&sleepers.semaphore));
	else
		CHECK(!semop(sleepers.sysv, &lower, 1));
	sleepers.ended++;
	return NULL;
}

static unsigned long long missed(void)
{
	unsigned long long sum = 0;
	unsigned int count = read_hooks();

	while (count)
		sum += hook_states[--count].missed;
	return sum;
}

/* Prints the boosts in a chain of two steps beside them, and the waits that were not recorded. */
static void run_idle(unsigned int threads, bool are_foreground)
{
	unsigned long long lost = state().waits_lost, missed_before = missed();
	struct sembuf raise = { .sem_op = 1 };
	pthread_t links[STEPS_MAX + 1];
	unsigned int i;

	idlers_are_foreground = are_foreground;
	sleepers.sysv = semget(IPC_PRIVATE, 1, 0600);
	CHECK(sleepers.sysv >= 0 && !sem_init(&sleepers.semaphore, 0, 0));
	for (i = 0; i < threads; i++)
		begin_thread(idler, i);
	while (sleepers.begun < threads)
		pause_ms(10);
	pause_ms(1000 * slowness());
	begin_chain(false, 2, links);
	/* Walks of a busy system come late, with long pauses. */
	for (i = 0; i < 200 && state().boosted < 2; i++)
		pause_ms(50 * slowness());
	printf("boosted %u lost %llu missed %llu\n", state().boosted,
	       state().waits_lost - lost, missed() - missed_before);
	chain.over = true;
	for (i = 0; i <= 2; i++)
		pthread_join(links[i], NULL);
	for (i = 0; i < threads; i++)
		CHECK(!sem_post(&sleepers.semaphore) &&
		      !semop(sleepers.sysv, &raise, 1));
	while (sleepers.ended < threads)
		pause_ms(10);
	semctl(sleepers.sysv, 0, IPC_RMID);
}

/* ---- threads that wait, and are gone ---- */

static pthread_mutex_t never_free = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_there;

static void *wait_and_end(void *ms)
{
	struct timespec until;

	pthread_barrier_wait(&all_there);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(uintptr_t)ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	CHECK(pthread_mutex_timedlock(&never_free, &until) == ETIMEDOUT);
	return NULL;
}

/*
 * Waves of threads: all wait for the last one to start, then end one after the other. The
 * next wave starts when all have ended, so that it does not reuse their memory at once.
 * All wait at the same time, also where starting a thread takes longer than its wait. They
 * are foreground by their I/O priority, so that the module can be unloaded meanwhile.
 */
static void run_mortals(unsigned int threads)
{
	pthread_t *mortal = calloc(threads, sizeof(*mortal));
	unsigned int i;

	CHECK(mortal && !pthread_barrier_init(&all_there, NULL, threads));
	CHECK(!syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		       IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 0)));
	CHECK(!pthread_mutex_lock(&never_free));
	for (;;) {
		for (i = 0; i < threads; i++)
			mortal[i] = begin_thread(wait_and_end,
						 500 + 2000 * i / threads);
		for (i = 0; i < threads; i++)
			CHECK(!pthread_join(mortal[i], NULL));
	}
}

/* ---- locks whose memory has other owners soon ---- */

#define CONTENDERS 8
#define PIPES 4
/* Copying this takes longer than the kernel spins for the mutex. */
#define PIPE_BYTES 1048576

/*
 * Threads read and write one pipe, whose mutex they contend for. All move to the next
 * pipe before it is closed and freed.
 */
static struct {
	int ends[PIPES][2];
	_Atomic unsigned int turn;
	_Atomic unsigned int at[CONTENDERS];
	_Atomic bool over;
	bool foreground;
} pipes;

static void make_pipe(unsigned int turn)
{
	int *ends = pipes.ends[turn % PIPES];

	CHECK(!pipe2(ends, O_NONBLOCK | O_CLOEXEC));
	CHECK(fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES) > 0);
}

/* EAGAIN of an empty or full pipe is no error. */
static void use_pipe(unsigned int number)
{
	static char all_bytes[CONTENDERS][PIPE_BYTES];
	char *bytes = all_bytes[number];
	unsigned int turn = pipes.turn;
	int *ends = pipes.ends[turn % PIPES];

	pipes.at[number] = turn;
	CHECK((number % 2 ? write(ends[1], bytes, PIPE_BYTES) :
			    read(ends[0], bytes, PIPE_BYTES)) >= 0 ||
	      errno == EAGAIN);
}

static void *contender(void *argument)
{
	if (pipes.foreground)
		become_foreground();
	while (!pipes.over) {
		use_pipe((uintptr_t)argument);
		/* An emulator runs nothing else beside threads that never sleep. */
		pause_ms(1);
	}
	return NULL;
}

static void next_pipe(unsigned int contenders)
{
	unsigned int turn = pipes.turn, i;

	make_pipe(turn + 1);
	pipes.turn = turn + 1;
	for (i = 0; i < contenders; i++)
		while (pipes.at[i] != turn + 1)
			pause_ms(1);
	close(pipes.ends[turn % PIPES][0]);
	close(pipes.ends[turn % PIPES][1]);
	pause_ms(2);
}

static void recycle_pipes(unsigned int contenders, unsigned int ms)
{
	uint64_t end = now_ms() + ms;
	unsigned int turn = pipes.turn;

	while (now_ms() < end)
		next_pipe(contenders);
	CHECK(pipes.turn > turn);
}

static void run_recycled(unsigned int seconds)
{
	pthread_t threads[CONTENDERS];
	unsigned int i;

	pipes.foreground = true;
	make_pipe(0);
	for (i = 0; i < CONTENDERS; i++)
		threads[i] = begin_thread(contender, i);
	recycle_pipes(CONTENDERS, seconds * 1000);
	pipes.over = true;
	for (i = 0; i < CONTENDERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	printf("%u pipes\n", pipes.turn);
}

static pthread_mutex_t owned = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t waiting_tid;

static void *contend_and_own(void *argument)
{
	CHECK(!pthread_mutex_lock(&owned));
	return contender(argument);
}

static void *wait_in_front(void *argument)
{
	(void)argument;
	become_foreground();
	waiting_tid = syscall(SYS_gettid);
	CHECK(!pthread_mutex_lock(&owned));
	return NULL;
}

static void untag(pid_t tid)
{
	struct fgio_tag tag = { .tid = tid, .class = FGIO_TAG_NONE };

	open_and_call(FGIO_IOC_SET_TAG, &tag);
}

/*
 * The last foreground thread loses its tag while it waits for an owner that waits for
 * short-lived locks: the hooks are detached some seconds later, between the owner's waits.
 */
static void linger_once(void)
{
	uint64_t boosts = state().boosts, untagged_ms, limit_ms;

	waiting_tid = 0;
	begin_thread(wait_in_front, 0);
	while (!waiting_tid)
		pause_ms(1);
	limit_ms = now_ms() + 60000 * slowness();
	while (state().boosts == boosts) {
		CHECK(now_ms() < limit_ms);
		recycle_pipes(CONTENDERS, 200);
	}
	untag(waiting_tid);
	untagged_ms = now_ms();
	limit_ms = untagged_ms + 120000 * slowness();
	while (state().foreground_waiting) {
		CHECK(now_ms() < limit_ms);
		recycle_pipes(CONTENDERS, 200);
	}
	printf("%u pipes, hooks gone after %llu ms\n", pipes.turn,
	       (unsigned long long)(now_ms() - untagged_ms));
	CHECK(now_ms() - untagged_ms > 4000);
}

static void run_lingering(unsigned int rounds)
{
	unsigned int i;

	make_pipe(0);
	begin_thread(contend_and_own, 0);
	for (i = 1; i < CONTENDERS; i++)
		begin_thread(contender, i);
	while (rounds--)
		linger_once();
	fflush(stdout);
	/* Its own lock, and the locks before it, are never released. */
	_exit(0);
}

/* ---- random calls ---- */

#define CHURNERS 48

static struct {
	pthread_mutex_t locks[8];
	sem_t semaphore;
	int sysv;
	_Atomic pid_t tids[CHURNERS];
	_Atomic bool ended[CHURNERS];
	_Atomic uint64_t steps;
	unsigned int seed;
	_Atomic bool over;
} churn;

/* The module is loaded and unloaded: neither its absence nor any error matters. */
static void try_call(unsigned long call, void *argument)
{
	int device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	if (device < 0)
		return;
	ioctl(device, call, argument);
	close(device);
}

static void tag_at_random(pid_t tid, unsigned int *seed)
{
	static const unsigned int classes[] = { FGIO_TAG_NONE,
						FGIO_TAG_FOREGROUND,
						FGIO_TAG_BACKGROUND };
	struct fgio_tag tag = { .tid = tid,
				.class = classes[rand_r(seed) % 3] };

	try_call(FGIO_IOC_SET_TAG, &tag);
}

static void hint_at_random(pid_t tid)
{
	struct fgio_wait_for wait = { .tid = tid };

	try_call(FGIO_IOC_WAIT_FOR, &wait);
}

static struct timespec soon(unsigned int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return until;
}

/* In any order: cycles end with a timeout. */
static void take_two_locks(unsigned int *seed)
{
	pthread_mutex_t *first = &churn.locks[rand_r(seed) % 8];
	pthread_mutex_t *second = &churn.locks[rand_r(seed) % 8];
	struct timespec until = soon(50);

	if (pthread_mutex_timedlock(first, &until))
		return;
	if (second != first && !pthread_mutex_timedlock(second, &until)) {
		pause_ms(1);
		pthread_mutex_unlock(second);
	}
	pthread_mutex_unlock(first);
}

static void use_sysv(unsigned int *seed)
{
	struct sembuf raise[] = { { .sem_op = 1 }, { 1, 1, 0 } };
	struct sembuf lower[] = { { .sem_op = -1 }, { 1, -1, 0 } };
	struct timespec patience = { .tv_nsec = 20000000 };

	if (rand_r(seed) % 2)
		semtimedop(churn.sysv, raise, 2, &patience);
	else
		semtimedop(churn.sysv, lower, 2, &patience);
}

static void use_posix(unsigned int *seed)
{
	struct timespec until = soon(20);

	if (rand_r(seed) % 2)
		sem_post(&churn.semaphore);
	else
		sem_timedwait(&churn.semaphore, &until);
}

/* Return: whether the thread goes on. */
static bool churn_once(unsigned int number, unsigned int *seed)
{
	pid_t other = churn.tids[rand_r(seed) % CHURNERS];

	switch (rand_r(seed) % 16) {
	case 0:
		tag_at_random(0, seed);
		break;
	case 1:
		tag_at_random(other, seed);
		break;
	case 2:
		hint_at_random(rand_r(seed) % 2 ? other : 0);
		break;
	case 3 ... 5:
		take_two_locks(seed);
		break;
	case 6:
		use_sysv(seed);
		break;
	case 7:
		use_posix(seed);
		break;
	case 8 ... 9:
		write_a_little(seed, number);
		break;
	case 10 ... 14:
		use_pipe(number % CONTENDERS);
		break;
	default:
		return rand_r(seed) % 4;
	}
	return true;
}

static void *churner(void *argument)
{
	unsigned int number = (uintptr_t)argument;
	unsigned int seed = churn.seed ^ syscall(SYS_gettid) * 2654435761U;

	churn.tids[number] = syscall(SYS_gettid);
	while (!churn.over && churn_once(number, &seed)) {
		churn.steps++;
		pause_ms(rand_r(&seed) % 200);
	}
	churn.ended[number] = true;
	return NULL;
}

/* Each thread that ended is replaced soon. */
static void replace_ended(pthread_t threads[CHURNERS])
{
	unsigned int i;

	for (i = 0; i < CHURNERS; i++) {
		if (!churn.ended[i])
			continue;
		CHECK(!pthread_join(threads[i], NULL));
		churn.ended[i] = false;
		threads[i] = begin_thread(churner, i);
	}
}

static void end_churn(int signal)
{
	(void)signal;
	churn.over = true;
}

static void run_churn(unsigned int seed)
{
	pthread_t threads[CHURNERS];
	unsigned int i;

	signal(SIGTERM, end_churn);
	churn.seed = seed;
	churn.sysv = semget(IPC_PRIVATE, 2, 0600);
	CHECK(churn.sysv >= 0 && !sem_init(&churn.semaphore, 0, 0));
	for (i = 0; i < 8; i++)
		pthread_mutex_init(&churn.locks[i], NULL);
	make_pipe(0);
	for (i = 0; i < CHURNERS; i++)
		threads[i] = begin_thread(churner, i);
	while (!churn.over) {
		replace_ended(threads);
		pause_ms(5);
	}
	for (i = 0; i < CHURNERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	semctl(churn.sysv, 0, IPC_RMID);
	printf("%llu steps\n", (unsigned long long)churn.steps);
}

/* ---- more than the tables have room for ---- */

/* Waits for two semaphores in one call, then sleeps without a recorded wait. */
static void *lower_two(void *unused)
{
	struct sembuf lower[] = { { .sem_op = -1 }, { 1, -1, 0 } };

	(void)unused;
	become_foreground();
	sleepers.begun++;
	while (semop(sleepers.sysv, lower, 2))
		CHECK(errno == EINTR);
	sleepers.ended++;
	/* Not pause(2), which may wait for another task's signal. */
	for (;;)
		pause_ms(1000);
	return NULL;
}

static void run_crowded(unsigned int threads)
{
	struct sembuf raise[] = { { .sem_op = 1 }, { 1, 1, 0 } };
	unsigned int i;

	sleepers.sysv = semget(IPC_PRIVATE, 2, 0600);
	CHECK(sleepers.sysv >= 0);
	for (i = 0; i < threads; i++)
		begin_thread(lower_two, i);
	while (sleepers.begun < threads)
		pause_ms(10);
	pause_ms(1000 * slowness());
	CHECK(state().waits_lost > 0);
	CHECK(state().foreground_waiting > 0);
	for (i = 0; i < threads; i++)
		CHECK(!semop(sleepers.sysv, raise, 2));
	while (sleepers.ended < threads)
		pause_ms(10);
	semctl(sleepers.sysv, 0, IPC_RMID);
	pause_ms(200 * slowness());
	printf("%u of %u wait for nothing\n", state().foreground_waiting,
	       threads);
	CHECK(!state().foreground_waiting);
	fflush(stdout);
	_exit(0);
}

static struct {
	pthread_mutex_t *locks;
	_Atomic unsigned int held;
} many;

static void *own_one(void *argument)
{
	CHECK(!pthread_mutex_lock(&many.locks[(uintptr_t)argument]));
	many.held++;
	for (;;)
		pause_ms(1000);
	return NULL;
}

static void *wait_for_one(void *argument)
{
	become_foreground();
	pthread_mutex_lock(&many.locks[(uintptr_t)argument]);
	return NULL;
}

static void wait_for_owners(unsigned int threads)
{
	unsigned int i;

	many.locks = calloc(threads, sizeof(*many.locks));
	CHECK(many.locks);
	for (i = 0; i < threads; i++) {
		pthread_mutex_init(&many.locks[i], NULL);
		begin_thread(own_one, i);
	}
	while (many.held < threads)
		pause_ms(10);
	for (i = 0; i < threads; i++)
		begin_thread(wait_for_one, i);
}

/*
 * Each foreground thread has an owner of its own in its way. Most owners are boosted at
 * any time, even when one walk starts from few foreground threads.
 */
static void run_owners(unsigned int threads)
{
	unsigned int i, tries = 0, fewest = threads;

	wait_for_owners(threads);
	while (state().boosted < threads && tries++ < 200 * slowness())
		pause_ms(50);
	for (i = 0; i < 20; i++) {
		pause_ms(20);
		if (state().boosted < fewest)
			fewest = state().boosted;
	}
	printf("%u of %u owners boosted, at the least\n", fewest, threads);
	CHECK(fewest > threads / 2);
	fflush(stdout);
	_exit(0);
}

#define TALKERS 8

static int talk[TALKERS][2];

/* The first of each two is foreground, and waits for the other all the time. */
static void *talk_to_other(void *argument)
{
	uintptr_t own = (uintptr_t)argument;
	char byte = 0;

	if (own % 2 == 0)
		become_foreground();
	for (;;)
		CHECK(write(talk[own ^ 1][1], &byte, 1) == 1 &&
		      read(talk[own][0], &byte, 1) == 1);
	return NULL;
}

#define WALKS_MEASURED 30

/* What is after the next end of a walk that brings their number to @walks. */
static struct fgio_state after_walks(uint64_t walks)
{
	uint64_t end = now_ms() + 10000 * slowness();
	struct fgio_state now;

	do {
		CHECK(now_ms() < end);
		pause_ms(1);
		now = state();
	} while (now.walks < walks);
	return now;
}

/*
 * Prints which part of a processor walks take while waits begin all the time,
 * from the end of a walk to the end of another one: by their number, since
 * how many a second sees depends on what one takes.
 */
static void run_stirred(unsigned int threads)
{
	struct fgio_state before, after;
	uint64_t begin, elapsed_ms;
	unsigned int i;

	wait_for_owners(threads);
	for (i = 0; i < TALKERS; i++)
		CHECK(!pipe(talk[i]));
	for (i = 0; i < TALKERS; i++)
		begin_thread(talk_to_other, i);
	pause_ms(300 * slowness());
	before = after_walks(state().walks + 1);
	begin = now_ms();
	after = after_walks(before.walks + WALKS_MEASURED);
	elapsed_ms = now_ms() - begin;
	printf("walks %llu permille %llu\n", after.walks - before.walks,
	       (after.walk_ns - before.walk_ns) / 1000 / elapsed_ms);
	fflush(stdout);
	_exit(0);
}

/* ---- pages that become dirty in a driver ---- */

static void dirty_some(int file, int driver, off_t offset)
{
	static char bytes[1 << 20];
	struct fgio_test_hold write = {
		.fd = file,
		.offset = offset,
		.buffer = (uintptr_t)bytes,
		.bytes = sizeof(bytes),
	};

	if (driver < 0)
		CHECK(pwrite(file, bytes, sizeof(bytes), offset) ==
		      sizeof(bytes));
	else
		CHECK(ioctl(driver, FGIO_TEST_DIRTY, &write) == sizeof(bytes));
}

static void run_dirty(bool in_ioctl, const char *name, unsigned int mib)
{
	int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	uint64_t parked_ns = state().parked_ns;
	int driver = -1;
	unsigned int i;

	if (in_ioctl)
		driver = open(FGIO_TEST_PATH, O_RDWR | O_CLOEXEC);
	CHECK(file >= 0 && (driver >= 0 || !in_ioctl));
	for (i = 0; i < mib; i++)
		dirty_some(file, driver, (off_t)i << 20);
	printf("parked_us %llu\n",
	       (unsigned long long)(state().parked_ns - parked_ns) / 1000);
}

/* ---- figures of the module ---- */

static void say_hook(const char *name)
{
	unsigned int i, count = read_hooks();

	for (i = 0; i < count; i++) {
		struct fgio_hook_state *hook = &hook_states[i];

		if (strcmp(hook->name, name))
			continue;
		printf("%d %d %u %d\n", !!(hook->state & FGIO_HOOK_WORKS),
		       !!(hook->state & FGIO_HOOK_ATTACHED), hook->error,
		       !!(hook->state & FGIO_HOOK_OPTIONAL));
		return;
	}
	_exit(1);
}

static void say_state(const char *name)
{
	struct fgio_state now = state();

	if (!strcmp(name, "walks"))
		printf("%llu\n", now.walks);
	else if (!strcmp(name, "walk_ms"))
		printf("%llu\n", now.walk_ns / 1000000);
	else if (!strcmp(name, "waits_lost"))
		printf("%llu\n", now.waits_lost);
	else if (!strcmp(name, "foreground_waiting"))
		printf("%u\n", now.foreground_waiting);
	else if (!strcmp(name, "boosted"))
		printf("%u\n", now.boosted);
	else if (!strcmp(name, "boosts"))
		printf("%llu\n", now.boosts);
	else
		_exit(2);
}

static unsigned int number(const char *text)
{
	return text ? atoi(text) : 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *first = argc > 2 ? argv[2] : "";
	uint64_t begin = now_ms();

	if (strcmp(what, "hook") && strcmp(what, "state") &&
	    strcmp(what, "unprivileged") && strcmp(what, "lingering") &&
	    strcmp(what, "mortals") && strcmp(what, "churn"))
		await_hooks();
	if (!strcmp(what, "crowd") && argc == 5)
		run_crowd(number(first), number(argv[3]), number(argv[4]));
	else if (!strcmp(what, "chain") && argc == 4)
		run_chain(!strcmp(first, "hint"), number(argv[3]));
	else if (!strcmp(what, "cycle"))
		run_cycle(!strcmp(first, "hint"));
	else if (!strcmp(what, "dying"))
		run_dying(number(first));
	else if (!strcmp(what, "exiting"))
		run_exiting(number(first));
	else if (!strcmp(what, "namespace"))
		run_namespace();
	else if (!strcmp(what, "unprivileged"))
		run_unprivileged();
	else if (!strcmp(what, "sleepers") && argc == 4)
		run_sleepers(number(first), number(argv[3]));
	else if (!strcmp(what, "idle") && argc == 4)
		run_idle(number(first), !strcmp(argv[3], "foreground"));
	else if (!strcmp(what, "mortals") && argc == 3)
		run_mortals(number(first));
	else if (!strcmp(what, "recycled") && argc == 3)
		run_recycled(number(first));
	else if (!strcmp(what, "churn") && argc == 3)
		run_churn(number(first));
	else if (!strcmp(what, "dirty") && argc == 5)
		run_dirty(!strcmp(first, "ioctl"), argv[3], number(argv[4]));
	else if (!strcmp(what, "crowded"))
		run_crowded(number(first));
	else if (!strcmp(what, "owners"))
		run_owners(number(first));
	else if (!strcmp(what, "stirred"))
		run_stirred(number(first));
	else if (!strcmp(what, "lingering"))
		run_lingering(number(first));
	else if (!strcmp(what, "hook"))
		say_hook(first);
	else if (!strcmp(what, "state"))
		say_state(first);
	else
		return 2;
	if (strcmp(what, "hook") && strcmp(what, "state"))
		printf("%s: %llu ms\n", what,
		       (unsigned long long)(now_ms() - begin));
	return 0;
}
